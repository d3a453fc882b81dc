"""
Time programs that use packages of other people, with NumPy and with mxnp in turn.

Usage: ``python -m tests.programs [--rounds N] [--table FILE] [NAME ...]``.

pip downloads the packages, which are written in Python alone, to a temporary folder that
is no folder of installed packages. Under ``python -m mxnp`` their code is therefore a part
of the program, and its NumPy is mxnp. Packages that they need have to be installed: see
the extra ``programs``. The programs of ``scripts`` print a result, which must be the same.

The process ends with an error if a result differs, or if mxnp takes more than 1.1 times
as long as NumPy, by the clock and by the time of the processors. Both are compared, and
there is a tolerance, because machines are busy.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

SCRIPTS = Path(__file__).parent / "scripts"
# The releases are fixed, so that changes of the times are mxnp's.
PACKAGES = [
    *("cma==4.5.0", "colour-science==0.4.7", "emcee==3.1.6", "filterpy==2.0.0"),
    *("mlxtend==0.25.0", "nara-wpe==0.0.11", "poppy==1.1.2", "pykalman==0.11.2"),
    *("pyswarms==1.3.0", "sporco==0.2.2.post1"),
]
LIBRARIES = {"NumPy": [], "mxnp": ["-m", "mxnp"]}
LARGEST_RATIO = 1.1
# NumPy's BLAS runs in both cases. On a busy machine the time of its threads varies most.
SETTINGS = {"MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1"}


@dataclass
class Times:
    """The seconds of all runs with one library."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


def fetch(folder: str) -> None:
    """Download the packages to a folder, without what they need."""
    options = [
        "--quiet",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--target",
        folder,
    ]
    command = [sys.executable, "-m", "pip", "install", *options, *PACKAGES]
    subprocess.run(command, check=True)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(script: Path, folder: str, options: list[str], times: Times) -> str:
    """Run a program, add its times, and return what it printed."""
    before, begin = _processor_seconds(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *options, str(script)],
        env=os.environ | SETTINGS | {"PYTHONPATH": folder},
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    times.wall.append(time.perf_counter() - begin)
    times.processor.append(_processor_seconds() - before)
    return done.stdout


def compare(script: Path, folder: str, rounds: int) -> tuple[dict[str, Times], bool]:
    """Run a program in turn with both libraries. Return times, and whether they agree."""
    times = {name: Times() for name in LIBRARIES}
    printed = {
        run(script, folder, options, times[name])
        for _ in range(rounds)
        for name, options in LIBRARIES.items()
    }
    return times, len(printed) == 1


def row(script: Path, times: dict[str, Times]) -> tuple[str, float]:
    """Return a row of the table, and the smaller ratio of mxnp's time to NumPy's."""
    walls = [statistics.median(times[name].wall) for name in LIBRARIES]
    processors = [statistics.median(times[name].processor) for name in LIBRARIES]
    ratios = walls[1] / walls[0], processors[1] / processors[0]
    task = script.read_text(encoding="utf-8").split('"""')[1].rstrip(".")
    values = (*walls, ratios[0], *processors, ratios[1])
    cells = " | ".join(f"{value:.2f}" for value in values)
    return f"| `{script.name}` | {task} | {cells} |", min(ratios)


HEADER = """\
| program | task | NumPy, s | mxnp, s | ratio | NumPy, CPU s | mxnp, CPU s | ratio |
|---|---|---|---|---|---|---|---|"""


def main() -> int:
    """Run the programs, and return the status of the process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--table", type=Path, help="a file for the table")
    parser.add_argument("names", nargs="*", help="programs, by default all")
    given = parser.parse_args()
    lines, faults = [HEADER], []
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        fetch(folder)
        for script in sorted(SCRIPTS.glob("*.py")):
            if given.names and script.stem not in given.names:
                continue
            try:
                times, agrees = compare(script, folder, given.rounds)
            except subprocess.CalledProcessError as error:
                faults.append(f"{script.name}: {error}")
                continue
            line, ratio = row(script, times)
            print(line, flush=True)
            lines.append(line)
            if not agrees:
                faults.append(f"{script.name}: the results differ")
            if ratio > LARGEST_RATIO:
                faults.append(f"{script.name}: mxnp takes {ratio:.2f} times as long")
    print(f"{time.strftime('%d %B %Y')}, Python {platform.python_version()}, ", end="")
    print(f"load {load:.1f} to {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    if given.table:
        given.table.write_text("\n".join(lines) + "\n")
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
