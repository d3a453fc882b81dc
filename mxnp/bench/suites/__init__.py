"""The suites: lists of cases by subject."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mxnp.bench.case import Case

# Each is a module with SIZES, QUICK_SIZES and cases(sizes).
NAMES = (
    "imports",
    "overhead",
    "ratios",
    "row_loops",
    "chains",
    "reductions",
    "stencils",
    "scatter",
    "bounds",
    "programs",
)


class Suite(NamedTuple):
    """A list of cases of one subject."""

    name: str
    summary: str
    sizes: tuple[int, ...]  # elements
    quick_sizes: tuple[int, ...]
    cases: Callable[[Sequence[int]], list[Case]]


def load(name: str) -> Suite:
    """
    Return a suite by its name.

    Raises
    ------
    ValueError
        If there is no such suite.
    """
    if name not in NAMES:
        raise ValueError(f"no suite {name!r}: choose from {', '.join(NAMES)}")
    module = importlib.import_module(f"{__name__}.{name}")
    summary = (module.__doc__ or "").partition("\n")[0].rstrip(".")
    return Suite(name, summary, module.SIZES, module.QUICK_SIZES, module.cases)
