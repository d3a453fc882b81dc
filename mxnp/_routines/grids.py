"""Recorded forms of functions that create evenly spaced numbers and grids.

The operations and their order are NumPy's, so the bits are too.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._array.ufunc import named, ufunc

from .arguments import is_core_dtype

_DOUBLE = numpy.dtype("float64")
_FACTOR = 4  # NumPy creates smaller arrays before recorded operations could start.
_EXACT = 2**53  # integers of smaller magnitude are floats
_floor, _power = named(numpy.floor), named(numpy.power)


def _is_large(size: float) -> bool:
    return size >= _FACTOR * max(_bridge.get_threshold(), 1)


# -- Evenly spaced numbers -------------------------------------------------------------


def _is_double(x: Any) -> bool:
    """Return whether NumPy computes evenly spaced numbers from x in float64."""
    if type(x) in (int, numpy.int64, numpy.int32):
        return bool(-_EXACT < x < _EXACT)
    return type(x) in (float, numpy.float64) and math.isfinite(x)


def _count_from_zero(n: int) -> Any:
    """Return 0.0, 1.0 and so on, or NotImplemented."""
    return _bridge.range(n, _DOUBLE.num, numpy.arange(2.0).tobytes())


def _space(start: float, stop: float, n: int, endpoint: bool) -> tuple[Any, Any]:
    """Return n evenly spaced numbers and their distance, or NotImplemented."""
    delta = numpy.float64(float(stop) - float(start))
    div = n - 1 if endpoint else n
    step = delta / div
    index = _count_from_zero(n) if step and math.isfinite(delta) else NotImplemented
    if index is NotImplemented:
        return NotImplemented, step
    numbers = index * step + float(start)
    if endpoint:
        numbers = _bridge.select(index == float(n - 1), float(stop), numbers)
    return numbers, step


def _linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: Any = None,
) -> Any:
    if type(num) is not int or not 2 <= num < 2**31:
        return NotImplemented
    if not (_is_double(start) and _is_double(stop)) or axis != 0:
        return NotImplemented
    wanted = _DOUBLE if dtype is None else numpy.dtype(dtype)
    if wanted.kind not in "iuf" or not is_core_dtype(wanted):
        return NotImplemented
    numbers, step = _space(start, stop, num, bool(endpoint))
    if numbers is not NotImplemented and wanted.kind in "iu":
        numbers = _floor(numbers)
    if numbers is not NotImplemented and wanted != _DOUBLE:
        numbers = _bridge.cast(numbers, wanted.num, True)
    if numbers is NotImplemented:
        return NotImplemented
    if wanted == _DOUBLE:
        numbers = numbers.reshape(-1)  # Without a cast, NumPy's result is a view.
    return (numbers, step) if retstep else numbers


def _logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    if type(base) not in (int, float, numpy.float64) or numpy.dtype(dtype) != _DOUBLE:
        return NotImplemented
    exponents = _linspace(start, stop, num, endpoint, axis=axis)
    return exponents if exponents is NotImplemented else _power(base, exponents)


# -- Grids -----------------------------------------------------------------------------


def _stack_lines(lines: list[Any], dtype: numpy.dtype[Any]) -> Any:
    """Return the coordinates of all points of a grid, from the values of its axes."""
    shape = len(lines), *(line.size for line in lines)
    if not is_core_dtype(dtype):
        return NotImplemented
    if _is_large(math.prod(shape[1:])):
        result = _bridge.empty(shape, dtype.num)
    else:
        result = _bridge.wrap(numpy.empty(shape, dtype))
    if result is NotImplemented:
        return result
    for axis, line in enumerate(lines):
        result[axis] = _along(line, axis, len(lines))
    return result


def _along(line: Any, axis: int, ndim: int) -> Any:
    """Return a view of a line along an axis of so many."""
    return line.reshape((1,) * axis + (-1,) + (1,) * (ndim - axis - 1))


_PARTS = (int, float, type(None))


def _read_axis(part: Any) -> tuple[Any, Any, Any, int] | None:
    """Return start, stop, step and length of an axis of `mgrid`, or None."""
    if type(part) is not slice or type(part.stop) not in (int, float):
        return None
    start, step = part.start, part.step
    if type(start) not in _PARTS or type(step) not in (*_PARTS, complex):
        return None
    start, step = 0 if start is None else start, 1 if step is None else step
    if type(step) is complex:
        return start, part.stop, abs(step), int(abs(step))
    if step == 0 or not math.isfinite(part.stop - start):
        return None
    return start, part.stop, step, math.ceil((part.stop - start) / step)


def _mgrid(key: Any) -> Any:
    read: list[tuple[Any, Any, Any, int]] = []
    for part in key if type(key) is tuple else ():
        axis = _read_axis(part)
        if axis is None or axis[3] < 1:
            return NotImplemented
        read.append(axis)
    if not read:
        return NotImplemented
    dtype = numpy.result_type(0, *(number for part in read for number in part[:3]))
    lines = []
    for part, (start, stop, step, length) in zip(key, read, strict=True):
        distance = step
        if type(part.step) is complex:
            distance = 1 if length == 1 else (stop - start) / float(length - 1)
        lines.append(_new_line(start, distance, length, dtype))
    return _stack_lines(lines, dtype)


def _new_line(start: Any, step: Any, length: int, dtype: numpy.dtype[Any]) -> Any:
    line = numpy.arange(length, dtype=dtype)
    if start != 0 or step != 1:
        line = line * step + start
    return _bridge.wrap(line.astype(dtype, copy=False))


def _meshgrid(
    *xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = "xy"
) -> Any:
    if sparse or not copy or indexing not in ("xy", "ij") or len(xi) < 2:
        return NotImplemented
    if any(type(x) is not ndarray or not is_core_dtype(x.dtype) for x in xi):
        return NotImplemented
    sizes = [x.size for x in xi]
    if not _is_large(math.prod(sizes)):
        return NotImplemented
    order = [1, 0, *range(2, len(xi))] if indexing == "xy" else [*range(len(xi))]
    shape = tuple(sizes[i] for i in order)
    results = []
    for x, axis in zip(xi, order, strict=True):
        result = _bridge.empty(shape, x.dtype.num)
        if result is NotImplemented:
            return result
        result[...] = _along(x, axis, len(xi))
        results.append(result)
    return tuple(results)


# -- Products --------------------------------------------------------------------------


def _outer(a: Any, b: Any, out: Any = None) -> Any:
    if type(a) is not ndarray or type(b) is not ndarray or out is not None:
        return NotImplemented
    if not _is_large(a.size * b.size):
        return NotImplemented
    return operator.mul(a.ravel()[:, None], b.ravel()[None, :])


def _ufunc_outer(op: ufunc, A: Any, B: Any, /) -> Any:  # noqa: N803  (NumPy's names)
    if type(A) is not ndarray or type(B) is not ndarray:
        return NotImplemented
    if not _is_large(A.size * B.size):
        return NotImplemented
    if op.operation < 0 or op.__wrapped__.nin != 2:
        return NotImplemented
    return _bridge.record(op, A.reshape(A.shape + (1,) * B.ndim), B)
