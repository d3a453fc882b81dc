"""Test support: NumPy's functions, which compare mxnp arrays."""

import functools as _functools
import sys as _sys
from typing import Any as _Any

import numpy.testing as _testing
from numpy.testing._private import utils as _utils

from ._array.deferred_warnings import flush_around as _flush_around
from ._array.deferred_warnings import flush_inside as _flush_inside
from ._array.ndarray import unwrap as _unwrap
from ._namespace import mirror as _mirror

# These functions call their arguments, which must not be unwrapped.
for _name in (
    "assert_no_gc_cycles",
    "assert_no_warnings",
    "assert_raises",
    "assert_raises_regex",
    "assert_warns",
):
    if hasattr(_testing, _name):
        globals()[_name] = getattr(_testing, _name)


def _unwrap_nested(x: _Any) -> _Any:
    """Return `x` with NumPy arrays in place of mxnp arrays, in dicts too."""
    if type(x) is dict:
        return {key: _unwrap_nested(value) for key, value in x.items()}
    if type(x) in (list, tuple):
        return type(x)(_unwrap_nested(value) for value in x)
    return _unwrap(x)


@_functools.wraps(_testing.assert_equal)
def assert_equal(actual: _Any, desired: _Any, *args: _Any, **kwargs: _Any) -> None:
    """Raise an AssertionError if two objects are not equal; see `numpy.testing`."""
    __tracebackhide__ = True
    _testing.assert_equal(
        _unwrap_nested(actual), _unwrap_nested(desired), *args, **kwargs
    )


if hasattr(_testing, "suppress_warnings"):  # deprecated since NumPy 2.4
    _flush_around(_testing.suppress_warnings)
if hasattr(_utils, "_assert_warns_context"):  # the same
    _utils._assert_warns_context = _flush_inside(_utils._assert_warns_context)

assert_equal.__module__ = __name__
_mirror.replace(_testing.assert_equal, assert_equal)

__path__: list[str] = []  # a package in NumPy, whose modules are mirrored
_mirror.populate(_sys.modules[__name__], _testing)
