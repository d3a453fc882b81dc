"""Test draws that the device has no kernel for: the threads of the processor draw."""

from __future__ import annotations

import os

import numpy
import pytest

import mxnp as np
from mxnp import _bridge
from mxnp._namespace.functions import ROWS, calls_of

pytestmark = [
    pytest.mark.skipif(
        "cuda" not in np.devices() or not os.environ.get("MXNP_CUDA_STAND_IN"),
        reason="needs the stand-in for CUDA",
    ),
    pytest.mark.skipif(
        not _bridge.has_samplers(numpy.__version__), reason="the build has no samplers"
    ),
    pytest.mark.usefixtures("on_metal"),
]

# The names in the calls of the table: a number, a shape and an array.
S, T = 20_011, (3, 7_000)
DRAWS = [
    name
    for name, row in ROWS.items()
    if any(way.module.startswith("draws/") for way in row.forms)
]


@pytest.mark.parametrize("name", DRAWS)
def test_numpy_draws_nothing(name: str) -> None:
    threads = np.set_num_threads(2)
    try:
        for call in calls_of(name):
            check(call)
    finally:
        np.set_num_threads(threads)


def check(call: str) -> None:
    numbers = numpy.arange(S) / 7
    theirs, *ours = ({"S": S, "T": T, "f1": numbers.copy()} for _ in range(3))
    ours = [names | {"f1": np.array(names["f1"]), "np": np} for names in ours]
    eval(call, ours[0])  # the first draw of a sampler is compared with NumPy's
    with np.profile() as report:
        result = eval(call, ours[1])
        np.synchronize()
    assert {row.backend for row in report.rows} <= {"cpu", "cuda"}, call
    expected = eval(call, theirs | {"np": numpy})
    if expected is None:  # the array is shuffled
        result, expected = ours[1]["f1"], theirs["f1"]
    assert type(result) is np.ndarray
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    assert numpy.asarray(result).tobytes() == expected.tobytes(), call
