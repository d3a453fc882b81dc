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


def assign(xp, to, mask):
    to[mask] = False


# Writes to the elements that a mask selects.
MASKED = {
    "to[mask] = False": assign,
    "copyto of a number": lambda xp, to, mask: xp.copyto(to, True, where=mask),
    "copyto": lambda xp, to, mask: xp.copyto(
        to, xp.arange(to.size) % 3 == 0, where=mask
    ),
    "place": lambda xp, to, mask: xp.place(to, mask, [False, True, False]),
    "putmask": lambda xp, to, mask: xp.putmask(to, mask, xp.arange(to.size) % 3 == 0),
}


@pytest.mark.parametrize("size", [11, 3_000, 30_000])
@pytest.mark.parametrize("name", MASKED)
def test_a_mask_is_a_part_of_the_elements(xp, name, size):
    """NumPy reads some of its elements at a time."""
    found = []
    for before in (True, False):
        a = xp.arange(size) % 7 != 3
        to, mask = (a[1:], a[:-1]) if before else (a[:-1], a[1:])
        MASKED[name](xp, to, mask)
        found.append(a)
    return found


@pytest.mark.parametrize("size", [20, 40_000])
def test_values_of_one_row(size):
    expected = numpy.arange(2.0 * size).reshape(2, size)
    x = mxnp.array(expected) * 1
    n = size // 2 - 3
    expected[1, run(n)] = expected[1, seconds(n)].copy()
    x[1, run(n)] = x[1, seconds(n)]
    assert_same(x, expected)


# Views whose own elements share memory, of an array of n numbers.
SHARED = {
    "windows": lambda xp, x: xp.lib.stride_tricks.sliding_window_view(
        x, 3, writeable=True
    ),
    "columns": lambda xp, x: (
        xp.lib.stride_tricks.sliding_window_view(x, 3, writeable=True).T
    ),
    "backwards": lambda xp, x: xp.lib.stride_tricks.sliding_window_view(
        x[::-1], 3, writeable=True
    ),
    "one element": lambda xp, x: xp.lib.stride_tricks.as_strided(
        x, (x.size,), (0,), writeable=True
    ),
    "one row": lambda xp, x: xp.lib.stride_tricks.as_strided(
        x, (5, x.size), (0, x.itemsize), writeable=True
    ),
    "halves": lambda xp, x: xp.lib.stride_tricks.as_strided(
        x, (x.size - 1,), (x.itemsize // 2,), writeable=True
    ),
}
WRITES = [
    "w += 1", "w *= 2", "w -= w", "w **= 2", "w //= 2", "w += w[::-1]", "w[...] = 7",
    "w[...] = w[::-1]", "w[1:] = w[:-1]", "w[:] = np.arange(w.shape[-1])", "w[w > 5] = 3",
    "w[::2] += 1", "w[0] += 1", "w.fill(4)", "w.sort()", "w.sort(0)", "w.partition(1)",
    "np.add(w, 1, out=w)", "np.sqrt(w, out=w, casting='unsafe')", "np.negative(w, w)",
    "np.multiply(w, w, out=w)", "np.add(w, 1, out=w, where=w > 3)", "np.clip(w, 2, 6, out=w)",
    "np.cumsum(w, axis=0, out=w)", "np.copyto(w, 5)", "np.copyto(w, w[::-1])",
    "np.copyto(w, 1, where=w > 2)", "np.putmask(w, w > 2, [1, 2])", "np.place(w, w > 2, [9])",
    "np.put(w, [0, 1, 2], [7, 8, 9])", "np.add.at(w, [0, 0, 1], 1)", "np.take(w, [1, 0], 0, w[:2])",
    "np.add.accumulate(w, out=w)", "np.maximum(w, w[0], out=w)", "w.flat[:] = 3", "w.flat[1:5] = 2",
    "w[[0, 1, 0]] = 6", "w[[0, 1]] += 1", "np.divmod(w, 3, out=(w, w.copy()))",
]  # fmt: skip


@pytest.mark.parametrize("size", [10, 1000, 40_000])
@pytest.mark.parametrize("write", WRITES)
def test_elements_that_share_memory(xp, write, size):
    results = []
    for dtype in ("f8", "i4"):
        for view in SHARED.values():
            x = xp.arange(size).astype(dtype) % 10
            names = {"np": xp, "w": view(xp, x)}
            try:
                exec(write, names)
            except (ValueError, TypeError) as error:
                results.append(str(error))
            results.append(x.copy())
    return results
