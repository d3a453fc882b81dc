"""Functions that are several kernels: sort, argsort, products of matrices."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import pytest
from on_metal import needs_metal

import mxnp
from mxnp import _bridge, _lib

pytestmark = needs_metal


@pytest.fixture(autouse=True)
def on_metal() -> Any:
    before = _bridge.set_threshold(0)
    with mxnp.device("metal"):
        yield
    _bridge.set_threshold(before)


def dispatches() -> int:
    mxnp.synchronize()
    return _lib.metal_counts()["dispatches"]


def integers(dtype: str, *shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(len(shape)).integers(0, 50, shape).astype(dtype)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int64", "uint16", "float16", "float32"]
)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sorts(dtype: str, axis: int) -> None:
    x = integers(dtype, 20, 300)
    given, before = mxnp.array(x), dispatches()
    ours = mxnp.sort(given, axis)
    assert dispatches() > before
    numpy.testing.assert_array_equal(ours, numpy.sort(x, axis))
    numpy.testing.assert_array_equal(given, x)
    given.sort(axis)
    numpy.testing.assert_array_equal(given, numpy.sort(x, axis))
    before = dispatches()
    places = mxnp.argsort(given * 0 + mxnp.array(x), axis, kind="stable")
    assert dispatches() > before
    numpy.testing.assert_array_equal(places, numpy.argsort(x, axis, kind="stable"))


def test_sorts_numbers_that_are_special() -> None:
    x = numpy.array(
        [numpy.nan, 3, -numpy.inf, 0, numpy.inf, 1e-40, numpy.nan, -1], "f4"
    )
    numpy.testing.assert_array_equal(mxnp.sort(mxnp.array(x)), numpy.sort(x))
    rows = numpy.ascontiguousarray(x[::-1].reshape(2, 4).T)
    numpy.testing.assert_array_equal(mxnp.sort(mxnp.array(rows).T), numpy.sort(rows.T))


def outcome(call: Any) -> Any:
    """Give what a call gives, or its error."""
    try:
        return numpy.asarray(call()).tolist()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("axis", [None, 5, 1.5])
def test_what_numpy_says_of_axes(axis: Any) -> None:
    x = integers("int32", 3, 4)
    expected = outcome(lambda: numpy.sort(x, axis))
    assert outcome(lambda: mxnp.sort(mxnp.array(x), axis)) == expected


def test_the_order_of_an_unstable_sort_is_numpys() -> None:
    x, before = integers("int32", 5000), dispatches()
    numpy.testing.assert_array_equal(mxnp.argsort(mxnp.array(x)), numpy.argsort(x))
    assert dispatches() == before


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint32"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((70, 90), (90, 33)), ((3, 70, 90), (3, 90, 33)), ((70, 90), (3, 90, 33))],
)
def test_products(dtype: str, left: Any, right: Any) -> None:
    a, b = integers(dtype, *left) % 5, integers(dtype, *right) % 5
    for product in (operator.matmul, mxnp.matmul):
        before = dispatches()
        ours = product(mxnp.array(a), mxnp.array(b))
        assert dispatches() > before
        numpy.testing.assert_array_equal(ours, a @ b)
    turned = mxnp.array(numpy.ascontiguousarray(b.swapaxes(-1, -2))).swapaxes(-1, -2)
    numpy.testing.assert_array_equal(mxnp.array(a) @ turned, a @ b)


def test_a_product_of_recorded_matrices() -> None:
    a = integers("float32", 50, 60)
    x = mxnp.array(a) + 1
    y = x @ x.T
    y += 1
    numpy.testing.assert_array_equal(y, (a + 1) @ (a + 1).T + 1)


@pytest.mark.parametrize("other", [(89, 33), (90,), ()])
def test_what_numpy_says_of_shapes(other: tuple[int, ...]) -> None:
    a, b = integers("float32", 70, 90), numpy.ones(other, "f4")
    expected = outcome(lambda: a @ b)
    assert outcome(lambda: mxnp.array(a) @ mxnp.array(b)) == expected


def test_doubles_are_numpys() -> None:
    a, before = numpy.ones((60, 60)), dispatches()
    numpy.testing.assert_array_equal(mxnp.array(a) @ mxnp.array(a), a @ a)
    assert dispatches() == before
