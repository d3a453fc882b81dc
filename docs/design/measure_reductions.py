"""Compare reductions with NumPy's: design/05-engine.md shows the results.

MXNP_NUM_THREADS=1 python docs/design/measure_reductions.py rows
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy

import mxnp

DTYPES = "float64", "float32", "int64", "int32"
SHAPES = (15625, 64), (10000, 100), (2000, 500), (1000, 1000)
SECONDS = 0.05  # for each case

Call = Callable[[Any, Any], Any]
Case = tuple[str, Any, Call]


def reductions(axis: int) -> dict[str, Call]:
    return {
        "max": lambda xp, x: x.max(axis),
        "min": lambda xp, x: x.min(axis),
        "any": lambda xp, x: x.any(axis),
        "sum": lambda xp, x: x.sum(axis),
        "mean": lambda xp, x: x.mean(axis),
        "var": lambda xp, x: x.var(axis),
        "any(x > 99)": lambda xp, x: (x > 99).any(axis),
        "count_nonzero(x > 50)": lambda xp, x: xp.count_nonzero(x > 50, axis),
    }


def along(axis: int) -> Iterator[Case]:
    for dtype in DTYPES:
        for shape in SHAPES:
            x = numpy.random.default_rng(0).integers(0, 99, shape).astype(dtype)
            for name, call in reductions(axis).items():
                zero = numpy.zeros_like(x)  # no element of which ends the search
                case = zero if name == "any" else x
                yield f"{name} {dtype} {shape} axis {axis}", case, call


def early() -> Iterator[Case]:
    for dtype in DTYPES:
        for size in (10**5, 10**6):
            for place in (0, size // 2, None):
                x = numpy.zeros(size, dtype)
                if place is not None:
                    x[place] = 1
                name = f"any(x > 0) {dtype} {size}, element {place}"
                yield name, x, lambda xp, x: (x > 0).any()


GROUPS = {"rows": lambda: along(1), "columns": lambda: along(0), "early": early}


def ratio(x: Any, call: Call) -> float:
    """Return NumPy's median time over mxnp's; the calls alternate."""
    ours = mxnp.array(x)
    times: tuple[list[float], list[float]] = [], []
    end = time.perf_counter() + SECONDS
    while len(times[0]) < 9 or time.perf_counter() < end:
        for spent, xp, array in zip(times, (numpy, mxnp), (x, ours), strict=True):
            begin = time.perf_counter()
            _ = call(xp, array)
            if xp is mxnp:
                mxnp.synchronize()
            spent.append(time.perf_counter() - begin)
    return statistics.median(times[0]) / statistics.median(times[1])


def main() -> None:
    """Print the ratio of each case, and how many are slower than NumPy."""
    ratios = []
    for name, x, call in GROUPS[sys.argv[1]]():
        ratios.append(ratio(x, call))
        print(f"{ratios[-1]:6.2f}  {name}")
    slow = sum(each < 0.95 for each in ratios)
    print(f"geometric mean {statistics.geometric_mean(ratios):.2f}", end=", ")
    print(f"{slow} of {len(ratios)} below 0.95")


if __name__ == "__main__":
    main()
