"""C interfaces: NumPy's, taking and giving mxnp arrays."""

import functools as _functools
import sys as _sys
from typing import Any as _Any

import numpy.ctypeslib as _ctypeslib

from ._array.ndarray import unwrap as _unwrap
from ._array.ndarray import wrap as _wrap
from ._namespace import mirror as _mirror


@_functools.wraps(_ctypeslib.ndpointer)
def ndpointer(*args: _Any, **kwargs: _Any) -> type:
    """Make an array-checking ctypes type: see `numpy.ctypeslib.ndpointer`."""
    return _taking_arrays(_ctypeslib.ndpointer(*args, **kwargs))


@_functools.cache  # there is one for each of NumPy's, and NumPy keeps these
def _taking_arrays(pointer: _Any) -> type:
    """Derive a pointer type that takes and gives mxnp arrays."""

    def from_param(cls: type, obj: _Any) -> _Any:
        return pointer.from_param(_unwrap(obj))

    body: dict[str, _Any] = {"from_param": classmethod(from_param)}
    if hasattr(pointer, "contents"):
        body["contents"] = property(lambda self: _wrap(pointer.contents.fget(self)))
    return type(pointer.__name__, (pointer,), body)


ndpointer.__module__ = __name__
_mirror.replace(_ctypeslib.ndpointer, ndpointer)

__path__: list[str] = []  # a package in NumPy: its modules are mirrored
_mirror.populate(_sys.modules[__name__], _ctypeslib)
