"""pgvector: vectors of PostgreSQL."""

import numpy as np
import pgvector


def vectors(x):
    y = x[:16] * 1.0 + 1
    made = pgvector.Vector(y)
    return made.to_numpy() * 2, made.to_list(), made.dimensions(), made.to_text()


def kinds(x):
    y = x[:8] * 2
    return (
        pgvector.HalfVector(y).to_numpy(),
        pgvector.SparseVector(np.where(y > 1, y, 0.0)).to_list(),
        pgvector.Bit(y > 1).to_text(),
        pgvector.SparseVector({0: y[1], 3: 2.0}, 5).to_numpy(),
    )


def binary(x):
    made = pgvector.Vector((x[:5] + 1).astype(np.float32))
    return made.to_binary(), pgvector.Vector.from_binary(
        made.to_binary()
    ).to_numpy() + 1


def equal(x):
    y = x[:5] + 1
    return pgvector.Vector(y) == pgvector.Vector(y.tolist()), repr(
        pgvector.Vector(y[:2])
    )


def copies_its_argument(x):
    y = x[:9].astype(np.float32)
    made = pgvector.Vector(y)
    y[0] = 5
    return made.to_numpy(), y


def error_dimensions(x):
    pgvector.Vector(x.reshape(-1, 4) * 2)
