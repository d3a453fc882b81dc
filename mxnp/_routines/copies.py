"""Arrays filled, copied, cast, chosen from and put together, as recorded operations.

As in `reductions`, each function is asked before NumPy's when something is large, and
gives NotImplemented for all that it does not know for certain.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._array.ufunc import named
from mxnp._namespace.mirror import cross

_Queued = Callable[..., Any]
_given = numpy._NoValue  # where nothing is given

# As in _reductions: moving less than this is over before anything of ours has begun.
_WORTH = 4


def _queue(
    function: _Queued,
    *originals: Any,
    method: str = "",
    size_rule: str = "arrays",
    threshold_factor: int = _WORTH,
) -> None:
    wrappers = [cross(original, "numpy") for original in originals]
    if method:
        wrappers.append(vars(ndarray)[method])
    for wrapper in wrappers:
        wrapper.implementation = function
        wrapper.size_rule = size_rule[0]
        wrapper.threshold_factor = threshold_factor


def _is_number(value: Any) -> bool:
    """Tell whether a value is a number of Python's or a scalar of NumPy's."""
    return isinstance(value, (bool, int, float, complex, numpy.number))


def _is_simple(dtype: numpy.dtype[Any]) -> bool:
    """Tell whether the dtype is one of the queue's, and its number says all of it."""
    is_plain = dtype.names is None and not dtype.metadata
    is_known = dtype.kind in "biufc" or _bridge.has_dtype(dtype.num)
    return dtype.isnative and is_known and is_plain


def _simple(dtype: Any) -> numpy.dtype[Any] | None:
    """Give the dtype that is meant, if it is one of the queue's, without a warning."""
    if isinstance(dtype, str) and dtype.lstrip("<>=|")[:1] == "a":
        return None  # NumPy warns of that name, once
    found = numpy.dtype(dtype)
    return found if _is_simple(found) else None


# -- New arrays ------------------------------------------------------------------------


def _shape(shape: Any) -> tuple[int, ...]:
    return shape if type(shape) is tuple else (shape,)


def _filled(shape: Any, dtype: Any, value: Any) -> Any:
    wanted = _simple(dtype)
    if wanted is None:
        return NotImplemented
    return _bridge.fill(_shape(shape), wanted.num, value)


def _zeros(shape: Any, dtype: Any = None, order: Any = "C", *, like: Any = None) -> Any:
    if like is not None or order != "C":
        return NotImplemented
    return _filled(shape, dtype, 0)


def _ones(shape: Any, dtype: Any = None, order: Any = "C", *, like: Any = None) -> Any:
    if like is not None or order != "C":
        return NotImplemented
    return _filled(shape, dtype, 1)


def _full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    like: Any = None,
) -> Any:
    if like is not None or order != "C":
        return NotImplemented
    if dtype is None:
        if not _is_number(fill_value):
            return NotImplemented
        dtype = numpy.asarray(fill_value).dtype
    return _filled(shape, dtype, fill_value)


def _empty(shape: Any, dtype: Any = None, order: Any = "C", *, like: Any = None) -> Any:
    wanted = _simple(dtype)
    if like is not None or order != "C" or wanted is None:
        return NotImplemented
    return _bridge.empty(_shape(shape), wanted.num)


def _is_row_major(a: Any) -> bool:
    return type(a) is ndarray and bool(a.flags.c_contiguous)


def _like(value: Any) -> _Queued:
    """Make a function that gives an array like another, filled with a value."""

    def like(
        a: Any,
        dtype: Any = None,
        order: Any = "K",
        subok: Any = True,
        shape: Any = None,
    ) -> Any:
        if not _is_row_major(a) or shape is not None or order not in ("K", "C"):
            return NotImplemented
        return _filled(a.shape, a.dtype if dtype is None else dtype, value)

    return like


def _full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: Any = True,
    shape: Any = None,
) -> Any:
    if not _is_number(fill_value):
        return NotImplemented
    return _like(fill_value)(a, dtype, order, subok, shape)


def _empty_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None
) -> Any:
    if not _is_row_major(a) or shape is not None or order not in ("K", "C"):
        return NotImplemented
    return _empty(a.shape, a.dtype if dtype is None else dtype)


def _arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    if stop is None:
        start, stop = type(start)(), start
    wanted = None if dtype is None else _simple(dtype)
    if dtype is not None and (wanted is None or wanted.kind not in "iuf"):
        return NotImplemented
    third = start + 2 * step
    third = float(third) if isinstance(stop, float) else third
    try:  # NumPy's rounding of all numbers begins with that of these
        first_two = numpy.arange(start, third, step, dtype=wanted)[:2]
    except (OverflowError, ValueError):
        return NotImplemented
    if first_two.size < 2 or not _is_simple(first_two.dtype):
        return NotImplemented
    length = math.ceil((stop - start) / step)
    return _bridge.range(length, first_two.dtype.num, first_two.tobytes())


_queue(_zeros, numpy.zeros, size_rule="shape")
_queue(_ones, numpy.ones, size_rule="shape")
_queue(_full, numpy.full, size_rule="shape")
_queue(_empty, numpy.empty, size_rule="shape")
_queue(_arange, numpy.arange, size_rule="range")
_queue(_like(0), numpy.zeros_like)
_queue(_like(1), numpy.ones_like)
_queue(_full_like, numpy.full_like)
_queue(_empty_like, numpy.empty_like)


# -- Copies and casts ------------------------------------------------------------------


def _astype(
    a: Any,
    dtype: Any,
    order: Any = "K",
    casting: Any = "unsafe",
    subok: Any = True,
    copy: Any = True,
) -> Any:
    if type(a) is not ndarray or order not in ("K", "C") or copy is not True:
        return NotImplemented
    wanted = _simple(dtype)
    if wanted is None or casting != "unsafe":
        return NotImplemented
    return _bridge.cast(a, wanted.num, order == "K")


def _copy_method(a: Any, order: Any = "C") -> Any:
    if order not in ("K", "C") or not _is_simple(a.dtype):
        return NotImplemented
    return _bridge.cast(a, a.dtype.num, order == "K")


def _copy(a: Any, order: Any = "K", subok: Any = False) -> Any:
    if type(a) is not ndarray:
        return NotImplemented
    return _copy_method(a, order)


def _fill(a: Any, value: Any) -> Any:
    if not _is_number(value):
        return NotImplemented
    a[...] = value
    return None


_queue(_astype, method="astype")
_queue(_copy_method, method="copy")
_queue(_copy, numpy.copy)
_queue(_fill, method="fill")


# -- Choices ---------------------------------------------------------------------------


def _where(condition: Any, x: Any = _given, y: Any = _given, /) -> Any:
    if x is _given or y is _given:
        return NotImplemented
    return _bridge.select(condition, x, y)


_least, _most = named(numpy.minimum), named(numpy.maximum)


def _is_held(bound: Any, dtype: numpy.dtype[Any]) -> bool:
    """Tell whether a bound, if it is one of Python's ints, is within a dtype's own."""
    if type(bound) is not int or dtype.kind not in "iu":
        return True
    info = numpy.iinfo(dtype)
    return bool(info.min <= bound <= info.max)


def _clip(
    a: Any,
    a_min: Any = _given,
    a_max: Any = _given,
    out: Any = None,
    *,
    min: Any = _given,
    max: Any = _given,
) -> Any:
    if min is not _given or max is not _given:
        if a_min is not _given or a_max is not _given:
            return NotImplemented
        a_min = None if min is _given else min
        a_max = None if max is _given else max
    if type(a) is not ndarray or a_min is _given or a_max is _given:
        return NotImplemented
    if a_min is None and a_max is None:
        return NotImplemented
    if not (_is_held(a_min, a.dtype) and _is_held(a_max, a.dtype)):
        return NotImplemented
    if a_min is None:
        return _least(a, a_max, out=out)
    if a_max is None:
        return _most(a, a_min, out=out)
    return _bridge.clip(a, a_min, a_max, out)


def _clip_method(
    a: Any,
    min: Any = None,
    max: Any = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    return NotImplemented if kwargs else _clip(a, min, max, out)


_queue(_where, numpy.where, threshold_factor=1)
_queue(_clip, numpy.clip, threshold_factor=1)
_queue(_clip_method, method="clip", threshold_factor=1)


# -- Arrays put together ---------------------------------------------------------------


def _common_dtype(arrays: Any) -> numpy.dtype[Any] | None:
    """Give the dtype that arrays have together; None if NumPy is to be asked."""
    if type(arrays) not in (list, tuple) or not arrays:
        return None
    if any(type(each) is not ndarray or not _is_simple(each.dtype) for each in arrays):
        return None
    return numpy.result_type(*(each.dtype for each in arrays))


def _concatenate(
    arrays: Any,
    /,
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Any:
    common = _common_dtype(arrays)
    if common is None or out is not None or type(axis) is not int:
        return NotImplemented
    if dtype is not None or casting != "same_kind":
        return NotImplemented
    first = arrays[0].shape
    ndim = len(first)
    if not -ndim <= axis < ndim or not all(_is_row_major(each) for each in arrays):
        return NotImplemented
    axis %= ndim
    before, after = first[:axis], first[axis + 1 :]
    shapes = [each.shape for each in arrays]
    for shape in shapes:
        if len(shape) != ndim or shape[:axis] != before or shape[axis + 1 :] != after:
            return NotImplemented
    total = sum(shape[axis] for shape in shapes)
    result = _bridge.empty((*before, total, *after), common.num)
    if result is NotImplemented:
        return NotImplemented
    begin = 0
    every = (slice(None),) * axis
    for each, shape in zip(arrays, shapes, strict=True):
        result[(*every, slice(begin, begin + shape[axis]))] = each
        begin += shape[axis]
    return result


def _stack(
    arrays: Any,
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Any:
    common = _common_dtype(arrays)
    if common is None or out is not None or type(axis) is not int:
        return NotImplemented
    if dtype is not None or casting != "same_kind":
        return NotImplemented
    first = arrays[0].shape
    ndim = len(first) + 1
    if not -ndim <= axis < ndim:
        return NotImplemented
    if not all(each.shape == first and _is_row_major(each) for each in arrays):
        return NotImplemented
    axis %= ndim
    shape = (*first[:axis], len(arrays), *first[axis:])
    result = _bridge.empty(shape, common.num)
    if result is NotImplemented:
        return NotImplemented
    every = (slice(None),) * axis
    for i, each in enumerate(arrays):
        result[(*every, i)] = each
    return result


def _vstack(arrays: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if _common_dtype(arrays) is None or dtype is not None or casting != "same_kind":
        return NotImplemented
    if any(each.ndim == 0 for each in arrays):
        return NotImplemented
    rows = [each if each.ndim > 1 else each[None] for each in arrays]
    return _concatenate(rows, 0)


def _hstack(arrays: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if _common_dtype(arrays) is None or dtype is not None or casting != "same_kind":
        return NotImplemented
    return _concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


_queue(_concatenate, numpy.concatenate)
_queue(_stack, numpy.stack)
_queue(_vstack, numpy.vstack)
_queue(_hstack, numpy.hstack)


# -- Arrays repeated and turned --------------------------------------------------------


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    if type(a) is not ndarray or type(repeats) is not int or repeats < 1:
        return NotImplemented
    if not _is_simple(a.dtype) or not _is_row_major(a):
        return NotImplemented
    if axis is None:
        a, axis = a.ravel(), 0
    if type(axis) is not int or not -a.ndim <= axis < a.ndim:
        return NotImplemented
    axis %= a.ndim
    shape = a.shape
    before, after = shape[: axis + 1], shape[axis + 1 :]
    result = _bridge.empty((*shape[:axis], shape[axis] * repeats, *after), a.dtype.num)
    if result is NotImplemented:
        return NotImplemented
    wide = result.reshape((*before, repeats, *after))
    wide[...] = a[(slice(None),) * (axis + 1) + (None,)]
    return result


def _tile(a: Any, reps: Any) -> Any:
    if type(a) is not ndarray or not _is_simple(a.dtype) or a.ndim == 0:
        return NotImplemented
    counts = reps if type(reps) is tuple else (reps,)
    if any(type(each) is not int or each < 1 for each in counts):
        return NotImplemented
    ndim = max(a.ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - a.ndim) + a.shape
    pairs = [n for pair in zip(counts, shape, strict=True) for n in pair]
    wide = _bridge.empty(tuple(pairs), a.dtype.num)
    if wide is NotImplemented:
        return NotImplemented
    index = [i for n in shape for i in (None, slice(None))]
    wide[...] = a.reshape(shape)[tuple(index)]
    return wide.reshape(tuple(map(operator.mul, counts, shape)))


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if type(a) is not ndarray or type(shift) is not int or not _is_row_major(a):
        return NotImplemented
    if not _is_simple(a.dtype) or a.size == 0:
        return NotImplemented
    if axis is None:
        return _along(a, shift, a.shape)
    if type(axis) is not int or not -a.ndim <= axis < a.ndim:
        return NotImplemented
    result = _bridge.empty(a.shape, a.dtype.num)
    if result is NotImplemented:
        return NotImplemented
    _turn(a, result, shift, axis % a.ndim)
    return result


def _along(a: Any, shift: int, shape: tuple[int, ...]) -> Any:
    """Roll through all elements in their order in memory."""
    result = _bridge.empty((a.size,), a.dtype.num)
    if result is NotImplemented:
        return NotImplemented
    _turn(a.reshape(-1), result, shift, 0)
    return result.reshape(shape)


def _turn(a: Any, result: Any, shift: int, axis: int) -> None:
    n = a.shape[axis]
    shift %= n
    every = (slice(None),) * axis
    result[(*every, slice(shift, None))] = a[(*every, slice(None, n - shift))]
    if shift:
        result[(*every, slice(None, shift))] = a[(*every, slice(n - shift, None))]


_queue(_repeat, numpy.repeat, method="repeat")
_queue(_tile, numpy.tile)
_queue(_roll, numpy.roll)


# -- Arrays with margins ---------------------------------------------------------------


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]] | None:
    """Give the widths before and after on each axis; None if NumPy is to be asked."""
    if type(pad_width) is int:
        pad_width = ((pad_width, pad_width),) * ndim
    if type(pad_width) not in (tuple, list) or len(pad_width) == 0:
        return None
    if all(type(each) is int for each in pad_width) and len(pad_width) == 2:
        pad_width = (tuple(pad_width),) * ndim
    widths = [tuple(each) if type(each) is list else each for each in pad_width]
    if len(widths) == 1:
        widths *= ndim
    if len(widths) != ndim:
        return None
    for each in widths:
        if type(each) is not tuple or len(each) != 2:
            return None
        if any(type(width) is not int or width < 0 for width in each):
            return None
    return widths


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    if type(array) is not ndarray or not _is_row_major(array) or array.size == 0:
        return NotImplemented
    widths = _widths(pad_width, array.ndim)
    value = kwargs.pop("constant_values", 0)
    if widths is None or kwargs or not _is_simple(array.dtype):
        return NotImplemented
    if mode == "constant":
        if type(value) not in (int, float, bool):
            return NotImplemented
    elif mode not in ("edge", "wrap") or (
        mode == "wrap"
        and any(max(w) > n for w, n in zip(widths, array.shape, strict=True))
    ):
        return NotImplemented
    shape = tuple(
        n + before + after
        for n, (before, after) in zip(array.shape, widths, strict=True)
    )
    result = _bridge.empty(shape, array.dtype.num)
    if result is NotImplemented:
        return NotImplemented
    inner = [
        slice(before, before + n)
        for n, (before, _) in zip(array.shape, widths, strict=True)
    ]
    result[tuple(inner)] = array
    # Axis by axis, as NumPy: later margins take in those of earlier axes.
    for axis, ((before, after), n) in enumerate(zip(widths, array.shape, strict=True)):
        rows = inner[axis + 1 :]
        every = [slice(None)] * axis
        end = before + n
        for margin, source in _sources(mode, before, after, end):
            if margin.start != margin.stop:
                index = (*every, margin, *rows)
                result[index] = (
                    value if source is None else result[(*every, source, *rows)]
                )
    return result


def _sources(mode: str, before: int, after: int, end: int) -> Any:
    """Give both margins of an axis, and what each is a copy of."""
    first, last = slice(0, before), slice(end, end + after)
    if mode == "constant":
        return (first, None), (last, None)
    if mode == "edge":
        return (first, slice(before, before + 1)), (last, slice(end - 1, end))
    return (first, slice(end - before, end)), (last, slice(before, before + after))


_queue(_pad, numpy.pad)
