"""Recorded forms of mean, variance and other statistics, as several reductions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._array.ufunc import named
from mxnp._engine import core
from mxnp._engine.devices import prefers_gpu
from mxnp._namespace.ordinary import NO_VALUE

from .arguments import find_axes, is_core_dtype
from .reductions import (
    can_hold_reduced,
    compute_finite,
    finish,
    is_bfloat16,
    reduce_by,
    returns_number,
)

_add, _divide = named(numpy.add), named(numpy.true_divide)
_maximum, _minimum = named(numpy.maximum), named(numpy.minimum)
_logical_or = named(numpy.logical_or)
_square, _sqrt = named(numpy.square), named(numpy.sqrt)
_multiply, _rint = named(numpy.multiply), named(numpy.rint)

_VARIANCE_PARAMETERS = "axis", "dtype", "out", "ddof", "keepdims"
_EXACT_COUNTS = {"e": 2**11, "f": 2**24, "F": 0}  # for each number of a quotient
_EXACT_POWERS = 22  # powers of ten to this one are floats
SAMPLE = 1024  # elements whose mean is near that of all, which is a power of two


def _mean_dtype(a: Any, dtype: Any) -> numpy.dtype[Any]:
    """Return the dtype in which NumPy sums the elements for a mean."""
    if dtype is not None:
        wanted: numpy.dtype[Any] = numpy.dtype(dtype)
        return wanted
    if a.dtype.kind in "bui":
        return numpy.dtype(numpy.float64)
    own: numpy.dtype[Any] = a.dtype
    return numpy.dtype(numpy.float32) if own == numpy.float16 else own


def _count_elements(a: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """Return the number of elements of each result: an int, or an array of counts."""
    if where is True or where is NO_VALUE:
        axes = find_axes(axis, a.ndim)
        count = 1
        for i, length in enumerate(a.shape):
            count *= length if axes >> i & 1 else 1
        return count
    if type(where) is not ndarray or where.dtype != bool:
        return NotImplemented
    included = _logical_or(where, numpy.zeros(a.shape, bool))
    return reduce_by(_add, included, axis, keepdims=keepdims)


def divide_by_counts(total: Any, count: Any) -> Any:
    """Divide sums in place by counts; return NotImplemented if a count is 0."""
    if total is NotImplemented or count is NotImplemented:
        return NotImplemented
    if is_bfloat16(total.dtype):
        if type(count) is not int or count == 0:
            return NotImplemented
        return _divide(total, total.dtype.type(count), total)
    if type(count) in (int, float):
        # NumPy divides by a number of 64 bits, in float64 or complex128. Quotients of
        # floats are the same in their own precision if that can represent the count.
        most = _EXACT_COUNTS.get(total.dtype.char, math.inf)
        is_wider = count > most or not float(count).is_integer()
        divisor = numpy.float64(count) if is_wider else float(count)
        return _divide(total, divisor, total) if count > 0 else NotImplemented
    if not bool((count > 0).all()):
        return NotImplemented  # NumPy warns
    return _divide(total, count, total)


def _average(a: Any, axis: Any, dtype: Any, keepdims: Any, where: Any) -> Any:
    """Return the mean as an array, or NotImplemented."""
    wanted = _mean_dtype(a, dtype)
    if wanted.kind not in "fc" and not is_bfloat16(wanted):
        return NotImplemented
    total = reduce_by(_add, a, axis, wanted, keepdims=keepdims, where=where)
    if total is NotImplemented:
        return NotImplemented
    return divide_by_counts(total, _count_elements(a, axis, keepdims, where))


def _leave_warnings(
    compute: Callable[[], Any], dtype: numpy.dtype[Any], *arguments: Any
) -> Any:
    """Compute a result; return NotImplemented if NumPy divides complex infinities.

    NumPy divides a sum by a count as scalars, whose warnings have their own texts. The
    arguments are those of `returns_number`.
    """
    is_left = dtype.kind == "c" and returns_number(*arguments)
    return compute_finite(compute) if is_left else compute()


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
    is_half = dtype is None and a.dtype == numpy.float16
    wanted = a.dtype if is_half else _mean_dtype(a, dtype)
    if out is not None and (is_half or wanted.kind == "c"):
        return NotImplemented  # NumPy rounds the sum to float16, too
    if not can_hold_reduced(out, a, axis, keepdims, wanted):
        return NotImplemented

    def compute() -> Any:
        result = _average(a, axis, dtype, keepdims, where)
        if is_half and result is not NotImplemented:
            result = result.astype(a.dtype)
        return finish(result, out)

    return _leave_warnings(compute, wanted, a, axis, out, keepdims)


def _sums_in_float64(a: Any) -> bool:
    """Return whether a whole array can be reduced on a GPU that has float64."""
    return (
        type(a) is ndarray
        and prefers_gpu()
        and not _bridge.get_setting(_bridge.FAST)
        and "float64" in core.gpu().types
        and a.dtype in (numpy.float32, numpy.float64)
        and a.flags.c_contiguous
    )


def _sum_with_squares(a: Any) -> tuple[Any, Any, float]:
    """
    Return sums of differences from a shift and of their squares, from one pass.

    The shift of float64 is the mean of a sample. The differences are multiplied by the
    size of the sample, a power of two, so that they are rounded once. The third result
    is that factor.
    """
    if a.dtype == numpy.float32:
        terms, scale = a.astype(numpy.float64), 1.0
    else:
        flat, scale = a.reshape(-1), float(SAMPLE)
        sample = flat[:: a.size // SAMPLE][:SAMPLE]
        shift = reduce_by(_add, sample, None, keepdims=True)
        if shift is NotImplemented:
            return NotImplemented, NotImplemented, scale
        terms = flat * scale - shift
    return reduce_by(_add, terms, None), reduce_by(_add, terms * terms, None), scale


def _variance_in_one_pass(a: Any, ddof: float) -> Any:
    """
    Return the variance of all elements from one pass over memory, or NotImplemented.

    It is (squares - sum**2 / n) / n, of differences from a shift. The subtraction loses
    bits if the mean is far from the shift. Sums of float32 in float64 have 29 bits to
    lose, and their squares are exact, so the shift is 0. Sums of float64 may lose two
    bits. Other results, also those that are not finite, are left to a second pass over
    the deviations from the mean.
    """
    count = a.size
    if type(ddof) not in (int, float) or count <= ddof or count < SAMPLE:
        return NotImplemented
    with numpy.errstate(all="ignore"):
        *parts, scale = _sum_with_squares(a)
        if any(part is NotImplemented for part in parts):
            return NotImplemented
        total, squares = (numpy.float64(part) for part in parts)
        deviations = squares - total * total / count
        lost = 2.0**20 if a.dtype == numpy.float32 else 4.0
        is_exact = deviations * lost >= squares
        deviations /= scale * scale
        is_in_range = deviations < numpy.finfo(a.dtype).max / 2
    if not (is_exact and is_in_range):
        return NotImplemented
    return numpy.array(deviations / (count - ddof), a.dtype)


def _square_parts(z: Any) -> Any:
    """Return the squares of absolute values; NumPy squares both parts with one call."""
    try:
        _bridge.join_warnings(True)
        return _square(z.real) + _square(z.imag)
    finally:
        _bridge.join_warnings(False)


def _variance_in_two_passes(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = NO_VALUE,
) -> Any:
    """Return the variance as an array, or NotImplemented."""
    if type(a) is not ndarray or a.size == 0 or type(ddof) not in (int, float):
        return NotImplemented
    precision = a.dtype if dtype is None else numpy.dtype(dtype)
    if is_bfloat16(a.dtype) or precision == numpy.float16:
        return NotImplemented  # NumPy computes them in their own precision
    wanted = _mean_dtype(a, dtype)
    if dtype is not None and (
        wanted.kind == "c" or numpy.promote_types(a.dtype, wanted) != wanted
    ):
        return NotImplemented  # NumPy's deviations have the wider dtype
    real = numpy.empty(0, wanted).real.dtype
    if not can_hold_reduced(out, a, axis, keepdims, real):
        return NotImplemented
    if mean is NO_VALUE or mean is None:
        mean = _average(a, axis, dtype, True, where)
    elif (
        dtype is not None
        or type(mean) is not ndarray
        or mean.dtype != _mean_dtype(a, None)
    ):
        return NotImplemented
    if mean is NotImplemented:
        return NotImplemented
    count = _count_elements(a, axis, keepdims, where)
    if count is NotImplemented:
        return NotImplemented
    deviations = a - mean
    if deviations.dtype != mean.dtype:
        deviations = deviations.astype(mean.dtype)
    if deviations.dtype.kind == "c":
        squares = _square_parts(deviations)
    else:
        squares = _square(deviations)
    total = reduce_by(_add, squares, axis, keepdims=keepdims, where=where)
    del deviations, squares  # temporaries that are released need no memory
    return divide_by_counts(total, count - ddof)


@functools.wraps(_variance_in_two_passes)
def _variance(a: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the variance as an array, or NotImplemented."""
    if not args and kwargs.keys() <= {"ddof"} and _sums_in_float64(a):
        result = _variance_in_one_pass(a, kwargs.get("ddof", 0))
        if result is not NotImplemented:
            return result
    return _variance_in_two_passes(a, *args, **kwargs)


def finish_variance(variance: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that returns a variance as NumPy does."""

    @functools.wraps(variance)
    def finished(a: Any, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(_VARIANCE_PARAMETERS, args, strict=False), **kwargs)
        out, keepdims = given.get("out"), given.get("keepdims", False)

        def compute() -> Any:
            return finish(variance(a, *args, **kwargs), out)

        if type(a) is not ndarray or "where" in kwargs:
            return compute()  # NumPy warns of elements that it excludes
        return _leave_warnings(compute, a.dtype, a, given.get("axis"), out, keepdims)

    return finished


def finish_deviation(variance: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that returns the square root of a variance as NumPy does."""

    @functools.wraps(variance)
    def deviation(a: Any, *args: Any, **kwargs: Any) -> Any:
        result = variance(a, *args, **kwargs)
        return result if result is NotImplemented else _sqrt(result, result)

    return finish_variance(deviation)


_var = finish_variance(_variance)
_std = finish_deviation(_variance)


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    if type(a) is not ndarray or not is_core_dtype(a.dtype):
        return NotImplemented
    is_true = a if a.dtype.kind == "b" else a.astype(bool)
    return finish(reduce_by(_add, is_true, axis, numpy.intp, keepdims=keepdims))


def _round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    if type(a) is not ndarray or not is_core_dtype(a.dtype) or out is not None:
        return NotImplemented
    if a.dtype.kind == "c":
        return _round_parts(a, decimals)
    if a.dtype.kind != "f":
        return NotImplemented
    if type(decimals) is not int or abs(decimals) > _EXACT_POWERS:
        return NotImplemented
    if decimals == 0:
        return _rint(a)
    if not (a.flags.c_contiguous or a.flags.f_contiguous):
        return NotImplemented  # NumPy's result is in C order
    scale, restore = (_multiply, _divide) if decimals > 0 else (_divide, _multiply)
    factor = 10.0 ** abs(decimals)
    return restore(_rint(scale(a, factor)), factor)


def _round_parts(a: Any, decimals: Any) -> Any:
    """Round the real and the imaginary parts of complex numbers."""
    if not a.flags.c_contiguous or a.ndim == 0:
        return NotImplemented
    part = a.real.dtype
    rounded = _round(a.view(part), decimals)
    result = _bridge.empty(a.shape, a.dtype.num)
    if rounded is NotImplemented or result is NotImplemented:
        return NotImplemented
    result.view(part)[...] = rounded
    return result
