"""Test which sets of parameters the sample of the tests has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT
from support.selection import SETS, sample

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
"""


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


@pytest.mark.parametrize(
    ("arguments", "counts"),
    [
        ([], [SETS, 2 * SETS, 3, 1, 0]),
        (["--slow"], [2 * SETS, 2 * SETS, 7, 1, 1]),
        (["--only-slow"], [SETS, 0, 4, 0, 1]),
        (["test_one.py::test_marked"], [0, 0, 7, 0, 0]),
    ],
)
def test_sets_that_run(tmp_path: Path, arguments: list[str], counts: list[int]) -> None:
    (tmp_path / "test_one.py").write_text(TESTS)
    command = ["-m", "pytest", "-q", "--collect-only", "-p", "support.selection"]
    done = subprocess.run(
        [sys.executable, *command, *arguments],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    names = [line.partition("::")[2].partition("[")[0] for line in lines]
    tests = ("test_combined", "test_table", "test_marked", "test_empty", "test_slow")
    assert [names.count(name) for name in tests] == counts, done.stdout + done.stderr
