"""Reductions: sums, extremes and scans, whole and along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mxnp.bench.case import Case, of_statement, uniform

SIZES = (10_000, 1_000_000, 10_000_000)
QUICK_SIZES = (10_000,)
PEERS = ("jax", "jax.jit", "torch")

# Columns for each row; a tall array has 64 times as many rows as columns.
LAYOUTS = {"tall": 1 / 64, "square": 1.0, "wide": 64.0}
REDUCTIONS = ("sum", "mean", "std", "max", "argmax", "any", "cumsum")
NUMEXPR = {"sum": "sum(x{})", "max": "max(x{})"}
FUSED = ("np.sum(x*y{})", "np.sum(np.sqrt(x*x + y*y){})", "np.max(np.abs(x - y){})")


def cases(sizes: Sequence[int]) -> list[Case]:
    """Give every reduction of every shape along every axis, in float64."""
    return [
        case
        for axis in (None, 0, 1)
        for layout in LAYOUTS
        for size in sizes
        for case in _of_shape(layout, size, axis)
    ]


def shape_of(layout: str, size: int) -> tuple[int, int]:
    """Return the shape with about `size` elements."""
    rows = max(1, round(math.sqrt(size / LAYOUTS[layout])))
    return rows, max(1, round(size / rows))


def _of_shape(layout: str, size: int, axis: int | None) -> list[Case]:
    shape = shape_of(layout, size)
    tail = "" if axis is None else f", axis={axis}"

    def case(text: str, names: str, dtype: str, numexpr: str, operations: int) -> Case:
        # All false: the answer of `any` is known at the end only.
        low, high = (-1.0, 0.0) if dtype == "bool" else (-0.9, 1.1)
        return Case(
            "reductions",
            text.replace("np.", ""),
            dtype,
            size,
            of_statement(text, tuple(names.split())),
            uniform(names, shape, dtype, low, high),
            layout=layout,
            operations=operations,
            kind="plain" if operations == 1 else "fused",
            peers=PEERS,
            numexpr=numexpr,
        )

    return [
        case(
            f"np.{name}(x{tail})",
            "x",
            "bool" if name == "any" else "float64",
            NUMEXPR.get(name, "").format(tail),
            1,
        )
        for name in REDUCTIONS
    ] + [
        case(
            text.format(tail),
            "x y",
            "float64",
            text.format(tail).replace("np.", ""),
            2 + text.count("*") + text.count("+"),
        )
        for text in FUSED
    ]
