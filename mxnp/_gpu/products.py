"""Recorded forms of products of matrices, and of what reduces to them, on a GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine import core
from mxnp._engine.devices import GPU, devices

from . import kernels
from .functions import can_hold, empty, is_for_device, launch, order_axes

# More runs on a GPU with its own memory: its arrays would be copied to the processor.
_OWN_MEMORY = core.gpu_has_own_memory()
_SUMMED = {"float32", "float64", "complex64", "complex128"} & {*core.gpu().types}
_MULTIPLIED = {"float16", "float32", "float64", "int32", "uint32"} & {*core.gpu().types}
if _OWN_MEMORY:
    _MULTIPLIED |= _SUMMED

# Multiplications; NumPy is always faster with fewer. Processors have vector or matrix
# units for float32, so NumPy is faster for much larger matrices of that dtype.
_FEW_PRODUCTS = {} if _OWN_MEMORY else {"float32": 2**21}
_FEW_OTHER_PRODUCTS = 2**15


# -- Matrices -------------------------------------------------------------------------


def _layout(a: Any) -> kernels.Layout | None:
    """Return where the matrices of an array are, or None if they must be copied."""
    size, flags = a.itemsize, a.flags
    if not flags.aligned:
        return None
    *outer, (m, down), (n, across) = zip(a.shape, a.strides, strict=True)
    across = size if n == 1 else across
    down = max(n, 1) * size if m == 1 and across == size else down
    step = 0
    if len(outer) > 1 and not flags.c_contiguous:
        return None
    if outer:
        step = m * n if len(outer) > 1 else outer[0][1] // size
    is_plain = across == size and down >= n * size and down % size == 0
    is_transposed = down == size and across >= m * size and across % size == 0
    is_outer = len(outer) != 1 or (outer[0][1] >= 0 and outer[0][1] % size == 0)
    if not is_outer or not (is_plain or is_transposed):
        return None
    row = (down if is_plain else across) // size
    return kernels.Layout(step, row, not is_plain)


def _prepare(a: Any) -> tuple[Any, kernels.Layout]:
    """Return an array or its copy, and where the matrices are there."""
    layout = _layout(a)
    if layout is None:
        *outer, m, n = a.shape
        return a.copy(), kernels.Layout(m * n if outer else 0, n, False)
    return a, layout


def _multiply(a: Any, b: Any, shape: tuple[int, ...] | None = None) -> Any:
    """
    Return the products of two arrays of matrices, or NotImplemented.

    They own their memory, so they get the shape that the caller's result has.
    """
    (m, k), (other, n), dtype = a.shape[-2:], b.shape[-2:], a.dtype.name
    batch = max(a.shape[:-2], b.shape[:-2], key=len)
    if k != other:
        return NotImplemented
    for stack in (a.shape[:-2], b.shape[:-2]):
        if stack not in ((), batch):
            return NotImplemented
    count = math.prod(batch)
    if count * m * n * k < _FEW_PRODUCTS.get(dtype, _FEW_OTHER_PRODUCTS):
        return NotImplemented
    shape = (*batch, m, n) if shape is None else shape
    if b.ndim == 2 and a.ndim > 2 and a.flags.c_contiguous:
        return _multiply(a.reshape(-1, k), b, shape)
    (a, of_a), (b, of_b) = _prepare(a), _prepare(b)
    if max(m, k, n, of_a.row, of_b.row) >= kernels.ROW_LIMIT or not can_hold(
        count * m * n
    ):
        return NotImplemented
    layouts = of_a, of_b
    return kernels.matmul(
        launch, empty, a, b, count, (m, k, n), dtype, layouts, out=shape
    )


def _are_multiplied(a: Any, b: Any, dtypes: set[str]) -> bool:
    """Return whether both operands are arrays of the same one of the dtypes."""
    return is_for_device(a, b) and a.dtype == b.dtype and a.dtype.name in dtypes


def _sum_products(a: Any, b: Any, axis: Any = None) -> Any:
    """Return sums of products, which one kernel computes, without warnings."""
    with numpy.errstate(all="ignore"):
        return (a * b).sum(axis)


def _matmul(a: Any, b: Any, /) -> Any:
    if not _are_multiplied(a, b, _MULTIPLIED) or not (a.ndim and b.ndim):
        return NotImplemented
    if a.ndim > 1 and b.ndim > 1:
        return _multiply(a, b)
    if not _OWN_MEMORY or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        return NotImplemented
    if a.ndim == b.ndim:
        return _sum_products(a, b) if a.dtype.name in _SUMMED else NotImplemented
    if a.ndim == 1:
        return _multiply(a[None], b, (*b.shape[:-2], b.shape[-1]))
    return _multiply(a, b[:, None], a.shape[:-1])


def _dot(a: Any, b: Any) -> Any:
    ndims = getattr(a, "ndim", 0), getattr(b, "ndim", 0)
    return _matmul(a, b) if 0 < ndims[1] <= 2 else NotImplemented


def _inner(a: Any, b: Any, /) -> Any:
    ndims = getattr(a, "ndim", 0), getattr(b, "ndim", 0)
    if not ndims[0] > 0 or not 0 < ndims[1] <= 2:
        return NotImplemented
    return _matmul(a, b.T)


def _vdot(a: Any, b: Any, /) -> Any:
    if not _are_multiplied(a, b, _SUMMED) or a.size != b.size:
        return NotImplemented
    a, b = a.reshape(-1), b.reshape(-1)
    return _sum_products(a.conj() if a.dtype.kind == "c" else a, b)


# -- Contractions ---------------------------------------------------------------------


def _contract(
    a: Any, b: Any, of_a: Sequence[str], of_b: Sequence[str], result: Sequence[str]
) -> Any:
    """Return the sums over the labels of axes that are not in the result.

    Each label is in both operands or in the result, and once in each.
    """
    both = [label for label in of_a if label in of_b]
    kept = [label for label in both if label in result]
    summed = [label for label in both if label not in result]
    left = [label for label in of_a if label not in both]
    right = [label for label in of_b if label not in both]
    if not summed or not (left or right):
        order = [*kept, *left, *right, *summed]
        views = [
            operand.transpose([labels.index(each) for each in order if each in labels])[
                tuple(slice(None) if each in labels else None for each in order)
            ]
            for operand, labels in ((a, of_a), (b, of_b))
        ]
        into = [order.index(label) for label in result]
        if not summed:
            return views[0].transpose(into) * views[1].transpose(into)
        axes = tuple(range(len(kept), len(order)))
        found = _sum_products(views[0], views[1], axes)
        return order_axes(found, into) if into else found
    sizes = dict(zip([*of_a, *of_b], [*a.shape, *b.shape], strict=True))
    shape = [
        [math.prod(sizes[each] for each in part)] for part in (left, summed, right)
    ]
    stack = [[math.prod(sizes[each] for each in kept)]] if kept else []
    outer = [n for part in stack for n in part]
    order_a = [of_a.index(label) for label in [*kept, *left, *summed]]
    order_b = [of_b.index(label) for label in [*kept, *summed, *right]]
    flat_a = a.transpose(order_a).reshape(*outer, *shape[0], *shape[1])
    flat_b = b.transpose(order_b).reshape(*outer, *shape[1], *shape[2])
    order = [*kept, *left, *right]
    found = _multiply(flat_a, flat_b, tuple(sizes[label] for label in order))
    if found is NotImplemented:
        return found
    return order_axes(found, [order.index(label) for label in result])


def _axes_of(axes: Any, ndims: tuple[int, int]) -> tuple[list[int], list[int]] | None:
    """Return the axes that `numpy.tensordot` sums over, or None if they are unusual."""
    if type(axes) is int:
        if not 0 <= axes <= min(ndims):
            return None
        return [*range(ndims[0] - axes, ndims[0])], [*range(axes)]
    if type(axes) not in (tuple, list) or len(axes) != 2:
        return None
    pair = [list(part) if type(part) in (tuple, list) else [part] for part in axes]
    for part, ndim in zip(pair, ndims, strict=True):
        if not all(type(i) is int and -ndim <= i < ndim for i in part):
            return None
        part[:] = [i % ndim for i in part]
        if len({*part}) < len(part):
            return None
    return (pair[0], pair[1]) if len(pair[0]) == len(pair[1]) else None


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if not _are_multiplied(a, b, _SUMMED):
        return NotImplemented
    found = _axes_of(axes, (a.ndim, b.ndim))
    if found is None or any(
        a.shape[i] != b.shape[j] for i, j in zip(*found, strict=True)
    ):
        return NotImplemented
    of_a = [f"a{i}" for i in range(a.ndim)]
    of_b = [f"b{i}" for i in range(b.ndim)]
    for i, j in zip(*found, strict=True):
        of_b[j] = of_a[i]
    result = [label for label in of_a if label not in of_b]
    result += [label for label in of_b if label not in of_a]
    if not result:  # NumPy returns an array without axes
        return NotImplemented
    return _contract(a, b, of_a, of_b, result)


def _labels(subscripts: str) -> tuple[list[str], str] | None:
    """Return the labels of each operand and of the result, or None if unusual."""
    inputs, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not arrow:
        joined = "".join(terms)
        result = "".join(c for c in sorted({*joined}) if joined.count(c) == 1)
    is_usual = all(
        term.isascii() and term.isalpha() and len({*term}) == len(term)
        for term in [*terms, result or "i"]
    )
    return (terms, result) if is_usual and {*result} <= {*"".join(terms)} else None


def _einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> Any:
    found = _labels(subscripts) if type(subscripts) is str else None
    if found is None or type(optimize) is not bool or len(operands) not in (1, 2):
        return NotImplemented
    terms, result = found
    if len(terms) != len(operands) or not _are_multiplied(
        operands[0], operands[-1], _SUMMED
    ):
        return NotImplemented
    sizes: dict[str, int] = {}
    arrays = []
    for operand, term in zip(operands, terms, strict=True):
        if operand.ndim != len(term) or any(
            sizes.setdefault(label, n) != n
            for label, n in zip(term, operand.shape, strict=True)
        ):
            return NotImplemented
        arrays.append(operand)
    if len(arrays) == 1:
        return _sum_and_transpose(arrays[0], terms[0], result)
    for i, other in ((0, 1), (1, 0)):
        kept = [label for label in terms[i] if label in result or label in terms[other]]
        alone = [k for k, label in enumerate(terms[i]) if label not in kept]
        if alone:
            arrays[i] = arrays[i].sum(tuple(alone))
            terms[i] = "".join(kept)
        if type(arrays[i]) is not ndarray:
            return NotImplemented
    return _contract(arrays[0], arrays[1], terms[0], terms[1], result)


def _sum_and_transpose(a: Any, labels: str, result: str) -> Any:
    """Return the sum over the labels that are not in the result."""
    axes = tuple(i for i, label in enumerate(labels) if label not in result)
    if not axes:  # NumPy returns a view
        return NotImplemented
    with numpy.errstate(all="ignore"):
        total = a.sum(axes)
    left = [label for label in labels if label in result]
    return order_axes(total, [left.index(label) for label in result]) if left else total


if GPU in devices():
    _bridge.set_device_function(_bridge.MATMUL, _matmul)
