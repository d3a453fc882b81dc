"""NumPy's modules as mxnp's: each name is crossed over when it is first asked for.

So everything that NumPy has is here, and what a newer NumPy adds comes along without
a release of ours. What mxnp has of its own is told by `replace`, or is in its module
already.
"""

from __future__ import annotations

import importlib
import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any

import numpy

from mxnp._array.ndarray import ndarray, unwrap, wrap
from mxnp._array.ufunc import named, ufunc
from mxnp._bridge import Function, Lookup, Method, set_counterparts

# Kinds of callables that are crossed over; other objects are handed on as they are.
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    type(numpy.sum),  # a Python function with __array_function__ dispatch
)
_COMPILED = "cython_function_or_method"  # a function compiled by Cython

_crossed: dict[Any, Any] = {numpy.ndarray: ndarray, numpy.ufunc: ufunc}
set_counterparts(_crossed)  # packages call NumPy's functions with our arrays


def replace(original: Any, ours: Any) -> None:
    """Let an object be ours wherever NumPy's modules have it."""
    _crossed[original] = ours


def cross(value: Any, module: str) -> Any:
    """Give the mxnp counterpart of something that NumPy has in the named module."""
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
    if isinstance(value, _FUNCTIONS) or type(value).__name__ == _COMPILED:
        made = _crossed[value] = crossed_function(value, module)
        return made
    return value


def crossed_function(
    original: Any, module: str, kind: type[Function] | None = None
) -> Function:
    """Wrap a NumPy function; the wrapper binds as a method where the original does."""
    if kind is None:
        kind = Method if hasattr(original, "__get__") else Function
    made: Function = kind(original)
    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(made, name, getattr(original, name, None))
    owner = getattr(original, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        made.__qualname__ = made.__name__  # a method that a module has as a function
    made.__module__ = _mirrored_name(getattr(original, "__module__", None) or module)
    return made


def original_of(value: Any) -> Any:
    """Give NumPy's counterpart of a module, function, class or array of ours."""
    if isinstance(value, types.ModuleType):
        top, dot, rest = value.__name__.partition(".")
        return sys.modules.get(f"numpy{dot}{rest}", value) if top == "mxnp" else value
    return value.__wrapped__ if isinstance(value, Function) else unwrap(value)


def _mirrored_name(name: str) -> str:
    top, dot, rest = name.partition(".")
    return f"mxnp{dot}{rest}" if top == "numpy" else name


# Modules that are named like public ones: old names of private ones, and build tools.
_INTERNAL = {"core", "distutils", "f2py"}


def _is_public(name: str) -> bool:
    top, *parts = name.split(".")
    return (
        top == "numpy"
        and _INTERNAL.isdisjoint(parts[:1])
        and "tests" not in parts
        and not any(part.startswith("_") for part in parts)
    )


def _counterpart(module: types.ModuleType) -> types.ModuleType:
    """Give the mirror of one of NumPy's public modules; other modules as they are."""
    if not _is_public(module.__name__):
        return module
    return importlib.import_module(_mirrored_name(module.__name__))


def populate(
    module: types.ModuleType,
    original: types.ModuleType,
    later: dict[str, str] | None = None,
) -> None:
    """
    Give a module the names of a NumPy module, and what is asked of it later.

    Parameters
    ----------
    module : module
        The module of ours; names it has already are left alone.
    original : module
        NumPy's module.
    later : dict of str to str, optional
        Names of ours, and the modules that they are imported from when asked for.
    """
    names = vars(module)
    later = later or {}
    for name, value in list(vars(original).items()):
        if name[0] != "_" and not isinstance(value, types.ModuleType):
            names.setdefault(name, cross(value, original.__name__))
    if hasattr(original, "__all__"):
        names.setdefault("__all__", list(original.__all__))
    names["__getattr__"] = Lookup(module, original, _found, later)
    names["__dir__"] = lambda: sorted(
        {*dir(original), *vars(module), *later} - {"__getattr__", "__dir__"}
    )


def _found(module: types.ModuleType, name: str, value: Any) -> Any:
    """Cross over what a module's lookup found, and remember it where NumPy does."""
    if name[:2] == "__":
        return value
    crossed = cross(value, module.__name__)
    if isinstance(crossed, types.ModuleType) and crossed is not value:
        setattr(module, name, crossed)
    return crossed


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
        return ModuleSpec(
            name,
            Finder,  # type: ignore[arg-type]
            origin=original,
            is_package=hasattr(sys.modules[original], "__path__"),
        )

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Let an ordinary module be made."""

    @staticmethod
    def exec_module(module: types.ModuleType) -> None:
        """Give the module its names."""
        original = sys.modules[str(module.__spec__.origin)]  # type: ignore[union-attr]
        module.__doc__ = original.__doc__
        populate(module, original)


if Finder not in sys.meta_path:
    sys.meta_path.append(Finder)


class Indexing:
    """`r_`, `c_`, `mgrid` and `ogrid`: objects that build arrays when indexed."""

    __getitem__: Function

    def __new__(cls, original: Any) -> Indexing:
        # Not a function in Python: NumPy looks for names in its caller's frame.
        body = {"__getitem__": Function(original.__getitem__)}
        return object.__new__(type(cls.__name__, (cls,), body))

    def __init__(self, original: Any) -> None:
        self._original = original
        self.__doc__ = original.__doc__

    def __len__(self) -> int:
        return len(self._original)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


for _object in (numpy.r_, numpy.c_, numpy.mgrid, numpy.ogrid):
    replace(_object, Indexing(_object))
