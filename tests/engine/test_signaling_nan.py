"""Signaling NaN: NumPy's float16 code reads bits, and other casts raise a condition."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest
from support.constants import constant
from support.lanes import ON_GPU

import mxnp

Library = types.ModuleType

LARGE = 2 * constant("python/record/queue.c", "LEAST_SIZE") + 3
BITS = {
    "f2": [0x7C01, 0x7D00, 0xFC01, 0x7E00, 0x0000, 0x3C00, 0xBC00, 0x7C00],
    "f4": [0x7F800001, 0xFFA00000, 0x7FC00000, 0x00000000, 0x3F800000],
    "f8": [0x7FF0000000000001, 0xFFF8000000000000, 0x0, 0x3FF0000000000000],
}
CALLS = """
np.heaviside(x, x[::-1])
np.heaviside(x, 0.5)
np.heaviside(0.5, x)
np.heaviside(x[4:6], x[:2])
np.float_power(x, 2)
np.float_power(2.0, x)
np.float_power(x, x)
np.logical_and(x, 1)
np.logical_and(1.5, x)
np.logical_or(x, 0.0)
np.logical_xor(x, np.nan)
np.logical_and(x, True)
np.logical_and(x, np.float64(1))
np.logical_and(x, x)
np.add(x, np.ones(x.size))
np.add(x, np.ones(x.size, complex))
x.astype("f4")
x.astype("f8")
x.astype("D")
x.astype(bool)
x[::3].astype("f8")
""".strip().splitlines()


@contextmanager
def large_from(threshold: int) -> Iterator[None]:
    """Record operations on so many elements in a block."""
    before = mxnp._bridge.set_threshold(threshold)
    try:
        yield
    finally:
        mxnp._bridge.set_threshold(before)


def outcome(xp: Library, call: str, dtype: str, size: int) -> Any:
    """Return the bits of a result, and the warnings."""
    unsigned = f"u{dtype[1]}"
    x = xp.resize(xp.array(BITS[dtype], dtype=unsigned), size).view(dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = eval(call, {"np": xp, "x": x}).copy()
        bits = numpy.asarray(result).tobytes()
    return result.dtype, bits, sorted(str(each.message) for each in caught)


@pytest.mark.skipif(ON_GPU, reason="GPUs have other bits of NaN")
@pytest.mark.parametrize("threshold", [0, LARGE])
@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("call", CALLS)
def test_small_arrays(xp: Library, call: str, dtype: str, threshold: int) -> Any:
    with large_from(threshold):
        return outcome(xp, call, dtype, 8)


@pytest.mark.skipif(ON_GPU, reason="GPUs have other bits of NaN")
@pytest.mark.parametrize("call", [call for call in CALLS if "np.nan" not in call])
def test_large_arrays_of_float16(xp: Library, call: str) -> Any:
    return outcome(xp, call, "f2", LARGE)


@pytest.mark.parametrize("call", ["np.heaviside(x, 0.5)", "np.heaviside(x, x)"])
def test_quiet_nan_meets_no_condition(xp: Library, call: str) -> Any:
    x = xp.resize(xp.array([0x7E00, 0xFE00, 0x7FFF, 0x3C00], "u2"), LARGE).view("f2")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return numpy.asarray(eval(call, {"np": xp, "x": x})).dtype


@pytest.mark.skipif(ON_GPU, reason="GPUs have other bits of NaN")
@pytest.mark.parametrize("bits", [0x7C01, 0x7DFF, 0xFC01, 0xFDFF, 0x7E00, 0xFFFF])
def test_one_nan_in_a_block_of_casts(xp: Library, bits: int) -> Any:
    x = xp.zeros(8, "u2")
    x[-1] = bits
    with large_from(0), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = numpy.asarray(x.view("f2").astype("f8")).tobytes()
    return result, [str(each.message) for each in caught]


@pytest.mark.skipif(ON_GPU, reason="GPUs have other bits of NaN")
@pytest.mark.parametrize(
    "call",
    """
np.add(x, y)
y * x
x ** y
np.hypot(y, x)
np.float_power(x, 2)
np.divmod(x, y)
np.where(x > 0, x, y)
np.clip(x, 0, y)
np.add(x, 1, out=y)
np.add.at(y, [1, 0], x[:2])
x.astype("f8")
""".strip().splitlines(),
)
def test_conditions_of_casts_have_the_name_of_the_ufunc(xp: Library, call: str) -> Any:
    x = xp.ones(LARGE, "f4")
    x.view("u4")[:2] = BITS["f4"][0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eval(call, {"np": xp, "x": x, "y": xp.ones(LARGE)})
        mxnp.synchronize()
    return sorted({str(each.message) for each in caught})
