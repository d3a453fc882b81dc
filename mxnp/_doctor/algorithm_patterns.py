"""Patterns of loops and expressions for which there is one function of NumPy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .bindings import integer
from .expressions import ORDERED, REDUCTIONS
from .findings import Finding, Search, summed
from .rewriting import DIGITS, REORDERED, CannotError, Rewrite, parenthesized
from .syntax import LOOPS, dotted_name
from .vectorization import vectorized_function

_LEAST = 1000  # elements that are exchanged, or that vectorize passes to a function
_LEAST_GROUPS = 10


def python_functions(search: Search) -> Iterator[Finding]:
    """Find calls of the functions that vectorize makes."""
    for node, n, seconds in _calls(search, "vectorize"):
        text = ""
        try:
            text, conditions = vectorized_function(node, search.facts)
            rewrite = Rewrite([search.restated(node, text)], conditions)
        except CannotError:
            where = f"{search.source.numpy}.where(condition, values, others)"
            rewrite = Rewrite([where], ["the function chooses between values"])
        yield _python_function(
            search,
            node,
            (n, "calls of a Python function", seconds),
            "vectorize calls the function for each element, as a loop does. Operations "
            "on whole arrays compute all elements in one pass.",
            rewrite,
            text,
        )


def functions_of_rows(search: Search) -> Iterator[Finding]:
    """Find calls of apply_along_axis, which calls a Python function for each row."""
    for node, n, seconds in _calls(search, "apply_along_axis"):
        if node in search.claimed:
            continue
        text, conditions = _along_axis(search, node)
        example = f"{search.source.numpy}.max(x, axis=1)"
        yield _python_function(
            search,
            node,
            (n, "elements in calls of a Python function", seconds),
            "apply_along_axis calls the function for each row. Functions of NumPy that "
            "have an axis compute all rows in one pass.",
            Rewrite(
                [search.restated(node, text) if text else example],
                conditions if text else ["the function reduces a row"],
            ),
            text,
        )


def _calls(search: Search, operation: str) -> Iterator[tuple[ast.Call, int, float]]:
    """Yield calls with many elements in an operation, with these and the seconds."""
    for node, rows in list(search.facts.rows.items()):
        counted = [row for row in rows if row.operation == operation]
        n = sum(row.elements for row in counted)
        if n >= _LEAST and isinstance(node, ast.Call):
            yield node, n, summed(counted)[1]


def _python_function(
    search: Search,
    node: ast.Call,
    cost: tuple[int, str, float],
    problem: str,
    rewrite: Rewrite,
    text: str,
) -> Finding:
    """Return a finding for a call, with an edit to `text` unless that is empty."""
    search.claim(node)
    found = search.finding(
        "Python function", node, cost, problem, rewrite, is_example=not text
    )
    if text:
        search.note_edit(found, node, text)
    return found


def _along_axis(search: Search, call: ast.Call) -> tuple[str, list[str]]:
    """Return an expression for all rows, or "", and its conditions."""
    source = search.source
    if len(call.args) != 3 or call.keywords:
        return "", []
    function, axis, array = call.args
    rows, along = source.text(array), f"axis={source.text(axis)}"
    used: list[str] = []  # the reductions
    conditions: dict[str, None] = {}

    def reduction(node: ast.AST) -> str | None:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr=method),
                args=[],
                keywords=[],
            ) if name == row:
                used.append(method)
                conditions[f"`{rows}` is an array"] = None
                return f"{parenthesized(array, rows)}.{method}({along})"
            case ast.Call(args=[ast.Name(id=name)], keywords=[]) if name == row:
                used.append(source.function(node.func))
                return f"{source.text(node.func)}({rows}, {along})"
            case ast.expr() if not _is_for_all(node):
                used.append("")
        return None

    match function:
        case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=row)]), body=body):
            text = source.text(body, reduction)
        case _:
            used = [source.function(function)]
            text = f"{source.text(function)}({rows}, {along})"
    is_fixed = all(dotted_name(x) or integer(x) is not None for x in (array, axis))
    is_known = bool(used) and REDUCTIONS.issuperset(used)
    if not is_known or not (is_fixed or len(used) == 1):
        return "", []
    if not ORDERED.issuperset(used):
        conditions[REORDERED] = None
    return text, [*conditions]


def _is_for_all(node: ast.AST) -> bool:
    """Check whether an expression of numbers is one of arrays, element by element."""
    match node:
        case ast.BinOp(op=ast.MatMult() | ast.Pow()) | ast.UnaryOp(op=ast.Not()):
            return False
        case ast.Compare(ops=[op]):
            return not isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn))
        case ast.Constant(value=value):
            return isinstance(value, (int, float, complex))
    return isinstance(node, (ast.BinOp, ast.UnaryOp))


def sorting_loops(search: Search) -> Iterator[Finding]:
    """Find loops that exchange elements of an array until they are in order."""
    source = search.source
    for node in ast.walk(source.tree):
        name = _exchanged(search, node)
        loops = [loop for loop in source.loops(node) if isinstance(loop, LOOPS)]
        if not name or len(loops) < 2:
            continue
        outermost = loops[-1]
        calls, seconds = summed(row for _, row in search.facts.within(outermost))
        if calls < _LEAST:
            continue
        search.claim(outermost)
        found = search.finding(
            "sorting loop",
            outermost,
            (calls, "reads and writes of elements", seconds),
            "The loops compare and exchange single elements. sort() does not create "
            "Python objects, and needs fewer comparisons.",
            Rewrite(
                [f"{name}.sort()"], [f"the loops sort `{name}` in ascending order"]
            ),
        )
        search.note_edit(found, outermost, f"{name}.sort()")
        yield found


def _exchanged(search: Search, node: ast.AST) -> str:
    """Return the array of ``if a[i] > a[j]: a[i], a[j] = a[j], a[i]``, or ""."""
    match node:
        case ast.If(
            test=ast.Compare(left=left, ops=[op], comparators=[right]),
            body=[
                ast.Assign(
                    targets=[ast.Tuple(elts=[ast.Subscript() as one, other])],
                    value=ast.Tuple(elts=values),
                )
            ],
            orelse=[],
        ):
            pass
        case _:
            return ""
    stored = [search.source.text(part) for part in (one, other)]
    read = [search.source.text(part) for part in values]
    if isinstance(op, (ast.Lt, ast.LtE)):
        left, right = right, left
    compared = {search.source.text(part) for part in (left, right)}
    is_exchange = stored == read[::-1] and compared == {*stored}
    is_exchange &= isinstance(op, _ORDERS) and not _is_behind(left, right)
    elements = search.facts.elements(one, "setitem")
    return dotted_name(one.value) if is_exchange and elements else ""


_ORDERS = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)


def _is_behind(one: ast.expr, other: ast.expr) -> bool:
    """Check whether an element is behind another: ``a[j + 1]`` and ``a[j]``."""
    match one, other:
        case (
            ast.Subscript(slice=ast.BinOp(left=index, op=ast.Add())),
            ast.Subscript(slice=before),
        ):
            return ast.dump(index) == ast.dump(before)
        case (
            ast.Subscript(slice=before),
            ast.Subscript(slice=ast.BinOp(left=index, op=ast.Sub())),
        ):
            return ast.dump(index) == ast.dump(before)
    return False


def grouped_reductions(search: Search) -> Iterator[Finding]:
    """Find loops over groups that select each group with a comparison of labels."""
    source = search.source
    for loop in ast.walk(source.tree):
        match loop:
            case ast.For(
                target=ast.Name(id=index),
                iter=ast.Call(func=ast.Name(id="range"), args=[stop]),
                body=[statement],
                orelse=[],
            ):
                pass
            case _:
                continue
        rows = [row for _, row in search.facts.within(loop)]
        calls = sum(row.calls for row in rows if row.operation == "equal")
        target, value = _stored(search, statement, index, stop)
        if not target or value is None or calls < _LEAST_GROUPS:
            continue
        rewrite = _counted(search, value, index, source.text(stop))
        array = target.partition("[")[0]
        if rewrite is None or array in map(dotted_name, ast.walk(value)):
            continue
        rewrite.conditions += [
            f"`{array}` shares no memory with the arrays that the loop reads",
            f"`{index}` is not used after the loop",
        ]
        rewrite.lines[0] = f"{target} = {rewrite.lines[0]}"
        search.claim(loop)
        found = search.finding(
            "loop over groups",
            loop,
            (calls, "comparisons of all labels", summed(rows)[1]),
            "Each iteration compares all labels with one. bincount reads them once for "
            "all groups.",
            rewrite,
        )
        search.note_edit(found, loop, rewrite.lines[0])
        yield found


def _stored(
    search: Search, statement: ast.stmt, index: str, stop: ast.expr
) -> tuple[str, ast.expr | None]:
    """Return where an iteration stores its value, for all iterations, and the value."""
    match statement:
        case ast.Assign(
            targets=[ast.Subscript(value=array, slice=ast.Name(id=key))], value=value
        ) if key == index and dotted_name(array):
            return f"{dotted_name(array)}[:{search.source.text(stop)}]", value
    return "", None


def _counted(search: Search, value: ast.expr, index: str, stop: str) -> Rewrite | None:
    """Rewrite the sum, the mean or the number of the elements of a group."""
    source = search.source
    if not isinstance(value, ast.Call) or len(value.args) > 1 or value.keywords:
        return None
    if value.args:
        name, reduced = source.function(value.func), value.args[0]
    elif isinstance(value.func, ast.Attribute):
        name, reduced = value.func.attr, value.func.value
    else:
        return None
    weights = ""
    if isinstance(reduced, ast.Subscript) and name in ("sum", "mean"):
        weights, reduced = dotted_name(reduced.value), reduced.slice
    elif name not in ("sum", "count_nonzero"):
        return None
    if isinstance(reduced, ast.Call) and source.function(reduced.func) == "where":
        reduced = reduced.args[0]
    match reduced:
        case ast.Compare(
            left=labels, ops=[ast.Eq()], comparators=[ast.Name(id=key)]
        ) if key == index and dotted_name(labels):
            pass
        case _:
            return None
    bincount, label = f"{source.numpy}.bincount", dotted_name(labels)
    n = f"{bincount}({label}, minlength={stop})[:{stop}]"
    conditions = [f"`{label}` has one axis, and integers that are not negative"]
    if weights:
        conditions.append(REORDERED)
    total = f"{bincount}({label}, {weights}, minlength={stop})[:{stop}]"
    texts = {"sum": total, "mean": f"{total} / {n}"}
    return Rewrite([texts[name] if weights else n], conditions)


def inverse_products(search: Search) -> Iterator[Finding]:
    """Find products of an inverse, which solve() computes without the inverse."""
    source = search.source
    for node in ast.walk(source.tree):
        match node:
            case (
                ast.BinOp(left=inverse, op=ast.MatMult(), right=right)
                | ast.Call(func=ast.Attribute(attr="dot"), args=[inverse, right])
                | ast.Call(func=ast.Attribute(value=inverse, attr="dot"), args=[right])
            ) if isinstance(inverse, ast.Call) and len(inverse.args) == 1:
                pass
            case _:
                continue
        is_call = isinstance(node, ast.Call) and len(node.args) == 2
        if source.function(inverse.func) != "linalg.inv" or (
            is_call and source.function(getattr(node, "func", node)) != "dot"
        ):
            continue  # or it is a method, and its output
        calls = summed(search.facts.rows.get(inverse, []))[0]
        seconds = summed(row for _, row in search.facts.within(node))[1]
        matrix = source.text(inverse.args[0])
        function = source.text(inverse.func).removesuffix("inv") + "solve"
        text = f"{function}({matrix}, {source.text(right)})"
        search.claim(node)
        found = search.finding(
            "product of an inverse",
            node,
            (calls, f"inverse{'s' * (calls > 1)}", seconds),
            "solve() computes the product without the inverse. That takes less time "
            "and is more exact.",
            Rewrite(
                [search.restated(node, text)],
                [f"`{matrix}` has two axes", DIGITS.format("another algorithm")],
            ),
        )
        search.note_edit(found, node, text)
        yield found
