"""Test the documentation: its code, its tables and its links."""

import doctest
import inspect
import io
import os
import pkgutil
import re
import subprocess
import sys

import code_blocks
import measured_coverage as coverage
import numpy
import pytest
from support.metal import needs_gpu
from support.paths import ROOT

import mxnp
from mxnp import _bridge
from mxnp._engine import core
from mxnp.bench import suites

DOCS = ROOT / "docs"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(ROOT / name / "README.md" for name in ("tests/suites/numpy", "array_api_tests")),
    *sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts),
]
# The settings of a CI lane would change the output of examples.
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith("MXNP_")}

each_page = pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix()
)
NEEDS_DASK = [pytest.mark.slow, pytest.mark.needs("dask")]
with_code = pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=NEEDS_DASK if page.name == "scaling.md" else ())
        for page in PAGES
        if any(block.word in ("python", "sh") for block in code_blocks.blocks(page))
    ],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)


# -- Code -----------------------------------------------------------------------------


@each_page
def test_blocks_name_their_language(page):
    for block in code_blocks.blocks(page):
        assert block.word in code_blocks.WORDS, f"{page}:{block.line}"
        if block.word in ("text", "metal"):
            assert ">>>" not in block.code, f"{page}:{block.line}"
            assert block.mark == "", f"{page}:{block.line}"


@pytest.mark.sampled(2)
@with_code
def test_code_runs(page):
    done = subprocess.run(
        [sys.executable, code_blocks.__file__, str(page)],
        cwd=ROOT,
        env=CLEAN,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    expected = [
        block
        for block in code_blocks.blocks(page)
        if block.word in ("python", "sh")
        and not block.mark.startswith(("not run", "test"))
        and (block.mark != "needs metal" or "metal" in mxnp.devices())
    ]
    assert done.stdout.splitlines()[-1] == str(len(expected))


def page_of(tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text(text)
    return subprocess.run(
        [sys.executable, code_blocks.__file__, str(path)],
        env=CLEAN,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected"),
        ("```python\n>>> print('2 kinds, 3.1 ms')\n3 kinds, 2 ms\n```\n", "Expected"),
        ("```python\n\nraise TypeError('wrong')\n```\n", "line 3"),
        ("```sh\ntrue\nfalse\n```\n", "line 2"),
    ],
)
def test_code_that_fails_is_found(tmp_path, text, complaint):
    done = page_of(tmp_path, text)
    assert done.returncode == 1
    assert complaint in done.stdout + done.stderr


@pytest.mark.slow
def test_a_page_has_one_namespace_and_any_time(tmp_path):
    text = (
        "```python\nx = np.ones(3)\n```\n"
        "<!-- not run: it would fail -->\n```python\nx = None\n```\n"
        "```python\n>>> print(x.sum(), '3.1 ms, 1 thread')\n3.0 9.9 µs, 8 threads\n```\n"
        "```sh\npython -m mxnp program.py | grep mxnp\n```\n"
    )
    done = page_of(tmp_path, text)
    assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr


def test_shell_block_runs_a_file_of_the_page(tmp_path):
    text = (
        "<!-- file: once.py -->\n```python\nprint('written')\n```\n"
        "```sh\npython once.py | grep written\n```\n"
    )
    done = page_of(tmp_path, text)
    assert (done.stdout, done.returncode) == ("2\n", 0), done.stderr


def own_names():
    """Return the public names that mxnp has and NumPy lacks."""
    return sorted(
        name
        for name in dir(mxnp)
        if not (name.startswith("_") or hasattr(numpy, name))
        and not inspect.ismodule(getattr(mxnp, name))
    )


@pytest.mark.parametrize("name", own_names())
def test_examples_of_docstrings(name):
    parser = doctest.DocTestParser()
    text = getattr(getattr(mxnp, name), "__doc__", None) or ""
    test = parser.get_doctest(text, {"np": mxnp}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    before = mxnp.get_mode()
    try:
        assert runner.run(test).failed == 0
    finally:
        mxnp.set_mode(before)


# -- The reference --------------------------------------------------------------------


def reference():
    pages = (DOCS / "reference").glob("*.md")
    return "".join(page.read_text(encoding="utf-8") for page in pages)


@pytest.mark.parametrize("name", own_names())
def test_every_name_of_ours_has_its_page(name):
    assert re.search(rf"auto\w+:: mxnp\.{name}$", reference(), re.MULTILINE) or (
        re.search(rf"data:: mxnp\.{name}$", reference(), re.MULTILINE)
    )


def test_the_reference_names_existing_objects():
    for name in re.findall(r"auto(?:function|class):: ([\w.]+)", reference()):
        assert pkgutil.resolve_name(name).__doc__


# -- Recorded operations --------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    with mxnp.device("cpu"):
        return coverage.measure()


def test_rows_are_recorded_as_themselves(found):
    assert found.ufuncs.keys() == {op.name for op in core.ops()}
    for name, by_dtype in found.ufuncs.items():
        for each in by_dtype.values():
            assert each.operations in ((name,), ())
        assert any(each.operations for each in by_dtype.values()), name


def test_ufuncs_without_a_loop_are_not_recorded(found):
    without = {
        (name, dtype)
        for name, by_dtype in found.ufuncs.items()
        for dtype, each in by_dtype.items()
        if not each.operations
    }
    integers = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
    assert without == {
        *(("power", dtype) for dtype in integers),
        *(("expm1", dtype) for dtype in ("complex64", "complex128")),
    }


@pytest.mark.parametrize("part", ["functions", "methods"])
def test_functions_outside_the_device_are_recorded(found, part):
    for name, each in getattr(found, part).items():
        of_metal = name in ("dot", "matmul")
        assert each.is_recorded != of_metal, name


@pytest.mark.parametrize("name", sorted(coverage.recorded()))
def test_explain_names_the_operations(found, name):
    """Check that `explain` prints the operations of the table for the same call."""
    expected = found.functions[name]
    if not expected.operations or expected.waits:
        return  # Nothing waits, or more than one flush is needed.
    before = _bridge.set_threshold(0)
    try:
        with mxnp.device("cpu"):
            kept = coverage.prepare(expected.call)()
            assert _bridge.pending() == len(expected.operations)
            mxnp.synchronize()
        text = io.StringIO()
        mxnp.explain(text)
        listed = re.findall(r"[a-z_]+[a-z0-9_.]*(?=,|\n)", text.getvalue())
        assert [each for each in listed if each in expected.operations] == list(
            expected.operations
        )
    finally:
        _bridge.set_threshold(before)
    assert kept is not NotImplemented


def test_functions_without_a_recorded_form_are_numpys():
    """Check that some functions that the page lists as NumPy's record nothing."""
    x = mxnp.ones((40, 50))
    calls = {
        "flip": lambda: mxnp.flip(x),
        "vdot": lambda: mxnp.vdot(x, x),
        "cov": lambda: mxnp.cov(x),
        "packbits": lambda: mxnp.packbits(x > 0),
    }
    names = coverage.numpys_names("")
    before = _bridge.set_threshold(0)
    try:
        mxnp.synchronize()
        for name, call in calls.items():
            assert name in names
            call()
            assert _bridge.pending() == 0, name
    finally:
        _bridge.set_threshold(before)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # NumPy's, about some names
def test_names_of_modules_are_numpys():
    for module in coverage.MODULES:
        theirs = getattr(numpy, module) if module else numpy
        names = coverage.numpys_names(module)
        assert names or module == "fft"  # all of these have a layer
        assert all(callable(getattr(theirs, name)) for name in names)


@pytest.mark.parametrize("gpu", [gpu.name for gpu in coverage.GPUS])
def test_the_column_of_a_gpu_has_every_ufunc(gpu):
    """`measured_coverage.py` writes the entry of a new ufunc, without a GPU too."""
    assert coverage.kept_of_gpu(gpu)["ufuncs"].keys() == {*coverage.ROWS}


@needs_gpu
def test_the_column_of_a_gpu():
    """Run `docs/extensions/measured_coverage.py` with this GPU to update it."""
    with mxnp.device(coverage.GPU):
        now = coverage.on_gpu(coverage.measure())
    assert coverage.kept_of_gpu(coverage.GPU) == now


# -- Links ----------------------------------------------------------------------------

LINK = re.compile(r"(?<!!)\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^)\s]+)\)")


@each_page
def test_links_lead_to_files(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        path = target.partition("#")[0]
        if "://" not in target and path:
            assert (page.parent / path).exists(), target


def anchors(page):
    """Return the anchors of the headings of a page on a code host."""
    headings = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings
    }


@each_page
def test_links_lead_to_headings_on_a_code_host(page):
    """Check that they do not rely on the sections that a page includes on the site."""
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if "://" not in target and anchor:
            assert anchor in anchors(page.parent / path if path else page), target


def test_the_programs_of_the_chart_are_explained():
    text = (DOCS / "is-it-for-me.md").read_text(encoding="utf-8")
    section = text.split("## Fourteen programs")[1].split("\n## ")[0]
    programs = {case.name for case in suites.load("programs").cases([100])}
    assert {*re.findall(r"^\| ([a-z0-9 ]+) \|", section, re.MULTILINE)} == {
        "program",
        *programs,
    }


def test_the_search_ranks_pages_that_exist():
    scorer = (DOCS / "extensions/search_scorer.js").read_text(encoding="utf-8")
    names = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    (last,) = re.findall(r"/\^\((.*)\)/", scorer)
    for beginning in [*last.replace("\\", "").split("|"), "quickstart.md"]:
        assert any(name.startswith(beginning) for name in names), beginning
    assert 'page === "quickstart"' in scorer


TEST = re.compile(r"`((?:\w+/)*test_\w+\.py(?:::\w+)*)`")


@each_page
def test_tests_that_are_named_are_there(page):
    if page.parent.name == "numpy":
        return  # This page names NumPy's tests.
    for name in TEST.findall(page.read_text(encoding="utf-8")):
        file, *parts = name.split("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        for part in parts:
            word = "class" if part[0].isupper() else "def"
            assert re.search(rf"^ *{word} {part}\b", text, re.MULTILINE), name
