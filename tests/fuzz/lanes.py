"""
Run random programs in every lane: ``python -m tests.fuzz.lanes``.

A night has ten shards of 100,000 programs. A machine runs one shard, and ``--shard``
chooses it. The number of the night determines the seeds, and no program is repeated
in another night. Programs run in batches, each in its own process. If a batch fails
or crashes, its command is printed, and the other batches run nevertheless.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARDS = 10
BATCH = 1000


@dataclass(frozen=True)
class Lane:
    """
    Settings under which programs run.

    Attributes
    ----------
    share : float
        The part of the programs that run with them.
    settings : dict of str to str
        Environment variables.
    threshold : int
        The smallest size that is recorded.
    """

    share: float
    settings: dict[str, str] = field(default_factory=dict)
    threshold: int = 0


LANES = {
    "recorded": Lane(0.24),
    "small": Lane(0.20, threshold=16384),  # computed immediately, on the direct path
    "mixed": Lane(0.15, threshold=20),  # some arrays are recorded
    "unfused": Lane(0.15, {"MXNP_FUSE": "0"}),
    "threads": Lane(0.15, {"MXNP_NUM_THREADS": "3"}),
    "compiled": Lane(0.09, {"MXNP_JIT": "always"}),
    "metal": Lane(0.01, {"MXNP_DEVICE": "metal"}),
    "cuda": Lane(0.01, {"MXNP_DEVICE": "cuda"}),
}


@dataclass(frozen=True)
class Batch:
    """Programs with successive seeds that run in one process."""

    lane: str
    seed: int
    programs: int

    def command(self) -> list[str]:
        threshold = LANES[self.lane].threshold
        return [
            *("-m", "tests.fuzz", "--keep-going", "--programs", str(self.programs)),
            *("--seed", str(self.seed), "--threshold", str(threshold)),
        ]

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *self.command()],
            env={**os.environ, **LANES[self.lane].settings},
            cwd=ROOT,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __str__(self) -> str:
        settings = [f"{k}={v}" for k, v in LANES[self.lane].settings.items()]
        return " ".join([*settings, "python", *self.command()])


def batches(lanes: list[str], seed: int, programs: int) -> Iterator[Batch]:
    """Share programs among lanes; the seeds of a lane do not depend on other lanes."""
    begin = seed
    for name, lane in LANES.items():
        end = begin + round(programs * lane.share)
        if name in lanes:
            for first in range(begin, end, BATCH):
                yield Batch(name, first, min(BATCH, end - first))
        begin = end


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.lanes")
    parser.add_argument("lanes", nargs="*", metavar="LANE", help=", ".join(LANES))
    parser.add_argument("--programs", type=int, default=100_000, help="of a shard")
    parser.add_argument("--shard", type=int, default=0, choices=range(SHARDS))
    parser.add_argument("--night", type=int, default=0, help="its number")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    chosen = parser.parse_args()
    if unknown := {*chosen.lanes} - {*LANES}:
        parser.error(f"unknown lanes: {', '.join(sorted(unknown))}")
    seed = (chosen.night * SHARDS + chosen.shard) * chosen.programs
    work = list(batches(chosen.lanes or [*LANES], seed, chosen.programs))
    failed = []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for batch, end in zip(work, pool.map(Batch.run, work), strict=True):
            print(f"--- {batch}\n{end.stdout}", end="", flush=True)
            if end.returncode:
                failed.append(f"{batch}  # status {end.returncode}")
    count = sum(batch.programs for batch in work)
    print(f"{count} programs from seed {seed} on, {len(failed)} batches failed")
    print("\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
