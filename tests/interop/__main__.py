"""
Run the uses of packages: ``python -m tests.interop [--expect] [MODULE...]``.

The program prints differences from NumPy, and writes the rows of the packages that ran
to ``docs/packages.md``. With ``--expect``, it writes the failures to ``expected.txt``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from . import expected, page, runs


def outcomes_of(modules: Iterable[str]) -> dict[str, dict[str, runs.Failures]]:
    """Run the uses of packages in both ways, print the failures and return them."""
    outcomes: dict[str, dict[str, runs.Failures]] = {}
    for module in modules:
        outcomes[module] = {way: runs.failures(module, way) for way in runs.WAYS}
        count = len(runs.oracle(module))
        failed = ", ".join(f"{w}: {len(f)}" for w, f in outcomes[module].items())
        print(f"{module}: {count} uses; failures by {failed}")
        for line in describe(outcomes[module]):
            print(f"  {line}", flush=True)
    return outcomes


def describe(ways: dict[str, runs.Failures]) -> list[str]:
    """Return a line for each use and error, with the ways and sizes that fail."""
    calls: dict[tuple[str, str, str], list[str]] = {}
    lines: dict[tuple[str, str, str], str] = {}
    for way, found in ways.items():
        for call, (error, place) in found.items():
            use, _, size = call.partition(" ")
            key = (use, error[:40], place)
            calls.setdefault(key, []).append(f"{way} {size}".strip())
            lines.setdefault(key, f"{error[:150]} [{place}]")
    return [f"{key[0]} ({', '.join(calls[key])}): {lines[key]}" for key in calls]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.interop")
    parser.add_argument("--expect", action="store_true", help="write expected.txt")
    parser.add_argument("modules", nargs="*", help="names of the packages' modules")
    chosen = parser.parse_args()
    installed = [m for m in chosen.modules or runs.modules() if runs.is_installed(m)]
    outcomes = outcomes_of(installed)
    if chosen.expect:
        expected.write(outcomes)
    page.write(outcomes)
    return any(
        expected.surprises(module, way, found)
        for module, ways in outcomes.items()
        for way, found in ways.items()
    )


if __name__ == "__main__":
    sys.exit(main())
