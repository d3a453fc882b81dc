"""Check that the planted faults of tests/mutations apply, and that their tests exist."""

from __future__ import annotations

import importlib.util
import re
import sys
from typing import Any

import pytest
from support.paths import ROOT

FOLDER = ROOT / "tests" / "mutations"


def load_tables() -> Any:
    spec = importlib.util.spec_from_file_location("tables", FOLDER / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["tables"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = load_tables()


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
            text = (ROOT / path).read_text()
            assert all(re.search(rf"(def|class) {name}\b", text) for name in names), (
                test
            )
