"""
Time small operations with NumPy and with mxnp in turn, and print the ratios.

Usage: ``python docs/design/measure_overhead.py [elements]``. Times are medians of 15
rounds, in ns.
"""

import operator
import statistics
import sys
import timeit

import numpy

import mxnp

SIZE = int(sys.argv[1]) if len(sys.argv) > 1 else 100
ROUNDS, CALLS = 15, 20_000
OPERATIONS = (
    "x + y", "x * 2.0", "x > y", "-x", "iadd(x, y)", "f * x", "xp.add(x, y)",
    "xp.exp(x)",
    "x.sum()", "xp.sum(x)", "x.mean()", "x[3]", "x[1:9]", "x[i]", "x[1:9] = 0.0",
    "x.shape", "x.reshape(-1, 1)", "x.copy()", "xp.zeros(9)", "xp.array([1, 2, 3])",
    "xp.concatenate([x, y])", "xp.where(x > 0, x, y)",
)  # fmt: skip


def names(xp):
    rng = numpy.random.default_rng(0)
    x, y = (xp.asarray(rng.uniform(0, 1, SIZE)) for _ in range(2))
    return {
        "xp": xp,
        "iadd": operator.iadd,
        "x": x,
        "y": y,
        "i": xp.asarray([2, 5, 7]),
        "f": numpy.float64(2),
    }


print(f"{SIZE} elements of float64\n{'operation':24}{'NumPy':>8}{'mxnp':>8}   ratio")
for statement in OPERATIONS:
    timers = [timeit.Timer(statement, globals=names(xp)) for xp in (numpy, mxnp)]
    rounds = [[timer.timeit(CALLS) / CALLS for timer in timers] for _ in range(ROUNDS)]
    theirs, ours = (
        statistics.median(column) * 1e9 for column in zip(*rounds, strict=True)
    )
    ratio = statistics.median(ours / theirs for theirs, ours in rounds)
    print(f"{statement:24}{theirs:8.0f}{ours:8.0f}{ratio:8.2f}")
