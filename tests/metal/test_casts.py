"""Test casts of floats to integers on the GPU, for numbers that the integer type lacks."""

from __future__ import annotations

import platform
import warnings

import numpy as np
import pytest
from support.metal import needs_metal

import mxnp
from mxnp._engine import core

pytestmark = needs_metal

IS_X86 = platform.machine() in {"x86_64", "AMD64"}
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
NUMBERS = [0, 0.5, 127, 128, 129, 255, 256, 300, 32767, 32768, 65535, 65536, 70000]
NUMBERS += [2**31, 2**32, 3e9, 2.0**63, 2.0**64, 1e30, np.inf]


def clipped(numbers: np.ndarray, dtype: str) -> np.ndarray:
    """Return the nearest integers of a dtype, and 0 for NaN, without undefined casts."""
    info = np.iinfo(dtype)
    exact = np.nan_to_num(numbers.astype("f8"), posinf=np.inf, neginf=-np.inf).tolist()
    ends = [min(max(x, float(info.min)), float(info.max)) for x in exact]
    whole = [min(max(int(x), info.min), info.max) for x in ends]
    return np.array(whole, dtype)


def expected(numbers: np.ndarray, dtype: str) -> np.ndarray:
    """Return the cast by way of the integer that the processor's instructions use."""
    if int(dtype[1]) < 4:
        return clipped(numbers, "i4").astype(dtype)
    if dtype[0] == "i" or not IS_X86:
        return clipped(numbers, dtype)
    if dtype == "u8":
        signed = clipped(numbers, "i8").astype("u8")
        return np.where(numbers < 0, signed, clipped(numbers, "u8"))
    return clipped(numbers, "i8" if dtype == "u4" else "i4").astype(dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32"])
def test_numbers_that_the_integer_type_lacks(source, dtype):
    if source == "bfloat16":
        source = pytest.importorskip("ml_dtypes").bfloat16
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = np.array([*NUMBERS, *(-x for x in NUMBERS), np.nan]).astype(source)
        numbers = np.tile(numbers, 1024)  # recorded, not computed directly
        one = numbers.dtype.type(1)
        before = core.gpu_counts()["dispatches"]
        with mxnp.device("metal"):
            result = (mxnp.array(numbers) * one).astype(dtype).tolist()
    assert core.gpu_counts()["dispatches"] == before + 1
    assert result == expected(numbers.astype("f4"), dtype).tolist()
