"""Hooks that call watchers before and after each operation of a program.

A watcher is called before each public operation on arrays: operators, functions,
methods, ufuncs and their methods, subscripts and assignments. It may return a function
that is called afterwards with the result or the exception. Operations that an operation
calls itself are part of it, and watchers are not called for them. The hooks are removed
with the last watcher, so they cost nothing while there is none.
"""

from __future__ import annotations

import enum
import functools
import linecache
import operator
import sys
import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any

import numpy
from numpy._core.umath import _extobj_contextvar, _make_extobj

from mxnp._array.ndarray import ndarray
from mxnp._array.ufunc import ufunc
from mxnp._bridge import (
    Array,
    Function,
    Hook,
    is_comparing,
    raise_handlers,
    set_checks,
    set_intercepted,
)
from mxnp._engine import places
from mxnp._engine.frames import frameless_members
from mxnp._packages import placing
from mxnp._packages.entries import FinalError

__all__ = ["Operation", "Verdict", "Watcher", "place"]

End = Callable[[Any, BaseException | None], BaseException | None]
_Make = Callable[[tuple[Any, ...], dict[str, Any]], "Operation"]


@dataclass
class Operation:
    """
    One call of an operation by the program.

    Attributes
    ----------
    name : str
        The name for messages: "add", "add.reduce", "ndarray.sort", "a[key]".
    reference : callable
        The function that does the same on NumPy arrays.
    args, kwargs : tuple, dict
        The arguments that the program passed.
    ufunc : numpy.ufunc or None
        The ufunc of an elementwise operation.
    module : str
        The module of the function; "" for members of arrays.
    """

    name: str
    reference: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    ufunc: numpy.ufunc | None = None
    module: str = ""

    @property
    def verb(self) -> str:
        """The name without its class: "sum" for ndarray.sum and for numpy.sum."""
        return self.name.removeprefix("ndarray.")


class Role(enum.IntEnum):
    """What an operation does with its arguments, as in csrc/python/object/checks.h."""

    FUNCTION = 0
    OPERATOR = 1
    IN_PLACE = 2
    GET_ITEM = 3
    SET_ITEM = 4
    OTHER = 5


class Verdict(enum.IntEnum):
    """
    What is done about the calls of a function, as in csrc/python/object/checks.h.

    Attributes
    ----------
    ASK
        The watcher is called.
    SKIP
        Nothing is checked.
    CHECK
        The call is checked in C, and the watcher is called if something is wrong.
    """

    ASK = 0
    SKIP = 1
    CHECK = 2


# -- Operators -------------------------------------------------------------------------

_BINARY: dict[str, tuple[Any, Any, numpy.ufunc]] = {
    "add": (operator.add, operator.iadd, numpy.add),
    "sub": (operator.sub, operator.isub, numpy.subtract),
    "mul": (operator.mul, operator.imul, numpy.multiply),
    "truediv": (operator.truediv, operator.itruediv, numpy.divide),
    "floordiv": (operator.floordiv, operator.ifloordiv, numpy.floor_divide),
    "mod": (operator.mod, operator.imod, numpy.remainder),
    "divmod": (divmod, None, numpy.divmod),
    "pow": (pow, operator.ipow, numpy.power),
    "lshift": (operator.lshift, operator.ilshift, numpy.left_shift),
    "rshift": (operator.rshift, operator.irshift, numpy.right_shift),
    "and": (operator.and_, operator.iand, numpy.bitwise_and),
    "or": (operator.or_, operator.ior, numpy.bitwise_or),
    "xor": (operator.xor, operator.ixor, numpy.bitwise_xor),
    "matmul": (operator.matmul, operator.imatmul, numpy.matmul),
}
_COMPARISONS = {
    "lt": numpy.less,
    "le": numpy.less_equal,
    "eq": numpy.equal,
    "ne": numpy.not_equal,
    "gt": numpy.greater,
    "ge": numpy.greater_equal,
}
_UNARY = {
    "neg": numpy.negative,
    "pos": numpy.positive,
    "abs": numpy.absolute,
    "invert": numpy.invert,
}
_READERS: dict[str, Callable[..., Any]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "index": operator.index,
}


def _slots() -> dict[str, tuple[str, Any, numpy.ufunc | None]]:
    """Return name, reference and ufunc of each slot of the array class in C."""
    found: dict[str, tuple[str, Any, numpy.ufunc | None]] = {}
    for name, (plain, inplace, op) in _BINARY.items():
        found[f"__{name}__"] = (op.__name__, plain, op)
        found[f"__r{name}__"] = (op.__name__, plain, op)
        if inplace is not None:
            found[f"__i{name}__"] = (f"in-place {op.__name__}", inplace, op)
    for name, op in _COMPARISONS.items():
        found[f"__{name}__"] = (op.__name__, getattr(operator, name), op)
    for name, op in _UNARY.items():
        found[f"__{name}__"] = (op.__name__, getattr(operator, name), op)
    for name, reader in _READERS.items():
        found[f"__{name}__"] = (f"{name}(a)", reader, None)
    found["__getitem__"] = ("a[key]", operator.getitem, None)
    found["__setitem__"] = ("a[key] = value", operator.setitem, None)
    found["__contains__"] = ("x in a", operator.contains, None)
    return found


_SLOTS = _slots()


def _role_of_slot(slot: str) -> Role:
    roles = {"__getitem__": Role.GET_ITEM, "__setitem__": Role.SET_ITEM}
    is_in_place = _SLOTS[slot][0].startswith("in-place")
    return roles.get(slot, Role.IN_PLACE if is_in_place else Role.OPERATOR)


def _is_reflected(slot: str) -> bool:
    return slot[2:3] == "r" and slot[:2] + slot[3:] in _SLOTS


def _of_slot(slot: str, args: tuple[Any, ...], _: dict[str, Any]) -> Operation:
    name, reference, op = _SLOTS[slot]
    if type(args[0]) is not ndarray:
        raise TypeError
    if _is_reflected(slot):
        args = (args[1], args[0], *args[2:])  # the order in the program
    return Operation(name, reference, args, {}, op)


# -- Functions -------------------------------------------------------------------------


def _of_function(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation:
    function, *rest = args
    wrapped = function.__wrapped__
    given = tuple(rest)
    if isinstance(function, ufunc):
        name, reference = wrapped.__name__, _chosen(function)
        return Operation(name, reference, given, kwargs, wrapped, "numpy")
    owner = getattr(wrapped, "__objclass__", None)
    if owner is numpy.ufunc:
        of = given[0].__name__ if given and isinstance(given[0], ufunc) else "ufunc"
        return Operation(f"{of}.{wrapped.__name__}", wrapped, given, kwargs)
    member: Any = getattr(wrapped, "__self__", None)
    if wrapped.__name__ in ("__get__", "__set__", "__delete__"):
        verb = (
            "" if wrapped.__name__ == "__get__" else wrapped.__name__.strip("_") + " "
        )
        name = f"{verb}ndarray.{getattr(member, '__name__', 'attribute')}"
        return Operation(name, wrapped, given, kwargs)
    if owner is numpy.ndarray:
        return Operation(f"ndarray.{wrapped.__name__}", wrapped, given, kwargs)
    module = str(getattr(wrapped, "__module__", None) or type(member).__module__)
    name, reference = function.__name__, _chosen(function)
    return Operation(name, reference, given, kwargs, module=module)


def _chosen(function: Function) -> Callable[..., Any]:
    """Return the function of NumPy that is called, which may depend on arguments."""
    choose = function.choose
    if choose is None:
        return function.__wrapped__  # type: ignore[no-any-return]
    return lambda *args, **kwargs: choose(*args, **kwargs)(*args, **kwargs)


def _of_ufunc_protocol(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation:
    _, op, method, *inputs = args
    if method == "__call__":
        return Operation(op.__name__, op, tuple(inputs), kwargs, op, "numpy")
    name = f"{op.__name__}.{method}"
    return Operation(name, getattr(op, method), tuple(inputs), kwargs)


def _of_function_protocol(args: tuple[Any, ...], _: dict[str, Any]) -> Operation:
    _, function, _, given, kwargs = args
    module = getattr(function, "__module__", "")
    return Operation(function.__name__, function, tuple(given), kwargs, None, module)


def _of_division(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation:
    row, entry, *given = args
    function = entry.function
    if "." in row.names:  # a method, of an object that it leaves as it is
        function = functools.partial(function, given.pop(0))
    return Operation(entry.name, function, tuple(given), kwargs)


# -- Watching --------------------------------------------------------------------------


@frameless_members
class Watcher:
    """
    Base class of context managers that are called before and after each operation.

    Parameters
    ----------
    everywhere : bool
        Whether to watch all threads. Otherwise only the thread or task that runs the
        block is watched.
    """

    kind = ""  # of the checks in C: "numpy", "nan", "finite" or "" for none
    fraction = 1.0

    def __init__(self, everywhere: bool) -> None:
        self._everywhere = everywhere
        self._tokens: list[Token[tuple[Watcher, ...]] | None] = []

    def begin(self, operation: Operation) -> End | None:
        """Return a function to call at the end of an operation, or None."""
        raise NotImplementedError

    def classify(self, operation: Operation) -> Verdict:
        """Return what is done about the calls of a function in C."""
        raise NotImplementedError

    def settle(self) -> None:
        """Count what has been checked in C, before the checks change."""

    def __enter__(self) -> Any:
        global _global_watchers  # noqa: PLW0603
        with _lock:
            if self._everywhere:
                _global_watchers = (*_global_watchers, self)
                self._tokens.append(None)
            else:
                self._tokens.append(_local_watchers.set((*_local_watchers.get(), self)))
            _change(self, True)
        return self

    def __exit__(self, *exception: object) -> None:
        global _global_watchers  # noqa: PLW0603
        with _lock:
            token = self._tokens.pop()
            if token is None:
                _global_watchers = tuple(
                    each for each in _global_watchers if each is not self
                )
            else:
                _local_watchers.reset(token)
            _change(self, False)


def _change(watcher: Watcher, is_added: bool) -> None:
    """Add or remove a watcher. The only one that is active has checks in C."""
    if len(_active) == 1:
        _active[0].settle()
    if is_added:
        _active.append(watcher)
        if len(_active) == 1:
            _install()
    else:
        _active.remove(watcher)
        if not _active:
            _uninstall()
    _set_checks(_active[0] if len(_active) == 1 else None)


def only_watcher() -> Watcher | None:
    """Return the watcher whose checks are made in C, if there is one."""
    return _active[0] if len(_active) == 1 else None


_lock = threading.Lock()
_active: list[Watcher] = []  # a watcher is listed once for each block that it is in
_global_watchers: tuple[Watcher, ...] = ()
_local_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


def _begin(
    make: _Make,
    original: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
) -> End | None:
    watchers = (*_global_watchers, *_local_watchers.get())
    if not watchers:
        return None
    try:
        operation = make(args, kwargs or {})
    except (TypeError, ValueError, IndexError, AttributeError):
        return None  # wrong arguments, for which the operation raises its own error
    return _ask(watchers, operation)


def _ask(watchers: Iterable[Watcher], operation: Operation) -> End | None:
    ends = [end for each in watchers if (end := each.begin(operation)) is not None]
    if not ends:
        return None
    return ends[0] if len(ends) == 1 else functools.partial(_end, ends)


def _begin_division(_: Any, args: tuple[Any, ...], kwargs: Any) -> End | None:
    """Let the watchers that compare see a divided call, whose function is SciPy's."""
    watchers = (*_global_watchers, *_local_watchers.get())
    comparing = (each for each in watchers if each.kind == "numpy")
    end = _ask(comparing, _of_division(args, kwargs or {}))
    if end is None:
        return None

    def compare(result: Any, error: BaseException | None) -> BaseException | None:
        # After an error in a piece, SciPy's function is called.
        failure = None if error is not None else end(result, None)
        return failure and FinalError(failure)

    return compare


def _end(
    ends: list[End], result: Any, error: BaseException | None
) -> BaseException | None:
    """Call all watchers at the end of an operation; return the first error."""
    failures = (end(result, error) for end in ends)
    return next((failure for failure in failures if failure is not None), None)


def _hook(cls: type, name: str, original: Any, make: _Make, *rest: Any) -> None:
    """Replace a method. `rest` describes the operation for the checks in C."""
    setattr(cls, name, Hook(original, functools.partial(_begin, make), *rest))


def _install() -> None:
    """Replace the methods of the classes by hooks."""
    _hook(Function, "__call__", _call, _of_function, Role.FUNCTION)
    set_intercepted(True)
    for slot, (_, reference, _) in _SLOTS.items():
        make: _Make = functools.partial(_of_slot, slot)
        role, original = _role_of_slot(slot), vars(Array)[slot]
        _hook(ndarray, slot, original, make, role, reference, _is_reflected(slot))
    for name, make in _PROTOCOLS.items():
        _hook(ndarray, name, vars(Array)[name], make)
    placing.call_divider = Hook(_call_divider, _begin_division)


class _HiddenWarnings:
    """The pattern of a warnings filter for what NumPy issues in a comparison."""

    @staticmethod
    def match(text: str) -> bool:
        return is_comparing()


_FILTER = ("ignore", _HiddenWarnings(), Warning, None, 0)


def _are_settings_plain() -> bool:
    """Check whether NumPy's settings of errors neither raise, call nor log."""
    return {*numpy.geterr().values()} <= {"warn", "ignore"}


def _set_checks(watcher: Watcher | None) -> None:
    """Set what is checked in C, without calling a watcher."""
    if watcher is None or not watcher.kind:
        set_checks("", 1.0, None, None, None, None, None)
        return

    def classify(function: Function) -> Verdict:
        try:
            operation = _of_function((function,), {})
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            raise_handlers(error)
            return Verdict.ASK  # its name depends on its arguments
        return watcher.classify(operation)

    set_checks(
        watcher.kind,
        watcher.fraction,
        classify,
        _extobj_contextvar,
        _make_extobj(all="ignore"),
        _are_settings_plain,
        _FILTER,
    )


def _uninstall() -> None:
    """Remove the hooks, so that Python calls the slots in C directly again."""
    Function.__call__ = _call  # type: ignore[method-assign]
    placing.call_divider = _call_divider
    for name in (*_SLOTS, *_PROTOCOLS):
        delattr(ndarray, name)
    set_intercepted(False)  # restores slots of the classes, too


_call = vars(Function)["__call__"]
_call_divider = placing.call_divider
_PROTOCOLS: dict[str, _Make] = {
    "__array_ufunc__": _of_ufunc_protocol,
    "__array_function__": _of_function_protocol,
}


# -- The program's line ----------------------------------------------------------------


def _is_own(package: str | None) -> bool:
    return package is not None and (package == "mxnp" or package.startswith("mxnp._"))


def place() -> str:
    """Return file, line and text of the innermost frame outside mxnp."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_own(frame.f_globals.get("__package__")):
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line, frame.f_globals).strip()
    where = places.describe(file, line)
    return f"{where}: {text}" if text else where
