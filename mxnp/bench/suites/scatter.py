"""Scatter: reading, setting, updating, counting and searching with index arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from mxnp.bench.case import Case, Inputs

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
QUICK_SIZES = (10_000,)
JAX = ("jax", "jax.jit")
COLUMNS = 64  # the length of rows

Array = Any


def add_at(np: Any, a: Array, i: Array, v: Array) -> Array:
    """Add values to elements, with repeated indices."""
    np.add.at(a, i, v)
    return a


def add_at_pure(np: Any, a: Array, i: Array, v: Array) -> Array:
    """Do the same to a copy."""
    return a.at[i].add(v)


def maximum_at(np: Any, a: Array, i: Array, v: Array) -> Array:
    """Keep the largest value of each element."""
    np.maximum.at(a, i, v)
    return a


def maximum_at_pure(np: Any, a: Array, i: Array, v: Array) -> Array:
    """Do the same to a copy."""
    return a.at[i].max(v)


def put(np: Any, a: Array, i: Array, v: Array) -> Array:
    """Set elements, the last value winning."""
    a[i] = v
    return a


def take(np: Any, a: Array, i: Array) -> Array:
    """Read elements."""
    return a[i]


def take_columns(np: Any, a: Array, i: Array) -> Array:
    """Read columns."""
    return a[:, i]


def take_pairs(np: Any, a: Array, i: Array, j: Array) -> Array:
    """Read single elements of a matrix."""
    return a[i, j]


def take_computed(np: Any, a: Array, u: Array) -> Array:
    """Read elements at computed indices, and compute with them."""
    i = (u * a.shape[0]).astype("int64")
    return a[i] * u + 1.0


def select(np: Any, a: Array, m: Array) -> Array:
    """Read the elements that a mask selects."""
    return a[m]


def along(np: Any, a: Array, i: Array) -> Array:
    """Read one element along an axis for each index of the other axis."""
    return np.take_along_axis(a, i, axis=1)


def count(np: Any, i: Array) -> Array:
    """Count the occurrences of each number."""
    return np.bincount(i)


def weigh(np: Any, i: Array, v: Array) -> Array:
    """Sum the weights of each number."""
    return np.bincount(i, v)


def search(np: Any, t: Array, v: Array) -> Array:
    """Find the positions of values in a sorted table."""
    return np.searchsorted(t, v)


class Given(NamedTuple):
    """A generator of inputs for a number of indices."""

    rng: numpy.random.Generator
    n: int

    def indices(self, slots: int, spread: str = "uniform") -> Array:
        """Return indices from 0 to `slots`, which is excluded."""
        if spread == "one":
            return numpy.zeros(self.n, numpy.int64)
        if spread == "zipf":
            return numpy.minimum(self.rng.zipf(1.3, self.n) - 1, slots - 1)
        return self.rng.integers(0, slots, self.n)


def cases(sizes: Sequence[int]) -> list[Case]:
    """Return all computations in float64, for each number of indices."""
    return [case for size in sizes for case in _of_size(size)]


def _of_size(n: int) -> list[Case]:
    out = [
        _case(
            "a[i]",
            n,
            take,
            f"{slots:.0e} uniform".replace("e+0", "e"),
            _take(slots),
            "take",
        )
        for slots in sorted({100, 10_000, n})
    ]
    rows = max(1, n // COLUMNS)
    out += [
        _case("a[i]", n, take, "rows of 64", _take_rows(rows), "take"),
        _case("a[:, i]", n, take_columns, "4 rows", _take_columns, "take"),
        _case("a[i, j]", n, take_pairs, "1000 x 1000", _take_pairs, "take"),
        _case("a[m]", n, select, "half", _select, "take", peers=JAX[:1]),
        _case("take_along_axis", n, along, "rows of 64", _along, "take"),
        _case("a[(u*n).astype(int)]*u + 1", n, take_computed, "", _computed, "take"),
    ]
    few, some = 100, 10_000
    places = [("one", 1), *(("uniform", k) for k in (few, some, n)), ("zipf", some)]
    for spread, slots in dict.fromkeys(places):
        layout = f"{slots:.0e} {spread}".replace("e+0", "e")
        make = _update(slots, spread)
        out.append(_case("add.at", n, add_at, layout, make, "update", add_at_pure))
        if spread == "uniform" and slots >= 10_000:
            pure, weights, counts = maximum_at_pure, _weigh(slots), _count(slots)
            out += [
                _case("maximum.at", n, maximum_at, layout, make, "update", pure),
                _case("a[i] = v", n, put, layout, make, "update"),
                _case(
                    "bincount(i, v)", n, weigh, layout, weights, "count", peers=JAX[:1]
                ),
                _case("bincount(i)", n, count, layout, counts, "count", peers=JAX[:1]),
            ]
    make = _update_rows(rows)
    out.append(_case("add.at", n, add_at, "rows of 64", make, "update", add_at_pure))
    out.append(
        _case("searchsorted", n, search, "1e6 sorted", _search, "search", peers=JAX)
    )
    return out


def _case(
    name: str,
    size: int,
    function: Callable[..., Any],
    layout: str,
    make: Callable[[Given], Inputs],
    kind: str,
    pure: Callable[..., Any] | None = None,
    peers: tuple[str, ...] = JAX,
) -> Case:
    def inputs() -> Inputs:
        return make(Given(numpy.random.default_rng(1), size))

    writes = kind == "update"
    return Case(
        "scatter", name, "float64", size, function, inputs, layout=layout, operations=1,
        kind=kind, peers=peers if pure or not writes else (),
        target="a" if writes else "", pure=pure,
    )  # fmt: skip


def _take(slots: int) -> Callable[[Given], Inputs]:
    return lambda given: {"a": given.rng.random(slots), "i": given.indices(slots)}


def _take_rows(rows: int) -> Callable[[Given], Inputs]:
    def make(given: Given) -> Inputs:
        i = given.rng.integers(0, rows, rows)
        return {"a": given.rng.random((rows, COLUMNS)), "i": i}

    return make


def _take_columns(given: Given) -> Inputs:
    columns = max(1, given.n // 4)
    i = given.rng.integers(0, columns, columns)
    return {"a": given.rng.random((4, columns)), "i": i}


def _take_pairs(given: Given) -> Inputs:
    table = given.rng.random((1000, 1000))
    return {"a": table, "i": given.indices(1000), "j": given.indices(1000)}


def _select(given: Given) -> Inputs:
    return {"a": given.rng.random(given.n), "m": given.rng.random(given.n) < 0.5}


def _along(given: Given) -> Inputs:
    shape = (max(1, given.n // COLUMNS), COLUMNS)
    return {"a": given.rng.random(shape), "i": given.rng.integers(0, COLUMNS, shape)}


def _computed(given: Given) -> Inputs:
    return {"a": given.rng.random(10_000), "u": given.rng.random(given.n)}


def _update(slots: int, spread: str) -> Callable[[Given], Inputs]:
    def make(given: Given) -> Inputs:
        v = given.rng.random(given.n)
        return {"a": numpy.zeros(slots), "i": given.indices(slots, spread), "v": v}

    return make


def _update_rows(rows: int) -> Callable[[Given], Inputs]:
    def make(given: Given) -> Inputs:
        i = given.rng.integers(0, rows, rows)
        shape = (rows, COLUMNS)
        return {"a": numpy.zeros(shape), "i": i, "v": given.rng.random(shape)}

    return make


def _weigh(slots: int) -> Callable[[Given], Inputs]:
    return lambda given: {"i": given.indices(slots), "v": given.rng.random(given.n)}


def _count(slots: int) -> Callable[[Given], Inputs]:
    return lambda given: {"i": given.indices(slots)}


def _search(given: Given) -> Inputs:
    table = numpy.sort(given.rng.random(1_000_000))
    return {"t": table, "v": given.rng.random(given.n)}
