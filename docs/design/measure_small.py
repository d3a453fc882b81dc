"""Print the time of ``a + b`` for small arrays: design/14-small-arrays.md shows it."""

import time
from collections.abc import Callable
from typing import Any

import numpy

import mxnp

REPETITIONS = 3_000
ROUNDS = 120


def timer(statement: str) -> Callable[[Any, Any], float]:
    """Return a function of a and b that returns the nanoseconds of the statement."""
    names: dict[str, Any] = {"clock": time.perf_counter_ns}
    exec(
        "def run(a, b):\n"
        "    begin = clock()\n"
        f"    for _ in range({REPETITIONS}):\n"
        f"        {statement}\n"
        "    return (clock() - begin)\n",
        names,
    )
    return lambda a, b: names["run"](a, b) / REPETITIONS


def main() -> None:
    """Print the shortest times, because other work lengthens them."""
    loop, add = timer("pass"), timer("a + b")
    cases = {("loop", 1): (loop, numpy.ones(1))}
    for size in (1, 60, 1000):
        cases["numpy", size] = add, numpy.ones(size)
        cases["mxnp", size] = add, mxnp.ones(size)
    best = dict.fromkeys(cases, float("inf"))
    for _ in range(ROUNDS):
        for name, (run, a) in cases.items():
            best[name] = min(best[name], run(a, a))
    for (name, size), nanoseconds in best.items():
        print(f"{name:6} {size:5} elements: {nanoseconds:6.1f} ns")


if __name__ == "__main__":
    main()
