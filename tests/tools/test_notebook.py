"""Test the magics of IPython: %mxnp and %%mxnp."""

from __future__ import annotations

import json
import re
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
    shell = InteractiveShell.instance(user_module=types.ModuleType("__main__"))
    shell.run_line_magic("load_ext", "mxnp")
    yield shell
    mxnp.uninstall()
    sys.modules["__main__"] = main
    InteractiveShell.clear_instance()


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
    rows = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["rows"]
    assert {row["operation"]: row["line"] for row in rows} == {"ones": 3, "add": 3}
    assert "made = np.ones(3) + 1" in (tmp_path / "r.html").read_text(encoding="utf-8")
    names = [
        e["name"]
        for e in json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))[
            "traceEvents"
        ]
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


@pytest.mark.parametrize("option", ["", "--report", "--verify", "--trap-nan"])
def test_a_cell_with_an_error_fails(shell, capsys, option):
    result = shell.run_cell(f"%%mxnp {option}\nraise KeyError('lost')")
    assert isinstance(result.error_in_exec, KeyError)
    out = _without_colours(capsys.readouterr().out)
    assert out.count("KeyError: 'lost'") == 1
    assert ("No array work" in out) == (option == "--report")
    assert "showtraceback" not in vars(shell)
    shell.run_cell("raise OSError('shown')")
    assert "OSError" in capsys.readouterr().out


def test_another_error_than_that_of_the_cell_is_shown(shell, capsys):
    shell.run_cell(
        "try:\n"
        "    get_ipython().run_cell_magic('mxnp', '', 'raise KeyError')\n"
        "except KeyError:\n"
        "    pass\n"
    )
    capsys.readouterr()
    shell.run_cell("raise OSError('shown')")
    assert "OSError: shown" in _without_colours(capsys.readouterr().out)


def _without_colours(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_places_have_the_number_and_the_lines_of_the_cell(shell, capsys):
    count = shell.execution_count
    code = "import numpy as np\nwith np.errstate(all='ignore'):\n    np.zeros(3) / 0"
    shell.run_cell(f"%%mxnp --trap-nan\n{code}", store_history=True)
    assert (
        f"\n  at Cell In[{count}], line 4: np.zeros(3) / 0" in capsys.readouterr().out
    )
    shell.run_cell("%%mxnp --mode fast\n%%time\nmade = 1", store_history=True)
    assert "Wall time" in capsys.readouterr().out  # a magic in the cell
    shell.run_cell("1 / 0", store_history=True)
    assert shell.execution_count == count + 3
    assert f"Cell In[{count + 2}], line 1" in _without_colours(capsys.readouterr().out)


DEFECT = """\
import numpy as np
x = np.ones(40_000)
total = 0.0
for i in range(len(x)):
    total += x[i]
"""


def test_the_doctor_of_a_cell(shell, capsys):
    shell.run_cell(f"%%mxnp --doctor\n{DEFECT}")
    out = capsys.readouterr().out
    assert out.startswith("Doctor: 1 finding\n")
    assert "Cell In[" in out
    assert "Lines and operations" not in out
    shell.run_cell(f"%%mxnp --doctor --report\n{DEFECT}")
    out = capsys.readouterr().out
    assert "Doctor: 1 finding\n" in out
    assert "Lines and operations" in out


def test_the_page_of_a_doctor_has_its_findings(shell, monkeypatch, tmp_path):
    shown = []
    monkeypatch.setattr("mxnp._cli.notebook.display", shown.append)
    shell.kernel = object()
    shell.run_cell(f"%%mxnp --doctor --html {tmp_path / 'd.html'}\n{DEFECT}")
    assert [type(each) for each in shown] == [mxnp.doctor]
    for page in (
        shown[0]._repr_html_(),
        (tmp_path / "d.html").read_text(encoding="utf-8"),
    ):
        assert "Doctor: 1 finding" in page
        assert "np.add.accumulate" in page or "sum" in page
        assert "`" not in shown[0]._repr_html_()
    assert repr(shown[0]).startswith("<mxnp.doctor: 1 finding. ")


def test_checks_of_a_cell(shell, capsys):
    shell.run_cell("%%mxnp --verify\nimport numpy as np\ny = np.ones(20_000) + 1")
    assert "2 operations verified" in capsys.readouterr().out
    code = (
        "import numpy as np\nwith np.errstate(all='ignore'):\n    y = np.zeros(3) / 0"
    )
    shell.run_cell(f"%%mxnp --trap-nan\n{code}")
    assert "NaN" in capsys.readouterr().out
    assert (
        "y" not in {**shell.user_ns, "y": 0} or type(shell.user_ns["y"]) is mxnp.ndarray
    )


@pytest.mark.parametrize(
    "option", ["--report", "--doctor", "--verify", "--html f", "timeit"]
)
def test_a_line_magic_refuses_options_of_cells(shell, capsys, option):
    shell.run_cell(f"%mxnp {option}")
    err = capsys.readouterr().err
    assert f"UsageError: {option.split()[0]} measures a cell: use %%mxnp" in err
    assert not mxnp._cli.runner.is_installed()


def test_timeit_computes_the_values(shell, capsys):
    shell.run_cell("import time\nimport mxnp as np\nruns = []\nx = np.ones(200_000)")
    # IPython repeats what is fast until 0.2 s have passed.
    shell.run_cell("%%mxnp timeit\ntime.sleep(0.1)\nruns.append(np.exp(x))\nnp.sqrt(x)")
    assert "per loop" in capsys.readouterr().out
    assert _bridge.pending() == 0
    assert "_mxnp_synchronize" not in shell.user_ns
    assert len(shell.user_ns["runs"]) > 7


def test_places_in_cells_have_the_names_of_ipython(shell, capsys):
    shell.run_cell("import mxnp as np\nx = np.arange(100_000)\ni = x * 2")
    shell.run_cell("y = x[i]\n", store_history=True)
    shell.run_cell("np.synchronize()")
    out = capsys.readouterr().out
    assert "IndexError" in out
    assert "recorded at Cell In[" in out


CELLS = [
    "import mxnp as np\n%load_ext mxnp",
    f"%%mxnp --doctor\n{DEFECT}",
    "%%mxnp --verify\nimport numpy as np\ny = np.ones(20_000) + 1",
    "%%mxnp timeit\nnp.exp(y)",
    "with np.doctor() as d:\n    for i in range(10_000):\n        t = y[i] + 1\nd",
    "i = np.arange(1_000_000) * 2\nz = np.arange(1_000_000)",
    "w = z[i]",
    "w.sum()",
    "%%mxnp --trap-nan\nimport numpy as np\ny = np.zeros(3) * np.inf",
    "%mxnp --report",
    "%%mxnp --report\nimport numpy as np\n(np.ones(20_000) + 1).max()",
]


@pytest.mark.slow
@pytest.mark.needs("ipykernel", "nbclient")
@pytest.mark.filterwarnings("default")  # of Jupyter's packages
def test_a_notebook(tmp_path, monkeypatch):
    """Run a notebook in a kernel, as Jupyter does."""
    from nbclient import NotebookClient
    from nbformat import v4

    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in CELLS])
    client = NotebookClient(
        notebook, timeout=240, kernel_name="python3", allow_errors=True
    )
    client.execute(cwd=str(tmp_path))
    outputs = [cell.outputs for cell in notebook.cells]
    errors = {
        number: _without_colours("\n".join(output.traceback))
        for number, each in enumerate(outputs, 1)
        for output in each
        if output.output_type == "error"
    }

    def page(number):
        (output,) = (o for o in outputs[number - 1] if "text/html" in o.get("data", ()))
        return output.data["text/html"]

    def text(number):
        return "".join(o.get("text", "") for o in outputs[number - 1])

    assert "Doctor: 1 finding" in page(2)
    assert "<b>Cell In[2], line 5</b>" in page(2)
    assert "2 operations verified" in text(3)
    assert "per loop" in text(4)
    assert "Doctor: 1 finding" in page(5)
    assert "<b>Cell In[5], line 2</b>" in page(5)
    assert "Cell&nbsp;In[5],&nbsp;line&nbsp;3" in page(5)
    assert {*errors} == {8, 9}
    assert errors[8].rstrip().endswith("recorded at Cell In[7], line 1")
    assert "at Cell In[9], line 3: y = np.zeros(3) * np.inf" in errors[9]
    assert "UsageError: --report measures a cell" in text(10)
    assert "Cell&nbsp;In[11],&nbsp;line&nbsp;3" in page(11)
    results = [o for o in outputs[10] if o.output_type == "execute_result"]
    assert [(o.execution_count, o.data["text/plain"]) for o in results] == [
        (11, "np.float64(2.0)")
    ]
