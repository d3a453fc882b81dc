"""Arrays and foreign functions: NumPy's, taking mxnp arrays."""

import sys as _sys
from typing import Any as _Any

import numpy.ctypeslib as _ctypeslib

from . import _mirror
from ._array import host as _host

# The class under every one that ndpointer makes: NumPy insists on its arrays there.
_pointer: _Any = _ctypeslib.ndpointer().__bases__[0]
_from_param = _pointer.from_param.__func__
_pointer.from_param = classmethod(lambda cls, obj: _from_param(cls, _host(obj)))

_mirror.populate(_sys.modules[__name__], _ctypeslib)
