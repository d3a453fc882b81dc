"""Write docs/packages.md, which shows the results of the uses of each package."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy

from . import runs
from .expected import BY_NATURE, differs_by_nature

PAGE = Path(__file__).parents[2] / "docs" / "packages.md"
TEXT = """\
# Packages

This page shows what the packages of NumPy's users do with mxnp arrays. `python -m tests.interop` wrote it from real runs on
{machine}, with Python {python} and NumPy {numpy}. Each call of a small program was run three times: with NumPy, with
`import mxnp as np` in place of `import numpy as np`, and unchanged under `python -m mxnp`. A call passes if its values,
dtypes, shapes and errors are those of NumPy. Most calls are made twice, with a small array and with a large one that mxnp
has yet to compute. The programs are in `tests/interop/uses`.

- **import**: calls that pass with `import mxnp as np`. The package takes mxnp arrays directly.
- **runner**: calls that pass under `python -m mxnp`.
- **shares memory**: calls, in both ways, in which the package writes into an array, or keeps its memory while the program
  writes. They pass if both sides see each write, and if operations recorded before a write use the values from before.

| package | version | for | calls | import | runner | shares memory |
|---|---|---|---|---|---|---|
{rows}
"""
NATURE = """
## Known differences

| package | program | why |
|---|---|---|
{rows}
"""

Outcomes = dict[str, dict[str, runs.Failures]]


def _part(passed: int, count: int) -> str:
    """Return how many calls pass, as a cell of the table."""
    if count == 0:
        return ""
    return "all" if passed == count else f"{passed} of {count}"


def _row(module: str, ways: dict[str, runs.Failures]) -> str:
    """Return the line of the table for a package."""
    calls = [c for c in runs.oracle(module) if not differs_by_nature(module, c)]
    shared = [call for call in calls if call.startswith("shared_")]
    shared_failures = [c for found in ways.values() for c in shared if c in found]
    name, purpose = runs.package(module)
    cells = [
        name,
        runs.package_version(module),
        purpose,
        str(len(calls)),
        *(
            _part(sum(c not in ways[way] for c in calls), len(calls))
            for way in runs.WAYS
        ),
        _part(2 * len(shared) - len(shared_failures), 2 * len(shared)),
    ]
    return f"| {' | '.join(cells)} |"


def _name(row: str) -> str:
    """Return the package of a line of the table, or "" for any other line."""
    return row.split(" ")[1].lower() if row.startswith("| ") else ""


def _rows_so_far() -> dict[str, str]:
    """Return the existing rows by package, for the packages that still have uses."""
    lines = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
    names = {runs.package(module)[0].lower() for module in runs.modules()}
    return {_name(line): line for line in lines if _name(line) in names}


def text(outcomes: Outcomes) -> str:
    """Return the page, with new rows for the packages that ran."""
    new = [_row(module, ways) for module, ways in outcomes.items()]
    rows = _rows_so_far() | {_name(row): row for row in new}
    nature = [
        f"| {runs.package(module)[0]} | `{use}` | {reason} |"
        for (module, use), reason in BY_NATURE.items()
    ]
    return TEXT.format(
        machine=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        numpy=numpy.__version__,
        rows="\n".join(rows[name] for name in sorted(rows)),
    ) + (NATURE.format(rows="\n".join(nature)) if nature else "")


def write(outcomes: Outcomes) -> None:
    PAGE.write_text(text(outcomes))
