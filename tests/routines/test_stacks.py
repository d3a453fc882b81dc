"""Test products of small matrices and of stacks of them, which have kernels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest
from support.constants import constant

import mxnp
from mxnp import _bridge

SIDE = constant("cpu/kernels/product_kernels.h", "MX_MOST_SIDE")
CHUNK = constant("cpu/kernels/products.c", "CHUNK")
LEAST = constant("cpu/kernels/products.c", "LEAST")
DTYPES = ["f4", "f8", "e", "c16", "i8"]


def numbers(dtype: str, *shape: int) -> Any:
    rng = numpy.random.default_rng(7)
    wide = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 3, shape)
    return (wide if dtype != "i8" else wide * 100).astype(dtype)


def results(xp: Any, a: Any, b: Any) -> list[Any]:
    """Return what the product is and warns of, by the operator and the function."""
    x, y = (a, b) if xp is numpy else (xp.array(a, order="K"), xp.array(b, order="K"))
    found = []
    for multiply in (lambda: x @ y, lambda: xp.matmul(x, y)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with numpy.errstate(all="warn"):
                out = multiply()
        where = numpy.isnan(out)
        bits = numpy.where(where, numpy.nan, numpy.asarray(out)).tobytes()
        texts = [(w.category, str(w.message)) for w in caught]
        found.append((out.shape, out.dtype, out.strides, bits, texts))
    return found


@pytest.mark.parametrize("columns", [1, 2, 3, 5, SIDE, SIDE + 1])
@pytest.mark.parametrize("inner", [1, 2, 7, SIDE, SIDE + 1])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, SIDE, SIDE + 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_of_products(dtype: str, rows: int, inner: int, columns: int) -> None:
    a, b = numbers(dtype, 3, rows, inner), numbers(dtype, 3, inner, columns)
    turned = numpy.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2)
    turned_b = numpy.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
    for x, y in [(a, b), (turned, b), (a, turned_b), (turned, turned_b)]:
        for pair in [(x, y), (x[0], y[0]), (x[0], y), (x, y[0]), (x[:1], y)]:
            assert results(mxnp, *pair) == results(numpy, *pair)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("more", [-1, 0, 1, 2 * CHUNK // LEAST + 1])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_stacks_of_many_matrices(dtype: str, more: int, threads: int) -> None:
    before = mxnp.get_num_threads()
    mxnp.set_num_threads(threads)
    try:
        n = CHUNK // LEAST + more
        a, b = numbers(dtype, n, 3, 3), numbers(dtype, n, 3, 2)
        assert results(mxnp, a, b) == results(numpy, a, b)
    finally:
        mxnp.set_num_threads(before)


@pytest.mark.parametrize(
    "change",
    [
        lambda xp, a: a[:, ::-1],
        lambda xp, a: a[..., ::-1],
        lambda xp, a: a[::2],
        lambda xp, a: a[::-1],
        lambda xp, a: a[:, ::2],
        lambda xp, a: a[..., ::2],
        lambda xp, a: xp.broadcast_to(a[0], a.shape),
        lambda xp, a: xp.broadcast_to(a[:, :1], a.shape),
        lambda xp, a: a.reshape(2, 3, 4, 4),
        lambda xp, a: a.reshape(2, 3, 4, 4).swapaxes(0, 1),
        lambda xp, a: a.reshape(6, 1, 4, 4),
        lambda xp, a: a.astype(a.dtype.newbyteorder()),
        lambda xp, a: a[:0],
        lambda xp, a: a[..., :0],
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_layouts(dtype: str, change: Any) -> None:
    a = numbers(dtype, 6, 4, 4)
    found: list[list[Any]] = []
    for xp in (numpy, mxnp):
        x, y = change(xp, xp.array(a)), change(xp, xp.array(a[::-1] + 1))
        pairs = [
            (x, y.swapaxes(-1, -2)),
            (y.swapaxes(-1, -2), x),
            (x, x.swapaxes(-1, -2)),
        ]
        products = [product for x, y in pairs for product in (x @ y, xp.matmul(x, y))]
        found.append([(p.shape, p.strides, p.dtype, p.tobytes()) for p in products])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "shapes",
    [
        [(4, 3, 3), (3, 3, 3)],
        [(2, 3, 3, 3), (3, 2, 3, 3)],
        [(4, 3, 2), (4, 3, 2)],
        [(4, 3, 3), (3, 4)],
        [(2, 1, 3, 3), (1, 3, 3, 3)],
        [(2, 3, 3, 3), (3, 3, 3)],
        [(1, 1, 3, 3), (5, 3, 3)],
        [(3,), (5, 3, 3)],
        [(5, 3, 3), (3,)],
    ],
    ids=str,
)
def test_shapes(shapes: list[tuple[int, ...]]) -> None:
    a, b = (numbers("f8", *shape) for shape in shapes)
    outcomes = []
    for xp in (numpy, mxnp):
        try:
            outcomes.append(results(xp, a, b))
        except ValueError as error:
            outcomes.append([str(error)])
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_matrix_and_its_transpose_in_one_stack(dtype: str) -> None:
    """BLAS computes one half of a product of a matrix and its transpose."""
    a = numbers(dtype, 5, 7, 7)
    x = mxnp.array(a)
    for other, same in [(a, x), (a[2], x[2]), (a[::-1], x[::-1])]:
        for left, right in [
            ((same, x.swapaxes(1, 2)), (other, a.swapaxes(1, 2))),
            ((x.swapaxes(1, 2), same), (a.swapaxes(1, 2), other)),
        ]:
            expected = right[0] @ right[1]
            assert (left[0] @ left[1]).tobytes() == expected.tobytes()
            assert mxnp.matmul(*left).tobytes() == expected.tobytes()


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-0.0", "1e308", "1e-320"])
@pytest.mark.parametrize("place", [0, 1, 5])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_values_that_numpy_warns_of(dtype: str, place: int, value: str) -> None:
    a, b = numbers(dtype, 2, 3, 3), numbers(dtype, 2, 3, 3)
    a[1].flat[place] = numpy.array(value, "f8").astype(dtype)
    b[1].flat[place] = numpy.array(value, "f8").astype(dtype)
    b[0, 0] = 0.0
    for pair in [(a, b), (b, a), (a[1], b[1])]:
        assert results(mxnp, *pair) == results(numpy, *pair)


def test_arrays_of_numpy_and_arrays_that_wait() -> None:
    a = numbers("f8", 2000, 3, 3)
    x = mxnp.array(a)
    expected = ((a + 1) @ (a * 2)).tobytes()
    assert ((x + 1) @ (x * 2)).tobytes() == expected
    assert mxnp.matmul(x + 1, x * 2).tobytes() == expected
    assert ((a + 1) @ (x * 2)).tobytes() == expected
    assert mxnp.matmul(x + 1, a * 2).tobytes() == expected
    found = _bridge.multiply_stacks(x + 1, a * 2)
    assert found is NotImplemented or found.tobytes() == expected


def test_what_is_no_stack_of_small_matrices() -> None:
    x = mxnp.ones((4, 3, 3))
    for other in (1.0, None, [[1.0]], mxnp.ones(3), mxnp.ones((4, 3, 3), "i8")):
        assert _bridge.multiply_stacks(x, other) is NotImplemented
        assert _bridge.multiply_stacks(other, x) is NotImplemented
