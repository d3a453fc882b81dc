"""Recorded forms of `numpy.linalg`, which a library of the device computes.

NumPy's functions run with other ufuncs, those below, which factor matrices on the
device. NumPy computes float32 in float64, and so do they. The library overwrites its
matrices, which lie in memory by columns, so each ufunc begins with a copy.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy
import numpy.linalg

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine import core
from mxnp._numpy_layer.layer import copy_functions

from .functions import (
    NotTakenError,
    empty,
    is_for_device,
    launch,
)

_TAKEN = {*core.gpu().types} - {"float16", "bfloat16"}

# The least number of rows and columns from which the device is faster than NumPy.
_LEAST = 256

_NAMES = (
    *("solve", "inv", "det", "slogdet", "cholesky", "qr", "eigh", "eigvalsh"),
    *("svd", "svdvals", "matrix_rank", "cond", "pinv", "lstsq", "matrix_power"),
)

# enum mx_linear_kind in csrc/gpu/device.h
_SOLVE, _CHOLESKY, _QR, _QR_VECTORS, _EIGH, _SVD, _SVD_POLAR = range(7)


class _NoFactorsError(Exception):
    """A matrix has no factors, or they were not found."""


# -- The library ----------------------------------------------------------------------


def _transpose(a: Any) -> Any:
    """Return the transposed matrices, as a view."""
    return a.swapaxes(-1, -2)


def _copy(a: Any, dtype: str) -> Any:
    """Return a copy in memory of the device, of a dtype."""
    copy = empty(a.shape, dtype)
    copy[...] = a
    return copy


def _run(
    kind: int,
    a: Any,
    others: list[Any],
    shape: tuple[int, int],
    k: int = 0,
    is_lower: bool = False,
    vectors: int = 0,
) -> Any:
    """
    Let the library compute from matrices, and wait.

    The arguments are those of struct mx_linear in csrc/gpu/device.h.

    Returns
    -------
    numpy.ndarray
        The status of each matrix.
    """
    count = math.prod(a.shape[:-2])
    is_complex = a.dtype.name == "complex128"
    numbers = [kind, is_complex, *shape, k, is_lower, vectors, count]
    scratch = core.prepare_call(core.LINEAR, numbers)
    if scratch is None:
        raise NotTakenError
    finite = numpy.isfinite(a).all(axis=(-2, -1), keepdims=True)
    status, work = empty(2 * count, "int32"), empty(max(scratch, 1), "uint8")
    written = [(buffer, True) for buffer in (a, status, work, *others)]
    launch("", "mx_linear", written, numbers, (1, 1, 1), (1, 1, 1), True)
    found = numpy.asarray(status)[:count]
    if not numpy.asarray(finite).all():  # NumPy knows what is an error
        raise NotTakenError
    return found


def _adopt(a: Any) -> Any:
    """Return mxnp's array in place of one of NumPy."""
    return _bridge.wrap(a) if type(a) is numpy.ndarray else a


def _require(status: Any) -> None:
    """Raise an error if a matrix has no factors."""
    if status.any():
        raise _NoFactorsError


# -- Linear equations -----------------------------------------------------------------


def _compute_solve(a: Any, b: Any, dtype: str) -> Any:
    """Return the solutions of ``a @ x = b``."""
    n, k = b.shape[-2:]
    if a.shape[-1] != n:
        raise NotTakenError
    batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    factors = _copy(_transpose(numpy.broadcast_to(a, (*batch, n, n))), dtype)
    x = _copy(_transpose(numpy.broadcast_to(b, (*batch, n, k))), dtype)
    pivots = empty((*batch, n), "int64")
    _require(_run(_SOLVE, factors, [pivots, x], (n, n), k))
    return _copy(_transpose(x), dtype)


def _solve_vectors(a: Any, b: Any, dtype: str) -> Any:
    return _compute_solve(a, b[..., None], dtype)[..., 0]


def _compute_inv(a: Any, dtype: str) -> Any:
    n = a.shape[-1]
    factors = _copy(_transpose(a), dtype)
    x, pivots = empty(a.shape, dtype), empty(a.shape[:-1], "int64")
    x[...] = 0
    x.reshape(-1, n * n)[:, :: n + 1] = 1
    _require(_run(_SOLVE, factors, [pivots, x], (n, n), n))
    return _copy(_transpose(x), dtype)


def _compute_slogdet(a: Any, dtype: str) -> Any:
    """Return the signs and the logarithms of determinants, as NumPy arrays."""
    *batch, _, n = a.shape
    factors, pivots = _copy(_transpose(a), dtype), empty(a.shape[:-1], "int64")
    status = _run(_SOLVE, factors, [pivots, empty((1,), dtype)], (n, n)).reshape(batch)
    diagonal = _copy(factors.reshape(*batch, n * n)[..., :: n + 1], dtype)
    is_moved = numpy.asarray(pivots) != numpy.arange(1, n + 1)
    diagonal = numpy.asarray(diagonal)
    size = numpy.abs(diagonal)
    swaps = 1 - 2 * (is_moved.sum(-1) % 2)
    sign = numpy.where(status, 0, swaps * (diagonal / size).prod(-1))
    return sign, numpy.where(status, -numpy.inf, numpy.log(size).sum(-1))


def _slogdet_arrays(a: Any, dtype: str) -> Any:
    sign, logarithm = _compute_slogdet(a, dtype)
    return _adopt(sign[()]), _adopt(logarithm[()])


def _compute_det(a: Any, dtype: str) -> Any:
    sign, logarithm = _compute_slogdet(a, dtype)
    return _adopt(sign * numpy.exp(logarithm))


# -- Factors --------------------------------------------------------------------------


def _compute_cholesky(a: Any, dtype: str, is_lower: bool) -> Any:
    """Return triangular factors.

    The library sees the transposed matrix, and the other triangle.
    """
    n = a.shape[-1]
    factor = _copy(a, dtype)
    _require(_run(_CHOLESKY, factor, [], (n, n), is_lower=not is_lower))
    return numpy.tril(factor) if is_lower else numpy.triu(factor)


def _compute_qr(a: Any, dtype: str) -> Any:
    """Return tau, and replace matrices by R and the reflectors."""
    m, n = a.shape[-2:]
    factors = _copy(_transpose(a), dtype)
    tau = empty((*a.shape[:-2], min(m, n)), dtype)
    _require(_run(_QR, factors, [tau], (m, n)))
    a[...] = _transpose(factors)
    return tau


def _qr_vectors(a: Any, tau: Any, dtype: str, is_complete: bool = False) -> Any:
    """Return Q, from the reflectors."""
    *batch, m, n = a.shape
    k = min(m, n)
    columns = m if is_complete else k
    q = empty((*batch, columns, m), dtype)
    q[..., :k, :] = _transpose(a[..., :k])
    if columns > k:
        q[..., k:, :] = 0
    _require(_run(_QR_VECTORS, q, [_copy(tau, dtype)], (m, columns), k))
    return _copy(_transpose(q), dtype)


def _compute_eigh(a: Any, dtype: str, is_lower: bool, vectors: int) -> Any:
    """Return eigenvalues, and the vectors if they are wanted.

    The library sees the transposed matrix, whose vectors are the conjugate ones.
    """
    n = a.shape[-1]
    found, values = _copy(a, dtype), empty(a.shape[:-1], "float64")
    status = _run(
        _EIGH, found, [values], (n, n), is_lower=not is_lower, vectors=vectors
    )
    _require(status)
    if not vectors:
        return values
    vectors = found.conj() if dtype == "complex128" else found
    return values, _copy(_transpose(vectors), dtype)


def _compute_svd(a: Any, dtype: str, vectors: int) -> Any:
    """Return singular values, between the vectors if they are wanted.

    The library needs as many rows as columns, or more. A matrix with fewer rows is the
    transposed one there, and its vectors change places.
    """
    *batch, m, n = a.shape
    is_wide = m <= n
    rows, columns = max(m, n), min(m, n)
    wanted = rows if vectors == 2 else columns
    for kind in (_SVD_POLAR, _SVD):  # the second is slower, and always accurate
        job = max(vectors, 1) if kind == _SVD_POLAR else vectors
        shapes = [(*batch, wanted, rows), (*batch, columns, columns)]
        matrix = _copy(a if is_wide else _transpose(a), dtype)
        values = empty((*batch, columns), "float64")
        u, v = (empty(shape if job else (1,), dtype) for shape in shapes)
        status = _run(kind, matrix, [values, u, v], (rows, columns), vectors=job)
        if not (status < 0).any():
            break
    _require(status)
    if not vectors:
        return values
    if kind == _SVD_POLAR and dtype == "complex128":
        v = v.conj()
    vh = v if kind == _SVD_POLAR else _transpose(v)
    if is_wide:
        return _copy(_transpose(vh), dtype), values, u
    return _copy(_transpose(u), dtype), values, _copy(vh, dtype)


def _compute_lstsq(a: Any, b: Any, rcond: Any, dtype: str) -> Any:
    """Return the shortest of the nearest solutions, and what describes them."""
    u, s, vh = _compute_svd(a, dtype, 1)
    b = _copy(b, dtype)
    values = numpy.asarray(s)
    cutoff = rcond if 0 < rcond < 1 else 2.0**-53  # as LAPACK's function has it
    rank = int((values > cutoff * values[0]).sum())
    x = _transpose(u[:, :rank]).conj() @ b
    x = _transpose(vh[:rank]).conj() @ (x / s[:rank, None])
    rest = b - _copy(a, dtype) @ x
    return x, (rest.real**2 + rest.imag**2).sum(0), numpy.int32(rank), s


# -- NumPy's functions ----------------------------------------------------------------


class _Ufunc:
    """A ufunc of NumPy's functions, which computes on the device."""

    def __init__(self, compute: Callable[..., Any], *arguments: Any) -> None:
        self._compute = compute
        self._arguments = arguments

    def __call__(self, *operands: Any, signature: str) -> Any:
        dtype = "complex128" if signature[0] == "D" else "float64"
        try:
            with numpy.errstate(all="ignore"):
                return self._compute(*operands, dtype, *self._arguments)
        except _NoFactorsError:
            numpy.sqrt(numpy.float64(-1))  # NumPy's function calls it an error
            raise NotTakenError from None


_UFUNCS = {
    "solve": _Ufunc(_compute_solve),
    "solve1": _Ufunc(_solve_vectors),
    "inv": _Ufunc(_compute_inv),
    "slogdet": _Ufunc(_slogdet_arrays),
    "det": _Ufunc(_compute_det),
    "cholesky_lo": _Ufunc(_compute_cholesky, True),
    "cholesky_up": _Ufunc(_compute_cholesky, False),
    "qr_r_raw": _Ufunc(_compute_qr),
    "qr_reduced": _Ufunc(_qr_vectors),
    "qr_complete": _Ufunc(_qr_vectors, True),
    "eigh_lo": _Ufunc(_compute_eigh, True, 1),
    "eigh_up": _Ufunc(_compute_eigh, False, 1),
    "eigvalsh_lo": _Ufunc(_compute_eigh, True, 0),
    "eigvalsh_up": _Ufunc(_compute_eigh, False, 0),
    "svd": _Ufunc(_compute_svd, 0),
    "svd_s": _Ufunc(_compute_svd, 1),
    "svd_f": _Ufunc(_compute_svd, 2),
    "lstsq": _Ufunc(_compute_lstsq),
}


def _as_array(a: Any, **kwargs: Any) -> Any:
    return a if type(a) is ndarray else numpy.asarray(a, **kwargs)


@cache
def _numpys_functions() -> types.SimpleNamespace:
    """Return NumPy's functions, with the ufuncs of this file."""
    return copy_functions(
        numpy.linalg._linalg,
        _umath_linalg=types.SimpleNamespace(**_UFUNCS),
        _makearray=lambda a: (a, _adopt),
        asarray=_as_array,
        asanyarray=_as_array,
    )


def _are_taken(name: str, a: Any, args: Any, kwargs: Any) -> bool:
    """Return whether the device may factor the matrices of a call."""
    arrays = [a]
    if name in ("solve", "lstsq"):
        arrays.append(args[0] if args else kwargs.get("b"))
    if not is_for_device(*arrays) or any(x.dtype.name not in _TAKEN for x in arrays):
        return False
    if name == "qr":  # of other modes NumPy warns
        mode = [*args, *kwargs.values(), "reduced"][0]
        if mode not in ("reduced", "complete", "r", "raw"):
            return False
    return bool(a.ndim >= 2 and min(a.shape[-2:]) >= _LEAST)


def _form(name: str) -> Callable[..., Any]:
    """Return the recorded form of a function."""

    def factor(a: Any, *args: Any, **kwargs: Any) -> Any:
        if not _are_taken(name, a, args, kwargs):
            return NotImplemented
        try:
            return getattr(_numpys_functions(), name)(a, *args, **kwargs)
        except numpy.linalg.LinAlgError:
            raise
        except (NotTakenError, AttributeError, TypeError, ValueError):
            return NotImplemented  # NumPy's function computes, or raises its error
        except (MemoryError, RuntimeError):
            return NotImplemented  # the device failed

    return factor


globals().update({f"_{name}": _form(name) for name in _NAMES})
