"""Products of matrices, computed by rows."""

from __future__ import annotations

from typing import Any

Array = Any


def symm(np: Any, a: Array, b: Array, c: Array) -> Array:
    """Return ``1.5*A@B + 1.2*C`` for a symmetric A, from its lower triangle."""
    c = 1.2 * c
    for i in range(len(a)):
        c[i] += 1.5 * a[i, i] * b[i]
        for k in range(i):
            c[i] += 1.5 * a[i, k] * b[k]
            c[k] += 1.5 * a[i, k] * b[i]
    return c


def syrk(np: Any, a: Array, c: Array) -> Array:
    """Return the lower triangle of ``1.5*A@A.T + 1.2*C``."""
    c = c.copy()
    rows, columns = a.shape
    for i in range(rows):
        c[i, : i + 1] *= 1.2
        for k in range(columns):
            c[i, : i + 1] += 1.5 * a[i, k] * a[: i + 1, k]
    return c


def trmm(np: Any, a: Array, b: Array) -> Array:
    """Return ``1.5*A.T@B`` for a lower triangular A with ones on its diagonal."""
    b = b.copy()
    n = len(a)
    for i in range(n):
        for k in range(i + 1, n):
            b[i] += a[k, i] * b[k]
        b[i] *= 1.5
    return b


def sparse_times_vector(
    np: Any, data: Array, columns: Array, starts: Array, x: Array
) -> Array:
    """Return a sparse matrix in CSR format times a vector."""
    y = np.zeros(len(starts) - 1)
    for row in range(len(y)):
        begin, end = starts[row], starts[row + 1]
        y[row] = np.dot(data[begin:end], x[columns[begin:end]])
    return y
