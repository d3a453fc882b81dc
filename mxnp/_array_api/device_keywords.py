"""Devices in the Array API standard: ``device=``, ``x.device``, ``x.to_device()``.

The devices share their memory. By definition an array is on the device for which
operations on it are recorded. That is the GPU if it is the current device and has the
dtype of the array, and otherwise "cpu".
"""

from __future__ import annotations

from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine import core
from mxnp._engine.devices import GPU, check_device, devices, get_device
from mxnp._namespace.mirror import find_counterpart

from .standard import extend

# The dtypes of new arrays on the GPU, instead of default dtypes that it lacks.
_SINGLE = {
    double: single
    for double, single in {
        "float64": numpy.float32,
        "complex128": numpy.complex64,
    }.items()
    if double not in core.gpu().types
}

_CREATORS = (
    *("arange", "asanyarray", "asarray", "empty", "empty_like", "eye", "full"),
    *("full_like", "linspace", "ones", "ones_like", "zeros", "zeros_like"),
)


def device_of(dtype: numpy.dtype[Any]) -> str:
    """Return the device of arrays of a dtype."""
    is_on_gpu = get_device() == GPU and dtype.name in core.gpu().types
    return GPU if is_on_gpu else "cpu"


def _check(device: str, dtype: numpy.dtype[Any]) -> None:
    """Raise an error if arrays of the dtype cannot be on the requested device."""
    check_device(device)
    if device == GPU and get_device() != GPU:
        raise ValueError(
            f"device {GPU!r} is not the current one: use mxnp.set_device({GPU!r}) or "
            f"`with mxnp.device({GPU!r}):`"
        )
    if device == GPU and dtype.kind in "biufc" and dtype.name not in core.gpu().types:
        other = numpy.dtype(_SINGLE.get(dtype.name, numpy.float32)).name
        raise TypeError(
            f"{dtype.name} is not available on device {GPU!r}; "
            f"use {other} or device 'cpu'"
        )


def _names_dtype(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether an argument determines the dtype of the result."""
    kinds = (str, type, numpy.dtype, numpy.ndarray, ndarray)
    return kwargs.get("dtype") is not None or any(isinstance(a, kinds) for a in args)


def _narrow(result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Convert the result of a call from a default dtype to one that the GPU has."""
    is_array = isinstance(result, (numpy.ndarray, ndarray))
    single = _SINGLE.get(result.dtype.name) if is_array else None
    return result if not single or _names_dtype(args, kwargs) else result.astype(single)


def _accept_device(original: Any) -> Any:
    """Make a function that creates arrays accept the GPU as ``device``."""

    def create(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if device == GPU:
            result = _narrow(result, args, kwargs)
        _check(device, result.dtype)
        return result

    return create


def _names_device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether a call names a device that NumPy lacks."""
    return kwargs.get("device") not in (None, "cpu")


def _names_gpu(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether a call names the GPU. NumPy checks other devices."""
    return kwargs.get("device") == GPU


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Convert to a dtype, on a device."""
    _check(device, numpy.dtype(dtype))
    return numpy.astype(x, dtype, copy=copy)


def _from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Return an array over the memory of another library's array, on a device."""
    array = numpy.from_dlpack(x, copy=copy)
    _check(device, array.dtype)
    return array


def _get_device(self: Any) -> str:
    """Device for which operations on the array are recorded: "cpu" or the GPU."""
    return device_of(self.dtype)


def _set_device(self: Any, value: Any) -> None:
    vars(numpy.ndarray)["device"].__set__(_EMPTY, value)  # raises NumPy's error


def _to_device(self: Any, device: str, /, *, stream: None = None) -> Any:
    """Return the array itself if it can be on the device; devices share memory."""
    if stream is not None:
        raise ValueError("The stream argument in to_device() is not supported")
    if device != "cpu":
        _check(device, self.dtype)
    return self


_EMPTY = numpy.empty(0)

for _name in (*_CREATORS, "geomspace", "identity", "logspace", "tri"):
    if not _name.endswith("_like"):
        _maker: Any = find_counterpart(getattr(numpy, _name))
        _maker.is_maker = True
_array: Any = find_counterpart(numpy.array)
_array.is_maker = True

if GPU in devices():
    _bridge.set_device_function(_bridge.NARROW, _narrow)
    for _name in _CREATORS:
        _original = getattr(numpy, _name)
        extend(_original, _accept_device(_original), _names_device, signature=False)
    extend(numpy.astype, _astype, _names_device, signature=False)
    extend(numpy.from_dlpack, _from_dlpack, _names_gpu, signature=False)
    _device = property(_bridge.frameless(_get_device), _bridge.frameless(_set_device))
    ndarray.device = _device  # type: ignore[attr-defined]
    _to_device.__name__, _to_device.__qualname__ = "to_device", "ndarray.to_device"
    ndarray.to_device = _bridge.frameless(_to_device)  # type: ignore[attr-defined]
    if core.gpu_has_own_memory():
        from . import exchange  # few machines need it

        exchange.register()
