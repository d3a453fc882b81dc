"""
Run a package's own tests under the runner, and list what differs from NumPy.

``python -m tests.interop.suites FOLDER [--include NAME]... -- PYTEST-ARGUMENT...`` runs
pytest twice at the same time: with NumPy, and under ``python -m mxnp``, which passes
mxnp arrays to the named modules. It prints the tests whose outcomes differ. It writes
the outcomes to FOLDER, from which a second call continues.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .outcomes import Outcomes, read

HERE = Path(__file__).parent
WAYS = ("numpy", "runner")
ATTEMPTS = 50  # After a crash, the next attempt omits the test that crashed.


def _command(way: str, include: list[str], arguments: list[str]) -> list[str]:
    runner = ["-m", "mxnp", *(f"--include={name}" for name in include)]
    pytest = ["-m", "pytest", "-p", "outcomes", "-p", "no:cacheprovider", "-q"]
    return [sys.executable, *(runner if way == "runner" else []), *pytest, *arguments]


def _run(folder: Path, way: str, include: list[str], arguments: list[str]) -> None:
    """Run pytest, again after each crash, and write its output to a file."""
    environment = {
        **os.environ,
        "MXNP_OUTCOMES": str(folder / f"{way}.jsonl"),
        "PYTHONPATH": str(HERE),
    }
    with (folder / f"{way}.log").open("a") as log:
        for _ in range(ATTEMPTS):
            done = subprocess.run(
                _command(way, include, arguments),
                cwd=folder,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            if done.returncode >= 0:
                return


def differences(numpys: Outcomes, ours: Outcomes) -> dict[str, str]:
    """Return how the outcomes of tests that ran in both ways differ."""
    found: dict[str, str] = {}
    for test in numpys.keys() & ours.keys():
        (expected, _), (outcome, message) = numpys[test], ours[test]
        if outcome != expected:
            line = " ".join(message.split())[:300]
            found[test] = f"{outcome}, with NumPy {expected}: {line}".rstrip(": ")
    return dict(sorted(found.items()))


def main() -> int:
    arguments, _, for_pytest = " ".join(sys.argv[1:]).partition(" -- ")
    parser = argparse.ArgumentParser(prog="python -m tests.interop.suites")
    parser.add_argument("folder", type=Path, help="the folder for the outcomes")
    parser.add_argument("--include", action="append", default=[], metavar="NAME")
    chosen = parser.parse_args(arguments.split())
    chosen.folder.mkdir(parents=True, exist_ok=True)
    folder = chosen.folder.resolve()
    with ThreadPoolExecutor(2) as pool:
        for way in WAYS:
            pool.submit(_run, folder, way, chosen.include, for_pytest.split())
    numpys, ours = (read(folder / f"{way}.jsonl") for way in WAYS)
    found = differences(numpys, ours)
    for test, message in found.items():
        print(f"{test}\n    {message}")
    for way, outcomes in zip(WAYS, (numpys, ours), strict=True):
        print(way, dict(Counter(outcome for outcome, _ in outcomes.values())))
    print(f"{len(numpys.keys() ^ ours.keys())} tests ran in one way only")
    print(f"{len(found)} tests differ")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
