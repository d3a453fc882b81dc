"""Patterns of whole arrays: growth, masks, kept results, repeated waits, float64."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mxnp._engine import core, figures
from mxnp._profiler.model import ENGINES, Row

from .findings import Finding, Search, summed
from .rewriting import Rewrite, parenthesized
from .syntax import LOOPS, PURE, Source, assigned, dotted_name, is_stored, spot

_LEAST_ROUNDS = 10
_LONG_WAIT = 1e-4  # seconds; a longer wait is the work itself
_LEAST_MASKED = 1 << 18  # elements; below, selecting is as fast
_LONGEST_LINE = 88
_LEAST_KEPT = 1 << 15  # elements of a kept result


# -- Arrays that grow ------------------------------------------------------------------

_GROWING = {
    "append": "ravel",
    "concatenate": "",
    "hstack": "",
    "vstack": "",
}


def growing_arrays(search: Search) -> Iterator[Finding]:
    """Find arrays to which a loop appends a piece in each iteration."""
    source = search.source
    grown: dict[ast.AST, list[tuple[Finding, ast.AST, tuple[str, str, str]]]] = {}
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        name, call = dotted_name(node.targets[0]), node.value
        if not (name and isinstance(call, ast.Call) and call.args):
            continue
        function = source.function(call.func)
        loops: list[ast.AST] = [
            loop for loop in source.loops(node) if isinstance(loop, LOOPS)
        ]
        rows = [
            row for row in search.facts.rows.get(call, []) if row.operation == function
        ]
        if function not in _GROWING or not loops or not rows:
            continue
        pieces = list(call.args)
        if function != "append" and isinstance(call.args[0], (ast.Tuple, ast.List)):
            pieces = list(call.args[0].elts)
        calls, seconds = summed(rows)
        if dotted_name(pieces[0]) != name or calls < _LEAST_ROUNDS:
            continue
        rewrite, edit = _collected(search, node, name, function, pieces[1:], loops)
        found = search.finding(
            "growing array",
            node,
            (calls, "copies of the whole array", seconds),
            f"Each {function} copies the whole array. Appending to a list does not "
            "copy the other pieces.",
            rewrite,
        )
        yield found
        if edit is not None:
            loop, lines = edit
            grown.setdefault(loop, []).append((found, node, lines))
    for loop, parts in grown.items():  # one change for all arrays of a loop
        texts = {node: appended for _, node, (_, appended, _) in parts}
        search.note_edit(
            parts[0][0],
            loop,
            "\n".join(
                [
                    *(before for _, _, (before, _, _) in parts),
                    source.text(loop, texts.get),
                    *(after for _, _, (_, _, after) in parts),
                ]
            ),
        )


def _collected(
    search: Search,
    node: ast.Assign,
    name: str,
    function: str,
    pieces: list[ast.expr],
    loops: list[ast.AST],
) -> tuple[Rewrite, tuple[ast.AST, tuple[str, str, str]] | None]:
    """Return the rewrite, and the loop with the lines before, in and after it."""
    source = search.source
    assert isinstance(node.value, ast.Call)
    prefix = source.text(node.value.func).rpartition(".")[0]
    prefix = f"{prefix}." if prefix else ""
    first = node.value.args[0]
    if function != "append" and isinstance(first, (ast.Tuple, ast.List)):
        first = first.elts[0]
    own = {node.targets[0], first}
    loop = None
    for outer in loops:  # find the outermost loop without another use of the array
        uses = [
            use
            for use in ast.walk(outer)
            if dotted_name(use) == name and use not in own
        ]
        if uses:
            break
        loop = outer
    is_plain = len(pieces) == 1 and not node.value.keywords and name.isidentifier()
    is_plain &= len(node.value.args) == (2 if function == "append" else 1)
    if loop is None or not is_plain:
        example = [
            "parts = []             # before the loop",
            "parts.append(piece)    # in the loop",
            f"{name} = {prefix}concatenate(parts)  # after it, or where it is used",
        ]
        condition = f"the other uses of `{name}` in the loop are adapted"
        return Rewrite(example, [condition]), None
    piece = source.text(pieces[0])
    parts = f"{name}_parts"
    joined, begin = f"{prefix}{function}({parts})", f"[{name}]"
    if function == "append" and _is_number(search, pieces[0]):
        joined, begin = f"{prefix}append({name}, {parts})", "[]"
    elif function == "append":
        joined = f"{prefix}concatenate([{prefix}ravel(part) for part in {parts}])"
    new = f"{parts} = {begin}", f"{parts}.append({piece})", f"{name} = {joined}"
    lines = [
        f"{new[0]}  # before the loop in line {loop.lineno}",  # type: ignore[attr-defined]
        f"{new[1]}  # in line {node.lineno}",
        f"{new[2]}  # after the loop",
    ]
    conditions = []
    if not _stays(search, pieces[0], loop):
        conditions.append(f"`{piece}` is not changed in place later")
    return Rewrite(lines, conditions), (loop, new)


def _is_number(search: Search, piece: ast.expr) -> bool:
    """Check whether a piece is certainly a number in each iteration."""
    if isinstance(piece, (ast.BinOp, ast.UnaryOp)):
        operands = (part for part in ast.iter_child_nodes(piece))
        return all(
            _is_number(search, part) for part in operands if isinstance(part, ast.expr)
        )
    if isinstance(piece, ast.Name):
        return _is_counter(search, piece)
    rows = search.facts.rows.get(piece, [])
    is_element = bool(rows) and all(row.elements == row.calls for row in rows)
    return isinstance(piece, ast.Constant) or is_element


def _is_counter(search: Search, name: ast.Name) -> bool:
    """Check whether a loop over a range binds a name."""
    for above in search.source.loops(name):
        if isinstance(above, ast.For) and dotted_name(above.target) == name.id:
            return dotted_name(getattr(above.iter, "func", above)) == "range"
    return False


def _stays(search: Search, piece: ast.expr, loop: ast.AST) -> bool:
    """Check whether a value certainly does not change after its append to a list."""
    if isinstance(piece, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare)):
        return True
    if isinstance(piece, (ast.List, ast.Tuple)):
        return all(_stays(search, part, loop) for part in piece.elts)
    if isinstance(piece, ast.Subscript):
        return bool(search.facts.elements(piece, "getitem"))
    return isinstance(piece, ast.Name) and _is_counter(search, piece)


# -- Masks -----------------------------------------------------------------------------

_CHEAP = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub, ast.UAdd)


def masked_updates(search: Search) -> Iterator[Finding]:
    """Find assignments of masked elements to elements that the same mask selects."""
    source = search.source
    for node in ast.walk(source.tree):
        target = _target(node)
        if not isinstance(target, ast.Subscript):
            continue
        rows = search.facts.rows.get(target, [])
        masks = [
            row
            for row in rows
            if row.operation == "nonzero"  # for a scatter, on a GPU
            or (row.operation, row.backend) == ("setitem", "cpu")
        ]
        if not masks or sum(row.elements for row in masks) < _LEAST_MASKED * max(
            1, sum(row.calls for row in masks)
        ):
            continue
        rewrite = _chosen(search, node, target)
        if rewrite is None:
            continue
        cost = summed(row for _, row in search.facts.within(node))[1]
        search.claim(node)
        yield search.finding(
            "masked update",
            node,
            (sum(row.calls for row in masks), "selections", cost),
            "The number of selected elements has to be computed first, and then the "
            "elements are gathered and put back. where() is one pass, fused with the "
            "operations around it.",
            rewrite,
        )


def _target(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return node.targets[0]
    return node.target if isinstance(node, ast.AugAssign) else None


def _chosen(search: Search, node: ast.AST, target: ast.Subscript) -> Rewrite | None:
    """Rewrite ``a[m] = f(b[m])`` with where(); return None if `f` is expensive."""
    source = search.source
    mask = ast.dump(target.slice)
    name = dotted_name(target.value)
    if not name or not _is_cheap(target.slice, ""):
        return None
    value = node.value  # type: ignore[attr-defined]
    if not _is_cheap(value, mask):
        return None

    def whole(part: ast.AST) -> str | None:
        if isinstance(part, ast.Subscript) and ast.dump(part.slice) == mask:
            return source.text(part.value)
        return None

    selected = sorted((p for p in ast.walk(value) if whole(p) is not None), key=spot)
    arrays = dict.fromkeys([name, *(source.text(p.value) for p in selected)])  # type: ignore[attr-defined]
    text = source.text(value, whole)
    if isinstance(node, ast.AugAssign):
        if not isinstance(node.op, _CHEAP):
            return None
        sign = ast.unparse(ast.BinOp(ast.Name("a"), node.op, ast.Name("b")))[1:-1]
        text = f"{name}{sign}{parenthesized(value, text)}"
    elif not selected:
        return None
    selection = source.text(target.slice)
    listed = ", ".join(f"`{array}`" for array in arrays)
    conditions = [f"the mask `{selection}` has the shape of {listed}"]
    inside = {id(part) for array in selected for part in ast.walk(array)}
    others = dict.fromkeys(
        part.id
        for part in ast.walk(value)
        if isinstance(part, ast.Name) and id(part) not in inside
    )
    conditions += [f"`{other}` is a number" for other in others]
    if any(isinstance(part, ast.Div) for part in ast.walk(node)):
        conditions.append("warnings for elements that are not selected can be ignored")
    new = f"{name}[...] = {source.numpy}.where({selection}, {text}, {name})"
    return Rewrite([new], conditions)


def _is_cheap(node: ast.AST, mask: str) -> bool:
    """Check whether computing all elements costs little more than computing some."""
    if isinstance(node, ast.Subscript):
        return (
            bool(mask)
            and ast.dump(node.slice) == mask
            and bool(dotted_name(node.value))
        )
    if isinstance(node, (ast.Name, ast.Constant, ast.Attribute)):
        return True
    if isinstance(node, ast.BinOp):
        is_square = isinstance(node.op, ast.Pow) and (
            isinstance(node.right, ast.Constant) and node.right.value == 2
        )
        bits = (ast.BitAnd, ast.BitOr, ast.BitXor)
        is_known = is_square or isinstance(node.op, (*_CHEAP, *(() if mask else bits)))
        return is_known and _is_cheap(node.left, mask) and _is_cheap(node.right, mask)
    if isinstance(node, ast.UnaryOp):
        return _is_cheap(node.operand, mask)
    if isinstance(node, ast.Compare) and not mask:
        return all(_is_cheap(part, mask) for part in (node.left, *node.comparators))
    return False


# -- Kept results ----------------------------------------------------------------------


def kept_results(search: Search) -> Iterator[Finding]:
    """Find results that are written to memory only because a name still holds them."""
    source = search.source
    for node in ast.walk(source.tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            continue
        rows = [
            row for row in search.facts.rows.get(node.value, []) if _is_written(row)
        ]
        reduces = any(
            "." in row.operation for _, row in search.facts.within(node.value)
        )
        if not rows or reduces or len(node.targets) > 1 or node in search.claimed:
            continue
        rewrite = _released(search, node, node.targets[0].id, rows)
        if rewrite is None:
            continue
        calls, seconds = summed(rows)
        written = sum(row.bytes_written for row in rows)
        yield search.finding(
            "kept result",
            node,
            (
                calls,
                f"result{'s' * (calls > 1)}, {figures.nbytes(written)} written",
                seconds,
            ),
            f"`{node.targets[0].id}` still holds the result when the operations that "
            "use it run, so it is written to memory.",
            rewrite,
        )


def _is_written(row: Row) -> bool:
    return (
        row.backend in ENGINES
        and row.calls > 0
        and row.fused_calls == row.calls
        and 2 * row.elided < row.calls
        and row.bytes_written > 0
        and row.elements >= _LEAST_KEPT * row.calls
        and "." not in row.operation
    )


def _released(
    search: Search, node: ast.Assign, name: str, rows: list[Row]
) -> Rewrite | None:
    """Rewrite an assignment so that no name holds the result when it is computed."""
    source = search.source
    scope = source.scope(node)
    uses = source.names(scope, name)
    stores = [use for use in uses if is_stored(use)]
    loads = [use for use in uses if not is_stored(use)]
    block = source.block(node)
    after = block[block.index(node) + 1 :]
    if len(stores) != 1 or not loads or source.is_shared(name, scope):
        return None
    if isinstance(scope, ast.ClassDef):
        return None
    conditions = []
    if scope is source.tree:
        conditions.append(f"no other file uses `{name}`")
    users = [one for one in after if source.names(one, name)]
    if not all(
        isinstance(one, (ast.Assign, ast.AugAssign, ast.Return)) for one in users
    ):
        return None
    if sum(len(source.names(one, name)) for one in users) != len(loads):
        return None
    per_call = {row.elements // row.calls for row in rows}
    if not all(_is_fused(search, load, per_call) for load in loads):
        return None
    last = users[-1]
    between = after[: after.index(last)]
    if any(
        _has_other_calls(source, one) or [*search.facts.waits_within(one)]
        for one in between
    ):
        return None
    must_be_one = bool([*search.facts.waits_within(last)]) or isinstance(
        last, ast.Return
    )
    if len(loads) == 1 and last is after[0] and _is_plain(source, node.value):
        value = node.value
        text = source.text(value)
        text = text if isinstance(value, (ast.Call, ast.Name)) else f"({text})"
        new = source.text(last, lambda part: text if part is loads[0] else None)
        is_short = all(len(line) <= _LONGEST_LINE for line in new.split("\n"))
        if not _has_other_calls(source, last) and (is_short or must_be_one):
            return Rewrite([new], conditions)
    if must_be_one:
        return None
    line = last.end_lineno or last.lineno
    lines = [source.text(last), f"del {name}  # after line {line}"]
    return Rewrite(lines, conditions)


def _is_fused(search: Search, load: ast.Name, sizes: set[int]) -> bool:
    """Check whether a fused operation of the same size uses a name."""
    above = search.source.parent(load)
    if isinstance(above, ast.Attribute):
        above = search.source.parent(above)
    rows = search.facts.rows.get(above, []) if above is not None else []
    return bool(rows) and all(
        row.backend in ENGINES
        and row.fused_calls == row.calls > 0
        and row.elements // row.calls in sizes
        for row in rows
    )


def _is_plain(source: Source, node: ast.expr) -> bool:
    return not any(
        isinstance(part, (ast.Await, ast.Yield, ast.NamedExpr, ast.Lambda))
        for part in ast.walk(node)
    )


def _has_other_calls(source: Source, statement: ast.stmt) -> bool:
    """Check whether a statement calls functions that may have side effects."""
    for part in ast.walk(statement):
        if isinstance(part, ast.Call):
            is_method = isinstance(part.func, ast.Attribute) and part.func.attr in (
                *("sum", "max", "min", "mean", "any", "all", "astype"),
            )
            name = dotted_name(part.func)
            if not (source.function(part.func) or name in PURE or is_method):
                return True
    return False


# -- Waits -----------------------------------------------------------------------------

_VALUE_WAITS = ("result", "read", "element")


def repeated_waits(search: Search) -> Iterator[Finding]:
    """Find loops that wait in each iteration for the value that ends them."""
    source = search.source
    for node, waits in search.facts.waits.items():
        relevant = [wait for wait in waits if wait.kind in _VALUE_WAITS]
        count = sum(wait.count for wait in relevant)
        loops = [loop for loop in source.loops(node) if isinstance(loop, LOOPS)]
        if count < _LEAST_ROUNDS or not loops or node in search.claimed:
            continue
        loop = loops[0]
        test = _ending_test(source, node, loop)
        others = sum(
            wait.count
            for part, wait in search.facts.waits_within(loop)
            if part is not node and wait.kind not in ("full", "memory")
        )
        seconds = sum(wait.seconds for wait in relevant)
        is_long = seconds > _LONG_WAIT * count and not search.has_gpu
        if test is None or others >= count or is_long:
            continue
        yield search.finding(
            "repeated wait",
            source.statement(node),
            (count, "waits", seconds),
            "Each iteration waits for this value, so operations of two iterations are "
            "never fused. Compute it only in every 10th iteration.",
            _every_tenth(source, node, loop),
        )


def _ending_test(source: Source, node: ast.AST, loop: ast.AST) -> ast.AST | None:
    """Return the while or the if with a break that ends a loop and uses the node."""
    tests: list[tuple[ast.AST, ast.expr]] = []
    if isinstance(loop, ast.While):
        tests.append((loop, loop.test))
    for part in ast.walk(loop):
        ends = isinstance(part, ast.If) and any(
            isinstance(one, (ast.Break, ast.Return)) for one in part.body
        )
        if isinstance(part, ast.If) and ends:
            tests.append((part, part.test))
    statement = source.statement(node)
    names = assigned([statement]) if isinstance(statement, ast.Assign) else set()
    for owner, test in tests:
        parts = list(ast.walk(test))
        if node in parts or names & {dotted_name(part) for part in parts}:
            return owner
    return None


def _every_tenth(source: Source, node: ast.AST, loop: ast.AST) -> Rewrite:
    """Rewrite a test so that it runs only in every 10th iteration."""
    counter = ""
    if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name):
        call = loop.iter
        if isinstance(call, ast.Call) and dotted_name(call.func) == "range":
            counter = loop.target.id
    lines = []
    if not counter:
        counter = "iterations"
        lines = [
            "iterations = 0  # before the loop",
            "iterations += 1  # first in the loop",
        ]
    statement = source.statement(node)
    if isinstance(statement, (ast.If, ast.While)):
        test = source.text(statement.test)
        test = f"({test})" if isinstance(statement.test, ast.BoolOp) else test
        if isinstance(statement, ast.While):
            lines.append(f"while {counter} % 10 or {test}:")
        else:
            lines.append(f"if {counter} % 10 == 0 and {test}:")
    else:
        lines += [f"if {counter} % 10 == 0:", f"    {source.text(statement)}"]
    return Rewrite(lines, ["up to 9 more iterations are acceptable"])


# -- Dtypes ----------------------------------------------------------------------------

_FLOAT64_BY_DEFAULT = {
    *("zeros", "ones", "empty", "linspace", "logspace", "eye"),
}
_LEAST_ON_GPU = 1 << 14


def double_precision(search: Search) -> Iterator[Finding]:
    """Find float64 operations that ran on the processor although there is a GPU."""
    source, rows = search.source, []
    for node, counted in search.facts.rows.items():
        rows += [
            (node, row)
            for row in counted
            if row.backend == "cpu"
            and row.float64_calls
            and row.elements >= _LEAST_ON_GPU * max(row.calls, 1)
        ]
    if not rows or not search.has_gpu or "float64" in core.gpu().types:
        return
    calls, seconds = summed(row for _, row in rows)
    creations = [
        part
        for part in search.facts.rows
        if isinstance(part, ast.Call)
        and source.function(part.func) in _FLOAT64_BY_DEFAULT
        and not any(keyword.arg == "dtype" for keyword in part.keywords)
        and (len(part.args) == 1 or "space" in source.function(part.func))
    ]
    creations.sort(key=lambda call: call.lineno)
    new = [_with_dtype(source, call) for call in creations]
    slowest = max(rows, key=lambda found: found[1].seconds)[0]
    yield search.finding(
        "float64",
        slowest,
        (calls, "operations on the processor", seconds),
        "The GPU does not support float64, so these operations run on the processor. "
        "Create the arrays as float32, or make float32 the default with "
        'mxnp.set_float64_policy("float32").',
        Rewrite(new, ["seven digits are enough"]),
    )


def _with_dtype(source: Source, call: ast.Call) -> str:
    text = source.text(call)
    statement = source.statement(call)
    new = f"{text[:-1].rstrip().rstrip(',')}, dtype={source.numpy}.float32)"
    if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)):
        new = source.text(statement, lambda part: new if part is call else None)
    return f"{new}  # in line {call.lineno}"
