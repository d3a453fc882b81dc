"""Test reports of programs that run on CUDA."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.processes import end_of

import mxnp as np

pytestmark = pytest.mark.skipif(
    "cuda" not in np.devices() or not os.environ.get("MXNP_CUDA_STAND_IN"),
    reason="needs the stand-in for CUDA",
)

PROGRAM = """
import numpy as np
x = np.ones(50_000) * 2.0
y = np.sqrt(x + 1.0)
print(y[0] > 1)
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def run(*args: str) -> str:
    end = end_of("-m", "mxnp", *args, MXNP_DEVICE="cuda", MXNP_THRESHOLD="0")
    assert end.status == 0, end
    return end.out + end.err


def test_a_page_has_the_time_on_the_gpu(program: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run("--report=html", str(page), program) == "True\n"
    assert '<i class="key gpu"></i>GPU' in page.read_text(encoding="utf-8")


def test_the_sums_have_the_time_on_the_gpu(program: str, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    run("--report=json", str(file), program)
    report = json.loads(file.read_text(encoding="utf-8"))
    on_gpu = [row for row in report["rows"] if row["backend"] == "cuda"]
    assert {row["operation"] for row in on_gpu} >= {"add", "sqrt"}
    assert report["total"]["gpu"] == pytest.approx(sum(r["seconds"] for r in on_gpu))


def test_an_element_is_not_a_fallback(program: str) -> None:
    assert run("--fail-on-fallback", program) == "True\n"


def test_the_doctor_knows_that_cuda_computes_float64(program: str) -> None:
    assert "does not support float64" not in run("--doctor", program)


TIMES = """
import ctypes, os, time
import mxnp as np
from mxnp._engine import core

library = ctypes.CDLL(os.environ["MXNP_CUDA_STAND_IN"])
library.cuda_standin_busy.restype = ctypes.c_long
count = library.cuda_standin_count


def run():
    x = np.arange(50_000.0)
    np.sqrt(x + 1.0).cumsum()
    y = np.sin(x.reshape(500, 100)) @ np.cos(x.reshape(100, 500))
    np.synchronize()
    return y


run()
assert count(b"cuEventElapsedTime") == 0
events, busy = count(b"cuEventRecord"), library.cuda_standin_busy()
groups = core.gpu_counts()["groups"]
with np.profile() as report:
    run()
    time.sleep(0.2)
busy = 1e-9 * (library.cuda_standin_busy() - busy)
groups = core.gpu_counts()["groups"] - groups
assert groups > 2
events = count(b"cuEventRecord") - events
assert events == 2 * groups, (events, groups)
total = report.total.gpu
assert abs(total - busy) < 1e-3 * busy, (total, busy)
assert len({round(row.seconds, 9) for row in report.rows if row.backend == "cuda"}) > 2
"""


def test_times_are_those_of_the_device() -> None:
    end = end_of("-c", TIMES, MXNP_DEVICE="cuda", MXNP_THRESHOLD="0")
    assert end.status == 0, end
