"""The syntax trees of a program's files, and the counts of each node."""

from __future__ import annotations

import ast
import builtins
import linecache
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from mxnp._profiler.model import Place, Report, Row, Wait

LOOPS = (ast.For, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Module)
# Functions of Python that do not change their arguments.
PURE = {
    *("abs", "float", "int", "bool", "max", "min", "len", "range", "round", "print"),
    *("enumerate", "zip", "complex", "str"),
}
# Functions whose result reads the elements of their arguments when it is iterated over.
_LAZY = {"enumerate", "filter", "iter", "map", "reversed", "zip"}
_NUMPY_MODULES = ("numpy", "mxnp")

Spot = tuple[int, int, int, int]  # first and last line, columns in bytes of UTF-8


class Source:
    """
    A file of the program.

    Parameters
    ----------
    file : str
        The file, as in code objects.
    text : str
        The content of the file.

    Raises
    ------
    SyntaxError
        If the text is not Python source.
    """

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.tree = ast.parse(text)
        self._lines = text.encode().splitlines(keepends=True)
        self._parents: dict[ast.AST, ast.AST] = {}
        self._at: dict[Spot, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.expr, ast.stmt)):
                # An expression replaces the statement that consists of it.
                self._at[spot(node)] = node

    @classmethod
    def of(cls, file: str) -> Source | None:
        """Read a file. Return None if it does not exist or is not Python source."""
        try:
            return cls(file, "".join(linecache.getlines(file)))
        except (SyntaxError, ValueError):
            return None

    # -- Nodes -------------------------------------------------------------------------

    def at(self, place: Place) -> ast.AST | None:
        """Return the node at a place, or None."""
        return self._at.get(
            (place.line, place.end_line, place.column, place.end_column)
        )

    def reader(self, node: ast.AST) -> ast.AST:
        """
        Return the loop or comprehension that iterates over an expression.

        Return the expression itself if there is none. From Python 3.13 on, the
        instruction of the iteration has the place of the expression.
        """
        above = self._parents.get(node)
        is_lazy = isinstance(node, ast.Call) and dotted_name(node.func) in _LAZY
        is_array = is_lazy or isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
        if above is None or not is_array or getattr(above, "iter", None) is not node:
            return node
        return self._parents[above] if isinstance(above, ast.comprehension) else above

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the parent of a node."""
        return self._parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the ancestors of a node, the innermost first."""
        above = self._parents.get(node)
        while above is not None:
            yield above
            above = self._parents.get(above)

    def scope(self, node: ast.AST) -> ast.AST:
        """Return the function, class or module that contains a node."""
        return next(
            (above for above in self.ancestors(node) if isinstance(above, _SCOPES)),
            self.tree,
        )

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement that contains a node."""
        if isinstance(node, ast.stmt):
            return node
        return next(
            above for above in self.ancestors(node) if isinstance(above, ast.stmt)
        )

    def loops(self, node: ast.AST) -> list[ast.AST]:
        """Return the loops of the same function around a node, the innermost first."""
        found: list[ast.AST] = []
        inner = node
        for above in self.ancestors(node):
            if isinstance(above, _SCOPES):
                break
            is_evaluated_once = (
                inner is above.iter
                if isinstance(above, ast.For)
                else isinstance(inner, ast.comprehension)
                and inner is above.generators[0]  # type: ignore[attr-defined]
                and _is_in(node, inner.iter)
            )
            if isinstance(above, (*LOOPS, *COMPREHENSIONS)) and not is_evaluated_once:
                found.append(above)
            inner = above
        return found

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the list of statements that contains a statement."""
        above = self._parents[statement]
        for _, value in ast.iter_fields(above):
            if isinstance(value, list) and statement in value:
                return value
        return [statement]

    def names(self, within: ast.AST, name: str) -> list[ast.Name]:
        """Return the uses of a name, including those in nested functions."""
        return [
            node
            for node in ast.walk(within)
            if isinstance(node, ast.Name) and node.id == name
        ]

    def only_value(self, name: str) -> ast.expr | None:
        """Return the value of the only assignment to a name in the file, or None."""
        stores = [use for use in self.names(self.tree, name) if is_stored(use)]
        above = self._parents[stores[0]] if len(stores) == 1 else None
        return above.value if isinstance(above, ast.Assign) else None

    def only_function(self, name: str) -> ast.FunctionDef | None:
        """Return the only function of the file that has a name, or None."""
        found = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef) and node.name == name
        ]
        return found[0] if len(found) == 1 else None

    @cached_property
    def redefined(self) -> set[str]:
        """The names of Python's functions to which the file gives another meaning."""
        found = assigned([self.tree])
        for node, above in self._parents.items():
            match node, above:
                case ast.FunctionDef(), ast.ClassDef():
                    pass  # a method
                case ((ast.FunctionDef(name=name) | ast.ClassDef(name=name)), _):
                    found.add(name)
                case ast.arg(arg=name), _:
                    found.add(name)
                case ast.alias(), ast.ImportFrom(module=module) if (
                    module not in _NUMPY_MODULES
                ):
                    found.add(node.asname or node.name)
        return found & vars(builtins).keys()

    def is_shared(self, name: str, scope: ast.AST) -> bool:
        """Check whether other functions may use a name of this scope."""
        for node in ast.walk(scope):
            if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
                return True
            is_other = node is not scope and isinstance(node, _SCOPES)
            uses = self.names(node, name) if is_other else []
            if uses and not any(
                self.scope(use) is node for use in uses if is_stored(use)
            ):
                arguments = [
                    part.arg for part in ast.walk(node) if isinstance(part, ast.arg)
                ]
                if name not in arguments:
                    return True
        return False

    def is_used_outside(self, node: ast.AST, name: str) -> bool:
        """Check whether the value that a node gives to a name may be read elsewhere."""
        scope = self.scope(node)
        inside = set(self.names(node, name))
        return self.is_shared(name, scope) or any(
            use not in inside and self._needs(use) and not self._is_bound_around(use)
            for use in self.names(scope, name)
        )

    def _needs(self, use: ast.Name) -> bool:
        """Check whether a use needs the value of a name, as in ``i += 1``."""
        is_set = isinstance(use.ctx, ast.Store)
        return not is_set or isinstance(self.parent(use), ast.AugAssign)

    def _is_bound_around(self, use: ast.Name) -> bool:
        """Check whether a loop or a comprehension around a name binds it."""
        return any(
            self.names(target, use.id)
            for above in self.loops(use)
            for one in [above, *getattr(above, "generators", [])]
            for target in [getattr(one, "target", None)]
            if target is not None
        )

    # -- Text --------------------------------------------------------------------------

    def line(self, number: int) -> str:
        """Return a line without surrounding white space."""
        if not 0 < number <= len(self._lines):
            return ""
        return self._lines[number - 1].decode(errors="replace").strip()

    def text(
        self,
        node: ast.AST,
        replace: Callable[[ast.AST], str | None] = lambda node: None,
    ) -> str:
        """
        Return the program's text of a node, with parts of it replaced.

        Parameters
        ----------
        node : ast.AST
            An expression or a statement.
        replace : callable, optional
            A function that returns the new text of a node. For None the node stays,
            and the function is called for its children.
        """
        edits: list[tuple[tuple[int, int], tuple[int, int], str]] = []

        def visit(part: ast.AST) -> None:
            new = replace(part)
            if new is None:
                for child in ast.iter_child_nodes(part):
                    visit(child)
            else:
                first, last, left, right = spot(part)
                edits.append(((first, left), (last, right), new))

        visit(node)
        first, last, left, right = spot(node)
        pieces: list[str] = []
        at = (first, left)
        for begin, end, new in sorted(edits):
            pieces += [self._between(at, begin), new]
            at = end
        pieces.append(self._between(at, (last, right)))
        head, *rest = "".join(pieces).split("\n")
        is_deep = all(not line[:left].strip() for line in rest)
        return "\n".join([head, *(line[left:] if is_deep else line for line in rest)])

    def _between(self, begin: tuple[int, int], end: tuple[int, int]) -> str:
        lines = self._lines[begin[0] - 1 : end[0]]
        if not lines:
            return ""
        lines[-1] = lines[-1][: end[1]]
        lines[0] = lines[0][begin[1] :]
        return b"".join(lines).decode(errors="replace").replace("\r\n", "\n")

    # -- NumPy's names -----------------------------------------------------------------

    @cached_property
    def _imports(self) -> tuple[str, dict[str, str]]:
        module, names = "", {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name in _NUMPY_MODULES:
                        module = module or alias.asname or alias.name
            elif isinstance(node, ast.ImportFrom) and node.module in _NUMPY_MODULES:
                names.update({a.asname or a.name: a.name for a in node.names})
        return module, names

    @property
    def numpy(self) -> str:
        """The program's name of NumPy, by default ``np``."""
        return self._imports[0] or "np"

    def function(self, node: ast.AST) -> str:
        """Return the name of a function of NumPy, such as linalg.svd, or ""."""
        if isinstance(node, ast.Name):
            return self._imports[1].get(node.id, "")
        dotted = dotted_name(node)
        first, _, rest = dotted.partition(".")
        return rest if first and first == self._imports[0] else ""


def spot(node: ast.AST) -> Spot:
    """Return the position of a node."""
    lines = (getattr(node, "lineno", 0), getattr(node, "end_lineno", 0))
    columns = (getattr(node, "col_offset", -1), getattr(node, "end_col_offset", -1))
    return (*lines, *columns)


def dotted_name(node: ast.AST) -> str:
    """Return a name with its attributes, such as self.x, or ""."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted_name(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def _is_in(node: ast.AST, whole: ast.AST) -> bool:
    return any(part is node for part in ast.walk(whole))


def is_stored(node: ast.AST) -> bool:
    """Check whether a name, attribute or subscript is assigned to or deleted."""
    return isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))


def assigned(within: Iterable[ast.AST]) -> set[str]:
    """Return the names, with attributes, that nodes bind or delete."""
    return {
        dotted_name(node)
        for whole in within
        for node in ast.walk(whole)
        if isinstance(node, (ast.Name, ast.Attribute)) and is_stored(node)
    }


def stored(node: ast.AST) -> set[str]:
    """Return the names that a node binds, or whose elements it sets or appends."""
    found = assigned([node])
    for part in ast.walk(node):
        is_element = isinstance(part, ast.Subscript) and is_stored(part)
        if is_element or getattr(part, "attr", "") in ("append", "extend"):
            base = part.value  # type: ignore[attr-defined]
            while isinstance(base, ast.Subscript):
                base = base.value
            found.add(dotted_name(base))
    return found - {""}


class Facts:
    """
    The rows and waits of each node of a file.

    Parameters
    ----------
    report : Report
        The counts of the program.
    source : Source
        The file.
    """

    def __init__(self, report: Report, source: Source) -> None:
        self.total = report.total
        self.source = source
        self.rows: dict[ast.AST, list[Row]] = defaultdict(list)
        self.waits: dict[ast.AST, list[Wait]] = defaultdict(list)
        for row in report.rows:
            node = source.at(row.place) if row.place.file == source.file else None
            if node is not None:
                is_read = row.operation == "getitem"
                self.rows[source.reader(node) if is_read else node].append(row)
        for wait in report.waits:
            node = source.at(wait.place) if wait.place.file == source.file else None
            if node is not None:
                self.waits[node].append(wait)

    def elements(self, node: ast.AST, operation: str = "") -> list[Row]:
        """Return the rows of single elements that a node read or set in NumPy."""
        return [
            row
            for row in self.rows.get(node, [])
            if row.backend == "numpy"
            and row.operation in ((operation,) if operation else ("getitem", "setitem"))
            and row.elements == row.calls
        ]

    def within(self, node: ast.AST) -> Iterator[tuple[ast.AST, Row]]:
        """Yield the rows of a node and of all nodes in it."""
        for part in ast.walk(node):
            for row in self.rows.get(part, []):
                yield part, row

    def waits_within(self, node: ast.AST) -> Iterator[tuple[ast.AST, Wait]]:
        """Yield the waits of a node and of all nodes in it."""
        for part in ast.walk(node):
            for wait in self.waits.get(part, []):
                yield part, wait
