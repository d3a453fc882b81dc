"""Borders between the shares of threads, and operations that depend on indexed memory."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from conftest import assert_same

import mxnp
from mxnp import _bridge

RANDOM = numpy.random.default_rng(11)
N = 120_000


@pytest.fixture(autouse=True)
def all_recorded() -> Any:
    before = _bridge.set_threshold(1)
    yield
    _bridge.set_threshold(before)


@pytest.fixture(params=[3])
def threads(request: pytest.FixtureRequest) -> Any:
    before = mxnp.set_num_threads(request.param)
    yield request.param
    mxnp.set_num_threads(before)


# -- Shares ----------------------------------------------------------------------------

FAR = (1800, 1400)  # elements: more than the caches hold
rows_, columns_ = (RANDOM.integers(0, n, N) for n in FAR)
few_ = RANDOM.integers(0, 9, N)
one_, weights_ = RANDOM.integers(0, FAR[0] * FAR[1], N), RANDOM.integers(1, 9, N)


def update(xp: Any, ufunc: str, target: Any, key: Any, value: Any) -> Any:
    getattr(xp, ufunc).at(target, key, value)
    return target


@pytest.mark.sampled(26)
@pytest.mark.parametrize("ufunc", ["add", "subtract", "bitwise_xor", "logical_xor"])
@pytest.mark.parametrize("keys", ["two", "few rows", "distant", "negative", "small"])
@pytest.mark.parametrize("is_scalar", [False, True])
def test_each_element_is_updated_once_for_each_index(
    threads: int, ufunc: str, keys: str, is_scalar: bool
) -> None:
    """An update that two threads make, or none, shows in the result."""
    key, shape = {
        "two": ((rows_, columns_), FAR),
        "few rows": ((few_, columns_), FAR),
        "distant": ((one_,), (FAR[0] * FAR[1],)),
        "negative": ((rows_ - FAR[0], columns_), FAR),
        "small": ((few_,), (9,)),
    }[keys]
    value = 1 if is_scalar else weights_
    expected = update(numpy, ufunc, numpy.zeros(shape, int), key, value)
    ours = mxnp.zeros(shape, int)
    given = 1 if is_scalar else mxnp.array(weights_)
    update(mxnp, ufunc, ours, tuple(map(mxnp.array, key)), given)
    assert_same(ours, expected)


@pytest.mark.parametrize("columns", [1, 3, 700, 2049])
@pytest.mark.parametrize("dtype", ["i1", "f4", "c16"])
def test_rows_are_updated_up_to_their_ends(
    threads: int, columns: int, dtype: str
) -> None:
    i = RANDOM.integers(0, 40, 400)
    values = RANDOM.integers(0, 3, (400, columns)).astype(dtype)
    expected = numpy.zeros((40, columns), dtype)
    numpy.add.at(expected, i, values)
    ours = mxnp.zeros((40, columns), dtype)
    mxnp.add.at(ours, mxnp.array(i), mxnp.array(values))
    assert_same(ours, expected)


SHAPES = [(N,), (3, 70_001), (70_001, 3), (9, 1025, 17), (1, N), (2048, 65)]
PASSES = {
    "sum of columns": lambda xp, a: a.sum(0),
    "sum of rows": lambda xp, a: a.sum(-1),
    "maxima": lambda xp, a: [a.max(0), a.min(-1)],
    "running sums": lambda xp, a: [xp.cumsum(a, 0), xp.cumsum(a, -1), xp.cumsum(a)],
    "running maxima": lambda xp, a: xp.maximum.accumulate(a, 0),
    "running products": lambda xp, a: xp.multiply.accumulate(a % 3, -1),
    "places": lambda xp, a: [a.argmax(0), a.argmin(-1), a.argmax()],
    "places with gaps": lambda xp, a: [a.T[::-1].argmax(0), a[..., ::2].argmin(-1)],
    "mask": lambda xp, a: [a[a > 50], xp.flatnonzero(a > 90), xp.count_nonzero(a > 3)],
    "bytes": lambda xp, a: [a.astype("i1")[a > 2], a.astype("D")[a < 70]],
    "mask of rows": lambda xp, a: a[a.reshape(len(a), -1)[:, 0] > 40],
    "any and all": lambda xp, a: [(a > 98).any(0), (a < 99).all(-1)],
    "rows": lambda xp, a: a[xp.arange(len(a))[::-1]],
    "columns": lambda xp, a: a[..., xp.arange(a.shape[-1])[::-1]],
    "elements": lambda xp, a: a.ravel()[xp.argsort(a.ravel(), kind="stable")],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PASSES)
def test_passes_that_threads_share(threads: int, name: str, shape: Any) -> None:
    numbers = RANDOM.integers(0, 100, shape)
    assert_same(
        PASSES[name](mxnp, mxnp.array(numbers)), PASSES[name](numpy, numbers.copy())
    )


# -- What runs before and after a gather or an update ------------------------------------

# Before these run operations of the same shapes, which the later ones might join.
HAZARDS = [
    "b = m[i, j]; m[-1] = 3",
    "b = m[i, j]; m[:, -1] = 3",
    "b = m[i, j]; m[0] = 3",
    "b = m[i, j]; m[-1, 1:] = 3",
    "m[-1, 1:] = 3; b = m[i, j]",
    "b = c[i, j, k]; c[-1, 1:, -1] = 3",
    "b = m[i, j]; m[:, 0] = 3",
    "b = m[i, j, None]; m[:, -1] = 9",
    "m[:, -1] = 3; b = m[i, j]",
    "m[-1] = 3; b = m[i, j]",
    "m[-1] *= 3; b = m[i, j] + 1",
    "b = m[::-1, ::-1][i, j]; m[0] = 3",
    "b = m[::-1, ::-1][i, j]; m[:, 0] = 3",
    "m[:, 0] = 3; b = m[:, ::-1][i, j]",
    "b = c[i, j, k]; c[-1, -1] = 3",
    "b = c[i, j, k]; c[-1, :, -1] = 3",
    "b = c[i, j, k]; c[:, -1, -1] = 3",
    "c[:, -1, -1] = 3; b = c[i, j, k]",
    "c[-1, :, -1] = 3; b = c[i, j, k]",
    "c[i, j, k] = 7; b = c[:, -1, -1] + 1",
    "c[i, j, k] = 7; b = c[-1, :, -1] + 1; c[i, j, k] += 1",
    "m[i, j] = 5; m[:, -1] = 3",
    "m[:, -1] = 3; m[i, j] = 5",
    "b = m[:, -1] + 1; m[i, j] = 5; d = m[:, -1] + 1",
    "np.add.at(m, (i, j), 1); m[-1] = 3",
    "m[-1] = 3; np.add.at(m, (i, j), 1); b = m[:, -1] + 0",
    "b = m[i, j]; np.add.at(m, (i, j), b); d = m[i, j]",
    "b = m[i[:, None], j]; m[:, -1] = 3",
    "i = i + 0; b = m[i, j]; i[...] = 0",
    "j = j + 0; b = m[i, j]; j[...] = 0",
    "j = j + 0; m[i, j] = 4; j[...] = 0",
    "m[m[0], m[1]] = 5",
    "m[m[0], m[1]] = m[2]",
    "b = m[m[0], m[-1]]; m[:, -1] = 3",
    "np.add.at(m, (m[0], m[1]), m[2])",
    "m[m[0], m[1]] += m[2]",
    "m[i, j] = m[-1 - i, -1 - j]",
]


@pytest.mark.parametrize("text", HAZARDS)
@pytest.mark.parametrize("order", "CF")
def test_operations_on_indexed_memory_keep_their_order(
    xp: Any, text: str, order: str
) -> Any:
    numbers = numpy.random.default_rng(5)
    shape = 12, 20, 9
    index = [numbers.integers(0, n, 5) for n in shape]
    for at, n in zip(index, shape, strict=True):
        at[:2] = n - 1, 0
    names = {
        "np": xp,
        "m": xp.array(numbers.integers(0, 12, shape[:2]), order=order),
        "c": xp.array(numbers.integers(0, 12, shape), order=order),
        "e": [xp.ones(n, int) for n in (*shape, 19, 5)],
        **dict(zip("ijk", map(xp.array, index), strict=True)),
    }
    exec(f"e = [x + 1 for x in e]; {text}", names)
    return [names.get(name) for name in "mcbde"]
