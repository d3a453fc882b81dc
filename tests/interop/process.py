"""
Run the uses of one package in a separate process.

``process.py WAY OUTPUT NAME...`` imports the module ``WAY_uses`` from the same folder
and calls the named uses. For each one, it appends a pickled pair of name and result to
the file OUTPUT. A use with a parameter `x` is called with a small array, for which mxnp
records no operations, and with a large array, which mxnp has yet to compute.
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
    """Return the calls of a module's uses by name: the function and the array's size."""
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
    """Return unordered numbers in [0, 1), computed by correctly rounded operations."""
    return np.sqrt((np.arange(size) * 0.618033988749895) % 1.0)


def array_module(way: str) -> Any:
    """Return the module that the program calls `np`."""
    if way == "import":
        import mxnp as np
    else:
        import numpy as np
    made_by = type(np.ones(1)).__module__
    assert made_by == ("numpy" if way == "numpy" else "mxnp"), made_by
    return np


def plain(value: Any) -> Any:
    """Return a result as NumPy arrays and Python objects."""
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
    message = str(error).strip().partition("\n")[0]
    return (
        "raised",
        f"{type(error).__name__}: {message}",
        f"{last.filename}:{last.lineno}",
    )


def outcome(np: Any, use: Any, size: int | None) -> Any:
    """Call a use; return its plain result, or the failure."""
    try:
        result = plain(use() if size is None else use(example(np, size)))
        pickle.dumps(result)  # Objects of some packages cannot be pickled.
        return result
    except Exception as error:
        return failure(error)


def main(way: str, output: str, *names: str) -> None:
    """Run the named uses, or all of them, one by one."""
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
