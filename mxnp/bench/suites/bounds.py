"""Bounds: the cost of strict mode's checks of gathers and scatters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from mxnp.bench.case import Case, Inputs

# The largest number of indices. The shapes below have their own numbers.
SIZES = (20_000_000,)
QUICK_SIZES = (1_000,)
PEERS = ("mxnp.fast",)
OPERATIONS = ("add", "multiply", "maximum")

Array = Any


class Shape(NamedTuple):
    """A shape that is indexed on some axes, and the numbers of indices."""

    shape: tuple[int, ...]
    counts: tuple[int, ...]  # indices of each of the first axes, or of the last axis
    last: bool = False

    @property
    def text(self) -> str:
        """The shape and the numbers of indices, for tables."""
        shape = ",".join(_number(n) for n in self.shape)
        comma = "," if len(self.shape) == 1 else ""
        indices = "+".join(_number(n) for n in self.counts)
        return f"({shape}{comma}) / {':,' if self.last else ''}{indices}"


def _number(n: int) -> str:
    text = f"{n:.0e}".replace("e+0", "e")
    return text if n >= 10_000 and float(text) == n else str(n)


GATHERS = (
    Shape((100, 64), (1_000_000,)),
    Shape((100, 1024), (100_000,)),
    Shape((4, 1_000_000), (1_000_000,), last=True),
)
SCATTERS = (
    Shape((10, 64), (1_000_000,)),
    Shape((100_000, 64), (1_000_000,)),
    Shape((1_000_000, 64), (100_000,)),
    Shape((100_000,), (1_000_000,)),
    Shape((200_000,), (20_000_000,)),
    Shape((20_000_000,), (20_000_000,)),
    Shape((10_000, 64), (1_000_000,)),
    Shape((100, 64), (10_000_000,)),
    Shape((100, 10_000, 64), (1_000,)),
    Shape((10, 100, 100, 21), (10_000,)),
    Shape((1000, 1000, 10), (1_000, 1_000)),
)


def cases(sizes: Sequence[int]) -> list[Case]:
    """Return all gathers, and scatters that set, add, multiply and take the maximum.

    The index arrays do not change, so their range is known after their first use. In
    the "computed" cases they are computed each time.
    """
    most = max(sizes)
    out = [_gather(_cut(shape, most)) for shape in GATHERS]
    out += [_gather(_cut(shape, most), computed=True) for shape in GATHERS]
    for operation in ("set", *OPERATIONS):
        out += [_scatter(_cut(shape, most), operation) for shape in SCATTERS]
    out += [_scatter(_cut(shape, most), "add", computed=True) for shape in SCATTERS]
    return out


def _cut(shape: Shape, most: int) -> Shape:
    counts = tuple(min(n, most) for n in shape.counts)
    cut = tuple(min(n, most) for n in shape.shape)
    if most < SIZES[0]:  # with --quick
        cut = (*cut[:1], *(min(n, 16) for n in cut[1:]))
    return Shape(cut, counts, shape.last)


def _indices(rng: numpy.random.Generator, shape: Shape) -> list[Array]:
    if shape.last:
        return [rng.integers(0, shape.shape[-1], shape.counts[0])]
    n = max(shape.counts)
    return [
        rng.integers(0, size, n)
        for size, _ in zip(shape.shape, shape.counts, strict=False)
    ]


def _key(indices: Sequence[Array], last: bool) -> Any:
    return (slice(None), *indices) if last else tuple(indices)


def _random(rng: numpy.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.random(shape, dtype=numpy.float32)


def _gather(shape: Shape, computed: bool = False) -> Case:
    def inputs() -> Inputs:
        rng = numpy.random.default_rng(1)
        named = zip("ij", _indices(rng, shape), strict=False)
        return {"a": _random(rng, shape.shape), **dict(named)}

    def function(np: Any, a: Array, **indices: Array) -> Array:
        given = [i + 0 if computed else i for i in indices.values()]
        return a[_key(given, shape.last)]

    return _case("a[i]", shape, function, inputs, computed)


def _update(operation: str) -> Callable[..., Any]:
    def update(np: Any, a: Array, key: Any, v: Array) -> None:
        if operation == "set":
            a[key] = v
        else:
            getattr(np, operation).at(a, key, v)

    return update


def _scatter(shape: Shape, operation: str, computed: bool = False) -> Case:
    update = _update(operation)

    def inputs() -> Inputs:
        rng = numpy.random.default_rng(1)
        named = dict(zip("ij", _indices(rng, shape), strict=False))
        n = len(next(iter(named.values())))
        values = _random(rng, (n, *shape.shape[len(shape.counts) :]))
        return {"a": numpy.ones(shape.shape, numpy.float32), "v": values, **named}

    def function(np: Any, a: Array, v: Array, **indices: Array) -> Array:
        given = [i + 0 if computed else i for i in indices.values()]
        update(np, a, _key(given, shape.last), v)
        return a

    name = "a[i] = v" if operation == "set" else f"{operation}.at"
    return _case(name, shape, function, inputs, computed, target="a")


def _case(
    name: str,
    shape: Shape,
    function: Callable[..., Any],
    inputs: Callable[[], Inputs],
    computed: bool,
    target: str = "",
) -> Case:
    rest = shape.shape[:-1] if shape.last else shape.shape[len(shape.counts) :]
    layout = f"{shape.text}{' computed' if computed else ''}"
    return Case(
        "bounds",
        name,
        "float32",
        max(shape.counts) * math.prod(rest),
        function,
        inputs,
        layout=layout,
        operations=1,
        kind="computed" if computed else "known",
        peers=PEERS,
        target=target,
        tolerance=1e-3,
    )
