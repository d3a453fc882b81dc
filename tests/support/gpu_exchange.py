"""A package for NVIDIA's GPUs, made of ctypes and the stand-in for the driver."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy

CUDA = 2
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (
        ("tensor", Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
    )


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


KINDS = {b"dltensor": Managed, b"dltensor_versioned": Versioned}
_api = ctypes.pythonapi
_api.PyCapsule_GetName.restype = ctypes.c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def driver() -> Any:
    """Return the stand-in for the driver."""
    library = ctypes.CDLL(os.environ["MXNP_CUDA_STAND_IN"])
    library.cuMemAllocAsync.argtypes = [
        ctypes.POINTER(ctypes.c_uint64),
        ctypes.c_size_t,
        ctypes.c_void_p,
    ]
    library.cuMemFreeAsync.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
    copy = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    library.cuMemcpyHtoDAsync_v2.argtypes = copy
    library.cuMemcpyDtoHAsync_v2.argtypes = [copy[1], copy[0], *copy[2:]]
    return library


def read(address: int, shape: Any, dtype: Any, strides: Any = None) -> Any:
    """Return elements of the GPU's memory. Strides are those of bytes, not negative."""
    dtype, out = numpy.dtype(dtype), numpy.empty(shape, dtype)
    if strides is None:
        strides = out.strides
    size = (
        sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
    )
    content = ctypes.create_string_buffer(size)
    assert driver().cuMemcpyDtoHAsync_v2(content, address, size, None) == 0
    out[...] = numpy.ndarray(shape, dtype, content, 0, strides)
    return out


def write(address: int, values: Any) -> None:
    """Write the elements of an array in C order to the GPU's memory."""
    content = numpy.ascontiguousarray(values).tobytes()
    assert driver().cuMemcpyHtoDAsync_v2(address, content, len(content), None) == 0


class Consumer:
    """An array over a capsule, as another package would make it."""

    def __init__(self, capsule: Any) -> None:
        self.name = _api.PyCapsule_GetName(capsule)
        pointer = _api.PyCapsule_GetPointer(capsule, self.name)
        self.managed = KINDS[self.name].from_address(pointer)
        _api.PyCapsule_SetName(capsule, b"used_" + self.name)
        tensor = self.managed.tensor
        self.place = (tensor.device_type, tensor.device)
        self.shape = tuple(tensor.shape[: tensor.ndim])
        kind = {code: kind for kind, code in CODES.items()}[tensor.code]
        self.dtype = numpy.dtype("bool" if kind == "b" else f"{kind}{tensor.bits // 8}")
        self.strides = tuple(
            s * self.dtype.itemsize for s in tensor.strides[: tensor.ndim]
        )
        self.address = tensor.data + tensor.offset
        self.flags = getattr(self.managed, "flags", 0)

    def read(self) -> Any:
        """Return the elements."""
        return read(self.address, self.shape, self.dtype, self.strides)

    def write(self, values: Any) -> None:
        """Write all elements of an array in C order."""
        write(self.address, numpy.asarray(values, self.dtype))

    def close(self) -> None:
        """Call the deleter."""
        self.managed.deleter(ctypes.addressof(self.managed))


_exported: list[Any] = []  # deleters may be called at any time


class Producer:
    """An array of another package in the GPU's memory, which counts its users."""

    def __init__(self, values: Any, *, is_versioned: bool = True) -> None:
        base = values.base if values.base is not None else values
        self.values, self.is_versioned = values, is_versioned
        self.n_users, self.device, self.flags = 0, (CUDA, 0), 0
        self.code: int | None = None  # tests set them to export something else
        self.stride: int | None = None
        address = ctypes.c_uint64()
        assert driver().cuMemAllocAsync(address, max(base.nbytes, 1), None) == 0
        self.base, self.memory = base, address.value
        self.address = self.memory + (values.ctypes.data - base.ctypes.data)
        write(self.memory, base)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        assert stream == 1
        values, itemsize = self.values, self.values.itemsize
        ndim = max(values.ndim, 1)
        shape = (ctypes.c_int64 * ndim)(*values.shape)
        strides = (ctypes.c_int64 * ndim)(*(s // itemsize for s in values.strides))
        if self.stride is not None:
            strides[0] = self.stride
        managed: Any = Versioned() if self.is_versioned else Managed()
        managed.tensor = Tensor(
            data=self.address,
            device_type=self.device[0],
            device=self.device[1],
            ndim=values.ndim,
            code=CODES[values.dtype.kind] if self.code is None else self.code,
            bits=8 * itemsize,
            lanes=1,
            shape=shape,
            strides=strides,
        )
        if self.is_versioned:
            managed.major, managed.flags = 1, self.flags
        managed.deleter = DELETER(self._end)
        _exported.append((managed, shape, strides, self))
        self.n_users += 1
        name = b"dltensor_versioned" if self.is_versioned else b"dltensor"
        return _api.PyCapsule_New(ctypes.addressof(managed), name, None)

    def _end(self, _: Any) -> None:
        self.n_users -= 1

    def read(self) -> Any:
        """Return what is in the GPU's memory now."""
        return read(self.memory, self.base.shape, self.base.dtype)

    def write(self, values: Any) -> None:
        """Write all of the GPU's memory."""
        write(self.memory, numpy.asarray(values, self.base.dtype))


class Interface:
    """An array of another package that has CUDA's array interface."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        values = producer.values
        self.__cuda_array_interface__ = {
            "shape": values.shape,
            "typestr": values.dtype.str,
            "data": (producer.address, False),
            "strides": None if values.flags.c_contiguous else values.strides,
            "version": 3,
        }
