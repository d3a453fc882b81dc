"""Test support: NumPy's, comparing mxnp arrays."""

import sys as _sys

import numpy.testing as _testing

from . import _mirror

# These call what they are given: the arguments stay as they are.
for _name in (
    "assert_no_gc_cycles",
    "assert_no_warnings",
    "assert_raises",
    "assert_raises_regex",
    "assert_warns",
):
    if hasattr(_testing, _name):
        globals()[_name] = getattr(_testing, _name)

__path__: list[str] = []  # a package in NumPy: its modules are mirrored
_mirror.populate(_sys.modules[__name__], _testing)
