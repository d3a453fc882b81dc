"""Masked arrays: NumPy's class, whose methods accept mxnp arrays."""

import copy as _copy
import sys as _sys
from typing import Any as _Any

import numpy.ma as _ma

from ._bridge import Function as _Function
from ._namespace import classes as _classes
from ._namespace import mirror as _mirror

_classes.take_arrays(_ma.MaskedArray)


class _Extremum(type(_ma.maximum)):  # type: ignore[misc]
    """The class of `maximum` and `minimum`, which reduce plain arrays to plain arrays.

    Other operations return masked arrays and scalars only.
    """

    @property
    def reduce(self) -> _Any:
        return _Function(super().reduce)  # a Python function would shift warnings


for _original in (_ma.maximum, _ma.minimum):
    _extremum = _copy.copy(_original)
    _extremum.__class__ = _Extremum
    _mirror.replace(_original, _extremum)

__path__: list[str] = []  # a package in NumPy, whose modules are mirrored
_mirror.populate(_sys.modules[__name__], _ma)
