"""Test `python -m mxnp --report`: tables, pages, JSON, gates and exit status."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT, python_path

import mxnp
from mxnp._profiler import gate, html, model
from mxnp._profiler import report as _report
from mxnp._profiler import text as _table

HEAT = """
import numpy as np

n = 200
u = np.zeros((n, n))
u[0] = 1.0
for step in range(10):
    new = u.copy()
    new[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    err = abs(new - u).max()
    u = new
    if err < 1e-9:
        break
small = np.linalg.inv(np.eye(3))
print("done", round(float(u.sum()), 6))
"""


class Run:
    """A program that was run by ``python -m mxnp``."""

    def __init__(self, folder: Path, *args: str, **options: Any) -> None:
        clean = {k: v for k, v in os.environ.items() if k[:5] != "MXNP_"}
        done = subprocess.run(
            [sys.executable, *options.pop("before", ["-m", "mxnp"]), *args],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            input=options.pop("stdin", ""),
            env=clean | {"PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "120"} | options,
        )
        self.status, self.output, self.errors = (
            done.returncode,
            done.stdout,
            done.stderr,
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "heat.py").write_text(HEAT.lstrip())
    return tmp_path


def write(folder: Path, text: str) -> str:
    (folder / "program.py").write_text(textwrap.dedent(text).lstrip())
    return "program.py"


# -- Text -------------------------------------------------------------------------------


def test_tables(folder):
    done = Run(folder, "--report", "heat.py")
    assert done.status == 0
    assert done.output.startswith("done ")
    assert len(done.output.splitlines()) == 1  # everything else is on standard error
    text = done.errors
    assert re.search(
        r"^ ?heat\.py:9  err = abs\(new - u\)\.max\(\) +\S+ [mµ]?s", text, re.M
    )
    assert re.search(
        r"^ +subtract  new - u +10 +400,000 +\S+ [mµ]?s +6\.40 MB +100%", text, re.M
    )
    assert re.search(r"^ +linalg\.inv .* 1 +9 +\S+ [mµ]?s +144 bytes", text, re.M)
    assert "Waits: everything recorded had to run" in text
    assert re.search(r"heat\.py:9  abs\(new - u\)\.max\(\) +10 +\d+ +\S+ [mµ]?s", text)
    assert "max returns a number" in text
    assert re.search(
        r"Peak memory: \S+ [MkG]B in mxnp's arrays, \S+ [MG]B in the proc", text
    )
    last = text.rstrip().splitlines()[-1]
    assert re.fullmatch(
        r"\S+ [mµ]?s of \S+ [mµ]?s in array work: \d+% fused, \d+% engine, \d+% NumPy",
        last,
    )


@pytest.mark.slow
def test_reports_do_not_need_rich(folder):
    hidden = folder / "without"
    hidden.mkdir()
    block = "import sys\nsys.modules['rich'] = None\n"
    (hidden / "sitecustomize.py").write_text(block)
    options = ("--report=json", "r.json", "--report=html", "r.html", "--report")
    done = Run(folder, *options, "heat.py", PYTHONPATH=python_path(hidden))
    assert done.status == 0
    assert "Lines and operations" in done.errors
    assert json.loads((folder / "r.json").read_text(encoding="utf-8"))["rows"]
    assert "heat.py" in (folder / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 100])
def test_tables_have_the_width_of_the_terminal(width, monkeypatch):
    with mxnp.profile() as profile:
        total = (mxnp.ones(3) + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12).sum()
    shown = _table.render(profile.report, width)
    assert float(total) == 237
    lines = shown.split("\n\n")[0].split("\n")
    assert max(map(len, lines)) == width
    assert any(
        line.lstrip().startswith("test_report.py") or "…" in line for line in lines
    )
    stream = io.StringIO()
    profile.print(stream)
    assert stream.getvalue().rstrip("\n") == _table.render(profile.report)
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))
    stream.truncate(0)
    stream.seek(0)
    profile.print(stream)
    assert stream.getvalue().rstrip("\n") == shown


# -- json -------------------------------------------------------------------------------


def test_json(folder):
    done = Run(folder, "--report=json", "out.json", "heat.py", "argument")
    assert (done.status, done.errors) == (0, "")
    report = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert list(report) == [
        "schema", "mxnp", "numpy", "program", "total", "rows", "waits", "checks",
        "conversions",
    ]  # fmt: skip
    assert report["schema"] == "mxnp-report/1"
    assert report["program"] == "heat.py"
    place = [field.name for field in fields(model.Place)] + ["expression"]
    for key, kind in (
        ("rows", model.Row), ("waits", model.Wait), ("checks", model.Check),
        ("conversions", model.Conversion),
    ):  # fmt: skip
        names = [field.name for field in fields(kind)][1:]
        assert all(list(one) == place + names for one in report[key])
    assert list(report["total"]) == [field.name for field in fields(model.Total)]
    subtract = next(row for row in report["rows"] if row["operation"] == "subtract")
    assert (subtract["line"], subtract["calls"], subtract["elements"]) == (
        9,
        10,
        400_000,
    )
    assert subtract["file"] == str(folder / "heat.py")
    assert (subtract["bytes_read"], subtract["backend"]) == (6_400_000, "cpu")
    found = {wait["line"]: wait["count"] for wait in report["waits"]}
    assert found == {9: 10}


def test_the_schema_is_documented():
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    for kind in (
        model.Place,
        model.Row,
        model.Wait,
        model.Check,
        model.Conversion,
        model.Total,
    ):
        for field in fields(kind):
            assert f"`{field.name}`" in text or field.name == "place", field.name
    for reason in ("numpy", "result", "mask", "full", "export"):
        assert f"`{reason}`" in text


@pytest.mark.slow
def test_standard_output_and_files_with_a_colon(folder):
    program = write(folder, "import numpy as np\nnp.ones(3) + 1\n")
    for options in ["--report=json:-"], ["--report", "json", "-"]:
        done = Run(folder, *options, program)
        assert json.loads(done.output)["total"]["calls"] == 2
    (folder / "json").write_text("print(1)")  # a program, as no file follows
    assert Run(folder, "--report", "json").output == "1\n"
    done = Run(folder, "--report=json:a.json", "--report=html:a.html", program)
    assert (done.status, done.output, done.errors) == (0, "", "")
    assert json.loads((folder / "a.json").read_text(encoding="utf-8"))["rows"]
    assert (folder / "a.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.slow
def test_a_file_is_opened_where_the_program_began(folder):
    program = write(folder, "import os\nos.chdir('/')\n")
    (folder / "r.json").write_text("what was there before" * 1000)
    assert Run(folder, "--report=json", "r.json", program).status == 0
    assert json.loads((folder / "r.json").read_text(encoding="utf-8"))["rows"] == []


# -- Refused options ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--report=xml", "heat.py"], "expected json or html, not 'xml'"),
        (["--report=json"], "expected a file"),
        (
            ["--report=json", "heat.py"],
            "cannot write a report to a Python file: heat.py",
        ),
        (["--report=html", "no/r.html", "heat.py"], "No such file or directory"),
        (["--fail-on-sync=few", "heat.py"], "expected a number, not 'few'"),
        (["--trace"], "expected one argument"),
        (["--allow", "", "heat.py"], "expected a name"),
    ],
)
def test_wrong_options(folder, args, message):
    done = Run(folder, *args)
    assert done.status == 2
    assert done.output == ""
    assert message in done.errors
    assert (folder / "heat.py").read_text(encoding="utf-8") == HEAT.lstrip()


# -- How the program ends ----------------------------------------------------------------


@pytest.mark.slow
def test_a_program_that_fails(folder):
    program = write(
        folder,
        """
        import numpy as np
        x = np.ones(20_000) * 2
        print(x.sum())
        raise ValueError("mine")
        """,
    )
    done = Run(folder, "--report", program)
    assert done.status == 1
    assert done.output == "40000.0\n"
    traceback, _, report = done.errors.partition("ValueError: mine\n")
    assert 'program.py", line 4, in <module>' in traceback
    assert "mxnp/" not in traceback
    assert "multiply" in report
    assert "in array work" in report


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "status"), [("", 0), ("0", 0), ("3", 3), ("'words'", 1)]
)
def test_a_program_that_exits(folder, code, status):
    program = write(
        folder,
        f"""
        import sys
        import numpy as np
        x = np.ones(20_000) * 2
        sys.exit({code})
        """,
    )
    done = Run(folder, "--report", program)
    assert done.status == status
    assert "multiply" in done.errors  # the recorded operation has run
    assert ("words\n" in done.errors) == (code == "'words'")


@pytest.mark.slow
def test_errors_that_were_still_to_come(folder):
    text = """
        import sys
        import numpy as np
        x = np.zeros(50_000)
        y = x[np.arange(50_000) + 1]
        {}
        """
    done = Run(folder, "--report", write(folder, text.format("")))
    assert done.status == 1
    assert "IndexError: index 50000 is out of bounds" in done.errors
    assert "in array work" in done.errors
    done = Run(folder, "--report", write(folder, text.format("sys.exit(4)")))
    assert done.status == 4
    assert done.errors.count("IndexError: index 50000 is out of bounds") == 1
    assert "in array work" in done.errors


@pytest.mark.slow
def test_child_processes_write_nothing(folder):
    program = write(
        folder,
        """
        import multiprocessing, os, sys
        import numpy as np

        def work(n):
            return float((np.ones(20_000) * n).sum())

        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    print(pool.map(work, [1, 2]), flush=True)
            if os.fork() == 0:
                print((np.ones(20_000) * 3).sum(), flush=True)
                sys.exit(0)
            os.wait()
        """,
    )
    done = Run(folder, "--report=json", "r.json", "--report", program)
    assert done.status == 0, done.errors
    assert sorted(done.output.splitlines()) == ["60000.0", *2 * ["[20000.0, 40000.0]"]]
    assert done.errors.count("rray work") == 1
    report = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    assert report["rows"] == []  # without the work of the children


@pytest.mark.slow
def test_threads_that_go_on_are_waited_for(folder):
    program = write(
        folder,
        """
        import threading, time
        import numpy as np

        def work():
            time.sleep(0.3)
            print((np.ones(20_000) * 3).sum())

        threading.Thread(target=work).start()
        """,
    )
    done = Run(folder, "--report", program)
    assert done.output == "60000.0\n"
    assert "multiply" in done.errors


@pytest.mark.slow
def test_threads_that_wait_for_the_main_thread_end(folder):
    program = write(
        folder,
        """
        import threading
        import numpy as np

        def work():
            threading.main_thread().join()
            print((np.ones(20_000) * 3).sum())

        threading.Thread(target=work).start()
        """,
    )
    done = Run(folder, "--report", program)
    assert done.output == "60000.0\n"
    assert "multiply" in done.errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "stdin"),
    [
        (["-c", "import numpy as np; x = np.ones(9) + 1"], ""),
        (["-"], "import numpy as np\nx = np.ones(9) + 1\n"),
        ([], "import numpy as np\nx = np.ones(9) + 1\n"),
        (["-m", "module"], ""),
    ],
)
def test_other_kinds_of_programs(folder, args, stdin):
    (folder / "module.py").write_text("import numpy as np\nx = np.ones(9) + 1\n")
    done = Run(folder, "--report=json", "r.json", *args, stdin=stdin)
    assert done.status == 0, done.errors
    report = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    assert sorted(row["operation"] for row in report["rows"]) == ["add", "ones"]
    assert report["program"] == (
        " ".join(args)[:60] if args[:1] == ["-m"] else (args or ["-"])[0]
    )


# -- Gates ------------------------------------------------------------------------------

FALLS_BACK = """
import numpy as np
x = np.arange(140_000.0)
for i in range(3):
    y = np.convolve(x, [0, 1])
z = np.sort(x, kind="heapsort")
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--fail-on-fallback"], 1),
        (["--fail-on-fallback=3"], 1),
        (["--fail-on-fallback=4"], 0),
        (["--fail-on-fallback", "--allow", "convolve"], 1),
        (["--fail-on-fallback", "--allow", "convolve", "--allow", "s*t"], 0),
        (["--fail-on-fallback", "--allow=program.py"], 0),
        (["--fail-on-fallback", "--allow=program.py:4", "--allow=program.py:5"], 0),
        (["--fail-on-fallback", "--allow=program.py:4"], 1),
        (["--fail-on-sync"], 1),
        (["--fail-on-sync=2"], 0),
    ],
)
def test_gates(folder, options, status):
    program = write(folder, FALLS_BACK)
    done = Run(folder, *options, program)
    assert done.status == status, done.errors
    if status == 0:
        assert done.errors == ""
    elif options == ["--fail-on-fallback"]:
        assert done.errors.splitlines() == [
            "mxnp: NumPy ran operations on large arrays: 4 times",
            f"        3 x {folder / program}:4: convolve: np.convolve(x, [0, 1])",
            f'        1 x {folder / program}:5: sort: np.sort(x, kind="heapsort")',
        ]


@pytest.mark.slow
def test_gates_leave_a_programs_own_status_alone(folder):
    program = write(folder, FALLS_BACK + "import sys\nsys.exit(7)\n")
    done = Run(folder, "--fail-on-fallback", program)
    assert done.status == 7
    assert "4 times" in done.errors
    program = write(folder, FALLS_BACK + "import sys\nsys.exit(0)\n")
    assert Run(folder, "--fail-on-fallback", program).status == 1
    program = write(folder, "import numpy as np\nprint(np.ones(5).sum())\n")
    done = Run(folder, "--fail-on-fallback", "--fail-on-sync", program)
    assert (done.status, done.output, done.errors) == (0, "5.0\n", "")


@pytest.mark.parametrize(
    ("pattern", "is_allowed"),
    [
        ("linalg.svd", True), ("linalg.*", True), ("svd", False), ("a.py", True),
        ("src/a.py", True), ("src/*.py", True), ("/x/src/a.py", True), ("b.py", False),
        ("a.py:14", True), ("a.py:15", False), ("src/a.py:14", True), ("b.py:14", False),
        ("14", False), (":14", False), ("", False),
    ],
)  # fmt: skip
def test_pattern_of_allow_matches(pattern, is_allowed):
    place = model.Place("/x/src/a.py", 14, 14, 0, 5, "f")
    assert gate.is_allowed(place, "linalg.svd", [pattern]) is is_allowed


# -- The page ---------------------------------------------------------------------------


class Page(HTMLParser):
    """A parsed page. Its elements must be closed in order, and its text is stored."""

    EMPTY = frozenset({"meta", "br", "hr", "img", "input", "link"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] not in ("style", "script"):
            self.text.append(data)


@pytest.mark.slow
def test_the_page(folder):
    Run(folder, "--report=html", "r.html", "heat.py")
    text = (folder / "r.html").read_text(encoding="utf-8")
    page = Page(text)
    shown = " ".join(page.text)
    for line in HEAT.strip().splitlines():
        assert line.strip() in shown, line
    assert "10 waits" in shown
    assert "max returns a number" in shown
    assert "linalg.inv" in shown
    tags = [tag for tag, _ in page.tags]
    assert tags.count("main") == 1
    assert not {"link", "img", "iframe", "object"} & set(tags)
    for tag, attributes in page.tags:  # the page loads nothing
        assert "src" not in attributes, tag
        assert "href" not in attributes, tag
    assert "http" not in text.replace("http-equiv", "")
    metas = [attributes for tag, attributes in page.tags if tag == "meta"]
    policy = next(m["content"] for m in metas if "http-equiv" in m)
    assert policy.startswith("default-src 'none'")
    assert any(m.get("name") == "viewport" for m in metas)
    keys = [a["data-key"] for tag, a in page.tags if tag == "td" and "data-key" in a]
    assert "400000" in keys


@pytest.mark.slow
def test_the_page_escapes_text_of_the_program(folder):
    evil = "<script>alert('x')</script>&\""
    program = write(
        folder,
        f"""
        import numpy as np
        {evil!r}; a = np.ones(3) + len({evil!r})
        def {"f"}(): pass
        """,
    )
    name = "<b>.html"
    Run(folder, "--report=html", name, program)
    text = (folder / name).read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(" in text
    assert "alert('x')" in " ".join(Page(text).text).replace("\\'", "'")
    report = mxnp.profile().report
    assert "<i>" not in html.page(report, "<i>")
    assert "&lt;i&gt;" in html.page(report, "<i>")


@pytest.mark.slow
def test_long_files_are_folded(folder):
    lines = ["import numpy as np", *("pass" for _ in range(100)), "np.ones(3) + 1"]
    write(folder, "")
    (folder / "program.py").write_text("\n".join(lines) + "\n")
    Run(folder, "--report=html", "r.html", "program.py")
    page = Page((folder / "r.html").read_text(encoding="utf-8"))
    assert "… 97 lines" in " ".join(page.text)
    rows = [a for _, a in page.tags if a.get("class") == "row"]
    assert len(rows) == 102


@pytest.mark.slow
def test_files_that_are_gone(folder):
    program = write(
        folder,
        """
        import os
        import numpy as np
        os.remove(__file__)
        exec("a = np.ones(3) + 1")
        b = np.ones(3) + 1
        """,
    )
    done = Run(folder, "--report", "html", "r.html", "--report", program)
    assert done.status == 0, done.errors
    assert "add" in " ".join(Page((folder / "r.html").read_text(encoding="utf-8")).text)
    assert "<string>:1" in done.errors


# -- In a program and in notebooks --------------------------------------------------------


def test_forms_of_a_profile(tmp_path, capsys):
    with mxnp.profile() as profile:
        mxnp.ones(3) + 1
    profile.print()
    assert "in array work" in capsys.readouterr().out
    text = profile.to_json(tmp_path / "r.json")
    assert (tmp_path / "r.json").read_text(encoding="utf-8") == text
    assert json.loads(text) == json.loads(json.dumps(_report.to_dict(profile.report)))
    assert profile.to_html(tmp_path / "r.html") == (tmp_path / "r.html").read_text(
        encoding="utf-8"
    )
    shown = Page(profile._repr_html_())
    assert "add" in shown.text
    assert "script" not in [tag for tag, _ in shown.tags]
    assert repr(profile) == f"<mxnp.profile: {_table.summary(profile.report)}>"


def test_a_profile_in_a_notebook_has_the_colours_of_the_notebook():
    """A dark theme has light text, and styles of its own for tables."""
    with mxnp.profile() as profile:
        mxnp.ones(3) + 1
    shown = profile._repr_html_()
    style = shown[shown.index("<style>") : shown.index("</style>")]
    rules = re.sub(r"@media.*?\} \}|\.page[^}]*\}", "", style, flags=re.DOTALL)
    variables = dict(re.findall(r"(--\w+): ([^;]*);", rules))
    assert variables["--ink"] == "currentcolor"
    assert variables["--paper"] == "transparent"
    assert "/" in variables["--shade"]  # an opacity
    assert "/" in variables["--line"]
    tables = re.findall(r"^([^{}]*\b(?:table|tr|td|th)\b[^{}]*)\{", rules, re.MULTILINE)
    names = [name for rule in tables for name in rule.split(",")]
    assert len(names) > 4
    for name in names:  # JupyterLab's rules have one class and one type
        assert re.search(r"\.wide |button|\[|\.code", name), name


def test_rich_shows_a_profile():
    from rich import console

    with mxnp.profile() as profile:
        mxnp.ones(3) + 1
    out = console.Console(width=120, record=True, file=io.StringIO())
    out.print(profile)
    assert "in array work" in out.export_text()
