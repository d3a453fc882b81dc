"""Rewrite the expressions of a loop over elements as expressions of whole arrays."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy

from .bindings import Bindings, called, integer
from .rewriting import (
    DIGITS,
    EXTREMES,
    REORDERED,
    Bound,
    CannotError,
    Indices,
    is_apart,
    is_everything,
    joined,
    lengths_of,
    mentions,
    names_in,
    parenthesized,
    subscripted,
)
from .syntax import Facts, assigned, dotted_name

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
_SINGLE = {
    1: "`{}` is a number or has one axis",
    2: "`{}` is a number or has at most two axes",
}
REDUCTIONS = {  # of a row: functions and methods that take an axis
    *("sum", "mean", "std", "var", "prod", "max", "min", "amax", "amin", "median"),
    *("any", "all", "ptp", "argmax", "argmin", "linalg.norm"),
}
ORDERED = {"max", "min", "amax", "amin", "any", "all", "ptp", "argmax", "argmin"}
_DRAWS = {  # functions that return one random number, or as many as `size` says
    *("random", "standard_normal", "normal", "uniform", "integers", "randint"),
    *("exponential", "poisson", "binomial", "gamma", "beta", "choice", "rand", "randn"),
}
_PLAIN = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant),
    *(ast.operator, ast.unaryop, ast.cmpop),
)


class Expressions:
    """
    The loops of one rewrite, with the meaning of their names.

    Parameters
    ----------
    facts : Facts
        The counts.
    outermost : ast.AST
        The outermost loop, comprehension or function.
    headers : sequence of tuple
        The target and the iterable of each loop, and the node that reads the elements.
    body : sequence of ast.AST
        The statements or expressions of the innermost loop.

    Raises
    ------
    CannotError
        If the loops are not known to be equivalent to operations on whole arrays.
    """

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
        self._body = body
        self._bound = assigned([*body, *(target for target, _, _ in headers)])
        for node in ast.walk(outermost):
            if called(node) in self._source.redefined:
                raise CannotError(f"the program defines `{called(node)}`")
        self._indices: list[Indices] = []
        self._elements: dict[str, str] = {}  # names of elements, and their arrays
        self._rows: dict[str, str] = {}  # names of rows, and their arrays
        self._planes: set[str] = set()  # names of rows that are windows of two axes
        self._is_row = False  # whether the current node is in the reduction of a row
        self._n_row_axes = 1
        self._temporaries: set[str] = set()
        self._totals: list[str] = []  # the temporaries that are running sums
        self._updates: dict[str, str] = {}  # names that are updated, and the way
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
            self._check_outer()
            self._indices.append(self._range(target.id, args))
            return
        self._check_outer()
        if self._indices:
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

    def _check_outer(self) -> None:
        """Raise CannotError if a loop around iterates over elements or rows."""
        if self._elements or self._rows:
            raise CannotError("an outer loop iterates over elements or rows")

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
        used = {name.id for name in names_in(node)}
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
        if isinstance(node, ast.BinOp) and any(
            self._bindings.is_text(side) for side in (node.left, node.right)
        ):
            raise CannotError(f"`{self._text(node)}` is a text")
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
            if self._n_row_axes - 1 != (node.id in self._planes):
                raise CannotError(f"`{node.id}` has another number of axes")
            return self._rows[node.id]
        if node.id in self._elements:
            return f"{self._elements[node.id]}{'[:, None]' * self._is_row}"
        if node.id in {index.name for index in self._indices}:
            raise CannotError(f"the loop computes with `{node.id}` itself")
        if node.id in self._bound and node.id not in self._temporaries:
            raise CannotError(f"`{node.id}` depends on the element before")
        is_element = node.id in self._temporaries
        if self._is_row and not is_element:
            self._require(_SINGLE[self._n_row_axes].format(node.id))
        axes = ", None" * self._n_row_axes
        return f"{node.id}{f'[...{axes}]' * (self._is_row and is_element)}"

    def _invariant(self, node: ast.expr) -> str:
        name = dotted_name(node)
        if not name or name in self._bound or name.partition(".")[0] in self._bound:
            raise CannotError(f"`{self._text(node)}` has no known form for arrays")
        if self._is_row:
            self._require(_SINGLE[self._n_row_axes].format(name))
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
        if name in EXTREMES and len(args) == 2:
            self._require("no element is NaN")
            return f"{prefix}.{EXTREMES[name]}({listed})"
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
        if any(name.id in self._varying() for name in names_in(node)):
            return True
        return any(self._draws(part) for part in ast.walk(node))

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
        if function in REDUCTIONS and len(node.args) == 1:
            row = node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in REDUCTIONS:
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
        method = self._text(node.func).rpartition(".")[2]
        is_deep = self._count_axes(row) > 1
        if is_deep and (method in ("argmax", "argmin") or called(node)):
            raise CannotError(f"`{method}` of a window is not one of two axes")
        axes = "(-2, -1)" if is_deep else "-1"
        axis = f"axis={axes}{', keepdims=True' * self._is_row}"
        text = self._as_rows(row)
        if method not in ORDERED:
            self._require(REORDERED)
        if self._source.function(node.func):
            return f"{self._text(node.func)}({text}, {axis})"
        return f"{parenthesized(row, text)}.{method}({axis})"

    def _as_rows(self, node: ast.expr) -> str:
        """Return an expression of a row for all rows, with one more axis."""
        before = self._is_row, self._n_row_axes
        self._is_row, self._n_row_axes = True, self._count_axes(node)
        text = self._source.text(node, self._replacement)
        self._is_row, self._n_row_axes = before
        return text

    def _count_axes(self, node: ast.AST) -> int:
        """Return the number of axes of a row, which is 2 for windows of two axes."""
        return 1 + any(
            part.id in self._planes
            if isinstance(part, ast.Name)
            else isinstance(part, ast.Tuple)
            and all(isinstance(entry, ast.Slice) for entry in part.elts)
            for part in ast.walk(node)
        )

    def _row(self, node: ast.Subscript, name: str, entries: list[ast.expr]) -> str:
        """Return a subscript of a row, such as ``x[i]``, for all rows."""
        self._read.append((name, entries))
        first, *others = entries
        if all(isinstance(entry, ast.Slice) for entry in entries):
            return self._windows(name, entries)
        if self._n_row_axes > 1:
            raise CannotError(f"`{self._text(node)}` is not a window")
        if len(entries) == 2 and is_everything(first):
            self._require(_MATRIX.format(name))
            return f"{name}.T[{self._sliced(name, others, is_target=False)}]"
        if others:
            raise CannotError(f"`{self._text(node)}` is not a row")
        self._require(_MATRIX.format(name))
        sliced = self._sliced(name, entries, is_target=False)
        return f"{name}[{sliced}]" if sliced != ":" else name

    def _windows(self, name: str, parts: list[ast.expr]) -> str:
        """Return the windows ``x[i:i + w]`` or ``x[i:i + w, j:j + w]`` as rows."""
        if len(parts) != len(self._indices) or len(parts) != self._n_row_axes:
            raise CannotError("its windows have no known form for arrays")
        pairs = zip(parts, self._indices, strict=True)
        widths, keys = zip(*(self._window(*pair) for pair in pairs), strict=True)
        axes = "one axis" if len(parts) == 1 else "two axes"
        size = " x ".join(widths)
        self._require(f"`{name}` has {axes}, and each window has {size} elements")
        views = f"{self._source.numpy}.lib.stride_tricks.sliding_window_view"
        shape = widths[0] if len(parts) == 1 else f"({', '.join(widths)})"
        return f"{views}({name}, {shape})[{', '.join(keys)}]"

    def _window(self, part: ast.expr, index: Indices) -> tuple[str, str]:
        """Return the width of a slice such as ``i - w:i``, and the slice of windows."""
        is_plain = isinstance(part, ast.Slice) and not part.step and index.step == 1
        ends = [part.lower, part.upper] if isinstance(part, ast.Slice) else []
        if not is_plain or not all(
            self._is_invariant(term) or dotted_name(term) == index.name
            for end in ends
            for term, _ in self._summands(end)
        ):
            raise CannotError("its windows have no known form for arrays")
        lower, upper = (self._terms(end) for end in ends)
        upper.subtract(lower)
        lower[index.name] -= 1
        if lower[index.name] or upper[index.name]:
            raise CannotError("its windows have no known form for arrays")
        start, stop = (self._moved(end, lower) for end in (index.start, index.stop))
        if start.text.startswith("-"):
            raise CannotError("a window begins before the array")
        places = Indices(index.name, start, stop, 1)
        return joined(upper), self._slice("", -1, ast.Name(index.name), places)

    def _moved(self, bound: Bound, offset: Counter[str]) -> Bound:
        """Return the sum of a bound and the terms of an offset."""
        if not any(factor for term, factor in offset.items() if term):
            return bound + offset[""]
        terms = self._terms(bound.node)
        terms.update(offset)
        constant = bound.constant + terms.pop("", 0)
        text = joined(terms) if any(terms.values()) else ""
        return Bound(text, constant)

    def _terms(self, node: ast.AST | None) -> Counter[str]:
        """Return the terms of a sum with their factors; that of "" is the constant."""
        terms: Counter[str] = Counter()
        for term, sign in self._summands(node):
            number = integer(term)
            text = parenthesized(term, self._text(term)) if number is None else ""
            terms[text] += sign * (1 if number is None else number)
        return terms

    def _summands(
        self, node: ast.AST | None, sign: int = 1
    ) -> Iterator[tuple[ast.AST, int]]:
        """Yield the terms of a sum, with their signs."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            yield from self._summands(node.left, sign)
            is_sum = isinstance(node.op, ast.Add)
            yield from self._summands(node.right, sign if is_sum else -sign)
        elif node is not None:
            yield node, sign

    # -- Subscripts --------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> str:
        value, entries = subscripted(node)
        name = dotted_name(value)
        counts = {index.name for index in self._indices}
        if not name or name in self._bound or name.partition(".")[0] in self._bound:
            raise CannotError(f"`{self._text(node.value)}` is not a named array")
        if not any(mentions(entry, count) for entry in entries for count in counts):
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
        sliced += ", None" * self._n_row_axes * self._is_row
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

    def _is_invariant(self, entry: ast.AST) -> bool:
        simple = (ast.Name, ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator)
        is_simple = all(
            isinstance(part, (*simple, ast.unaryop, ast.expr_context))
            for part in ast.walk(entry)
        )
        changing = self._bound | {index.name for index in self._indices}
        return is_simple and not any(mentions(entry, name) for name in changing)

    def _sliced(self, base: str, entries: list[ast.expr], *, is_target: bool) -> str:
        """Return the key, with slices in place of indices and new axes for others."""
        parts: list[str] = []
        order: list[int] = []
        for axis, entry in enumerate(entries):
            at = next(
                (n for n, i in enumerate(self._indices) if mentions(entry, i.name)),
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
        if upper.text in lengths_of(base, axis) and upper.constant <= 0:
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
        value, entries = subscripted(node)
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
            if any(mentions(entry, index.name) for index in self._indices)
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
        value, entries = subscripted(node)
        base = dotted_name(value)
        for axis, entry in enumerate(entries):
            index = next((i for i in self._indices if mentions(entry, i.name)), None)
            offset = 0 if isinstance(entry, ast.Name) else self._shift(entry)
            if index is None or offset is None:
                return False
            is_length = index.stop.text in lengths_of(base, axis)
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
                if other == base and not is_apart(entries, used):
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
        least: dict[str, int] = {}
        for bound, offset in self._lowest.items():
            if bound.text and not self._is_at_least(bound, -offset):
                number = -offset - bound.constant
                least[bound.text] = max(number, least.get(bound.text, number))
        for text, number in least.items():
            condition = f"`{text}` is at least {number}"
            self._require(condition if number else f"`{text}` is not negative")
        return list(self._conditions)

    def _is_at_least(self, bound: Bound, least: int) -> bool:
        known = self._bindings.least(bound.node)
        return known is not None and known + bound.constant >= least
