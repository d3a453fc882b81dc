"""Define the directive ``coverage``, which shows results of `measured_coverage`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

import numpy
from docutils import nodes
from measured_coverage import (
    GPUS,
    MODULES,
    UFUNC_METHODS,
    Coverage,
    Outcome,
    draw_names,
    kept_of_gpu,
    layer_names,
    measure,
    method_dtype,
    numpys_names,
)
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import mxnp
from mxnp._engine import core

NUMPY = "https://numpy.org/doc/stable/reference"

# Sets of dtypes that have a short name. Other dtypes are listed one by one.
CLASSES = {
    "signed integers": ["int8", "int16", "int32", "int64"],
    "unsigned integers": ["uint8", "uint16", "uint32", "uint64"],
    "float16, 32, 64": ["float16", "float32", "float64"],
    "float16, 32": ["float16", "float32"],
    "complex64, 128": ["complex64", "complex128"],
}


def dtypes_in_words(names: Iterable[str]) -> str:
    """Return a short name for a set of dtypes."""
    left, words = list(names), []
    for words_of_class, members in CLASSES.items():
        if set(members) <= set(left):
            words.append(words_of_class)
            left = [name for name in left if name not in members]
    integers = {"signed integers", "unsigned integers"}
    if integers <= set(words):
        words = ["integers", *(word for word in words if word not in integers)]
    return ", ".join([*(name for name in left if name == "bool"), *words] + [
        name for name in left if name != "bool"
    ]) or "none"  # fmt: skip


@cache
def measured() -> Coverage:
    """Measure once for all tables."""
    return measure()


def _link(name: str, module: str = "") -> str:
    """Return a link to the page of a NumPy function."""
    full = f"numpy.{module}.{name}" if module else f"numpy.{name}"
    return f"[`{name}`]({NUMPY}/generated/{full}.html)"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in (head, ("---",) * len(head), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _ufuncs() -> Iterator[str]:
    def cells(op: core.Op) -> tuple[str, ...]:
        by_dtype = measured().ufuncs[op.name]
        recorded = [d for d, each in by_dtype.items() if op.name in each.operations]
        return (
            _link(op.name),
            dtypes_in_words(recorded),
            *(dtypes_in_words(kept_of_gpu(g.name)["ufuncs"][op.name]) for g in GPUS),
            op.summary.replace("*", "\\*"),
        )

    kernels = (f"in a {gpu.title} kernel for" for gpu in GPUS)
    head = ("ufunc", "recorded and fused for", *kernels, "")
    yield from _table(head, map(cells, core.ops()))


def _ufunc_methods() -> Iterator[str]:
    def mark(name: str, method: str) -> str:
        found = measured().ufunc_methods[name][method]
        if found is None:
            return ""
        recorded = name if method == "outer" else f"{name}.{method}"
        if recorded not in found.operations:
            return "NumPy"
        kept = {gpu: kept_of_gpu(gpu.name)["ufunc methods"] for gpu in GPUS}
        return ", ".join(g.title for g in GPUS if method in kept[g][name]) or "recorded"

    names = [op.name for op in core.ops() if (op.nin, op.nout) == (2, 1)]
    yield from _table(
        (
            "ufunc",
            "tried with",
            "`reduce`",
            "`accumulate`",
            "`at`, `a.at[i]`",
            "`outer`",
        ),
        (
            (
                f"`{name}`",
                method_dtype(name),
                *(mark(name, method) for method in UFUNC_METHODS),
            )
            for name in names
        ),
    )


def _runs(found: Outcome) -> str:
    if found.operations:
        ran = ", ".join(f"`{name}`" for name in dict.fromkeys(found.operations))
        if found.is_at_once:
            return f"part immediately, then {ran}"
        return f"{ran}, and waits" if found.waits else ran
    return "immediately" if found.is_at_once else "NumPy"


def _calls(part: str, name: Callable[[str], str]) -> Iterator[str]:
    found: dict[str, Outcome] = getattr(measured(), part)
    yield from _table(
        ("", "processor", *(gpu.title for gpu in GPUS)),
        (
            (
                name(each),
                _runs(result),
                *("yes" if each in kept_of_gpu(g.name)[part] else "no" for g in GPUS),
            )
            for each, result in sorted(found.items())
        ),
    )


def _method(name: str) -> str:
    return f"[`a.{name}`]({NUMPY}/generated/numpy.ndarray.{name}.html)"


def _numpys() -> Iterator[str]:
    for module in MODULES:
        names = numpys_names(module)
        title = f"numpy.{module}" if module else "numpy"
        yield f"**{title}** ({len(names)}): {', '.join(f'`{n}`' for n in names)}\n"


def _layer() -> Iterator[str]:
    names = layer_names()
    yield f"{len(names)} functions: {', '.join(f'`{name}`' for name in names)}\n"


def _draws() -> Iterator[str]:
    for owner, names in draw_names().items():
        yield f"**{owner}** ({len(names)}): {', '.join(f'`{n}`' for n in names)}\n"


def _counts() -> Iterator[str]:
    found = measured()
    recorded = [n for n, each in found.functions.items() if each.operations]
    wholly = "; ".join(
        f"{len(kept_of_gpu(gpu.name)['functions'])} functions run wholly on {gpu.title}"
        for gpu in GPUS
    )
    yield (
        f"Measured with NumPy {numpy.__version__} and mxnp {mxnp.mxnp_version}: "
        f"{len(found.ufuncs)} ufuncs and {len(recorded)} functions are recorded; "
        f"{len(layer_names())} functions run as NumPy's own code over mxnp arrays; "
        f"{wholly}; "
        f"{sum(len(numpys_names(module)) for module in MODULES)} names in "
        f"{len(MODULES)} modules are computed by NumPy immediately."
    )


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "counts": _counts,
    "ufuncs": _ufuncs,
    "ufunc-methods": _ufunc_methods,
    "functions": lambda: _calls("functions", _link),
    "methods": lambda: _calls("methods", _method),
    "syntax": lambda: _calls("syntax", lambda each: f"`{each}`"),
    "layer": _layer,
    "draws": _draws,
    "numpys": _numpys,
}


class CoverageDirective(SphinxDirective):
    """Replace the directive by a table of `TABLES`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the table."""
        text = "\n".join(TABLES[self.arguments[0]]())
        return self.parse_text_to_nodes(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("coverage", CoverageDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
