"""Record the values that the loops of a program have when they begin and end."""

from __future__ import annotations

import ast
import builtins
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from itertools import combinations
from typing import Any

import numpy

from mxnp._bridge import raise_handlers
from mxnp._doctor.syntax import LOOPS, Source, Spot, dotted_name, spot, stored
from mxnp._interop.program_files import is_in_program

from . import hooks
from .copies import Copier, TooLargeError, is_array, members, random_state

_MOST_BYTES = 1 << 30  # of all copies
RANDOM = "numpy.random"  # the state of NumPy's functions that draw random numbers
_FIRST = 16  # executions that are kept; later ones if their number is a power of two
_MOST_FORMS = 256  # of a unit
_REDUCTIONS = ("sum", "max", "min", "any", "all")

Values = dict[str, Any]


@dataclass(frozen=True)
class Begun:
    """
    The values of an execution that has begun.

    Attributes
    ----------
    frame : int
        The identity of its frame.
    form : tuple or None
        The types of the values: see `Unit.form`.
    values : dict
        The copies.
    cost : int
        The bytes that the copies need.
    """

    frame: int
    form: Any
    values: Values
    cost: int


@dataclass
class Unit:
    """
    A loop or an expression whose values are recorded.

    Attributes
    ----------
    parts : dict
        The names to record, each with the attributes that are read or set.
    stored : frozenset of str
        The names that the unit sets, or whose elements it sets.
    draws : bool
        Whether the values include the state of ``numpy.random``.
    count : int
        How often it began.
    kept : list of tuple
        The values of names at the beginning and at the end, and the result of the
        expression, of some executions.
    begun : Begun or None
        The execution that is kept if it ends. It is the last one that began, so that
        executions that never end need no memory.
    forms : dict
        The forms of the values, each with whether an execution with it was kept.
    is_too_large : bool
        Whether an execution was left out because its values need too much memory.
    has_failed : bool
        Whether copying the values raised an exception.
    shared : str
        Two arrays that shared memory in an execution, where the unit sets one of them.
    """

    parts: dict[str, set[str]]
    stored: frozenset[str]
    draws: bool = False
    count: int = 0
    kept: list[tuple[Values, Values, Any]] = field(default_factory=list)
    begun: Begun | None = None
    forms: dict[Any, bool] = field(default_factory=dict)
    is_too_large: bool = False
    has_failed: bool = False
    shared: str = ""

    @property
    def is_due(self) -> bool:
        """Whether to keep the execution that has just begun, whatever its form is."""
        return self.count <= _FIRST or self.count & (self.count - 1) == 0

    def form(self, variables: list[tuple[str, Any]]) -> Any:
        """Return the form of the values, or None if there are too many forms."""
        form = tuple(_form(value) for _, value in variables)
        is_known = form in self.forms or len(self.forms) < _MOST_FORMS
        return form if is_known else None

    def check_memory(self, variables: list[tuple[str, Any]]) -> None:
        """Note whether an array shares memory with an array that the unit sets."""
        arrays = [(name, value) for name, value in variables if is_array(value)]
        for (one, first), (other, second) in combinations(arrays, 2):
            is_stored = not self.stored.isdisjoint((one, other))
            if is_stored and _may_share_memory(first, second):
                self.shared = f"`{one}` and `{other}`"


class Recording:
    """
    Context manager in which the program's files are compiled with calls that record.

    The calls are around loops and around expressions that the doctor may rewrite. They
    have no place in the source, so the counts of the doctor and tracebacks do not
    change. Byte code of such files is neither read nor written.

    Attributes
    ----------
    contents : dict
        The files, with the bytes that were compiled.
    units : dict
        The units by file and position.
    """

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.units: dict[tuple[str, Spot], Unit] = {}
        self._order: list[Unit] = []
        self._left = _MOST_BYTES

    def __enter__(self) -> Recording:
        original = SourceFileLoader.get_code

        def get_code(loader: Any, name: str) -> types.CodeType | None:
            file = loader.get_filename(name)
            code = None
            if is_in_program(file):
                code = self.compile(loader.get_data(file), file)
            return code or original(loader, name)

        SourceFileLoader.get_code = get_code  # type: ignore[assignment,method-assign]
        hooks.begin, hooks.end = self.begin, self.end
        return self

    def __exit__(self, *error: object) -> None:
        del SourceFileLoader.get_code
        hooks.begin, hooks.end = hooks.ignore, hooks.result_of

    def compile(self, content: bytes, file: str) -> types.CodeType | None:
        """Compile a file of the program with the calls that record, or return None.

        Parameters
        ----------
        content : bytes
            The content of the file.
        file : str
            The name of the file.
        """
        source = Source.of(file)
        with suppress(SyntaxError, ValueError, RecursionError):
            code: types.CodeType = compile(content, file, "exec", dont_inherit=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the first compilation has warned
                if source is not None:
                    tree = _Calls(self, source).visit(ast.parse(content))
                    code = compile(tree, file, "exec", dont_inherit=True)
                    self.contents[file] = content
            return code
        return None

    def add(self, source: Source, node: ast.AST) -> int:
        """Return the number of a new unit."""
        parts: dict[str, set[str]] = {source.numpy: set()}
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                parts.setdefault(part.id, set())
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                parts.setdefault(part.value.id, set()).add(part.attr)
        draws = "random" in parts[source.numpy]
        unit = Unit(parts, frozenset(stored(node)), draws)
        unit = self.units.setdefault((source.file, spot(node)), unit)
        self._order.append(unit)
        return len(self._order) - 1

    # -- Calls of the program ----------------------------------------------------------

    def begin(self, number: int) -> int:
        """Keep the values of names before a unit runs; return its number."""
        unit = self._order[number]
        self._drop(unit)
        unit.count += 1
        if not unit.has_failed:
            self._try(self._begin, unit, sys._getframe(1))
        return number

    def end(self, number: int, result: Any = None) -> Any:
        """Keep the values of names after a unit has run; return its result."""
        unit = self._order[number]
        begun = unit.begun  # another thread may change it
        if begun is not None and begun.frame == id(sys._getframe(1)):
            self._try(self._end, unit, sys._getframe(1), begun, result)
        return result

    def _try(self, step: Callable[..., None], unit: Unit, *args: Any) -> None:
        """Call a method, and raise only exceptions of the program's handlers."""
        try:
            step(unit, *args)
        except Exception as error:
            raise_handlers(error)
            unit.is_too_large |= isinstance(error, TooLargeError)
            unit.has_failed |= not isinstance(error, TooLargeError)
            self._drop(unit)

    def _begin(self, unit: Unit, frame: types.FrameType) -> None:
        variables = [*_variables(unit, frame)]
        unit.check_memory(variables)
        form = unit.form(variables)
        is_due = unit.is_due or form not in unit.forms
        unit.forms.setdefault(form, False)
        if is_due and not unit.is_too_large:
            copier = Copier(self._left)
            values = _values(unit, frame, copier)
            self._left -= copier.taken
            unit.begun = Begun(id(frame), form, values, copier.taken)

    def _end(
        self, unit: Unit, frame: types.FrameType, begun: Begun, result: Any
    ) -> None:
        copier = Copier(self._left)
        after = _values(unit, frame, copier)
        unit.kept.append((begun.values, after, copier.copied(result)))
        unit.forms[begun.form] = begun.form is not None
        unit.begun = None
        self._left -= copier.taken

    def _drop(self, unit: Unit) -> None:
        """Free the copies of an execution that did not end."""
        begun, unit.begun = unit.begun, None
        if begun is not None:
            self._left += begun.cost


def _variables(unit: Unit, frame: types.FrameType) -> Iterator[tuple[str, Any]]:
    """Yield the values that names and attributes of a unit have in a frame."""
    names = frame.f_locals
    for name, parts in unit.parts.items():
        value = names.get(name, frame.f_globals.get(name))
        yield name, value
        if parts:
            held = members(value)
            for part in sorted(parts & held.keys()):
                yield f"{name}.{part}", held[part]


def _may_share_memory(one: Any, other: Any) -> bool:
    return numpy.may_share_memory(numpy.asarray(one), numpy.asarray(other))


def _form(value: Any) -> Any:
    """Return the type of a value, and whether it has no, one or more elements."""
    kind = type(value)
    if is_array(value):
        return kind, value.dtype.char, *(min(n, 2) for n in value.shape)
    if kind in (list, tuple):
        return kind, min(len(value), 2)
    return (kind, min(max(value, 0), 2)) if kind is int else kind


def _values(unit: Unit, frame: types.FrameType, copier: Copier) -> Values:
    """Return copies of the values that the names of a unit have in a frame."""
    found: Values = {RANDOM: random_state()} if unit.draws else {}
    for names in (frame.f_locals, frame.f_globals, vars(builtins)):
        for name, parts in unit.parts.items():
            if name in names and name not in found:
                found[name] = copier.copied(names[name], parts)
    return found


class _Calls(ast.NodeTransformer):
    """Put calls of a recording around the units of a syntax tree."""

    def __init__(self, recording: Recording, source: Source) -> None:
        self._recording = recording
        self._source = source

    def visit(self, node: ast.AST) -> Any:
        if getattr(node, "decorator_list", ()):  # it may be compiled, as by Numba
            return node
        is_loop = isinstance(node, LOOPS)
        if not is_loop and not self._is_rewritable(node):
            return self.generic_visit(node)
        number = ast.Constant(self._recording.add(self._source, node))
        begin = _called("begin", number)
        self.generic_visit(node)
        if is_loop:
            end = _called("end", number)
            return [_placed(ast.Expr(begin), node), node, _placed(ast.Expr(end), node)]
        return _placed(_called("end", begin, node), node)  # type: ignore[arg-type]

    def _is_rewritable(self, node: ast.AST) -> bool:
        """Check whether a pattern of the doctor may find an expression."""
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, ast.MatMult)
        if not isinstance(node, ast.Call):
            return isinstance(node, ast.ListComp)
        name = dotted_name(node.func)
        made = self._source.only_value(name) or node.func
        function = self._source.only_function(name)
        return (
            (name in _REDUCTIONS and len(node.args) <= 2)
            or name.endswith(("dot", "array"))
            or isinstance(made, ast.Call)
            or bool(function and function.decorator_list)
        )


def _called(method: str, *args: ast.expr) -> ast.Call:
    """Return a call of a hook, which other processes can import too."""
    names = ast.Tuple([ast.Constant(method)], ast.Load())
    imported = ast.Call(
        ast.Name("__import__", ast.Load()),
        [ast.Constant(hooks.__name__)],
        [ast.keyword("fromlist", names)],
    )
    return ast.Call(ast.Attribute(imported, method, ast.Load()), [*args], [])


def _placed(new: ast.AST, node: ast.AST) -> ast.AST:
    """Set the place of new nodes: an empty one, where the program's node begins."""
    first, _, left, _ = spot(node)
    place = {"lineno": first, "end_lineno": first}
    place |= {"col_offset": left, "end_col_offset": left}
    parts = [new]
    while parts:
        part = parts.pop()
        if not hasattr(part, "lineno"):
            for name, value in place.items():
                setattr(part, name, value)
            parts += ast.iter_child_nodes(part)
    return new
