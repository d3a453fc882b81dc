"""Test the magics of IPython: %mxnp and %%mxnp."""

from __future__ import annotations

import json
import sys
import types

import numpy
import pytest

import mxnp
from mxnp import _bridge

pytest.importorskip("IPython", reason="IPython must be installed")

from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture(autouse=True)
def threshold():
    before = _bridge.set_threshold(16384)
    yield
    _bridge.set_threshold(before)


@pytest.fixture
def shell():
    main = sys.modules["__main__"]
    shell = InteractiveShell(user_module=types.ModuleType("__main__"))
    shell.run_line_magic("load_ext", "mxnp")
    yield shell
    mxnp.uninstall()
    sys.modules["__main__"] = main


def test_a_cell_gets_mxnp_and_the_next_does_not(shell, capsys):
    shell.run_cell("%%mxnp\nimport numpy as np\nmade = np.ones(3) + 1")
    assert type(shell.user_ns["made"]) is mxnp.ndarray
    shell.run_cell("import numpy\nmade = numpy.ones(3)")
    assert type(shell.user_ns["made"]) is numpy.ndarray
    assert capsys.readouterr().out == ""


def test_a_report_of_a_cell(shell, capsys, tmp_path):
    shell.run_cell(
        f"%%mxnp --report --json {tmp_path / 'r.json'} --html {tmp_path / 'r.html'}"
        f" --trace {tmp_path / 't.json'}\n"
        "import numpy as np\n"
        "made = np.ones(3) + 1\n"
    )
    out = capsys.readouterr().out
    assert "made = np.ones(3) + 1" in out
    assert "in array work" in out
    rows = json.loads((tmp_path / "r.json").read_text())["rows"]
    assert {row["operation"]: row["line"] for row in rows} == {"ones": 2, "add": 2}
    assert "made = np.ones(3) + 1" in (tmp_path / "r.html").read_text()
    names = [
        e["name"] for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    ]
    assert "add" in names


def test_a_report_is_a_page_where_there_is_one(shell, monkeypatch):
    shown = []
    monkeypatch.setattr("mxnp._cli.notebook.display", shown.append)
    shell.kernel = object()
    shell.run_cell("%%mxnp --report\nimport numpy as np\nmade = np.ones(3) + 1")
    assert [type(each) for each in shown] == [mxnp.profile]
    assert "made" not in shown[0]._repr_html_().partition("add")[0]


def test_the_mode_is_the_cells(shell):
    shell.run_cell("%%mxnp --mode fast\nimport mxnp\nmode = mxnp.get_mode()")
    assert shell.user_ns["mode"] == "fast"
    assert mxnp.get_mode() == "strict"


def test_a_line_switches_on_and_off(shell):
    shell.run_cell("%mxnp\nimport numpy as np")
    assert shell.user_ns["np"] is mxnp
    shell.run_cell("%%mxnp\nimport numpy as np")
    shell.run_cell("import numpy as np")  # %%mxnp keeps an earlier %mxnp
    assert shell.user_ns["np"] is mxnp
    shell.run_cell("%mxnp off\nimport numpy as np")
    assert shell.user_ns["np"] is numpy


def test_wrong_arguments(shell, capsys):
    shell.run_cell("%mxnp nonsense")
    assert "invalid choice: 'nonsense'" in capsys.readouterr().err


def test_an_error_in_a_cell_is_shown_and_leaves_nothing_on(shell, capsys):
    shell.run_cell("%%mxnp --report\nimport numpy as np\nnp.ones(3) + np.ones(4)")
    assert "ValueError" in capsys.readouterr().out
    assert not mxnp._cli.runner.is_installed()
    assert _bridge.profile_rows() == []
