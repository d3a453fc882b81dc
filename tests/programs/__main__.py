"""
Time whole programs, with NumPy and with mxnp in turn.

Usage: ``python -m tests.programs [--rounds N] [--table FILE] [NAME ...]``, or
``python -m tests.programs --scripts tests/programs/ordinary/*.py``.

Without ``--scripts`` the programs in the folder ``scripts`` run. They use packages that
are written in Python alone. pip downloads these packages to a temporary folder, where
``python -m mxnp`` takes them for a part of the program, so that their NumPy is mxnp. The
packages that they need have to be installed: see the extra ``programs``. The programs
print a result, which must be the same.

With ``--scripts`` they are short scripts as users write them, with the packages that are
installed, in an environment into which mxnp is installed. The table has the least times
by the clock, the script that gains most first, and the mean.

The process ends with an error if a result differs, or if mxnp takes more than 1.1 times
as long as NumPy, by the clock and by the time of the processors. Both are compared, and
there is a tolerance, because machines are busy.
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
# The releases are fixed, so that changes of the times are mxnp's.
PACKAGES = [
    *("cma==4.5.0", "colour-science==0.4.7", "emcee==3.1.6", "filterpy==2.0.0"),
    *("mlxtend==0.25.0", "nara-wpe==0.0.11", "poppy==1.1.2", "pykalman==0.11.2"),
    *("pyswarms==1.3.0", "sporco==0.2.2.post1"),
]
LIBRARIES = {"NumPy": [], "mxnp": ["-m", "mxnp"]}
LARGEST_RATIO = 1.1
# Python compiles what it imports once, also where a machine's setting forbids that.
SETTINGS = {"MPLBACKEND": "agg", "PYTHONDONTWRITEBYTECODE": ""}
# NumPy's BLAS runs in both cases. On a busy machine the time of its threads varies most.
STEADY = {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
NUMBERS = "\n".join(f"{n * n % 10_007 / 100:.2f}" for n in range(100_000))


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


def run(script: Path, folder: str, options: list[str], settings: dict[str, str]) -> str:
    """Run a program, whose input is numbers, and return what it printed."""
    done = subprocess.run(
        [sys.executable, *options, str(script.resolve())],
        env=os.environ | SETTINGS | settings,
        cwd=folder,
        input=NUMBERS,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def compare(
    script: Path, folder: str, settings: dict[str, str], rounds: int
) -> tuple[dict[str, Times], bool]:
    """Run a program in turn with both libraries. Return times, and whether they agree."""
    times = {name: Times() for name in LIBRARIES}
    printed = set()
    for _ in range(rounds):
        for name, options in LIBRARIES.items():
            before, begin = _processor_seconds(), time.perf_counter()
            printed.add(run(script, folder, options, settings))
            times[name].wall.append(time.perf_counter() - begin)
            times[name].processor.append(_processor_seconds() - before)
    return times, len(printed) == 1


def task_of(script: Path) -> str:
    """Return the first sentence of a program, or else its name."""
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    return text.splitlines()[0].rstrip(".") if text else script.stem


def package_table(results: dict[Path, dict[str, Times]]) -> list[str]:
    """Return the table of the programs that use packages of other people."""
    lines = [
        "| program | task | NumPy, s | mxnp, s | ratio | NumPy, CPU s | mxnp, CPU s "
        "| ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for script, times in results.items():
        numpys, own = (times[name] for name in LIBRARIES)
        values = []
        for kind in ("wall", "processor"):
            pair = [statistics.median(getattr(each, kind)) for each in (numpys, own)]
            values += [*pair, pair[1] / pair[0]]
        cells = " | ".join(f"{value:.2f}" for value in values)
        lines.append(f"| `{script.name}` | {task_of(script)} | {cells} |")
    return lines


def script_table(results: dict[Path, dict[str, Times]]) -> list[str]:
    """Return the table of ordinary scripts: docs/is-it-for-me.md has it."""
    rows = []
    for script, times in results.items():
        numpys, own = (min(times[name].wall) for name in LIBRARIES)
        rows.append((numpys / own, task_of(script), numpys, own))
    rows.sort(reverse=True)
    mean = statistics.geometric_mean([row[0] for row in rows])
    return [
        "| script | NumPy, s | mxnp, s | ratio |",
        "|---|---|---|---|",
        *(
            f"| {task} | {a:.2f} | {b:.2f} | {ratio:.2f} |"
            for ratio, task, a, b in rows
        ),
        f"| geometric mean | | | {mean:.2f} |",
    ]


def least_ratio(times: dict[str, Times], of: Callable[[list[float]], float]) -> float:
    """Return mxnp's time over NumPy's, by the clock or the processors: the smaller."""
    numpys, own = (times[name] for name in LIBRARIES)
    return min(of(own.wall) / of(numpys.wall), of(own.processor) / of(numpys.processor))


def main() -> int:
    """Run the programs, and return the status of the process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--table", type=Path, help="a file for the table")
    parser.add_argument(
        "--scripts",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="ordinary scripts, in place of the programs with packages",
    )
    parser.add_argument("names", nargs="*", help="programs, by default all")
    given = parser.parse_args()
    load, faults = os.getloadavg()[0], []
    results: dict[Path, dict[str, Times]] = {}
    average: Callable[[list[float]], float] = (
        min if given.scripts else statistics.median
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = {}
        if not given.scripts:
            fetch(folder)
            settings = STEADY | {"PYTHONPATH": folder}
        for script in given.scripts or sorted((HERE / "scripts").glob("*.py")):
            if given.names and script.stem not in given.names:
                continue
            try:
                times, agrees = compare(script, folder, settings, given.rounds)
            except subprocess.CalledProcessError as error:
                faults.append(f"{script.name}: {error}")
                continue
            results[script] = times
            ratio = least_ratio(times, average)
            print(f"{script.name}: {ratio:.2f} of NumPy's time", flush=True)
            if not agrees:
                faults.append(f"{script.name}: the results differ")
            if ratio > LARGEST_RATIO:
                faults.append(f"{script.name}: mxnp takes {ratio:.2f} times as long")
    lines = script_table(results) if given.scripts else package_table(results)
    print(*lines, sep="\n")
    print(f"{time.strftime('%d %B %Y')}, Python {platform.python_version()}, ", end="")
    print(f"load {load:.1f} to {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    if given.table:
        given.table.write_text("\n".join(lines) + "\n")
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
