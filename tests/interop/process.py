"""
Run the uses of one package, in a process of their own.

``process.py WAY OUTPUT NAME...`` imports the module ``WAY_uses`` beside it, calls the
uses named and appends a pickled pair of name and result for each to the file OUTPUT. A
use with a parameter `x` is called with a small array (below the size from which mxnp
records operations) and with a large one, which mxnp has still to compute.
"""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

SIZES = {"small": 60, "large": 20_000}
SCALARS = (bool, int, float, complex, str, bytes, type(None))


def calls(uses: Any) -> dict[str, tuple[Any, int | None]]:
    """Name the calls of a module's uses: each function, and the size of its array."""
    found: dict[str, tuple[Any, int | None]] = {}
    for name, use in vars(uses).items():
        if name.startswith("_") or getattr(use, "__module__", "") != uses.__name__:
            continue
        if not inspect.isfunction(use):
            continue
        sizes = inspect.signature(use).parameters
        if not sizes:
            found[name] = use, None
        for size in SIZES if "x" in sizes else sizes:
            found[f"{name} {size}"] = use, SIZES[size]
    return found


def example(np: Any, size: int) -> Any:
    """Return numbers in [0, 1) in no order, computed by operations that round once."""
    return np.sqrt((np.arange(size) * 0.618033988749895) % 1.0)


def array_module(way: str) -> Any:
    """Return what the program has under the name `np`."""
    if way == "import":
        import mxnp as np
    else:
        import numpy as np
    made_by = type(np.ones(1)).__module__
    assert made_by == ("numpy" if way == "numpy" else "mxnp"), made_by
    return np


def plain(value: Any) -> Any:
    """Return a result in terms of NumPy's own arrays and Python's objects."""
    numpy = sys.modules["numpy"]
    if isinstance(value, (numpy.generic, *SCALARS)):
        return value
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    if isinstance(value, numpy.ndarray) or hasattr(value, "__array__"):
        return type(value).__name__, numpy.array(value)
    return type(value).__name__, repr(value)


def failure(error: Exception) -> tuple[str, str, str]:
    """Return an exception's class and first line, and the place that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    words = str(error).strip().partition("\n")[0]
    return (
        "raised",
        f"{type(error).__name__}: {words}",
        f"{last.filename}:{last.lineno}",
    )


def outcome(np: Any, use: Any, size: int | None) -> Any:
    """Call a use, and return what it returned or raised."""
    try:
        result = plain(use() if size is None else use(example(np, size)))
        pickle.dumps(result)  # an object of a package may refuse it
        return result
    except Exception as error:
        return failure(error)


def main(way: str, output: str, *names: str) -> None:
    """Run the uses named, or all of them, one after the other."""
    warnings.simplefilter("ignore")
    uses = importlib.import_module(f"{way}_uses")
    np = array_module(way)
    with Path(output).open("ab") as file:
        for name, (use, size) in calls(uses).items():
            if not names or name in names:
                pickle.dump(("begins", name), file)
                file.flush()
                pickle.dump((name, outcome(np, use, size)), file)
                file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
