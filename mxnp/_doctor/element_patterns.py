"""Patterns that read single elements: loops over arrays, Python's sum, lists."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mxnp._profiler.model import Row, Wait

from .bindings import Bindings, integer
from .findings import Finding, Search, summed
from .rewriting import REORDERED, CannotError, Rewrite, parenthesized
from .syntax import (
    COMPREHENSIONS,
    LOOPS,
    PURE,
    assigned,
    dotted_name,
    is_stored,
    stored,
)
from .vectorization import vectorized_generator, vectorized_loop

_LEAST_ELEMENTS = 1000  # read or set one by one
_ELEMENTS = "elements one by one"
_PYTHON_NUMBERS = (
    "Python numbers can replace NumPy scalars (they raise where NumPy warns)"
)


def _element_rows(search: Search, within: ast.AST) -> Iterator[Row]:
    for part in ast.walk(within):
        if part not in search.claimed:
            yield from search.facts.elements(part)


def element_loops(search: Search) -> Iterator[Finding]:
    """Find loops over elements that can be operations on whole arrays."""
    for loop in ast.walk(search.source.tree):
        if not isinstance(loop, ast.For) or loop in search.claimed:
            continue
        rows = [row for _, row in search.facts.within(loop)]
        calls, seconds = max((row.calls for row in rows), default=0), summed(rows)[1]
        if calls < _LEAST_ELEMENTS:
            continue
        try:
            rewrite, kept = (
                vectorized_loop(loop, search.facts, keeps_types=keeps_types)
                for keeps_types in (False, True)
            )
        except CannotError:
            continue
        search.claim(loop)
        found = search.finding(
            "element loop",
            loop,
            (calls, "iterations", seconds),
            "Each iteration creates Python objects, or calls NumPy for a few elements. "
            "Operations on whole arrays compute all elements in one pass.",
            rewrite,
        )
        search.note_edit(found, loop, "\n".join(kept.lines))
        yield found


_BUILTINS = ("sum", "max", "min", "any", "all")


def builtin_reductions(search: Search) -> Iterator[Finding]:
    """Find calls of Python's sum, max, min, any and all on an array."""
    for call in ast.walk(search.source.tree):
        is_builtin = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if not is_builtin or call in search.claimed:
            continue
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)
        name = call.func.id
        if name not in _BUILTINS or call.keywords or not call.args:
            continue
        if name in search.source.redefined:
            continue
        cost = summed(_element_rows(search, call))
        rows = [
            row for row in search.facts.rows.get(call, []) if row.operation == "add"
        ]
        if name == "sum" and rows:  # the sum of an array of two axes or more
            cost = summed(rows)
        elif cost[0] < _LEAST_ELEMENTS:
            continue
        reduced = _reduction(search, call, name, is_deep=bool(rows))
        if reduced is None:
            continue
        text, conditions = reduced
        search.claim(call)
        found = search.finding(
            f"Python's {name}",
            call,
            (cost[0], "additions of rows" if rows else _ELEMENTS, cost[1]),
            f"Python's {name} reads the elements one by one. "
            "The array's method computes the result in one pass.",
            Rewrite([search.restated(call, text)], conditions),
        )
        is_bool = name in ("any", "all")  # not NumPy's bool
        search.note_edit(found, call, f"bool({text})" if is_bool else text)
        yield found


def _reduction(
    search: Search, call: ast.Call, name: str, *, is_deep: bool
) -> tuple[str, list[str]] | None:
    """Return a reduction by the array's method, and its conditions."""
    first, *start = call.args
    conditions: list[str] = []
    if isinstance(first, (ast.GeneratorExp, ast.ListComp)):
        try:
            text, rewrite = vectorized_generator(first, search.facts)
        except CannotError:
            return None
        conditions = rewrite.conditions
        array = text if text.isidentifier() else f"({text})"
    elif is_deep or search.facts.elements(call, "getitem"):
        array = parenthesized(first, search.source.text(first))
    else:
        return None
    if len(start) > (name == "sum"):
        return None
    text = f"{array}.{name}({'axis=0' * is_deep})"
    if start:
        text = f"{search.source.text(start[0])} + {text}"
    if name == "sum" and not (is_deep or isinstance(first, ast.Compare)):
        conditions.append(REORDERED)
    elif name in ("max", "min"):
        conditions.append(f"no element of `{array}` is NaN")
    return text, conditions


def comprehensions(search: Search) -> Iterator[Finding]:
    """Find lists of elements that are computed one by one."""
    for node in ast.walk(search.source.tree):
        if not isinstance(node, ast.ListComp) or node in search.claimed:
            continue
        calls, seconds = summed(_element_rows(search, node))
        if calls < _LEAST_ELEMENTS:
            continue
        try:
            text, rewrite = vectorized_generator(node, search.facts)
        except CannotError:
            continue
        search.claim(node)
        above = search.source.parent(node)
        if (
            isinstance(above, ast.Call)
            and search.source.function(above.func) in ("array", "asarray")
            and len(above.args) == 1
            and not above.keywords
        ):
            is_bare = all(part not in text for part in "+-*/(<>=&|~%@")
            text = f"{search.source.text(above.func)}({text})" if is_bare else text
            new = search.restated(above, text)
            edit: tuple[ast.AST, str] = above, text
        else:
            edit = node, f"list({text})"
            text = f"{text if text.isidentifier() else f'({text})'}.tolist()"
            new = search.restated(node, text)
            rewrite.conditions.append("Python numbers can replace NumPy scalars")
        found = search.finding(
            "list of elements",
            node,
            (calls, _ELEMENTS, seconds),
            "Each element becomes a Python object. An operation on the whole array "
            "computes all elements in one pass.",
            Rewrite([new], rewrite.conditions),
        )
        search.note_edit(found, *edit)
        yield found


_LEAST_WAITS = 100


def element_waits(search: Search) -> Iterator[Finding]:
    """Find assignments of single elements that wait for single elements."""
    source = search.source
    places: dict[ast.AST | None, list[Wait]] = {}
    for node, waits in search.facts.waits.items():
        statement = source.statement(node)
        if node not in search.claimed and _is_element_assignment(search, statement):
            found = places.setdefault(source.parent(statement), [])
            found += [wait for wait in waits if wait.kind == "element"]
    for above, waits in places.items():
        count = sum(wait.count for wait in waits)
        if above is None or count < _LEAST_WAITS:
            continue
        statements = [
            part
            for part in ast.iter_child_nodes(above)
            if isinstance(part, ast.stmt) and _is_element_assignment(search, part)
        ]
        for statement in statements:
            search.claim(statement)
        if search.has_gpu:
            advice = "Slices of one element are arrays, for which nothing waits."
            rewrite = _as_slices(search, statements)
        else:
            advice = "If only the last values are needed, set the elements once."
            rewrite = _once(search, statements)
        yield search.finding(
            "element waits",
            statements[0],
            (count, "waits", sum(wait.seconds for wait in waits)),
            "An element is a NumPy scalar, so each read runs everything recorded, "
            "and operations before and after it are never fused. The time includes "
            f"these operations. {advice}",
            rewrite,
        )


def _is_element_assignment(search: Search, statement: ast.stmt) -> bool:
    """Check whether a statement sets a single element to a value of other elements."""
    is_plain = isinstance(statement, ast.Assign) and len(statement.targets) == 1
    return is_plain and bool(
        search.facts.elements(statement.targets[0], "setitem")  # type: ignore[attr-defined]
        and any(
            search.facts.elements(part, "getitem")
            for part in ast.walk(statement.value)  # type: ignore[attr-defined]
        )
    )


def _once(search: Search, statements: list[ast.stmt]) -> Rewrite:
    """Rewrite assignments of elements as assignments after the loop."""
    targets = [search.source.text(each.targets[0]) for each in statements]  # type: ignore[attr-defined]
    names = ", ".join(f"`{target}`" for target in dict.fromkeys(targets))
    lines = [f"{search.source.text(each)}  # after the loop" for each in statements]
    return Rewrite(lines, [f"nothing reads {names} before the loop ends"])


def _as_slices(search: Search, statements: list[ast.stmt]) -> Rewrite:
    """Rewrite elements as slices of one element."""
    source = search.source
    conditions: dict[str, None] = {}

    def replace(node: ast.AST) -> str | None:
        if not (isinstance(node, ast.Subscript) and search.facts.elements(node)):
            return None
        entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return f"{source.text(node.value)}[{', '.join(map(one, entries))}]"

    def one(entry: ast.expr) -> str:
        number = integer(entry)
        text = source.text(entry)
        if number is None:
            text = parenthesized(entry, text)
            conditions[f"`{text}` is not negative"] = None
            return f"{text}:{text} + 1"
        stop = "" if number == -1 else str(number + 1)
        return f"{number or ''}:{stop}"

    for part in (part for each in statements for part in ast.walk(each)):
        if isinstance(part, ast.Call) and not source.function(part.func):
            conditions[f"`{source.text(part.func)}` accepts arrays"] = None
    return Rewrite([source.text(each, replace) for each in statements], [*conditions])


def scalar_reads(search: Search) -> Iterator[Finding]:
    """Find elements that loops of any kind read or set one by one."""
    source = search.source
    innermost: dict[ast.AST, list[Row]] = {}
    for node in search.facts.rows:
        rows = search.facts.elements(node) + _items(search, node)
        loops = source.loops(node)
        if isinstance(node, (*LOOPS, *COMPREHENSIONS)):
            loops = [node, *loops]
        if rows and loops and node not in search.claimed:
            innermost.setdefault(loops[0], []).extend(rows)
        elif rows and node not in search.claimed and _is_iteration(node):
            innermost.setdefault(node, []).extend(rows)
    whole = {loop: _whole(search, loop) for loop in innermost}
    places: dict[ast.AST, list[Row]] = {}
    for loop, rows in innermost.items():
        around = (outer for outer in source.loops(loop) if outer in whole.values())
        is_only_set = not _unchanged(search, loop, loop)
        place = next(around, loop) if is_only_set else whole[loop]
        places.setdefault(place, []).extend(rows)
    for loop, rows in places.items():
        calls, seconds = summed(rows)
        if calls < _LEAST_ELEMENTS:
            continue
        rewrite, edit = _iterated_list(search, loop) or _as_lists(search, loop)
        found = search.finding(
            "scalar reads",
            loop,
            (calls, _ELEMENTS, seconds),
            "Each read of an element creates a NumPy scalar. With a list of Python "
            "numbers such loops are 1.1 to 2.5 times as fast, if most of the array is "
            "read. Operations on whole arrays gain far more, if no element depends on "
            "another.",
            rewrite,
            is_example=edit is None,
        )
        if edit:
            search.note_edit(found, *edit)
        yield found


def _iterated_list(
    search: Search, node: ast.AST
) -> tuple[Rewrite, tuple[ast.AST, str]] | None:
    """Rewrite an iteration over an array as an iteration over a list."""
    source = search.source
    if not search.facts.elements(node, "getitem"):
        return None
    condition = _PYTHON_NUMBERS
    if isinstance(node, ast.Call) and node.args:
        array = (
            node.args[-1]
            if dotted_name(node.func) in ("map", "filter")
            else node.args[0]
        )
        text = f"{parenthesized(array, source.text(array))}.tolist()"
        if dotted_name(node.func) != "list":
            text = source.text(node, lambda part: text if part is array else None)
        return Rewrite([search.restated(node, text)], [condition]), (node, text)
    if isinstance(node, ast.For):
        array = node.iter
    elif isinstance(node, COMPREHENSIONS):
        array = node.generators[0].iter
    else:
        return None
    call = dotted_name(getattr(array, "func", array))
    if call == "enumerate" and isinstance(array, ast.Call):
        array = array.args[0]
    elif call in ("zip", "range", "map"):
        return None
    if dotted_name(array) in stored(node):
        return None
    conditions = [condition]
    if not _only_reads(search, node):
        conditions.append(f"the loop does not change `{source.text(array)}`")
    text = f"{parenthesized(array, source.text(array))}.tolist()"
    changed = source.text(node, lambda part: text if part is array else None)
    edit = (node, changed)
    if not isinstance(node, ast.For):
        changed = search.restated(node, changed)
    return Rewrite([changed], conditions), edit


def _is_iteration(node: ast.AST) -> bool:
    names = ("list", "tuple", "set", "sorted", "map", "filter", *_BUILTINS)
    return isinstance(node, ast.Call) and dotted_name(node.func) in names


def _items(search: Search, node: ast.AST) -> list[Row]:
    """Return the rows of ``a.item(i)``."""
    return [
        row
        for row in search.facts.rows.get(node, [])
        if row.operation == "item" and row.backend == "numpy"
    ]


def _whole(search: Search, innermost: ast.AST) -> ast.AST:
    """Return the outermost loop before which lists of arrays can be made."""
    if search.facts.elements(innermost, "getitem"):
        return innermost  # which iterates over an array
    outer = [loop for loop in search.source.loops(innermost) if isinstance(loop, LOOPS)]
    return next(
        (
            loop
            for loop in reversed(outer)
            if _only_reads(search, loop) and _unchanged(search, innermost, loop)
        ),
        innermost,
    )


def _elements(search: Search, within: ast.AST) -> list[ast.Subscript]:
    """Return the subscripts that are single elements of arrays."""
    inside = [node for node in ast.walk(within) if isinstance(node, ast.Subscript)]
    return [node for node in inside if search.facts.elements(node)]


def _unchanged(search: Search, within: ast.AST, loop: ast.AST) -> list[str]:
    """Return the names of arrays that a part reads, and that a loop does not change."""
    names = dict.fromkeys(dotted_name(node.value) for node in _elements(search, within))
    return [name for name in names if name.isidentifier() and name not in stored(loop)]


def _as_lists(
    search: Search, whole: ast.AST
) -> tuple[Rewrite, tuple[ast.AST, str] | None]:
    """Rewrite a loop to read lists, or return an example."""
    source = search.source
    elements = _elements(search, whole)
    lists = {name: f"{name}_list" for name in _unchanged(search, whole, whole)}
    if not lists:
        return _ELEMENTS_EXAMPLE, None

    def replace(node: ast.AST) -> str | None:
        if not (isinstance(node, ast.Subscript) and node in elements):
            return _item_call(node)
        name = dotted_name(node.value)
        if name not in lists:
            return None
        entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        keys = "".join(f"[{source.text(entry, replace)}]" for entry in entries)
        return lists[name] + keys

    def _item_call(node: ast.AST) -> str | None:
        is_item = (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "item"
            and node.func.value in elements
            and not node.args
        )
        return replace(node.func.value) if is_item else None  # type: ignore[attr-defined]

    made = [f"{new} = {name}.tolist()" for name, new in lists.items()]
    text = source.text(whole, replace)
    listed = " and ".join(f"`{name}`" for name in lists)
    is_or_are = "is" if len(lists) == 1 else "are"
    conditions = []
    if not _only_reads(search, whole):
        conditions.append(f"the loop does not change {listed}")
    if not all(_is_number(search, n) for n in elements if not is_stored(n)):
        conditions.append(
            f"{listed} {is_or_are} of bool, int64, float64 or complex128, and "
            f"{_PYTHON_NUMBERS}"
        )
    return Rewrite([*made, text], conditions), (whole, "\n".join([*made, text]))


def _is_number(search: Search, node: ast.AST) -> bool:
    """Check whether an element is converted to a Python number where it is read."""
    above = search.source.parent(node)
    if isinstance(above, ast.Call):
        return dotted_name(above.func) in ("float", "int", "bool", "complex")
    return isinstance(above, ast.Attribute) and above.attr == "item"


_SUSPENDED = (  # where other code may run, or which may run later
    *(ast.Yield, ast.YieldFrom, ast.Await),
    *(ast.FunctionDef, ast.Lambda, ast.GeneratorExp),
)


def _only_reads(search: Search, loop: ast.AST) -> bool:
    """Check whether a loop is known to change only arrays that are new before it."""
    bindings, bound = Bindings(search.facts, loop), assigned([loop])
    for node in ast.walk(loop):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and is_stored(node):
            base = dotted_name(node.value)
            if base in bound or not bindings.is_new(base):
                return False
        iterated = getattr(node, "iter", None)
        is_named = isinstance(iterated, (ast.Name, ast.Attribute, ast.Subscript))
        if is_named and not search.facts.elements(node):
            return False  # it may be a generator
        if isinstance(node, _SUSPENDED):
            return False
        if isinstance(node, ast.AugAssign) and search.facts.rows.get(node):
            return False
        if isinstance(node, ast.Call):
            name = dotted_name(node.func)
            is_method = isinstance(node.func, ast.Attribute) and node.func.attr in (
                *("append", "item"),
            )
            is_pure = name in PURE - search.source.redefined
            if not (is_pure or name.startswith("math.") or is_method):
                return False
    return True


_ELEMENTS_EXAMPLE = Rewrite(
    [
        "values = array.tolist()  # before the loop",
        "...                      # the loop, with values[i] for array[i]",
        "array[:] = values        # after the loop, if it changes them",
    ]
)
