"""NumPy's ctypes interface, which takes and returns mxnp arrays."""

import functools as _functools
import sys as _sys
from typing import Any as _Any

import numpy.ctypeslib as _ctypeslib

from ._array.ndarray import unwrap as _unwrap
from ._array.ndarray import wrap as _wrap
from ._bridge import frameless as _frameless
from ._namespace import mirror as _mirror


@_functools.wraps(_ctypeslib.ndpointer)
def ndpointer(*args: _Any, **kwargs: _Any) -> type:
    """Return an array-checking ctypes type; see `numpy.ctypeslib.ndpointer`."""
    return _accept_arrays(_ctypeslib.ndpointer(*args, **kwargs))


@_functools.cache  # NumPy caches its pointer types too
def _accept_arrays(pointer: _Any) -> type:
    """Derive a pointer type that takes and returns mxnp arrays."""

    def from_param(cls: type, obj: _Any) -> _Any:
        return pointer.from_param(_unwrap(obj))

    body: dict[str, _Any] = {"from_param": classmethod(_frameless(from_param))}
    if hasattr(pointer, "contents"):
        body["contents"] = property(lambda self: _wrap(pointer.contents.fget(self)))
    return type(pointer.__name__, (pointer,), body)


ndpointer.__module__ = __name__
_mirror.replace(_ctypeslib.ndpointer, ndpointer)

__path__: list[str] = []  # a package in NumPy, whose modules are mirrored
_mirror.populate(_sys.modules[__name__], _ctypeslib)
