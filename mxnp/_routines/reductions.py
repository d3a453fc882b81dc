"""Reductions, searches and scans of large arrays, as operations that are recorded.

Each function here is called before NumPy's, with the arguments of the program, when an
array among them is large.  It gives NotImplemented wherever it does not know the answer
for certain, and NumPy is called then: with its rules, its warnings and its errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._array.ufunc import named, ufunc
from mxnp._engine.devices import may_use_metal
from mxnp._namespace.mirror import cross

# A written array is worth recording from this many times the threshold on: below, NumPy
# has reduced it by the time that anything of ours could have started.
_WORTH = 16

GIVEN = numpy._NoValue  # where nothing is given
_LONG = numpy.dtype(numpy.long)
_UNSIGNED_LONG = numpy.dtype(numpy.ulong)
Queued = Callable[..., Any]


def queue(function: Queued, *originals: Any, method: str = "") -> None:
    """Let a function of ours be asked before NumPy's, and before a method of arrays."""
    wrappers = [cross(original, "numpy") for original in originals]
    if method:
        wrappers.append(vars(ndarray)[method])
    for wrapper in wrappers:
        wrapper.implementation = function
        wrapper.threshold_factor = _WORTH


# -- Arguments -------------------------------------------------------------------------


def find_axes(axis: Any, ndim: int) -> int:
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


def count_along(a: Any, axes: int) -> int:
    """Give the number of elements that each result is made of."""
    count = 1
    for i, n in enumerate(a.shape):
        if axes >> i & 1:
            count *= n
    return count


def finish(result: Any, out: Any, keeps: bool = False) -> Any:
    """Give the result as NumPy does: into `out`, or as a scalar without axes.

    In fast mode it stays an array, which need not be computed yet.  NotImplemented is
    passed on.
    """
    if result is NotImplemented:
        return NotImplemented
    if out is not None:
        out[...] = result
        return out
    if keeps or result.ndim or _bridge.get_setting(_bridge.FAST):
        return result
    return result[()]


def can_take(out: Any, shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> bool:
    if type(out) is not ndarray or not out.flags.writeable:
        return False
    return bool(out.shape == shape and out.dtype == dtype)


def _is_kept(keepdims: Any) -> bool | None:
    """Tell whether axes are kept; None when NumPy has something to say about it."""
    if keepdims is GIVEN:
        return False
    return bool(keepdims) if type(keepdims) in (bool, int) else None


def is_absent(x: Any) -> bool:
    return x is GIVEN or x is None


def is_bfloat16(dtype: numpy.dtype[Any]) -> bool:
    """Tell whether it is the dtype of ml_dtypes, which NumPy knows by number only."""
    return dtype.name == "bfloat16" and _bridge.has_dtype(dtype.num)


# -- Reduction by a ufunc --------------------------------------------------------------


def _accumulator(op: ufunc, given: numpy.dtype[Any]) -> numpy.dtype[Any]:
    """Give the dtype in which NumPy reduces elements of a dtype."""
    if op in (_logical_or, _logical_and):
        return numpy.dtype(bool)
    if op in (_add, _multiply) and given.kind in "bui" and given.itemsize <= 8:
        wide = _UNSIGNED_LONG if given.kind == "u" else _LONG
        return wide if given.itemsize < wide.itemsize else given
    return given


def reduce_by(
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
    axes = find_axes(axis, a.ndim)
    kept = _is_kept(keepdims)
    if axes == 0 or kept is None:
        return NotImplemented
    wanted = _accumulator(op, a.dtype) if dtype is None else numpy.dtype(dtype)
    if where is not True and where is not GIVEN:
        if type(where) is not ndarray or where.dtype != bool:
            return NotImplemented
        start = op.__wrapped__.identity
        if start is None:  # the least or greatest: what comes first may come twice
            start = initial
        if is_absent(start):
            return NotImplemented
        a = _bridge.select(where, a, start)
        if a is NotImplemented or a.ndim == 0:
            return NotImplemented
        axes = find_axes(axis, a.ndim)
    # Sums of float16 are kept in float32, as NumPy keeps each of its own runs of them.
    # Those of bfloat16 it rounds at each step, from the first to the last: they are not
    # recorded, but for a device, which keeps them in float32 too.
    is_half = wanted == numpy.float16 or is_bfloat16(wanted)
    if is_bfloat16(wanted) and not may_use_metal():
        return NotImplemented
    is_sum = is_half and op in (_add, _multiply)
    number = numpy.dtype(numpy.float32).num if is_sum else wanted.num
    has_initial = not is_absent(initial)
    result = _bridge.reduce(
        op.operation, a, axes, kept, has_initial, number, wanted.num
    )
    if result is NotImplemented:
        return NotImplemented
    if has_initial:
        result = op(result, initial, dtype=wanted)
    if out is not None and not can_take(out, result.shape, result.dtype):
        return NotImplemented
    return result


_add, _multiply = named(numpy.add), named(numpy.multiply)
_maximum, _minimum = named(numpy.maximum), named(numpy.minimum)
_logical_or, _logical_and = named(numpy.logical_or), named(numpy.logical_and)


def with_dtype(op: ufunc) -> Queued:
    """Make a sum or product, with the parameters of NumPy's."""

    def reduce(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = GIVEN,
        where: Any = True,
    ) -> Any:
        result = reduce_by(op, a, axis, dtype, out, keepdims, initial, where)
        return finish(result, out)

    return reduce


def _without_dtype(op: ufunc) -> Queued:
    def reduce(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = GIVEN,
        where: Any = True,
    ) -> Any:
        result = reduce_by(op, a, axis, None, out, keepdims, initial, where)
        return finish(result, out)

    return reduce


def _truth(op: ufunc) -> Queued:
    def reduce(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        *,
        where: Any = True,
    ) -> Any:
        result = reduce_by(op, a, axis, None, out, keepdims, GIVEN, where)
        return finish(result, out)

    return reduce


def _ufunc_reduce(
    op: ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = GIVEN,
    where: Any = True,
) -> Any:
    if op not in _REDUCING or (axis == 0 and getattr(array, "ndim", 0) == 0):
        return NotImplemented
    if type(out) is tuple:
        out = out[0] if len(out) == 1 else NotImplemented
    result = reduce_by(op, array, axis, dtype, out, keepdims, initial, where)
    return finish(result, out)


# Those whose loop gives what it takes, and whose order of steps does not matter.
_REDUCING = {
    _add, _multiply, _maximum, _minimum, _logical_or, _logical_and,
    named(numpy.fmax), named(numpy.fmin),
    named(numpy.bitwise_and), named(numpy.bitwise_or), named(numpy.bitwise_xor),
}  # fmt: skip

queue(with_dtype(_add), numpy.sum, method="sum")
queue(with_dtype(_multiply), numpy.prod, method="prod")
queue(_without_dtype(_maximum), numpy.max, method="max")
queue(_without_dtype(_minimum), numpy.min, method="min")
queue(_truth(_logical_or), numpy.any, method="any")
queue(_truth(_logical_and), numpy.all, method="all")
vars(ufunc)["reduce"].implementation = _ufunc_reduce
vars(ufunc)["reduce"].threshold_factor = _WORTH


# -- Searches --------------------------------------------------------------------------


def _search(least: bool) -> Queued:
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
            return finish(found, None, kept)
        # Lines of memory that goes across them are copied together, as in NumPy.
        lines = _moveaxis(a, axis, -1).copy()
        found = _bridge.find(least, lines, a.ndim - 1, kept)
        if found is NotImplemented:
            return NotImplemented
        return _moveaxis(found, -1, axis) if kept else finish(found, None)

    return search


argmax, argmin = _search(False), _search(True)
_moveaxis = cross(numpy.moveaxis, "numpy")


queue(argmax, numpy.argmax, method="argmax")
queue(argmin, numpy.argmin, method="argmin")


# -- Scans -----------------------------------------------------------------------------


def _accumulate(op: ufunc, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    if type(a) is not ndarray or out is not None or type(axis) is not int:
        return NotImplemented
    if not -a.ndim <= axis < a.ndim:
        return NotImplemented
    wanted = _accumulator(op, a.dtype) if dtype is None else numpy.dtype(dtype)
    return _bridge.accumulate(op.operation, a, axis % a.ndim, wanted.num)


def _running(op: ufunc) -> Queued:
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
vars(ufunc)["accumulate"].implementation = _ufunc_accumulate
vars(ufunc)["accumulate"].threshold_factor = _WORTH
