"""Updates at indices in order: sorted by element, then one thread for each element.

They are used for elements of 64 bits, for which a GPU may lack atomic operations, and
for floats whose updates must have NumPy's bits. The bridge analyses the key and records
the checks of its indices before it calls this module.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine import core
from mxnp._engine.devices import GPU, devices

from . import kernels
from .functions import empty, is_for_device, launch, make_contiguous

_OPERATIONS = {
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"),
    *("logical_and", "logical_or", "logical_xor"),
}

# Of two zeros, NumPy's loops over indices return the second for float32 and float64.
# They return the first for float16.
_EXTREMES = {
    "maximum": "mx_isnan(a) || mx_less(b, a) ? a : b",
    "minimum": "mx_isnan(a) || mx_less(a, b) ? a : b",
    "fmax": "mx_isnan(b) || mx_less(b, a) ? a : b",
    "fmin": "mx_isnan(b) || mx_less(a, b) ? a : b",
}

# One thread makes all updates of an element. More updates would block the GPU too long.
_MAX_UPDATES = 2**20

_Axes = tuple[tuple[int, int], ...]  # of the selection: length, stride in elements
_Indices = tuple[tuple[Any, int, int], ...]  # array, size of the axis, its stride


def _expression(op: int, dtype: numpy.dtype[Any], is_truth: bool) -> str:
    """Return the expression of an update, or "" if it lacks NumPy's bits."""
    row = core.ops()[op]
    if row.name not in _OPERATIONS or (dtype.kind == "c" and row.name == "divide"):
        return ""
    if dtype.kind == "c" and row.name == "multiply":
        return kernels.multiply_complex(dtype.name)
    if dtype.char in "fd" and row.name in _EXTREMES:
        return _EXTREMES[row.name]
    item = core.gpu().types[dtype.name]
    return f"mx_cast<{item}>({row.expression})" if is_truth else row.expression


# -- Slots ----------------------------------------------------------------------------


def _normalize(indices: Any, size: int, bounds: int) -> tuple[Any, Any]:
    """Return indices counted from the first element, and which are in bounds."""
    if indices.dtype != numpy.int64:
        indices = indices.astype(numpy.int64)
    if bounds == _bridge.PLAIN:
        return indices, True
    indices = indices + (indices < 0) * size
    if bounds == _bridge.CLAMP:
        return indices.clip(0, size - 1), True
    if bounds == _bridge.DROP:
        return indices, (indices >= 0) & (indices < size)
    return indices, True


def _row_length(axes: _Axes) -> int:
    """Return the number of elements of the axes if they are adjacent, or else 0."""
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
    """Return the first elements of rows, -1 to skip one, and the length of a row."""
    slots: Any = first
    is_valid: Any = True
    for array, size, stride in indices:
        normal, are_valid = _normalize(array, size, bounds)
        slots = slots + (normal if stride == 1 else normal * stride)
        is_valid = is_valid if are_valid is True else are_valid & is_valid
    rest = axes[:block_at] + axes[block_at + block_ndim :]
    row = 0 if block_at > 0 else _row_length(rest)
    if not row:
        inside = slice(block_at, block_at + block_ndim)
        shape = [1] * len(axes)
        shape[inside] = [length for length, _ in axes[inside]]
        slots = slots.reshape(shape)
        is_valid = is_valid if is_valid is True else is_valid.reshape(shape)
        for i, (length, stride) in enumerate(axes):
            if not block_at <= i < block_at + block_ndim and length > 1:
                first_two = numpy.array([0, stride])
                along = _bridge.range(length, first_two.dtype.num, first_two.tobytes())
                shape = [1] * len(axes)
                shape[i] = length
                slots = slots + along.reshape(shape)
    if is_valid is not True:
        slots = (slots + 1) * is_valid - 1
    return slots, row or 1


# -- Values ---------------------------------------------------------------------------


def _values(
    value: Any, dtype: numpy.dtype[Any], shape: tuple[int, ...], may_overlap: bool
) -> Any:
    """Return one value for all elements, or an array of values in separate memory."""
    if type(value) is not ndarray:
        return _bridge.fill((1,), dtype.num, value)
    if value.size == 1:
        return value.reshape(1).astype(dtype)
    values = value if value.dtype == dtype else value.astype(dtype)
    if values.shape != shape:
        values = numpy.broadcast_to(values, shape)
    values = make_contiguous(values)
    return values.copy() if may_overlap and values is value else values


# -- Updates --------------------------------------------------------------------------


def _update(
    op: int,
    a: Any,
    value: Any,
    may_overlap: bool,
    is_truth: bool,
    bounds: int,
    first: int,
    axes: _Axes,
    block_at: int,
    block_ndim: int,
    indices: _Indices,
) -> Any:
    """Update elements of a contiguous array, whose memory the value may share."""
    dtype, shape = a.dtype, tuple(length for length, _ in axes)
    expression = _expression(op, dtype, is_truth)
    points = math.prod(length for length, _ in axes[block_at : block_at + block_ndim])
    if not expression or not is_for_device(a) or points > _MAX_UPDATES:
        return NotImplemented
    values = _values(value, dtype, shape, may_overlap)
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


if GPU in devices():
    _bridge.set_device_function(_bridge.UPDATE, _update)
