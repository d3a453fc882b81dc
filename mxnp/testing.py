"""Test support: NumPy's, comparing mxnp arrays."""

import functools as _functools
import sys as _sys
from typing import Any as _Any

import numpy.testing as _testing

from ._array.ndarray import unwrap as _unwrap
from ._namespace import mirror as _mirror

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


def _np_arrays(x: _Any) -> _Any:
    """Give x with NumPy arrays for mxnp arrays, also in dicts."""
    if type(x) is dict:
        return {key: _np_arrays(value) for key, value in x.items()}
    if type(x) in (list, tuple):
        return type(x)(_np_arrays(value) for value in x)
    return _unwrap(x)


@_functools.wraps(_testing.assert_equal)
def assert_equal(actual: _Any, desired: _Any, *args: _Any, **kwargs: _Any) -> None:
    """Raise an AssertionError if two objects are not equal: see NumPy's."""
    __tracebackhide__ = True
    _testing.assert_equal(_np_arrays(actual), _np_arrays(desired), *args, **kwargs)


assert_equal.__module__ = __name__
_mirror.replace(_testing.assert_equal, assert_equal)

__path__: list[str] = []  # a package in NumPy: its modules are mirrored
_mirror.populate(_sys.modules[__name__], _testing)
