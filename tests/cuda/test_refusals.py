"""Test kernels that the driver of CUDA refuses after parts of their group have run."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest

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
OUT_OF_MEMORY, OUT_OF_RESOURCES = 2, 701
ALWAYS = 1_000_000


@contextmanager
def refused(function: str, after: int, times: int, error: int) -> Iterator[None]:
    """Let calls of a function of the driver fail."""
    library = ctypes.CDLL(STAND_IN)
    name = function.encode()
    library.cuda_standin_refuse(name, *map(ctypes.c_long, (after, times)), error)
    try:
        yield
    finally:
        library.cuda_standin_refuse(name, ctypes.c_long(-1), ctypes.c_long(0), 0)


@pytest.fixture
def in_parts() -> Iterator[None]:
    """Cut kernels of N elements into several dispatches."""
    before = core.set_work_limit(N * 100)
    yield
    core.set_work_limit(before)


def values() -> Any:
    return numpy.arange(N, dtype=numpy.float64)


def array_on(place: str) -> Any:
    """Return an array whose elements are on the device, or on the processor too."""
    x = np.array(values()) * 1.0
    np.synchronize()
    if place == "both":
        assert float(x[3]) == 3.0
    return x


def is_refused(use: Any) -> bool:
    """Return whether a use fails because the device refused a kernel."""
    try:
        use()
    except RuntimeError as error:
        return "a kernel was refused" in str(error)
    return False


@pytest.mark.parametrize("error", [OUT_OF_MEMORY, OUT_OF_RESOURCES])
@pytest.mark.parametrize("place", ["device", "both"])
@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.usefixtures("in_parts")
def test_a_part_that_is_refused_once_is_tried_again(
    after: int, place: str, error: int
) -> None:
    x, other = array_on(place), array_on("device")
    dispatches = core.gpu_counts()["dispatches"]
    with refused("cuLaunchKernel", after, 1, error):
        x += 1.0
        np.synchronize()
    if after:
        assert core.gpu_counts()["dispatches"] - dispatches > 3
    assert (numpy.asarray(x) == values() + 1.0).all()
    assert (numpy.asarray(other) == values()).all()


@pytest.mark.parametrize("place", ["device", "both"])
@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.usefixtures("in_parts")
def test_elements_are_never_updated_twice(after: int, place: str) -> None:
    x, other = array_on(place), array_on("device")
    with refused("cuLaunchKernel", after, ALWAYS, OUT_OF_RESOURCES):
        x += 1.0
        is_lost = is_refused(np.synchronize)
    if is_lost:
        assert is_refused(lambda: x[0])
        assert place == "device"
        assert after > 0
    else:
        assert (numpy.asarray(x) == values() + 1.0).all()
    assert (numpy.asarray(other) == values()).all()
    assert float((other + 1.0).sum()) == values().sum() + N  # on the device


@pytest.mark.usefixtures("in_parts")
def test_new_elements_need_not_be_there_before() -> None:
    x = array_on("device")
    with refused("cuLaunchKernel", 2, ALWAYS, OUT_OF_MEMORY):
        y = x * 2.0
        np.synchronize()
    assert (numpy.asarray(y) == 2.0 * values()).all()


@pytest.mark.parametrize("place", ["device", "both"])
def test_a_second_pass_that_is_refused_repeats_no_update(place: str) -> None:
    x, other = array_on(place), array_on("device")
    with refused("cuLaunchKernel", 1, ALWAYS, OUT_OF_MEMORY):
        x += 1.0
        is_lost = is_refused(lambda: float(x.sum()))
    assert is_lost == (place == "device")
    if is_lost:
        assert is_refused(lambda: x[0])
    else:
        assert (numpy.asarray(x) == values() + 1.0).all()
    assert (numpy.asarray(other) == values()).all()
