"""Read and write the lists of uses that differ from NumPy, by nature or by a bug."""

from __future__ import annotations

import sys
from pathlib import Path

from .runs import Failures

# Before Python 3.12, packages written in Python get mxnp arrays.
FILE = Path(__file__).with_name(
    "expected.txt" if sys.version_info >= (3, 12) else "expected_before_3.12.txt"
)
HEADER = """\
# Uses that fail with mxnp and should be fixed: module, way, use, error. A use that
# passes must be removed. `python -m tests.interop --expect MODULE...` writes this list.
"""

# Uses that differ by nature, and why, by (module, use): in both ways, with all sizes.
BY_NATURE: dict[tuple[str, str], str] = {}


def lines() -> list[str]:
    """Return the lines of the list of known failures."""
    text = FILE.read_text(encoding="utf-8") if FILE.exists() else ""
    return [line for line in text.splitlines() if not line.startswith("#")]


def known_failures(module: str, way: str) -> set[str]:
    """Return the uses of a package that are known to fail."""
    entries = (line.partition(": ")[0].split(" ", 2) for line in lines())
    return {use for *place, use in entries if place == [module, way]}


def differs_by_nature(module: str, use: str) -> bool:
    return (module, use.partition(" ")[0]) in BY_NATURE


def surprises(module: str, way: str, found: Failures) -> list[str]:
    """Return new failures of a run, and known failures that pass now."""
    named = known_failures(module, way)
    found = {use: f for use, f in found.items() if not differs_by_nature(module, use)}
    return [
        f"{use}: {found[use][0]} ({found[use][1]})" for use in found if use not in named
    ] + [
        f"{use} passes: remove it from {FILE.name}"
        for use in sorted(named - found.keys())
    ]


def write(outcomes: dict[str, dict[str, Failures]]) -> None:
    """Replace the known failures of these packages."""
    kept = [line for line in lines() if line.partition(" ")[0] not in outcomes]
    new = [
        f"{module} {way} {use}: {error[:120]}"
        for module, ways in outcomes.items()
        for way, found in ways.items()
        for use, (error, _) in found.items()
        if not differs_by_nature(module, use)
    ]
    FILE.write_text(HEADER + "".join(f"{line}\n" for line in sorted(kept + new)))
