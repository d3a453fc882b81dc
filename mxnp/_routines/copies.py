"""Recorded forms of functions that create, copy, cast, select and join arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import is_number, ndarray
from mxnp._array.ufunc import named
from mxnp._namespace.mirror import find_counterpart
from mxnp._namespace.ordinary import NO_VALUE

from .arguments import (
    find_axis,
    find_dtype,
    fits,
    is_core_dtype,
    is_row_major,
)

_MOST_AXES = 3  # that a recorded roll shifts: each doubles the number of copies
_INTEGERS = (int, numpy.integer)
_EXACT_TYPES = {int, float, numpy.int64, numpy.float64}


# -- New arrays ------------------------------------------------------------------------


def _filled(shape: Any, dtype: Any, value: Any) -> Any:
    wanted = find_dtype(dtype)
    if wanted is None:
        return NotImplemented
    return _bridge.fill(_as_tuple(shape), wanted.num, value)


def _as_tuple(shape: Any) -> tuple[int, ...]:
    return shape if type(shape) is tuple else (shape,)


def _filled_with(value: Any) -> Callable[..., Any]:
    """Make a function that returns a new array filled with a value."""

    def create(
        shape: Any,
        dtype: Any = None,
        order: Any = "C",
        *,
        device: Any = None,
        like: Any = None,
    ) -> Any:
        if order != "C":
            return NotImplemented
        return _filled(shape, dtype, value)

    return create


_zeros = _filled_with(0)
_ones = _filled_with(1)


def _full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    if order != "C":
        return NotImplemented
    if dtype is None:
        if not is_number(fill_value):
            return NotImplemented
        dtype = numpy.asarray(fill_value).dtype
    elif type(fill_value) is int and numpy.dtype(dtype) == bool:
        return NotImplemented  # NumPy refuses large numbers
    return _filled(shape, dtype, fill_value)


def _empty(
    shape: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    wanted = find_dtype(dtype)
    if order != "C" or wanted is None:
        return NotImplemented
    return _bridge.empty(_as_tuple(shape), wanted.num, False)


def _like_filled_with(value: Any) -> Callable[..., Any]:
    """Make a function that returns an array like another, filled with a value."""

    def create(
        a: Any,
        dtype: Any = None,
        order: Any = "K",
        subok: Any = True,
        shape: Any = None,
    ) -> Any:
        if not is_row_major(a) or shape is not None or order not in ("K", "C"):
            return NotImplemented
        return _filled(a.shape, a.dtype if dtype is None else dtype, value)

    return create


_zeros_like = _like_filled_with(0)
_ones_like = _like_filled_with(1)


def _full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: Any = True,
    shape: Any = None,
) -> Any:
    if not is_row_major(a) or shape is not None or order not in ("K", "C"):
        return NotImplemented
    return _full(a.shape, fill_value, a.dtype if dtype is None else dtype)


def _empty_like(
    a: Any, /, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None
) -> Any:
    if type(a) is not ndarray or shape is not None or order not in ("K", "C"):
        return NotImplemented
    wanted = find_dtype(a.dtype if dtype is None else dtype)
    if wanted is None:
        return NotImplemented
    like = a if order == "K" else None
    return _bridge.empty(a.shape, wanted.num, False, like)


def _arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Any:
    if stop is None:
        start, stop = type(start)(), start
    if not {type(start), type(stop), type(step)} <= _EXACT_TYPES:
        return NotImplemented
    wanted = None if dtype is None else find_dtype(dtype)
    if dtype is not None and (wanted is None or wanted.kind not in "iuf"):
        return NotImplemented
    third = start + 2 * step
    if not all(-(2**63) <= each < 2**63 for each in (start, stop, third)):
        return NotImplemented  # NumPy looks for a dtype that holds the integers
    third = float(third) if isinstance(stop, float) else third
    try:  # NumPy computes all elements from the first two, which are rounded
        first_two = numpy.arange(start, third, step, dtype=wanted)[:2]
    except (OverflowError, ValueError) as error:
        _bridge.raise_handlers(error)
        return NotImplemented
    if first_two.size < 2 or not is_core_dtype(first_two.dtype):
        return NotImplemented
    length = math.ceil((stop - start) / step)
    return _bridge.range(length, first_two.dtype.num, first_two.tobytes())


# -- Copies and casts ------------------------------------------------------------------


def _astype(
    a: Any,
    dtype: Any,
    order: Any = "K",
    casting: Any = "unsafe",
    subok: Any = True,
    copy: Any = True,
) -> Any:
    if copy is None:
        return NotImplemented
    if type(a) is not ndarray or order not in ("K", "C") or type(copy) is not bool:
        return NotImplemented
    wanted = find_dtype(dtype)
    if wanted is None or casting != "unsafe":
        return NotImplemented
    if not copy and a.dtype == wanted and (order == "K" or a.flags.c_contiguous):
        return a
    return _bridge.cast(a, wanted.num, order == "K")


def _copy_method(a: Any, order: Any = "C") -> Any:
    if order not in ("K", "C") or not is_core_dtype(a.dtype):
        return NotImplemented
    return _bridge.cast(a, a.dtype.num, order == "K")


def _flatten(a: Any, order: Any = "C") -> Any:
    is_flat = a.flags.c_contiguous and order in ("C", "A", "K")
    return _copy_method(a.reshape(-1)) if is_flat else NotImplemented


def _copy(a: Any, order: Any = "K", subok: Any = False) -> Any:
    if type(a) is not ndarray:
        return NotImplemented
    return _copy_method(a, order)


def _array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: Any = False,
    ndmin: Any = 0,
    like: Any = None,
) -> Any:
    if type(ndmin) is not int or order not in ("K", "C"):
        return NotImplemented
    copy = copy if copy is None else bool(copy)
    if copy is True and type(object) is ndarray:
        result = _astype(object, object.dtype if dtype is None else dtype, order)
    elif order == "K" and copy is not False:
        result = _asarray(object, dtype)
    else:
        return NotImplemented
    if result is NotImplemented or result.ndim >= ndmin:
        return result
    return result.reshape((1,) * (ndmin - result.ndim) + result.shape)


_stack = find_counterpart(numpy.stack)


def _are_alike(arrays: Any) -> bool:
    """Return whether arrays have C order and one dtype, the usual one of its name."""
    return all(
        type(each) is ndarray
        and each.dtype == arrays[0].dtype
        and is_row_major(each)
        and is_core_dtype(each.dtype)
        and each.dtype.num == numpy.dtype(each.dtype.name).num
        for each in arrays
    )


def _asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: Any = None,
    like: Any = None,
) -> Any:
    if order is not None or copy is not None:
        return NotImplemented
    if type(a) in (list, tuple) and len(a) > 0:
        a = _stack(a) if _are_alike(a) else NotImplemented
    if type(a) is not ndarray:
        return NotImplemented
    return a if dtype is None else _astype(a, dtype, copy=False)


def _ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    is_copied = type(a) is ndarray and a.ndim > 0 and not a.flags.c_contiguous
    if not is_copied or dtype is not None:
        return NotImplemented
    return _copy_method(a)


def _fill(a: Any, value: Any, /) -> Any:
    if not fits(value, a.dtype):
        return NotImplemented
    a[...] = value
    return None


# -- Choices ---------------------------------------------------------------------------


_minimum, _maximum = named(numpy.minimum), named(numpy.maximum)


def _is_in_range(bound: Any, dtype: numpy.dtype[Any]) -> bool:
    """Return whether a bound, if it is a Python int, is a value of the dtype."""
    if type(bound) is not int or dtype.kind not in "iu":
        return True
    info = numpy.iinfo(dtype)
    return bool(info.min <= bound <= info.max)


def _clip(
    a: Any,
    a_min: Any = NO_VALUE,
    a_max: Any = NO_VALUE,
    out: Any = None,
    *,
    min: Any = NO_VALUE,
    max: Any = NO_VALUE,
) -> Any:
    if min is not NO_VALUE or max is not NO_VALUE:
        if a_min is not NO_VALUE or a_max is not NO_VALUE:
            return NotImplemented
        a_min = None if min is NO_VALUE else min
        a_max = None if max is NO_VALUE else max
    if type(a) is not ndarray or a_min is NO_VALUE or a_max is NO_VALUE:
        return NotImplemented
    if a_min is None and a_max is None:
        return NotImplemented
    if not (_is_in_range(a_min, a.dtype) and _is_in_range(a_max, a.dtype)):
        return NotImplemented
    if a_min is None:
        return _minimum(a, a_max, out=out)
    if a_max is None:
        return _maximum(a, a_min, out=out)
    return _bridge.clip(a, a_min, a_max, out)


def _clip_method(
    a: Any,
    min: Any = None,
    max: Any = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    return NotImplemented if kwargs else _clip(a, min, max, out)


# -- Joined arrays ---------------------------------------------------------------------


def _common_dtype(arrays: Any) -> numpy.dtype[Any] | None:
    """Return the dtype of the joined arrays, or None if NumPy must handle them."""
    if type(arrays) not in (list, tuple) or not arrays:
        return None
    if any(not is_row_major(each) or not is_core_dtype(each.dtype) for each in arrays):
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
    if common is None or out is not None or dtype is not None or casting != "same_kind":
        return NotImplemented
    if axis is None:
        arrays, axis = [each.ravel() for each in arrays], 0
    first = arrays[0].shape
    ndim = len(first)
    axis = find_axis(axis, ndim)
    if axis < 0:
        return NotImplemented
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


# -- Repeated and rolled arrays --------------------------------------------------------


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    if type(a) is not ndarray or not is_core_dtype(a.dtype) or not is_row_major(a):
        return NotImplemented
    if axis is None:
        a, axis = a.ravel(), 0
    axis = find_axis(axis, a.ndim)
    if axis < 0:
        return NotImplemented
    if type(repeats) is ndarray:
        from .indexing import repeat_by_counts  # few programs need it

        return repeat_by_counts(a, repeats, axis)
    if type(repeats) is not int or repeats < 1:
        return NotImplemented
    shape = a.shape
    before, after = shape[: axis + 1], shape[axis + 1 :]
    result = _bridge.empty((*shape[:axis], shape[axis] * repeats, *after), a.dtype.num)
    if result is NotImplemented:
        return NotImplemented
    wide = result.reshape((*before, repeats, *after))
    wide[...] = a[(slice(None),) * (axis + 1) + (None,)]
    return result


def _find_shifts(
    shift: Any, axis: Any, shape: tuple[int, ...]
) -> dict[int, int] | None:
    """Return the shift of each axis that moves, or None if NumPy must handle them."""
    shifts = shift if type(shift) in (tuple, list) else (shift,)
    axes = axis if type(axis) is tuple else (axis,)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        return None
    if not shifts or not axes or not all(isinstance(n, _INTEGERS) for n in shifts):
        return None
    pairs = max(len(shifts), len(axes))
    totals: dict[int, int] = {}
    for i in range(pairs):
        each = find_axis(axes[i % len(axes)], len(shape))
        if each < 0:
            return None
        totals[each] = totals.get(each, 0) + int(shifts[i % len(shifts)])
    return {each: n % shape[each] for each, n in totals.items() if n % shape[each]}


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if type(a) is not ndarray or not is_core_dtype(a.dtype) or a.size == 0:
        return NotImplemented
    if axis is None:
        if not is_row_major(a):
            return NotImplemented
        rolled = _roll(a.reshape(-1), shift, 0)
        return rolled if rolled is NotImplemented else rolled.reshape(a.shape)
    shifts = _find_shifts(shift, axis, a.shape)
    if shifts is None or len(shifts) > _MOST_AXES:
        return NotImplemented
    return _roll_axes(a, shifts)


def _roll_axes(a: Any, shifts: dict[int, int]) -> Any:
    result = _bridge.empty(a.shape, a.dtype.num, True, a)
    if result is NotImplemented:
        return NotImplemented
    # An axis has two parts that move, or is copied as it is. The largest part is
    # first: it is recorded, and so are those that follow, however small they are.
    parts: list[Any] = [((slice(None), slice(None)),)] * a.ndim
    for axis, n in shifts.items():
        if n:
            tail, head = (
                (slice(n, None), slice(None, -n)),
                (slice(None, n), slice(-n, None)),
            )
            is_long = 2 * (a.shape[axis] - n if n > 0 else -n) >= a.shape[axis]
            parts[axis] = (tail, head) if is_long else (head, tail)
    for moves in itertools.product(*parts):
        to, start = zip(*moves, strict=True)
        result[to] = a[start]
    return result


# -- Padded arrays ---------------------------------------------------------------------


def _find_widths(pad_width: Any, ndim: int) -> list[tuple[int, int]] | None:
    """Return the widths before and after each axis, or None if NumPy must."""
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
    if not is_row_major(array) or array.size == 0 or array.ndim == 0:
        return NotImplemented
    widths = _find_widths(pad_width, array.ndim)
    value = kwargs.pop("constant_values", 0) if mode == "constant" else None
    if widths is None or kwargs or not is_core_dtype(array.dtype):
        return NotImplemented
    if not _has_recorded_mode(mode, value, widths, array):
        return NotImplemented
    inner = [
        slice(before, before + n)
        for n, (before, _) in zip(array.shape, widths, strict=True)
    ]
    shape = [part.stop + after for part, (_, after) in zip(inner, widths, strict=True)]
    result = _bridge.empty(tuple(shape), array.dtype.num)
    if result is NotImplemented:
        return NotImplemented
    result[tuple(inner)] = array
    # As in NumPy, the margins of an axis include those of earlier axes.
    for axis, (before, after) in enumerate(widths):
        every, rows = [slice(None)] * axis, inner[axis + 1 :]
        for margin, source in _margins(mode, before, after, inner[axis].stop):
            if margin.start != margin.stop:
                filling = value if source is None else result[(*every, source, *rows)]
                result[(*every, margin, *rows)] = filling
    return result


def _has_recorded_mode(
    mode: Any, value: Any, widths: list[tuple[int, int]], array: Any
) -> bool:
    if mode == "constant":
        is_number = type(value) in (int, float, bool)
        return is_number and _bridge.fits(value, array.dtype.num)
    if mode == "wrap":
        return all(max(each) <= n for each, n in zip(widths, array.shape, strict=True))
    return bool(mode == "edge")


def _margins(
    mode: str, before: int, after: int, end: int
) -> Iterator[tuple[slice, slice | None]]:
    """Yield both margins of an axis, with the part of the axis that each repeats."""
    first, last = slice(0, before), slice(end, end + after)
    if mode == "constant":
        yield first, None
        yield last, None
    elif mode == "edge":
        yield first, slice(before, before + 1)
        yield last, slice(end - 1, end)
    else:
        yield first, slice(end - before, end)
        yield last, slice(before, before + after)
