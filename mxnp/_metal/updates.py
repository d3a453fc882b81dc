"""Updates at indices, in their order: sorted by place, each then updated by one thread.

That is for elements of 64 bits, which Metal has no atomic operations for, and for
floats whose updates are to be NumPy's to the last bit. The C side reads the key, and
records the checks of its indices, before it asks for this.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine import core
from mxnp._engine.devices import devices

from . import kernels
from .functions import empty, is_for_device, launch, make_contiguous

_OPERATIONS = {
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"),
    *("logical_and", "logical_or", "logical_xor"),
}

# Of two zeros NumPy's loops over indices give the second in float32, else the first.
_SINGLE = {
    "maximum": "mx_isnan(a) || mx_less(b, a) ? a : b",
    "minimum": "mx_isnan(a) || mx_less(a, b) ? a : b",
    "fmax": "mx_isnan(b) || mx_less(b, a) ? a : b",
    "fmin": "mx_isnan(b) || mx_less(a, b) ? a : b",
}

# One thread makes all updates of an element: more would keep a GPU busy for too long.
_MOST = 2**20

_Axes = tuple[tuple[int, int], ...]  # of what is selected: length, stride in elements
_Indices = tuple[tuple[Any, int, int], ...]  # array, size of the axis, its stride


def _expression(op: int, dtype: numpy.dtype[Any], is_truth: bool) -> str:
    """Give what MSL makes of an element and a value; empty: not NumPy's bits."""
    row = core.ops()[op]
    if row.name not in _OPERATIONS or (dtype.kind == "c" and row.name == "divide"):
        return ""
    if dtype.kind == "c" and row.name == "multiply":
        return kernels.MULTIPLY_COMPLEX
    if dtype == numpy.float32 and row.name in _SINGLE:
        return _SINGLE[row.name]
    item = core.metal_types()[dtype.name]
    return f"mx_cast<{item}>({row.expression})" if is_truth else row.expression


# -- Places ---------------------------------------------------------------------------


def _moved(places: Any, size: int, bounds: int) -> tuple[Any, Any]:
    """Give places counted from the first, and which of them are there."""
    if places.dtype != numpy.int64:
        places = places.astype(numpy.int64)
    if bounds == _bridge.PLAIN:
        return places, True
    places = places + (places < 0) * size
    if bounds == _bridge.CLAMP:
        return places.clip(0, size - 1), True
    if bounds == _bridge.DROP:
        return places, (places >= 0) & (places < size)
    return places, True


def _row(axes: _Axes) -> int:
    """Give how many elements follow each other along these axes; 0: they do not."""
    row = 1
    for length, stride in reversed(axes):
        if length > 1 and stride != row:
            return 0
        row *= length
    return row


def _slots(
    indices: _Indices,
    bounds: int,
    first: int,
    axes: _Axes,
    block_at: int,
    block_ndim: int,
) -> tuple[Any, int]:
    """Give where elements or rows begin (-1: nowhere), and how long a row is."""
    slots: Any = first
    is_there: Any = True
    for given, size, stride in indices:
        places, are_there = _moved(given, size, bounds)
        slots = slots + (places if stride == 1 else places * stride)
        is_there = is_there if are_there is True else are_there & is_there
    rest = axes[:block_at] + axes[block_at + block_ndim :]
    row = 0 if block_at > 0 else _row(rest)
    if not row:
        inside = slice(block_at, block_at + block_ndim)
        shape = [1] * len(axes)
        shape[inside] = [length for length, _ in axes[inside]]
        slots = slots.reshape(shape)
        is_there = is_there if is_there is True else is_there.reshape(shape)
        for i, (length, stride) in enumerate(axes):
            if not block_at <= i < block_at + block_ndim and length > 1:
                first_two = numpy.array([0, stride])
                along = _bridge.range(length, first_two.dtype.num, first_two.tobytes())
                shape = [1] * len(axes)
                shape[i] = length
                slots = slots + along.reshape(shape)
    if is_there is not True:
        slots = (slots + 1) * is_there - 1
    return slots, row or 1


# -- Values ---------------------------------------------------------------------------


def _values(
    value: Any, dtype: numpy.dtype[Any], shape: tuple[int, ...], is_own: bool
) -> Any:
    """Give one value for all elements, or one for each, in memory of their own."""
    if type(value) is not ndarray:
        return _bridge.fill((1,), dtype.num, value)
    if value.size == 1:
        return value.reshape(1).astype(dtype)
    values = value if value.dtype == dtype else value.astype(dtype)
    if values.shape != shape:
        values = numpy.broadcast_to(values, shape)
    values = make_contiguous(values)
    return values.copy() if is_own and values is value else values


# -- Updates --------------------------------------------------------------------------


def _update(
    op: int,
    a: Any,
    value: Any,
    is_own: bool,
    is_truth: bool,
    bounds: int,
    first: int,
    axes: _Axes,
    block_at: int,
    block_ndim: int,
    indices: _Indices,
) -> Any:
    """Update elements of a contiguous array; is_own: the value may be in its memory."""
    dtype, shape = a.dtype, tuple(length for length, _ in axes)
    expression = _expression(op, dtype, is_truth)
    points = math.prod(length for length, _ in axes[block_at : block_at + block_ndim])
    if not expression or not is_for_device(a) or points > _MOST:
        return NotImplemented
    values = _values(value, dtype, shape, is_own)
    if values is NotImplemented:
        return values
    slots, row = _slots(indices, bounds, first, axes, block_at, block_ndim)
    kernels.update_segments(
        launch,
        empty,
        a.reshape(-1),
        make_contiguous(slots).reshape(-1),
        values,
        slots.size,
        dtype.name,
        expression,
        is_one_value=values.size == 1,
        row=row,
    )
    return True


if "metal" in devices():
    _bridge.set_device_function(_bridge.UPDATE, _update)
