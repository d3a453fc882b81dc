"""The Metal emulator's compiler of MSL as a command, and the check of files."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from support.msl import HEAD, Library, framed, needs_compiler
from support.paths import ROOT

pytestmark = [needs_compiler, pytest.mark.slow]

COMPILE = ROOT / "tests" / "metal_emulator" / "msl" / "compile.py"


def run_compiler(*arguments, **kwargs):
    command = [sys.executable, str(COMPILE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **kwargs)


def test_command_writes_a_library(tmp_path):
    source, out = tmp_path / "a.metal", tmp_path / "a.so"
    source.write_text(HEAD + "kernel void k(device int *a [[buffer(3)]]) { *a = 5; }\n")
    result = run_compiler(source, out)
    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.metal", "a.so"]
    library = Library(out)
    (argument,) = library.kernels["k"].arguments[:1]
    assert (argument.kind, argument.index, argument.is_const) == (0, 3, 0)
    assert (argument.space, argument.size) == (1, 4)
    value = np.zeros(1, np.int32)
    library.run("k", *[value] * 4)
    assert value[0] == 5
    assert library.engine.accesses == [(value.ctypes.data, 4, 1)]
    assert library.engine.branches == 1


@pytest.mark.parametrize("prelude", ["", "/* -- end of prelude -- */\n"])
def test_command_reports_errors_in_the_users_lines(tmp_path, prelude):
    source, out = tmp_path / "a.metal", tmp_path / "a.so"
    out.write_text("as before")
    source.write_text(
        f"{HEAD}inline float one() {{ return 1; }}\n{prelude}"
        "kernel void k(device float *a [[buffer(0)]])\n{\n"
        "    threadgroup float t[4]; *a = t[0] + two();\n}\n"
    )
    line = 6 + prelude.count("\n")
    result = run_compiler(source, out)
    assert result.returncode == 1
    assert f"program_source:{line}:41: error: use of undeclared" in result.stderr
    assert out.read_text(encoding="utf-8") == "as before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.metal", "a.so"]


def test_errors_in_the_prelude_have_their_lines(tmp_path):
    source = tmp_path / "a.metal"
    source.write_text(
        f"{HEAD}inline int f() {{ return x; }}\n/* -- end of prelude -- */\n"
    )
    result = run_compiler(source, tmp_path / "a.so")
    assert result.returncode == 1
    assert (
        "program_source:3:25: error: use of undeclared identifier 'x'" in result.stderr
    )


def test_command_needs_two_names():
    assert run_compiler("a.metal").returncode == 2


def test_missing_files_are_reported(tmp_path):
    result = run_compiler(tmp_path / "none.metal", tmp_path / "a.so")
    assert result.returncode == 1
    assert "none.metal" in result.stderr


def test_processes_share_an_empty_cache(tmp_path):
    source = tmp_path / "a.metal"
    source.write_text(
        f"{HEAD}/* -- end of prelude -- */\n" + framed("", "").removeprefix(HEAD)
    )
    environment = {**os.environ, "METAL_EMULATOR_CACHE": str(tmp_path / "cache")}
    outs = [tmp_path / f"{n}.so" for n in range(3)]
    running = [
        subprocess.Popen([sys.executable, str(COMPILE), source, out], env=environment)
        for out in outs
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert [list(Library(out).kernels) for out in outs] == [["k"]] * 3
    (folder,) = (tmp_path / "cache").iterdir()
    assert {path.suffix for path in folder.iterdir()} == {".h", ".o", ".pch"}


def test_stand_alone_check(tmp_path):
    good, bad = tmp_path / "good.metal", tmp_path / "bad.metal"
    good.write_text(framed("", ""))
    bad.write_text(framed("int g = 1;", ""))
    command = [sys.executable, "-m", "tests.metal_emulator"]
    result = subprocess.run([*command, good], capture_output=True, text=True, cwd=ROOT)
    assert (result.returncode, result.stdout) == (0, f"{good}: 1 kernels\n")
    result = subprocess.run(
        [*command, good, bad], capture_output=True, text=True, cwd=ROOT
    )
    assert result.returncode == 1
    assert f"{bad}:4: error: program-scope variable 'g'" in result.stderr
