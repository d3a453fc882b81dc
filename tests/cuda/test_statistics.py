"""Test the variance of a whole array, which CUDA computes from one pass."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import numpy
import pytest

import mxnp as np
from mxnp._engine import core

pytestmark = pytest.mark.skipif(
    "cuda" not in np.devices() or not os.environ.get("MXNP_CUDA_STAND_IN"),
    reason="needs the stand-in for CUDA",
)


@pytest.fixture(autouse=True)
def on_cuda() -> Iterator[None]:
    before = np._bridge.set_threshold(0)
    with np.device("cuda"):
        yield
    np._bridge.set_threshold(before)


def normal(dtype: str, mean: float, size: int = 60_000) -> numpy.ndarray:
    rng = numpy.random.default_rng(4)
    return (rng.standard_normal(size) + mean).astype(dtype).reshape(-1, 100)


def error(found: float, x: numpy.ndarray, ddof: int = 0) -> float:
    """Return the relative error, in units of the precision of the elements."""
    exact = x.astype(numpy.longdouble).var(ddof=ddof)
    return float(abs(found - exact) / exact / numpy.finfo(x.dtype).eps)


@pytest.mark.parametrize("mean", [0.0, 3.0, 500.0, 1e6])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_is_as_accurate_as_numpys(dtype: str, mean: float) -> None:
    x = normal(dtype, mean)
    given = np.array(x)
    for ddof in (0, 1):
        found = given.var(ddof=ddof)
        assert type(found) is x.dtype.type
        assert (
            error(float(found), x, ddof) <= error(float(x.var(ddof=ddof)), x, ddof) + 4
        )
    assert abs(given.std() / numpy.sqrt(x.var()) - 1) < 8 * numpy.finfo(dtype).eps


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_reads_the_array_once(dtype: str) -> None:
    given = np.array(normal(dtype, 2.0))
    np.synchronize()
    before = core.gpu_counts()
    given.var()
    after = core.gpu_counts()
    expected = 1 if dtype == "float32" else 2  # with the sum of a sample
    assert after["groups"] - before["groups"] == expected
    assert after["bytes_out"] - before["bytes_out"] <= 64


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "values",
    [
        [3.0], [0.0], [1.0, numpy.inf], [1.0, numpy.nan],
        [*[0.0] * 199, 1e20], [*[1e9] * 199, 1e9 + 64],
    ],
)  # fmt: skip
def test_other_arrays_take_two_passes(dtype: str, values: list[float]) -> None:
    x = numpy.resize(numpy.array(values, dtype), (200, 200))
    found = []
    for xp in (numpy, np):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append((float(xp.array(x).var()), {str(w.message) for w in caught}))
    numpy.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5)
    assert found[1][1] == found[0][1]


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_too_few_elements() -> None:
    x = numpy.ones((200, 200))
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        found = np.array(x).var(ddof=40_000)
    assert numpy.isnan(found)
