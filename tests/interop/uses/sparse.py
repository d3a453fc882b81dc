"""sparse: sparse arrays of any number of dimensions."""

import numpy as np
import sparse


def coordinates(x):
    dense = np.where(x > 0.8, x, 0).reshape(-1, 4)
    s = sparse.COO.from_numpy(dense)
    return s.todense(), s.nnz, s.sum(axis=0).todense(), (s * 2 + s).todense()


def construct(x):
    rows = np.arange(x.size)
    s = sparse.COO(np.stack([rows, rows[::-1]]), x, shape=(x.size, x.size))
    return s.data, s.coords, s[1, :].todense()


def products(x):
    s = sparse.COO.from_numpy(np.where(x > 0.8, x, 0).reshape(-1, 4))
    return (
        s @ x[:4],
        sparse.tensordot(s, x[:8].reshape(4, 2), axes=1),
        (s * x[:4]).todense(),
    )
