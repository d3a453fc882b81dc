"""Run the C tests of the core, tests/c, with meson."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT


def find_tool(name):
    """Return the path of a program, beside this Python or in PATH."""
    return shutil.which(name, path=Path(sys.executable).parent) or shutil.which(name)


@pytest.mark.slow
@pytest.mark.skipif(
    not (find_tool("meson") and find_tool("ninja")), reason="meson or ninja is missing"
)
@pytest.mark.skipif(not find_tool("cc"), reason="no C compiler")
@pytest.mark.skipif(
    not importlib.util.find_spec("cffi.gen_src"), reason="cffi is older than 2.1"
)
def test_c_core(tmp_path, monkeypatch):
    monkeypatch.delenv("MXNP_FUSE", raising=False)  # the C tests check fusion
    monkeypatch.setenv("NINJA", find_tool("ninja"))
    native = tmp_path / "native.ini"
    native.write_text(f"[binaries]\npython = '{sys.executable}'\n")
    build = tmp_path / "build"
    setup = ["setup", build, ROOT, "-Dctests=true", "--native-file", native]
    test = ["test", "-C", build, "--print-errorlogs", "--timeout-multiplier", "8"]
    for command in (setup, test):
        done = subprocess.run(
            [find_tool("meson"), *command], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
