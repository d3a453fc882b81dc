"""The namespace of the Array API standard: mxnp, whose results are always arrays.

A package that is written for the standard asks ``x.__array_namespace__()`` for its
functions. There, NumPy scalars belong to NumPy's namespace. So results of these
functions are arrays without dimensions, and so are items of these arrays.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy

from mxnp._bridge import Function, Lookup, standard

from .standard import argsort

__all__ = ["fill"]


def fill(module: ModuleType) -> None:
    """
    Give one of the namespace's modules the names of mxnp's module.

    Parameters
    ----------
    module : module
        ``mxnp.array_namespace`` or a module in it.
    """
    name = module.__name__.replace(".array_namespace", "")
    original = sys.modules.get(name) or importlib.import_module(name)
    names = vars(module)
    names["__getattr__"] = Lookup(module, original, _found, {})
    names["__dir__"] = lambda: sorted({*dir(original), *vars(module)})


def _found(module: ModuleType, name: str, value: Any) -> Any:
    """Give the counterpart of something that mxnp's module has, and remember it."""
    if isinstance(value, Function):
        value = _function(module.__name__, value)
    elif isinstance(value, ModuleType) and name in _EXTENSIONS:
        value = importlib.import_module(f"{module.__name__}.{name}")
    setattr(module, name, value)
    return value


def _function(module: str, original: Any) -> Any:
    """Give the namespace's function for one of mxnp's."""
    made = standard(original)
    made.__module__ = module
    change = _CHANGES.get(original.__name__)
    if change is not None:
        made.choose = _changed(change, original)
    return made


def _changed(change: Callable[..., Any], original: Any) -> Callable[..., Any]:
    """Give a `choose` that calls `change` with what mxnp's function calls, and more."""
    choose = original.choose or (lambda *args, **kwargs: original.__wrapped__)
    return lambda *args, **kwargs: partial(change, choose(*args, **kwargs))


# -- What the standard has otherwise, or leaves open -----------------------------------


def _argsort(original: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Sort indirectly: stable unless the call says otherwise."""
    return argsort(x, *args, **kwargs)


def _asarray(original: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Convert to an array: a list of strings or other objects is a TypeError.

    A single string is taken: xarray fills and replaces strings with it.
    """
    made = original(obj, *args, **kwargs)
    if made.dtype.kind in "OSTU" and isinstance(obj, list | tuple):
        raise TypeError(
            f"Unsupported dtype {made.dtype}: the Array API standard has numeric and "
            "boolean arrays only"
        )
    return made


def _astype(original: Any, x: Any, dtype: Any, /, **kwargs: Any) -> Any:
    """Convert to a dtype; other libraries' arrays do it themselves, as Dask's must."""
    if isinstance(x, numpy.ndarray) or not hasattr(x, "__array_function__"):
        return original(x, dtype, **kwargs)
    kwargs.pop("device", None)
    return x.astype(dtype, **kwargs)


def _unique_values(original: Any, x: Any, /) -> Any:
    """Give the unique elements in order: NumPy's are in any order from 2.3 on."""
    return numpy.unique(x, equal_nan=False)


_EXTENSIONS = {"fft", "linalg"}
_CHANGES: dict[str, Callable[..., Any]] = {
    "argsort": _argsort,
    "asarray": _asarray,
    "astype": _astype,
    "unique_values": _unique_values,
}
