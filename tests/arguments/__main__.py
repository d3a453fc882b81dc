"""Run the table of calls: ``python -m tests.arguments --calls 20000``."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).parents[1]
MOST = 10**9


@dataclass
class Report:
    """
    What a run found.

    Attributes
    ----------
    calls : int
        The number of calls that were reached, with those that are known not to run.
    found : list of tuple of str
        The calls that differ, each with its kind and a description.
    """

    calls: int = 0
    found: list[tuple[str, str, str, str, str]] = field(default_factory=list)

    def groups(self) -> Iterator[str]:
        """Yield a line for each function and kind of difference, with one call."""
        groups = defaultdict(list)
        for size, function, text, kind, message in self.found:
            message = " ".join(message.split())[:300]
            groups[function, kind].append(f"{text}  # {size}: {message}")
        for (_, kind), lines in sorted(groups.items()):
            line = min(lines, key=len)
            yield f"{len(lines):5} {kind:9} {line}"


def run(
    calls: int = MOST,
    seconds: float = math.inf,
    seed: int = 0,
    jobs: int = 1,
    threshold: int = 200,
) -> Report:
    """Run calls in processes. A process that ends early has met a call that crashes."""
    with ThreadPoolExecutor(jobs) as pool:
        parts = pool.map(
            lambda first: _run_part(first, jobs, calls, seconds, seed, threshold),
            range(jobs),
        )
        report = Report()
        for part in parts:
            report.calls += part.calls
            report.found += part.found
    return report


def _run_part(
    first: int, step: int, last: int, seconds: float, seed: int, threshold: int
) -> Report:
    """Run every so many calls. After a crash go on with the next one."""
    report, end = Report(), time.monotonic() + seconds
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    with tempfile.NamedTemporaryFile("w+") as place:
        while first < last and (left := end - time.monotonic()) > 0:
            place.truncate(0)  # a process may end before its first call
            numbers = map(str, (left, seed, first, step, last, threshold))
            process = subprocess.run(
                [sys.executable, "-m", "arguments.worker", place.name, *numbers],
                cwd=TESTS,
                env={**os.environ, "PYTHONPATH": path, "PYTHONFAULTHANDLER": "1"},
                check=False,
                capture_output=True,
                text=True,
            )
            lines = [json.loads(line) for line in process.stdout.splitlines()]
            if process.returncode == 0:
                report.calls += lines.pop()
                first = last
            report.found += map(tuple, lines)
            if process.returncode:
                place.seek(0)
                if not (call := place.read().splitlines()[:4]):
                    raise RuntimeError(f"no call has begun:\n{process.stderr}")
                number, size, text, library = call
                report.calls += (int(number) - first) // step + 1
                first = int(number) + step
                how = process.stderr.strip().splitlines()[:1] or [""]
                function = text.partition("(")[0]
                kind = "crash" if library == "mxnp" else "numpy's"
                report.found.append((size, function, text, kind, f"{number}: {how[0]}"))
    return report


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.arguments")
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most")
    parser.add_argument("--calls", type=int, default=MOST, help="at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument(
        "--threshold", type=int, default=200, help="unless MXNP_THRESHOLD is set"
    )
    parser.add_argument("--all", action="store_true", help="print each call")
    chosen = parser.parse_args()
    report = run(
        chosen.calls, chosen.seconds, chosen.seed, chosen.jobs, chosen.threshold
    )
    if chosen.all:
        for size, _, text, kind, message in report.found:
            print(f"{kind:9} {text}  # {size}: {message}")
    else:
        print("\n".join(report.groups()))
    print(f"{report.calls} calls, {len(report.found)} differ")
    return 1 if report.found else 0


if __name__ == "__main__":
    sys.exit(main())
