"""Mirrors of NumPy's modules, whose functions and classes are mxnp's counterparts.

A mirror has every name of NumPy's module, also names that a later version of NumPy
adds. The counterpart of a name is the object that `replace` registered, or a wrapper
around NumPy's object, or NumPy's object itself. Names that a module of mxnp already
defines are kept.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import operator
import sys
import types
from _thread import RLock
from collections.abc import Callable
from functools import partial
from importlib.machinery import ModuleSpec
from typing import Any

import numpy

from mxnp._array.ndarray import ndarray, unwrap, wrap
from mxnp._array.ufunc import is_numpys, named, ufunc
from mxnp._bridge import (
    Function,
    Lookup,
    Method,
    frameless,
    make_function,
    raise_handlers,
    set_counterparts,
    set_preparation,
)
from mxnp._engine import core

# Types of callables that are wrapped. Other objects are returned unchanged.
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    type(numpy.sum),  # a Python function with __array_function__ dispatch
)
_COMPILED = "cython_function_or_method"  # a function compiled by Cython

_counterparts: dict[Any, Any] = {numpy.ndarray: ndarray, numpy.ufunc: ufunc}
set_counterparts(_counterparts)  # for packages that pass mxnp arrays to NumPy


def replace(original: Any, counterpart: Any) -> None:
    """Register the counterpart of an object for all of NumPy's modules."""
    module = getattr(original, "__module__", None) or "numpy"
    module = module.replace("numpy", "mxnp", 1)
    _counterparts[original] = _hidden(counterpart, module)


def _hidden(value: Any, module: str) -> Any:
    """Keep a function that is written in Python out of tracebacks.

    It is pickled as a name of the module.
    """
    if type(value) is not types.FunctionType:
        return value
    value.__module__ = module
    return frameless(value)


def find_counterpart(value: Any, module: str = "numpy") -> Any:
    """Return the counterpart of an object that is in the named module of NumPy."""
    if isinstance(value, numpy.ndarray):
        return wrap(value)
    if isinstance(value, types.ModuleType):
        return _mirror_of(value)
    try:
        known = _counterparts.get(value)
    except TypeError as error:  # not hashable, so not a function or class
        raise_handlers(error)
        return value
    if known is not None:
        return known
    if isinstance(value, numpy.ufunc):
        known = named(value)
    elif isinstance(value, _FUNCTIONS) or type(value).__name__ == _COMPILED:
        known = wrap_function(value, module)
    else:
        return value
    if not isinstance(value, numpy.ufunc) or is_numpys(value):
        _counterparts[value] = known  # not ufuncs that the program makes
    return known


def wrap_function(
    original: Any, module: str, kind: type[Function] | None = None
) -> Function:
    """Wrap a NumPy function. The wrapper binds as a method if the original does."""
    if kind is None:
        kind = Method if hasattr(original, "__get__") else Function
    wrapper: Function
    if getattr(original, "__module__", None):
        wrapper = make_function(kind, original)
    else:
        wrapper = kind(original, row=_row_of(original, module))
        vars(wrapper)["__module__"] = _mirrored_name(module)
    return wrapper


def _row_of(original: Any, module: str) -> str:
    """Return the name of the row of a NumPy function, or "" for a ufunc without one."""
    name = str(getattr(original, "__name__", None))
    if isinstance(original, numpy.ufunc):
        return name if is_numpys(original) else ""
    return f"{module}.{name}".removeprefix("numpy.")


# The modules of mxnp, for functions that are prepared after a program has removed them.
_own_modules: dict[str, types.ModuleType] = {}


def keep_modules() -> None:
    """Note the modules of mxnp once they are loaded."""
    names = [name for name in sys.modules if name.partition(".")[0] == "mxnp"]
    _own_modules.update((name, sys.modules[name]) for name in names)


class _InPlace:
    """Modules of mxnp that a program has removed or replaced are put back for a block.

    Without the package, a module in it cannot be imported. The last of several threads
    removes them.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.n_inside = self.n_modules = 0
        self.missing: dict[str, types.ModuleType] = {}
        self.others: dict[str, types.ModuleType] = {}

    def __enter__(self) -> None:
        with self.lock:
            if self.n_inside == 0:
                found = map(sys.modules.get, _own_modules)
                if not all(map(operator.is_, found, _own_modules.values())):
                    self.put_back()
                self.n_modules = len(sys.modules)
            self.n_inside += 1

    def put_back(self) -> None:
        """Put the missing modules back, and keep those that have their names."""
        loaded = sys.modules
        missing = {n: m for n, m in _own_modules.items() if loaded.get(n) is not m}
        self.others = {name: loaded[name] for name in missing if name in loaded}
        self.missing = missing
        loaded.update(missing)

    def __exit__(self, *exception: object) -> None:
        with self.lock:
            if exception[0] is None and len(sys.modules) > self.n_modules:
                keep_modules()
            self.n_inside -= 1
            if self.n_inside == 0 and self.missing:
                for name in self.missing:
                    sys.modules.pop(name, None)
                sys.modules.update(self.others)
                self.missing, self.others = {}, {}


_in_place = _InPlace()


def _attach(counterpart: Function, row: str) -> None:
    """Add the ways of its row, whose modules are imported at the first use."""
    with _in_place:
        from .ways import attach

        attach(counterpart, row)


# NumPy's functions whose counterparts need more than a row when they are first used.
preparations: dict[Any, Callable[[Function], None]] = {}


def _prepare(counterpart: Function, row: str | None) -> None:
    """Add its names, and the ways of its row, to a function."""
    original = counterpart.__wrapped__
    if row is None:
        row = _row_of(original, getattr(original, "__module__", ""))
    if isinstance(counterpart, ufunc):
        counterpart.__name__ = original.__name__
        counterpart.__qualname__ = getattr(original, "__qualname__", original.__name__)
    elif not counterpart.is_member:
        _take_names(counterpart, original, row)
    elif isinstance(counterpart, Method):
        counterpart.__name__, counterpart.__doc__ = row.split(".")[1], original.__doc__
        counterpart.__qualname__, counterpart.__module__ = row, "mxnp"
    _attach(counterpart, row)
    if original in preparations:
        preparations[original](counterpart)


set_preparation(_prepare, core.loading)
# Rows of functions that accept more than NumPy's, and functions with that signature.
signatures: dict[str, Callable[..., Any]] = {}


def _take_names(counterpart: Function, original: Any, row: str) -> None:
    """Name a function like NumPy's."""
    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(counterpart, name, getattr(original, name, None))
    owner = getattr(original, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        counterpart.__qualname__ = original.__name__  # a method that is a function
    home = getattr(original, "__module__", None)
    if home:
        counterpart.__module__ = _mirrored_name(home)
    if row in signatures:
        counterpart.__signature__ = _bare_signature(signatures[row])


def _bare_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function without annotations."""
    annotated = inspect.signature(function)
    empty = inspect.Parameter.empty
    return annotated.replace(
        parameters=[
            each.replace(annotation=empty) for each in annotated.parameters.values()
        ],
        return_annotation=inspect.Signature.empty,
    )


def find_original(value: Any) -> Any:
    """Return the NumPy object behind a module, function, class or array of mxnp."""
    if isinstance(value, types.ModuleType):
        top, dot, rest = value.__name__.partition(".")
        return sys.modules.get(f"numpy{dot}{rest}", value) if top == "mxnp" else value
    return value.__wrapped__ if isinstance(value, Function) else unwrap(value)


def _mirrored_name(name: str) -> str:
    top, dot, rest = name.partition(".")
    return f"mxnp{dot}{rest}" if top == "numpy" else name


# Modules without an underscore that are not public: old names, and build tools.
_INTERNAL = {"core", "distutils", "f2py"}


def _is_public(name: str) -> bool:
    top, *parts = name.split(".")
    return (
        top == "numpy"
        and _INTERNAL.isdisjoint(parts[:1])
        and "tests" not in parts
        and not any(part.startswith("_") for part in parts)
    )


def _mirror_of(module: types.ModuleType) -> types.ModuleType:
    """Return the mirror of a public module of NumPy, or any other module unchanged."""
    if not _is_public(module.__name__):
        return module
    with _in_place:
        return importlib.import_module(_mirrored_name(module.__name__))


def populate(
    module: types.ModuleType,
    original: types.ModuleType,
    later: dict[str, str] | None = None,
) -> None:
    """
    Add the names of a NumPy module to a module.

    Parameters
    ----------
    module : module
        The module of mxnp. Names that it already has are kept.
    original : module
        The module of NumPy.
    later : dict of str to str, optional
        More names, and the modules from which they are imported on first use.
    """
    names = vars(module)
    later = later or {}
    for name, value in list(names.items()):
        if name[0] != "_" and str(getattr(value, "__module__", "")).startswith("mxnp"):
            names[name] = _hidden(value, module.__name__)
    for name, value in list(vars(original).items()):
        if name[0] != "_" and not isinstance(value, types.ModuleType):
            names.setdefault(name, find_counterpart(value, original.__name__))
    if hasattr(original, "__all__"):
        names.setdefault("__all__", list(original.__all__))
    deferred: dict[str, Callable[[], Any]] = {
        name: partial(_load_from, source, name) for name, source in later.items()
    }
    names["__getattr__"] = Lookup(module, original, _found, deferred)
    names["__dir__"] = lambda: sorted(
        {*dir(original), *vars(module), *later} - {"__getattr__", "__dir__"}
    )


def _load_from(module: str, name: str) -> Any:
    with _in_place:
        return getattr(importlib.import_module(module), name)


def _found(module: types.ModuleType, name: str, value: Any) -> Any:
    """Return the counterpart of a member that was looked up; cache it if a module."""
    if name[:2] == "__":
        return value
    counterpart = find_counterpart(value, module.__name__)
    if isinstance(counterpart, types.ModuleType) and counterpart is not value:
        setattr(module, name, counterpart)
    return counterpart


class Finder:
    """Finds ``mxnp.x`` if NumPy has a public module x and mxnp does not."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a mirror, or None."""
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
        """Create an ordinary module."""

    @staticmethod
    def exec_module(module: types.ModuleType) -> None:
        """Fill the mirror."""
        fill(module.__name__)


def fill(name: str) -> None:
    """Make a module of mxnp the mirror of NumPy's module of this name."""
    module = sys.modules[name]
    original = importlib.import_module(name.replace("mxnp", "numpy", 1))
    module.__doc__ = original.__doc__
    if hasattr(original, "__path__"):
        module.__path__ = []  # the modules in it are mirrors too
    populate(module, original)


if Finder not in sys.meta_path:
    sys.meta_path.append(Finder)


class Indexing:
    """The class of `r_`, `c_`, `mgrid` and `ogrid`: an index builds an array."""

    __getitem__: Function

    def __new__(cls, original: Any, name: str) -> Indexing:
        # NumPy evaluates strings in its caller's frame, so this must not be a Python
        # function.
        get = Function(original.__getitem__, row=f"{name}.__getitem__")
        return object.__new__(type(cls.__name__, (cls,), {"__getitem__": get}))

    def __init__(self, original: Any, name: str) -> None:
        vars(self).update(_original=original, _name=name, __doc__=original.__doc__)

    def __reduce__(self) -> tuple[Any, ...]:
        return Indexing, (copy.copy(self._original), self._name)

    def __bool__(self) -> bool:
        return bool(self._original)

    def __len__(self) -> int:
        return len(self._original)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._original, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._original, name)


for _name in ("r_", "c_", "mgrid", "ogrid"):
    _object = getattr(numpy, _name)
    replace(_object, Indexing(_object, _name))
