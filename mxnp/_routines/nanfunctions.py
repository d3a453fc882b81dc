"""Recorded forms of the functions that ignore NaN, as reductions."""

from __future__ import annotations

from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._array.ufunc import named, ufunc

from .reductions import (
    finish,
    reduce_by,
    sum_or_product,
)
from .statistics import divide_by_counts, finish_deviation, finish_variance

_add, _multiply = named(numpy.add), named(numpy.multiply)
_isnan = named(numpy.isnan)


def _fill_nan(a: Any, value: float) -> tuple[Any, Any]:
    """Return where NaN is and the array with `value` there, or two NotImplemented."""
    if 0 in a.strides:  # the filled array would have another order of elements
        return NotImplemented, NotImplemented
    is_nan = _isnan(a)
    return is_nan, _bridge.select(is_nan, a.dtype.type(value), a)


# -- Sums and products -----------------------------------------------------------------


def _reduce_filled(op: ufunc, a: Any, *args: Any) -> Any:
    """Record a reduction in which the identity replaces NaN."""
    if type(a) is not ndarray:
        return NotImplemented
    if a.dtype.kind in "fc":
        a = _fill_nan(a, op.__wrapped__.identity)[1]
    return reduce_by(op, a, *args)


_nansum = sum_or_product(_add, _reduce_filled)
_nanprod = sum_or_product(_multiply, _reduce_filled)


# -- Means and variances ---------------------------------------------------------------


def _sum_and_count(
    is_nan: Any, filled: Any, axis: Any, keepdims: Any
) -> tuple[Any, Any]:
    """Return the sums of the filled elements, and the counts without NaN."""
    total = reduce_by(_add, filled, axis, keepdims=keepdims)
    return total, reduce_by(_add, ~is_nan, axis, keepdims=keepdims)


def _nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Any:
    if type(a) is not ndarray or a.dtype.kind not in "fc" or where is not True:
        return NotImplemented
    if dtype is not None or out is not None or a.dtype == numpy.float16:
        return NotImplemented
    is_nan, filled = _fill_nan(a, 0)
    if filled is NotImplemented:
        return NotImplemented
    total, count = _sum_and_count(is_nan, filled, axis, keepdims)
    del is_nan, filled  # temporaries that are released need no memory
    with numpy.errstate(invalid="ignore", divide="ignore"):  # as NumPy
        return finish(divide_by_counts(total, count))


def _variance(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
) -> Any:
    """Return the variance of the numbers as an array, or NotImplemented."""
    if type(a) is not ndarray or a.dtype.kind != "f" or a.dtype == numpy.float16:
        return NotImplemented
    if dtype is not None or out is not None or type(ddof) not in (int, float):
        return NotImplemented
    if a.size == 0:
        return NotImplemented
    is_nan, filled = _fill_nan(a, 0)
    if filled is NotImplemented:
        return NotImplemented
    mean = divide_by_counts(*_sum_and_count(is_nan, filled, axis, keepdims=True))
    if mean is NotImplemented:
        return NotImplemented
    deviations = _bridge.select(is_nan, a.dtype.type(0), filled - mean)
    squares = _multiply(deviations, deviations)
    del deviations
    total, count = _sum_and_count(is_nan, squares, axis, keepdims)
    del is_nan, filled, squares  # temporaries that are released need no memory
    return divide_by_counts(total, count - ddof)


_nanvar = finish_variance(_variance)
_nanstd = finish_deviation(_variance)
