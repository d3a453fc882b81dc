"""Check that the planted faults of tests/mutations apply, and that their tests exist."""

from __future__ import annotations

import importlib.util
import re
import sys
from typing import Any

import pytest
from support.paths import ROOT
from support.selection import COLLECTED

FOLDER = ROOT / "tests" / "mutations"


def load_tables() -> Any:
    spec = importlib.util.spec_from_file_location("tables", FOLDER / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["tables"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = load_tables()


def test_parameters_of_faults_exist(request: pytest.FixtureRequest) -> None:
    """Look at the files of this run."""
    collected = request.config.stash[COLLECTED]
    files = {test.partition("::")[0] for test in collected}
    named = {
        test
        for area in tables.AREAS
        for fault in tables.read(area)
        if not fault.is_c_test
        for test in fault.tests
    }
    expected = {t for t in named if "[" in t and t.partition("::")[0] in files}
    if not expected or any("::" in each for each in request.config.args):
        pytest.skip("the command has no whole file that a fault names")
    assert expected <= collected


@pytest.mark.parametrize("area", tables.AREAS)
def test_faults_apply_and_name_tests(area: str) -> None:
    faults = tables.read(area)
    assert len({fault.title for fault in faults}) == len(faults)
    for fault in faults:
        if fault.is_c_test:
            assert (ROOT / "tests" / "c" / f"{fault.c_program}.c").exists(), fault.place
            continue
        for test in fault.tests:
            path, *names = re.sub(r"\[.*", "", test).split("::")
            text = (ROOT / path).read_text(encoding="utf-8")
            assert all(re.search(rf"(def|class) {name}\b", text) for name in names), (
                test
            )
