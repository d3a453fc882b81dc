"""Arrays that share memory of the GPU with other packages, without a copy.

Arrays are exported by DLPack and ``__cuda_array_interface__`` while the GPU is the
device, and memory of the GPU is imported by `from_dlpack` and `asarray`. All work of
the GPU has ended when memory is passed on, in both directions, so no stream has to
wait. docs/design/15-gpu-memory.md explains the choices.
"""

from __future__ import annotations

from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine import core
from mxnp._engine.devices import GPU, get_device
from mxnp._namespace.mirror import find_counterpart

_CUDA = 2  # kDLCUDA of DLPack
_KINDS = "biufc"
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_KEYWORDS = {"stream", "max_version", "dl_device", "copy"}

_numpy_dlpack: Any = vars(ndarray)["__dlpack__"]
_numpy_dlpack_device: Any = vars(ndarray)["__dlpack_device__"]
_numpy_array: Any = vars(ndarray)["__array__"]
_numpy_data: Any = vars(ndarray)["data"]


def _place() -> tuple[int, int]:
    """Return DLPack's name of the GPU that mxnp uses."""
    return (_CUDA, core.chosen_gpu())


# -- Exports --------------------------------------------------------------------------


def _is_of_gpu(dtype: numpy.dtype[Any]) -> bool:
    """Return whether the GPU computes with a dtype."""
    return dtype.isnative and dtype.name in core.gpu().types


def _is_on_gpu(x: Any) -> bool:
    """Return whether packages for GPUs find the array in the memory of the GPU."""
    if not _is_of_gpu(x.dtype):
        return False
    is_wanted = get_device() == GPU or _bridge.is_lent(x)
    return is_wanted and core.is_gpu_usable()


def _copy(x: Any) -> Any:
    """Return a copy that no other code knows."""
    copied = _bridge.wrap(numpy.empty(x.shape, x.dtype))
    copied[...] = x
    return copied


def _check_stream(stream: Any) -> None:
    if stream is None:
        return
    if type(stream) is not int:
        raise TypeError(f"stream must be an integer or None, not {stream!r}")
    if stream == 0 or stream < -1:
        raise ValueError(f"stream {stream} is ambiguous or not a stream of CUDA")


def _export(
    x: Any,
    *,
    stream: Any = None,
    max_version: Any = None,
    dl_device: Any = None,
    copy: Any = None,
) -> Any:
    """Return a capsule over the memory of the GPU, or over a copy there."""
    _check_stream(stream)
    if dl_device is not None and tuple(dl_device) != _place():
        raise BufferError(f"the array cannot be exported to device {dl_device}")
    if not _is_of_gpu(x.dtype):
        raise BufferError(f"DLPack cannot export {x.dtype} on device {GPU!r}")
    is_versioned = max_version is not None and max_version[0] >= 1
    if not x.flags.writeable and not is_versioned and copy is not True:
        raise BufferError(
            "Cannot export readonly array since signalling readonly is unsupported by "
            "DLPack (supported by newer DLPack version)."
        )
    capsule = None
    if copy is not True:
        capsule = _bridge.to_dlpack(x, core.chosen_gpu(), is_versioned, False)
    if capsule is None and copy is not None and not copy:
        raise BufferError(
            "unable to avoid a copy: other code uses the memory on the processor"
        )
    if capsule is None:
        capsule = _bridge.to_dlpack(_copy(x), core.chosen_gpu(), is_versioned, True)
    if capsule is None:
        raise BufferError(f"the array cannot be copied to device {GPU!r}")
    return capsule


def _dlpack(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    device = kwargs.get("dl_device")
    if not args and kwargs.keys() <= _KEYWORDS:
        # NumPy and other packages for processors pass no stream.
        if device is None:
            is_for_gpu = kwargs.get("stream") is not None and _is_on_gpu(self)
        else:
            is_for_gpu = isinstance(device, tuple) and device[:1] == (_CUDA,)
        if is_for_gpu:
            return _export(self, **kwargs)
    if _bridge.is_lent(self):  # as a view that cannot be written
        kwargs.pop("stream", None)
        return numpy.asarray(self).__dlpack__(*args, **kwargs)
    return _numpy_dlpack(self, *args, **kwargs)


def _dlpack_device(self: Any, /) -> tuple[int, int]:
    if _is_on_gpu(self):
        return _place()
    device: tuple[int, int] = _numpy_dlpack_device(self)
    return device


def _array(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    if _bridge.is_lent(self):
        return numpy.asarray(self).__array__(*args, **kwargs)
    return _numpy_array(self, *args, **kwargs)


def _data(self: Any) -> Any:
    return memoryview(self) if _bridge.is_lent(self) else _numpy_data.fget(self)


def _interface(self: Any) -> dict[str, Any]:
    """Address of the elements on the GPU, in version 3 of CUDA's array interface."""
    name = "__cuda_array_interface__"
    if self.dtype.kind not in _KINDS or not _is_on_gpu(self):
        raise AttributeError(f"{name}: the array is not on device {GPU!r}")
    address = _bridge.device_address(self) if self.size else 0
    if address is None:
        raise AttributeError(f"{name}: other code uses the memory on the processor")
    return {
        "shape": self.shape,
        "typestr": self.dtype.str,
        "data": (address, not self.flags.writeable),
        "strides": None if self.flags.c_contiguous else self.strides,
        "version": 3,
        "stream": None,  # all work has ended
    }


# -- Imports --------------------------------------------------------------------------


def _borrow(
    address: int,
    dtype: numpy.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    is_writable: bool,
    owner: Any,
) -> Any:
    """Return an array over memory of the GPU, with strides of bytes."""
    if not _is_of_gpu(dtype):
        raise BufferError(f"{dtype} is not supported on device {GPU!r}")
    if 0 in shape:
        return _bridge.wrap(numpy.empty(shape, dtype))
    strides = tuple(0 if n == 1 else s for n, s in zip(shape, strides, strict=True))
    reaches = [s * (n - 1) for n, s in zip(shape, strides, strict=True)]
    low, size = address + sum(r for r in reaches if r < 0), sum(map(abs, reaches))
    if not 0 <= low <= low + size < 2**63:
        raise BufferError("the strides lead out of the memory")
    if low % dtype.alignment or any(s % dtype.alignment for s in strides):
        raise BufferError("the memory is not aligned to its elements")
    array = _bridge.borrow(
        low,
        size + dtype.itemsize,
        shape,
        tuple(map(abs, strides)),
        dtype.num,
        is_writable,
        owner,
    )
    if min(strides, default=0) < 0:
        return array[tuple(slice(None, None, -1 if s < 0 else 1) for s in strides)]
    return array


def _dtype_of(code: int, bits: int, lanes: int) -> numpy.dtype[Any]:
    kind = _CODES.get(code)
    name = kind if kind == "bool" else f"{kind}{bits}"
    try:
        dtype = numpy.dtype(name)
    except TypeError:  # bfloat16, unless the program has imported ml_dtypes
        dtype = None
    if lanes != 1 or dtype is None or dtype.name not in core.gpu().types:
        raise BufferError(f"{lanes} x {bits} bits of {kind} are unsupported elements")
    return dtype


def _is_gpu_tensor(x: Any) -> bool:
    """Return whether `from_dlpack` finds the argument in the memory of the GPU."""
    if type(x) is ndarray:
        return _bridge.is_lent(x)
    get = getattr(x, "__dlpack_device__", None)
    return get is not None and bool(get()[0] == _CUDA)


def _from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Return an array over the memory on the GPU of another package's array."""
    if device not in (None, GPU):
        raise BufferError("the array is on the GPU: import it and copy it")
    place = tuple(x.__dlpack_device__())
    if place != _place():
        raise BufferError(f"device {place} is not the GPU that mxnp uses")
    if not core.is_gpu_usable():
        raise BufferError(f"device {GPU!r} cannot be used")
    try:
        capsule = x.__dlpack__(stream=1, max_version=(1, 0))
    except TypeError:
        capsule = x.__dlpack__(stream=1)
    found = _bridge.read_dlpack(capsule)
    place, address, element, shape, strides, is_readonly, owner = found
    if place != _place():
        raise BufferError(f"device {place} is not the GPU that mxnp uses")
    dtype = _dtype_of(*element)
    steps = tuple(s * dtype.itemsize for s in strides)
    array = _borrow(address, dtype, shape, steps, not is_readonly, owner)
    return array.copy() if copy else array


def _has_interface(x: Any) -> bool:
    """Return whether an object that is not an array describes memory of the GPU."""
    return (
        type(x) not in _PLAIN
        and not isinstance(x, numpy.ndarray)
        and getattr(x, "__cuda_array_interface__", None) is not None
    )


_PLAIN = {ndarray, list, tuple, int, float, complex, bool, str, bytes, type(None)}


def _from_interface(x: Any) -> Any:
    """Return an array over the memory that ``__cuda_array_interface__`` describes."""
    if not core.is_gpu_usable():
        raise BufferError(f"device {GPU!r} cannot be used")
    interface = x.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise BufferError("an array of the GPU with a mask is unsupported")
    dtype, shape = numpy.dtype(interface["typestr"]), tuple(interface["shape"])
    strides, (address, is_readonly) = interface.get("strides"), interface["data"]
    if strides is None:
        steps = [dtype.itemsize]
        for n in shape[:0:-1]:
            steps.append(steps[-1] * n)
        strides = steps[::-1] if shape else ()
    return _borrow(address, dtype, shape, tuple(strides), not is_readonly, x)


# -- Registration ---------------------------------------------------------------------


def _import_first(original: Any, describes: Any, function: Any) -> None:
    """Let `function` take calls whose first argument `describes` memory of the GPU."""
    counterpart = find_counterpart(original)
    before = counterpart.choose

    def choose(*args: Any, **kwargs: Any) -> Any:
        if args and describes(args[0]):
            return lambda *_, **__: function(*args, **kwargs)
        return before(*args, **kwargs) if before else original

    counterpart.choose, counterpart.choose_from = choose, 1
    counterpart.choose_rule = "n"


def _maker(original: Any) -> Any:
    def make(x: Any, *args: Any, **kwargs: Any) -> Any:
        return find_counterpart(original)(_from_interface(x), *args, **kwargs)

    return make


def _named(function: Any, name: str) -> Any:
    function.__name__, function.__qualname__ = name, f"ndarray.{name}"
    function.__doc__ = getattr(numpy.ndarray, name).__doc__
    function.__wrapped__ = getattr(numpy.ndarray, name)
    return _bridge.frameless(function)


def register() -> None:
    """Exchange arrays with other packages in the memory of the GPU."""
    _import_first(numpy.from_dlpack, _is_gpu_tensor, _from_dlpack)
    for original in (numpy.array, numpy.asarray, numpy.asanyarray):
        _import_first(original, _has_interface, _maker(original))
    ndarray.__dlpack__ = _named(_dlpack, "__dlpack__")  # type: ignore[attr-defined]
    ndarray.__dlpack_device__ = _named(  # type: ignore[attr-defined]
        _dlpack_device, "__dlpack_device__"
    )
    ndarray.__array__ = _named(_array, "__array__")  # type: ignore[attr-defined]
    ndarray.data = property(  # type: ignore[attr-defined]
        _bridge.frameless(_data), _numpy_data.fset, doc=_numpy_data.__doc__
    )
    ndarray.__cuda_array_interface__ = property(  # type: ignore[attr-defined]
        _bridge.frameless(_interface)
    )
