"""Recorded forms of sorts and matrix products, and selection, on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy
from numpy._core import _exceptions

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine import core
from mxnp._engine.devices import GPU, devices, get_device
from mxnp._namespace.recorded_forms import implements

from . import kernels

_SORTED = core.gpu().types.keys() - {"complex64", "complex128", "bfloat16"}
_STABLE = {"stable", "mergesort"}
_KINDS = {None, "quicksort", "heapsort", *_STABLE}
_MULTIPLIED = {"float16", "float32", "float64", "int32", "uint32"} & {*core.gpu().types}

# Multiplications; NumPy is always faster with fewer. Processors have vector or matrix
# units for float32, so NumPy is faster for much larger matrices of that dtype.
_FEW_PRODUCTS = {"float32": 2**21, "float64": 2**21}
_FEW_OTHER_PRODUCTS = 2**15

_implements = partial(implements, needs_gpu=True)


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
        source.encode(),
        function.encode(),
        tuple(array for array, _ in buffers),
        sum(written),
        (*args, 0, 0, 0) if work else tuple(args),
        in_threadgroups,
        grid,
        threads,
        min(work, 2**62),
    )


def empty(size: int, dtype: str) -> Any:
    """Return uninitialized memory of the device, or raise NumPy's MemoryError."""
    memory = _bridge.empty((size,), numpy.dtype(dtype).num)
    if memory is NotImplemented:
        raise _exceptions._ArrayMemoryError((size,), numpy.dtype(dtype))
    return memory


def is_for_device(*arrays: Any) -> bool:
    """Return whether the GPU is the device and all operands are nonempty arrays."""
    return (
        get_device() == GPU
        and all(type(a) is ndarray and a.size > 0 and a.dtype.isnative for a in arrays)
        and core.is_gpu_usable()
    )


def make_contiguous(a: Any) -> Any:
    """Return an array in C order: `a` itself, or a copy."""
    return a if a.flags.c_contiguous and a.flags.aligned else a.copy()


# -- Sorting --------------------------------------------------------------------------


def _is_kind(kind: Any, stable: Any) -> bool:
    """Return whether NumPy accepts the kind of a sort, without asking it."""
    is_known = type(kind) in (str, type(None)) and kind in _KINDS
    return is_known and (stable is None or (kind is None and type(stable) is bool))


def _sort_along(kernel: Callable[..., Any], a: Any, axis: Any, order: Any) -> Any:
    """Return the result of `kernels.sort` or `kernels.argsort` along an axis."""
    if not is_for_device(a) or order is not None or a.dtype.name not in _SORTED:
        return NotImplemented
    if type(axis) is not int or not -a.ndim <= axis < a.ndim:
        return NotImplemented
    axes = [*(i for i in range(a.ndim) if i != axis % a.ndim), axis % a.ndim]
    lines = make_contiguous(a.transpose(axes))
    n = lines.shape[-1]
    flat = kernel(launch, empty, lines, lines.size // n, n, a.dtype.name)
    return flat.reshape(lines.shape).transpose([axes.index(i) for i in range(a.ndim)])


@_implements(numpy.sort)
def _sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    if not _is_kind(kind, stable):
        return NotImplemented
    found = _sort_along(kernels.sort, a, axis, order)
    if found is NotImplemented:
        return found
    out = a.copy("K")
    out[...] = found
    return out


@_implements(numpy.ndarray.sort)
def _sort_in_place(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    if not a.flags.writeable or not _is_kind(kind, stable):
        return NotImplemented
    found = _sort_along(kernels.sort, a, axis, order)
    if found is NotImplemented:
        return found
    a[...] = found
    return None


@_implements(numpy.argsort, numpy.ndarray.argsort)
def _argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """Sort indirectly if the call asks for a stable order.

    The order of equal elements in NumPy's other sorts cannot be reproduced.
    """
    if not _is_kind(kind, stable) or (stable is not True and kind not in _STABLE):
        return NotImplemented
    found = _sort_along(kernels.argsort, a, axis, order)
    return found if found is NotImplemented else found.copy()


# -- Selecting ------------------------------------------------------------------------


def _select(mask: Any, items: Any) -> Any:
    """Return the items that a mask selects, or their flat positions, as one row."""
    dtype = "int64" if items is None else items.dtype.name
    if not is_for_device(mask) or dtype not in core.gpu().types:
        return NotImplemented
    mask, n = make_contiguous(mask), mask.size
    counts = kernels.count_true(launch, empty, mask, n)
    total = int(counts[-1])
    if total == 0:
        is_empty = _bridge.wrap(numpy.empty(0, dtype))
        return NotImplemented if items is None else is_empty
    if items is None:
        return kernels.nonzero_positions(launch, empty, mask, n, counts, total)
    items = make_contiguous(items)
    return kernels.select_items(launch, empty, mask, n, items, dtype, counts, total)


# -- Products -------------------------------------------------------------------------


@_implements(numpy.matmul)
def _matmul(a: Any, b: Any, /) -> Any:
    if not is_for_device(a, b) or a.dtype != b.dtype or a.ndim < 2 or b.ndim < 2:
        return NotImplemented
    (m, k), (other, n), dtype = a.shape[-2:], b.shape[-2:], a.dtype.name
    batch = max(a.shape[:-2], b.shape[:-2], key=len)
    if k != other or dtype not in _MULTIPLIED or max(k, n) >= kernels.ROW_LIMIT:
        return NotImplemented
    for stack in (a.shape[:-2], b.shape[:-2]):
        if stack not in ((), batch):
            return NotImplemented
    count = int(numpy.prod(batch, dtype=int))
    if count * m * n * k < _FEW_PRODUCTS.get(dtype, _FEW_OTHER_PRODUCTS):
        return NotImplemented
    flat = kernels.matmul(
        launch,
        empty,
        make_contiguous(a),
        make_contiguous(b),
        count,
        (m, k, n),
        dtype,
        is_one_a=a.ndim == 2,
        is_one_b=b.ndim == 2,
    )
    return flat.reshape((*batch, m, n))


@_implements(numpy.dot, numpy.ndarray.dot)
def _dot(a: Any, b: Any) -> Any:
    is_matrix = getattr(a, "ndim", 0) == 2 and getattr(b, "ndim", 0) == 2
    return _matmul(a, b) if is_matrix else NotImplemented


if GPU in devices():
    _bridge.set_device_function(_bridge.MATMUL, _matmul)
    _bridge.set_device_function(_bridge.SELECT, _select)
