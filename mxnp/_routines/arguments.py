"""Checks of arguments that recorded forms share."""

from __future__ import annotations

from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import is_number, ndarray
from mxnp._namespace.ordinary import NO_VALUE


def is_core_dtype(dtype: numpy.dtype[Any]) -> bool:
    """Return whether the core has the dtype and its number describes it completely."""
    is_plain = dtype.names is None and not dtype.metadata
    is_known = dtype.kind in "biufc" or _bridge.has_dtype(dtype.num)
    return dtype.isnative and is_known and is_plain


def fits(value: Any, dtype: numpy.dtype[Any]) -> bool:
    """Return whether NumPy assigns a number without an error or a warning."""
    is_known = is_number(value) and is_core_dtype(dtype)
    return is_known and _bridge.fits(value, dtype.num)


def find_dtype(dtype: Any) -> numpy.dtype[Any] | None:
    """Return the dtype that an argument names, or None if NumPy must handle it."""
    found = numpy.dtype(dtype)
    return found if is_core_dtype(found) else None


def is_row_major(a: Any) -> bool:
    """Return whether `a` is an mxnp array in C order."""
    return type(a) is ndarray and bool(a.flags.c_contiguous)


def is_index_array(a: Any) -> bool:
    """Return whether `a` is an mxnp array of indices with at least one axis.

    NumPy's functions refuse indices that are not cast safely to their own integers.
    """
    if type(a) is not ndarray or a.dtype.kind not in "iu" or a.ndim == 0:
        return False
    return bool(numpy.can_cast(a.dtype, numpy.intp))


def find_axis(axis: Any, ndim: int) -> int:
    """Return the axis counted from the first, or -1 if NumPy must handle it."""
    if type(axis) is not int or not -ndim <= axis < ndim:
        return -1
    return axis % ndim


def find_axes(axis: Any, ndim: int) -> int:
    """Return axes as bits, or 0 if NumPy must handle them."""
    if axis is None:
        return (1 << ndim) - 1
    bits = 0
    for each in axis if type(axis) is tuple else (axis,):
        number = find_axis(each, ndim)
        if number < 0 or bits >> number & 1:
            return 0
        bits |= 1 << number
    return bits


def read_keepdims(keepdims: Any) -> bool | None:
    """Return `keepdims` as a bool, or None if NumPy must handle it."""
    if keepdims is NO_VALUE:
        return False
    return bool(keepdims) if type(keepdims) in (bool, int) else None


def find_reduced_shape(
    shape: tuple[int, ...], axes: int, keepdims: bool
) -> tuple[int, ...]:
    """Return the shape of a reduction over axes, which are bits."""
    lengths = ((1 if axes >> i & 1 else n) for i, n in enumerate(shape))
    if keepdims:
        return tuple(lengths)
    return tuple(n for i, n in enumerate(shape) if not axes >> i & 1)
