"""Rewrite loops over elements as operations on whole arrays, if that is correct."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy

from .bindings import Bindings, called, integer
from .syntax import Facts, assigned, dotted_name, is_stored

_MATH = {  # functions of math, and the names of their counterparts in NumPy
    **dict.fromkeys(("sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan"), ""),
    **dict.fromkeys(("sinh", "cosh", "tanh", "hypot", "expm1", "log1p", "isnan"), ""),
    "fabs": "absolute",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "pow": "power",
}
_AT = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}
_SUMS = {ast.Add: "sum", ast.Sub: "sum", ast.Mult: "prod"}
_EXACT = {  # functions that return the same bits for one element and for many
    *("add", "subtract", "multiply", "divide", "negative", "absolute", "fabs", "sqrt"),
    *("square", "maximum", "minimum", "fmax", "fmin", "floor", "ceil", "trunc", "rint"),
    *("sign", "conjugate", "isnan", "isinf", "isfinite", "signbit", "copysign"),
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
    *("logical_and", "logical_or", "logical_not", "logical_xor", "reciprocal"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "mod", "floor_divide"),
    *("left_shift", "right_shift", "positive", "remainder", "where", "clip"),
}
_DIGITS = "the last digits may differ ({})"
_EXTREMES = {"min": "minimum", "max": "maximum"}
_PLAIN = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant),
    *(ast.operator, ast.unaryop, ast.cmpop),
)
_ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant)


class CannotError(Exception):
    """A loop that cannot be rewritten as operations on whole arrays, with a reason."""


@dataclass
class Rewrite:
    """
    The suggested replacement of some lines.

    Parameters
    ----------
    lines : list of str
        The new lines.
    conditions : list of str
        The conditions for the same result. Without any, the result is the same.
    """

    lines: list[str]
    conditions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Bound:
    """An integer: the sum of an expression, if there is one, and a constant."""

    text: str
    constant: int
    node: ast.AST | None = None  # the node of `text`

    def __add__(self, more: int) -> Bound:
        return Bound(self.text, self.constant + more, self.node)

    def __str__(self) -> str:
        if not self.text:
            return str(self.constant)
        sign = "+" if self.constant > 0 else "-"
        return (
            f"{self.text} {sign} {abs(self.constant)}" * bool(self.constant)
            or self.text
        )


@dataclass(frozen=True)
class Indices:
    """The name and the range of a loop over ``range``."""

    name: str
    start: Bound
    stop: Bound
    step: int


def vectorized_loop(loop: ast.For, facts: Facts) -> Rewrite:
    """
    Rewrite a loop over elements, with the loops inside.

    Parameters
    ----------
    loop : ast.For
        The outermost loop.
    facts : Facts
        The counts, which show the subscripts that are single elements of arrays.

    Returns
    -------
    Rewrite
        The new lines and their conditions.

    Raises
    ------
    CannotError
        If the loop is not known to be equivalent to operations on whole arrays.
    """
    headers, body = [loop], loop.body
    while len(body) == 1 and isinstance(body[0], ast.For):
        headers.append(body[0])
        body = body[0].body
    if any(header.orelse for header in headers):
        raise CannotError("the loop has an else")
    whole = _Vectorization(facts, loop, [(h.target, h.iter, h) for h in headers], body)
    return whole.statements(body)


def vectorized_generator(
    comprehension: ast.GeneratorExp | ast.ListComp, facts: Facts
) -> tuple[str, Rewrite]:
    """Rewrite the elements of a comprehension as an array, with its conditions."""
    if any(g.ifs or g.is_async for g in comprehension.generators):
        raise CannotError("the comprehension filters elements")
    headers: list[tuple[ast.expr, ast.expr, ast.AST]] = [
        (g.target, g.iter, comprehension) for g in comprehension.generators
    ]
    whole = _Vectorization(facts, comprehension, headers, [comprehension.elt])
    text = whole.full(comprehension.elt)
    return text, Rewrite([text], whole.conditions())


def parenthesized(node: ast.AST, text: str) -> str:
    """Return a text on which a method can be called."""
    return text if isinstance(node, _ATOMS) else f"({text})"


class _Vectorization:
    """The loops of one rewrite, with the meaning of their names."""

    def __init__(
        self,
        facts: Facts,
        outermost: ast.AST,
        headers: Sequence[tuple[ast.expr, ast.expr, ast.AST]],
        body: Sequence[ast.AST],
    ) -> None:
        self._facts = facts
        self._source = facts.source
        self._outermost = outermost
        self._bindings = Bindings(facts, outermost)
        self._bound = assigned([*body, *(target for target, _, _ in headers)])
        self._indices: list[Indices] = []
        self._elements: dict[str, str] = {}  # names of elements, and their arrays
        self._temporaries: set[str] = set()
        self._read: list[tuple[str, list[ast.expr]]] = []
        self._stored: list[tuple[str, list[ast.expr]]] = []
        self._conditions: dict[str, None] = {}
        self._n_guards = 0  # the number of conditions around the current node
        self._sure: list[ast.Subscript] = []  # read or set in each iteration
        self._unsure: list[ast.Subscript] = []  # read or set under a condition
        self._lowest: dict[Bound, int] = {}  # the lowest offset to each bound
        for target, values, at in headers:
            self._begin(target, values, at)
        for part in body:
            for node, row in facts.within(part):
                if row.elements != row.calls:
                    raise CannotError(f"`{self._text(node)}` is more than one element")

    def _text(self, node: ast.AST) -> str:
        return self._source.text(node)

    # -- Headers -----------------------------------------------------------------------

    def _begin(self, target: ast.expr, values: ast.expr, at: ast.AST) -> None:
        call = called(values)
        args = list(getattr(values, "args", []))
        if call == "range":
            if not isinstance(target, ast.Name):
                raise CannotError("the target is not a single name")
            self._indices.append(self._range(target.id, args))
            return
        if self._indices or self._elements:
            raise CannotError("an inner loop iterates over elements")
        if call == "enumerate" and len(args) == 1 and isinstance(target, ast.Tuple):
            count, element = target.elts
            if not (isinstance(count, ast.Name) and isinstance(element, ast.Name)):
                raise CannotError("the target is not a single name")
            array = self._iterated(args[0], at)
            self._elements[element.id] = array
            length = ast.Call(ast.Name("len", ast.Load()), [args[0]], [])
            stop = Bound(f"len({array})", 0, length)
            self._indices.append(Indices(count.id, Bound("", 0), stop, 1))
        elif call == "zip" and isinstance(target, ast.Tuple) and len(args) > 1:
            for element, array in zip(target.elts, args, strict=False):
                if not isinstance(element, ast.Name):
                    raise CannotError("the loop does not iterate over elements")
                self._elements[element.id] = self._iterated(array, at)
            several = " and ".join(f"`{self._text(array)}`" for array in args)
            self._require(f"{several} are arrays of the same length")
        elif isinstance(target, ast.Name):
            self._elements[target.id] = self._iterated(values, at)
        else:
            raise CannotError("the loop does not iterate over elements")

    def _iterated(self, array: ast.expr, at: ast.AST) -> str:
        if not self._facts.elements(at, "getitem"):
            raise CannotError("the loop does not iterate over elements of an array")
        name = dotted_name(array)
        if not name:
            raise CannotError("the array has no name")
        if name in self._bound or name.partition(".")[0] in self._bound:
            raise CannotError(f"the loop binds `{name}`")
        self._read.append((name, []))
        return name

    def _range(self, name: str, args: list[ast.expr]) -> Indices:
        step = args.pop() if len(args) == 3 else ast.Constant(1)
        number = integer(step)
        if number is None or number < 1 or not args:
            raise CannotError("the step of the range is not a positive number")
        start = self._as_bound(args[0]) if len(args) == 2 else Bound("", 0)
        return Indices(name, start, self._as_bound(args[-1]), number)

    def _as_bound(self, node: ast.expr) -> Bound:
        number = integer(node)
        if number is not None:
            return Bound("", number)
        constant = 0
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            right = integer(node.right)
            if right is not None:
                constant = right if isinstance(node.op, ast.Add) else -right
                node = node.left
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and called(part) != "len":
                raise CannotError("a function computes the bound of the range")
        if {dotted_name(part) for part in ast.walk(node)} & self._bound:
            raise CannotError("the loop changes the bound of the range")
        text = self._text(node)
        return Bound(text if isinstance(node, _ATOMS) else f"({text})", constant, node)

    # -- Statements --------------------------------------------------------------------

    def statements(self, body: Sequence[ast.stmt]) -> Rewrite:
        """Rewrite the statements of the innermost loop one by one."""
        lines = [self._statement(statement) for statement in body]
        if all(
            isinstance(statement, ast.Assign)
            and dotted_name(statement.targets[0]) in self._temporaries
            for statement in body
        ):
            raise CannotError("only the last iteration has an effect")
        for name in self._temporaries | {index.name for index in self._indices}:
            self._check_unused(name)
        for name in self._elements:
            self._check_unused(name)
        return Rewrite(lines, self.conditions())

    def _check_unused(self, name: str) -> None:
        """Raise CannotError if a name that the loop leaves behind is read elsewhere."""
        scope = self._source.scope(self._outermost)
        if self._source.is_shared(name, scope):
            raise CannotError(f"`{name}` is used elsewhere")
        inside = set(self._source.names(self._outermost, name))
        for use in self._source.names(scope, name):
            if use in inside or is_stored(use):
                continue
            binds = any(
                any(part.id == name for part in _names(getattr(above, "target", above)))
                or any(
                    part.id == name
                    for generator in getattr(above, "generators", [])
                    for part in _names(generator.target)
                )
                for above in self._source.loops(use)
                if isinstance(above, (ast.For, ast.ListComp, ast.GeneratorExp))
            )
            if not binds:
                raise CannotError(f"`{name}` is used after the loop")

    def _statement(self, statement: ast.stmt) -> str:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Subscript):
                value = self.full(statement.value, is_any=True)
                return f"{self._target(target)} = {value}"
            if isinstance(target, ast.Name):
                return self._temporary(target, statement.value)
        if isinstance(statement, ast.AugAssign):
            if isinstance(statement.target, ast.Subscript):
                return self._update(statement, statement.target)
            return self._accumulation(statement, self.full(statement.value))
        if isinstance(statement, ast.If):
            return self._choice(statement)
        raise CannotError(
            f"`{self._source.line(statement.lineno)}` is not a plain assignment"
        )

    def _temporary(self, target: ast.Name, value: ast.expr) -> str:
        if _mentions(value, target.id):
            return self._extreme(target.id, value)
        text = self.full(value)
        self._temporaries.add(target.id)
        return f"{target.id} = {text}"

    def _extreme(self, name: str, value: ast.expr) -> str:
        """Rewrite ``m = max(m, x[i])``."""
        call = called(value)
        args = getattr(value, "args", [])
        is_like = call in _EXTREMES and len(args) == 2 and dotted_name(args[0]) == name
        if not is_like:
            raise CannotError(f"`{name}` depends on the element before")
        text = parenthesized(args[1], self.full(args[1]))
        self._require(f"`{text}` is not empty and has no NaN")
        return f"{name} = {call}({name}, {text}.{call}())"

    def _accumulation(self, statement: ast.AugAssign, value: str) -> str:
        name = dotted_name(statement.target)
        if type(statement.op) not in _SUMS or not name:
            raise CannotError(f"`{name}` depends on the element before")
        method = _SUMS[type(statement.op)]
        sign = _sign(statement.op)
        self._require(_DIGITS.format("it adds in another order"))
        text = parenthesized(statement.value, value)
        return f"{name} {sign}= {text}.{method}()"

    def _update(self, statement: ast.AugAssign, target: ast.Subscript) -> str:
        value = self.full(statement.value, is_any=True)
        base = dotted_name(target.value)
        if len(self._indices) == 1 and not isinstance(target.slice, ast.Tuple):
            at = self._gathered(target.slice)
            if at and type(statement.op) in _AT:
                self._store(base, [target.slice])
                numpy_name = f"{self._source.numpy}.{_AT[type(statement.op)]}"
                return f"{numpy_name}.at({base}, {at}, {value})"
        self._read.append((base, _entries(target)))
        left = self._target(target)
        value = value if isinstance(statement.value, _ATOMS) else f"({value})"
        return f"{left} = {left} {_sign(statement.op)} {value}"

    def _choice(self, statement: ast.If) -> str:
        """Rewrite an assignment or a sum under a condition."""
        if len(statement.body) != 1 or len(statement.orelse) > 1:
            raise CannotError("there is more than one statement under a condition")
        condition = self.condition(statement.test)
        first, *others = [*statement.body, *statement.orelse]
        where = f"{self._source.numpy}.where"
        if isinstance(first, ast.AugAssign) and not others:
            if isinstance(first.target, ast.Subscript):
                raise CannotError("elements are updated under a condition")
            self._check_whole(statement.test)
            if integer(first.value) == 1 and isinstance(first.op, (ast.Add, ast.Sub)):
                count = f"{self._source.numpy}.count_nonzero({condition})"
                return f"{dotted_name(first.target)} {_sign(first.op)}= {count}"
            if not isinstance(first.op, (ast.Add, ast.Sub)):
                raise CannotError("only sums are known under a condition")
            call = ast.Call(ast.Name("where", ast.Load()), [], [])
            chosen = f"{where}({condition}, {self._chosen(first.value)}, 0)"
            return self._accumulation(
                ast.AugAssign(first.target, first.op, call), chosen
            )
        targets = [
            one.targets[0]
            for one in (first, *others)
            if isinstance(one, ast.Assign) and len(one.targets) == 1
        ]
        if len(targets) != 1 + len(others) or not all(
            isinstance(target, ast.Subscript) for target in targets
        ):
            raise CannotError("a statement under a condition is not a plain assignment")
        chosen = self._chosen(first.value)  # type: ignore[attr-defined]
        if others:
            other = self._chosen(others[0].value)  # type: ignore[attr-defined]
        assert isinstance(targets[0], ast.Subscript)
        self._n_guards += not others
        left = self._target(targets[0])
        self._n_guards -= not others
        if others:
            if self._text(targets[1]) != self._text(targets[0]):
                raise CannotError("two elements are set under a condition")
        else:
            other = left
            self._read.append((dotted_name(targets[0].value), _entries(targets[0])))
        return f"{left} = {where}({condition}, {chosen}, {other})"

    def _chosen(self, value: ast.expr) -> str:
        self._n_guards += 1
        self._check_for_all(value)
        text = self.full(value, is_any=True)
        self._n_guards -= 1
        return text

    def _check_for_all(self, value: ast.expr) -> None:
        """Check that a value under a condition can be computed for all elements."""
        for part in ast.walk(value):
            indices = part.slice if isinstance(part, ast.Subscript) else ast.Pass()
            counts = {index.name for index in self._indices}
            if any(
                isinstance(inner, ast.Subscript)
                or (
                    isinstance(inner, ast.Name) and inner.id in self._varying() - counts
                )
                for inner in ast.walk(indices)
            ):
                raise CannotError("indices may be out of bounds for other elements")
        if any(
            isinstance(part, (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Call))
            for part in ast.walk(value)
        ):
            text = self._source.text(value, self._replacement)
            self._require(
                "warnings for elements that are not chosen can be ignored "
                f"(`{text}` is computed for all)"
            )

    # -- Expressions -------------------------------------------------------------------

    def full(self, node: ast.expr, *, is_any: bool = False) -> str:
        """Return an expression as an array with an element for each iteration.

        With `is_any`, the array may be smaller and broadcast.
        """
        text = self._source.text(node, self._replacement)
        if not is_any:
            self._check_whole(node)
        return text

    def _check_whole(self, node: ast.expr) -> None:
        """Raise CannotError if an array lacks an element for some iteration."""
        used = {name.id for name in _names(node)}
        counts = {index.name for index in self._indices}
        is_plain = len(counts) <= 1 and used & (set(self._elements) | self._temporaries)
        if not is_plain and not (counts and counts <= used):
            raise CannotError(f"`{self._text(node)}` is the same in many iterations")

    def condition(self, node: ast.expr) -> str:
        """Return a condition as a mask: and, or and not become operators."""
        if isinstance(node, ast.BoolOp):
            sign = " & " if isinstance(node.op, ast.And) else " | "
            parts = [self.condition(node.values[0])]
            self._n_guards += 1
            for value in node.values[1:]:
                self._check_for_all(value)
                parts.append(self.condition(value))
            self._n_guards -= 1
            return sign.join(f"({part})" for part in parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"~({self.condition(node.operand)})"
        if isinstance(node, ast.Compare):
            text = self._source.text(node, self._replacement)
            if any(name.id in self._varying() for name in _names(node)):
                return text
        raise CannotError(f"`{self._text(node)}` is not a comparison of elements")

    def _replacement(self, node: ast.AST) -> str | None:
        """Return the new text of a node, or None to rewrite its children."""
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            return self._invariant(node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.IfExp):
            condition = self.condition(node.test)
            both = ", ".join(map(self._chosen, (node.body, node.orelse)))
            return f"{self._source.numpy}.where({condition}, {both})"
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            raise CannotError("comparisons are chained")
        if isinstance(node, ast.Pow):
            self._require(_DIGITS.format("powers of arrays use another algorithm"))
        unknown = (ast.MatMult, ast.Not, ast.Is, ast.IsNot, ast.In, ast.NotIn)
        if isinstance(node, _PLAIN) and not isinstance(node, unknown):
            return None
        raise CannotError(f"`{self._text(node)}` has no known form for arrays")

    def _name(self, node: ast.Name) -> str:
        if node.id in self._elements:
            return self._elements[node.id]
        if node.id in {index.name for index in self._indices}:
            raise CannotError(f"the loop computes with `{node.id}` itself")
        if node.id in self._bound and node.id not in self._temporaries:
            raise CannotError(f"`{node.id}` depends on the element before")
        return node.id

    def _invariant(self, node: ast.expr) -> str:
        name = dotted_name(node)
        if not name or name in self._bound or name.partition(".")[0] in self._bound:
            raise CannotError(f"`{self._text(node)}` has no known form for arrays")
        return self._text(node)

    def _call(self, node: ast.Call) -> str:
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise CannotError(f"`{self._text(node)}` has no known form for arrays")
        args = [self._source.text(arg, self._replacement) for arg in node.args]
        prefix = self._source.numpy
        listed = ", ".join(args)
        name = called(node)
        if name in ("float", "int") and len(args) == 1:
            if not any(part.id in self._varying() for part in _names(node.args[0])):
                return f"{name}({listed})"
            return f"{parenthesized(node.args[0], args[0])}.astype({name})"
        if name == "abs" and len(args) == 1:
            return f"abs({listed})"
        if name in _EXTREMES and len(args) == 2:
            self._require("no element is NaN")
            return f"{prefix}.{_EXTREMES[name]}({listed})"
        ours = self._source.function(node.func)
        function = getattr(numpy, ours, None) if ours and "." not in ours else None
        is_ufunc = isinstance(function, numpy.ufunc) and function.nin == len(args)
        if is_ufunc or (ours in ("where", "clip") and len(args) == 3):
            if ours not in _EXACT:
                self._require(_DIGITS.format(f"`{ours}` uses another loop for arrays"))
            return f"{self._text(node.func)}({listed})"
        module, _, function_name = dotted_name(node.func).partition(".")
        if module == "math" and function_name in _MATH:
            self._require(
                f"the elements are float64, the last digits may differ, and {prefix} "
                "may return nan with a warning where math raises"
            )
            return f"{prefix}.{_MATH[function_name] or function_name}({listed})"
        raise CannotError(f"`{self._text(node.func)}` is called for each element")

    def _varying(self) -> set[str]:
        """Return the names whose values change with each iteration."""
        counts = {index.name for index in self._indices}
        return counts | set(self._elements) | self._temporaries

    # -- Subscripts --------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> str:
        name = dotted_name(node.value)
        entries = _entries(node)
        counts = {index.name for index in self._indices}
        if not name or name in self._bound or name.partition(".")[0] in self._bound:
            raise CannotError(f"`{self._text(node.value)}` is not a named array")
        if not any(_mentions(entry, count) for entry in entries for count in counts):
            if not all(self._is_invariant(entry) for entry in entries):
                raise CannotError(f"`{self._text(node)}` has no known form for arrays")
            self._read.append((name, entries))
            return self._text(node)
        if not self._facts.elements(node, "getitem"):
            raise CannotError(f"`{self._text(node)}` is not an element of an array")
        self._read.append((name, entries))
        (self._unsure if self._n_guards else self._sure).append(node)
        if len(entries) == 1 and len(self._indices) == 1:
            at = self._gathered(entries[0])
            if at:
                return f"{name}[{at}]"
        sliced = self._sliced(name, entries, is_target=False)
        return f"{name}[{sliced}]" if sliced != ":" else name

    def _gathered(self, entry: ast.expr) -> str:
        """Return the index array of an entry that contains elements of an array."""
        if any(self._facts.elements(part, "getitem") for part in ast.walk(entry)):
            return self._source.text(entry, self._replacement)
        if isinstance(entry, ast.Name) and entry.id in (
            *self._elements,
            *self._temporaries,
        ):
            return self._name(entry)
        return ""

    def _is_invariant(self, entry: ast.expr) -> bool:
        simple = (ast.Name, ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator)
        is_simple = all(
            isinstance(part, (*simple, ast.unaryop, ast.expr_context))
            for part in ast.walk(entry)
        )
        changing = self._bound | {index.name for index in self._indices}
        return is_simple and not any(_mentions(entry, name) for name in changing)

    def _sliced(self, base: str, entries: list[ast.expr], *, is_target: bool) -> str:
        """Return the key, with slices in place of indices and new axes for others."""
        parts: list[str] = []
        order: list[int] = []
        for axis, entry in enumerate(entries):
            at = next(
                (n for n, i in enumerate(self._indices) if _mentions(entry, i.name)),
                None,
            )
            if at is None:
                if not self._is_invariant(entry):
                    raise CannotError("its indices are computed")
                parts.append(self._text(entry))
                continue
            if order and at <= order[-1]:
                raise CannotError("axes are in another order than the loops")
            if order:
                parts += ["None"] * (at - order[-1] - 1)
            order.append(at)
            parts.append(self._slice(base, axis, entry, self._indices[at]))
        missing = len(self._indices) - 1 - order[-1]
        parts += ["None"] * missing
        if is_target and order != list(range(len(self._indices))):
            raise CannotError("an element is set more than once")
        while len(parts) > 1 and parts[-1] == ":":
            parts.pop()
        return ", ".join(parts)

    def _slice(self, base: str, axis: int, entry: ast.expr, index: Indices) -> str:
        """Return the slice of an entry such as ``i + 1`` for all i of a range."""
        offset = 0
        if not isinstance(entry, ast.Name):
            shifted = self._shift(entry)
            if shifted is None:
                raise CannotError(
                    f"`{self._text(entry)}` is not an index plus a constant"
                )
            offset = shifted
        lower, upper = index.start + offset, index.stop + offset
        for bound, way in ((index.start, "start"), (index.stop, "stop")):
            self._lowest[bound] = min(self._lowest.get(bound, 0), offset)
            if not bound.text and bound.constant + offset < 0:
                raise CannotError(f"the {way} is negative")
        text = str(upper)
        if upper.text in _lengths(base, axis) and upper.constant <= 0:
            text = str(upper.constant or "")
        begin = "" if str(lower) == "0" else str(lower)
        step = f":{index.step}" * (index.step > 1)
        return f"{begin}:{text}{step}"

    def _shift(self, entry: ast.expr) -> int | None:
        if not (
            isinstance(entry, ast.BinOp)
            and isinstance(entry.left, ast.Name)
            and isinstance(entry.op, (ast.Add, ast.Sub))
        ):
            return None
        number = integer(entry.right)
        if number is None:
            return None
        return number if isinstance(entry.op, ast.Add) else -number

    def _target(self, node: ast.Subscript) -> str:
        base = dotted_name(node.value)
        entries = _entries(node)
        if not self._indices:
            raise CannotError("the loop sets elements without an index")
        if not base or not self._facts.elements(node, "setitem"):
            raise CannotError(f"`{self._text(node)}` is not an element of an array")
        if base in self._bound or base.partition(".")[0] in self._bound:
            raise CannotError(f"the loop binds `{base}`")
        mentioned = [
            entry
            for entry in entries
            if any(_mentions(entry, index.name) for index in self._indices)
        ]
        if not mentioned or any(self._gathered(entry) for entry in mentioned):
            raise CannotError("an element is set more than once")
        self._store(base, entries)
        (self._unsure if self._n_guards else self._sure).append(node)
        return f"{base}[{self._sliced(base, entries, is_target=True)}]"

    def _store(self, base: str, entries: list[ast.expr]) -> None:
        self._stored.append((base, entries))

    def _is_in_bounds(self, node: ast.Subscript) -> bool:
        """Check whether a subscript is certainly in bounds in each iteration."""
        base = dotted_name(node.value)
        for axis, entry in enumerate(_entries(node)):
            index = next((i for i in self._indices if _mentions(entry, i.name)), None)
            offset = 0 if isinstance(entry, ast.Name) else self._shift(entry)
            if index is None or offset is None:
                return False
            is_length = index.stop.text in _lengths(base, axis)
            if not is_length or index.stop.constant + offset > 0:
                return False
        return True

    # -- Conditions --------------------------------------------------------------------

    def _require(self, condition: str) -> None:
        self._conditions[condition] = None

    def conditions(self) -> list[str]:
        """Return the conditions for the same result, or raise CannotError."""
        for base, entries in self._stored:
            for other, used in (*self._read, *self._stored):
                if other == base and not _is_apart(entries, used):
                    raise CannotError(f"`{base}` depends on elements set before")
        for base, entries in self._stored:
            if any(
                self._gathered(entry) for entry in entries if len(self._indices) == 1
            ) and any(other == base for other, _ in self._read):
                raise CannotError(f"`{base}` depends on elements set before")
        stored = dict.fromkeys(base for base, _ in self._stored)
        others = dict.fromkeys(base for base, _ in self._read if base not in stored)
        for base in stored:
            several = [name for name in others if name != base]
            several += [name for name in stored if name > base]
            shared = [
                name
                for name in several
                if not (self._bindings.is_new(base) or self._bindings.is_new(name))
            ]
            if shared:
                listed = ", ".join(f"`{name}`" for name in shared)
                self._require(f"`{base}` shares no memory with {listed}")
        sure = {self._text(node) for node in self._sure}
        unsure = dict.fromkeys(
            self._text(node) for node in self._unsure if not self._is_in_bounds(node)
        )
        missing = ", ".join(f"`{text}`" for text in unsure if text not in sure)
        if missing:
            self._require(f"{missing} can be read in each iteration, chosen or not")
        for bound, offset in self._lowest.items():
            if bound.text and not self._is_at_least(bound, -offset):
                least = -offset - bound.constant
                self._require(
                    f"`{bound.text}` is at least {least}"
                    if least
                    else f"`{bound.text}` is not negative"
                )
        return list(self._conditions)

    def _is_at_least(self, bound: Bound, least: int) -> bool:
        known = self._bindings.least(bound.node)
        return known is not None and known + bound.constant >= least


# -- Helpers ---------------------------------------------------------------------------


def _lengths(base: str, axis: int) -> tuple[str, ...]:
    """Return the expressions with which a program writes the length of an axis."""
    first = (f"len({base})", f"{base}.size")
    return (f"{base}.shape[{axis}]", *(first if axis == 0 else ()))


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Name))


def _mentions(node: ast.AST, name: str) -> bool:
    return any(part.id == name for part in _names(node))


def _entries(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _sign(op: ast.operator) -> str:
    return ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b")))[1:-1].strip()


def _is_apart(first: list[ast.expr], second: list[ast.expr]) -> bool:
    """Check whether keys are equal in each iteration, or never of the same element."""
    if not second:
        return False
    if [ast.dump(one) for one in first] == [ast.dump(one) for one in second]:
        return True
    for one, other in zip(first, second, strict=False):
        numbers = (integer(one), integer(other))
        if None not in numbers and numbers[0] != numbers[1]:
            return (numbers[0] >= 0) == (numbers[1] >= 0)  # type: ignore[operator]
    return False
