"""Test arguments that are elided: they are not written, and can still be used again."""

from __future__ import annotations

import functools
import gc
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from support.lanes import ON_CUDA, needs_fusion

import mxnp
from mxnp import _bridge
from mxnp._engine import core

SIZE = 150_000
NBYTES = SIZE * 8


@pytest.fixture(autouse=True)
def everything_is_recorded() -> Iterator[None]:
    before = _bridge.set_threshold(1000)
    mxnp.synchronize()
    yield
    _bridge.set_threshold(before)


def numbers() -> tuple[Any, numpy.ndarray]:
    values = numpy.random.default_rng(7).normal(size=SIZE)
    return mxnp.array(values), values


def written() -> int:
    return sum(group.bytes_written for group in core.last_flush())


@needs_fusion
@pytest.mark.parametrize(
    "reduce",
    [
        lambda xp, x, y: (x * y).sum(),
        lambda xp, x, y: xp.max(abs(x - y)),
        lambda xp, x, y: xp.sum((x - y) ** 2),
        lambda xp, x, y: (x > y).any(),
        lambda xp, x, y: xp.mean(x * 2 + y),
        lambda xp, x, y: xp.add.reduce(x * y),
        lambda xp, x, y: (x.reshape(100, -1) * 2).sum(axis=1)[3],
    ],
)
def test_a_temporary_is_not_written(reduce: Any) -> None:
    (x, a), (y, b) = numbers(), numbers()
    y, b = y + 1, b + 1
    mxnp.synchronize()
    numpy.testing.assert_allclose(reduce(mxnp, x, y), reduce(numpy, a, b), rtol=1e-12)
    assert written() <= 800
    assert _bridge.pending() == 0


@needs_fusion
@pytest.mark.parametrize(
    "reduce", [lambda x: mxnp.mean(x * 2), lambda x: (x * 2).mean()]
)
def test_lent_results_are_not_computed_for_other_writes(reduce: Any) -> None:
    """The mean divides its total in place, without computing the argument."""
    x, _ = numbers()
    reduce(x)
    (group,) = core.last_flush()
    assert group.operations[-1] == "add.reduce"


@pytest.mark.parametrize("dtype", ["F", "D"])
def test_numpy_may_read_a_lent_result(dtype: str) -> None:
    """The cast to bool of complex numbers is NumPy's, in the middle of the call."""
    a = numpy.random.default_rng(5).integers(-1, 2, (300, 200)).astype(dtype)
    x = mxnp.array(a)
    for _ in range(3):
        assert mxnp.count_nonzero(x * 1) == numpy.count_nonzero(a)
        ours = mxnp.count_nonzero(x * 1, axis=1)
        numpy.testing.assert_array_equal(ours, numpy.count_nonzero(a, axis=1))


def test_named_results_are_written_once() -> None:
    x, a = numbers()
    y = x * 2
    assert float(y.max()) == float((a * 2).max())
    assert written() >= NBYTES
    assert _bridge.pending() == 0
    assert (y.__array__() == a * 2).all()


@pytest.fixture
def kept() -> tuple[Any, Any, numpy.ndarray]:
    """
    Return a call whose argument looks like a temporary although it is used again.

    The partial object holds the array and passes it on, so its reference count during the
    call is that of a temporary.
    """
    x, a = numbers()
    call = functools.partial(mxnp.sum, (x * 3 + 1) * x)
    assert call(None) == pytest.approx(((a * 3 + 1) * a).sum())
    return call, x, (a * 3 + 1) * a


def test_it_can_be_used_again(kept: Any) -> None:
    call, _, expected = kept
    assert call(None) == pytest.approx(expected.sum())
    assert (call.args[0].__array__() == expected).all()
    assert call(None) == pytest.approx(expected.sum())


def test_synchronize_writes_it(kept: Any) -> None:
    call, _, expected = kept
    mxnp.synchronize()
    assert _bridge.pending() == 0
    assert (call.args[0].__array__() == expected).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.__iadd__(1),
        lambda x: x.fill(0),
        lambda x: x.__setitem__(slice(5), 0),
        lambda x: x.__setitem__(3, 0),
        lambda x: x.sort(),
        lambda x: numpy.copyto(x.__array__(), 0),
        lambda x: mxnp.multiply(x, 0, out=x),
        lambda x: memoryview(x).cast("B").cast("d").__setitem__(0, 0.0),
    ],
)
def test_operands_of_a_lent_result_may_change(change: Any, kept: Any) -> None:
    call, x, expected = kept
    change(x)
    assert (call.args[0].__array__() == expected).all()
    assert call(None) == pytest.approx(expected.sum())


def test_operands_of_a_lent_result_may_change_in_its_pass() -> None:
    x, values = numbers()
    call = functools.partial(mxnp.sum, x * 5)
    x += 1
    assert call(None) == pytest.approx((values * 5).sum())
    numpy.testing.assert_array_equal(call.args[0], values * 5)
    numpy.testing.assert_array_equal(x, values + 1)


@pytest.mark.slow
def test_operands_of_a_lent_result_may_be_deleted(kept: Any) -> None:
    call, _, expected = kept
    del kept
    gc.collect()
    y = mxnp.zeros(SIZE) + 1
    assert (y.__array__() == 1).all()
    assert (call.args[0].__array__() == expected).all()


def test_it_may_change(kept: Any) -> None:
    call, _, expected = kept
    array = call.args[0]
    array += 1
    assert (array.__array__() == expected + 1).all()
    array[::2] = 0
    assert call(None) == pytest.approx((expected + 1)[1::2].sum())


def test_it_goes_into_more(kept: Any) -> None:
    call, x, expected = kept
    before = x.__array__().copy()
    assert call(None) == pytest.approx(expected.sum())
    y = call.args[0] * 2 + x
    x += 1
    assert (y.__array__() == expected * 2 + before).all()


@pytest.mark.slow
@needs_fusion
@pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="Python tells that it is no temporary"
)
def test_nothing_is_held_when_it_goes(kept: Any) -> None:
    call, x, _ = kept
    mxnp.synchronize()
    gc.collect()
    before = core.memory_info()["in_use"]
    call = functools.partial(mxnp.sum, x * 5)
    call(None)
    assert _bridge.pending() > 0
    del call
    assert _bridge.pending() == 0
    assert core.memory_info()["in_use"] == before


@needs_fusion
@pytest.mark.skipif(ON_CUDA, reason="the operands are in the GPU's memory")
def test_operands_are_returned_when_it_goes() -> None:
    x = numbers()[0] + 1
    mxnp.synchronize()
    call = functools.partial(mxnp.sum, x * 5)
    call(None)
    before = core.memory_info()["in_use"]
    del call, x
    mxnp.synchronize()
    assert core.memory_info()["in_use"] <= before - NBYTES


def test_conditions_are_reported_once() -> None:
    x, _ = numbers()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call = functools.partial(mxnp.max, mxnp.log(x))
        call(None)
        call(None)
        assert numpy.isnan(call.args[0].__array__()).any()
    assert [str(each.message) for each in found] == ["invalid value encountered in log"]


def test_a_failing_call_lends_nothing() -> None:
    x, a = numbers()
    call = functools.partial(mxnp.sum, x * 2, keepdims=False)
    with pytest.raises(numpy.exceptions.AxisError):
        call(5)
    assert (call.args[0].__array__() == a * 2).all()


def test_in_many_threads() -> None:
    x, a = numbers()
    shared = functools.partial(mxnp.sum, x * 2 + 1)
    expected = (a * 2 + 1).sum()
    wrong: list[Any] = []

    def work(number: int) -> None:
        own = x + number
        for _ in range(30):
            found = [(own * x).sum(), shared(None), mxnp.sum(abs(own)), shared(None)]
            if not numpy.allclose(
                found,
                [((a + number) * a).sum(), expected, abs(a + number).sum(), expected],
            ):
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert (shared.args[0].__array__() == a * 2 + 1).all()
