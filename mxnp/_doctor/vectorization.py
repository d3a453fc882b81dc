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
_MATRIX = "`{}` is an array with two axes"
_SINGLE = "`{}` is a number or has one axis"
DIGITS = "the last digits may differ ({})"
_EXTREMES = {"min": "minimum", "max": "maximum"}
REORDERED = DIGITS.format("it adds in another order")
_REDUCTIONS = {  # of a row: functions and methods that take an axis
    *("sum", "mean", "std", "var", "prod", "max", "min", "amax", "amin", "median"),
    *("any", "all", "ptp", "argmax", "argmin", "linalg.norm"),
}
_ORDERED = {"max", "min", "amax", "amin", "any", "all", "ptp", "argmax", "argmin"}
_DRAWS = {  # functions that return one random number, or as many as `size` says
    *("random", "standard_normal", "normal", "uniform", "integers", "randint"),
    *("exponential", "poisson", "binomial", "gamma", "beta", "choice", "rand", "randn"),
}
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


def vectorized_function(call: ast.Call, facts: Facts) -> tuple[str, list[str]]:
    """
    Rewrite the call of a function that ``vectorize`` makes.

    Parameters
    ----------
    call : ast.Call
        The call, ``vectorize(function)(x)`` or ``vectorized(x)``.
    facts : Facts
        The counts.

    Returns
    -------
    text : str
        The new expression.
    conditions : list of str
        The conditions for the same result.

    Raises
    ------
    CannotError
        If the function is not known to be equivalent to operations on whole arrays.
    """
    source = facts.source
    made: ast.AST = call.func
    if isinstance(made, ast.Name):
        made = source.only_value(made.id) or made
    if isinstance(made, ast.Call) and len(made.args) == 1 and not made.keywords:
        made = made.args[0]
    if isinstance(made, ast.Name):
        made = source.only_function(made.id) or made
    if not isinstance(made, (ast.Lambda, ast.FunctionDef)):
        raise CannotError("the function is not known")
    names = [parameter.arg for parameter in made.args.args]
    arrays = [dotted_name(argument) for argument in call.args]
    used = {name.id for name in _names(made)}
    if len(names) != len(arrays) or not all(arrays) or not used.issuperset(names):
        raise CannotError("the arguments are not named arrays")
    body = made.body if isinstance(made.body, list) else [made.body]
    whole = _Vectorization(facts, made, [], body)
    text = whole.returned(body, dict(zip(names, arrays, strict=True)))
    listed = " and ".join(f"`{array}`" for array in arrays)
    is_or_are = "is an array" if len(arrays) == 1 else "are arrays"
    return text, [
        f"{listed} {is_or_are}",
        "the first result has the dtype of all results",
        *whole.conditions(),
    ]


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
        self._rows: dict[str, str] = {}  # names of rows, and their arrays
        self._is_row = False  # whether the current node is in the reduction of a row
        self._temporaries: set[str] = set()
        self._totals: list[str] = []  # the temporaries that are running sums
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
                if row.elements != row.calls and not self._is_of_rows(node):
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
        elif isinstance(target, ast.Name) and not self._facts.elements(at, "getitem"):
            self._rows[target.id] = self._all_rows(values)
        elif isinstance(target, ast.Name):
            self._elements[target.id] = self._iterated(values, at)
        else:
            raise CannotError("the loop does not iterate over elements")

    def _iterated(self, array: ast.expr, at: ast.AST) -> str:
        if not self._facts.elements(at, "getitem"):
            raise CannotError("the loop does not iterate over elements of an array")
        is_part = isinstance(array, ast.Subscript)
        name = dotted_name(array.value if is_part else array)  # type: ignore[attr-defined]
        if not name:
            raise CannotError("the array has no name")
        if any(dotted_name(part) in self._bound for part in ast.walk(array)):
            raise CannotError(f"the loop binds `{name}`")
        self._read.append((name, []))
        return self._text(array)

    def _all_rows(self, array: ast.expr) -> str:
        """Return the array whose rows a loop iterates over."""
        name = dotted_name(array)
        if not name or name in self._bound or name.partition(".")[0] in self._bound:
            raise CannotError("the loop does not iterate over rows of a named array")
        self._read.append((name, []))
        self._require(_MATRIX.format(name))
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
        is_sum = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))
        return Bound(text if is_sum else parenthesized(node, text), constant, node)

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
        for name in (self._varying() | self._temporaries) - {*self._totals}:
            self._check_unused(name)
        lines += [f"{name} = {name}[-1]" for name in self._totals]
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
                running = self._running(target, statement.value)
                return running or self._assignment(target, statement.value)
            if isinstance(target, ast.Name):
                return self._temporary(target, statement.value)
        if isinstance(statement, ast.AugAssign):
            if isinstance(statement.target, ast.Subscript):
                return self._update(statement, statement.target)
            return self._accumulation(statement, self.full(statement.value))
        if isinstance(statement, ast.If):
            return self._choice(statement)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            return self._append(statement.value)
        raise CannotError(
            f"`{self._source.line(statement.lineno)}` is not a plain assignment"
        )

    def returned(self, body: Sequence[ast.AST], arrays: dict[str, str]) -> str:
        """Return the result of a function as an array, for arrays as its arguments."""
        self._elements.update(arrays)
        if not body:
            raise CannotError("the function may return None")
        first, *rest = body
        if isinstance(first, ast.If):
            condition = self.condition(first.test)
            self._n_guards += 1
            branches = ([*first.body, *rest], [*first.orelse, *rest])
            texts = [self.returned(branch, {}) for branch in branches]
            self._n_guards -= 1
            return f"{self._source.numpy}.where({condition}, {', '.join(texts)})"
        value = first.value if isinstance(first, ast.Return) else first
        if not isinstance(value, ast.expr):
            raise CannotError("a statement is not a return")
        if self._n_guards:
            return self._chosen(value)
        return self.full(value)

    def _assignment(self, target: ast.Subscript, value: ast.expr) -> str:
        self._is_row = self._makes_row(target)
        text = self.full(value, is_any=True)
        left = self._target(target)
        self._is_row = False
        return f"{left} = {text}"

    def _running(self, target: ast.Subscript, value: ast.expr) -> str | None:
        """Rewrite ``y[i] = y[i - 1] + x[i]``, or return None."""
        if not (isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)):
            return None
        before, index = value.left, self._indices[0] if self._indices else None
        name = dotted_name(target.value)
        is_like = (
            index is not None
            and len(self._indices) == 1
            and (index.start.text, index.step) == ("", 1)
            and index.start.constant > 0
            and isinstance(target.slice, ast.Name)
            and isinstance(before, ast.Subscript)
            and dotted_name(before.value) == name
            and self._shift(before.slice) == -1
            and _mentions(before.slice, index.name)
        )
        if not is_like or index is None:
            return None
        text = self.full(value.right)
        self._require(REORDERED)
        self._require(f"`{name}` has the dtype of the sums")
        first = f"{name}[{index.start + -1}]"
        sums = f"{self._source.numpy}.cumsum({text})"
        return f"{self._target(target)} = {first} + {sums}"

    def _append(self, call: ast.Call, mask: str = "") -> str:
        """Rewrite ``values.append(x[i])``, perhaps for some iterations."""
        name = dotted_name(getattr(call.func, "value", call))
        is_append = getattr(call.func, "attr", "") == "append" and len(call.args) == 1
        if not is_append or len(self._source.names(self._outermost, name)) != 1:
            raise CannotError(f"`{self._text(call.func)}` is called for each element")
        value = call.args[0]
        text = self.full(value)
        if mask:
            text = f"{parenthesized(value, text)}[{mask}]"
        elif len(self._indices) > 1:
            text = f"{parenthesized(value, text)}.flatten()"
        if not self._bindings.is_empty_list(name):
            return f"{name}.extend({text})"
        self._require(f"`{name}` can be an array")
        is_view = (
            len(self._indices) < 2
            and not mask
            and isinstance(value, (ast.Name, ast.Subscript))
        )
        return f"{name} = {text}{'.copy()' * is_view}"

    def _temporary(self, target: ast.Name, value: ast.expr) -> str:
        if _mentions(value, target.id):
            return self._extreme(target.id, value)
        if self._makes_row(value) and self._varies(value):
            text = self._as_rows(value)
            self._rows[target.id] = target.id
            return f"{target.id} = {text}"
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
        self._require(REORDERED)
        if method == "sum" and self._is_read(name):
            self._temporaries.add(name)
            self._totals.append(name)
            self._require("the loop has an iteration")
            return f"{name} = {name} {sign} {self._source.numpy}.cumsum({value})"
        text = parenthesized(statement.value, value)
        return f"{name} {sign}= {text}.{method}()"

    def _is_read(self, name: str) -> bool:
        """Check whether the loop itself reads a sum, after it is updated."""
        uses = self._source.names(self._outermost, name)
        return len(self._indices) < 2 and any(not is_stored(use) for use in uses)

    def _update(self, statement: ast.AugAssign, target: ast.Subscript) -> str:
        product = self._product(statement, target)
        if product:
            return product
        value = self.full(statement.value, is_any=True)
        base = dotted_name(target.value)
        if len(self._indices) <= 1 and not isinstance(target.slice, ast.Tuple):
            at = self._gathered(target.slice)
            if at and type(statement.op) in _AT:
                self._store(base, [target.slice])
                numpy_name = f"{self._source.numpy}.{_AT[type(statement.op)]}"
                return f"{numpy_name}.at({base}, {at}, {value})"
        self._read.append((base, _subscripted(target)[1]))
        left = self._target(target)
        value = value if isinstance(statement.value, _ATOMS) else f"({value})"
        return f"{left} = {left} {_sign(statement.op)} {value}"

    def _product(self, statement: ast.AugAssign, target: ast.Subscript) -> str:
        """Rewrite ``c[i, j] += a[i, k] * b[k, j]``, or return ""."""
        names = [index.name for index in self._indices]
        value = statement.value
        is_sum = isinstance(statement.op, ast.Add) and isinstance(value, ast.BinOp)
        if len(names) != 3 or not is_sum or not isinstance(value.op, ast.Mult):  # type: ignore[attr-defined]
            return ""
        factors = [value.left, value.right]  # type: ignore[attr-defined]
        if not all(self._facts.elements(factor, "getitem") for factor in factors):
            return ""
        parts = [_subscripted(part) for part in (target, *factors)]
        used = [[dotted_name(entry) for entry in entries] for _, entries in parts]
        i, j, k = names[0], *(names[1:] if used[0][1:] == names[1:2] else names[:0:-1])
        if used != [[i, j], [i, k], [k, j]]:
            return ""
        index = {each.name: each for each in self._indices}
        texts = []
        for (base, _), pair in zip(parts, used, strict=True):
            name = dotted_name(base)
            slices = [
                self._slice(name, axis, ast.Name(each), index[each])
                for axis, each in enumerate(pair)
            ]
            texts.append(f"{name}[{', '.join(slices)}]")
            self._read.append((name, []))
        self._require(REORDERED)
        if dotted_name(parts[0][0]) in {dotted_name(base) for base, _ in parts[1:]}:
            raise CannotError("a factor is changed")
        return f"{texts[0]} += {texts[1]} @ {texts[2]}"

    def _choice(self, statement: ast.If) -> str:
        """Rewrite an assignment or a sum under a condition."""
        if len(statement.body) != 1 or len(statement.orelse) > 1:
            raise CannotError("there is more than one statement under a condition")
        condition = self.condition(statement.test)
        first, *others = [*statement.body, *statement.orelse]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Call):
            return self._selected(first.value, statement, condition)
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

    def _selected(self, call: ast.Call, statement: ast.If, condition: str) -> str:
        """Rewrite ``if x[i] > 0: values.append(x[i])``."""
        if statement.orelse or not call.args:
            raise CannotError("there are two statements under a condition")
        self._check_whole(statement.test)
        self._n_guards += 1
        self._check_for_all(call.args[0])
        text = self._append(call, condition)
        self._n_guards -= 1
        return text

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
        known = self._elements.keys() | self._rows.keys() | self._temporaries
        is_plain = len(counts) <= 1 and used & known
        if any(self._draws(part) for part in ast.walk(node)):
            return
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
            if self._varies(node):
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
        if isinstance(node, ast.Pow) and not self._is_row:
            self._require(DIGITS.format("powers of arrays use another algorithm"))
        unknown = (ast.MatMult, ast.Not, ast.Is, ast.IsNot, ast.In, ast.NotIn)
        if isinstance(node, _PLAIN) and not isinstance(node, unknown):
            return None
        raise CannotError(f"`{self._text(node)}` has no known form for arrays")

    def _name(self, node: ast.Name) -> str:
        if node.id in self._rows and self._is_row:
            return self._rows[node.id]
        if node.id in self._elements:
            return f"{self._elements[node.id]}{'[:, None]' * self._is_row}"
        if node.id in {index.name for index in self._indices}:
            raise CannotError(f"the loop computes with `{node.id}` itself")
        if node.id in self._bound and node.id not in self._temporaries:
            raise CannotError(f"`{node.id}` depends on the element before")
        is_element = node.id in self._temporaries
        if self._is_row and not is_element:
            self._require(_SINGLE.format(node.id))
        return f"{node.id}{'[..., None]' * (self._is_row and is_element)}"

    def _invariant(self, node: ast.expr) -> str:
        name = dotted_name(node)
        if not name or name in self._bound or name.partition(".")[0] in self._bound:
            raise CannotError(f"`{self._text(node)}` has no known form for arrays")
        if self._is_row:
            self._require(_SINGLE.format(name))
        return self._text(node)

    def _call(self, node: ast.Call) -> str:
        row = self._reduced(node)
        if row is not None:
            return self._reduction(node, row)
        if self._draws(node):
            return self._drawn(node)
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise CannotError(f"`{self._text(node)}` has no known form for arrays")
        args = [self._source.text(arg, self._replacement) for arg in node.args]
        prefix = self._source.numpy
        listed = ", ".join(args)
        name = called(node)
        if name in ("float", "int") and len(args) == 1:
            if not self._varies(node.args[0]):
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
                self._require(DIGITS.format(f"`{ours}` uses another loop for arrays"))
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
        return counts | {*self._elements, *self._rows} | self._temporaries

    def _varies(self, node: ast.AST) -> bool:
        if any(name.id in self._varying() for name in _names(node)):
            return True
        return any(self._draws(part) for part in ast.walk(node))

    # -- Random numbers ----------------------------------------------------------------

    def _draws(self, node: ast.AST) -> bool:
        """Check whether a call draws a single random number."""
        return isinstance(node, ast.Call) and any(
            row.operation.removeprefix("random.") in _DRAWS
            and row.elements == row.calls
            for row in self._facts.rows.get(node, [])
        )

    def _drawn(self, node: ast.Call) -> str:
        """Return a call that draws all random numbers of the loop."""
        fixed = all(self._is_invariant(arg) for arg in node.args) and not node.keywords
        if not fixed or self._n_guards or self._is_row:
            raise CannotError(f"`{self._text(node)}` is not called in each iteration")
        counts = [
            str(index.stop + -index.start.constant)
            for index in self._indices
            if index.step == 1 and not index.start.text
        ]
        sizes = counts or [f"len({array})" for array in self._elements.values()][:1]
        if len(counts) != len(self._indices) or not sizes:
            raise CannotError("the number of random numbers is not known")
        self._require("the random numbers can be drawn in another order")
        function = self._text(node.func)
        if function.rpartition(".")[2] in ("rand", "randn"):
            return f"{function}({', '.join(sizes)})"
        size = f"({', '.join(sizes)})" if len(sizes) > 1 else sizes[0]
        return f"{function}({', '.join([*map(self._text, node.args), f'size={size}'])})"

    # -- Rows --------------------------------------------------------------------------

    def _makes_row(self, node: ast.AST) -> bool:
        """Check whether the value of an expression is a row: more than one element."""
        rows = self._facts.rows.get(node, [])
        is_view = isinstance(node, ast.Subscript) and not rows
        return is_view or any(row.elements > row.calls for row in rows)

    def _is_of_rows(self, node: ast.AST) -> bool:
        """Check whether an operation of several elements is known to be one of rows."""
        around = (node, *self._source.ancestors(node))
        return any(
            self._reduced(above) is not None
            or (
                isinstance(above, ast.Assign)
                and isinstance(above.targets[0], (ast.Name, ast.Subscript))
                and (self._makes_row(above.value) or self._makes_row(above.targets[0]))
            )
            for above in around
        )

    def _reduced(self, node: ast.AST) -> ast.expr | None:
        """Return the row that a call reduces to a number, or None."""
        if not isinstance(node, ast.Call) or node.keywords:
            return None
        is_builtin = called(node) in ("sum", "max", "min", "any", "all")
        function = self._source.function(node.func) or called(node) * is_builtin
        if function in _REDUCTIONS and len(node.args) == 1:
            row = node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCTIONS:
            row = node.func.value
        else:
            return None
        reads = is_builtin and self._facts.elements(node, "getitem")
        is_row = self._makes_row(node) or reads
        return row if is_row and (row in node.args or not node.args) else None

    def _reduction(self, node: ast.Call, row: ast.expr) -> str:
        """Return the reduction of a row as one of the last axis of all rows."""
        if not self._varies(row):
            raise CannotError(f"`{self._text(node)}` is the same in many iterations")
        axis = f"axis=-1{', keepdims=True' * self._is_row}"
        text = self._as_rows(row)
        method = self._text(node.func).rpartition(".")[2]
        if method not in _ORDERED:
            self._require(REORDERED)
        if self._source.function(node.func):
            return f"{self._text(node.func)}({text}, {axis})"
        return f"{parenthesized(row, text)}.{method}({axis})"

    def _as_rows(self, node: ast.expr) -> str:
        """Return an expression of a row for all rows, with one more axis."""
        before, self._is_row = self._is_row, True
        text = self._source.text(node, self._replacement)
        self._is_row = before
        return text

    def _row(self, node: ast.Subscript, name: str, entries: list[ast.expr]) -> str:
        """Return a subscript of a row, such as ``x[i]``, for all rows."""
        self._read.append((name, entries))
        first, *others = entries
        if isinstance(first, ast.Slice) and not others:
            return self._windows(name, first)
        if len(entries) == 2 and _is_everything(first):
            self._require(_MATRIX.format(name))
            return f"{name}.T[{self._sliced(name, others, is_target=False)}]"
        if others:
            raise CannotError(f"`{self._text(node)}` is not a row")
        self._require(_MATRIX.format(name))
        sliced = self._sliced(name, entries, is_target=False)
        return f"{name}[{sliced}]" if sliced != ":" else name

    def _windows(self, name: str, part: ast.Slice) -> str:
        """Return the windows ``x[i:i + w]`` of an array as rows."""
        (index,) = self._indices if len(self._indices) == 1 else (None,)
        lower, upper = part.lower, part.upper
        is_like = (
            index is not None
            and part.step is None
            and isinstance(lower, ast.Name)
            and lower.id == index.name
            and isinstance(upper, ast.BinOp)
            and isinstance(upper.op, ast.Add)
            and dotted_name(upper.left) == index.name
            and self._is_invariant(upper.right)
        )
        if not is_like or index is None or not isinstance(upper, ast.BinOp):
            raise CannotError("its windows have no known form for arrays")
        width = self._text(upper.right)
        self._require(f"`{name}` has one axis, and each window has {width} elements")
        views = f"{self._source.numpy}.lib.stride_tricks.sliding_window_view"
        key = self._slice(name, -1, lower, index)  # type: ignore[arg-type]
        return f"{views}({name}, {width})[{key}]"

    # -- Subscripts --------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> str:
        value, entries = _subscripted(node)
        name = dotted_name(value)
        counts = {index.name for index in self._indices}
        if not name or name in self._bound or name.partition(".")[0] in self._bound:
            raise CannotError(f"`{self._text(node.value)}` is not a named array")
        if not any(_mentions(entry, count) for entry in entries for count in counts):
            if not all(self._is_invariant(entry) for entry in entries):
                raise CannotError(f"`{self._text(node)}` has no known form for arrays")
            self._read.append((name, entries))
            return self._text(node)
        if not self._facts.elements(node, "getitem"):
            if self._is_row:
                return self._row(node, name, entries)
            raise CannotError(f"`{self._text(node)}` is not an element of an array")
        if value is not node.value:
            self._require(f"`{name}` is an array, and not a list of arrays")
        self._read.append((name, entries))
        (self._unsure if self._n_guards else self._sure).append(node)
        if len(entries) == 1 and len(self._indices) == 1:
            at = self._gathered(entries[0])
            if at:
                return f"{name}[{at}]"
        sliced = self._sliced(name, entries, is_target=False)
        sliced += ", None" * self._is_row
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
        value, entries = _subscripted(node)
        base = dotted_name(value)
        if not self._indices:
            raise CannotError("the loop sets elements without an index")
        if self._is_row and len(entries) == len(self._indices):
            self._require(_MATRIX.format(base))
        elif not base or not self._facts.elements(node, "setitem"):
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
        value, entries = _subscripted(node)
        base = dotted_name(value)
        for axis, entry in enumerate(entries):
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
                self._gathered(entry) for entry in entries if len(self._indices) <= 1
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


def _subscripted(node: ast.Subscript) -> tuple[ast.expr, list[ast.expr]]:
    """Return the array and the entries of ``x[i, j]``, ``x[i][j]`` or ``x[i, :]``."""
    entries = _entries(node)
    while len(entries) > 1 and _is_everything(entries[-1]):
        entries.pop()
    inner = node.value
    if isinstance(inner, ast.Subscript) and isinstance(
        inner.slice, (ast.Name, ast.BinOp)
    ):
        return inner.value, [inner.slice, *entries]
    return inner, entries


def _is_everything(entry: ast.expr) -> bool:
    is_slice = isinstance(entry, ast.Slice)
    return is_slice and ast.dump(entry) == ast.dump(ast.Slice())


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
