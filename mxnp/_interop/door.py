"""Open the doors of packages: their functions that the program calls get NumPy arrays.

Python reports the calls of the program's own code (`sys.monitoring`, Python 3.12 and
later). A function of a package becomes a door when the program calls it. Methods of a
class wait until the program calls them. Python stops reporting the calls at one place
after it has reported them often enough. See csrc/python/packages/door.c and
docs/design/12-packages.md.
"""

from __future__ import annotations

import collections
import functools
import itertools
import os
import pickle
import sys
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from types import (
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any

from mxnp import _bridge
from mxnp._engine.frames import OPTIMIZED, variables_of

from .attributes import (
    ClassTable,
    is_seen,
    named,
    reads,
    reads_attribute,
    see_class,
    see_stores,
)
from .boundary import takes_arrays
from .owners import belongs_to_package, belongs_to_program, get_rules
from .program_files import editable_root, is_in_folder, is_in_program, is_standard

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
        *("cupy", "cupyx", "numba"),
        # they pass objects on
        *("_pytest", "attr", "attrs", "cloudpickle", "cytoolz", "dill", "hypothesis"),
        *("IPython", "ipykernel", "joblib", "more_itertools", "pluggy", "pydantic"),
        *("pytest", "toolz", "tqdm", "traitlets"),
        *("mxnp", "numpy", "threadpoolctl"),
    }
)


# Packages that take arrays of other libraries if the user has asked them to: SciPy for
# all of a process, and scikit-learn at any time.
_SCIPYS_SWITCH, _FALSE = "SCIPY_ARRAY_API", ("", "0", "false", "False")
_ASKED = "sklearn"


def _takes_arrays() -> bool:
    """Check whether scikit-learn takes arrays of other libraries at present."""
    config: Any = sys.modules["sklearn._config"]
    return bool(config._get_threadlocal_config()["array_api_dispatch"])


class _Indexed:
    def __getitem__(self, index: int) -> None: ...


# Classes that give items without a call. The first three have no __next__. Iterators
# of Python that compare their exact class are missing: those of reversed(dict).
_ITERATED: Any = ([], (), {}.values(), {}.items(), collections.deque(), _Indexed())
_ITERATORS: tuple[type, ...] = (
    *(CoroutineType, type({}.values()), type({}.items())),
    *(GeneratorType, map, filter, zip, enumerate, reversed),
    *(type(iter(each)) for each in _ITERATED),
    type(reversed([])),
    *(each for each in vars(itertools).values() if hasattr(each, "__next__")),
)

_CACHE = type(functools.cache(_takes_arrays))  # the class of cached functions


# -- Looks that run no code of others --------------------------------------------------

_module_names_of: Any = vars(ModuleType)["__dict__"].__get__
_members_of = type.__dict__["__dict__"].__get__
_flags_of = type.__dict__["__flags__"].__get__
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: classes that are written in Python, and others


def _names_of(module: Any) -> dict[str, Any]:
    """Return the names in a module, which may be lazy, or not a module at all."""
    if not issubclass(type(module), ModuleType):
        return {}
    names: dict[str, Any] = _module_names_of(module)
    return names


def _mro_of(cls: type) -> tuple[type, ...]:
    """Return the order of a class and its bases, which a compiled class may lack."""
    return type.__dict__["__mro__"].__get__(cls) or ()


def _find_member(cls: type, name: str) -> Any:
    """Return what a class, or a base, has for a name, or None."""
    for base in _mro_of(cls):
        if name in _members_of(base):
            return _members_of(base)[name]
    return None


def _module_of(function: Any) -> Any:
    """Return the name of the module of a class or a compiled callable, or None."""
    if issubclass(type(function), type):
        return _members_of(function).get("__module__")
    if type(_find_member(type(function), "__call__")) is FunctionType:
        return None
    return getattr(function, "__module__", None)


# -- Owners ----------------------------------------------------------------------------

_users: set[str] = set()  # packages that import mxnp, so they know what they get


def find_owner(name: str, names: dict[str, Any] | None) -> int:
    """Return whose code a module is; its globals are given if they are known."""
    package = name.partition(".")[0]
    if names is None:
        found = [_names_of(sys.modules.get(each)) for each in (name, package)]
        found.sort(key=lambda names: not isinstance(names.get("__file__"), str))
        names = found[0] or found[1]
        if not names:  # a class or function that was made by exec()
            return NOBODY
    if name == "__main__" or belongs_to_program(names, ""):
        return PROGRAM
    if not belongs_to_package(names) or package in WANT_ARRAYS:
        return NOBODY
    if package in _users:
        return PROGRAM
    if package == "scipy" and os.environ.get(_SCIPYS_SWITCH, "0") not in _FALSE:
        return NOBODY
    return ASKED_PACKAGE if package == _ASKED else PACKAGE


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
    *("__class_getitem__", "__init_subclass__"),
    *("__abs__", "__gt__", "__invert__", "__le__", "__neg__", "__pos__"),
    *("__lt__", "__ne__", "__set__", "__setattr__", "__setitem__"),
}
_MAKERS = {"__call__", "__init__", "__new__"}  # the first one in a metaclass
# Methods that get none, and may return objects of classes that are not known yet.
_ACCESSORS = {"__enter__", "__get__", "__getattr__", "__iter__", "__next__"}
# Methods of the standard library that return what a function of others gave, by module.
_PASSING = {
    "contextlib": ("__enter__", "enter_context"),
    "concurrent.futures._base": ("map", "result"),
    "multiprocessing.pool": (
        *("apply", "get", "imap", "imap_unordered", "map", "next", "starmap"),
    ),
}


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the functions of a class, also those inside class methods and the like."""
    for name, member in list(_members_of(cls).items()):
        kind = type(member)
        if kind is FunctionType:
            yield name, member
            continue
        if issubclass(kind, (classmethod, staticmethod)):
            yield name, member.__func__
        elif issubclass(kind, property):
            yield "__get__", member.fget
            yield "__set__", member.fset
        elif issubclass(kind, functools.cached_property):
            yield "__get__", member.func
        if _flags_of(kind) & _HEAP:  # else they are compiled
            yield "__get__", _find_member(kind, "__get__")
            yield "__set__", _find_member(kind, "__set__")


class _Functions:
    """References to functions of a class by what they may become, and their names."""

    def __init__(self, names: set[str], state: tuple[int, ...]) -> None:
        self.names = names  # of members and in their code, but for `__init__` and such
        self.state = state  # the addresses of the members
        self.makers: list[weakref.ref[Any]] = []
        self.callers: list[weakref.ref[Any]] = []  # makers of a metaclass, or operators
        self.accessors: list[weakref.ref[Any]] = []
        self.operators: list[weakref.ref[Any]] = []
        self.methods: list[weakref.ref[Any]] = []


_known = ClassTable[_Functions]()


def _functions_of(cls: type) -> _Functions:
    """Return the functions of a package's class, which are found if it has changed."""
    known = _known.find(cls)
    state = tuple(map(id, _members_of(cls).values()))
    if known is not None and known.state == state:
        return known
    members = [each for each in _members(cls) if type(each[1]) is FunctionType]
    named_in = _bridge.names_in([function for _, function in members])
    named_in.update(_members_of(cls))
    names = {name for name in named_in if name[:2] != "__"}
    functions = _Functions(names, state)
    for name, function in members:
        if name in _MAKERS:
            kind = functions.callers if name == "__call__" else functions.makers
        elif name in _ACCESSORS:
            kind = functions.accessors
        elif name in _OPERATORS:
            kind = functions.operators
        elif name.startswith("_"):
            continue
        else:
            kind = functions.methods
        kind.append(weakref.ref(function))
    _known.add(cls, functions)
    return functions


def _open_members(cls: type, way: int) -> None:
    """Open the doors of a package's class, again if it is the base of another one."""
    found = _functions_of(cls)
    makers, operators = found.makers + found.callers, found.operators
    if way != CALLED:
        makers, operators = [], found.operators + found.callers
    _bridge.open_members(makers, found.accessors, operators, found.methods)


_modules: dict[str, weakref.ref[ModuleType]] = {}  # whose operators wait


def _open_neighbours(cls: type) -> None:
    """Make the operators of all classes wait that a module of a package defines."""
    name = _members_of(cls)["__module__"]
    module: Any = sys.modules.get(name)
    known = _modules.get(name)
    if (known and known() is module) or not issubclass(type(module), ModuleType):
        return
    _modules[name] = weakref.ref(module)
    for value in list(_names_of(module).values()):
        if (
            issubclass(type(value), type)
            and _members_of(value).get("__module__") == name
        ):
            for operator in _OPERATORS & _members_of(value).keys():
                _bridge.wait_operator(_members_of(value)[operator])


def _take_members(cls: type) -> None:
    """Make the methods of a class of the program callbacks."""
    for _, member in _members(cls):
        _bridge.take_callback(member)


def _owner_of(cls: type) -> int:
    name = _members_of(cls).get("__module__")
    return find_owner(name, None) if isinstance(name, str) else NOBODY


def _is_given(cls: type, name: str) -> bool:
    """Check whether a package should get a NumPy array in an attribute of an object."""
    takes = any(_owner_of(base) == ASKED_PACKAGE for base in _mro_of(cls))
    return reads_attribute(cls, name, _mro_of) and not (takes and _takes_arrays())


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
    bases = [(base, _owner_of(base)) for base in _mro_of(cls)]
    if not bases:
        raise TypeError("the class is being made")  # to be met again
    for base, _ in bases:
        for name in _PASSING.get(_module_of(base), ()):
            _bridge.pass_on(_members_of(base).get(name))
    packages = [base for base, owner in bases if owner >= PACKAGE]
    own = [base for base, owner in bases if owner == PROGRAM]
    for base in packages:
        _open_members(base, way)
        _open_neighbours(base)
    if way == PASSED:
        for base in own:
            _take_members(base)
    if way == CALLED:
        _bridge.open_door(_find_member(type(cls), "__call__"))  # of a metaclass
    if packages and not is_seen(cls):
        names = set().union(*(_functions_of(base).names for base in packages))
        see_class(cls, packages[0], names, [m for base in own for m in _members(base)])
    return bool(packages)


# -- Attributes ------------------------------------------------------------------------

_DEPTH, _FEW = 3, 4  # attributes of attributes, and items of lists, that are seen


_seen_names = ClassTable[tuple[int, list[str]]]()  # with the number of names in `named`


def _names_to_see(cls: type) -> list[str]:
    """Return names in the program's code that a class reads without a getter."""
    n_named = len(named)  # before they are looked at, as another thread may add one
    n_known, names = _seen_names.find(cls) or (0, [])
    if n_known == n_named:
        return names
    names = []
    for name in named & reads(cls):
        kind = type(_find_member(cls, name))
        if kind is MemberDescriptorType or not hasattr(kind, "__get__"):
            names.append(name)
    _seen_names.add(cls, (n_named, names))
    return names


def _attributes_of(x: Any) -> Iterator[Any]:
    """Yield those attributes of an object that the program's code names, too."""
    for name in _names_to_see(type(x)):
        with suppress(AttributeError):  # it has no value
            yield object.__getattribute__(x, name)  # without a dict of the object


def see_object(x: Any, depth: int = _DEPTH) -> None:
    """See what the program may get from an object of a package without a call."""
    for value in _attributes_of(x) if depth else ():
        is_list = type(value) in (list, tuple)
        for each in value[:_FEW] if is_list else [value]:
            _bridge.meet(each)
            if _owner_of(type(each)) >= PACKAGE:
                see_object(each, depth - 1)


# -- Calls -----------------------------------------------------------------------------


def _open_value(value: Any, names: set[str]) -> None:
    """Open what a name means, and the methods of an object that are named too."""
    kind = type(value)
    if kind is functools.partial:
        _open_value(value.func, names)
        return
    _bridge.meet(value)
    if kind is _CACHE:
        _bridge.open_door(value.__wrapped__)
    for cls in _mro_of(kind):
        for name in names & _members_of(cls).keys():
            _bridge.open_door(_members_of(cls)[name])


def see_names(code: CodeType) -> None:
    """Open what names mean in the code that runs: ``f`` in ``map(f, arrays)``."""
    if "to_thread" in _names_of(sys.modules.get("asyncio")):  # it is imported
        _convert_futures(sys.modules.get("_asyncio"))
    frame = sys._getframe(1)
    names = {*code.co_names, *code.co_freevars}
    spaces: list[Any] = [frame.f_globals]
    if not code.co_flags & OPTIMIZED:
        spaces.extend(each for each in [frame.f_locals] if type(each) is dict)
    else:
        names.update(code.co_varnames)
        spaces.append(variables_of(frame) or {})
    found = [space[name] for space in spaces for name in names if name in space]
    seen: set[int] = set()
    for value in found:  # grows
        inside = _names_of(value)
        if not inside:
            _open_value(value, names)
        elif id(value) not in seen:
            seen.add(id(value))
            if find_owner(str(inside.get("__name__")), inside) >= PACKAGE:
                found.extend(inside[name] for name in names if name in inside)


def see_callable(function: Any) -> None:
    """Open what the program calls, unless it is a function written in Python."""
    _open_value(function, set())
    name = _module_of(function)
    if isinstance(name, str) and find_owner(name, None) >= PACKAGE:
        module: Any = sys.modules.get(name)
        if _names_of(module) and takes_arrays(module):
            _bridge.patch_callable(function)


# -- Awaited results -------------------------------------------------------------------


class _Loop:
    def get_debug(self) -> bool:
        return False


async def _steps() -> AsyncIterator[None]:
    for _ in ():
        yield


def _convert_steps() -> None:
    """Convert what asynchronous generators give, for the code that asks for it."""
    generator = _steps()
    step: Any = generator.__anext__()
    _bridge.convert_awaited(type(generator), type(step))
    with suppress(StopAsyncIteration):  # an event loop need not close the generator
        step.send(None)


@functools.cache
def _convert_futures(compiled: Any) -> None:
    """Convert the results of asyncio's futures and tasks, if their classes are in C."""
    if compiled is None:
        return
    asyncio: Any = sys.modules["asyncio"]
    future, task = compiled.Future, compiled.Task
    awaiting = type(future(loop=_Loop()).__await__())
    for cls in (future, *future.__subclasses__()):
        _bridge.convert_awaited(cls, awaiting)
    for function in (future.result, task.result, asyncio.to_thread, asyncio.wait_for):
        _bridge.pass_on(function)


# -- The program's code ----------------------------------------------------------------

_monitoring: Any = getattr(sys, "monitoring", None)
_tool = 0  # of sys.monitoring

# Modules that run code that a user types, or that the program passes as a string.
_RUNNERS = {
    *("_pyrepl", "bdb", "code", "doctest", "mxnp._cli.runner", "pdb", "runpy"),
    "timeit",
}


def _is_file_of_program(file: str) -> bool:
    """Check whether a file belongs to the program, or to a package that is included."""
    if file.startswith("<frozen "):  # of the standard library
        return False
    try:
        is_own = is_in_program(file)
    except OSError:  # the current folder is gone
        return False
    rules = get_rules()
    if is_own or not rules or not rules.include:
        return is_own
    folders = [path for path in sys.path if path and is_in_folder(file, path)]
    place = editable_root(file)
    parent = os.path.dirname(place) or max(folders, key=len, default=os.sep)  # noqa: PTH120
    inside = os.path.relpath(file, parent)
    name = os.path.splitext(inside)[0].replace(os.sep, ".")  # noqa: PTH122
    return belongs_to_program({"__name__": name, "__file__": file}, "")


def _is_program(code: CodeType) -> bool:
    """Check whether code that is about to run is the program's."""
    file = code.co_filename
    if not file.startswith("<"):
        return not is_standard(file) and _is_file_of_program(file)
    if file.startswith(("<ipython", "<stdin", "<console", "<doctest", "<python-input")):
        return True
    names = sys._getframe(2).f_globals  # of the function that calls exec()
    name = str(names.get("__name__"))
    if name in _RUNNERS or name.partition(".")[0] in _RUNNERS:
        return True
    own_file = names.get("__file__")  # of dataclasses, for example
    if isinstance(own_file, str) and is_standard(own_file):
        return False
    return find_owner(name, names) == PROGRAM


def _package_of(file: str) -> str:
    """Return the installed package that a file belongs to, or an empty name."""
    if file.startswith("<") or is_standard(file):
        return ""
    for folder in ("site-packages", "dist-packages"):
        before, _, inside = file.rpartition(f"{os.sep}{folder}{os.sep}")
        if before:
            return inside.partition(os.sep)[0].partition(".")[0]
    return os.path.basename(editable_root(file)).partition(".")[0]  # noqa: PTH119


def _is_users(code: CodeType) -> bool:
    """Check whether code belongs to a package that imports mxnp itself."""
    package = _package_of(code.co_filename)
    if "mxnp" in code.co_names and package not in ("", "mxnp"):
        _users.add(package)
        _quiet.clear()
    return package in _users


def _observe(code: CodeType) -> None:
    """See the calls and the stores of code, and of the functions in it."""
    see_stores(code)
    _observe_calls(code)


def _observe_calls(code: CodeType) -> None:
    events = _monitoring.events.CALL
    if code.co_flags & OPTIMIZED:
        events |= _monitoring.events.PY_START
    _monitoring.set_local_events(_tool, code, events)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            _observe_calls(inner)


_quiet: set[str] = set()  # folders that have no code of the program


def _is_quiet(folder: str) -> bool:
    """Check whether no file of a folder can be the program's, or be included."""
    rules = get_rules()
    if rules and rules.include:
        return False
    return not _is_file_of_program(f"{folder}{os.sep}__init__.py")


def _note_quiet(file: str) -> None:
    """Note the folder of a package's file, of which code need not be seen again."""
    folder = os.path.dirname(file)  # noqa: PTH120
    if _package_of(file) not in _users and _is_quiet(folder):
        _quiet.add(folder)


def see_code(code: CodeType) -> bool:
    """See code before it runs, and return whether it is the program's."""
    if not isinstance(code, CodeType):
        return False
    is_program = _is_users(code) or _is_program(code)
    if is_program and _hold_tool():
        _observe(code)
    elif not is_program and not code.co_filename.startswith("<"):
        _note_quiet(code.co_filename)
    return is_program


def _see_running() -> None:
    """See the code that runs, or was imported, before mxnp."""
    for frame in sys._current_frames().values():
        each: FrameType | None = frame
        while each is not None:
            code = each.f_code
            is_main = each.f_globals.get("__name__") == "__main__"
            is_frozen = code.co_filename.startswith("<frozen ")  # Python's own imports
            if not is_frozen and (
                is_main or _is_users(code) or _is_file_of_program(code.co_filename)
            ):
                _observe(code)
            each = each.f_back
    del frame  # this one, which the garbage collector would have to find
    quiet: set[str] = set()  # many modules of a package are in one folder
    for name, module in list(sys.modules.items()):
        names = _names_of(module)
        path = names.get("__file__")
        if not isinstance(path, str) or is_standard(path):
            continue
        folder = os.path.dirname(path)  # noqa: PTH120
        if folder in quiet:
            continue
        if _is_file_of_program(path):
            for value in list(names.values()):
                _see_functions(value, name)
        elif _is_quiet(folder):
            quiet.add(folder)


def _see_functions(value: Any, module: str) -> None:
    """See the code of a function or class of a module, also inside decorators."""
    if type(value) is FunctionType:
        if value.__globals__.get("__name__") == module:
            _observe(value.__code__)
        for cell in value.__closure__ or ():
            with suppress(ValueError):  # it is empty
                if type(cell.cell_contents) is FunctionType:
                    _see_functions(cell.cell_contents, module)
    elif type(value) is _CACHE:
        _see_functions(value.__wrapped__, module)
    elif (
        issubclass(type(value), type) and _members_of(value).get("__module__") == module
    ):
        for _, member in _members(value):
            _see_functions(member, module)


def see_passed(function: Any) -> None:
    """
    Open the doors of a function that another process passed to this one.

    Parameters
    ----------
    function : callable
        A function of a package, or of the program, whose calls are seen then.
    """
    if not _tool or not _hold_tool():
        return
    _open_value(function, set())
    _see_functions(function, "__main__")


def _hold_tool() -> bool:
    """Take the tool, again if other code has freed it; return whether it is mxnp's."""
    name = _monitoring.get_tool(_tool)
    if name is None:
        _monitoring.use_tool_id(_tool, "mxnp")
        for event in (_monitoring.events.CALL, _monitoring.events.PY_START):
            _monitoring.register_callback(_tool, event, _bridge.door_event)
        _see_running()
    return name in (None, "mxnp")


def load() -> None:
    """Open doors from now on, if this Python has them."""
    global _tool  # noqa: PLW0603
    _bridge.set_owners(find_owner)
    if _monitoring is None:
        return
    free = [tool for tool in (4, 3, 5) if _monitoring.get_tool(tool) is None]
    if not free or not _bridge.set_door(
        load,
        functools.partial,
        functools.cache(load),
        _ITERATORS,
        open_class,
        see_callable,
        see_names,
        see_object,
        _takes_arrays,
        _monitoring.DISABLE,
    ):
        return
    _tool = free[0]
    _bridge.set_reader(_is_given)
    _bridge.set_iterators(_ITERATORS)
    is_interactive = bool(sys.flags.inspect) or hasattr(sys, "ps1")
    _bridge.hook_code(see_code, _quiet, is_interactive)
    for function in (pickle.load, pickle.loads):
        _bridge.watch_pickles(function)
    _convert_steps()
    _hold_tool()
