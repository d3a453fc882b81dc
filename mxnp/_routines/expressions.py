"""Decides whether the calling frame returns to mxnp before other code runs.

The code of other packages may write to memory that it shares with mxnp at any time. So
an operation that reads shared memory can wait only while no other code runs. Between
two operations of one expression, as in ``(np.sqrt(a*a + 1)*2).sum()``, the interpreter
only loads names, constants and attributes of modules.

The instructions of a code object are read once. Each operator and each call becomes a
`Step`, which holds its operands and the next step. Names and constants show what the
operands are. An unknown instruction ends the expression. An unknown operand is treated
as an object of another package.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine.frames import variables_of


class UnknownError(Exception):
    """An operand is unknown."""


# -- Names -----------------------------------------------------------------------------


class Scope:
    """The names of a frame, looked up as its instructions look them up."""

    def __init__(self, frame: FrameType, newest: Step | None = None) -> None:
        self.frame = frame
        self.newest = newest  # the step whose result is known to be an array
        self._variables: Any = None

    def variable(self, name: str) -> Any:
        if self._variables is None:
            self._variables = variables_of(self.frame)
            if self._variables is None:
                raise UnknownError
        return _find(name, self._variables)

    def outside(self, name: str) -> Any:
        return _find_in_dicts(name, self.frame.f_globals, self.frame.f_builtins)

    def anywhere(self, name: str) -> Any:
        frame = self.frame
        return _find_in_dicts(name, frame.f_locals, frame.f_globals, frame.f_builtins)


def _find(name: str, *namespaces: Any) -> Any:
    for names in namespaces:
        if name in names:
            return names[name]
    raise UnknownError


def _find_in_dicts(name: str, *namespaces: Any) -> Any:
    if any(type(names) is not dict for names in namespaces):
        raise UnknownError
    return _find(name, *namespaces)


# -- Operands --------------------------------------------------------------------------

_AN_ARRAY, _A_SCALAR = ndarray(1), numpy.float64()
_PLAIN = {*numpy.sctypeDict.values(), int, float, complex, bool, str, bytes, type(None)}
_PLAIN -= {numpy.object_, numpy.void}


def _is_plain(x: Any) -> bool:
    """Return whether an operand runs only code of mxnp and NumPy.

    The check does not use the object's attributes, which could run its code.
    """
    kind = type(x)
    if kind is ndarray:
        return not x.dtype.hasobject
    if kind is tuple:
        return all(map(_is_plain, x))
    if kind is type:
        return x in _PLAIN
    return (type(kind) is type and kind in _PLAIN) or issubclass(kind, numpy.dtype)


class Operand:
    """An object on the stack of a frame. This base class is an unknown object."""

    def value(self, scope: Scope) -> Any:
        """Return the object or a similar one, or raise UnknownError."""
        raise UnknownError


class Constant(Operand):
    def __init__(self, constant: Any) -> None:
        self.constant = constant

    def value(self, scope: Scope) -> Any:
        return self.constant


class Name(Operand):
    def __init__(self, find: Callable[[Scope, str], Any], name: str) -> None:
        self.find, self.name = find, name

    def value(self, scope: Scope) -> Any:
        return self.find(scope, self.name)


class Attribute(Operand):
    def __init__(self, of: Operand, name: str) -> None:
        self.of, self.name = of, name

    def value(self, scope: Scope) -> Any:
        owner = self.of.value(scope)
        if owner is _A_SCALAR or (type(owner) is ndarray and _is_plain(owner)):
            return _find(self.name, vars(ndarray))
        if type(owner) is ModuleType:
            return _find(self.name, vars(owner))
        raise UnknownError


class Group(Operand):
    """A tuple or list of objects on the stack."""

    def __init__(self, items: list[Operand]) -> None:
        self.items = items

    def value(self, scope: Scope) -> Any:
        return tuple(item.value(scope) for item in self.items)


class Step(Operand):
    """An operator or a call, and its result."""

    def __init__(self, function: Operand | None, operands: list[Operand]) -> None:
        self.function, self.operands = function, operands
        self.keywords: tuple[str, ...] = ()  # the names of its last operands
        self.loads: list[Operand] = []  # operands loaded since the previous step
        self.next: Step | None = None

    def value(self, scope: Scope) -> Any:
        if self is scope.newest:
            return _AN_ARRAY
        if not self.is_plain(scope):
            raise UnknownError
        return _A_SCALAR  # or an array

    def is_plain(self, scope: Scope) -> bool:
        """Return whether the step runs only code of mxnp and NumPy."""
        return all(_is_plain(operand.value(scope)) for operand in self.operands) and (
            not self.function or _records(self.function.value(scope))
        )

    def follows(self, scope: Scope) -> bool:
        """Return whether the interpreter certainly reaches this step, and so mxnp."""
        for load in self.loads:
            load.value(scope)
        owner = self.find_owner()
        if isinstance(owner, Step) and owner is not scope.newest:
            return False  # it may be a scalar of NumPy
        operands = (operand.value(scope) for operand in self.operands)
        is_ours = self.function or any(type(x) is ndarray for x in operands)
        return bool(is_ours) and self.is_plain(scope)

    def find_owner(self) -> Operand | None:
        """Return the operand whose method the step calls."""
        return self.function.of if isinstance(self.function, Attribute) else None


def _records(function: Any) -> bool:
    if not issubclass(type(function), _bridge.Function):
        return False
    forms = function.implementation, function.gpu_implementation
    return function.operation >= 0 or forms != (None, None)


# -- Instructions ----------------------------------------------------------------------

_LAST_OPERATOR = 25  # later arguments of BINARY_OP are not operators
_HAS_METHOD_LOADS = sys.version_info < (3, 12)  # later versions use LOAD_ATTR
_NULL_COMES_FIRST = sys.version_info < (3, 13)
_UNKNOWN, _NULL = Operand(), Operand()


class Reader:
    """Reads the steps of a code object from its instructions."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        cells = [name for name in code.co_cellvars if name not in code.co_varnames]
        self.variables = (*code.co_varnames, *cells, *code.co_freevars)
        self.steps: dict[int, Step] = {}
        self.reset()

    def reset(self) -> None:
        """Forget the stack."""
        self.stack: list[Operand] = []
        self.loads: list[Operand] = []
        self.newest: Step | None = None
        self.keywords: tuple[str, ...] = ()

    def read(self) -> dict[int, Step]:
        """Return the steps by their offsets."""
        from dis import findlabels

        labels = set(findlabels(self.code.co_code))  # type: ignore[arg-type]
        for offset, name, argument in _instructions(self.code.co_code):
            if offset in labels:
                self.reset()
            if name not in _WITHOUT_EFFECT:
                step = _ACTIONS.get(name, Reader.reset_by)(self, argument)
                if step:
                    self.steps[offset] = step
        return self.steps

    def reset_by(self, argument: int) -> None:
        self.reset()

    def pop(self) -> Operand:
        return self.stack.pop() if self.stack else _UNKNOWN

    def pop_many(self, count: int) -> list[Operand]:
        return [self.pop() for _ in range(count)][::-1]

    def load(self, operand: Operand) -> None:
        self.stack.append(operand)
        self.loads.append(operand)

    def load_constant(self, argument: int) -> None:
        self.load(Constant(self.code.co_consts[argument]))

    def load_integer(self, argument: int) -> None:
        self.load(Constant(argument))

    def load_variable(self, argument: int) -> None:
        self.load(Name(Scope.variable, self.variables[argument]))

    def load_two_variables(self, argument: int) -> None:
        self.load_variable(argument >> 4)
        self.load_variable(argument & 15)

    def load_name(self, argument: int) -> None:
        self.load(Name(Scope.anywhere, self.code.co_names[argument]))

    def load_global(self, argument: int) -> None:
        self.load(Name(Scope.outside, self.code.co_names[argument >> 1]))
        if argument & 1:
            self.stack.insert(len(self.stack) - _NULL_COMES_FIRST, _NULL)

    def load_attribute(self, argument: int) -> None:
        name = argument if _HAS_METHOD_LOADS else argument >> 1
        self.load(Attribute(self.pop(), self.code.co_names[name]))
        if not _HAS_METHOD_LOADS and argument & 1:
            self.push_null(argument)

    def load_method(self, argument: int) -> None:
        self.load(Attribute(self.pop(), self.code.co_names[argument]))
        self.push_null(argument)

    def push_null(self, argument: int) -> None:
        self.stack.append(_NULL)

    def build(self, argument: int) -> None:
        self.stack.append(Group(self.pop_many(argument)))

    def add_step(self, function: Operand | None, operands: list[Operand]) -> Step:
        step = Step(function, operands)
        step.loads, self.loads = self.loads, []
        if self.newest:
            self.newest.next = step
        self.newest = step
        self.stack.append(step)
        return step

    def operate_on_one(self, argument: int) -> Step:
        return self.add_step(None, self.pop_many(1))

    def operate_on_two(self, argument: int) -> Step:
        return self.add_step(None, self.pop_many(2))

    def operate(self, argument: int) -> Step | None:
        if argument <= _LAST_OPERATOR:
            return self.operate_on_two(argument)
        self.reset()
        return None

    def name_keywords(self, argument: int) -> None:
        self.keywords = self.code.co_consts[argument]

    def call(self, argument: int) -> Step:
        operands = self.pop_many(argument)
        functions = [x for x in self.pop_many(2) if x is not _NULL]
        step = self.add_step(
            functions[0] if len(functions) == 1 else _UNKNOWN, operands
        )
        step.keywords, self.keywords = self.keywords, ()
        return step

    def call_with_keywords(self, argument: int) -> Step:
        names = self.pop()
        self.keywords = names.constant if isinstance(names, Constant) else ()
        return self.call(argument)


_WITHOUT_EFFECT = {"CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "PRECALL"}
_ACTIONS: dict[str, Callable[[Reader, int], Step | None]] = {
    "BINARY_OP": Reader.operate,
    "BUILD_LIST": Reader.build,
    "BUILD_TUPLE": Reader.build,
    "CALL": Reader.call,
    "CALL_KW": Reader.call_with_keywords,
    "COMPARE_OP": Reader.operate_on_two,
    "KW_NAMES": Reader.name_keywords,
    "LOAD_ATTR": Reader.load_attribute,
    "LOAD_CONST": Reader.load_constant,
    "LOAD_DEREF": Reader.load_variable,
    "LOAD_FAST": Reader.load_variable,
    "LOAD_FAST_BORROW": Reader.load_variable,
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": Reader.load_two_variables,
    "LOAD_FAST_CHECK": Reader.load_variable,
    "LOAD_FAST_LOAD_FAST": Reader.load_two_variables,
    "LOAD_GLOBAL": Reader.load_global,
    "LOAD_METHOD": Reader.load_method,
    "LOAD_NAME": Reader.load_name,
    "LOAD_SMALL_INT": Reader.load_integer,
    "PUSH_NULL": Reader.push_null,
    "UNARY_INVERT": Reader.operate_on_one,
    "UNARY_NEGATIVE": Reader.operate_on_one,
    "UNARY_POSITIVE": Reader.operate_on_one,
}


def _instructions(code: bytes) -> Iterator[tuple[int, str, int]]:
    """Yield the offset, the name and the argument of each instruction."""
    from dis import opname

    high = 0
    for offset in range(0, len(code), 2):
        name, argument = opname[code[offset]], high | code[offset + 1]
        yield offset, name, argument
        high = argument << 8 if name == "EXTENDED_ARG" else 0


# -- Calls from the bridge -------------------------------------------------------------

# The steps of code objects that exist, by the objects' addresses.
_steps: dict[int, tuple[weakref.ref[CodeType], dict[int, Step]]] = {}


def _step_at(frame: FrameType) -> Step | None:
    code = frame.f_code
    address = id(code)
    if address not in _steps:
        # In a callback that is compiled, no exception of a signal handler is lost.
        reference = weakref.ref(code, partial(_steps.pop, address))
        _steps[address] = reference, Reader(code).read()
    return _steps[address][1].get(frame.f_lasti)


def _is_watched() -> bool:
    """Return whether tracers or profilers run between the program's instructions."""
    if sys.gettrace() or sys.getprofile():
        return True
    if sys.version_info < (3, 12):
        return False
    tools = {sys.monitoring.get_tool(number) for number in range(6)}
    return not tools <= {None, "mxnp"}  # mxnp's own runs nothing but mxnp


def goes_on(callee: Any) -> bool:
    """Return whether the calling frame returns to mxnp before other code runs.

    The frame is at a call of `callee`, or at an operator if `callee` is None. The
    result of this step is an array.
    """
    frame = sys._getframe(1)
    step = _step_at(frame)
    if not step or not step.next or _is_watched():
        return False
    try:
        return _is_call_of(callee, step, frame) and step.next.follows(
            Scope(frame, step)
        )
    except UnknownError:
        return False


def _is_call_of(callee: Any, step: Step, frame: FrameType) -> bool:
    """Return whether the frame itself calls `callee`, without code in between."""
    scope = Scope(frame)
    function = step.function.value(scope) if step.function else None
    return function is callee and step.is_plain(scope)


def temporaries(callee: Any) -> int:
    """Return the arguments of the callee that are intermediate results, as bits."""
    frame = sys._getframe(1)
    step = _step_at(frame)
    try:
        if not step or not _is_call_of(callee, step, frame):
            return 0
    except UnknownError:
        return 0
    owner = step.find_owner() if issubclass(type(callee), _bridge.Method) else None
    arguments = [owner, *step.operands] if owner else step.operands
    return sum(1 << i for i, x in enumerate(arguments) if isinstance(x, Step))


def names_out(_: Any) -> bool:
    """Return whether the call that the calling frame makes has the keyword `out`."""
    step = _step_at(sys._getframe(1))
    return step is not None and "out" in step.keywords


_bridge.set_expressions(goes_on, temporaries, names_out)
