"""The standard's words for devices: ``device=``, ``x.device``, ``x.to_device()``.

Memory is on all devices. An array is said to be on that where operations on it are
recorded for: "metal" if that is the current device and has the array's dtype.
"""

from __future__ import annotations

from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine import core
from mxnp._engine.devices import check_device, devices, get_device
from mxnp._namespace.mirror import cross

from .standard import extend

# What new arrays get in place of dtypes that a device has not.
_SINGLE = {"float64": numpy.float32, "complex128": numpy.complex64}

_CREATORS = (
    *("arange", "asanyarray", "asarray", "empty", "empty_like", "eye", "full"),
    *("full_like", "linspace", "ones", "ones_like", "zeros", "zeros_like"),
)


def device_of(dtype: numpy.dtype[Any]) -> str:
    """Name the device that arrays of a dtype are said to be on."""
    return (
        "metal"
        if get_device() == "metal" and dtype.name in core.metal_types()
        else "cpu"
    )


def _check(device: str, dtype: numpy.dtype[Any]) -> None:
    """Refuse what cannot be on the device that is asked for."""
    check_device(device)
    if device == "metal" and get_device() != "metal":
        raise ValueError(
            "device 'metal' is not the current one: use mxnp.set_device('metal') or "
            "`with mxnp.device('metal'):`"
        )
    if (
        device == "metal"
        and dtype.kind in "biufc"
        and dtype.name not in core.metal_types()
    ):
        other = numpy.dtype(_SINGLE.get(dtype.name, numpy.float32)).name
        complaint = f"{dtype.name} is not available on device 'metal'"
        raise TypeError(f"{complaint}; use {other} or device 'cpu'")


def _names_dtype(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether a call names the dtype of its result, by a dtype or by an array."""
    named = (str, type, numpy.dtype, numpy.ndarray, ndarray)
    return kwargs.get("dtype") is not None or any(isinstance(a, named) for a in args)


def _narrow(made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Give new numbers of a default dtype in one that a device has."""
    is_array = isinstance(made, (numpy.ndarray, ndarray))
    single = _SINGLE.get(made.dtype.name) if is_array else None
    return made if not single or _names_dtype(args, kwargs) else made.astype(single)


def _place(original: Any) -> Any:
    """Make a function that takes ``device="metal"`` of one that makes arrays."""

    def make(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        if device == "metal":
            made = _narrow(made, args, kwargs)
        _check(device, made.dtype)
        return made

    return make


def _names_metal(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether a call asks for a device that NumPy has not."""
    return kwargs.get("device") not in (None, "cpu")


def _is_for_metal(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether a call asks for device "metal"; of others NumPy tells."""
    return kwargs.get("device") == "metal"


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Convert, for a device."""
    _check(device, numpy.dtype(dtype))
    return numpy.astype(x, dtype, copy=copy)


def _from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Take the memory of another library's array, for a device."""
    made = numpy.from_dlpack(x, copy=copy)
    _check(device, made.dtype)
    return made


def _get_device(self: Any) -> str:
    """Device where operations on the array are recorded for: "cpu" or "metal"."""
    return device_of(self.dtype)


def _set_device(self: Any, value: Any) -> None:
    vars(numpy.ndarray)["device"].__set__(_EMPTY, value)  # which raises NumPy's error


def _to_device(self: Any, device: str, /, *, stream: None = None) -> Any:
    """Give the array itself, if it can be on the device: memory is on all of them."""
    if stream is not None:
        raise ValueError("The stream argument in to_device() is not supported")
    if device != "cpu":
        _check(device, self.dtype)
    return self


_EMPTY = numpy.empty(0)

for _name in (*_CREATORS, "geomspace", "identity", "logspace", "tri"):
    if not _name.endswith("_like"):
        _maker: Any = cross(getattr(numpy, _name), "numpy")
        _maker.is_maker = True
_array: Any = cross(numpy.array, "numpy")
_array.is_maker = True

if "metal" in devices():
    _bridge.set_device_function(_bridge.NARROW, _narrow)
    for _name in _CREATORS:
        _original = getattr(numpy, _name)
        extend(_original, _place(_original), _names_metal, signature=False)
    extend(numpy.astype, _astype, _names_metal, signature=False)
    extend(numpy.from_dlpack, _from_dlpack, _is_for_metal, signature=False)
    ndarray.device = property(_get_device, _set_device)  # type: ignore[attr-defined]
    ndarray.to_device = _to_device  # type: ignore[attr-defined]
