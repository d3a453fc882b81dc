"""
Measure compiled kernels: python docs/design/measure_compiled.py

Prints for each program and size the median times of NumPy and of mxnp, without and with
compiled kernels. The three runs alternate.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy

import mxnp
from mxnp import _bridge
from mxnp._engine import core
from mxnp._jit.compiler import compile_program


def polynomial(np: Any, x: Any) -> Any:
    """Evaluate a polynomial of degree 10."""
    y = x
    for _ in range(10):
        y = y * 0.5 + x
    return y


def branches(np: Any, x: Any) -> Any:
    """Mix arithmetic, roots, comparisons and selections."""
    y = x * 2 + 1
    z = np.sqrt(np.abs(y)) - x
    w = np.where(z > 0.3, z, -y)
    return np.minimum(w, 1.0) * y / (1 + z * z)


def stencil(np: Any, x: Any) -> Any:
    """Average the neighbours of each element of a square."""
    n = int(x.size**0.5)
    m = x[: n * n].reshape(n, n)
    around = m[2:, 1:-1] + m[:-2, 1:-1] + m[1:-1, 2:] + m[1:-1, :-2]
    return m[1:-1, 1:-1] * 0.5 + 0.125 * around


def integers(np: Any, x: Any) -> Any:
    """Mix the bits of integers."""
    i = x.view("int64")
    return ((i ^ (i >> 7)) * 3 + 1) & 0xFFFF


def total(np: Any, x: Any) -> Any:
    """Sum a product."""
    return ((x * 2 + 1) * x - 0.5).sum()


def gauss(np: Any, x: Any) -> Any:
    """Compute a bell curve, whose exponential is NumPy's loop."""
    return np.exp(-x * x * 0.5) * 0.3 + x


PROGRAMS: tuple[Callable[[Any, Any], Any], ...] = (
    polynomial,
    branches,
    stencil,
    integers,
    total,
    gauss,
)


def compiler(key: bytes) -> list[tuple[int, int, int]] | None:
    return compile_program(key, 2)


def seconds(function: Callable[[Any, Any], Any], np: Any, x: Any) -> float:
    begin = time.perf_counter()
    result = function(np, x)
    if np is mxnp:
        mxnp.synchronize()
    taken = time.perf_counter() - begin
    del result
    return taken


def measure(function: Callable[[Any, Any], Any], size: int) -> list[float]:
    """Return the medians of NumPy, of mxnp, and of mxnp with compiled kernels."""
    x = numpy.random.default_rng(0).standard_normal(size)
    a = mxnp.array(x)
    times: list[list[float]] = [[], [], []]
    for round_ in range(8 + max(15, min(200, 10**7 // size))):
        _bridge.set_compiler(None, False)
        taken = [seconds(function, numpy, x), seconds(function, mxnp, a)]
        _bridge.set_compiler(compiler, True)
        seconds(function, mxnp, a)  # compiles the group
        taken.append(seconds(function, mxnp, a))
        if round_ >= 8:
            for column, value in zip(times, taken, strict=True):
                column.append(value)
    return [statistics.median(column) for column in times]


def main() -> None:
    _bridge.set_eager(False)
    print(f"{mxnp.get_num_threads()} threads; microseconds")
    print("| program | elements | NumPy | mxnp | compiled | NumPy / compiled |")
    print("|---|---|---|---|---|---|")
    for size in (20_000, 100_000, 1_000_000, 10_000_000):
        for function in PROGRAMS:
            numpys, before, after = (1e6 * t for t in measure(function, size))
            print(
                f"| {function.__name__} | {size:,} | {numpys:.0f} | {before:.0f} "
                f"| {after:.0f} | {numpys / after:.1f} |",
                flush=True,
            )
    print(core.CompiledStats())


if __name__ == "__main__":
    main()
