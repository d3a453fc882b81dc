"""Test functions that NumPy composes in Python, of few numbers of float64."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.constants import constant

import mxnp

AXES = constant("python/direct/arrays.h", "DIRECT_NDIM")
NAN, INF = numpy.nan, numpy.inf

ONE: dict[str, Callable[[Any, Any], Any]] = {
    "diff": lambda np, x: np.diff(x),
    "median": lambda np, x: np.median(x),
    "norm": lambda np, x: np.linalg.norm(x),
    "prod": lambda np, x: np.prod(x),
    "x.prod": lambda np, x: x.prod(),
    "round": lambda np, x: np.round(x),
    "around": lambda np, x: np.around(x, 2),
    "x.round": lambda np, x: x.round(1),
    "round to 10": lambda np, x: np.round(x / 7, 10),
    "round to tens": lambda np, x: np.round(x, -1),
    "max": lambda np, x: np.linalg.norm(x, INF),
    "diff twice": lambda np, x: np.diff(x, 2),
    "of rows": lambda np, x: np.median(x, axis=-1),
}
TWO: dict[str, Callable[[Any, Any, Any], Any]] = {
    "allclose": lambda np, x, y: np.allclose(x, y),
    "cross": lambda np, x, y: np.cross(x, y),
    "isclose": lambda np, x, y: np.isclose(x, y),
    "isclose with limits": lambda np, x, y: np.isclose(x, y, 0.1, 0.2),
    "equal_nan": lambda np, x, y: np.allclose(x, y, equal_nan=True),
}
ROWS: dict[str, Any] = {
    "one": [2.5],
    "two": [0.25, -3.0],
    "three": [3.0, -1.0, 2.0],
    "even": [5.0, 1.0, 4.0, 2.0],
    "equal": [1.0, 1.0, 1.0, 1.0, 1.0],
    "many": (numpy.arange(101.0) * 37 % 101 - 50).tolist(),
    "zeros": [0.0, -0.0, 0.0, -0.0],
    "nan": [1.0, NAN, 3.0],
    "inf": [INF, 1.0, -INF],
    "large": [1e308, 1.7e308, 1.5e308],
    "tiny": [1e-320, 3e-320, 7e-320],
    "rows": [[1.0, 2.0, 4.0], [-3.0, 0.5, 8.0]],
    "none": [],
    "rows of none": [[], []],
    "most axes": numpy.ones((1,) * (AXES - 2) + (2, 3)).tolist(),
    "more axes": numpy.ones((1,) * (AXES - 1) + (2, 3)).tolist(),
}
DTYPES = ["f8", "f4", "i8", "?", "c16", ">f8"]
NUMBERS = [0, 1.0, True, 2**53, 2**70, None, numpy.float64(1.0), numpy.float32(1), 1j]


def found(np: Any, call: Callable[..., Any], *args: Any) -> Any:
    """Return the result with its type and layout, and the warnings, or the error."""
    own = [np.array(x, order="K") if type(x) is numpy.ndarray else x for x in args]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with numpy.errstate(all="warn"):
                out = call(np, *own)
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            return type(error), str(error)
    texts = [(w.category, str(w.message)) for w in caught]
    if not isinstance(out, numpy.ndarray):
        is_numpys = isinstance(out, numpy.generic)
        return type(out), out.tobytes() if is_numpys else out, texts
    layout = out.dtype, out.shape, out.strides, out.flags.owndata, out.base is None
    return layout, out.tobytes(), texts


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("call", ONE)
def test_functions_of_an_array(call: str, row: str, dtype: str) -> None:
    x = numpy.array(ROWS[row], "f8").astype(dtype)
    for each in (x, x[::-1], x.T, x[..., ::2], x[:0]):
        assert found(mxnp, ONE[call], each) == found(numpy, ONE[call], each)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("call", TWO)
def test_functions_of_two_arrays(call: str, row: str, dtype: str) -> None:
    x = numpy.array(ROWS[row], "f8").astype(dtype)
    y = x.copy()
    with numpy.errstate(all="ignore"):
        near = numpy.array(ROWS[row], "f8") * (1 + 1e-6)
    for pair in [(x, x), (x, y[::-1]), (x, near), (near, x), (x.T, y), (x, y[:1])]:
        assert found(mxnp, TWO[call], *pair) == found(numpy, TWO[call], *pair)


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("call", TWO)
def test_numbers_beside_arrays(call: str, number: Any) -> None:
    x = numpy.array([1.0, 1 + 1e-9, 2.0**53])
    for pair in [(x, number), (number, x), (number, number), (number, 1.0)]:
        assert found(mxnp, TWO[call], *pair) == found(numpy, TWO[call], *pair)


@pytest.mark.parametrize("decimals", [0, 1, 8, 9, 15, 22, 23, 40, 308, -3, 1.0, True])
def test_rounds_of_numbers(decimals: Any) -> None:
    x = numpy.array([0.5, 1.5, 2.675, -1e-5, 1234.56789, 1e300, -0.4])
    for call in (lambda np, x: np.round(x, decimals), lambda np, x: x.round(decimals)):
        assert found(mxnp, call, x) == found(numpy, call, x)


@pytest.mark.parametrize("num", [None, 0, 1, 2, 3, 50, 1000, -1, True, 5.0, 2**70])
@pytest.mark.parametrize(
    "ends",
    [
        (0, 1),
        (0.0, 1.0),
        (1, 0.1),
        (-0.0, -3),
        (2, 2),
        (0, 0.0),
        (1e308, -1e308),
        (NAN, 1),
        (0, INF),
        (2**53, 2**53 + 1),
        (2**70, 1),
        (True, 2),
        (numpy.float64(0.1), 0.7),
        (numpy.float32(0.1), 0.7),
        (1j, 2),
        ([0, 1], 2),
    ],
    ids=repr,
)
def test_numbers_between_two(ends: tuple[Any, Any], num: Any) -> None:
    more = () if num is None else (num,)
    call = lambda np: np.linspace(*ends, *more)  # noqa: E731
    assert found(mxnp, call) == found(numpy, call)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("row", ["rows", "most axes", "many", "nan", "inf"])
def test_averages(row: str, axis: int | None) -> None:
    def compute(np: Any, x: Any) -> Any:
        return np.average(x) if axis is None else np.average(x, axis)

    x = numpy.array(ROWS[row])
    assert found(mxnp, compute, x) == found(numpy, compute, x)


def test_arrays_that_wait() -> None:
    a = numpy.arange(40_000.0)
    x = mxnp.array(a)
    assert mxnp.linalg.norm((x * 2)[:5]) == numpy.linalg.norm((a * 2)[:5])
    assert mxnp.median((x + 1)[7:10]) == 9.0
    assert mxnp.allclose((x + 1)[:3], [1.0, 2.0, 3.0])
    small = x[:3]
    x += 1
    assert mxnp.cross(small, small[::-1]).tolist() == [-4.0, 8.0, -4.0]
