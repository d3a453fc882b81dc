"""Stencils: shifted slices, and transposed, strided and broadcast operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mxnp.bench.case import Case, uniform

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
QUICK_SIZES = (10_000,)
PEERS = ("jax", "jax.jit", "torch")

Array = Any


def three_point(np: Any, u: Array) -> Array:
    """Add to each inner element a part of its second difference."""
    return u[1:-1] + 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:])


def three_point_in_place(np: Any, u: Array) -> Array:
    """Do the same in place. All elements are read before one is written."""
    u[1:-1] += 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return u


def three_point_at(np: Any, u: Array) -> Array:
    """Do the same to a copy, for arrays that cannot be written to."""
    return u.at[1:-1].add(0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:]))


def five_point(np: Any, u: Array) -> Array:
    """Average the four neighbours of each inner element."""
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def five_point_into(np: Any, u: Array, v: Array) -> Array:
    """Average the four neighbours into the inner part of another array."""
    v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return v


def five_point_into_at(np: Any, u: Array, v: Array) -> Array:
    """Do the same to a copy."""
    return v.at[1:-1, 1:-1].set(five_point(np, u))


def nine_point(np: Any, u: Array) -> Array:
    """Blur with the weights 1 2 1, 2 4 2, 1 2 1."""
    corners = u[:-2, :-2] + u[:-2, 2:] + u[2:, :-2] + u[2:, 2:]
    sides = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return (corners + 2.0 * sides + 4.0 * u[1:-1, 1:-1]) * 0.0625


def nine_point_in_place(np: Any, u: Array) -> Array:
    """Blur the inner part of the array itself."""
    u[1:-1, 1:-1] = nine_point(np, u)
    return u


def nine_point_at(np: Any, u: Array) -> Array:
    """Blur the inner part of a copy."""
    return u.at[1:-1, 1:-1].set(nine_point(np, u))


def transposed(np: Any, u: Array, v: Array) -> Array:
    """Mix an array with the transpose of another."""
    return 0.5 * (u + v.T) - u * v.T


def symmetric(np: Any, u: Array) -> Array:
    """Mix an array with its own transpose."""
    return 0.5 * (u + u.T)


def columns(np: Any, u: Array) -> Array:
    """Combine every other column with the next."""
    return u[:, ::2] * 0.5 + u[:, 1::2] * u[:, ::2]


def rows(np: Any, u: Array) -> Array:
    """Combine every other row with the next."""
    return u[::2] * 0.5 + u[1::2] * u[::2]


def broadcast(np: Any, u: Array) -> Array:
    """Mix an array with its first row and its first column."""
    return (u - u[:1]) * u[:, :1] + 0.5


class Stencil(NamedTuple):
    """A computation and its properties."""

    name: str
    function: Callable[..., Any]
    operations: int
    kind: str = "neighbours"
    names: str = "u"
    ndim: int = 2
    target: str = ""
    pure: Callable[..., Any] | None = None


STENCILS = (
    Stencil("3 point", three_point, 5, ndim=1),
    Stencil("5 point", five_point, 4),
    Stencil("9 point", nine_point, 11),
    Stencil(
        "3 point in place",
        three_point_in_place,
        5,
        "in place",
        ndim=1,
        target="u",
        pure=three_point_at,
    ),
    Stencil(
        "5 point into another",
        five_point_into,
        4,
        "in place",
        "u v",
        target="v",
        pure=five_point_into_at,
    ),
    Stencil(
        "9 point in place",
        nine_point_in_place,
        11,
        "in place",
        target="u",
        pure=nine_point_at,
    ),
    Stencil("0.5*(u + v.T) - u*v.T", transposed, 4, "transposed", "u v"),
    Stencil("0.5*(u + u.T)", symmetric, 2, "transposed"),
    Stencil("every other column", columns, 3, "strided"),
    Stencil("every other row", rows, 3, "strided"),
    Stencil("first row and column", broadcast, 3, "broadcast"),
)


def cases(sizes: Sequence[int]) -> list[Case]:
    """Return all stencils at all sizes in float64. Two axes have equal lengths."""
    return [
        Case(
            "stencils",
            stencil.name,
            "float64",
            size,
            stencil.function,
            uniform(stencil.names, _shape(size, stencil.ndim), "float64", 0.1, 0.9),
            operations=stencil.operations,
            kind=stencil.kind,
            peers=PEERS,
            target=stencil.target,
            pure=stencil.pure,
        )
        for stencil in STENCILS
        for size in sizes
    ]


def _shape(size: int, ndim: int) -> tuple[int, ...]:
    # Even lengths, so that every other row and the next ones are equally many.
    return (max(4, 2 * round(math.sqrt(size) / 2)),) * 2 if ndim == 2 else (size,)
