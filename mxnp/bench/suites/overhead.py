"""Overhead: what one operation on a small array costs.

The statements are timed as they stand here, in a loop, without a function around them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy

from mxnp.bench.case import Case, Inputs, of_statement

SIZES = (1, 10, 100, 1000, 10_000)
QUICK_SIZES = (1, 100)

# A statement, and the kind of operation it is.
STATEMENTS = {
    "a + b": "binary",
    "a * b": "binary",
    "a / b": "binary",
    "a * 2.0": "scalar",
    "1.0 + a": "scalar",
    "a < b": "comparison",
    "-a": "unary",
    "np.sqrt(a)": "unary",
    "np.add(a, b, out=c)": "out",
    "c += b": "in place",
    "np.where(m, a, b)": "function",
    "a.sum()": "reduction",
    "np.max(a)": "reduction",
    "a[0]": "index",
    "a[::2]": "view",
    "a.reshape(1, -1)": "view",
    "a[m]": "index",
    "c[:] = a": "in place",
    "a.astype('float32')": "copy",
    "np.zeros(a.shape)": "creation",
}


def cases(sizes: Sequence[int]) -> list[Case]:
    """Give every statement at every size, in float64."""
    return [
        Case(
            "overhead",
            statement,
            "float64",
            size,
            of_statement(statement, ("a", "b", "c", "m")),
            _inputs(size),
            operations=1,
            kind=kind,
            target="c",
            statement=statement,
        )
        for statement, kind in STATEMENTS.items()
        for size in sizes
    ]


def _inputs(size: int) -> Callable[[], Inputs]:
    def make() -> Inputs:
        rng = numpy.random.default_rng(1)
        a, b = rng.random((2, size)) + 0.5
        return {"a": a, "b": b, "c": numpy.zeros(size), "m": a < b}

    return make
