"""Elements taken, put and counted by index arrays, as recorded operations.

As in `copies`, each function is asked before NumPy's when something is large, and
gives NotImplemented for all that it does not know for certain.
"""

from __future__ import annotations

from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._array.ufunc import named, ufunc
from mxnp._bridge import ASSIGN, CLAMP, IN_BOUNDS, MODULO, NEAREST

from .copies import _is_number, _is_simple, _queue

# From the threshold on: NumPy takes longer for these than recording does.
_WORTH = 1

_bounds = {"raise": IN_BOUNDS, "clip": NEAREST, "wrap": MODULO}
_add = named(numpy.add).operation


def _is_index(a: Any) -> bool:
    return type(a) is ndarray and a.dtype.kind in "iu" and a.ndim > 0


def _along(axis: Any, ndim: int) -> int:
    """Give the axis counted from the first; -1 when NumPy has something to say."""
    if type(axis) is not int or not -ndim <= axis < ndim:
        return -1
    return axis % ndim


# -- Taken and put ---------------------------------------------------------------------


def _take(
    a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise"
) -> Any:
    if type(a) is not ndarray or not _is_index(indices) or out is not None:
        return NotImplemented
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = _along(axis, a.ndim)
    if axis < 0 or mode not in _bounds:
        return NotImplemented
    key = (slice(None),) * axis + (indices,)
    return _bridge.take(a, key, _bounds[mode])


def _flat(a: Any) -> Any:
    """Give a view of all elements in C order, or None."""
    return a.reshape(-1) if a.flags.c_contiguous else None


def _put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> Any:
    if type(a) is not ndarray or not _is_index(ind) or mode not in _bounds:
        return NotImplemented
    flat = _flat(a)
    if type(v) is ndarray:
        v = v.ravel()
        if v.size != ind.size:
            return NotImplemented
    elif not _is_number(v):
        return NotImplemented
    if flat is None:
        return NotImplemented
    done = _bridge.update(ASSIGN, flat, ind.ravel(), v, _bounds[mode])
    return NotImplemented if done is NotImplemented else None


def _key_along(a: Any, indices: Any, axis: Any) -> Any:
    """Give the key that selects along an axis, at each place along the others."""
    if type(a) is not ndarray or not _is_index(indices) or a.ndim != indices.ndim:
        return None
    axis = _along(axis, a.ndim)
    if axis < 0:
        return None
    key: list[Any] = [indices]
    for other in range(a.ndim):
        if other != axis:
            shape = [1] * a.ndim
            shape[other] = a.shape[other]
            key.insert(other, numpy.arange(a.shape[other]).reshape(shape))
    return tuple(key)


def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    key = _key_along(arr, indices, axis)
    return NotImplemented if key is None else arr[key]


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> Any:
    key = _key_along(arr, indices, axis)
    if key is None:
        return NotImplemented
    arr[key] = values
    return None


_queue(_take, numpy.take, method="take", threshold_factor=_WORTH)
_queue(_put, numpy.put, method="put", threshold_factor=_WORTH)
_queue(_take_along_axis, numpy.take_along_axis, threshold_factor=_WORTH)
_queue(_put_along_axis, numpy.put_along_axis, threshold_factor=_WORTH)


# -- Updated ---------------------------------------------------------------------------


def _ufunc_at(op: ufunc, a: Any, indices: Any, b: Any = None, /) -> Any:
    if b is None or op.operation < 0 or type(a) is not ndarray:
        return NotImplemented
    done = _bridge.update(op.operation, a, indices, b, IN_BOUNDS)
    return NotImplemented if done is NotImplemented else None


def _choose_at(op: Any, a: Any = None, indices: Any = None, b: Any = None, /) -> Any:
    """Give NumPy's method, but for values with fewer axes than an array of indices.

    NumPy 2.4 reads beyond such values.
    """
    index = indices[0] if type(indices) is tuple and len(indices) == 1 else indices
    if getattr(index, "ndim", 0) > 1 and index.dtype != bool and numpy.ndim(b) == 1:
        return _at_with_axes
    return numpy.ufunc.at


def _at_with_axes(op: numpy.ufunc, a: Any, indices: Any, b: Any) -> None:
    op.at(a, indices, numpy.asarray(b)[numpy.newaxis])


vars(ufunc)["at"].choose = _choose_at
vars(ufunc)["at"].implementation = _ufunc_at
vars(ufunc)["at"].threshold_factor = _WORTH


def _fill_diagonal(a: Any, val: Any, wrap: Any = False) -> Any:
    if type(a) is not ndarray or a.ndim != 2 or not _is_simple(a.dtype):
        return NotImplemented
    if not (a.flags.c_contiguous and a.flags.writeable):
        return NotImplemented
    if not _is_number(val):
        return NotImplemented
    n = a.shape[1]
    a.reshape(-1)[: None if wrap else n * n : n + 1] = val
    return None


_queue(_fill_diagonal, numpy.fill_diagonal, threshold_factor=_WORTH)


# -- Chosen ----------------------------------------------------------------------------

_MAX_CHOICES = 8  # for more, NumPy's loop over them is no slower


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist) or not 0 < len(condlist) <= _MAX_CHOICES:
        return NotImplemented
    choices = [*choicelist, default]
    for each in choices:
        if type(each) is not ndarray and type(each) not in (bool, int, float, complex):
            return NotImplemented
    if any(type(c) is not ndarray or c.dtype != bool for c in condlist):
        return NotImplemented
    return _nested(condlist, choices)


def _nested(conditions: Any, choices: Any) -> Any:
    """Give the first choice whose condition is true, else the last one."""
    dtype = numpy.result_type(*(getattr(c, "dtype", c) for c in choices))
    if not _is_simple(dtype):
        return NotImplemented
    result = choices[-1]
    if type(result) is not ndarray:
        result = dtype.type(result)
    for condition, choice in zip(conditions[::-1], choices[-2::-1], strict=True):
        result = _bridge.select(condition, choice, result)
        if result is NotImplemented:
            return result
    return result if result.dtype == dtype else result.astype(dtype)


def _choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    if not _is_index(a) or out is not None or mode not in _bounds:
        return NotImplemented
    if type(choices) not in (list, tuple) or not 0 < len(choices) <= _MAX_CHOICES:
        return NotImplemented
    if any(type(c) is not ndarray for c in choices):
        return NotImplemented
    n = len(choices)
    if mode == "wrap":
        a = a % n
    elif mode == "raise":
        least, most = _bridge.index_range(a)
        if least < 0 or most >= n:
            return NotImplemented
    conditions = [a <= i for i in range(n - 1)]
    return _nested(conditions, choices) if n > 1 else NotImplemented


_queue(_select, numpy.select, threshold_factor=_WORTH)
_queue(_choose, numpy.choose, method="choose", threshold_factor=_WORTH)


# -- Counted and searched --------------------------------------------------------------


def _bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    if not _is_index(x) or x.ndim != 1 or type(minlength) is not int or minlength < 0:
        return NotImplemented
    if x.dtype == numpy.uint64:
        return NotImplemented
    if weights is not None and (
        type(weights) is not ndarray or weights.shape != x.shape
    ):
        return NotImplemented
    if weights is not None and weights.dtype.kind not in "biuf":
        return NotImplemented
    least, most = _bridge.index_range(x)
    if least < 0:
        return NotImplemented
    counted = numpy.dtype(numpy.intp if weights is None else numpy.float64)
    out = _bridge.fill((max(most + 1, minlength),), counted.num, 0)
    if out is NotImplemented:
        return out
    if weights is not None and weights.dtype != counted:
        weights = weights.astype(counted)
    value = 1 if weights is None else weights
    done = _bridge.update(_add, out, x, value, IN_BOUNDS)
    return NotImplemented if done is NotImplemented else out


def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    if type(a) is not ndarray or type(v) is not ndarray or sorter is not None:
        return NotImplemented
    if side not in ("left", "right") or a.ndim != 1:
        return NotImplemented
    if not (_is_simple(a.dtype) and _is_simple(v.dtype)):
        return NotImplemented
    dtype = numpy.result_type(a.dtype, v.dtype)
    a = a if a.dtype == dtype else a.astype(dtype)
    v = v if v.dtype == dtype else v.astype(dtype)
    return _bridge.search(a, v, side == "right")


def _bin_edges(a: Any, bins: Any, range: Any) -> Any:
    """Give the edges of so many bins of the same width, as NumPy has them; or None."""
    if range is None:
        range = (a.min(), a.max())
    if type(range) is not tuple or len(range) != 2:
        return None
    low, high = (numpy.asarray(_bridge.unwrap(edge)) for edge in range)
    if low.ndim > 0 or high.ndim > 0 or not numpy.isfinite(high - low):
        return None
    outer: Any = low[()], high[()]
    edges = numpy.histogram_bin_edges(numpy.empty(0, a.dtype), bins, outer)
    return edges if edges.dtype == a.dtype else None


def _histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    if type(a) is not ndarray or a.dtype.char not in "fd" or weights is not None:
        return NotImplemented
    if type(bins) is not int or bins < 1 or density:
        return NotImplemented
    edges = _bin_edges(a, bins, range)
    if edges is None:
        return NotImplemented
    a, table = a.ravel(), _bridge.wrap(edges)
    low, high = edges[0], edges[-1]
    # As NumPy does it: an element may be rounded into the bin before or behind its own.
    places = ((a - low) / (high - low) * bins).astype(numpy.intp)
    places = places - (places == bins)
    begins = _bridge.take(table, places, CLAMP)
    ends = _bridge.take(table, places + 1, CLAMP)
    if begins is NotImplemented or ends is NotImplemented:
        return NotImplemented
    places = places - (a < begins) + ((a >= ends) & (places != bins - 1))
    if range is not None:
        places = _bridge.select((a >= low) & (a <= high), places, bins)
    counts = _bincount(places, minlength=bins)
    return NotImplemented if counts is NotImplemented else (counts[:bins], table)


# As many numbers may be between the least and the greatest, for each of those given.
_MAX_SPARSITY = 4


def _unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
    sorted: Any = True,
) -> Any:
    if not _is_index(ar) or return_index or axis is not None or ar.dtype.char in "LQ":
        return NotImplemented
    least, most = _bridge.index_range(ar)
    if most - least >= _MAX_SPARSITY * ar.size:
        return NotImplemented
    offsets = (ar.astype(numpy.int64) - least).ravel()
    counts = _bincount(offsets)
    if counts is NotImplemented:
        return counts
    there = counts > 0
    found = there.nonzero()[0]
    results = [(found + least).astype(ar.dtype)]
    if return_inverse:
        ranks = there.cumsum() - 1
        results.append(ranks[offsets].reshape(ar.shape))
    if return_counts:
        results.append(counts[found])
    return results[0] if len(results) == 1 else tuple(results)


_queue(_histogram, numpy.histogram, threshold_factor=_WORTH)
_queue(_unique, numpy.unique, threshold_factor=_WORTH)
_queue(_bincount, numpy.bincount, threshold_factor=_WORTH)
_queue(
    _searchsorted, numpy.searchsorted, method="searchsorted", threshold_factor=_WORTH
)
