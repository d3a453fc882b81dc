"""Test the comparison of results, and that the tables name existing uses."""

from __future__ import annotations

import ast
import re
import tomllib

import numpy
import pytest
from interop import expected, runs
from interop.results import difference

ROOT = runs.HERE.parents[1]
RAISED = ("raised", "ValueError: no", "uses.py:1")


def array(*values, dtype=float):
    return "ndarray", numpy.array(values, dtype)


@pytest.mark.parametrize(
    ("ours", "numpys"),
    [
        (array(1, 2), array(1, numpy.nan)),
        (array(1, 2), array(1, 2, dtype=int)),
        (array(1, 2), array(1)),
        (array(1), ("Box", numpy.ones(1))),
        (numpy.float64(1), 1.0),
        (1.0, 1.0 + 2**-52),
        (("list", [1, 2]), ("list", [1])),
        ({"a": 1}, {"b": 1}),
        (RAISED, array(1)),
        (RAISED, ("raised", "TypeError: no", "uses.py:1")),
    ],
)
def test_differences_are_detected(ours, numpys):
    assert difference(ours, numpys)
    assert not difference(numpys, numpys)


def test_tolerances_allow_differences():
    assert difference(array(1.0), array(1.0 + 1e-9))
    assert not difference(array(1.0), array(1.0 + 1e-9), 1e-8)


def test_surprises_are_new_failures_and_fixed_uses(monkeypatch):
    monkeypatch.setattr(expected, "known_failures", lambda *_: {"fixed", "known"})
    found = {"known": ("ValueError", ""), "new small": ("TypeError", "uses.py:3")}
    assert expected.surprises("package", "import", found) == [
        "new small: TypeError (uses.py:3)",
        f"fixed passes: remove it from {expected.FILE.name}",
    ]


def uses_of(module):
    tree = ast.parse((runs.HERE / "uses" / f"{module}.py").read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_tables_name_uses():
    named = [line.partition(": ")[0].split()[::2] for line in expected.lines()]
    for module, use in [*named, *expected.BY_NATURE]:
        assert use in uses_of(module)


@pytest.mark.parametrize("module", runs.modules())
def test_tolerances_name_uses(module):
    assert runs.tolerances(module).keys() <= uses_of(module)


def test_the_extras_name_each_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    extras = project["optional-dependencies"]
    extra = project["dependencies"] + extras["interop"] + extras["interop-all"]
    listed = {re.split("[^\\w-]", requirement)[0] for requirement in extra}
    assert {runs.package(module)[0] for module in runs.modules()} - listed == {"torch"}
