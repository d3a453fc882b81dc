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
    assert '<i class="key gpu"></i>GPU' in page.read_text()


def test_the_sums_have_the_time_on_the_gpu(program: str, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    run("--report=json", str(file), program)
    report = json.loads(file.read_text())
    on_gpu = [row for row in report["rows"] if row["backend"] == "cuda"]
    assert {row["operation"] for row in on_gpu} >= {"add", "sqrt"}
    assert report["total"]["gpu"] == pytest.approx(sum(r["seconds"] for r in on_gpu))


def test_an_element_is_not_a_fallback(program: str) -> None:
    assert run("--fail-on-fallback", program) == "True\n"


def test_the_doctor_knows_that_cuda_computes_float64(program: str) -> None:
    assert "does not support float64" not in run("--doctor", program)
