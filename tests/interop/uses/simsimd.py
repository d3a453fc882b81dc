"""simsimd: distances of vectors."""

import numpy as np
import simsimd

# Sums of products in another order, and last bits of the processor's square roots.
TOLERANCES = {"distances": 1e-06, "tables": 1e-06, "other_dtypes": 1e-06}


def distances(x):
    a, b = x * 1.0 + 1, x[::-1] * 2.0
    return [
        float(f(a, b))
        for f in (simsimd.cosine, simsimd.sqeuclidean, simsimd.dot, simsimd.inner)
    ]


def tables(x):
    table = (x[:40].reshape(-1, 8) + 1).astype(np.float32)
    return np.asarray(simsimd.cdist(table, table[:3] * 2, metric="cosine")), np.asarray(
        simsimd.cosine(table, table[::-1] * 1)
    )


def other_dtypes(x):
    return (
        float(simsimd.cosine((x * 90).astype(np.int8), (x[::-1] * 90).astype(np.int8))),
        float(
            simsimd.hamming(
                (x[:64] > 0.5).astype(np.uint8), (x[:64] > 0.6).astype(np.uint8), "bin8"
            )
        ),
        float(simsimd.sqeuclidean(x.astype(np.float16) * 2, x.astype(np.float16))),
    )


def error_lengths(x):
    simsimd.cosine(x * 2, x[:-1])
