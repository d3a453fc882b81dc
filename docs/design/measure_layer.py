"""
Measure the functions that run as NumPy's own code, beside NumPy.

``python docs/design/measure_layer.py [SIZE [DTYPE [NAME...]]]`` makes the calls of the
table in `mxnp/_namespace/functions.py`. It prints NumPy's time in milliseconds, and
that time over mxnp's. Calls take turns, and the best of 12 counts.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from pathlib import Path

import numpy

import mxnp
from mxnp._namespace.functions import ROWS

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from support.samples import Arrays

CALLS = 12


def measure(name: str, call: str, size: int, dtype: str) -> tuple[float, float]:
    """Return the seconds that a call takes with NumPy and with mxnp."""
    module, _, function = f"numpy.{name}".rpartition(".")
    best = [float("inf")] * 2
    runs = []
    for xp in (numpy, mxnp):
        place = module.replace("numpy", xp.__name__, 1)
        names = Arrays(xp, size, dtype)
        names["f"] = getattr(importlib.import_module(place), function)
        runs.append((compile(f"f{call}", name, "eval"), names))
    for _ in range(CALLS):
        for i, (code, names) in enumerate(runs):
            begin = time.perf_counter()
            result = eval(code, {}, names)
            mxnp.synchronize()
            best[i] = min(best[i], time.perf_counter() - begin)
            del result
    return best[0], best[1]


def main(size: str = "524288", dtype: str = "f8", *wanted: str) -> None:
    """Print a line for each call."""
    warnings.simplefilter("ignore")
    for name, row in ROWS.items():
        if not row.layer or (wanted and name not in wanted):
            continue
        for call in row.calls:
            try:
                numpys, ours = measure(name, call, int(size), dtype)
            except (ArithmeticError, TypeError, ValueError) as error:
                print(f"{name}{call:50} {type(error).__name__}")
                continue
            print(f"{name + call:60} {numpys * 1e3:9.3f} {numpys / ours:6.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
