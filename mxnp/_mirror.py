"""NumPy's modules as mxnp's: each name is crossed over when it is first asked for.

So everything that NumPy has is here, and what a newer NumPy adds comes along without
a release of ours. What mxnp has of its own is put in the way by `override`.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Any

import numpy

from ._array import host, ndarray, wrap
from ._bridge import Function, Method
from ._ufunc import named, ufunc

# Kinds of callables that are crossed over; other objects are handed on as they are.
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    type(numpy.sum),  # a Python function with __array_function__ dispatch
    type(numpy.random.rand),  # a function compiled by Cython
)

_crossed: dict[Any, Any] = {numpy.ndarray: ndarray, numpy.ufunc: ufunc}
_overrides: dict[str, dict[str, Any]] = {}


def override(module: str, **names: Any) -> None:
    """Let names of a mirrored module be ours instead of NumPy's."""
    _overrides.setdefault(module, {}).update(names)


def replace(original: Any, ours: Any) -> None:
    """Let an object be ours wherever NumPy's modules have it."""
    _crossed[original] = ours


def cross(value: Any, depth: int = 0) -> Any:
    """Give the mxnp counterpart of something found in a NumPy module."""
    if isinstance(value, numpy.ndarray):
        return wrap(value)
    if isinstance(value, types.ModuleType):
        return _counterpart(value)
    try:
        known = _crossed.get(value)
    except TypeError:  # not hashable, so not a function or class
        return value
    if known is not None:
        return known
    if isinstance(value, numpy.ufunc):
        return named(value)
    if isinstance(value, _FUNCTIONS):
        made = _crossed[value] = _function(value, depth)
        return made
    return value


def _function(original: Any, depth: int) -> Function:
    """Wrap a NumPy function; the wrapper binds as a method where the original does."""
    kind = Method if hasattr(original, "__get__") else Function
    made = kind(original, depth=depth)
    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(made, name, getattr(original, name, None))
    made.__module__ = _mirrored_name(getattr(original, "__module__", None) or "numpy")
    return made


def _mirrored_name(name: str) -> str:
    top, dot, rest = name.partition(".")
    return f"mxnp{dot}{rest}" if top == "numpy" else name


def _is_public(name: str) -> bool:
    parts = name.split(".")
    return parts[0] == "numpy" and not any(part.startswith("_") for part in parts)


def _counterpart(module: types.ModuleType) -> types.ModuleType:
    """Give the mirror of one of NumPy's public modules; other modules as they are."""
    if not _is_public(module.__name__):
        return module
    return importlib.import_module(_mirrored_name(module.__name__))


class Mirror(types.ModuleType):
    """A module whose names are those of a NumPy module, crossed over."""

    def __init__(self, name: str, original: types.ModuleType) -> None:
        super().__init__(name, original.__doc__)
        self.__dict__.update(_overrides.get(name, {}))
        self._original = original
        # Functions that compare look at arrays inside lists and tuples themselves.
        self._depth = 8 if name.startswith("mxnp.testing") else 0
        if hasattr(original, "__all__"):
            self.__all__ = list(original.__all__)
        if hasattr(original, "__path__"):
            self.__path__: list[str] = []  # a package: its modules are found by Finder

    def __getattr__(self, name: str) -> Any:
        try:
            value = getattr(self._original, name)
        except AttributeError as error:
            error.obj = self
            raise
        if name.startswith("__"):
            return value
        crossed = cross(value, self._depth)
        self.__dict__[name] = crossed
        return crossed

    def __dir__(self) -> Sequence[str]:
        return sorted({*dir(self._original), *self.__dict__} - {"_original", "_depth"})


class Finder:
    """Finds ``mxnp.x`` where mxnp itself has no module x and NumPy has a public one."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Give the spec of a mirrored module, or None."""
        top, _, rest = name.partition(".")
        original = f"numpy.{rest}"
        if top != "mxnp" or not rest or not _is_public(original):
            return None
        try:
            importlib.import_module(original)
        except ModuleNotFoundError as error:
            if error.name == original:
                return None
            raise
        return ModuleSpec(name, Finder, origin=original)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> Mirror:
        """Make the mirror."""
        assert spec.origin is not None
        return Mirror(spec.name, sys.modules[spec.origin])

    @staticmethod
    def exec_module(module: types.ModuleType) -> None:
        """Nothing to run: names are crossed over when asked for."""


if Finder not in sys.meta_path:
    sys.meta_path.append(Finder)  # type: ignore[arg-type]


class Indexing:
    """`r_`, `c_`, `mgrid` and `ogrid`: objects that build arrays when indexed."""

    def __init__(self, original: Any) -> None:
        self._original = original
        self.__doc__ = original.__doc__

    def __getitem__(self, key: Any) -> Any:
        return wrap(self._original[host(key)])

    def __len__(self) -> int:
        return len(self._original)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


for _object in (numpy.r_, numpy.c_, numpy.mgrid, numpy.ogrid):
    replace(_object, Indexing(_object))
