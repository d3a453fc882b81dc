"""Elements and places that a condition selects, found by the core.

How many there are is known only once the condition is computed, so nothing of it is
recorded. As in `copies`, each function gives NotImplemented for all that it does not
know for certain.
"""

from __future__ import annotations

from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray

from .copies import _is_simple, _queue, _where

# As in `copies`; NumPy takes about 2 ns for an element.
_WORTH = 1


def _truth(a: Any) -> Any:
    """Give where the elements are not zero."""
    return a if a.dtype == bool else a != 0


def _flat_places(a: Any) -> Any:
    if type(a) is not ndarray or a.dtype.kind not in "biufc":
        return NotImplemented
    return _bridge.places(_truth(a))


def _coordinates(places: Any, out: Any, shape: tuple[int, ...]) -> None:
    """Put the coordinates of places in an array into the rows of `out`."""
    for axis in range(len(shape) - 1, 0, -1):
        above = places // shape[axis]
        out[axis] = places - above * shape[axis]
        places = above
    out[0] = places


def _nonzero(a: Any) -> Any:
    places = _flat_places(a)
    if places is NotImplemented or a.ndim == 1:
        return places if places is NotImplemented else (places,)
    out = _bridge.empty((places.size, a.ndim), places.dtype.num)
    _coordinates(places, out.T, a.shape)
    return tuple(out[:, axis] for axis in range(a.ndim))


def _argwhere(a: Any) -> Any:
    places = _flat_places(a)
    if places is NotImplemented:
        return places
    out = _bridge.empty((a.ndim, places.size), places.dtype.num)
    _coordinates(places, out, a.shape)
    return out.T


def _is_writable(a: Any) -> bool:
    return type(a) is ndarray and a.flags.c_contiguous and a.flags.writeable


def _is_mask_of(mask: Any, a: Any) -> bool:
    return type(mask) is ndarray and mask.dtype == bool and mask.shape == a.shape


def _putmask(a: Any, /, mask: Any, values: Any) -> Any:
    if not _is_writable(a) or not _is_mask_of(mask, a) or not _is_simple(a.dtype):
        return NotImplemented
    if type(values) is not ndarray or values.shape != a.shape:
        return NotImplemented
    if values.dtype != a.dtype:
        values = values.astype(a.dtype)
    chosen = _bridge.select(mask, values, a)
    if chosen is NotImplemented:
        return chosen
    a[...] = chosen
    return None


def _place(arr: Any, mask: Any, vals: Any) -> Any:
    if not _is_writable(arr) or not _is_mask_of(mask, arr) or type(vals) is not ndarray:
        return NotImplemented
    places = _bridge.places(mask)
    if places is NotImplemented or vals.size == 0:
        return NotImplemented
    vals = vals.ravel()
    if vals.size < places.size:
        vals = vals.take(numpy.arange(places.size), mode="wrap")
    arr.reshape(-1)[places] = vals[: places.size]
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


def _where_or_nonzero(condition: Any, *choices: Any) -> Any:
    return _where(condition, *choices) if choices else _nonzero(condition)


_queue(_where_or_nonzero, numpy.where, threshold_factor=_WORTH)
_queue(_nonzero, numpy.nonzero, method="nonzero", threshold_factor=_WORTH)
_queue(_flat_places, numpy.flatnonzero, threshold_factor=_WORTH)
_queue(_argwhere, numpy.argwhere, threshold_factor=_WORTH)
_queue(_putmask, numpy.putmask, threshold_factor=_WORTH)
_queue(_place, numpy.place, threshold_factor=_WORTH)
_queue(_extract, numpy.extract, threshold_factor=_WORTH)
_queue(_compress, numpy.compress, threshold_factor=_WORTH)
_queue(_compress_method, method="compress", threshold_factor=_WORTH)
