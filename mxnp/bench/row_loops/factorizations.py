"""Factorizations of a matrix, and the solution of a triangular system."""

from __future__ import annotations

from typing import Any

Array = Any


def lu(np: Any, a: Array) -> Array:
    """Return the factors L and U in one matrix, without pivoting."""
    a = a.copy()
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return a


def cholesky(np: Any, a: Array) -> Array:
    """Return the lower triangular factor of a positive definite matrix."""
    factor = np.zeros_like(a)
    for i in range(len(a)):
        for j in range(i):
            rest = a[i, j] - np.dot(factor[i, :j], factor[j, :j])
            factor[i, j] = rest / factor[j, j]
        factor[i, i] = np.sqrt(a[i, i] - np.dot(factor[i, :i], factor[i, :i]))
    return factor


def gram_schmidt(np: Any, a: Array) -> tuple[Array, Array]:
    """Return the factors Q and R by the modified Gram-Schmidt process."""
    q = a.copy()
    columns = q.shape[1]
    r = np.zeros((columns, columns))
    for k in range(columns):
        r[k, k] = np.sqrt((q[:, k] * q[:, k]).sum())
        q[:, k] /= r[k, k]
        for j in range(k + 1, columns):
            r[k, j] = q[:, k] @ q[:, j]
            q[:, j] -= r[k, j] * q[:, k]
    return q, r


def triangular_solve(np: Any, a: Array, b: Array) -> Array:
    """Solve ``L @ x = b`` by forward substitution, column by column."""
    x = np.zeros(b.shape)
    rows, columns = b.shape
    for j in range(columns):
        for i in range(rows):
            x[i, j] = (b[i, j] - a[i, :i].dot(x[:i, j])) / a[i, i]
    return x
