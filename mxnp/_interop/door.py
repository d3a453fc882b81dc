"""Open the doors of packages: their functions that the program calls get NumPy arrays.

Python reports the calls of the program's own code (`sys.monitoring`, Python 3.12 and
later). A function of a package that is called becomes a door, with all public methods
of a class whose objects the program meets. A place whose calls were seen often enough
is no longer reported. See csrc/python/packages/door.c and docs/design/12-packages.md.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from mxnp import _bridge

from .boundary import takes_arrays
from .owners import belongs_to_package, belongs_to_program
from .program_files import is_in_program

# The numbers are those of door.c.
NOBODY, PROGRAM, PACKAGE, ASKED_PACKAGE = range(4)
MET, CALLED, PASSED = 1, 2, 4

# Packages that take mxnp arrays, or pass on what they get without looking at it.
WANT_ARRAYS = frozenset(
    {
        # they use the Array API, or NumPy's protocols
        *("array_api_compat", "array_api_extra", "array_api_strict", "autograd"),
        *("dask", "distributed", "einops", "opt_einsum", "pint", "uncertainties"),
        "xarray",
        # they have their own way to NumPy's memory: see adapters.py
        *("cupy", "cupyx", "numba", "numexpr"),
        # they pass objects on
        *("_pytest", "attr", "attrs", "cloudpickle", "cytoolz", "dill", "hypothesis"),
        *("IPython", "ipykernel", "joblib", "more_itertools", "pluggy", "pydantic"),
        *("pytest", "toolz", "tqdm", "traitlets"),
        *("mxnp", "numpy", "threadpoolctl"),
    }
)


def _scipy_takes_arrays() -> bool:
    return os.environ.get("SCIPY_ARRAY_API", "0") not in ("0", "false", "False", "")


def _sklearn_takes_arrays() -> bool:
    sklearn: Any = sys.modules["sklearn"]
    return bool(sklearn.get_config()["array_api_dispatch"])


# Packages that take arrays of other libraries if the user has asked them to.
_ASKED = {"scipy": _scipy_takes_arrays, "sklearn": _sklearn_takes_arrays}


def _takes_arrays(function: Any) -> bool:
    return _ASKED[function.__module__.partition(".")[0]]()


# -- Owners ----------------------------------------------------------------------------


def _uses_mxnp(package: str) -> bool:
    """Check whether a package imports mxnp itself, so that it knows what it gets."""
    ours = sys.modules["mxnp"]
    for name, module in list(sys.modules.items()):
        inside = name == package or name.startswith(package + ".")
        if inside and any(value is ours for value in list(vars(module).values())):
            return True
    return False


def find_owner(name: str, names: dict[str, Any] | None) -> int:
    """Return whose code a module is; its globals are given if they are known."""
    package = name.partition(".")[0]
    if names is None:
        module = sys.modules.get(name) or sys.modules.get(package)
        if module is None:  # a class or function that was made by exec()
            return NOBODY
        names = vars(module)
    if name == "__main__" or belongs_to_program(names, ""):
        return PROGRAM
    if not belongs_to_package(names) or package in WANT_ARRAYS:
        return NOBODY
    if _uses_mxnp(package):
        return PROGRAM
    return ASKED_PACKAGE if package in _ASKED else PACKAGE


# -- Classes ---------------------------------------------------------------------------

# Methods that Python calls with objects of the program.
_BINARY = {
    f"__{prefix}{name}__"
    for name in (
        *("add", "and", "divmod", "floordiv", "lshift", "matmul", "mod", "mul"),
        *("or", "pow", "rshift", "sub", "truediv", "xor"),
    )
    for prefix in ("", "r", "i")
}
_OPERATORS = _BINARY | {
    *("__call__", "__contains__", "__delitem__", "__eq__", "__ge__", "__getitem__"),
    *("__gt__", "__le__", "__lt__", "__ne__", "__set__", "__setattr__", "__setitem__"),
}
_MAKERS = {"__call__", "__init__", "__new__"}  # the first one in a metaclass
# Methods that get none, and may return objects of classes that are not known yet.
_ACCESSORS = {"__enter__", "__get__", "__getattr__", "__iter__", "__next__"}


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the functions of a class, also those inside class methods and the like."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, (classmethod, staticmethod)):
            yield name, member.__func__
        elif isinstance(member, property):
            yield "__get__", member.fget
            yield "__set__", member.fset
        elif isinstance(member, functools.cached_property):
            yield "__get__", member.func
        elif type(member) is FunctionType:
            yield name, member
        else:
            yield "__get__", vars(type(member)).get("__get__")


def _open_members(cls: type, way: int) -> None:
    """Open the doors of a package's class."""
    for name, member in _members(cls):
        if way == CALLED and name in _MAKERS:
            _bridge.open_door(member)
        elif name in _ACCESSORS:
            _bridge.wait_accessor(member)
        elif name in _OPERATORS:
            _bridge.wait_operator(member)
        elif not name.startswith("_"):
            _bridge.wait_method(member)


def _take_members(cls: type) -> None:
    """Make the methods of a class of the program callbacks."""
    for _, member in _members(cls):
        _bridge.take_callback(member)


def open_class(cls: type, way: int) -> bool:
    """
    Open the doors of a class and of its bases.

    Parameters
    ----------
    cls : type
        The class.
    way : int
        MET if the program has an object of the class, CALLED if it called the class, or
        PASSED if a package got the object, whose methods it may call.

    Returns
    -------
    bool
        Whether the class, or a base, is a package's.
    """
    is_package = False
    for base in type.mro(cls):
        name = base.__dict__.get("__module__")
        owner = find_owner(name, None) if isinstance(name, str) else NOBODY
        if owner >= PACKAGE:
            is_package = True
            _open_members(base, way)
        elif owner == PROGRAM and way == PASSED:
            _take_members(base)
    if way == CALLED:
        call: Any = type(cls).__call__  # a function in a package's metaclass
        _bridge.open_door(call)
    return is_package


# -- Calls -----------------------------------------------------------------------------

_scanned: dict[CodeType, int] = {}  # the number of modules at that time


def _open_value(value: Any, names: set[str]) -> None:
    """Open what a name means, and the methods of an object that are named too."""
    if isinstance(value, functools.partial):
        _open_value(value.func, names)
        return
    _bridge.meet(value)
    wrapped = getattr(value, "__wrapped__", None) if callable(value) else None
    if type(wrapped) is FunctionType and type(value) is not FunctionType:
        _bridge.open_door(wrapped)  # of functools.lru_cache, for example
    for cls in type(value).__mro__:
        for name in names & cls.__dict__.keys():
            _bridge.open_door(cls.__dict__[name])


def _open_names(code: CodeType, frame: FrameType) -> None:
    """Open what the names of code mean, such as ``f`` in ``map(f, arrays)``."""
    names = {*code.co_names, *code.co_freevars}
    spaces = [frame.f_globals]
    # Before Python 3.13, a frame whose variables were read keeps their values alive.
    if code.co_flags & inspect.CO_OPTIMIZED and sys.version_info >= (3, 13):
        names.update(code.co_varnames)
        spaces.append(frame.f_locals)
    found = [space[name] for space in spaces for name in names if name in space]
    seen: set[int] = set()
    for value in found:  # grows
        if not isinstance(value, ModuleType):
            _open_value(value, names)
        elif id(value) not in seen and find_owner(value.__name__, None) >= PACKAGE:
            seen.add(id(value))
            inside = vars(value)
            found.extend(inside[name] for name in names if name in inside)


def see_call(code: CodeType, function: Any) -> None:
    """See the first call at a place of the program."""
    if type(function) is not FunctionType:
        _open_value(function, set())
        name = getattr(function, "__module__", None)
        if isinstance(name, str) and find_owner(name, None) >= PACKAGE:
            module = sys.modules.get(name)
            if module is not None and takes_arrays(module):
                _bridge.patch_callable(function)
    if _scanned.get(code) != len(sys.modules):
        _scanned[code] = len(sys.modules)
        _open_names(code, sys._getframe(1))


# -- The program's code ----------------------------------------------------------------

_tool = 0  # of sys.monitoring

# Modules that run code that a user types, or that the program passes as a string.
_RUNNERS = {"bdb", "code", "doctest", "runpy", "timeit", "_pyrepl"}


def _is_program(code: CodeType) -> bool:
    """Check whether code that is about to run is the program's."""
    file = code.co_filename
    if not file.startswith("<"):
        return not file.startswith("frozen") and is_in_program(file)
    if file.startswith(("<ipython", "<stdin", "<console", "<doctest", "<python-input")):
        return True
    names = sys._getframe(2).f_globals  # of the function that calls exec()
    package = str(names.get("__name__")).partition(".")[0]
    return (
        package in _RUNNERS or find_owner(names.get("__name__", ""), names) == PROGRAM
    )


def _observe(code: CodeType) -> None:
    """See the calls of code, and of the functions in it."""
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009
    monitoring.set_local_events(_tool, code, monitoring.events.CALL)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            _observe(inner)


def see_code(code: CodeType) -> None:
    """See the code of a module before it runs."""
    if isinstance(code, CodeType) and _is_program(code):
        _observe(code)


def _see_running() -> None:
    """See the code that runs, or was imported, before mxnp."""
    for frame in sys._current_frames().values():
        each: FrameType | None = frame
        while each is not None:
            file = each.f_code.co_filename
            if each.f_globals.get("__name__") == "__main__" or is_in_program(file):
                _observe(each.f_code)
            each = each.f_back
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(path, str) and is_in_program(path):
            for value in list(vars(module).values()):
                if getattr(value, "__module__", None) == name:
                    _see_functions(value)


def _see_functions(value: Any) -> None:
    if type(value) is FunctionType:
        _observe(value.__code__)
    elif isinstance(value, type):
        for _, member in _members(value):
            if type(member) is FunctionType:
                _observe(member.__code__)


def load() -> None:
    """Open doors from now on, if this Python has them."""
    global _tool  # noqa: PLW0603
    monitoring: Any = getattr(sys, "monitoring", None)
    if monitoring is None:
        return
    free = [tool for tool in (4, 3) if monitoring.get_tool(tool) is None]
    if not free or not _bridge.set_door(
        load,
        functools.partial,
        functools.cache(load),
        find_owner,
        open_class,
        see_call,
        _takes_arrays,
        monitoring.DISABLE,
    ):
        return
    _tool = free[0]
    monitoring.use_tool_id(_tool, "mxnp")
    monitoring.register_callback(_tool, monitoring.events.CALL, _bridge.door_event)
    _bridge.hook_code(see_code)
    _see_running()
