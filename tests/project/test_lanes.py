"""Test the runner of lanes, .ci/lanes.py, with lanes of short commands."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

Run = Callable[..., tuple[int, list[str]]]


@pytest.fixture(name="lanes")
def _lanes(monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("lanes", ROOT / ".ci/lanes.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "lanes", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(name="run")
def _run(
    lanes: Any,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Run:
    def run(*names: str, **table: Any) -> tuple[int, list[str]]:
        monkeypatch.setattr(lanes, "LANES", table)
        monkeypatch.setattr(sys, "argv", ["lanes.py", *names])
        monkeypatch.setenv("CI_FOLDER", str(tmp_path))
        return lanes.main(), capfd.readouterr().out.splitlines()

    return run


def test_all_lanes_run_and_red_tests_have_their_commands(lanes: Any, run: Run) -> None:
    red = (
        "echo 'FAILED tests/a.py::test_b[x y] - assert 1';"
        " echo 'FAILED tests/a.py::test_c[2 sets-x-y] - assert 2';"
        " echo '2 failed, 3 passed'; false"
    )
    status, lines = run(
        "gate",
        first=lanes.gate(60, f"cd . && A=1 true pytest; {red}", "false", needs=()),
        second=lanes.gate(60, "echo '===== 5 passed in 1 s ====='", needs=()),
        rest=lanes.full(60, "echo not in the gate", needs=()),
    )
    assert status == 1
    assert "not in the gate" not in lines
    assert lines[
        lines.index("--- red, with the command that runs it alone:") + 1 :
    ] == [
        "A=1 true pytest --slow 'tests/a.py::test_b[x y]'",
        "A=1 true pytest --slow tests/a.py::test_c",
        "false",
        "8 passed, 3 failed",
    ]


def test_a_lane_ends_at_its_limit(lanes: Any, run: Run) -> None:
    endless = lanes.gate(1, "sleep 1000", "echo later", needs=())
    status, lines = run("gate", endless=endless)
    assert status == 1
    assert "--- endless: still running after its 1 s, and ended" in lines
    assert "later" not in lines


def test_lanes_that_others_need_run_once_and_before_them(lanes: Any, run: Run) -> None:
    table = {
        "made": lanes.gate(60, "echo making", needs=()),
        "user": lanes.gate(60, 'echo "in $CI_FOLDER"', needs=("made",)),
        "red": lanes.gate(60, "false", needs=("made",)),
        "of_red": lanes.gate(60, "echo unreached", needs=("red",)),
    }
    status, lines = run("of_red", "user", **table)
    assert status == 1
    assert lines.count("making") == 1
    assert "unreached" not in lines
    assert "of_red did not run: red is red" in lines
    status, lines = run("user", **table)  # in the same folder
    assert (status, lines.count("making")) == (0, 0)


def test_settings_of_the_caller_are_left_out(
    lanes: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MXNP_THRESHOLD", "0")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--slow")
    show = 'echo "${MXNP_THRESHOLD-unset} ${PYTEST_ADDOPTS/--slow/slow}"'
    _, lines = run("gate", show=lanes.gate(60, show, needs=()))
    assert "unset -n 2 --dist loadfile -p no:cacheprovider" in lines


def test_only_known_lanes_run(run: Run) -> None:
    status, lines = run("nothing")
    assert status == 2
    assert lines[-1].startswith("Lanes:")


def test_needs_of_the_table_come_before(lanes: Any) -> None:
    names = list(lanes.LANES)
    for name, lane in lanes.LANES.items():
        for needed in lane.needs:
            assert names.index(needed) < names.index(name)
            assert lanes.LANES[needed].in_gate
    assert lanes.readme_command().endswith("pytest")
