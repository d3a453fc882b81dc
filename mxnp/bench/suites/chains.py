"""Chains: expressions of elementwise operations on large arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mxnp.bench.case import Case, of_statement, uniform

SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 30_000_000)
QUICK_SIZES = (10_000, 100_000)
PEERS = ("jax", "jax.jit", "torch")

Array = Any


def price(np: Any, s: Array, k: Array, t: Array) -> Array:
    """Price calls by Black and Scholes, with a logistic normal distribution."""
    spread = 0.3 * np.sqrt(t)
    d1 = (np.log(s / k) + 0.065 * t) / spread
    d2 = d1 - spread
    n1 = 1.0 / (1.0 + np.exp(-d1 * (1.5976 + 0.070565776 * d1 * d1)))
    n2 = 1.0 / (1.0 + np.exp(-d2 * (1.5976 + 0.070565776 * d2 * d2)))
    return s * n1 - k * np.exp(-0.02 * t) * n2


D1 = "((log(s/k) + 0.065*t) / (0.3*sqrt(t)))"
D2 = f"({D1} - 0.3*sqrt(t))"
PRICE = (
    f"s / (1.0 + exp(-{D1} * (1.5976 + 0.070565776*{D1}*{D1}))) - k*exp(-0.02*t)"
    f" * (1.0 / (1.0 + exp(-{D2} * (1.5976 + 0.070565776*{D2}*{D2}))))"
)


def twenty(np: Any, x: Array, y: Array, z: Array) -> Array:
    """Run twenty cheap operations, with up to four temporaries in use."""
    a = x * y + z * 0.5
    b = x - y * z - 0.25
    c = a * a + b * b
    d = c - a * b + x
    e = d * 0.125 + c * y
    return (e - a) * (d + b) - c * 0.1


A, B = "(x*y + z*0.5)", "(x - y*z - 0.25)"
C = f"({A}*{A} + {B}*{B})"
D = f"({C} - {A}*{B} + x)"
E = f"({D}*0.125 + {C}*y)"
TWENTY = f"({E} - {A})*({D} + {B}) - {C}*0.1"


class Chain(NamedTuple):
    """An expression and its properties."""

    name: str  # a name, or the expression itself
    names: str  # the inputs
    operations: int
    kind: str = "cheap"
    function: Callable[..., Any] | None = None  # if the name is not an expression
    numexpr: str = ""  # by default the expression without "np."
    dtypes: tuple[str, ...] = ("float32", "float64")
    low: float = 0.1  # the range of the inputs
    high: float = 1.9
    target: str = ""
    pure: str = ""

    def cases(self, sizes: Sequence[int]) -> list[Case]:
        """Return the cases of the expression in its dtypes at all sizes."""
        names = tuple(self.names.split())
        return [
            Case(
                "chains",
                self.name.replace("np.", ""),
                dtype,
                size,
                self.function or of_statement(self.name, names),
                uniform(self.names, size, dtype, self.low, self.high),
                operations=self.operations,
                kind=self.kind,
                peers=PEERS,
                numexpr=self.numexpr or self.name.replace("np.", ""),
                target=self.target,
                pure=of_statement(self.pure, names) if self.pure else None,
            )
            for dtype in self.dtypes
            for size in sizes
        ]


CHAINS = (
    Chain("a*b + a", "a b", 2),
    Chain("np.sqrt(x*x + y*y) * 0.5", "x y", 5),
    Chain("((((0.3*x - 1.7)*x + 0.9)*x + 2.1)*x - 0.4)*x + 1.3", "x", 10),
    Chain("np.where((x > 0.7) & (y < 1.3) | (x > y), x - y, x*y)", "x y", 8),
    Chain(
        "x += 0.01*(y - x*x)",
        "x y",
        4,
        numexpr="x + 0.01*(y - x*x)",
        target="x",
        pure="x + 0.01*(y - x*x)",
    ),
    Chain(
        "((i*3 + j) ^ (i >> 2)) & 1023",
        "i j",
        5,
        dtypes=("int64",),
        low=0,
        high=1_000_000,
    ),
    Chain("20 operations", "x y z", 20, function=twenty, numexpr=TWENTY),
    Chain("np.log(1.0 + np.exp(-x)) + 0.5*x", "x", 6, "transcendental"),
    Chain("np.sin(x)*np.cos(y) + np.cos(x)*np.sin(y)", "x y", 7, "transcendental"),
    Chain("option price", "s k t", 30, "transcendental", price, PRICE, low=0.5),
)


def cases(sizes: Sequence[int]) -> list[Case]:
    """Return all expressions in their dtypes at all sizes."""
    return [case for chain in CHAINS for case in chain.cases(sizes)]
