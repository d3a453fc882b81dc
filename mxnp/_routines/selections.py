"""Recorded forms of functions that select elements by a condition.

The size of a result is known only when the condition has been computed. So the search
itself runs immediately, in the core, and is not recorded.
"""

from __future__ import annotations

from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import is_number, ndarray

from .arguments import fits, is_core_dtype


def _truth(a: Any) -> Any:
    """Return a mask of the elements that are not zero."""
    return a if a.dtype == bool else a != 0


def _flatnonzero(a: Any) -> Any:
    if type(a) is not ndarray or a.dtype.kind not in "biufc":
        return NotImplemented
    return _bridge.positions(_truth(a))


def _coordinates(positions: Any, out: Any, shape: tuple[int, ...]) -> None:
    """Write the coordinates of flat positions in an array to the rows of `out`."""
    for axis in range(len(shape) - 1, 0, -1):
        rows = positions // shape[axis]
        out[axis] = positions - rows * shape[axis]
        positions = rows
    out[0] = positions


def _nonzero(a: Any) -> Any:
    positions = _flatnonzero(a)
    if positions is NotImplemented:
        return NotImplemented
    if a.ndim == 1:
        positions.shape = (positions.size, 1)  # as the array that NumPy's is a view of
        return (positions[:, 0],)
    out = _bridge.empty((positions.size, a.ndim), positions.dtype.num)
    _coordinates(positions, out.T, a.shape)
    return tuple(out[:, axis] for axis in range(a.ndim))


def _is_writable(a: Any) -> bool:
    return type(a) is ndarray and a.flags.c_contiguous and a.flags.writeable


def _is_mask_of(mask: Any, a: Any) -> bool:
    return type(mask) is ndarray and mask.dtype == bool and mask.shape == a.shape


def _is_castable(values: Any, a: Any) -> bool:
    """Return whether NumPy casts an array of values for a function that writes `a`."""
    return type(values) is ndarray and numpy.can_cast(values.dtype, a.dtype)


def _write_where(a: Any, mask: Any, values: Any) -> Any:
    """Record an assignment of values where a mask is true, or return NotImplemented."""
    chosen = _bridge.select(mask, values, a, a)
    return NotImplemented if chosen is NotImplemented else None


def _putmask(a: Any, /, mask: Any, values: Any) -> Any:
    if not _is_writable(a) or not _is_mask_of(mask, a) or not is_core_dtype(a.dtype):
        return NotImplemented
    if not _is_castable(values, a) or values.shape != a.shape:
        return NotImplemented
    if values.dtype != a.dtype:
        values = values.astype(a.dtype)
    return _write_where(a, mask, values)


def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> Any:
    if type(dst) is not ndarray or not dst.flags.writeable or casting != "same_kind":
        return NotImplemented
    if is_number(src):
        if not fits(src, dst.dtype) or not _is_same_kind(src, dst.dtype):
            return NotImplemented
        src = dst.dtype.type(src)
    elif not _is_castable(src, dst) or not is_core_dtype(src.dtype):
        return NotImplemented
    if where is not True:
        is_mask = type(where) is ndarray and where.dtype == bool
        return _write_where(dst, where, src) if is_mask else NotImplemented
    if src.ndim > dst.ndim:
        return NotImplemented  # NumPy drops leading axes of length 1 only here
    dst[...] = src
    return None


def _is_same_kind(value: Any, dtype: numpy.dtype[Any]) -> bool:
    return bool(numpy.can_cast(numpy.asarray(value).dtype, dtype, "same_kind"))


def _place(arr: Any, mask: Any, vals: Any) -> Any:
    if type(vals) in (list, tuple) and all(map(is_number, vals)):
        vals = _bridge.wrap(numpy.array(vals))
    if not (_is_writable(arr) and _is_mask_of(mask, arr) and _is_castable(vals, arr)):
        return NotImplemented
    if any(numpy.may_share_memory(arr._np_array, x._np_array) for x in (mask, vals)):
        return NotImplemented  # NumPy reads what it has written
    positions = _bridge.positions(mask)
    if positions is NotImplemented or vals.size == 0:
        return NotImplemented
    vals = vals.ravel()
    if 1 < vals.size < positions.size:
        vals = vals[numpy.arange(positions.size) % vals.size]
    arr.reshape(-1)[positions] = vals[: positions.size]
    return None


def _extract(condition: Any, arr: Any) -> Any:
    if type(condition) is not ndarray or type(arr) is not ndarray:
        return NotImplemented
    if condition.size != arr.size or condition.dtype.kind not in "biufc":
        return NotImplemented
    return arr.ravel()[_truth(condition.ravel())]


def _compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    if axis is not None or out is not None or type(condition) is not ndarray:
        return NotImplemented
    return _extract(condition, a) if condition.ndim == 1 else NotImplemented


def _compress_method(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return _compress(condition, a, axis, out)


def _where(condition: Any, *choices: Any) -> Any:
    if not choices:
        return _nonzero(condition)
    return _bridge.select(condition, *choices) if len(choices) == 2 else NotImplemented
