"""Programs: whole NumPy programs, as users write them.

Each is a module of `mxnp.bench.programs` with ``run(np, size)``. The creation of its
first arrays is part of the program, and is timed too.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any

from mxnp.bench import programs
from mxnp.bench.case import Case

SIZES = (10_000, 100_000, 1_000_000)
QUICK_SIZES = (10_000,)


def cases(sizes: Sequence[int]) -> list[Case]:
    """Return all programs at all sizes."""
    return [
        Case(
            "programs",
            info.name.replace("_", " "),
            module.DTYPE,
            size,
            _with_size(module.run, size),
            kind="program",
            tolerance=getattr(module, "TOLERANCE", None),
        )
        for info in pkgutil.iter_modules(programs.__path__)
        for module in [importlib.import_module(f"{programs.__name__}.{info.name}")]
        for size in sizes
    ]


def _with_size(run: Callable[..., Any], size: int) -> Callable[..., Any]:
    return lambda np: run(np, size)
