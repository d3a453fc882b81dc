"""Functions of large arrays in which NaN does not count, by recorded reductions.

As in `reductions`, each function is asked before NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._array.ufunc import named, ufunc

from .reductions import (
    GIVEN,
    Queued,
    argmax,
    argmin,
    finish,
    queue,
    reduce_by,
    with_dtype,
)
from .statistics import divide_by_counts

_add, _multiply = named(numpy.add), named(numpy.multiply)
_fmax, _fmin = named(numpy.fmax), named(numpy.fmin)
_isnan, _logical_and = named(numpy.isnan), named(numpy.logical_and)
_square, _sqrt = named(numpy.square), named(numpy.sqrt)


def _fill_nan(a: Any, value: float) -> tuple[Any, Any]:
    """Give where NaN is, and the array with a value there, or NotImplemented."""
    if 0 in a.strides:  # the copy has an order of its own
        return NotImplemented, NotImplemented
    is_nan = _isnan(a)
    return is_nan, _bridge.select(is_nan, a.dtype.type(value), a)


def _search_without_nan(search: Queued, worst: float) -> Queued:
    """Make nanargmin or nanargmax."""

    def nansearch(
        a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False
    ) -> Any:
        if type(a) is not ndarray or a.dtype.kind not in "biuf":
            return NotImplemented
        if a.dtype.kind != "f":
            return search(a, axis, out, keepdims=keepdims)
        is_nan, filled = _fill_nan(a, worst)
        if filled is NotImplemented:
            return NotImplemented
        nothing = reduce_by(_logical_and, is_nan, axis, None, None, False, GIVEN, True)
        if nothing is NotImplemented or bool(nothing.any()):
            return NotImplemented
        return search(filled, axis, out, keepdims=keepdims)

    return nansearch


def _without_nan(op: ufunc) -> Queued:
    """Make a sum or product in which NaN does not count."""
    reduce_filled, identity = with_dtype(op), op.__wrapped__.identity

    def reduce(a: Any, *args: Any, **kwargs: Any) -> Any:
        if type(a) is not ndarray:
            return NotImplemented
        if a.dtype.kind in "fc":
            a = _fill_nan(a, identity)[1]
            if a is NotImplemented:
                return NotImplemented
        return reduce_filled(a, *args, **kwargs)

    return reduce


def _extreme_without_nan(op: ufunc) -> Queued:
    """Make a greatest or least element that is not NaN."""

    def reduce(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = GIVEN,
        where: Any = True,
    ) -> Any:
        if type(a) is not ndarray or a.dtype.kind == "b":
            return NotImplemented
        result = reduce_by(op, a, axis, None, out, keepdims, initial, where)
        # NumPy warns where there is nothing else than NaN.
        if result is NotImplemented or bool(_isnan(result).any()):
            return NotImplemented
        return finish(result, out)

    return reduce


def _mean_without_nan(
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
    total = reduce_by(_add, filled, axis, None, None, keepdims, GIVEN, True)
    count = reduce_by(_add, ~is_nan, axis, None, None, keepdims, GIVEN, True)
    result = divide_by_counts(total, count)
    return finish(result, None)


def _variance_without_nan(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
) -> Any:
    """Give the variance of what is not NaN as an array, or NotImplemented."""
    if type(a) is not ndarray or a.dtype.kind != "f" or a.dtype == numpy.float16:
        return NotImplemented
    if dtype is not None or out is not None or type(ddof) not in (int, float):
        return NotImplemented
    if a.size == 0:
        return NotImplemented
    is_nan, filled = _fill_nan(a, 0)
    if filled is NotImplemented:
        return NotImplemented
    total = reduce_by(_add, filled, axis, None, None, True, GIVEN, True)
    count = reduce_by(_add, ~is_nan, axis, None, None, True, GIVEN, True)
    mean = divide_by_counts(total, count)
    if mean is NotImplemented:
        return NotImplemented
    squares = _square(_bridge.select(is_nan, a.dtype.type(0), filled - mean))
    total = reduce_by(_add, squares, axis, None, None, keepdims, GIVEN, True)
    count = reduce_by(_add, ~is_nan, axis, None, None, keepdims, GIVEN, True)
    del is_nan, filled, squares  # so that they need no memory
    return divide_by_counts(total, count - ddof)


def _var_without_nan(a: Any, *args: Any, **kwargs: Any) -> Any:
    result = _variance_without_nan(a, *args, **kwargs)
    return finish(result, None)


def _std_without_nan(a: Any, *args: Any, **kwargs: Any) -> Any:
    result = _variance_without_nan(a, *args, **kwargs)
    return result if result is NotImplemented else finish(_sqrt(result, result), None)


queue(_var_without_nan, numpy.nanvar)
queue(_std_without_nan, numpy.nanstd)
queue(_without_nan(_add), numpy.nansum)
queue(_without_nan(_multiply), numpy.nanprod)
queue(_extreme_without_nan(_fmax), numpy.nanmax)
queue(_extreme_without_nan(_fmin), numpy.nanmin)
queue(_mean_without_nan, numpy.nanmean)
queue(_search_without_nan(argmax, -numpy.inf), numpy.nanargmax)
queue(_search_without_nan(argmin, numpy.inf), numpy.nanargmin)
