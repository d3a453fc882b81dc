"""Recorded forms of Fourier transforms, which a library of the device computes.

A transform along one axis is one call of the library. Those of several axes are NumPy's
functions, which call the ones below for one axis after the other.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy
import numpy.fft

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine import core
from mxnp._numpy_layer.layer import copy_functions

from .functions import (
    NotTakenError,
    empty,
    is_for_device,
    launch,
    make_contiguous,
    order_axes,
)

_TYPES = core.gpu().types
_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_REAL = {name: real for real, name in _COMPLEX.items()}

# enum mx_transform_kind in csrc/gpu/device.h
_FORWARD, _INVERSE, _FROM_REAL, _TO_REAL = range(4)


# -- One axis -------------------------------------------------------------------------


def _resize(a: Any, axis: int, n: int) -> Any:
    """Return an array with n elements along an axis: cut, or filled up with zeros."""
    part = (slice(None),) * axis + (slice(min(n, a.shape[axis])),)
    if a.shape[axis] >= n:
        return a[part]
    larger = _bridge.fill((*a.shape[:axis], n, *a.shape[axis + 1 :]), a.dtype.num, 0)
    if larger is NotImplemented:
        raise NotTakenError
    larger[part] = a
    return larger


def _transform(
    a: Any, axis: int, kind: int, n: int, n_out: int, shape: tuple[int, ...]
) -> Any:
    """
    Return transforms along the first or the last axis, in memory of the device.

    The result has the given shape.
    """
    result_type = {_FROM_REAL: _COMPLEX, _TO_REAL: _REAL}.get(kind, {})
    dtype = result_type.get(a.dtype.name, a.dtype.name)
    n_in, count = a.shape[axis], a.size // a.shape[axis]
    is_double = a.dtype.name in ("float64", "complex128")
    places = [1, n_in, n_out] if axis == a.ndim - 1 else [count, 1, 1]
    numbers = [kind, int(is_double), n, *places, count]
    scratch = core.prepare_call(core.TRANSFORM, numbers)
    if scratch is None:
        raise NotTakenError
    out = empty(shape, dtype)
    work = empty(max(scratch, 1), "uint8")
    buffers = [(a, kind == _TO_REAL), (work, True), (out, True)]
    launch("", "mx_transform", buffers, numbers, (1, 1, 1), (1, 1, 1), True)
    return out


def _factor(n: int, norm: Any, dtype: Any) -> Any:
    """Return the factor of a transform of n elements, as NumPy computes it."""
    if norm is None or norm == "backward":
        return None
    if norm == "ortho":
        return numpy.reciprocal(numpy.sqrt(n, dtype=dtype))
    if norm == "forward":
        return numpy.reciprocal(n, dtype=dtype)
    raise NotTakenError


_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": None}


def _raw_fft(
    a: Any,
    n: int,
    axis: int,
    is_real: bool,
    is_forward: bool,
    norm: Any,
    out: None = None,
) -> Any:
    """Do what NumPy's function of this name does, on the device."""
    n, axis = int(n), int(axis)
    if type(a) is not ndarray or n < 1 or not a.size:
        raise NotTakenError
    if not -a.ndim <= axis < a.ndim or (norm is not None and type(norm) is not str):
        raise NotTakenError
    if not is_forward:
        norm = _OPPOSITE.get(norm, "unknown")
    is_single = a.dtype.name in ("float32", "complex64")
    real = numpy.dtype("float32" if is_single else "float64")
    factor = _factor(n, norm, real)
    from_real = is_real and is_forward
    if from_real and a.dtype.kind == "c":
        raise NotTakenError
    kind = (_FROM_REAL if is_forward else _TO_REAL) if is_real else int(not is_forward)
    # The result has the order of the axes in memory that the input has.
    strides = a.strides
    order = sorted(range(a.ndim), key=lambda i: -abs(strides[i]))
    needed = real.name if from_real else _COMPLEX[real.name]
    lines = a.transpose(order)
    if a.dtype.name != needed:
        lines = lines.astype(needed)
    result = _transform_along(lines, order.index(axis % a.ndim), kind, n)
    if factor is not None:
        result *= factor
    return order_axes(result, [order.index(i) for i in range(a.ndim)])


def _transform_along(a: Any, axis: int, kind: int, n: int) -> Any:
    """Return transforms along an axis, as a contiguous array."""
    n_in = n // 2 + 1 if kind == _TO_REAL else n
    n_out = n // 2 + 1 if kind == _FROM_REAL else n
    a = _resize(a, axis, n_in)
    inside = axis > 0 and a.size != math.prod(a.shape[: axis + 1])
    if inside and math.prod(a.shape[:axis]) > 1:
        turned = _transform_along(a.swapaxes(axis, -1), a.ndim - 1, kind, n)
        return turned.swapaxes(axis, -1).copy()
    is_first = math.prod(a.shape[:axis]) == 1 and a.size != n_in
    shape = (*a.shape[:axis], n_out, *a.shape[axis + 1 :])
    if kind == _TO_REAL:  # it is overwritten, and NumPy ignores these imaginary parts
        if a.size < _bridge.get_threshold():  # the copy would not be memory of the pool
            raise NotTakenError
        a = a.copy()
        for place in [0] if n % 2 else [0, n // 2]:
            a.imag[(slice(None),) * axis + (slice(place, place + 1),)] = 0
    flat = make_contiguous(a).reshape((n_in, -1) if is_first else (-1, n_in))
    return _transform(flat, 0 if is_first else 1, kind, n, n_out, shape)


# -- NumPy's functions ----------------------------------------------------------------


@cache
def _numpys_functions() -> types.SimpleNamespace:
    """Return NumPy's functions, which transform on the device."""
    return copy_functions(numpy.fft._pocketfft, _raw_fft=_raw_fft, asarray=lambda a: a)


def _is_taken(a: Any) -> bool:
    """Return whether the device may transform an array."""
    if not is_for_device(a) or a.ndim == 0 or a.dtype.kind not in "fciub":
        return False
    is_single = a.dtype.name in ("float32", "complex64")
    is_known = a.dtype.name in {*_TYPES} - {"float16", "bfloat16"}
    return is_known and ("complex64" if is_single else "complex128") in _TYPES


def _warns(
    name: str, s: Any = None, axes: Any = None, *args: Any, **kwargs: Any
) -> bool:
    """Return whether NumPy warns about the lengths of a transform of several axes."""
    return name.endswith("n") and s is not None and (axes is None or None in s)


def _takes_out(
    name: str, a: Any, s: Any = None, axes: Any = (-2, -1), *_: Any, **__: Any
) -> bool:
    """
    Return whether an output array may get the result at the end.

    NumPy passes it to the transform along each axis. This raises an error if an axis
    changes its length after the first one.
    """
    if name.startswith("irfft") or not name.endswith(("n", "2")) or s is None:
        return name != "hfft"  # which ignores it
    return [*s[:-1]] == [a.shape[axis] for axis in axes[:-1]]


def _form(name: str) -> Callable[..., Any]:
    """Return the recorded form of a transform."""

    def transform(a: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if not _is_taken(a) or len(args) > 3:
            return NotImplemented
        try:
            if _warns(name, *args, **kwargs):
                return NotImplemented
            if out is not None and not _takes_out(name, a, *args, **kwargs):
                return NotImplemented
            result = getattr(_numpys_functions(), name)(a, *args, **kwargs)
            if out is None:
                return result
            has_shape = type(out) is ndarray and out.shape == result.shape
            if not has_shape or out.dtype != result.dtype:
                return NotImplemented
            out[...] = result
        except Exception:  # NumPy's function takes the call, or raises it again
            return NotImplemented
        return out

    return transform


_NAMES = (
    *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"),
    *("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"),
)
globals().update({f"_{name}": _form(name) for name in _NAMES})
