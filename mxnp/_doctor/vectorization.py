"""Rewrite loops over elements as operations on whole arrays, if that is correct."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .bindings import called, integer
from .expressions import Expressions
from .rewriting import (
    ATOMS,
    EXTREMES,
    MULTIPLIED,
    REORDERED,
    CannotError,
    Rewrite,
    is_everything,
    mentions,
    names_in,
    parenthesized,
    sign_of,
    subscripted,
)
from .syntax import Facts, Source, dotted_name, is_stored, stored

_AT = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}
_SUMS = {ast.Add: "sum", ast.Sub: "sum", ast.Mult: "prod"}
_RUNNING = {  # the operator, NumPy's function, the condition, the word for results
    "add": ("+", "cumsum", REORDERED, "sums"),
    "multiply": ("*", "cumprod", MULTIPLIED, "products"),
}


def vectorized_loop(
    loop: ast.For, facts: Facts, *, keeps_types: bool = False
) -> Rewrite:
    """
    Rewrite a loop over elements, with the loops inside.

    Parameters
    ----------
    loop : ast.For
        The outermost loop.
    facts : Facts
        The counts, which show the subscripts that are single elements of arrays.
    keeps_types : bool, optional
        Whether lists stay lists, unless they are used as arrays, and counts int.

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
    whole.keeps_types = keeps_types
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
    used = {name.id for name in names_in(made)}
    if len(names) != len(arrays) or not all(arrays) or not used.issuperset(names):
        raise CannotError("the arguments are not named arrays")
    own = {name.id for name in names_in(made) if is_stored(name)}
    if (used - own - {*names}) & _bound_beside(source, call, made):
        raise CannotError("a name of the function means something else at the call")
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


def _bound_beside(source: Source, call: ast.AST, function: ast.AST) -> set[str]:
    """Return the names that a call and a function may use for different things.

    They are bound in the function around one of the two, and not around the other.
    """
    scopes = {source.scope(call), source.scope(function)}
    others = scopes - {source.tree} if len(scopes) > 1 else set()
    nodes = [node for scope in others for node in ast.walk(scope)]
    bound = {x.id for x in nodes if isinstance(x, ast.Name) and is_stored(x)}
    return bound | {x.arg for x in nodes if isinstance(x, ast.arg)}


class _Vectorization(Expressions):
    """The statements of the loops of one rewrite."""

    keeps_types = False

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

    def _update_name(self, name: str, way: str) -> None:
        """Record that iterations update a name, which they may do in one way only."""
        if name in self._temporaries or self._updates.setdefault(name, way) != way:
            raise CannotError(f"`{name}` depends on the element before")

    def _check_unused(self, name: str) -> None:
        """Raise CannotError if a name that the loop leaves behind is read elsewhere."""
        if self._source.is_used_outside(self._outermost, name):
            raise CannotError(f"`{name}` is used outside the loop")

    def _statement(self, statement: ast.stmt) -> str:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Subscript):
                return (
                    self._running(target, statement.value)
                    or self._products(target, statement.value)
                    or self._assignment(target, statement.value)
                )
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
        """Rewrite ``y[i] = y[i - 1] + x[i]``, or a maximum, or return None."""
        name = dotted_name(target.value)
        function, both = self._combined(value)
        is_before = [self._is_element_before(target, part) for part in both]
        if is_before.count(True) != 1 or not isinstance(target.slice, ast.Name):
            return None
        if sum(name in stored(each) for each in self._body) > 1:
            raise CannotError(f"`{name}` depends on elements set before")
        new = self.full(both[is_before.index(False)])
        first = f"{name}[{self._indices[0].start + -1}]"
        prefix = self._source.numpy
        if function in _RUNNING:
            sign, accumulate, condition, results = _RUNNING[function]
            text = f"{first} {sign} {prefix}.{accumulate}({new})"
        else:
            condition, results = "no element is NaN", "results"
            ufunc = f"{prefix}.{function}"
            text = f"{ufunc}({first}, {ufunc}.accumulate({new}))"
        self._require(condition)
        self._require(f"`{name}` has the dtype of the {results}")
        return f"{self._target(target)} = {text}"

    def _combined(self, value: ast.expr) -> tuple[str, list[ast.expr]]:
        """Return the ufunc that combines two values, and the values."""
        if isinstance(value, ast.BinOp):
            names = {ast.Add: "add", ast.Mult: "multiply"}
            name = names.get(type(value.op), "")
            return name, [value.left, value.right] if name else []
        if isinstance(value, ast.Call) and len(value.args) == 2 and not value.keywords:
            name = EXTREMES.get(called(value)) or self._source.function(value.func)
            return name, value.args if name in EXTREMES.values() else []
        return "", []

    def _is_element_before(self, target: ast.Subscript, part: ast.expr) -> bool:
        """Check whether a part is ``y[i - 1]`` for the target ``y[i]``."""
        index = self._indices[0] if len(self._indices) == 1 else None
        return (
            index is not None
            and (index.start.text, index.step) == ("", 1)
            and index.start.constant > 0
            and isinstance(part, ast.Subscript)
            and dotted_name(part.value) == dotted_name(target.value)
            and self._shift(part.slice) == -1
            and mentions(part.slice, index.name)
        )

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
        text = f"{text}{'.copy()' * is_view}"
        if self.keeps_types and not self._bindings.is_taken_as_array(name):
            text = f"list({text})"
        return f"{name} = {text}"

    def _temporary(self, target: ast.Name, value: ast.expr) -> str:
        if mentions(value, target.id):
            return self._extreme(target.id, value)
        if target.id in self._updates:
            raise CannotError(f"`{target.id}` depends on the element before")
        if self._makes_row(value) and self._varies(value):
            text = self._as_rows(value)
            self._rows[target.id] = target.id
            if self._count_axes(value) > 1:
                self._planes.add(target.id)
            return f"{target.id} = {text}"
        text = self.full(value)
        if isinstance(value, ast.Subscript):
            base = dotted_name(subscripted(value)[0])
            text += ".copy()" * (base in stored(self._outermost))  # not a view
        self._temporaries.add(target.id)
        return f"{target.id} = {text}"

    def _extreme(self, name: str, value: ast.expr) -> str:
        """Rewrite ``m = max(m, x[i])``."""
        call = called(value)
        args = getattr(value, "args", [])
        is_like = call in EXTREMES and len(args) == 2 and dotted_name(args[0]) == name
        if not is_like or call in self._source.redefined:
            raise CannotError(f"`{name}` depends on the element before")
        self._update_name(name, call)
        text = parenthesized(args[1], self.full(args[1]))
        self._require(f"`{text}` is not empty and has no NaN")
        return f"{name} = {call}({name}, {text}.{call}())"

    def _accumulation(self, statement: ast.AugAssign, value: str) -> str:
        name = dotted_name(statement.target)
        method = _SUMS.get(type(statement.op))
        if not method or not name:
            raise CannotError(f"`{name}` depends on the element before")
        self._update_name(name, method)
        sign = sign_of(statement.op)
        self._require(REORDERED if method == "sum" else MULTIPLIED)
        if self._is_read(name):
            self._temporaries.add(name)
            self._totals.append(name)
            self._require("the loop has an iteration")
            return f"{name} = {name} {sign} {self._source.numpy}.cum{method}({value})"
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
        array, entries = subscripted(target)
        self._read.append((dotted_name(array), entries))
        left = self._target(target)
        value = value if isinstance(statement.value, ATOMS) else f"({value})"
        return f"{left} = {left} {sign_of(statement.op)} {value}"

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
        parts = [subscripted(part) for part in (target, *factors)]
        used = [[dotted_name(entry) for entry in entries] for _, entries in parts]
        i, j, k = names[0], *(names[1:] if used[0][1:] == names[1:2] else names[:0:-1])
        if used != [[i, j], [i, k], [k, j]]:
            return ""
        if len(self._body) > 1:
            raise CannotError("another statement may need a part of the sum")
        index = {each.name: each for each in self._indices}
        texts: list[str] = []
        for (base, _), pair in zip(parts, used, strict=True):
            name = dotted_name(base)
            slices = [
                self._slice(name, axis, ast.Name(each), index[each])
                for axis, each in enumerate(pair)
            ]
            texts.append(f"{name}[{', '.join(slices)}]")
        self._read += [(dotted_name(base), []) for base, _ in parts[1:]]
        self._store(dotted_name(parts[0][0]), parts[0][1])
        self._require(REORDERED)
        return f"{texts[0]} += {texts[1]} @ {texts[2]}"

    def _products(self, target: ast.Subscript, value: ast.expr) -> str | None:
        """Rewrite ``c[i, j] = a[i] @ b[:, j]`` or ``y[i] = a[i] @ v``."""
        match value:
            case ast.BinOp(left=one, op=ast.MatMult(), right=other):
                pass
            case ast.Call(
                func=ast.Attribute(attr="dot"), args=[one, other], keywords=[]
            ):
                if self._source.function(value.func) != "dot":
                    return None
            case ast.Call(
                func=ast.Attribute(attr="dot", value=one), args=[other], keywords=[]
            ):
                pass
            case _:
                return None
        if not self._facts.elements(target, "setitem"):
            return None  # the factors are no vectors
        texts = [self._factor(part, n) for n, part in enumerate((one, other))]
        self._require(REORDERED)
        return f"{self._target(target)} = {texts[0]} @ {texts[1]}"

    def _factor(self, node: ast.expr, axis: int) -> str:
        """Return a factor of a matrix product, whose rows or columns are vectors."""
        if isinstance(node, ast.Name) and axis and len(self._indices) == 1:
            self._read.append((node.id, []))
            self._require(f"`{node.id}` has one axis")
            return self._name(node)
        if not isinstance(node, ast.Subscript) or self._facts.rows.get(node):
            raise CannotError(f"`{self._text(node)}` is not a row or a column")
        base, entries = subscripted(node)
        name = dotted_name(base)
        is_column = len(entries) == 2 and is_everything(entries[0])
        index = self._indices[axis] if axis < len(self._indices) else None
        is_vector = len(entries) == 1 + is_column and name not in {"", *self._bound}
        if not is_vector or index is None or not mentions(entries[-1], index.name):
            raise CannotError(f"`{self._text(node)}` is not a row or a column")
        self._read.append((name, entries))
        self._require(f"`{name}` is an array with two axes")
        key = self._slice(name, int(is_column), entries[-1], index)
        text = f"{name}[:, {key}]" if is_column else f"{name}[{key}]"
        text = name if key == ":" else text
        return text if is_column == bool(axis) else f"{text}.T"

    def _choice(self, statement: ast.If) -> str:
        """Rewrite an assignment or a sum under a condition."""
        greatest = self._greatest(statement)
        if greatest:
            return greatest
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
                count = f"int({count})" if self.keeps_types else count
                name = dotted_name(first.target)
                self._update_name(name, "sum")
                return f"{name} {sign_of(first.op)}= {count}"
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
            array, entries = subscripted(targets[0])
            self._read.append((dotted_name(array), entries))
        return f"{left} = {where}({condition}, {chosen}, {other})"

    def _greatest(self, statement: ast.If) -> str | None:
        """Rewrite ``if x[i] > m: m = x[i]``, or with ``at = i`` too, or return None."""
        match statement:
            case ast.If(
                test=ast.Compare(left=one, ops=[op], comparators=[other]), orelse=[]
            ) if isinstance(op, (ast.Gt, ast.GtE, ast.Lt, ast.LtE)):
                is_less = isinstance(op, (ast.Lt, ast.LtE))
            case _:
                return None
        values = {
            name: each.value
            for each in statement.body
            if isinstance(each, ast.Assign) and len(each.targets) == 1
            if (name := dotted_name(each.targets[0]))
        }
        for known, value, is_max in ((other, one, not is_less), (one, other, is_less)):
            name, function = dotted_name(known), "max" if is_max else "min"
            if name not in values or self._text(values[name]) != self._text(value):
                continue
            if any(self._draws(part) for part in ast.walk(value)):
                raise CannotError("a random number is drawn for each comparison")
            if len(statement.body) > 1:
                return self._place(statement, values, name, function)
            call = ast.Call(ast.Name(function, ast.Load()), [known, value], [])
            return self._extreme(name, call)
        return None

    def _place(
        self, statement: ast.If, values: dict[str, ast.expr], name: str, function: str
    ) -> str:
        """Rewrite a search for an extreme and its index."""
        place = next((each for each in values if each != name), "")
        (index,) = self._indices if len(self._indices) == 1 else (None,)
        is_strict = isinstance(statement.test.ops[0], (ast.Gt, ast.Lt))  # type: ignore[attr-defined]
        if not (
            index
            and is_strict
            and index.step == 1
            and place
            and len(statement.body) == len(values) == 2
            and dotted_name(values[place]) == index.name
        ):
            raise CannotError("there is more than one statement under a condition")
        for each in (name, place):
            self._update_name(each, self._text(statement))
        array = parenthesized(values[name], self.full(values[name]))
        extreme, sign = f"{array}.{function}()", ">" if function == "max" else "<"
        self._require(f"`{array}` is not empty and has no NaN")
        start = "" if str(index.start) == "0" else f"{index.start} + "
        return (
            f"if {extreme} {sign} {name}:\n"
            f"    {place} = {start}int({array}.arg{function}())\n"
            f"    {name} = {extreme}"
        )

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
