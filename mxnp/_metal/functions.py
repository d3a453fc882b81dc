"""Functions that are several kernels on a Metal device: sorting, selecting, products.

As in `copies`, each gives NotImplemented for all that it does not know for certain, or
that is not for the device: then NumPy computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy._core import _exceptions

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine import core
from mxnp._engine.devices import devices, get_device
from mxnp._routines.copies import _queue

from . import kernels

_SORTED = core.metal_types().keys() - {"complex64", "bfloat16"}
_MULTIPLIED = {"float16", "float32", "int32", "uint32"}

_FEW_PRODUCTS = 2**15  # of two elements, below which NumPy is quicker in any case


def _launch(
    source: str,
    function: str,
    buffers: Sequence[tuple[Any, bool]],
    args: Sequence[int],
    grid: tuple[int, int, int],
    threads: tuple[int, int, int],
    in_threadgroups: bool,
) -> None:
    """Record one dispatch; what it writes comes last."""
    written = [is_written for _, is_written in buffers]
    assert written == sorted(written), function
    _bridge.launch(
        core.kernel_prelude(),
        source.encode(),
        function.encode(),
        tuple(array for array, _ in buffers),
        sum(written),
        tuple(args),
        in_threadgroups,
        grid,
        threads,
    )


def _empty(size: int, dtype: str) -> Any:
    """Give memory of the device, or raise NumPy's MemoryError."""
    memory = _bridge.empty((size,), numpy.dtype(dtype).num)
    if memory is NotImplemented:
        raise _exceptions._ArrayMemoryError((size,), numpy.dtype(dtype))
    return memory


def _is_for_device(*arrays: Any) -> bool:
    """Tell whether there are elements of mxnp's, and the device is asked for."""
    return (
        get_device() == "metal"
        and all(type(a) is ndarray and a.size > 0 and a.dtype.isnative for a in arrays)
        and core.is_metal_usable()
    )


def _contiguous(a: Any) -> Any:
    return a if a.flags.c_contiguous and a.flags.aligned else a.copy()


# -- Sorting --------------------------------------------------------------------------


def _last(axis: int, ndim: int) -> list[int]:
    """Give the order of axes in which one comes last."""
    return [*(i for i in range(ndim) if i != axis), axis]


def _sorted_along(a: Any, axis: Any, order: Any, sort: Any) -> Any:
    """Give what a kind of sorting makes of an array along an axis."""
    if not _is_for_device(a) or order is not None or a.dtype.name not in _SORTED:
        return NotImplemented
    if type(axis) is not int or not -a.ndim <= axis < a.ndim:
        return NotImplemented
    turned = _last(axis % a.ndim, a.ndim)
    lines = _contiguous(a.transpose(turned))
    n = lines.shape[-1]
    flat = sort(_launch, _empty, lines, lines.size // n, n, a.dtype.name)
    return flat.reshape(lines.shape).transpose([turned.index(i) for i in range(a.ndim)])


def _sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    found = _sorted_along(a, axis, order, kernels.sort)
    if found is NotImplemented:
        return found
    out = a.copy("K")
    out[...] = found
    return out


def _sort_in_place(a: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    if not a.flags.writeable:
        return NotImplemented
    found = _sorted_along(a, axis, order, kernels.sort)
    if found is NotImplemented:
        return found
    a[...] = found
    return None


def _argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """Sort as NumPy does, if it is asked for a stable order; its own is no other's."""
    if stable is not True and kind not in ("stable", "mergesort"):
        return NotImplemented
    found = _sorted_along(a, axis, order, kernels.argsort)
    return found if found is NotImplemented else found.copy()


# -- Selecting ------------------------------------------------------------------------


def _select(mask: Any, items: Any) -> Any:
    """Give the items that a mask selects, or without items the places: all in a row."""
    dtype = "int64" if items is None else items.dtype.name
    if not _is_for_device(mask) or dtype not in core.metal_types():
        return NotImplemented
    mask, n = _contiguous(mask), mask.size
    counts = kernels.count_true(_launch, _empty, mask, n)
    total = int(counts[-1])
    if total == 0:
        nothing = _bridge.wrap(numpy.empty(0, dtype))
        return NotImplemented if items is None else nothing
    if items is None:
        return kernels.nonzero_positions(_launch, _empty, mask, n, counts, total)
    items = _contiguous(items)
    return kernels.select_items(_launch, _empty, mask, n, items, dtype, counts, total)


# -- Products -------------------------------------------------------------------------


def _matmul(a: Any, b: Any, /) -> Any:
    if not _is_for_device(a, b) or a.dtype != b.dtype or a.ndim < 2 or b.ndim < 2:
        return NotImplemented
    (m, k), (other, n), dtype = a.shape[-2:], b.shape[-2:], a.dtype.name
    batch = max(a.shape[:-2], b.shape[:-2], key=len)
    if k != other or dtype not in _MULTIPLIED:
        return NotImplemented
    for stack in (a.shape[:-2], b.shape[:-2]):
        if stack not in ((), batch):
            return NotImplemented
    count = int(numpy.prod(batch, dtype=int))
    if count * m * n * k < _FEW_PRODUCTS:
        return NotImplemented
    flat = kernels.matmul(
        _launch,
        _empty,
        _contiguous(a),
        _contiguous(b),
        count,
        (m, k, n),
        dtype,
        is_one_a=a.ndim == 2,
        is_one_b=b.ndim == 2,
    )
    return flat.reshape((*batch, m, n))


def _dot(a: Any, b: Any) -> Any:
    is_matrix = getattr(a, "ndim", 0) == 2 and getattr(b, "ndim", 0) == 2
    return _matmul(a, b) if is_matrix else NotImplemented


if "metal" in devices():
    _queue(_sort, numpy.sort, threshold_factor=1)
    _queue(_sort_in_place, method="sort", threshold_factor=1)
    _queue(_argsort, numpy.argsort, method="argsort", threshold_factor=1)
    _queue(_matmul, numpy.matmul, threshold_factor=1)
    _queue(_dot, numpy.dot, method="dot", threshold_factor=1)
    _bridge.set_device_function(_bridge.MATMUL, _matmul)
    _bridge.set_device_function(_bridge.SELECT, _select)
