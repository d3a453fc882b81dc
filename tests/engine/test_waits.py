"""Test that what writes to an array waits for the operations that read it.

Each statement writes to an array, at once or later. Operations that were recorded before it
see the old values, and those that come after it the new ones, whatever the state of the
array: waiting itself, computed, a view of either, or shared with NumPy.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy
import pytest
from support.lanes import ON_GPU

from mxnp import _bridge

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.any_nan]

Library = types.ModuleType
Array = Any

SMALL = 2000
LARGE = 140_000  # sorts and draws of random numbers use several threads

# The names: b, a mask m and indices i do not share memory with a. All have the length n, but for
# i. Parts of a partition have any order, so they are sorted.
WRITES = """
a[...] = 7
a[:] = b
a[::2] = a[1::2][: a[::2].size].sum()
a[5] = 3
a[-3:] = a[:3]
a[::-1] = a
a[1:] = a[:-1]
a[i] = 2
a[i] += 1
a[m] = 4
a[m] = b[m]
a += 1
a *= b
a -= a[::-1]
a **= 2
a.fill(3)
a.sort()
a[::-1].sort()
a.sort(kind="stable")
a.partition(n // 3); a.sort()
a.partition([1, n // 2, n - 2]); a.sort()
a.put(i, 5)
a.flat[3:9] = 1
a.flat = b
a.real = 2
a.byteswap(inplace=True)
a.setfield(0, "u1")
a.view("u1")[3:40] = 9
a.clip(2, 30, out=a)
a.round(1, out=a)
a.cumsum(out=a)
a.take(i % n, out=a[: i.size], mode="wrap")
a.repeat(2)[...] = 0
a.reshape(-1, 2)[:, 1] = 8
a.T[4:] = 6
np.add(a, 1, out=a)
np.add(b, 1, out=a)
np.add(b, b, out=a, where=m)
np.sqrt(b, out=a, casting="unsafe")
np.add.at(a, i, 1)
np.maximum.at(a, i, 20)
np.negative.at(a, i)
np.add.accumulate(b, out=a)
np.add.reduceat(b, np.arange(0, n, 1), out=a)
np.copyto(a, b)
np.copyto(a, 3, where=m)
np.put(a, i, b)
np.putmask(a, m, b)
np.place(a, m, [1, 2, 3])
np.put_along_axis(a, i, 1, 0)
np.fill_diagonal(a.reshape(2, -1), 9)
np.nan_to_num(a, copy=False)
np.take(b, i, out=a[: i.size], mode="clip")
np.compress(m, b, out=a[: int(m.sum())])
np.choose(m, [b, b], out=a)
np.concatenate([b[: n // 2], b[n // 2 :]], out=a)
np.stack([b[: n // 2], b[: n // 2]], out=a[: n // 2 * 2].reshape(2, -1))
np.clip(b, 1, 9, out=a)
np.around(b, 1, out=a)
np.cumsum(b, out=a)
np.cumprod(b // 1 % 2 + 1, out=a)
np.sum(b.reshape(1, -1), axis=0, out=a)
np.max(b.reshape(1, -1), axis=0, out=a)
np.mean(b.reshape(1, -1), axis=0, out=a)
np.var(b.reshape(1, -1), axis=0, out=a)
np.median(b.reshape(1, -1), axis=0, out=a)
np.median(a, overwrite_input=True)
np.percentile(a, [10, 60], overwrite_input=True)
np.quantile(b.reshape(1, -1), 0.5, axis=0, out=a)
np.nansum(b.reshape(1, -1), axis=0, out=a)
np.multiply.outer(b[:1], b, out=a.reshape(1, -1))
np.matmul(b.reshape(-1, 1), b[:1].reshape(1, 1), out=a.reshape(-1, 1))
np.dot(b.reshape(-1, 1), b[:1].reshape(1, 1), out=a.reshape(-1, 1))
np.einsum("i,i->i", b, b, out=a)
np.frexp(b, a, np.zeros(n, "i4"))
np.modf(b, out=(a, np.zeros(n)))
np.random.default_rng(1).random(out=a)
np.random.default_rng(1).standard_normal(out=a)
np.random.default_rng(1).standard_exponential(out=a)
np.random.default_rng(1).standard_gamma(2.0, out=a)
np.random.default_rng(1).shuffle(a)
np.random.default_rng(1).permuted(a, out=a)
np.random.RandomState(1).shuffle(a)
np.fft.fft(b[: n // 2], out=a[: n // 2 * 2].view("c16"))
np.ndarray.sort(a)
np.ndarray.fill(a, 4)
memoryview(a)[3] = 5
a.__setitem__(slice(2, 9), 1)
a.resize(n - 2, refcheck=False)
setattr(a, "dtype", "u1"); a[:100] = 7
exec("for k in range(5): a[k] = a[-1 - k]")
"""

Read = Callable[[Library, Array], Array]
READS: dict[str, Read] = {
    "an operation": lambda np, a: a * 3,
    "two": lambda np, a: (a + 1) * a,
    "a conversion": lambda np, a: a.astype("f4"),
    "a part": lambda np, a: a[3::2] - 1,
    "elements": lambda np, a: a[np.arange(a.size)[::-7]],
    "a comparison": lambda np, a: np.where(a > 9, a, 0),
    "a sum": lambda np, a: (a + 0).reshape(2, -1).sum(axis=0),
    "a scan": lambda np, a: np.cumsum(a),
}

STATES: dict[str, Callable[[Library, numpy.ndarray], Array]] = {
    "waits": lambda np, x: np.array(x) * 1,
    "computed": lambda np, x: np.array(x),
    "view of one that waits": lambda np, x: (np.array(numpy.repeat(x, 2)) * 1)[::2],
    "view": lambda np, x: np.array(numpy.repeat(x, 2))[::2],
    "shared": lambda np, x: np.asarray(x),
}


# Rows whose last bits are not NumPy's on a GPU.
OTHER_ON_GPU = {'np.fft.fft(b[: n // 2], out=a[: n // 2 * 2].view("c16"))'}


def look(np: Library, statement: str, n: int, reads: Iterable[Read]) -> list[Any]:
    """Run a statement for all states. Return what the operations around it have read."""
    if ON_GPU and statement in OTHER_ON_GPU:
        pytest.skip("a GPU has transforms of its own")
    found: list[Any] = []
    values = numpy.arange(n) * 37 % 101 + 0.5
    names = {
        "np": np,
        "n": n,
        "b": np.array(numpy.arange(n) * 29 % 89 + 1.5),
        "m": np.array(numpy.arange(n) % 3 == 0),
        "i": np.array(numpy.arange(0, n, 5)),
    }
    for make in STATES.values():
        outside = values.copy()
        a = make(np, outside)
        before = [read(np, a) for read in reads]
        try:
            exec(statement, names | {"a": a})
        except (TypeError, ValueError) as error:
            found.append((type(error), str(error)))
        after = a.view("f8") * 2
        found += [*before, after, a, outside.tobytes()]
    return found


@pytest.mark.parametrize("statement", WRITES.strip().splitlines())
def test_operations_see_the_values_of_their_place(
    xp: Library, statement: str
) -> list[Any]:
    before = _bridge.set_threshold(min(_bridge.get_threshold(), SMALL))
    found = look(xp, statement, SMALL, READS.values())
    _bridge.set_threshold(before)
    return found


@pytest.mark.sampled(16)
@pytest.mark.parametrize("statement", WRITES.strip().splitlines())
def test_operations_of_threads_see_the_values_of_their_place(
    xp: Library, statement: str
) -> list[Any]:
    return look(xp, statement, LARGE, [READS["an operation"]])
