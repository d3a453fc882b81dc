"""
Test arrays of more than 2**31 elements; only with ``MXNP_LARGE=1``.

The tests need about 12 GB of memory and some minutes. NumPy's results are known from the
values of the arrays, which are zero except for some elements on both sides of 2**31.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import mxnp

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("MXNP_LARGE") != "1",
        reason="12 GB of memory are needed: set MXNP_LARGE=1",
    ),
]

N = 2**31 + 2**20 + 7
# The indices of the elements that are not 0, and their values.
PLACES = numpy.array([0, 5, 2**31 - 1, 2**31, 2**31 + 1, N - 2, N - 1])
VALUES = numpy.array([3, 250, 7, 9, 11, 200, 1], dtype="u1")


@pytest.fixture(scope="module")
def memory() -> Any:
    """Return memory that all tests use, because new pages are slow."""
    return mxnp.empty(N, "u1")


@pytest.fixture
def x(memory: Any) -> Iterator[Any]:
    """Return an array whose elements at PLACES are VALUES."""
    memory[...] = 0
    memory[PLACES] = VALUES
    mxnp.synchronize()
    yield memory
    mxnp.synchronize()


def assert_is(a: Any, places: Any, values: Any) -> None:
    """Assert that an array has these values at these places, and 0 elsewhere."""
    flat = numpy.asarray(a).reshape(-1)
    places = numpy.asarray(places, int)
    found = flat[places]
    flat[places] = 0
    others = flat.max()
    flat[places] = found
    assert found.tolist() == list(values)
    assert others == 0


def elementwise(xp: Any, x: Any) -> dict[str, Any]:
    """Return results that are 0 where x is 0."""
    return {
        "x + x * 2": x + x * xp.uint8(2),
        "x > 8": x > 8,
        "astype": x.astype("i1"),
        "where": xp.where(x > 8, xp.minimum(x, xp.uint8(10)), xp.uint8(0)),
    }


@pytest.mark.parametrize("name", elementwise(numpy, VALUES))
def test_elements(x: Any, name: str) -> None:
    # A result that is dropped is not computed, so each is recorded and tested alone.
    assert_is(elementwise(mxnp, x)[name], PLACES, elementwise(numpy, VALUES)[name])


def test_in_place(x: Any) -> None:
    x += x
    x[3:] ^= mxnp.uint8(0)
    x //= 2
    x[:: 2**20] += 0
    assert_is(x, PLACES, (VALUES + VALUES) // 2)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x.sum(), int(VALUES.sum(dtype=int))),
        (lambda x: x.sum(dtype="u1"), int(VALUES.sum(dtype="u1"))),
        (lambda x: x.max(), 250),
        (lambda x: x[6:].max(), 200),
        (lambda x: x.min(), 0),
        (lambda x: x.any(), True),
        (lambda x: x.all(), False),
        (lambda x: x[6:].argmax(), N - 2 - 6),
        (lambda x: (x[2**31 + 2 :] == 200).argmax(), N - 2 - 2**31 - 2),
        (lambda x: (x == 9).argmax(), 2**31),
        (lambda x: (x != 1).argmin(), N - 1),
        (lambda x: mxnp.count_nonzero(x), len(PLACES)),
        (lambda x: x.mean(), VALUES.sum(dtype=float) / N),
        (lambda x: (x[::-1]).argmax(), N - 6),
        (lambda x: x.size, N),
        (lambda x: x.nbytes, N),
    ],
)
def test_numbers(x: Any, call: Callable[[Any], Any], expected: Any) -> None:
    assert call(x) == expected


def test_running_sums(x: Any) -> None:
    sums = x.cumsum(dtype="u1")
    assert sums[PLACES].tolist() == VALUES.cumsum(dtype="u1").tolist()
    assert sums[2**31 + 2] == sums[N - 3] == VALUES[:5].sum(dtype="u1")


@pytest.mark.parametrize("order", ["C", "F"])
def test_axes(order: Any) -> None:
    rows, columns = 2**16 + 3, 2**15 + 1
    a = mxnp.zeros((rows, columns), "u1", order)
    a[rows - 1, columns - 1] = a[rows - 1, 0] = a[3, columns - 1] = 5
    assert a.size > 2**31
    assert_is(a.sum(axis=0, dtype="u2"), [0, columns - 1], [5, 10])
    assert_is(a.max(axis=1), [3, rows - 1], [5, 5])
    assert_is(a.argmax(axis=0), [0, columns - 1], [rows - 1, 3])
    assert_is(a.T.any(axis=1), [0, columns - 1], [True, True])
    there = [0, columns - 1, (rows - 4) * columns]
    assert_is(a[::-1, ::-1] + a[::-1, ::-1], there, [10, 10, 10])


KEYS = numpy.concatenate([PLACES, PLACES - N, [1, N - 3]])


def test_indexing(x: Any) -> None:
    expected = [*VALUES.tolist() * 2, 0, 0]
    keys = mxnp.asarray(KEYS)
    assert x[keys].tolist() == expected
    assert x[KEYS].tolist() == expected
    assert (
        x[keys + 0] + 0
    ).tolist() == expected  # computed, and fused with the addition
    assert x.take(keys).tolist() == expected
    assert x[2**31 - 1 : 2**31 + 3].tolist() == [7, 9, 11, 0]
    assert int(x[2**31]) == 9
    with pytest.raises(IndexError, match=f"index {N} is out of bounds for axis 0"):
        x[mxnp.asarray([0, N])]


def test_assignment(x: Any) -> None:
    keys = mxnp.asarray(PLACES)
    x[keys] = 4
    assert_is(x, PLACES, [4] * len(PLACES))
    x[keys[::-1] + 0] = mxnp.arange(1, 8, dtype="u1")
    assert_is(x, PLACES, range(7, 0, -1))
    x[2**31 - 1 : 2**31 + 2] = 0
    assert_is(x, PLACES[[0, 1, 5, 6]], [7, 6, 2, 1])


def test_updates(x: Any) -> None:
    keys = mxnp.asarray(numpy.concatenate([KEYS, KEYS]))
    mxnp.add.at(x, keys, mxnp.uint8(2))
    places = numpy.sort([*PLACES, 1, N - 3])
    expected = dict(zip(PLACES.tolist(), (VALUES + 8).tolist(), strict=True))
    expected |= {1: 4, N - 3: 4}
    assert_is(x, places, [expected[place] for place in places.tolist()])
    y = x.at[keys].set(0)
    assert_is(y, [], [])
    assert_is(x.at[mxnp.asarray(PLACES)].max(255), places, [
        255 if place in PLACES else 4 for place in places
    ])  # fmt: skip


def test_masks(x: Any) -> None:
    mask = x > 8
    is_there = VALUES > 8
    assert x[mask].tolist() == VALUES[is_there].tolist()
    assert mxnp.flatnonzero(mask).tolist() == PLACES[is_there].tolist()
    assert x.nonzero()[0].tolist() == PLACES.tolist()
    x[mask] = 2
    assert_is(x, PLACES, numpy.where(is_there, 2, VALUES))
    x[x == 2] = 0
    assert_is(x, PLACES[~is_there], VALUES[~is_there])


def test_copies(x: Any) -> None:
    assert_is(x[::-1].copy(), N - 1 - PLACES[::-1], VALUES[::-1])
    assert_is(mxnp.roll(x, 1), (PLACES + 1) % N, VALUES)
    y = mxnp.empty(N, "u1")
    y[...] = x
    assert_is(y, PLACES, VALUES)
    assert_is(
        mxnp.arange(2**31 - 2, 2**31 + 3).astype("u1"), [0, 1, 3, 4], [254, 255, 1, 2]
    )


def test_searches() -> None:
    a = mxnp.zeros(N, "u1")
    a[2**31 + 3 :] = 5
    found = mxnp.searchsorted(a, mxnp.asarray([0, 1, 5, 6], dtype="u1"))
    assert found.tolist() == [0, 2**31 + 3, 2**31 + 3, N]
