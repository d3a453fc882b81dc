"""Compare reductions of arrays in memory, which are computed immediately, with NumPy's bits."""

from __future__ import annotations

import os
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
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
