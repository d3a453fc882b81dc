"""Statistics of large arrays, by reductions that are recorded.

As in `reductions`, each function is asked before NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy

from mxnp._array.ndarray import ndarray
from mxnp._array.ufunc import named

from .reductions import (
    GIVEN,
    can_take,
    count_along,
    find_axes,
    finish,
    is_absent,
    is_bfloat16,
    queue,
    reduce_by,
)

_add, _divide = named(numpy.add), named(numpy.true_divide)
_maximum, _minimum = named(numpy.maximum), named(numpy.minimum)
_logical_or = named(numpy.logical_or)
_square, _sqrt = named(numpy.square), named(numpy.sqrt)


def _mean_dtype(given: numpy.dtype[Any]) -> numpy.dtype[Any]:
    """Give the dtype in which NumPy adds up for a mean."""
    if given.kind in "bui":
        return numpy.dtype(numpy.float64)
    return numpy.dtype(numpy.float32) if given == numpy.float16 else given


def _numbers(a: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """Give how many elements make up each result: a number, or an array of them."""
    if where is True or where is GIVEN:
        return count_along(a, find_axes(axis, a.ndim))
    if type(where) is not ndarray or where.dtype != bool:
        return NotImplemented
    shown = _logical_or(where, numpy.zeros(a.shape, bool))
    return reduce_by(_add, shown, axis, None, None, keepdims, GIVEN, True)


def divide_by_counts(total: Any, count: Any) -> Any:
    """Divide sums by counts, into the sums; NotImplemented where one is 0."""
    if total is NotImplemented or count is NotImplemented:
        return NotImplemented
    if is_bfloat16(total.dtype):
        if type(count) is not int or count == 0:
            return NotImplemented
        return _divide(total, total.dtype.type(count), total)
    if type(count) in (int, float):
        return _divide(total, float(count), total) if count > 0 else NotImplemented
    if not bool((count > 0).all()):
        return NotImplemented  # of which NumPy warns
    return _divide(total, count, total)


def _average(a: Any, axis: Any, dtype: Any, keepdims: Any, where: Any) -> Any:
    """Give the mean as an array, or NotImplemented."""
    wanted = _mean_dtype(a.dtype) if dtype is None else numpy.dtype(dtype)
    if wanted.kind not in "fc" and not is_bfloat16(wanted):
        return NotImplemented
    total = reduce_by(_add, a, axis, wanted, None, keepdims, GIVEN, where)
    if total is NotImplemented:
        return NotImplemented
    return divide_by_counts(total, _numbers(a, axis, keepdims, where))


def _mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Any:
    if type(a) is not ndarray or a.size == 0:
        return NotImplemented
    result = _average(a, axis, dtype, keepdims, where)
    if result is NotImplemented:
        return NotImplemented
    if dtype is None and a.dtype == numpy.float16:
        result = result.astype(a.dtype)
    if out is not None and not can_take(out, result.shape, result.dtype):
        return NotImplemented
    return finish(result, out)


def _variance(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = GIVEN,
) -> Any:
    """Give the variance as an array, or NotImplemented."""
    if type(a) is not ndarray or a.size == 0 or type(ddof) not in (int, float):
        return NotImplemented
    if is_bfloat16(a.dtype) or (dtype is None and a.dtype == numpy.float16):
        return NotImplemented  # which NumPy keeps in these
    if dtype is not None and numpy.dtype(dtype).kind == "c":
        return NotImplemented
    if is_absent(mean):
        mean = _average(a, axis, dtype, True, where)
    elif dtype is not None or type(mean) is not ndarray or mean.dtype.kind not in "fc":
        return NotImplemented
    if mean is NotImplemented:
        return NotImplemented
    count = _numbers(a, axis, keepdims, where)
    if count is NotImplemented:
        return NotImplemented
    away = a - mean
    if away.dtype != mean.dtype:
        away = away.astype(mean.dtype)
    if away.dtype.kind == "c":
        squares = away.real * away.real + away.imag * away.imag
    else:
        squares = _square(away)
    total = reduce_by(_add, squares, axis, None, None, keepdims, GIVEN, where)
    del away, squares  # so that they need no memory
    result = divide_by_counts(total, count - ddof)
    if result is NotImplemented:
        return NotImplemented
    if out is not None and not can_take(out, result.shape, result.dtype):
        return NotImplemented
    return result


def _var(a: Any, *args: Any, **kwargs: Any) -> Any:
    result = _variance(a, *args, **kwargs)
    return finish(result, _out(args, kwargs))


def _std(a: Any, *args: Any, **kwargs: Any) -> Any:
    result = _variance(a, *args, **kwargs)
    if result is NotImplemented:
        return NotImplemented
    return finish(_sqrt(result, result), _out(args, kwargs))


def _out(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[2] if len(args) > 2 else kwargs.get("out")


def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    if out is not None or type(a) is not ndarray or a.dtype.kind == "b":
        return NotImplemented
    most = reduce_by(_maximum, a, axis, None, None, keepdims, GIVEN, True)
    least = reduce_by(_minimum, a, axis, None, None, keepdims, GIVEN, True)
    if most is NotImplemented or least is NotImplemented:
        return NotImplemented
    return finish(most - least, None)


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    if type(a) is not ndarray:
        return NotImplemented
    is_true = a if a.dtype.kind == "b" else a.astype(bool)
    count = reduce_by(_add, is_true, axis, numpy.intp, None, keepdims, GIVEN, True)
    return finish(count, None)


queue(_mean, numpy.mean, method="mean")
queue(_var, numpy.var, method="var")
queue(_std, numpy.std, method="std")
queue(_ptp, numpy.ptp)
queue(_count_nonzero, numpy.count_nonzero)
