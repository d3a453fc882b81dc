"""Compare reductions of arrays in memory, which are computed immediately, with NumPy's bits."""

from __future__ import annotations

import os
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.constants import constant
from support.same import assert_same

import mxnp

pytestmark = pytest.mark.skipif(
    os.environ.get("MXNP_THRESHOLD") == "0", reason="all operations are recorded"
)

FUNCTIONS = ["sum", "mean", "var", "std", "cumsum", "max", "min"]
SHAPES: list[tuple[int, ...]] = [
    (1,), (7,), (129,), (1_000,), (30_001,),
    (1, 1), (1, 9), (9, 1), (3, 4), (17, 33), (40, 129), (5, 1_000), (300, 7), (130, 257),
    (4, 3, 5), (2, 1, 6),
]  # fmt: skip

VALUES: dict[str, Callable[[Any], Any]] = {
    "usual": lambda x: x,
    "large": lambda x: x * 1e30,
    "infinities": lambda x: numpy.where(x > 2, numpy.inf, x),
    "nan": lambda x: numpy.where(x > 2, numpy.nan, x),
    "zeros": lambda x: numpy.where(x > 0, 0.0, -0.0),
}


def outcomes(xp: types.ModuleType, x: Any, function: str) -> list[Any]:
    """Return the results of a function along each axis, and the warnings."""
    found: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for axis in (None, *range(-x.ndim, x.ndim)):
            found.append(getattr(xp, function)(x, axis=axis))
            found.append(getattr(x, function)(axis=axis))
        found += [getattr(x, function)(), getattr(xp, function)(x)]
        mxnp.synchronize()
    found.append([str(warning.message) for warning in caught])
    return found


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int64", "uint8", "complex128"]
)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions_of_arrays_in_memory(
    shape: tuple[int, ...], function: str, dtype: str
) -> None:
    x = (numpy.random.default_rng(len(shape)).standard_normal(shape) * 50).astype(dtype)
    for part in (x, x.T, x[..., ::-1]):
        mine = mxnp.asarray(part.copy(order="K"))
        assert_same(
            outcomes(mxnp, mine, function),
            outcomes(numpy, part.copy(order="K"), function),
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_reductions_of_special_values(function: str, values: str, dtype: str) -> None:
    for shape in [(11,), (20, 30), (3, 200), (200, 3), (9_000,)]:
        x = VALUES[values](numpy.random.default_rng(3).standard_normal(shape))
        with numpy.errstate(over="ignore"):
            x = x.astype(dtype)
        assert_same(
            outcomes(mxnp, mxnp.asarray(x.copy()), function),
            outcomes(numpy, x, function),
        )


@pytest.mark.parametrize("function", ["mean", "std", "cumsum"])
def test_axes_that_do_not_exist(function: str) -> None:
    def message(xp: types.ModuleType, axis: Any) -> str:
        with pytest.raises((numpy.exceptions.AxisError, TypeError)) as caught:
            getattr(xp, function)(xp.ones((3, 4)), axis=axis)
        return f"{type(caught.value)}: {caught.value}"

    for axis in (2, -3, 1.0, "x"):
        assert message(mxnp, axis) == message(numpy, axis)


METHODS = [
    "add",
    "maximum",
    "minimum",
    "logical_or",
    "logical_and",
    "multiply",
    "hypot",
]


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("ufunc", METHODS)
@pytest.mark.parametrize("shape", [(1,), (1_000,), (30, 7)], ids=str)
def test_reductions_by_methods_of_ufuncs(
    shape: tuple[int, ...], ufunc: str, dtype: str
) -> None:
    values = (numpy.random.default_rng(1).standard_normal(shape) * 9).astype(dtype)

    def outcome(xp: types.ModuleType, x: Any) -> Any:
        reduce = getattr(xp, ufunc).reduce
        with numpy.errstate(over="ignore"):
            return [reduce(x), reduce(x, axis=-1), reduce(x, 0)]

    x = mxnp.array(values)
    mxnp.synchronize()
    assert_same(outcome(mxnp, x), outcome(numpy, values))


GLANCE = constant("python/direct/functions.c", "GLANCE")
ENDS: dict[str, tuple[bool, Any, Callable[[Any, Any], Any]]] = {
    "any": (True, vars(mxnp.ndarray)["any"], lambda xp, b: b.any()),
    "all": (False, mxnp.all, lambda xp, b: xp.all(b)),
    "logical_or": (True, mxnp.ufunc.reduce, lambda xp, b: xp.logical_or.reduce(b)),
    "logical_and": (False, mxnp.ufunc.reduce, lambda xp, b: xp.logical_and.reduce(b)),
}


@pytest.fixture(params=["alone", "beside a failure"])
def failed(request: pytest.FixtureRequest) -> Any:
    """Return None, or an array whose indices were out of bounds."""
    if request.param == "alone":
        return None
    x = mxnp.arange(300_000)
    result = x[x * 2]
    with pytest.raises(IndexError):
        mxnp.synchronize()
    return result


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("at", [0, GLANCE - 1, GLANCE, None])
def test_first_elements_of_large_arrays_decide(
    name: str, at: int | None, failed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    decides, function, call = ENDS[name]
    asked = []

    def form(*args: Any, **kwargs: Any) -> Any:
        asked.append(args)
        return NotImplemented

    monkeypatch.setattr(function, "implementation", form)
    values = numpy.full(2**22, not decides)
    if at is not None:
        values[at] = decides
    b = mxnp.array(values)
    mxnp.synchronize()
    found, expected = call(mxnp, b), call(numpy, values)
    assert type(found) is type(expected)
    assert found == expected
    assert bool(asked) == (at is None or at >= GLANCE)
    if failed is not None:
        with pytest.raises(IndexError):
            failed.sum()
