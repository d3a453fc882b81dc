"""Test which sets of parameters the sample of the tests has, and how they run."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT
from support.selection import SETS, sample
from support.sets import with_each

TESTS = f"""
import pytest

@pytest.mark.parametrize("b", range({SETS}))
@pytest.mark.parametrize("a", range(2))
def test_combined(a, b): pass

@pytest.mark.parametrize("a", range(2 * {SETS}))
def test_table(a): pass

@pytest.mark.sampled(3)
@pytest.mark.parametrize("a", range(7))
def test_marked(a): pass

@pytest.mark.sampled(3)
@pytest.mark.parametrize("a", [])
def test_empty(a): pass

@pytest.mark.slow
def test_slow(): pass

@pytest.fixture
def doubled(a): return 2 * a

@pytest.fixture(params="xy")
def letter(request): return request.param

@pytest.mark.parametrize("a", range(3))
def test_folder(a, tmp_path): pass

@pytest.mark.usefixtures("doubled")
@pytest.mark.parametrize("a", range(3))
def test_fixture_of_a_parameter(a): pass

@pytest.mark.usefixtures("letter")
@pytest.mark.parametrize("a", range(3))
def test_parameters_of_a_fixture(a): pass

@pytest.mark.parametrize("a", [0, 1, pytest.param(2, marks=pytest.mark.xfail)])
def test_mark(a): pass
"""
NAMES = re.findall(r"def (test_\w+)", TESTS)
PROGRAM = """
import sys, pytest
from support.selection import ids_of

class Shown:
    def pytest_collection_finish(self, session):
        for item in session.items:
            print("::", item.originalname, len(ids_of(item)))

for line in sys.stdin:
    print("---", flush=True)
    arguments = ["-q", "--collect-only", "-p", "support.selection", *line.split()]
    pytest.main(arguments, plugins=[Shown()])
"""
# The options of a run, the sets of parameters of each test, and the tests that they are.
RUNS = {
    "": ([SETS, 2 * SETS, 3, 1, 0, 3, 3, 6, 3], [1, 1, 1, 1, 0, 3, 3, 2, 2]),
    "-k test": ([SETS, 2 * SETS, 3, 1, 0, 3, 3, 6, 3], None),
    "--slow": ([2 * SETS, 2 * SETS, 7, 1, 1, 3, 3, 6, 3], None),
    "--only-slow": ([SETS, 0, 4, 0, 1, 0, 0, 0, 0], None),
    "test_one.py::test_marked": ([0, 0, 7, 0, 0, 0, 0, 0, 0], None),
}


def test_as_many_different_parameters_as_possible() -> None:
    ids = [f"{op}-{dtype}" for op in ("add", "sub", "mul") for dtype in "bhilfd"]
    chosen = sample(ids, 6)
    assert chosen <= set(ids)
    assert {id.split("-")[1] for id in chosen} == set("bhilfd")
    assert {id.split("-")[0] for id in chosen} == {"add", "sub", "mul"}
    assert sample(ids[::-1], 6) == chosen


def test_sizes() -> None:
    ids = [str(number) for number in range(5)]
    assert [len(sample(ids, size)) for size in (0, 1, 4, 5, 6)] == [0, 1, 4, 5, 5]


def test_sets_that_run(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        input="\n".join(RUNS),
        capture_output=True,
        text=True,
        check=False,
    )
    _, *outputs = done.stdout.split("---\n")
    for (options, (sets, tests)), output in zip(RUNS.items(), outputs, strict=True):
        found: dict[str, list[int]] = {name: [] for name in NAMES}
        for name, count in re.findall(r"^:: (\w+) (\d+)$", output, re.MULTILINE):
            found[name].append(int(count))
        assert [sum(counts) for counts in found.values()] == sets, options + output
        assert [len(counts) for counts in found.values()] == (tests or sets), options


# -- Sets that run as one test ---------------------------------------------------------


def run(body: Any, *values: int) -> None:
    with_each(body, {f"a{a}": {"a": a, "of_a_fixture": 0} for a in values}, {"a"})()


def test_every_set_runs() -> None:
    seen = []

    def body(a: int) -> None:
        seen.append(a)
        if a == 2:
            pytest.skip("not here")

    run(body, 1, 2, 3)
    assert seen == [1, 2, 3]
    with pytest.raises(pytest.skip.Exception):
        run(body, 2)


def test_an_error_names_its_set() -> None:
    def body(a: int) -> None:
        if a == 2:
            pytest.fail("wrong")

    with pytest.raises(pytest.fail.Exception) as caught:
        run(body, 1, 2)
    assert caught.value.__notes__ == ["with the parameters [a2]"]


def test_filters_of_warnings_are_those_of_one_set() -> None:
    def body(a: int) -> None:
        warnings.warn("again", stacklevel=1)
        warnings.simplefilter("ignore")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(body, 1, 2)
    assert len(caught) == 2
