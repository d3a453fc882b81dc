"""Test numbers of small arrays that wait: the queue runs, and no reduction is recorded."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from support.lanes import ON_GPU, needs_fusion

import mxnp
from mxnp import _bridge
from mxnp._engine import core
from mxnp._namespace.functions import ROWS

THRESHOLD = 1000
FACTOR = ROWS["ndarray.sum"].forms[0].threshold_factor
LARGE = THRESHOLD * FACTOR  # elements of an array in memory whose sum is recorded
SIZES = [THRESHOLD, LARGE - 1]

pytestmark = pytest.mark.skipif(ON_GPU, reason="a GPU has the elements")

NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda np, x: (x * 2).sum(),
    "function": lambda np, x: np.sum(x * 2),
    "max": lambda np, x: abs(x).max(),
    "min": lambda np, x: np.min(x - 1),
    "mean": lambda np, x: ((x - 1) ** 2).mean(),
    "var": lambda np, x: np.var(x * 3),
    "std": lambda np, x: (x * x + 1).std(),
    "argmax": lambda np, x: np.argmax(x * x),
    "argmin": lambda np, x: (x * x).argmin(),
}
ELEMENTWISE = {"multiply", "absolute", "subtract", "square", "add"}


@pytest.fixture(autouse=True)
def threshold() -> Iterator[None]:
    before = _bridge.set_threshold(THRESHOLD)
    mxnp.synchronize()
    yield
    _bridge.set_threshold(before)


def both(size: int, dtype: str = "f8") -> tuple[Any, Any]:
    values = (numpy.random.default_rng(size).standard_normal(size) * 9).astype(dtype)
    return mxnp.array(values), values


def ran() -> list[str]:
    """Return the operations of the last flush."""
    return [name for group in core.last_flush() for name in group.operations]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NUMBERS)
def test_the_number_is_not_recorded(name: str, size: int, dtype: str) -> None:
    x, values = both(size, dtype)
    found, expected = NUMBERS[name](mxnp, x), NUMBERS[name](numpy, values)
    assert {*ran()} <= ELEMENTWISE
    assert type(found) is type(expected)
    assert found.tobytes() == expected.tobytes()


@needs_fusion
def test_the_number_of_a_larger_array_is_recorded() -> None:
    x, values = both(LARGE)
    assert (x * 2).sum() == (values * 2).sum()
    assert ran() == ["multiply", "add.reduce"]


@needs_fusion
def test_an_extreme_that_is_not_computed_directly_is_recorded() -> None:
    _bridge.set_threshold(16384)
    x, values = both(2**17 + 1)
    assert (x * 2).max() == (values * 2).max()
    assert ran() == ["multiply", "maximum.reduce"]


@pytest.mark.parametrize(
    ("threads", "operations"), [(1, ["multiply"]), (2, ["maximum.reduce"])]
)
def test_threads_reduce_an_array_in_memory(threads: int, operations: list[str]) -> None:
    before = core.get_num_threads()
    core.set_num_threads(threads)
    try:
        x, values = both(THRESHOLD * ROWS["ndarray.max"].forms[0].threshold_factor)
        (x * 2).sum()
        assert x.max() == values.max()
        assert ran()[:1] == operations
    finally:
        core.set_num_threads(before)


@needs_fusion
@pytest.mark.parametrize("call", [lambda z: z.sum(), lambda z: z.any()])
def test_other_dtypes_are_recorded(call: Any) -> None:
    x, values = both(THRESHOLD, "i4")
    assert call(x * 2) == call(values * 2)
    assert ran() != ["multiply"]


BOOLS: dict[str, Callable[[Any, Any], Any]] = {
    "any": lambda np, x: (x > 30).any(),
    "all": lambda np, x: np.all(x < 30),
    "sum": lambda np, x: (x > 0.5).sum(),
    "mean": lambda np, x: np.mean(x > 0.5),
}


@pytest.mark.parametrize("size", [THRESHOLD * 8, THRESHOLD * 8 + 241])
@pytest.mark.parametrize("name", BOOLS)
def test_bools_are_reduced_in_memory(name: str, size: int) -> None:
    x, values = both(size)
    found, expected = BOOLS[name](mxnp, x), BOOLS[name](numpy, values)
    assert len(ran()) == 1
    assert type(found) is type(expected)
    assert found == expected


@pytest.mark.parametrize("size", [1, 239, 240, 241, 7_000])
@pytest.mark.parametrize("byte", [0, 1, 2, 128, 255])
def test_bytes_of_bools_count_once(byte: int, size: int) -> None:
    values = numpy.full(size, byte, "u1").view(bool)
    x = mxnp.full(size, byte, "u1").view(bool)
    mxnp.synchronize()
    for call in (lambda b: b.sum(), lambda b: b.mean()):
        assert type(call(x)) is type(call(values))
        assert call(x) == call(values)


def test_warnings_name_the_statement_that_met_the_condition() -> None:
    x = mxnp.zeros(THRESHOLD)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert (1.0 / x).sum() == numpy.inf
    assert [str(each.message) for each in caught] == [
        "divide by zero encountered in divide"
    ]
    assert caught[0].filename == __file__


def test_errors_are_raised() -> None:
    x = mxnp.zeros(THRESHOLD)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            (1.0 / x).sum()


def test_a_number_stays_lazy_in_fast_mode() -> None:
    x, values = both(THRESHOLD)
    mxnp.synchronize()
    with mxnp.mode("fast"):
        total = (x * 2).sum()
        assert _bridge.pending() > 1
    assert numpy.isclose(float(total), (values * 2).sum())
