"""Ordinary scripts print the same with NumPy and with mxnp."""

import pytest
from programs.__main__ import HERE, LIBRARIES, Times, run, script_table

PACKAGES = {
    "customer_groups": ["sklearn"],
    "parameter_scan": ["joblib"],
    "sales_report": ["pandas"],
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            file.stem,
            marks=[pytest.mark.slow, pytest.mark.needs(*PACKAGES.get(file.stem, []))],
        )
        for file in sorted((HERE / "ordinary").glob("*.py"))
    ],
)
def test_script_prints_the_same(name, tmp_path):
    script = HERE / "ordinary" / f"{name}.py"
    numpys, own = (run(script, tmp_path, each, {}) for each in LIBRARIES.values())
    assert own == numpys
    assert own


def test_table_of_scripts(tmp_path):
    for name in ("slow", "fast"):
        (tmp_path / f"{name}.py").write_text(f'"""A {name} script.\n\nWith text."""\n')
    (tmp_path / "nameless.py").write_text("import numpy\n")
    results = {
        tmp_path / name: {"NumPy": Times([1.0, 0.5]), "mxnp": Times([own, 9.0])}
        for name, own in {"slow.py": 1.0, "fast.py": 0.25, "nameless.py": 0.5}.items()
    }
    assert script_table(results)[2:] == [
        "| A fast script | 0.50 | 0.25 | 2.00 |",
        "| nameless | 0.50 | 0.50 | 1.00 |",
        "| A slow script | 0.50 | 1.00 | 0.50 |",
        "| geometric mean | | | 1.00 |",
    ]
