"""Test which functions of the driver a program on CUDA calls."""

from __future__ import annotations

import ctypes
import os
import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.paths import ROOT
from support.processes import end_of

import mxnp as np
from mxnp._engine import core

STAND_IN = os.environ.get("MXNP_CUDA_STAND_IN")
pytestmark = [
    pytest.mark.skipif(
        "cuda" not in np.devices() or not STAND_IN, reason="needs the stand-in for CUDA"
    ),
    pytest.mark.usefixtures("on_metal"),
]

N = 50_000
HALF = 8 << 20  # HALF_BYTES of csrc/cuda/device.c

API = (ROOT / "csrc/cuda/api.h").read_text(encoding="utf-8")
FUNCTIONS = re.findall(r"X\(int, (cu\w+)", API)


def calls_of(function: Callable[[], Any]) -> dict[str, int]:
    """Return how often a function calls those of the driver, when it runs again."""
    library = ctypes.CDLL(STAND_IN)
    for _ in range(3):
        before = [library.cuda_standin_count(name.encode()) for name in FUNCTIONS]
        result = function()
        after = [library.cuda_standin_count(name.encode()) for name in FUNCTIONS]
        del result
    counts = zip(FUNCTIONS, after, before, strict=True)
    return {name: a - b for name, a, b in counts if a > b}


def test_a_kernel_and_a_wait() -> None:
    x = np.arange(N) * 2

    def add() -> Any:
        y = x + x
        np.synchronize()
        return y

    np.synchronize()
    assert calls_of(add) == {
        "cuCtxPushCurrent_v2": 2,
        "cuLaunchKernel": 1,
        "cuStreamSynchronize": 1,
    }


def test_status_words_are_copied_after_a_report_only() -> None:
    x = np.ones(N) * 2.0

    def double() -> Any:
        y = x * 2.0
        np.synchronize()
        return y

    np.synchronize()
    assert calls_of(double) == {
        "cuCtxPushCurrent_v2": 2,
        "cuLaunchKernel": 1,
        "cuStreamSynchronize": 1,
    }
    x = x * 5e307
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert calls_of(double)["cuMemcpyDtoHAsync_v2"] == 1


def test_a_wait_without_work_asks_nothing() -> None:
    np.synchronize()
    assert calls_of(np.synchronize) == {}


@pytest.mark.parametrize(
    "nbytes", [1 << 10, 1 << 16, (1 << 16) + 8, 1 << 20, HALF + 8, 5 * HALF]
)
def test_copies_of_any_size(nbytes: int) -> None:
    values = numpy.arange(nbytes // 8, dtype=numpy.int64)
    x = np.array(values)
    before = core.gpu_counts()
    y = x + 1
    np.synchronize()
    assert (numpy.asarray(y) == values + 1).all()
    after = core.gpu_counts()
    assert after["bytes_in"] - before["bytes_in"] == nbytes
    assert after["bytes_out"] - before["bytes_out"] == nbytes


def test_large_copies_are_made_in_halves() -> None:
    values = numpy.ones(5 * HALF // 8)

    def move() -> Any:
        x = np.array(values) + 1.0
        assert float(x[-1]) == 2.0
        return x

    calls = calls_of(move)
    assert calls["cuMemcpyHtoDAsync_v2"] == 5
    assert calls["cuMemcpyDtoHAsync_v2"] >= 5


def test_copies_without_locked_memory() -> None:
    program = """
        import ctypes, os
        import numpy
        import mxnp as np

        library = ctypes.CDLL(os.environ["MXNP_CUDA_STAND_IN"])
        times = ctypes.c_long(0), ctypes.c_long(2)
        library.cuda_standin_refuse(b"cuMemAllocHost_v2", *times, 2)
        for n in (10, 50_000):
            x = np.array(numpy.arange(n)) + 1
            assert (numpy.asarray(x) == numpy.arange(n) + 1).all()
        with np.errstate(all="raise"):
            (1.0 / x).sum()
            try:
                (1.0 / (x - x)).sum() + 0.0
            except FloatingPointError as error:
                assert "divide by zero" in str(error)
            else:
                raise AssertionError
    """
    end = end_of("-c", textwrap.dedent(program), MXNP_DEVICE="cuda", MXNP_THRESHOLD="0")
    assert end.err == ""
    assert end.status == 0


def test_long_first_axes_of_small_rows() -> None:
    """A device may allow 64 threads only along the third axis of a threadgroup."""
    kept = np.arange(1000.0) * 3
    for shape, other in ((100, 2, 2), (100, 1, 2)), ((300, 3, 1), (300, 1, 1)):
        result = np.ones(shape) + np.ones(other)
        assert (numpy.asarray(result) == 2).all()
    assert numpy.asarray(kept)[-1] == 2997
    assert core.is_gpu_usable()
