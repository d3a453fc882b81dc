"""Test updates of few elements, in copies, and assignments of rows, on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.metal import launches, needs_gpu, no_reports

import mxnp
from mxnp import _bridge
from mxnp._engine import core
from mxnp._engine.devices import GPU

pytestmark = [needs_gpu, pytest.mark.usefixtures("on_metal", "compiles")]

N = 9000  # enough updates for copies


@pytest.fixture
def compiles() -> Any:
    """Assert that the device's compiler rejects no kernel, and its emulator no access."""
    before = core.gpu_counts()["rejected"]
    with no_reports():
        yield
    assert core.gpu_counts()["rejected"] == before, core.gpu_rejection()


def has(dtype: str) -> bool:
    return dtype in core.gpu().types


def owned(x: numpy.ndarray) -> Any:
    """Copy numbers to memory to which the device can write."""
    out = mxnp.empty(x.shape, x.dtype)
    out[...] = x
    return out


def update(name: str, a: numpy.ndarray, key: Any, values: Any) -> Any:
    """Return NumPy's and our result of an update."""
    expected, ours = a.copy(), owned(a)
    getattr(numpy, name).at(expected, key, values)
    operand = mxnp.array(values) if isinstance(values, numpy.ndarray) else values
    getattr(mxnp, name).at(ours, mxnp.array(key), operand)
    mxnp.synchronize()
    return expected, ours


def assert_same_bits(ours: Any, theirs: numpy.ndarray) -> None:
    assert numpy.asarray(ours).dtype == theirs.dtype
    assert numpy.asarray(ours).tobytes() == theirs.tobytes()


# -- Copies of few elements ------------------------------------------------------------

SUMS = ("add", "subtract")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
INTEGERS = ("int8", "uint16", "int32", "int64", "uint64")
CASES = [(name, dtype) for name in SUMS for dtype in INTEGERS]
CASES += [
    (name, dtype)
    for name in ("maximum", "minimum", *BITS)
    for dtype in ("int32", "uint64")
]


def is_copied(dtype: str) -> bool:
    return has(dtype) and (GPU == "cuda" or numpy.dtype(dtype).itemsize <= 4)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_integers(name: str, dtype: str) -> None:
    chance, limits = numpy.random.default_rng(7), numpy.iinfo(dtype)
    for slots in (1, 300):
        numbers = chance.integers(
            limits.min, limits.max, N + slots, dtype, endpoint=True
        )
        places = chance.integers(-slots, slots, N)
        for values in (numbers[slots:], numpy.array([3], dtype)):
            expected, ours = update(name, numbers[:slots], places, values)
            assert not is_copied(dtype) or "mx_copy_" in core.gpu_text()
            assert_same_bits(ours, expected)


FLOATS = ("float32", "float64", "complex64", "complex128")


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(name: str, dtype: str) -> None:
    """Sums of small integers are exact, in any order."""
    if not has(dtype):
        pytest.skip("the device has no such dtype")
    chance = numpy.random.default_rng(7)
    for slots in (1, 300, 7000):
        a = chance.integers(-9, 9, slots).astype(dtype)
        values = chance.integers(-9, 9, N).astype(dtype)
        if dtype.startswith("c"):
            values += 1j * chance.integers(-9, 9, N)
        expected, ours = update(name, a, chance.integers(-slots, slots, N), values)
        assert ("mx_copy_" in core.gpu_text()) == (slots < 7000 and is_copied(dtype))
        numpy.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint32", "int64"])
@pytest.mark.parametrize("slots", [1, 300, 7000])
def test_products(dtype: str, slots: int) -> None:
    """Products of few powers of two are exact, in any order."""
    if not has(dtype):
        pytest.skip("the device has no such dtype")
    chance = numpy.random.default_rng(7)
    a, places = numpy.full(slots, 3, dtype), chance.integers(-slots, slots, N)
    factors = [2, 1] if dtype[0] == "u" else [2, -1]
    values = numpy.ones(N, dtype)
    values[: N // 50] = chance.choice(factors, N // 50)
    special = {"f": [0.0, -0.0, numpy.inf], "i": [0], "u": [0]}[dtype[0]]
    for last in (1, *special):
        values[-1] = last
        with numpy.errstate(invalid="ignore"):
            expected, ours = update("multiply", a, places, values)
        is_here = slots < 7000 and is_copied(dtype)
        assert ("mx_copy_multiply" in core.gpu_text()) == is_here
        assert_same_bits(ours, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("slots", [1, 300, 4000])
def test_products_of_values_that_are_not_numbers(dtype: str, slots: int) -> None:
    """The products with an element are numbers, whatever their order."""
    if not has(dtype):
        pytest.skip("the device has no such dtype")
    great = int(0.7 * numpy.finfo(dtype).maxexp)
    for sign in (1, -1):
        for apart in (1, 32, 257, N // 3 - 1):
            a = numpy.full(slots, 2.0 ** (-sign * great), dtype)
            values = numpy.ones(N, dtype)
            values[: 3 * apart : apart] = [-(2.0 ** (sign * great)), 2.0**sign, 1]
            values[2 * apart] = 2.0 ** (sign * (great - 2))
            expected, ours = update("multiply", a, numpy.arange(N) // N, values)
            assert numpy.isfinite(expected[0])
            assert_same_bits(ours, expected)


@pytest.mark.parametrize("name", [*SUMS, "multiply", "maximum", "minimum", "fmax"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("slots", [3, 5000])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_nan(name: str, dtype: str, slots: int) -> None:
    """A NaN in the memory or among the updates never stops the others from ending."""
    if not has(dtype):
        pytest.skip("the device has no such dtype")
    chance = numpy.random.default_rng(7)
    nan = numpy.array([numpy.nan, -numpy.nan], dtype)
    for of_memory, of_values in ((1, 0), (0, 50), (1, 50)):
        a, values = numpy.ones(slots, dtype), numpy.ones(N, dtype)
        a[chance.integers(0, slots, of_memory)] = nan[1]
        values[chance.integers(0, N, of_values)] = nan[of_memory]
        expected, ours = update(name, a, chance.integers(0, slots, N), values)
        if dtype == "float16" and slots < 5000 and name in SUMS:
            expected, ours = numpy.isnan(expected), numpy.isnan(numpy.asarray(ours))
        numpy.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_signs_of_zeros(dtype: str) -> None:
    """Elements without updates, and sums of zeros, keep their sign."""
    if not has(dtype):
        pytest.skip("the device has no such dtype")
    zeros = numpy.zeros(N // 2, dtype)
    a = numpy.array([-0.0, 0.0, -0.0, 0.0, -0.0, 0.0], dtype)
    for name in SUMS:
        key = numpy.arange(N // 2) % 4
        for values in (zeros, -zeros, numpy.where(key % 2, zeros, -zeros)):
            expected, ours = update(name, a, key, values.astype(dtype))
            assert_same_bits(ours, expected)


@pytest.mark.skipif(GPU == "metal", reason="Metal makes subnormal numbers zero")
@pytest.mark.parametrize("slots", [3, 5000])
def test_subnormal_numbers(slots: int) -> None:
    """CUDA's addition of float32 in the memory of the device loses them."""
    least = numpy.finfo("float32").smallest_subnormal
    chance = numpy.random.default_rng(7)
    places = chance.integers(0, slots, N)
    a = (chance.integers(0, 9, slots) * least).astype("float32")
    values = (chance.integers(-9, 9, N) * least).astype("float32")
    for name in SUMS:
        expected, ours = update(name, a, places, values)
        assert_same_bits(ours, expected)
    # The numbers from which on the operation of the device is used.
    a = numpy.full(slots, least * 3, "float32")
    for value in (2.0**-100, 2.0**-101, 2.0**-110, -(2.0**-100), 0.0):
        key = numpy.arange(3)
        expected, ours = update("add", a, key, numpy.full(3, value, "float32"))
        assert_same_bits(ours, expected)


def test_elements_between_those_of_a_view() -> None:
    chance = numpy.random.default_rng(7)
    a = chance.integers(-9, 9, (40, 6)).astype("int32")
    places, values = chance.integers(-40, 40, N), chance.integers(-9, 9, N, "int32")
    views: list[Callable[[Any], Any]] = [
        lambda x: x[:, 2],
        lambda x: x[::-1, 4],
        lambda x: x[::-1].T[1],
    ]
    for view in views:
        expected, ours = a.copy(), owned(a)
        numpy.add.at(view(expected), places, values)
        mxnp.add.at(view(ours), mxnp.array(places), mxnp.array(values))
        numpy.testing.assert_array_equal(ours, expected)
        assert "mx_copy_" in core.gpu_text()


def test_rows_and_values_for_all() -> None:
    chance = numpy.random.default_rng(7)
    a = chance.integers(-9, 9, (7, 12)).astype("int32")
    places = chance.integers(-7, 7, 2000)
    for values in (
        chance.integers(-9, 9, (2000, 12)).astype("int32"),
        chance.integers(-9, 9, 12).astype("int32"),
        numpy.int32(3),
    ):
        expected, ours = update("add", a, places, values)
        assert "mx_copy_" in core.gpu_text()
        numpy.testing.assert_array_equal(ours, expected)


def test_no_updates() -> None:
    expected, ours = update("add", numpy.ones(5, "f4"), numpy.zeros(0, int), 1)
    numpy.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("mode", ["drop", "clip", "wrap"])
def test_modes(mode: str) -> None:
    places = numpy.resize(numpy.arange(-65, 66), N)
    ours = mxnp.zeros(30, "int32").at[mxnp.array(places)].add(1, mode=mode)
    mxnp.synchronize()
    assert "mx_copy_" in core.gpu_text()
    expected = numpy.zeros(30, "int32")
    wrapped = numpy.where(places < 0, places + 30, places)
    if mode == "drop":
        numpy.add.at(expected, wrapped[(wrapped >= 0) & (wrapped < 30)], 1)
    else:
        moved = wrapped.clip(0, 29) if mode == "clip" else places % 30
        numpy.add.at(expected, moved, 1)
    numpy.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("name", ["add", "set"])
def test_an_index_out_of_bounds(name: str) -> None:
    """Nothing is written, whether the indices are known or computed."""
    a = numpy.arange(8, dtype="int32")
    places = numpy.arange(N) % 8
    places[70] = 8
    ours = owned(a)
    known, computed = mxnp.array(places), mxnp.array(places - 1) + 1
    values = mxnp.array(numpy.arange(N, dtype="int32"))

    def write(key: Any) -> None:
        if name == "add":
            mxnp.add.at(ours, key, values)
        else:
            ours[key] = values
        mxnp.synchronize()

    for key in (known, computed):
        with pytest.raises(IndexError, match="index 8 is out of bounds"):
            write(key)
        numpy.testing.assert_array_equal(ours, a)


def test_small_arrays_of_numpy() -> None:
    """A copy of them is updated on the device if there are many updates."""
    chance = numpy.random.default_rng(7)
    places = chance.integers(-40, 40, 70_000)
    values = chance.integers(-9, 9, 70_000).astype("int32")
    key, operand = mxnp.array(places), mxnp.array(values)
    _bridge.set_threshold(2**14)
    expected = numpy.arange(40, dtype="int32")
    numpy.add.at(expected, places, values)
    ours = mxnp.arange(40, dtype="int32")
    _, count = launches(lambda: mxnp.add.at(ours, key, operand))
    assert count > 0
    numpy.testing.assert_array_equal(ours, expected)
    expected[places] = values
    _, count = launches(lambda: ours.__setitem__(key, operand))
    assert count > 0
    numpy.testing.assert_array_equal(ours, expected)
    mxnp.add.at(ours, key + (key == 39), operand)
    with pytest.raises(IndexError, match="index 40 is out of bounds"):
        mxnp.synchronize()
    numpy.testing.assert_array_equal(ours, expected)
    ours.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ours[key] = operand
    numpy.testing.assert_array_equal(ours, expected)


# -- Assigned rows ---------------------------------------------------------------------

SHAPES: dict[str, tuple[tuple[int, ...], Callable[[Any, Any, Any], Any]]] = {
    "rows": ((50, 8), lambda i, j, xp: (i % 50,)),
    "negative": ((50, 8), lambda i, j, xp: (i % 50 - 50,)),
    "rows of five": ((50, 5), lambda i, j, xp: (i % 50,)),
    "columns": ((8, 50), lambda i, j, xp: (slice(None), i % 50)),
    "cells": ((9, 7, 8), lambda i, j, xp: (i % 9, j % 7)),
    "planes": ((9, 4, 8), lambda i, j, xp: (i % 9,)),
    "across": ((9, 4, 8), lambda i, j, xp: (slice(None), i % 4)),
    "parts": ((9, 12), lambda i, j, xp: (i % 9, slice(1, 9))),
    "backwards": ((9, 12), lambda i, j, xp: (i % 9, slice(None, None, -1))),
    "many": ((5000, 4), lambda i, j, xp: (i * 7 % 5000,)),
    "two axes": ((40, 4), lambda i, j, xp: (i.reshape(-1, 10) % 40,)),
    "few of many": ((60_000, 4), lambda i, j, xp: (i * 7 % 60_000,)),
    "elements": ((40,), lambda i, j, xp: (i % 40 - 20,)),
    "many elements": ((5000,), lambda i, j, xp: (i % 5000,)),
    "few of many elements": (
        (60_000,),
        lambda i, j, xp: (i.reshape(-1, 10) % 60_000,),
    ),
    "elements of two axes": (
        (50, 60),
        lambda i, j, xp: (i.reshape(-1, 10) % 50, j.reshape(-1, 10) % 60),
    ),
    "elements of a view": ((40, 30), lambda i, j, xp: (i % 40, 7)),
    "four axes": ((5, 3, 4, 6), lambda i, j, xp: (i % 5, slice(None), j % 4)),
    "one row": ((40, 30), lambda i, j, xp: (i[:1] % 40,)),
    "one row of two axes": (
        (3, 2, 5, 6),
        lambda i, j, xp: (i[:1].reshape(1, 1) % 3, j[:1].reshape(1, 1) % 2),
    ),
}


@pytest.mark.parametrize("case", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_the_last_row_is_assigned(case: str, dtype: str) -> None:
    chance = numpy.random.default_rng(7)
    shape, key_of = SHAPES[case]
    i, j = chance.integers(0, 10**6, (2, 3000))
    a = numpy.zeros(shape, dtype)
    key = key_of(i, j, numpy)
    where = tuple(
        mxnp.array(each) if isinstance(each, numpy.ndarray) else each for each in key
    )
    selected = a[key].shape
    for size, kind in ((selected, dtype), (selected, "int16"), (selected[1:], dtype)):
        given = chance.integers(0, 200, size).astype(kind)
        expected, ours = a.copy(), owned(a)
        expected[key] = given
        before = core.gpu_counts()["declined"]
        ours[where] = mxnp.array(given)
        mxnp.synchronize()
        assert core.gpu_counts()["declined"] == before
        numpy.testing.assert_array_equal(ours, expected)


def test_rows_that_overlap() -> None:
    """The last value is that of an element, which several rows have."""
    strided = numpy.lib.stride_tricks.as_strided
    a = numpy.zeros(60, "int32")
    i = numpy.arange(57)[::-1].repeat(20)
    values = numpy.arange(i.size, dtype="int32")
    expected, ours = a.copy(), owned(a)
    for x, key, v in ((expected, i, values), (ours, mxnp.array(i), mxnp.array(values))):
        rows = (strided if x is expected else mxnp.lib.stride_tricks.as_strided)(
            x, (57, 4), (4, 4)
        )
        rows[key] = v[:, None] + (numpy if x is expected else mxnp).zeros(4, "int32")
    numpy.testing.assert_array_equal(ours, expected)
