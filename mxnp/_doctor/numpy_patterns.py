"""Patterns of work that NumPy computes, at some sizes or for most of the time."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from mxnp import _bridge
from mxnp._namespace.functions import ROWS
from mxnp._namespace.ways import find_forms
from mxnp._profiler.model import Row

from .findings import Finding, Search, summed
from .rewriting import Rewrite

# -- Functions that are recorded from a larger size on ---------------------------------

_LEAST_CALLS = 10


def small_calls(search: Search) -> Iterator[Finding]:
    """Find calls that run in NumPy, of arrays that other functions record."""
    threshold = _bridge.get_threshold()
    factors = {
        name.removeprefix("ndarray."): way.threshold_factor
        for name, row in reversed([*ROWS.items()])
        if (way := next(iter(find_forms(row)), row.layer)) and way.size_rule in "aow"
    }
    found: dict[str, list[tuple[ast.AST, Row]]] = defaultdict(list)
    for node, rows in search.facts.rows.items():
        for row in rows if isinstance(node, ast.Call) else []:
            most = threshold * row.calls * factors.get(row.operation, 0)
            is_small = threshold * row.calls <= row.elements < most
            if row.backend == "numpy" and is_small and not row.numpy_fallbacks:
                found[row.operation].append((node, row))
    for name, places in found.items():
        calls, seconds = summed(row for _, row in places)
        if calls < _LEAST_CALLS:
            continue
        slowest = max(places, key=lambda each: each[1].seconds)[0]
        size = min(row.elements // row.calls for _, row in places)
        lower = size // factors[name]
        yield search.finding(
            "NumPy at this size",
            slowest,
            (calls, "calls in NumPy", seconds),
            f"{name} is recorded from {threshold * factors[name]:,} elements on. "
            f"These calls, of {size:,} elements and more on average, run in NumPy, "
            "each in a pass of its own. A lower threshold records them.",
            Rewrite(
                [f"MXNP_THRESHOLD={lower} python -m mxnp ..."],
                ["both settings were timed"],
            ),
            is_example=True,
        )


# -- Functions that take most of the time ----------------------------------------------

_MOST = 0.5  # of the array work

# Functions that NumPy computes: what can replace them, and the condition.
_CURES: dict[str, tuple[str, str]] = {
    "fft.fft": ("fft.rfft(x)", "`x` is real, and only frequencies >= 0 are used"),
    "fft.ifft": ("fft.irfft(y, n)", "the result is real, and `y` is that of rfft"),
    "fft.fft2": ("fft.rfft2(x)", "`x` is real, and only frequencies >= 0 are used"),
    "fft.ifft2": ("fft.irfft2(y, s)", "the result is real, and `y` is that of rfft2"),
    "fft.fftn": ("fft.rfftn(x)", "`x` is real, and only frequencies >= 0 are used"),
    "fft.ifftn": ("fft.irfftn(y, s)", "the result is real, and `y` is that of rfftn"),
    "linalg.inv": ("linalg.solve(a, b)", "the inverse is only multiplied by `b`"),
    "linalg.pinv": ("linalg.lstsq(a, b)", "the inverse is only multiplied by `b`"),
    "linalg.eig": ("linalg.eigh(a)", "`a` is symmetric or Hermitian"),
    "linalg.eigvals": ("linalg.eigvalsh(a)", "`a` is symmetric or Hermitian"),
    "linalg.svd": ("linalg.svd(a, full_matrices=False)", "`a` is not square"),
    "sort": ("partition(x, k)", "only the first `k` elements are needed"),
    "argsort": ("argpartition(x, k)", "only the first `k` elements are needed"),
    "einsum": ("einsum(..., optimize=True)", "three arrays or more are multiplied"),
}
_OTHERS = {
    *("convolve", "correlate", "matmul", "dot", "tensordot", "kron", "interp"),
    *("unique", "median", "percentile", "quantile", "histogram", "lexsort"),
}
_FASTER = "x = x.astype(np.float32)"


def _family(row: Row) -> str:
    """Return what functions are counted together: a module, or a function itself."""
    module, dot, _ = row.operation.partition(".")
    if dot and module in ("fft", "linalg"):
        return module
    is_known = row.operation in _CURES or row.operation in _OTHERS
    return row.operation if is_known else ""


def mostly_numpys(search: Search) -> Iterator[Finding]:
    """Find functions of NumPy that take most of the time of the array work."""
    families: dict[str, list[tuple[ast.AST, Row]]] = defaultdict(list)
    for node, rows in search.facts.rows.items():
        for row in rows:
            if row.backend == "numpy" and _family(row) and node not in search.claimed:
                families[_family(row)].append((node, row))
    for family, found in families.items():
        calls, seconds = summed(row for _, row in found)
        if seconds < _MOST * search.facts.total.array or calls == 0:
            continue
        node, row = max(found, key=lambda each: each[1].seconds)
        text, condition = _CURES.get(row.operation, ("", "seven digits are enough"))
        np = search.source.numpy
        yield search.finding(
            "NumPy's function",
            node,
            (calls, f"call{'s' * (calls > 1)} of {family}", seconds),
            f"NumPy computes {row.operation}, with the libraries that it was built "
            "with. mxnp can only avoid work around it, so the function itself decides "
            "how long the program takes.",
            Rewrite(
                [f"{np}.{text}" if text else _FASTER.replace("np", np)], [condition]
            ),
            is_example=True,
        )


# -- NumPy's own arrays ----------------------------------------------------------------

_LEAST_PLAIN = 1 << 14  # elements on average; smaller arrays gain little
_CONVERSIONS = {"array", "asarray", "asanyarray", "ascontiguousarray", "copy"}


def plain_arrays(search: Search) -> Iterator[Finding]:
    """Find operations on large NumPy arrays, such as those that packages return."""
    source = search.source
    scopes: dict[ast.AST, list[tuple[ast.AST, Row]]] = defaultdict(list)
    for node, rows in search.facts.rows.items():
        for row in rows:
            is_large = row.elements >= _LEAST_PLAIN * max(row.plain_calls, 1)
            if row.plain_calls == row.calls > 0 and is_large and not _converts(row):
                scopes[source.scope(node)].append((node, row))
    for scope, found in scopes.items():
        calls, seconds = summed(row for _, row in found)
        slowest = max(found, key=lambda each: each[1].seconds)[0]
        nodes = [node for node, _ in found]
        unnamed = dict(_unnamed(search, nodes))
        origins = _origins(search, scope, nodes, list(unnamed.values()))
        new = f"{source.numpy}.asarray"
        yield search.finding(
            "NumPy array",
            slowest,
            (calls, "operations on NumPy arrays", seconds),
            "A package returned these arrays, which are NumPy's own. Their operators "
            "and methods are NumPy's, too: they are never fused and use one thread. "
            "asarray shares the memory and returns an mxnp array.",
            Rewrite(
                [
                    f"{name} = {new}({source.text(value)})  # in line {value.lineno}"
                    for name, value in origins.items()
                ]
                + [
                    f"{_wrap(search, node, value, new)}  # in line {node.lineno}"
                    for node, value in unnamed.items()
                ]
                or [f"x = {new}(x)"]
            ),
            is_example=not origins and not unnamed,
        )


def _converts(row: Row) -> bool:
    return row.operation in _CONVERSIONS


def _origins(
    search: Search,
    scope: ast.AST,
    nodes: list[ast.AST],
    left_out: list[ast.expr],
) -> dict[str, ast.expr]:
    """Return the expressions that names in nodes are bound to, by name.

    Names in the parts `left_out` do not count. An expression that computes is left out,
    because its operands are the origin.
    """
    skipped = {id(part) for value in left_out for part in ast.walk(value)}
    used = {
        part.id
        for node in nodes
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and id(part) not in skipped
    }
    origins: dict[str, ast.expr] = {}
    for node in ast.walk(scope):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        name = node.targets[0]
        if isinstance(name, ast.Name) and name.id in used:
            computes = any(search.facts.within(node.value))
            if not computes and isinstance(
                node.value, (ast.Attribute, ast.Subscript, ast.Call)
            ):
                origins[name.id] = node.value
    return origins


def _unnamed(
    search: Search, nodes: list[ast.AST]
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield operations whose first operand has no name, such as ``h5[:] > 0``."""
    for node in nodes:
        match node:
            case (
                ast.Compare(left=value)
                | ast.BinOp(left=value)
                | ast.UnaryOp(operand=value)
                | ast.Call(func=ast.Attribute(value=value))
            ) if isinstance(value, ast.Attribute | ast.Subscript | ast.Call):
                if not any(search.facts.within(value)):
                    yield node, value


def _wrap(search: Search, node: ast.expr, value: ast.expr, function: str) -> str:
    """Return the text of an expression with a call of the function around a part."""
    part = search.source.text(value)
    return search.source.text(node).replace(part, f"{function}({part})", 1)
