"""Functions that are several kernels on a Metal device: sorting, matrix products.

As in `_copies`, each gives NotImplemented for all that it does not know for certain, or
that is not for the device: then NumPy computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from . import _bridge, _lib, _metal_kernels
from ._array import ndarray
from ._copies import _queue
from ._devices import devices, get_device

_SORTED = _lib.metal_types().keys() - {"complex64"}
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
        _lib.kernel_prelude(),
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
    """Give memory of the device."""
    return _bridge.empty((size,), numpy.dtype(dtype).num)


def _is_for_device(*arrays: Any) -> bool:
    """Tell whether there are elements of mxnp's, and the device is asked for."""
    return (
        get_device() == "metal"
        and all(type(a) is ndarray and a.size > 0 and a.dtype.isnative for a in arrays)
        and _lib.is_metal_usable()
    )


def _contiguous(a: Any) -> Any:
    return a if a.flags.c_contiguous and a.flags.aligned else a.copy()


# -- Sorting --------------------------------------------------------------------------


def _last(axis: int, ndim: int) -> list[int]:
    """Give the order of axes in which one comes last."""
    return [*(i for i in range(ndim) if i != axis), axis]


def _sort_into(out: Any, a: Any, axis: Any, order: Any, sort: Any) -> bool:
    """Sort along an axis; False: it is not for the device."""
    if not _is_for_device(a, out) or order is not None or a.dtype.name not in _SORTED:
        return False
    if type(axis) is not int or not -a.ndim <= axis < a.ndim:
        return False
    turned = _last(axis % a.ndim, a.ndim)
    lines = _contiguous(a.transpose(turned))
    n = lines.shape[-1]
    flat = sort(_launch, _empty, lines, lines.size // n, n, a.dtype.name)
    out.transpose(turned)[...] = flat.reshape(lines.shape)
    return True


def _sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    if not _is_for_device(a) or axis is None:
        return NotImplemented
    out = a.copy("K")
    return (
        out if _sort_into(out, a, axis, order, _metal_kernels.sort) else NotImplemented
    )


def _sort_in_place(a: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    if not a.flags.writeable:
        return NotImplemented
    return (
        None if _sort_into(a, a, axis, order, _metal_kernels.sort) else NotImplemented
    )


def _argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """Sort as NumPy does, if it is asked for a stable order; its own is no other's."""
    if stable is not True and kind not in ("stable", "mergesort"):
        return NotImplemented
    if not _is_for_device(a) or axis is None:
        return NotImplemented
    out = _bridge.empty(a.shape, numpy.dtype(numpy.intp).num)
    done = out is not NotImplemented and _sort_into(
        out, a, axis, order, _metal_kernels.argsort
    )
    return out if done else NotImplemented


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
    flat = _metal_kernels.matmul(
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
    _queue(_sort, numpy.sort, worth=1)
    _queue(_sort_in_place, method="sort", worth=1)
    _queue(_argsort, numpy.argsort, method="argsort", worth=1)
    _queue(_matmul, numpy.matmul, worth=1)
    _queue(_dot, numpy.dot, method="dot", worth=1)
    _bridge.set_matmul(_matmul)
