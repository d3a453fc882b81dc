"""Pickles of arrays, which can be loaded without mxnp.

A pickle calls `numpy._core._multiarray_umath.asanyarray` with the NumPy array inside.
Without mxnp that is NumPy's function, which returns the array itself. NumPy and other
packages use this function under other names, `numpy.asanyarray` for example. So mxnp
replaces it under this name, by a function that returns an mxnp array. Arrays that were
pickled by NumPy remain NumPy arrays.
"""

from __future__ import annotations

import importlib
from typing import Any

from .ndarray import ndarray, wrap

_place: Any = importlib.import_module("numpy._core._multiarray_umath")
_original = _place.asanyarray


def asanyarray(*args: Any, **kwargs: Any) -> Any:
    """Return the array of NumPy's function as an mxnp array."""
    return wrap(_original(*args, **kwargs))


asanyarray.__module__ = _place.__name__
_place.asanyarray = asanyarray


def reduced(array: ndarray, protocol: int) -> tuple[Any, ...]:
    """
    Return the result of ``array.__reduce_ex__(protocol)``.

    NumPy pickles the array inside, out of band if the protocol allows it. An array of
    objects may contain itself. So its pickle creates the array first, and sets the
    elements afterwards.
    """
    if not array.dtype.hasobject:
        return (asanyarray, (array._np_array,))
    state = array._np_array.__reduce_ex__(protocol)[2]
    return (asanyarray, ((),), state)
