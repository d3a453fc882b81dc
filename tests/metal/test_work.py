"""Test the estimates of the work of kernels, and that long kernels are cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy
import pytest
from support.metal import count_costs, needs_gpu, needs_host, needs_metal, no_reports

import mxnp
from mxnp._engine import core

pytestmark = [needs_gpu, pytest.mark.usefixtures("on_metal")]

BYTE = 16  # MX_WORK_BYTE of csrc/gpu/work.h


@contextmanager
def limited(work: int) -> Iterator[None]:
    """Cut kernels with more than an amount of work."""
    mxnp.synchronize()
    before = core.set_work_limit(work)
    try:
        yield
        mxnp.synchronize()
    finally:
        core.set_work_limit(before)


def measure(call: Callable[[], Any]) -> tuple[Any, int, int]:
    """Return a result, and the dispatches and the work that it took."""
    mxnp.synchronize()
    before = core.gpu_counts()
    kept = call()
    mxnp.synchronize()
    after = core.gpu_counts()
    names = ("dispatches", "work")
    dispatches, work = (after[name] - before[name] for name in names)
    return kept, dispatches, work


def values(dtype: str, *shape: int) -> Any:
    given = numpy.random.default_rng(0).integers(1, 50, shape)
    return mxnp.array(given.astype(dtype))


# -- Parts --------------------------------------------------------------------------------


def _many_steps() -> Any:
    x = values("float32", 50_000)
    for _ in range(5):
        x = mxnp.sqrt(x * x + 1) - x / 3
    return x


def _four_axes() -> Any:
    x = values("int32", 6, 10, 7, 40)
    return x[:, ::2, :, 1::2] + x[::1, 1::2, :, ::2].transpose(0, 1, 2, 3)


def _transposed() -> Any:
    return values("float32", 300, 200).T + values("float32", 200, 300)


def _uneven_pack() -> Any:
    x = values("uint8", 100_003)
    return x + x


def _columns() -> Any:
    return values("float32", 3000, 70).sum(axis=0)


def _many_sums() -> Any:
    x = values("float32", 3000, 40)
    return mxnp.stack([x.sum(axis=1), x.max(axis=1), (x * x).sum(axis=1)])


def _scan() -> Any:
    return values("int32", 100, 2000).cumsum(axis=1)


def _products(dtype: str) -> Any:
    out = mxnp.ones(7, dtype)
    factors = mxnp.full(9000, 3, dtype)
    mxnp.multiply.at(out, values("int64", 9000) % 7, factors)
    return out


def _histogram() -> Any:
    bins = mxnp.zeros(7, "int32")
    mxnp.add.at(bins, values("int64", 20_000) % 7, 1)
    return bins


def _last_of_several() -> Any:
    a = mxnp.zeros(50, "float32")
    a[values("int64", 5000) % 50] = mxnp.arange(5000, dtype="float32")
    return a


def _updates_in_order() -> Any:
    a = mxnp.ones(50, "float32")
    mxnp.hypot.at(a, values("int64", 5000) % 50, values("float32", 5000))
    return a


def _gather() -> Any:
    x = values("float32", 1000)
    return x[values("int64", 20_000)]


def _mask() -> Any:
    x = values("float32", 50_000)
    return x[x > 20]


def _random() -> Any:
    return mxnp.random.Generator(mxnp.random.Philox(3)).random(50_001, "float32")


CALLS: dict[str, tuple[Callable[[], Any], int]] = {
    "a fused group": (_many_steps, 2**20),
    "four axes": (_four_axes, 2**17),
    "a transposed operand": (_transposed, 2**22),
    "packs": (_uneven_pack, 2**20),
    "sum of all": (lambda: values("float32", 2**17).sum(), 2**19),
    "sums of rows": (_many_sums, 2**20),
    "sums of columns": (_columns, 2**20),
    "searches": (lambda: values("float32", 3000, 50).argmax(axis=1), 2**20),
    "scans": (_scan, 2**20),
    "updates in copies": (_histogram, 2**21),
    "products in copies": (lambda: _products("int32"), 2**21),
    "contended updates": (lambda: _products("int16"), 2**25),
    "the last of several": (_last_of_several, 2**20),
    "updates in order": (_updates_in_order, 2**27),
    "gather": (_gather, 2**20),
    "searchsorted": (
        lambda: mxnp.searchsorted(mxnp.arange(900), values("int64", 9000)),
        2**21,
    ),
    "sort": (lambda: mxnp.sort(values("int32", 20_000)), 2**21),
    "rows of a sort": (lambda: mxnp.sort(values("int32", 50, 500)), 2**20),
    "argsort": (lambda: mxnp.argsort(values("int32", 9000), kind="stable"), 2**21),
    "mask": (_mask, 2**18),
    "random numbers": (_random, 2**19),
    "product": (lambda: values("int32", 200, 90) @ values("int32", 90, 150), 2**19),
    "products": (lambda: values("int32", 5, 50, 60) @ values("int32", 60, 70), 2**19),
}


@pytest.mark.parametrize("name", CALLS)
def test_parts_give_the_same_results(name: str) -> None:
    """A kernel above the limit is cut, and each part has at most that much work."""
    call, limit = CALLS[name]
    with no_reports():
        whole, dispatches, work = measure(call)
        with limited(limit):
            parts, more, same_work = measure(call)
    assert work > limit
    assert more > dispatches + 1
    assert same_work == work
    assert more <= 3 * (work / limit) + dispatches
    ours, theirs = numpy.asarray(parts), numpy.asarray(whole)
    assert ours.dtype == theirs.dtype
    assert ours.tobytes() == theirs.tobytes()


def test_a_division_of_integers_is_as_much_work_as_many_products() -> None:
    """A GPU has no instruction for it: the work of the others is that of memory."""
    x = values("int32", 50_000)
    products = measure(lambda: x * x)[2]
    quotients = measure(lambda: x // x)[2]
    floats = measure(lambda: x.astype("float32") // x.astype("float32"))[2]
    assert quotients - products > 500 * 50_000
    assert quotients > floats


@needs_metal
def test_command_buffers() -> None:
    """A command buffer has about as much work as one dispatch may have."""
    x = values("float32", 50_000)
    before = core.gpu_counts()
    with limited(2**20):
        measure(lambda: mxnp.sqrt(x) + 1)
    after = core.gpu_counts()
    n = after["dispatches"] - before["dispatches"]
    assert n > 5
    assert after["command_buffers"] - before["command_buffers"] >= n // 2


def test_conditions_of_all_parts() -> None:
    x = mxnp.ones(50_000, "float32")
    x[49_999] = 0
    with limited(2**20), pytest.warns(RuntimeWarning, match="divide by zero"):
        assert (1 / x)[49_999] == numpy.inf


def test_a_check_that_fails_in_one_part() -> None:
    x, y = values("float32", 1000), mxnp.zeros(50_000, "float32")
    places = mxnp.zeros(50_000, "int64")
    places[40_000] = 1000
    with limited(2**20), pytest.raises(IndexError, match="index 1000 is out of"):
        numpy.add(y, x[places], out=y).any()
    assert not y.any()


def test_one_item_above_the_limit() -> None:
    """A dispatch has at least one item, whatever its work is."""
    a = values("int32", 40, 40)
    with limited(1):
        product, dispatches, _ = measure(lambda: a @ a)
    assert dispatches == 4
    numpy.testing.assert_array_equal(product, numpy.asarray(a) @ numpy.asarray(a))


def test_the_same_kernel_without_a_cut() -> None:
    """Kernels below the limit have no arguments for an origin."""
    mxnp.synchronize()
    x = values("float32", 1000) * 3
    mxnp.synchronize()
    assert "mx_origin" not in core.gpu_text()
    with limited(2**12):
        y = values("float32", 1000) * 3
        mxnp.synchronize()
        assert "mx_origin" in core.gpu_text()
    numpy.testing.assert_array_equal(x, y)


# -- Estimates ----------------------------------------------------------------------------


def test_contention() -> None:
    """Updates of few elements count as more work than those of many."""
    indices = values("int64", 3000)
    work = {}
    for n in (1, 4, 60, 5000):
        bins = mxnp.zeros(n, "int16")  # 32-bit elements are updated in copies
        chosen = indices % n
        mxnp.synchronize()
        work[n] = measure(partial(mxnp.multiply.at, bins, chosen, 1))[2]
    assert work[1] >= 3.9 * work[4] >= 3.9 * 3.9 * work[60]
    assert work[60] == pytest.approx(work[5000], rel=0.01)
    assert work[1] >= 3000 * 2**20
    bins = mxnp.zeros(1, "int32")  # updated in copies, which do not wait
    mxnp.synchronize()
    assert measure(partial(mxnp.add.at, bins, indices % 1, 1))[2] < 3000 * 2**13


@needs_metal
@needs_host
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + x,
        lambda x: x[:, ::-1] * x,
        lambda x: x.max(axis=1),
        lambda x: x.max(axis=0),
        lambda x: x.max(),
        lambda x: x.argmax(axis=1),
        lambda x: x.copy(),
        lambda x: x[1:] - x[:1],
    ],
)
def test_bytes(call: Callable[[Any], Any], dtype: str) -> None:
    """The estimate counts the bytes that kernels move, and a little for arithmetic."""
    x = values(dtype, 300, 256)
    mxnp.synchronize()
    with no_reports(), count_costs() as costs:
        work = measure(lambda: call(x))[2]
    moved = BYTE * (costs["load_bytes"] + costs["store_bytes"])
    assert 0.8 * moved <= work <= 1.2 * moved + 2 * 8 * x.size


@needs_metal
@needs_host
def test_bytes_of_sorts_and_masks() -> None:
    x = values("int32", 20_000)
    mxnp.synchronize()
    for call in (lambda: mxnp.sort(x), lambda: x[x > 20]):
        with count_costs() as costs:
            work = measure(call)[2]
        moved = costs["load_bytes"] + costs["store_bytes"]
        assert BYTE * moved / 4 <= work <= BYTE * moved * 8
