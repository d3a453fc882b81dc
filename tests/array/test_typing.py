"""Test that a type checker sees NumPy's types in mxnp."""

import subprocess
import sys

import pytest
from support.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.needs("mypy")]

PROGRAM = """
import mxnp
import mxnp as np
import mxnp.random
import mxnp.typing as npt
from mxnp import linalg
from mxnp.fft import rfft
from mxnp.linalg import norm

a: npt.NDArray[np.float32] = np.zeros((3, 3), dtype=np.float32)
reveal_type(a + a)
reveal_type(np.argmax(a))
reveal_type(linalg.solve(a, a))
reveal_type(mxnp.random.default_rng(1))
reveal_type(np.lib.stride_tricks.as_strided)
np.random.default_rng(1).normal(size=3)
rfft(a), norm(a)
mxnp.install(exclude=["x"])
np.zeross(3)
np.zeros("three", dtypo=1)
"""


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typing")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder)]
    return subprocess.run(
        [*command, str(program)],
        cwd=folder,
        env={"MYPYPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def test_types_are_numpys(output):
    revealed = [line for line in output.splitlines() if "Revealed type" in line]
    for each, line in zip(
        ("numpy.ndarray[", "numpy.signedinteger[", "numpy.ndarray[", "Generator"),
        revealed,
        strict=False,
    ):
        assert each in line
    assert len(revealed) == 5


def test_mistakes_are_found_and_nothing_else(output):
    lines = PROGRAM.splitlines()
    wrong = {
        lines.index(line) + 1 for line in lines if "zeross" in line or "po=" in line
    }
    errors = [line for line in output.splitlines() if ": error:" in line]
    assert {int(line.split(":")[1]) for line in errors} == wrong, output
