"""Row loops: programs that loop over the rows and elements of small arrays.

The arrays are made once, and are not timed. NumPy takes 0.02 to 0.2 seconds for each
program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from mxnp.bench.case import Case, Inputs
from mxnp.bench.row_loops import factorizations, products, recurrences

SIZES = (200_000,)  # the largest: each program has its own size, up to this one
QUICK_SIZES = (400,)

# Largest difference from NumPy's results. Elementwise operations give the same bits;
# sums and products of matrices may add in another order.
EXACT = 0.0
SUMMED = 1e-12


class Program(NamedTuple):
    """A program, with its inputs and size."""

    function: Callable[..., Any]
    inputs: Callable[[int], Inputs]
    size: int  # elements of the largest array
    tolerance: float = EXACT

    def case(self, largest: int) -> Case:
        """Return the program as a case with at most `largest` elements."""
        size = min(self.size, largest)
        return Case(
            "row_loops",
            self.function.__name__.replace("_", " "),
            "float64",
            size,
            self.function,
            lambda: self.inputs(size),
            kind="program",
            tolerance=self.tolerance,
        )


def _random(*shape: int) -> Any:
    return numpy.random.default_rng(len(shape)).random(shape) - 0.5


def _side(size: int) -> int:
    return max(2, math.isqrt(size))


def _matrices(names: str) -> Callable[[int], Inputs]:
    """Return a function that makes square matrices with a dominant diagonal."""

    def make(size: int) -> Inputs:
        n = _side(size)
        stack = _random(len(names.split()), n, n)
        return {
            name: matrix + n * numpy.eye(n)
            for name, matrix in zip(names.split(), stack, strict=True)
        }

    return make


def _positive_definite(size: int) -> Inputs:
    n = _side(size)
    factor = _random(n, n)
    return {"a": factor @ factor.T + n * numpy.eye(n)}


def _scaled(size: int) -> Inputs:
    """Make matrices whose products neither overflow nor vanish."""
    n = _side(size)
    return {"a": _random(n, n) / n, "b": _random(n, n)}


def _sparse(size: int) -> Inputs:
    """Make a sparse matrix with up to 20 elements in each row, and a vector."""
    rng = numpy.random.default_rng(1)
    rows = max(2, size // 10)
    starts = numpy.concatenate([[0], numpy.cumsum(rng.integers(0, 21, rows))])
    columns = rng.integers(0, rows, starts[-1])
    return {
        "data": rng.random(len(columns)),
        "columns": columns,
        "starts": starts,
        "x": rng.random(rows),
    }


def _autocorrelation(size: int) -> Inputs:
    k = numpy.arange(1, size + 1)
    return {"r": 0.2 * numpy.cos(k) / k**1.5}


def _tridiagonal(size: int) -> Inputs:
    lower, diagonal, upper, right = _random(4, max(2, size // 16), 16)
    return {"lower": lower, "diagonal": diagonal + 4.0, "upper": upper, "right": right}


def _bodies(size: int) -> Inputs:
    n = max(2, size // 3)
    position, velocity = _random(2, n, 3)
    return {"position": position, "velocity": velocity, "mass": numpy.full(n, 1.0 / n)}


def _samples(size: int) -> Inputs:
    x = _random(max(2, size // 8), 8)
    y = numpy.sin(x.sum(axis=1, keepdims=True))
    return {"x": x, "y": y, "first": _random(8, 16), "second": _random(16, 1)}


PROGRAMS = (
    Program(factorizations.lu, _matrices("a"), 32_400),
    Program(factorizations.cholesky, _positive_definite, 40_000, SUMMED),
    Program(factorizations.gram_schmidt, _matrices("a"), 16_900, SUMMED),
    Program(factorizations.triangular_solve, _matrices("a b"), 22_500, SUMMED),
    Program(products.symm, _matrices("a b c"), 16_900),
    Program(products.syrk, _matrices("a c"), 14_400),
    Program(products.trmm, _scaled, 40_000),
    Program(products.sparse_times_vector, _sparse, 200_000, SUMMED),
    Program(recurrences.durbin, _autocorrelation, 5_000, SUMMED),
    Program(recurrences.tridiagonal_solve, _tridiagonal, 96_000),
    Program(recurrences.n_body, _bodies, 300, SUMMED),
    Program(recurrences.neural_network, _samples, 256, SUMMED),
)


def cases(sizes: Sequence[int]) -> list[Case]:
    """Return every program, with at most as many elements as the largest size."""
    return [program.case(max(sizes)) for program in PROGRAMS]
