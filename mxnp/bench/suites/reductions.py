"""Reductions: sums, extremes and scans, over all elements and along an axis."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from mxnp.bench.case import Case, of_statement, uniform

SIZES = (10_000, 1_000_000, 10_000_000)
QUICK_SIZES = (10_000,)
PEERS = ("jax", "jax.jit", "torch")

# The number of columns over that of rows.
LAYOUTS = {"tall": 1 / 64, "square": 1.0, "wide": 64.0}
PLAIN = (
    "np.sum(x{})",
    "np.mean(x{})",
    "np.std(x{})",
    "np.max(x{})",
    "np.argmax(x{})",
    "np.any(m{})",
    "np.cumsum(x{})",
)
NUMEXPR = ("sum", "max")
# Reductions of expressions, and their numbers of operations.
FUSED = {
    "np.sum(x*y{})": 2,
    "np.sum(np.sqrt(x*x + y*y){})": 5,
    "np.max(np.abs(x - y){})": 3,
}


def cases(sizes: Sequence[int]) -> list[Case]:
    """Return all reductions in float64, over all elements and along each axis."""
    return [
        _case(text, layout, size, axis)
        for axis in (None, 0, 1)
        for text in (*PLAIN, *FUSED)
        for layout in (["square"] if axis is None else LAYOUTS)
        for size in sizes
    ]


def shape_of(layout: str, size: int) -> tuple[int, int]:
    """Return the shape with about `size` elements."""
    rows = max(1, round(math.sqrt(size / LAYOUTS[layout])))
    return rows, max(1, round(size / rows))


def _case(text: str, layout: str, size: int, axis: int | None) -> Case:
    statement = text.format("" if axis is None else f", axis={axis}")
    name = statement.replace("np.", "")
    inputs = [letter for letter in "mxy" if re.search(rf"\b{letter}\b", name)]
    dtype = "bool" if inputs == ["m"] else "float64"
    # All are false, so `any` has to read all elements.
    low, high = (-1.0, 0.0) if dtype == "bool" else (-0.9, 1.1)
    return Case(
        "reductions",
        name,
        dtype,
        size,
        of_statement(statement, tuple(inputs)),
        uniform(" ".join(inputs), shape_of(layout, size), dtype, low, high),
        layout=layout,
        operations=FUSED.get(text, 1),
        kind="fused" if text in FUSED else "plain",
        peers=PEERS,
        numexpr=name if name.startswith(NUMEXPR) else "",
    )
