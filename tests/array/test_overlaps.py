"""Assignments of values that share memory with the elements that they are assigned to."""

import numpy
import pytest
from conftest import assert_same

import mxnp


def run(n):
    return slice(3, 3 + n)


def seconds(n):
    return slice(1, 1 + 2 * n, 2)


# Where values go and where they come from, for n values.
KEYS = {
    "slice": lambda x, n: (run(n), seconds(n)),
    "backwards": lambda x, n: (slice(2 + n, 2, -1), slice(2 * n - 1, None, -2)),
    "every second": lambda x, n: (seconds(n), run(n)),
    "with ellipsis": lambda x, n: ((..., run(n)), seconds(n)),
    "row": lambda x, n: (run(n), (None, seconds(n))),
    "positions": lambda x, n: (numpy.arange(3, 3 + n), seconds(n)),
    "same steps": lambda x, n: (run(n), slice(1, 1 + n)),
}
VALUES = {
    "own": lambda x: x,
    "view": lambda x: x.view(f"u{x.itemsize}"),
    "of NumPy": numpy.asarray,
}


@pytest.mark.parametrize("size", [20, 40_000])
@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("dtype", ["f8", "i4", "u1"])
@pytest.mark.parametrize("of", VALUES)
def test_values_are_those_before_the_assignment(size, name, dtype, of):
    """For some keys NumPy reads what it has written, so it gets a copy here."""
    expected = (numpy.arange(size) % 100).astype(dtype)
    x = mxnp.array(expected) * 1
    key, taken = KEYS[name](x, size // 2 - 3)
    expected[key] = VALUES[of](expected)[taken].copy()
    x[key] = VALUES[of](x)[taken]
    assert_same(x, expected)


@pytest.mark.parametrize("size", [20, 40_000])
def test_values_of_one_row(size):
    expected = numpy.arange(2.0 * size).reshape(2, size)
    x = mxnp.array(expected) * 1
    n = size // 2 - 3
    expected[1, run(n)] = expected[1, seconds(n)].copy()
    x[1, run(n)] = x[1, seconds(n)]
    assert_same(x, expected)
