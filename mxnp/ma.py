"""Masked arrays: NumPy's class, whose methods accept mxnp arrays."""

import sys as _sys

import numpy.ma as _ma

from ._namespace import classes as _classes
from ._namespace import mirror as _mirror

_classes.take_arrays(_ma.MaskedArray)

__path__: list[str] = []  # a package in NumPy, whose modules are mirrored
_mirror.populate(_sys.modules[__name__], _ma)
