"""Test that environment variables are read in one place, and that no typo is silent."""

from __future__ import annotations

import re

import pytest
from support.paths import ROOT
from support.processes import end_of

from mxnp._engine import environment

PROGRAM = "import mxnp as np; print(np.get_num_threads(), (np.ones(9) + 1).sum())"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MXNP_THRESHOLD", "-5", "must be a number of elements, but is '-5'"),
        ("MXNP_THRESHOLD", "1e4", "must be a number of elements, but is '1e4'"),
        ("MXNP_FUSE", "off", "must be 0 or 1, but is 'off'"),
        ("MXNP_JIT", "no", "must be 0, 1 or always, but is 'no'"),
        ("MXNP_MODE", "quick", "must be strict or fast, but is 'quick'"),
        ("MXNP_TRACEBACKS", "1", "must be program or full, but is '1'"),
        ("MXNP_DEVICE", "gpux", "is 'gpux': device must be 'auto', 'cpu', "),
    ],
)
def test_a_wrong_choice_is_an_error(name, value, message):
    end = end_of("-c", PROGRAM, **{name: value})
    assert end.status == 1
    assert end.err.splitlines()[-1].startswith(f"ImportError: {name} {message}")
    for option in ("--help", "--info", "-V"):
        end = end_of("-m", "mxnp", option, **{name: value})
        assert (end.status, end.out) == (1, "")
        assert end.err.startswith(f"python -m mxnp: {name} {message}")
        assert end.err.count("\n") == 1


@pytest.mark.slow
def test_all_errors_are_named_at_once():
    end = end_of("-c", PROGRAM, MXNP_FUSE="2", MXNP_JIT="2")
    assert end.err.splitlines()[-1] == (
        "ImportError: MXNP_FUSE must be 0 or 1, but is '2'; "
        "MXNP_JIT must be 0, 1 or always, but is '2'"
    )


THREADS = "MXNP_NUM_THREADS must be a positive number, but is {!r}; it is ignored"
UNKNOWN = "{} is not a setting of mxnp"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *(
            ("MXNP_NUM_THREADS", value, THREADS.format(value))
            for value in ("abc", "-1", "0", "3x", "1e3", " ")
        ),
        ("MXNP_TRESHOLD", "0", UNKNOWN + ": did you mean MXNP_THRESHOLD?"),
        ("MXNP_NUM_THREAD", "2", UNKNOWN + ": did you mean MXNP_NUM_THREADS?"),
        ("MXNP_HOME", "/", UNKNOWN),
    ],
)
def test_others_are_warnings(tmp_path, name, value, message):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    end = end_of(file, **{"OMP_NUM_THREADS": "3", "MXNP_NUM_THREADS": "", name: value})
    line, source = end.err.splitlines()
    assert (end.out, source.strip()) == ("3 18.0\n", PROGRAM)
    assert line == f"{file}:1: RuntimeWarning: {message.format(name)}"


@pytest.mark.slow
@pytest.mark.parametrize("value", ["", "99999999999999999999", "0"])
def test_values_that_are_not_wrong(value):
    end = end_of("-c", PROGRAM, MXNP_THRESHOLD=value, MXNP_FUSE="", MXNP_VERIFY="1")
    assert (end.status, end.err) == (0, "")
    variables = {"MXNP_NUM_THREADS": "99999999999999999999"}
    assert end_of("-c", PROGRAM, **variables).out == "64 18.0\n"


POOLS = """
import multiprocessing, os, subprocess, sys
import mxnp as np
if __name__ == "__main__":
    for method in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(pool.map(np.sum, [[1], [2]]))
    subprocess.run([sys.executable, "-c", "import mxnp"])
    os.environ["MXNP_JTI"] = "1"
    subprocess.run([sys.executable, "-c", "import mxnp"])
"""


@pytest.mark.slow
def test_child_processes_do_not_repeat_warnings(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(POOLS)
    lines = end_of(file, MXNP_TRESHOLD="0", MXNP_NUM_THREADS="x").err.splitlines()
    names = [line.split()[2] for line in lines if "RuntimeWarning" in line]
    assert names == ["MXNP_NUM_THREADS", "MXNP_TRESHOLD", "MXNP_JTI"]


def test_only_one_module_reads_variables():
    sources = [*ROOT.glob("mxnp/**/*.py"), *ROOT.glob("csrc/**/*.[chm]")]
    reads = {
        path.relative_to(ROOT).as_posix()
        for path in sources
        if re.search(r"(getenv|environ)\b[^\n]*MXNP_", path.read_text(encoding="utf-8"))
    }
    assert reads == {"mxnp/_engine/environment.py"}
    others = {
        name
        for p in sources
        for name in re.findall('"(MXNP_[A-Z_]+)"', p.read_text(encoding="utf-8"))
    }
    assert others - {"MXNP_"} <= environment.VARIABLES.keys()


def test_variables_of_the_tests_are_known():
    files = [
        *ROOT.glob("tests/**/*.py"),
        *ROOT.glob(".ci/*"),
        *ROOT.glob(".github/**/*.yml"),
    ]
    named = {
        name
        for path in files
        if path.is_file() and path.name != "test_environment.py"
        for name in re.findall(r"\bMXNP_[A-Z_]+\b", path.read_text(encoding="utf-8"))
    }
    assert {f"MXNP_{name}" for name in environment._OF_TESTS.split()} <= named
    assert named <= environment._KNOWN


def test_the_pages_have_the_table():
    """README.md names the variables for users, docs/security.md has all."""
    rows = [
        f"| `{v.name}` | {v.kind} | {v.default or 'none'} | {v.meaning} | {v.if_wrong} |"
        for v in environment.VARIABLES.values()
    ]
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    table = page.partition("## Environment variables")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `MXNP.*$", table, re.MULTILINE) == rows
    settings = (
        (ROOT / "README.md").read_text(encoding="utf-8").partition("## Settings")[2]
    )
    named = re.findall(r"^\| `(MXNP_\w+)", settings, re.MULTILINE)
    assert named
    assert set(named) <= environment.VARIABLES.keys()
    for name, default in re.findall(
        r"`(MXNP_\w+)`.*?\| (\w+) \(the default\)", settings
    ):
        assert environment.VARIABLES[name].default == default
