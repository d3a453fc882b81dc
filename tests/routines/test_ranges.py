"""Test recorded ranges, whose elements are computed inside other operations."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from support.lanes import ON_CUDA, needs_fusion

import mxnp
from mxnp import _bridge

DTYPES = [None, *"bBhHiIlLefdFD?", ">f8", "O"]
RANGES: list[tuple[Any, ...]] = [
    (40_000,),
    (40_000.0,),
    (5, 90_000.0),
    (-7, 40_000, 0.37),
    (3, -50_000, -1),
    (0.1, 9_000, 0.1),
    (1e6, 1e6 + 3_000, 0.07),
    (1, 2, 1e-5),
    (2**62, 2**62 + 50_000),
    (-0.0, 30_000.0),
    (1e308, 1.7e308, 1e303),
    (0, 2**20, 3),
    (2, 20_000, numpy.float32(0.1)),
    (1, 0, -(2**-15)),
    (40_000, 0),
    (0, numpy.inf, 1e300),
    (0, 40_000, 0),
    (False, 40_000),
    (2.0,),
    (0.5, 20, 0.1),
    (-0.0, 3, 0.5),
    (1, 0.0, -0.3),
    (0.3, 0.2),
    (2**51, 2**51 + 9.0),
    (-(2**51), 2.0**53, 2.0**44),
    (2**53, 2**53 + 3, 0.5),
    (0, 1e-320, 1e-322),
    (0.0, numpy.nan),
]


@pytest.fixture(autouse=True)
def recorded() -> Any:
    before = _bridge.set_threshold(16_384)
    mxnp.synchronize()
    yield
    _bridge.set_threshold(before)


def found(xp: Any, args: tuple[Any, ...], dtype: Any) -> Any:
    try:
        a = xp.arange(*args) if dtype is None else xp.arange(*args, dtype=dtype)
    except (OverflowError, TypeError, ValueError, ZeroDivisionError) as error:
        return type(error), str(error)
    if ON_CUDA and a.dtype.kind == "f":  # a GPU has other bits of NaN
        a[xp.isnan(a)] = xp.nan
    return a.dtype, a.shape, a.tobytes() if a.dtype != object else a.tolist()


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("args", RANGES, ids=str)
def test_bits_of_ranges(args: tuple[Any, ...], dtype: Any) -> None:
    assert found(mxnp, args, dtype) == found(numpy, args, dtype)


@pytest.mark.parametrize("length", [2, 3, 31, 255, 256, 257, 1000, 20_001])
@pytest.mark.parametrize("dtype", [*"bBhHiIlLefd"])
def test_lengths(length: int, dtype: str) -> None:
    _bridge.set_threshold(0)
    expected = numpy.arange(3, 3 + 2 * length, 2, dtype="f8").astype("i8").astype(dtype)
    assert (
        mxnp.arange(3, 3 + 2 * length, 2).astype(dtype).tobytes() == expected.tobytes()
    )
    if dtype not in "bBe":
        direct = mxnp.arange(3, 3 + 2 * length, 2, dtype)
        assert direct.tobytes() == expected.tobytes()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "expression",
    [
        "np.arange(n) * 0.5 + x",
        "(np.arange(float(n)) * x[::-1])[::-1]",
        "x[::-1] - np.arange(n)[::-1]",
        "(np.arange(n) % 7 == 3).sum()",
        "np.arange(n, dtype='f4').reshape(250, -1) * x[:200]",
        "np.arange(n)[:, None] * (x[:3] > 0)",
        "np.arange(n).cumsum()",
        "np.arange(0, -n, -1).argmin()",
        "np.square(np.arange(n), out=np.empty(n)[::-1])",
    ],
)
def test_ranges_within_expressions(expression: str, threads: int) -> None:
    n = 50_000
    x = numpy.random.default_rng(0).standard_normal(n)
    before = mxnp.set_num_threads(threads)
    try:
        ours = eval(expression, {"np": mxnp, "n": n, "x": mxnp.array(x)})
        theirs = eval(expression, {"np": numpy, "n": n, "x": x})
        numpy.testing.assert_array_equal(ours, theirs, strict=False)
        assert ours.dtype == theirs.dtype
    finally:
        mxnp.set_num_threads(before)


@needs_fusion
def test_ranges_are_recorded_and_fused(capsys: pytest.CaptureFixture[str]) -> None:
    with mxnp.device("cpu"):  # GPUs lack float64
        total = (mxnp.arange(100_000) * 0.5 + 1).sum()
    assert float(total) == 50_000 * 0.5 * 99_999 + 100_000
    mxnp.explain()
    text = capsys.readouterr().out
    assert "arange" in text and "1 group" in text


def test_small_ranges_are_numpys() -> None:
    mxnp.arange(100)
    mxnp.arange(0, 1, 0.01)
    assert _bridge.pending() == 0
