"""Reductions and scans of large arrays, as operations that are recorded.

Each function here is called before NumPy's, with the arguments of the program, when an
array among them is large.  It gives NotImplemented wherever it does not know the answer
for certain, and NumPy is called then: with its rules, its warnings and its errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from . import _bridge
from ._array import ndarray
from ._mirror import cross
from ._ufunc import named, ufunc

# A written array is worth recording from this many times the threshold on: below, NumPy
# has reduced it by the time that anything of ours could have started.
_WORTH = 16

_given = numpy._NoValue  # where nothing is given
_LONG = numpy.dtype(numpy.long)
_UNSIGNED_LONG = numpy.dtype(numpy.ulong)
_Queued = Callable[..., Any]


def queue(function: _Queued, *originals: Any, method: str = "") -> None:
    """Let a function of ours be asked before NumPy's, and before a method of arrays."""
    wrappers = [cross(original, "numpy") for original in originals]
    if method:
        wrappers.append(vars(ndarray)[method])
    for wrapper in wrappers:
        wrapper.queued = function
        wrapper.worth = _WORTH


# -- Arguments -------------------------------------------------------------------------


def _axes(axis: Any, ndim: int) -> int:
    """Give axes as bits; 0 when NumPy has something to say about them."""
    if axis is None:
        return (1 << ndim) - 1
    bits = 0
    for each in axis if type(axis) is tuple else (axis,):
        if type(each) is not int or not -ndim <= each < ndim:
            return 0
        bit = 1 << each % ndim
        if bits & bit:
            return 0
        bits |= bit
    return bits


def _count(a: Any, axes: int) -> int:
    """Give the number of elements that each result is made of."""
    count = 1
    for i, n in enumerate(a.shape):
        if axes >> i & 1:
            count *= n
    return count


def _finish(result: Any, out: Any, keeps: bool = False) -> Any:
    """Give the result as NumPy does: into `out`, or as a scalar without axes.

    In fast mode it stays an array, which need not be computed yet.
    """
    if out is not None:
        out[...] = result
        return out
    if keeps or result.ndim or _bridge.get_setting(_bridge.FAST):
        return result
    return result[()]


def _can_take(out: Any, shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> bool:
    if type(out) is not ndarray or not out.flags.writeable:
        return False
    return bool(out.shape == shape and out.dtype == dtype)


def _is_kept(keepdims: Any) -> bool | None:
    """Tell whether axes are kept; None when NumPy has something to say about it."""
    if keepdims is _given:
        return False
    return bool(keepdims) if type(keepdims) in (bool, int) else None


def _is_absent(x: Any) -> bool:
    return x is _given or x is None


# -- Reduction by a ufunc --------------------------------------------------------------


def _accumulator(op: ufunc, given: numpy.dtype[Any]) -> numpy.dtype[Any]:
    """Give the dtype in which NumPy reduces elements of a dtype."""
    if op in (_logical_or, _logical_and):
        return numpy.dtype(bool)
    if op in (_add, _multiply) and given.kind in "bui" and given.itemsize <= 8:
        wide = _UNSIGNED_LONG if given.kind == "u" else _LONG
        return wide if given.itemsize < wide.itemsize else given
    return given


def _reduce(
    op: ufunc,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
) -> Any:
    """Reduce an array; the result is an array, 0-d without axes, or NotImplemented."""
    if type(a) is not ndarray or op.operation < 0:
        return NotImplemented
    axes = _axes(axis, a.ndim)
    kept = _is_kept(keepdims)
    if axes == 0 or kept is None:
        return NotImplemented
    wanted = _accumulator(op, a.dtype) if dtype is None else numpy.dtype(dtype)
    if where is not True and where is not _given:
        if type(where) is not ndarray or where.dtype != bool:
            return NotImplemented
        start = op.__wrapped__.identity
        if start is None:  # the least or greatest: what comes first may come twice
            start = initial
        if _is_absent(start):
            return NotImplemented
        a = _bridge.select(where, a, start)
        if a is NotImplemented or a.ndim == 0:
            return NotImplemented
        axes = _axes(axis, a.ndim)
    # Sums of float16 are kept in float32, as NumPy keeps each of its own runs of them.
    is_half = wanted == numpy.float16 and op in (_add, _multiply)
    number = numpy.dtype(numpy.float32).num if is_half else wanted.num
    has_initial = not _is_absent(initial)
    result = _bridge.reduce(
        op.operation, a, axes, kept, has_initial, number, wanted.num
    )
    if result is NotImplemented:
        return NotImplemented
    if has_initial:
        result = op(result, initial, dtype=wanted)
    if out is not None and not _can_take(out, result.shape, result.dtype):
        return NotImplemented
    return result


_add, _multiply = named(numpy.add), named(numpy.multiply)
_maximum, _minimum = named(numpy.maximum), named(numpy.minimum)
_fmax, _fmin = named(numpy.fmax), named(numpy.fmin)
_logical_or, _logical_and = named(numpy.logical_or), named(numpy.logical_and)
_isnan = named(numpy.isnan)
_square, _sqrt = named(numpy.square), named(numpy.sqrt)
_divide = named(numpy.true_divide)


def _with_dtype(op: ufunc) -> _Queued:
    def reduce(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = _given,
        where: Any = True,
    ) -> Any:
        result = _reduce(op, a, axis, dtype, out, keepdims, initial, where)
        if result is NotImplemented:
            return result
        return _finish(result, out)

    return reduce


def _without_dtype(op: ufunc) -> _Queued:
    def reduce(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = _given,
        where: Any = True,
    ) -> Any:
        result = _reduce(op, a, axis, None, out, keepdims, initial, where)
        if result is NotImplemented:
            return result
        return _finish(result, out)

    return reduce


def _truth(op: ufunc) -> _Queued:
    def reduce(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        *,
        where: Any = True,
    ) -> Any:
        result = _reduce(op, a, axis, None, out, keepdims, _given, where)
        if result is NotImplemented:
            return result
        return _finish(result, out)

    return reduce


def _ufunc_reduce(
    op: ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _given,
    where: Any = True,
) -> Any:
    if op not in _REDUCING or (axis == 0 and getattr(array, "ndim", 0) == 0):
        return NotImplemented
    if type(out) is tuple:
        out = out[0] if len(out) == 1 else NotImplemented
    result = _reduce(op, array, axis, dtype, out, keepdims, initial, where)
    if result is NotImplemented:
        return result
    return _finish(result, out)


# Those whose loop gives what it takes, and whose order of steps does not matter.
_REDUCING = {
    _add, _multiply, _maximum, _minimum, _fmax, _fmin, _logical_or, _logical_and,
    named(numpy.bitwise_and), named(numpy.bitwise_or), named(numpy.bitwise_xor),
}  # fmt: skip

queue(_with_dtype(_add), numpy.sum, method="sum")
queue(_with_dtype(_multiply), numpy.prod, method="prod")
queue(_without_dtype(_maximum), numpy.max, method="max")
queue(_without_dtype(_minimum), numpy.min, method="min")
queue(_truth(_logical_or), numpy.any, method="any")
queue(_truth(_logical_and), numpy.all, method="all")
vars(ufunc)["reduce"].queued = _ufunc_reduce
vars(ufunc)["reduce"].worth = _WORTH


# -- Statistics ------------------------------------------------------------------------


def _mean_dtype(given: numpy.dtype[Any]) -> numpy.dtype[Any]:
    """Give the dtype in which NumPy adds up for a mean."""
    if given.kind in "bui":
        return numpy.dtype(numpy.float64)
    return numpy.dtype(numpy.float32) if given == numpy.float16 else given


def _numbers(a: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """Give how many elements make up each result: a number, or an array of them."""
    if where is True or where is _given:
        return _count(a, _axes(axis, a.ndim))
    if type(where) is not ndarray or where.dtype != bool:
        return NotImplemented
    shown = _logical_or(where, numpy.zeros(a.shape, bool))
    return _reduce(_add, shown, axis, None, None, keepdims, _given, True)


def _over(total: Any, count: Any) -> Any:
    """Divide sums by counts, into the sums; NotImplemented where one is 0."""
    if total is NotImplemented or count is NotImplemented:
        return NotImplemented
    if type(count) in (int, float):
        return _divide(total, float(count), total) if count > 0 else NotImplemented
    if not bool((count > 0).all()):
        return NotImplemented  # of which NumPy warns
    return _divide(total, count, total)


def _average(a: Any, axis: Any, dtype: Any, keepdims: Any, where: Any) -> Any:
    """Give the mean as an array, or NotImplemented."""
    wanted = _mean_dtype(a.dtype) if dtype is None else numpy.dtype(dtype)
    if wanted.kind not in "fc":
        return NotImplemented
    total = _reduce(_add, a, axis, wanted, None, keepdims, _given, where)
    if total is NotImplemented:
        return NotImplemented
    return _over(total, _numbers(a, axis, keepdims, where))


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
    if out is not None and not _can_take(out, result.shape, result.dtype):
        return NotImplemented
    return _finish(result, out)


def _variance(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = _given,
) -> Any:
    """Give the variance as an array, or NotImplemented."""
    if type(a) is not ndarray or a.size == 0 or type(ddof) not in (int, float):
        return NotImplemented
    if dtype is None and a.dtype == numpy.float16:
        return NotImplemented  # which NumPy keeps in float16
    if dtype is not None and numpy.dtype(dtype).kind == "c":
        return NotImplemented
    if _is_absent(mean):
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
    total = _reduce(_add, squares, axis, None, None, keepdims, _given, where)
    del away, squares  # so that they need no memory
    result = _over(total, count - ddof)
    if result is NotImplemented:
        return NotImplemented
    if out is not None and not _can_take(out, result.shape, result.dtype):
        return NotImplemented
    return result


def _var(a: Any, *args: Any, **kwargs: Any) -> Any:
    result = _variance(a, *args, **kwargs)
    if result is NotImplemented:
        return NotImplemented
    return _finish(result, _out(args, kwargs))


def _std(a: Any, *args: Any, **kwargs: Any) -> Any:
    result = _variance(a, *args, **kwargs)
    if result is NotImplemented:
        return NotImplemented
    return _finish(_sqrt(result, result), _out(args, kwargs))


def _out(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[2] if len(args) > 2 else kwargs.get("out")


def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    if out is not None or type(a) is not ndarray or a.dtype.kind == "b":
        return NotImplemented
    most = _reduce(_maximum, a, axis, None, None, keepdims, _given, True)
    least = _reduce(_minimum, a, axis, None, None, keepdims, _given, True)
    if most is NotImplemented or least is NotImplemented:
        return NotImplemented
    return _finish(most - least, None)


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    if type(a) is not ndarray:
        return NotImplemented
    is_true = a if a.dtype.kind == "b" else a.astype(bool)
    count = _reduce(_add, is_true, axis, numpy.intp, None, keepdims, _given, True)
    if count is NotImplemented:
        return NotImplemented
    return _finish(count, None)


queue(_mean, numpy.mean, method="mean")
queue(_var, numpy.var, method="var")
queue(_std, numpy.std, method="std")
queue(_ptp, numpy.ptp)
queue(_count_nonzero, numpy.count_nonzero)


# -- Searches --------------------------------------------------------------------------


def _search(least: bool) -> _Queued:
    """Make argmin or argmax."""

    def search(
        a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False
    ) -> Any:
        kept = _is_kept(keepdims)
        if type(a) is not ndarray or a.ndim == 0 or kept is None or out is not None:
            return NotImplemented
        if axis is None:
            found = _bridge.find(least, a.ravel(), 0, kept)
            if found is NotImplemented:
                return NotImplemented
            return found.reshape((1,) * a.ndim) if kept else found[()]
        if type(axis) is not int or not -a.ndim <= axis < a.ndim:
            return NotImplemented
        axis %= a.ndim
        if axis == a.ndim - 1 or a.strides[axis] == a.itemsize:
            found = _bridge.find(least, a, axis, kept)
            return found if kept or found is NotImplemented else _finish(found, None)
        # Lines of memory that goes across them are copied together, as in NumPy.
        lines = _moveaxis(a, axis, -1).copy()
        found = _bridge.find(least, lines, a.ndim - 1, kept)
        if found is NotImplemented:
            return NotImplemented
        return _moveaxis(found, -1, axis) if kept else _finish(found, None)

    return search


_argmax, _argmin = _search(False), _search(True)
_moveaxis = cross(numpy.moveaxis, "numpy")


def _search_without_nan(search: _Queued, worst: float) -> _Queued:
    """Make nanargmin or nanargmax."""

    def nansearch(
        a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False
    ) -> Any:
        if type(a) is not ndarray or a.dtype.kind not in "biuf":
            return NotImplemented
        if a.dtype.kind != "f":
            return search(a, axis, out, keepdims=keepdims)
        if 0 in a.strides:
            return NotImplemented
        is_nan = _isnan(a)
        filled = _bridge.select(is_nan, a.dtype.type(worst), a)
        nothing = _reduce(_logical_and, is_nan, axis, None, None, False, _given, True)
        if filled is NotImplemented or nothing is NotImplemented or bool(nothing.any()):
            return NotImplemented
        return search(filled, axis, out, keepdims=keepdims)

    return nansearch


queue(_argmax, numpy.argmax, method="argmax")
queue(_argmin, numpy.argmin, method="argmin")
queue(_search_without_nan(_argmax, -numpy.inf), numpy.nanargmax)
queue(_search_without_nan(_argmin, numpy.inf), numpy.nanargmin)


# -- Without NaN -----------------------------------------------------------------------


def _without_nan(op: ufunc) -> _Queued:
    """Make a sum or product in which NaN does not count."""

    def reduce(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = _given,
        where: Any = True,
    ) -> Any:
        if type(a) is not ndarray:
            return NotImplemented
        if a.dtype.kind in "fc":
            if 0 in a.strides:
                return NotImplemented  # the copy has an order of its own
            a = _bridge.select(_isnan(a), a.dtype.type(op.__wrapped__.identity), a)
            if a is NotImplemented:
                return NotImplemented
        result = _reduce(op, a, axis, dtype, out, keepdims, initial, where)
        if result is NotImplemented:
            return NotImplemented
        return _finish(result, out)

    return reduce


def _extreme_without_nan(op: ufunc) -> _Queued:
    """Make a greatest or least element that is not NaN."""

    def reduce(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = _given,
        where: Any = True,
    ) -> Any:
        if type(a) is not ndarray or a.dtype.kind == "b":
            return NotImplemented
        result = _reduce(op, a, axis, None, out, keepdims, initial, where)
        # NumPy warns where there is nothing else than NaN.
        if result is NotImplemented or bool(_isnan(result).any()):
            return NotImplemented
        return _finish(result, out)

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
    if 0 in a.strides:
        return NotImplemented
    is_nan = _isnan(a)
    filled = _bridge.select(is_nan, a.dtype.type(0), a)
    if filled is NotImplemented:
        return NotImplemented
    total = _reduce(_add, filled, axis, None, None, keepdims, _given, True)
    count = _reduce(_add, ~is_nan, axis, None, None, keepdims, _given, True)
    result = _over(total, count)
    return result if result is NotImplemented else _finish(result, None)


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
    if a.size == 0 or 0 in a.strides:
        return NotImplemented
    is_nan, zero = _isnan(a), a.dtype.type(0)
    filled = _bridge.select(is_nan, zero, a)
    if filled is NotImplemented:
        return NotImplemented
    total = _reduce(_add, filled, axis, None, None, True, _given, True)
    count = _reduce(_add, ~is_nan, axis, None, None, True, _given, True)
    mean = _over(total, count)
    if mean is NotImplemented:
        return NotImplemented
    squares = _square(_bridge.select(is_nan, zero, filled - mean))
    total = _reduce(_add, squares, axis, None, None, keepdims, _given, True)
    count = _reduce(_add, ~is_nan, axis, None, None, keepdims, _given, True)
    del is_nan, filled, squares  # so that they need no memory
    return _over(total, count - ddof)


def _var_without_nan(a: Any, *args: Any, **kwargs: Any) -> Any:
    result = _variance_without_nan(a, *args, **kwargs)
    return result if result is NotImplemented else _finish(result, None)


def _std_without_nan(a: Any, *args: Any, **kwargs: Any) -> Any:
    result = _variance_without_nan(a, *args, **kwargs)
    return result if result is NotImplemented else _finish(_sqrt(result, result), None)


queue(_var_without_nan, numpy.nanvar)
queue(_std_without_nan, numpy.nanstd)
queue(_without_nan(_add), numpy.nansum)
queue(_without_nan(_multiply), numpy.nanprod)
queue(_extreme_without_nan(_fmax), numpy.nanmax)
queue(_extreme_without_nan(_fmin), numpy.nanmin)
queue(_mean_without_nan, numpy.nanmean)


# -- Scans -----------------------------------------------------------------------------


def _accumulate(op: ufunc, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    if type(a) is not ndarray or out is not None or type(axis) is not int:
        return NotImplemented
    if not -a.ndim <= axis < a.ndim:
        return NotImplemented
    wanted = _accumulator(op, a.dtype) if dtype is None else numpy.dtype(dtype)
    return _bridge.accumulate(op.operation, a, axis % a.ndim, wanted.num)


def _running(op: ufunc) -> _Queued:
    def accumulate(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if axis is None and type(a) is ndarray:
            a, axis = a.ravel(), 0
        return _accumulate(op, a, axis, dtype, out)

    return accumulate


def _ufunc_accumulate(
    op: ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    if op not in _REDUCING:
        return NotImplemented
    return _accumulate(op, array, axis, dtype, out)


queue(_running(_add), numpy.cumsum, method="cumsum")
queue(_running(_multiply), numpy.cumprod, method="cumprod")
vars(ufunc)["accumulate"].queued = _ufunc_accumulate
vars(ufunc)["accumulate"].worth = _WORTH
