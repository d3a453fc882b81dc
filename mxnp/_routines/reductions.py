"""Recorded forms of reductions, of argmin and argmax, and of running results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._array.ufunc import named, ufunc
from mxnp._engine.devices import may_use_gpu, prefers_gpu
from mxnp._namespace.mirror import find_counterpart
from mxnp._namespace.ordinary import NO_VALUE

from .arguments import (
    find_axes,
    find_axis,
    find_dtype,
    find_reduced_shape,
    read_keepdims,
)

_LARGE = 16  # times the threshold: NumPy reduces smaller arrays in memory

_LONG = numpy.dtype(numpy.long)
_UNSIGNED_LONG = numpy.dtype(numpy.ulong)

_add, _multiply = named(numpy.add), named(numpy.multiply)
_maximum, _minimum = named(numpy.maximum), named(numpy.minimum)
_logical_or, _logical_and = named(numpy.logical_or), named(numpy.logical_and)


# -- Results ---------------------------------------------------------------------------


def finish(result: Any, out: Any = None, keepdims: bool = False) -> Any:
    """Return a result as NumPy does: in `out`, or as a scalar if it has no axes.

    In fast mode a result without axes remains an array, which can stay lazy.
    """
    if result is NotImplemented:
        return NotImplemented
    if out is not None:
        if result is not out:
            out[...] = result
        return out
    if keepdims or result.ndim or _bridge.get_setting(_bridge.FAST):
        return result
    return result[()]


def can_hold(out: Any, shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> bool:
    """Return whether `out` is None, or an array that can hold a result unchanged."""
    if out is None:
        return True
    if type(out) is not ndarray or not out.flags.writeable:
        return False
    return bool(out.shape == shape and out.dtype == dtype)


def can_hold_reduced(
    out: Any, a: Any, axis: Any, keepdims: Any, dtype: numpy.dtype[Any]
) -> bool:
    """Return whether `out` is None, or can hold a reduction of `a` to a dtype."""
    if out is None:
        return True
    axes, keeps_dims = find_axes(axis, a.ndim), bool(read_keepdims(keepdims))
    if not can_hold(out, find_reduced_shape(a.shape, axes, keeps_dims), dtype):
        return False
    return dtype.kind not in "fc" or prefers_gpu() or _has_order_of(a, axes, out)


def _has_order_of(a: Any, axes: int, out: Any) -> bool:
    """Return whether a reduced array has its axes in the order of the operand's.

    NumPy goes through both at once. If their orders differ, it adds in one of its own.
    """
    kept = [i for i in range(a.ndim) if not axes >> i & 1]
    places = kept if out.ndim == a.ndim else range(a.ndim)
    steps = dict(zip(kept, (abs(out.strides[i]) for i in places), strict=False))
    longer = [i for i in kept if a.shape[i] > 1]
    ordered = [steps[i] for i in sorted(longer, key=lambda i: -abs(a.strides[i]))]
    return ordered == sorted(ordered, reverse=True)


def returns_number(a: Any, axis: Any, out: Any, keepdims: Any) -> bool:
    """Return whether the reduction of an array is a scalar, which is read at once."""
    is_whole = find_axes(axis, a.ndim) == (1 << a.ndim) - 1
    is_scalar = out is None and read_keepdims(keepdims) is False
    return is_whole and is_scalar and not _bridge.get_setting(_bridge.FAST)


def compute_finite(compute: Callable[[], Any]) -> Any:
    """Return a number, or NotImplemented if NumPy has to compute it and to warn."""
    if numpy.geterr()["under"] != "ignore":
        return NotImplemented
    with numpy.errstate(all="ignore"):
        result = compute()
    if result is NotImplemented or not numpy.isfinite(result):
        return NotImplemented
    return result


# -- Reduction by a ufunc --------------------------------------------------------------


def is_bfloat16(dtype: numpy.dtype[Any]) -> bool:
    """Return whether it is the dtype of ml_dtypes, which NumPy has no name for."""
    return dtype.name == "bfloat16" and _bridge.has_dtype(dtype.num)


def _find_result_dtype(
    op: ufunc, own: numpy.dtype[Any], dtype: Any
) -> numpy.dtype[Any] | None:
    """Return the dtype of NumPy's result for elements of a dtype.

    The result is None if NumPy must handle the argument `dtype`.
    """
    if dtype is not None:
        wanted = find_dtype(dtype)
        if wanted is None or own.kind not in "fc" or numpy.can_cast(own, wanted):
            return wanted
        return None  # NumPy's warnings of casts name the reduction
    if op in (_logical_or, _logical_and):
        return numpy.dtype(bool)
    if op in (_add, _multiply) and own.kind in "bui" and own.itemsize <= 8:
        wide = _UNSIGNED_LONG if own.kind == "u" else _LONG
        return wide if own.itemsize < wide.itemsize else own
    return own


def _adds_in_runs(op: ufunc, a: Any) -> bool:
    """Return whether NumPy reduces each run of the elements that `where` selects."""
    is_rounded = op in (_add, _multiply) and a.dtype.kind in "fc"
    is_small = a.size < _LARGE * _bridge.get_threshold() or a.dtype == numpy.float16
    return is_rounded and is_small and not prefers_gpu()


def _select_where(op: ufunc, a: Any, where: Any, initial: Any) -> Any:
    """Replace the elements that `where` excludes by the identity of the reduction."""
    if type(where) is not ndarray or where.dtype != bool or _adds_in_runs(op, a):
        return NotImplemented
    start = op.__wrapped__.identity
    if start is None:  # of a maximum or minimum, which may take `initial` repeatedly
        start = initial
    if start is NO_VALUE:
        return NotImplemented
    selected = _bridge.select(where, a, start)
    if selected is NotImplemented or selected.shape != a.shape or a.ndim == 0:
        return NotImplemented
    return selected


def _find_initial(op: ufunc, initial: Any, dtype: numpy.dtype[Any]) -> Any:
    """Return the initial value in the dtype of the result, if it may be the last one.

    NumPy begins with it. Sums and products of floats are other ones if it comes last.
    """
    if not _bridge.fits(initial, dtype.num):
        return NotImplemented
    is_rounded = op in (_add, _multiply) and dtype.kind not in "bui"
    if is_rounded and initial != op.__wrapped__.identity:
        return NotImplemented
    return dtype.type(initial)


def reduce_by(
    op: ufunc,
    a: Any,
    axis: Any,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    """Record a reduction; return its array, which may be 0-d, or NotImplemented."""
    if type(a) is not ndarray or op.operation < 0:
        return NotImplemented
    axes, keeps_dims = find_axes(axis, a.ndim), read_keepdims(keepdims)
    if axes == 0 or keeps_dims is None:
        return NotImplemented
    wanted = _find_result_dtype(op, a.dtype, dtype)
    if wanted is None or not can_hold_reduced(out, a, axis, keepdims, wanted):
        return NotImplemented
    has_initial = initial is not NO_VALUE
    if has_initial:
        initial = _find_initial(op, initial, wanted)
        if initial is NotImplemented:
            return NotImplemented
    if where is not True and where is not NO_VALUE:
        a = _select_where(op, a, where, initial)
        if a is NotImplemented:
            return NotImplemented
        axes = find_axes(axis, a.ndim)
    # Sums of float16 are recorded in float32, unless NumPy adds them row by row. It
    # rounds sums of bfloat16 at each step, in order. They are recorded only for a
    # device, which keeps them in float32.
    is_half = wanted == numpy.float16 or is_bfloat16(wanted)
    if is_bfloat16(wanted) and not may_use_gpu():
        return NotImplemented
    is_sum = is_half and op in (_add, _multiply)
    accumulator = numpy.dtype(numpy.float32) if is_sum else wanted
    return _bridge.reduce(
        op.operation,
        a,
        axes,
        keeps_dims,
        (op, initial) if has_initial else None,
        accumulator.num,
        wanted.num,
        out,
    )


def _is_in_other_order(
    op: ufunc, a: Any, axis: Any, out: Any, keepdims: Any, where: Any
) -> bool:
    """Return whether NumPy goes through floats in another order, to return a scalar."""
    if type(a) is not ndarray or a.dtype.kind not in "fc":
        return False
    is_other = op is _multiply or (op is _add and type(where) is ndarray)
    return is_other and returns_number(a, axis, out, keepdims)


def _reduce_and_finish(
    reduce: Callable[..., Any],
    op: ufunc,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
) -> Any:
    """Return a reduction as NumPy does.

    The product of a part of an array may overflow where NumPy's product is 0 already,
    and a sum that is NaN already warns no more. So an infinite result, or NaN, is left
    to NumPy if its order is another one.
    """
    arguments = op, a, axis, dtype, out, keepdims, initial, where
    if not _is_in_other_order(op, a, axis, out, keepdims, where):
        return finish(reduce(*arguments), out)
    return compute_finite(lambda: finish(reduce(*arguments)))


def sum_or_product(
    op: ufunc, reduce: Callable[..., Any] = reduce_by
) -> Callable[..., Any]:
    """Make a function with the parameters of numpy.sum, which calls `reduce`."""

    def reduction(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Any:
        return _reduce_and_finish(
            reduce, op, a, axis, dtype, out, keepdims, initial, where
        )

    return reduction


def maximum_or_minimum(
    op: ufunc, reduce: Callable[..., Any] = reduce_by
) -> Callable[..., Any]:
    """Make a function with the parameters of numpy.max, which calls `reduce`."""

    def reduction(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Any:
        result = reduce(op, a, axis, None, out, keepdims, initial, where)
        return finish(result, out)

    return reduction


def _any_or_all(op: ufunc) -> Callable[..., Any]:
    """Make a function with the parameters of numpy.any."""

    def reduction(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        *,
        where: Any = True,
    ) -> Any:
        result = reduce_by(op, a, axis, None, out, keepdims, where=where)
        return finish(result, out)

    return reduction


_sum, _prod = sum_or_product(_add), sum_or_product(_multiply)
_max, _min = maximum_or_minimum(_maximum), maximum_or_minimum(_minimum)
_any, _all = _any_or_all(_logical_or), _any_or_all(_logical_and)

# Their loops return the dtype of their operands, in any order of steps.
_REDUCING = {
    _add, _multiply, _maximum, _minimum, _logical_or, _logical_and,
    named(numpy.fmax), named(numpy.fmin),
    named(numpy.bitwise_and), named(numpy.bitwise_or), named(numpy.bitwise_xor),
}  # fmt: skip


def _ufunc_reduce(
    op: ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    if op not in _REDUCING or (axis == 0 and getattr(array, "ndim", 0) == 0):
        return NotImplemented
    if type(out) is tuple:
        out = out[0] if len(out) == 1 else NotImplemented
    return _reduce_and_finish(
        reduce_by, op, array, axis, dtype, out, keepdims, initial, where
    )


# -- Searches --------------------------------------------------------------------------


def _has_rows(a: Any) -> bool:
    """Return whether the processor searches along any axis by comparing rows."""
    has_kernel = a.dtype.kind in "iuf" and a.dtype != numpy.float16
    return has_kernel and a.itemsize in a.strides and not may_use_gpu()


def _search(is_least: bool) -> Callable[..., Any]:
    """Make a function with the parameters of numpy.argmin."""

    def search(
        a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False
    ) -> Any:
        keeps_dims = read_keepdims(keepdims)
        if type(a) is not ndarray or a.ndim == 0 or out is not None:
            return NotImplemented
        if keeps_dims is None:
            return NotImplemented
        if axis is None:
            found = _bridge.find(is_least, a.ravel(), 0, keeps_dims)
            if found is NotImplemented:
                return NotImplemented
            if not keeps_dims:
                return found[()]
            return found if a.ndim == 1 else found.reshape((1,) * a.ndim).copy()
        axis = find_axis(axis, a.ndim)
        if axis < 0:
            return NotImplemented
        is_adjacent = axis == a.ndim - 1 or a.strides[axis] == a.itemsize
        if is_adjacent or _has_rows(a) or prefers_gpu():
            found = _bridge.find(is_least, a, axis, keeps_dims)
            return finish(found, keepdims=keeps_dims)
        # As in NumPy, elements along the axis are first made adjacent in memory.
        lines = _moveaxis(a, axis, -1).copy()
        found = _bridge.find(is_least, lines, a.ndim - 1, False)
        if found is NotImplemented or not keeps_dims:
            return finish(found)
        return found.reshape(*a.shape[:axis], 1, *a.shape[axis + 1 :]).copy()

    return search


_moveaxis = find_counterpart(numpy.moveaxis)
_argmax, _argmin = _search(is_least=False), _search(is_least=True)


# -- Running results -------------------------------------------------------------------


def _accumulate(op: ufunc, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    if type(a) is not ndarray:
        return NotImplemented
    axis = find_axis(axis, a.ndim)
    wanted = _find_result_dtype(op, a.dtype, dtype)
    if axis < 0 or wanted is None or not can_hold(out, a.shape, wanted):
        return NotImplemented
    return _bridge.accumulate(op.operation, a, axis, wanted.num, out)


def _running(op: ufunc) -> Callable[..., Any]:
    """Make a function with the parameters of numpy.cumsum."""

    def accumulate(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if axis is None and type(a) is ndarray:
            if out is not None and a.ndim != 1 and not a.flags.c_contiguous:
                return NotImplemented  # a copy and its sums are two steps
            a, axis = a if a.ndim == 1 else a.ravel(), 0
        return _accumulate(op, a, axis, dtype, out)

    return accumulate


_cumsum, _cumprod = _running(_add), _running(_multiply)


def _ufunc_accumulate(
    op: ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    return (
        _accumulate(op, array, axis, dtype, out) if op in _REDUCING else NotImplemented
    )
