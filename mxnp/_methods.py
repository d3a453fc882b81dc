"""The methods and attributes of ndarray, taken member by member from NumPy's."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy

from ._array import host, ndarray, wrap
from ._bridge import Array, Function, Method

# Members that give Python objects, bytes or NumPy's own array: nothing to adopt.
_PLAIN = {
    "__array__", "__array_interface__", "__array_priority__", "__array_struct__",
    "__dlpack__", "__dlpack_device__", "__format__", "__complex__", "__setstate__",
    "__sizeof__", "ctypes", "data", "dtype", "flags", "flat", "item", "itemsize",
    "nbytes", "ndim", "shape", "size", "strides", "tobytes", "tofile", "tolist",
}  # fmt: skip

# Members that are the class's own, or Python's.
_OWN = {"__array_namespace__", "__class_getitem__", "__doc__", "__hash__", "__new__"}


def _add_members() -> None:
    for name, member in vars(numpy.ndarray).items():
        if name in _OWN or name in vars(Array):
            continue
        adopts = name not in _PLAIN
        if hasattr(member, "__set__"):
            accessors = (member.__get__, member.__set__, member.__delete__)
            value: Any = property(
                *(Function(accessor, adopts=adopts) for accessor in accessors),
                doc=member.__doc__,
            )
        elif callable(member):
            value = Method(member, adopts=adopts)
            value.__name__, value.__doc__ = name, member.__doc__
            value.__qualname__ = f"ndarray.{name}"
        else:
            value = member
        setattr(ndarray, name, value)


def _member(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put a method of our own on ndarray, in the place and with the text of NumPy's."""
    name = function.__name__
    function.__doc__ = getattr(numpy.ndarray, name).__doc__
    function.__qualname__ = f"ndarray.{name}"
    setattr(ndarray, name, function)
    return function


_add_members()


@_member
def __reduce_ex__(self: ndarray, protocol: int) -> tuple[Any, ...]:  # noqa: N807
    return (wrap, (self._host,))


@_member
def __reduce__(self: ndarray) -> tuple[Any, ...]:  # noqa: N807
    return (wrap, (self._host,))


@_member
def dumps(self: ndarray) -> bytes:
    return pickle.dumps(self)


@_member
def dump(self: ndarray, file: str | Path | BinaryIO) -> None:
    if isinstance(file, str | Path):
        Path(file).write_bytes(dumps(self))
    else:
        file.write(dumps(self))


@_member
def resize(self: ndarray, *new_shape: Any, refcheck: bool = True) -> None:
    # NumPy counts the references to the array it is given: the host's are ours, so
    # the program's are counted here.
    if refcheck and sys.getrefcount(self) > _ALONE:
        _keep = [self._host] * 8  # NumPy sees references, and says what it says then
        return self._host.resize(*host(new_shape))
    return self._host.resize(*host(new_shape), refcheck=False)


def _alone() -> int:
    seen = []

    class Probe:
        def count(self, *_: Any, flag: bool = True) -> None:
            seen.append(sys.getrefcount(self))

    probe = Probe()
    probe.count(1)
    return seen[0]


_ALONE = _alone()


def _base(self: ndarray) -> Any:
    base, parent = self._host.base, self._base
    return parent if parent is not None and parent._host is base else wrap(base)


ndarray.base = property(_base, doc=numpy.ndarray.base.__doc__)  # type: ignore[attr-defined]


@_member
def __array_namespace__(  # noqa: N807
    self: ndarray, /, *, api_version: str | None = None
) -> Any:
    self._host.__array_namespace__(api_version=api_version)  # NumPy's error, if any
    return sys.modules["mxnp"]
