"""The namespace of the Array API standard: mxnp's functions, which return arrays.

Packages that are written for the standard call the functions of
``x.__array_namespace__()``. In the standard there are no scalars. So the functions of
this namespace return 0-d arrays, and so do operators, methods and indices of these
arrays.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy

from mxnp._array.methods import member
from mxnp._bridge import Function, Lookup, standard

from .standard import STANDARD, argsort

__all__ = ["fill", "publish"]


def publish(module: ModuleType) -> None:
    """
    Make ``x.__array_namespace__()`` return a module.

    Parameters
    ----------
    module : module
        ``mxnp.array_namespace``.
    """

    @member
    def __array_namespace__(self: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if args or kwargs != {"api_version": STANDARD}:
            self._np_array.__array_namespace__(*args, **kwargs)  # raises NumPy's error
        return module


def fill(module: ModuleType) -> None:
    """
    Add the names of a module of mxnp to the module of the namespace that mirrors it.

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
    """Return the counterpart of a member of mxnp's module, and cache it."""
    if isinstance(value, Function):
        value = _function(module.__name__, value)
    elif isinstance(value, ModuleType) and name in _EXTENSIONS:
        value = importlib.import_module(f"{module.__name__}.{name}")
    setattr(module, name, value)
    return value


def _function(module: str, original: Any) -> Any:
    """Return the namespace's counterpart of a function of mxnp."""
    counterpart = standard(original)
    vars(counterpart)["__module__"] = module
    change = _CHANGES.get(original.__name__)
    if change is not None:
        counterpart.choose = _change(change, original)
        counterpart.choose_from, counterpart.choose_rule = 0, "n"
    for place in ("implementation", "gpu_implementation"):
        form = getattr(original, place)
        if original.__name__ == "argsort" and form is not None:
            setattr(counterpart, place, _stable(form))
    return counterpart


def _stable(form: Callable[..., Any]) -> Callable[..., Any]:
    """Make a recorded form of `argsort` whose default is a stable sort."""

    def argsort(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not args and "kind" not in kwargs:
            kwargs.setdefault("stable", True)
        return form(x, *args, **kwargs)

    return argsort


def _change(change: Callable[..., Any], original: Any) -> Callable[..., Any]:
    """Make a `choose` that passes to `change` the function that mxnp would call."""
    choose = original.choose or (lambda *args, **kwargs: original.__wrapped__)
    return lambda *args, **kwargs: partial(change, choose(*args, **kwargs))


# -- Functions that differ from mxnp's -------------------------------------------------


def _argsort(original: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the indices that sort an array. The default sort is stable."""
    return argsort(x, *args, **kwargs)


def _asarray(original: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Convert to an array; raise a TypeError for a list of strings or other objects.

    A single string is accepted, because xarray fills and replaces strings with it.
    """
    array = original(obj, *args, **kwargs)
    if array.dtype.kind in "OSTU" and isinstance(obj, list | tuple):
        raise TypeError(
            f"Unsupported dtype {array.dtype}: the Array API standard has numeric and "
            "boolean arrays only"
        )
    return array


def _astype(original: Any, x: Any, dtype: Any, /, **kwargs: Any) -> Any:
    """Convert to a dtype. Arrays of other libraries, such as Dask, do so themselves."""
    if isinstance(x, numpy.ndarray) or not hasattr(x, "__array_function__"):
        return original(x, dtype, **kwargs)
    kwargs.pop("device", None)
    return x.astype(dtype, **kwargs)


def _unique_values(original: Any, x: Any, /) -> Any:
    """Return the sorted unique elements. From NumPy 2.3 on, its result is unsorted."""
    return numpy.unique(x, equal_nan=False)


_EXTENSIONS = {"fft", "linalg"}
_CHANGES: dict[str, Callable[..., Any]] = {
    "argsort": _argsort,
    "asarray": _asarray,
    "astype": _astype,
    "unique_values": _unique_values,
}
