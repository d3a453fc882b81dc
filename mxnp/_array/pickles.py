"""Pickles of arrays, which name only NumPy.

A pickle calls `asanyarray` with the NumPy array, and names it as a function of
`numpy._core._multiarray_umath`, where nobody looks for it: NumPy and all others have it
from `numpy._core.multiarray` or `numpy`. Without mxnp it is NumPy's own function, which
returns the array as it is. mxnp puts its own function in that place and so knows its
arrays again; arrays that NumPy has pickled stay NumPy's.
"""

from __future__ import annotations

import importlib
from typing import Any

from .ndarray import ndarray, wrap

_place: Any = importlib.import_module("numpy._core._multiarray_umath")
_original = _place.asanyarray


def asanyarray(*args: Any, **kwargs: Any) -> Any:
    """Return what NumPy's function returns, as an mxnp array."""
    return wrap(_original(*args, **kwargs))


asanyarray.__module__ = _place.__name__
_place.asanyarray = asanyarray


def reduced(array: ndarray, protocol: int) -> tuple[Any, ...]:
    """
    Return what `__reduce_ex__` of an array returns.

    NumPy pickles the array inside, out of band if it is asked to. An array of
    objects may contain itself, so it is made first and gets its elements afterwards.
    """
    if not array.dtype.hasobject:
        return (asanyarray, (array._np_array,))
    state = array._np_array.__reduce_ex__(protocol)[2]
    return (asanyarray, ((),), state)
