"""Launches of kernels, and recorded forms of sorts and selection, on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy
from numpy._core import _exceptions

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine import core
from mxnp._engine.devices import GPU, devices, get_device
from mxnp._routines import sorting

from . import kernels

_SORTED = core.gpu().types.keys() - {"complex64", "complex128", "bfloat16"}
# Kernels that a library of the device may compute instead.
_CALLS = {
    "mx_matmul": core.MULTIPLY,
    "mx_transform": core.TRANSFORM,
    "mx_linear": core.LINEAR,
}
_MOST = 2**63 - 1  # of a range


class NotTakenError(Exception):
    """NumPy's function must handle the call."""


_encode = cache(str.encode)  # the texts of kernels are long


def launch(
    source: str,
    function: str,
    buffers: Sequence[tuple[Any, bool]],
    args: Sequence[int],
    grid: tuple[int, int, int],
    threads: tuple[int, int, int],
    in_threadgroups: bool,
    work: int = 0,
) -> None:
    """
    Record one dispatch; the buffers that it writes come last.

    If its work is not 0, the core may cut it. The last three arguments are then the
    origin of a part of the grid, which the core sets.
    """
    written = [is_written for _, is_written in buffers]
    assert written == sorted(written), function
    _bridge.launch(
        core.kernel_prelude(),
        _encode(source),
        function.encode(),
        tuple(array for array, _ in buffers),
        sum(written),
        (*args, 0, 0, 0) if work else tuple(args),
        in_threadgroups,
        grid,
        threads,
        min(work, 2**62),
        _CALLS.get(function, core.NO_CALL),
    )


def order_axes(a: Any, places: list[int]) -> Any:
    """Return an array with its axes in an order: itself if they are, or a view."""
    return a if places == sorted(places) else a.transpose(places)


def empty(size: int | tuple[int, ...], dtype: str) -> Any:
    """
    Return uninitialized memory of the device, or raise NumPy's MemoryError.

    The size may be a shape.
    """
    shape = size if isinstance(size, tuple) else (size,)
    memory = _bridge.empty(shape, numpy.dtype(dtype).num)
    if memory is NotImplemented:
        raise _exceptions._ArrayMemoryError(shape, numpy.dtype(dtype))
    return memory


def can_hold(*sizes: int) -> bool:
    """Return whether the GPU can use arrays of so many elements of 8 bytes."""
    return 8 * max(sizes, default=0) <= core.gpu_max_bytes()


def _elements_in_memory(a: Any) -> int:
    """Return how many numbers of 8 bytes the memory of an array holds."""
    return max(int(a.size), -(-_bridge.memory_size(a) // 8))


def is_for_device(*arrays: Any) -> bool:
    """
    Return whether the GPU computes, and all operands are nonempty arrays.

    A kernel may write a number of 8 bytes for each element of an operand. With device
    "auto" the GPU computes with arrays that its own memory has.
    """
    device = get_device()
    if device != GPU and (device != "auto" or not core.gpu_has_own_memory()):
        return False
    return (
        all(type(a) is ndarray and a.size > 0 and a.dtype.isnative for a in arrays)
        and (device == GPU or any(map(_bridge.is_on_device, arrays)))
        and core.is_gpu_usable()
        and can_hold(*map(_elements_in_memory, arrays))
    )


def make_contiguous(a: Any) -> Any:
    """Return an array in C order: `a` itself, or a copy."""
    return a if a.flags.c_contiguous and a.flags.aligned else a.copy()


# -- Sorting --------------------------------------------------------------------------


def _sort_along(kernel: Callable[..., Any], a: Any, axis: Any, order: Any) -> Any:
    """
    Return the result of a kernel that sorts rows, for the rows along an axis.

    It is a view of new memory if there are several axes, and NotImplemented if the
    kernel returns that.
    """
    if order is not None or a.dtype.name not in _SORTED:
        return NotImplemented
    if type(axis) is not int or not -a.ndim <= axis < a.ndim:
        return NotImplemented
    axes = [*(i for i in range(a.ndim) if i != axis % a.ndim), axis % a.ndim]
    lines = make_contiguous(a.transpose(axes))
    n = lines.shape[-1]
    flat = kernel(launch, empty, lines, lines.size // n, n, a.dtype.name)
    if flat is NotImplemented or a.ndim == 1:
        return flat
    return flat.reshape(lines.shape).transpose([axes.index(i) for i in range(a.ndim)])


def _sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    if sorting.find_kind(kind, stable) < 0 or not is_for_device(a):
        return NotImplemented
    found = _sort_along(kernels.sort, a, axis, order)
    if found is NotImplemented or a.ndim == 1:
        return found
    out = a.copy("K")
    out[...] = found
    return out


def _sort_in_place(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    is_known = a.flags.writeable and sorting.find_kind(kind, stable) >= 0
    if not is_known or not is_for_device(a) or not _bridge.is_apart(a):
        return NotImplemented
    found = _sort_along(kernels.sort, a, axis, order)
    if found is NotImplemented:
        return found
    a[...] = found
    return None


def _argsort_distinct(
    launch: kernels.Launch,
    empty: kernels.Empty,
    keys: Any,
    rows: int,
    n: int,
    dtype: str,
) -> Any:
    """
    Return the positions that sort each row, or NotImplemented if elements are equal.

    The order of equal elements in NumPy's unstable sorts cannot be reproduced.
    """
    if n > 2 ** (8 * numpy.dtype(dtype).itemsize):
        return NotImplemented
    found, places = kernels.sort_with_places(launch, empty, keys, rows, n, dtype)
    found = found.reshape(rows, n)
    are_equal = found[:, 1:] == found[:, :-1]
    if found.dtype.kind == "f":  # NaN are equal, and last
        are_equal |= numpy.isnan(found[:, :-1])
    return NotImplemented if are_equal.any() else places


def _argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """Sort indirectly if the order of equal elements is known, or nothing is equal."""
    number = sorting.find_kind(kind, stable)
    if number < 0 or not is_for_device(a):
        return NotImplemented
    kernel = kernels.argsort if number == sorting.STABLE else _argsort_distinct
    found = _sort_along(kernel, a, axis, order)
    return found if found is NotImplemented or a.ndim == 1 else found.copy()


# -- Selecting ------------------------------------------------------------------------


def _select(mask: Any, items: Any) -> Any:
    """Return the items that a mask selects, or their flat positions, as one row."""
    dtype = "int64" if items is None else items.dtype.name
    if not is_for_device(mask) or dtype not in core.gpu().types:
        return NotImplemented
    mask, n = make_contiguous(mask), mask.size
    counts, count = kernels.count_true(launch, empty, mask, n)
    arrays = mask, items
    versions = [*map(_bridge.version, arrays)]
    total = int(count[0])  # a warning handler may change the arrays
    if [*map(_bridge.version, arrays)] != versions:
        return NotImplemented
    if total == 0:
        is_empty = _bridge.wrap(numpy.empty(0, dtype))
        return NotImplemented if items is None else is_empty
    if items is None:
        return kernels.nonzero_positions(launch, empty, mask, n, counts, total)
    items = make_contiguous(items)
    return kernels.select_items(launch, empty, mask, n, items, dtype, counts, total)


# -- Ranges of indices ----------------------------------------------------------------


def _range(indices: Any) -> Any:
    """Return the least and the greatest of indices, which are not copied for that."""
    if not is_for_device(indices) or indices.dtype.name not in core.gpu().types:
        return NotImplemented
    least, most = indices.min(keepdims=True), indices.max(keepdims=True)
    return least.item(), min(most.item(), _MOST)


if GPU in devices():
    _bridge.set_device_function(_bridge.SELECT, _select)
    if core.gpu_has_own_memory():
        _bridge.set_device_function(_bridge.RANGE, _range)
