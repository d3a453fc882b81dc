"""
Plant faults in a copy of the sources, and check that a test fails for each.

    python -m tests.mutations [--sample N --seed TEXT] [--share I/N] [AREA...]

An area is a file `tests/mutations/AREA.txt`, which `tables.py` describes. The copy is built
once, with the Metal emulator if a fault needs it. If a compiler or a package is missing, faults
whose tests need it are left out, and counted with the reason. Then the runner applies one fault
at a time, builds what has changed, and runs only the test that the table names. The fault is
caught if this test fails or crashes, and also if it hangs, which is counted separately. The exit
status is 1 if a fault is not caught, does not apply or does not compile, or if a test fails
without a fault. The seed alone determines the sample.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

from tests.metal_emulator import toolchain

from .copies import BuildError, Copy
from .tables import AREAS, Fault, TableError, read


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations")
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(AREAS))
    parser.add_argument("--sample", type=int, metavar="N", help="plant N faults only")
    parser.add_argument("--seed", default="0", help="of the sample")
    parser.add_argument(
        "--share", default="0/1", metavar="I/N", help="every Nth fault from the Ith on"
    )
    parser.add_argument("--list", action="store_true", help="print the faults")
    arguments = parser.parse_args()
    unknown = set(arguments.areas) - set(AREAS)
    if unknown:
        parser.error(f"unknown areas: {', '.join(sorted(unknown))}")
    return arguments


def _reason_to_leave_out(fault: Fault) -> str:
    """Return why the tests of a fault cannot run here, or an empty string."""
    missing = [name for name in fault.packages if not find_spec(name)]
    if missing:
        return f"{', '.join(missing)} must be installed"
    if sys.version_info < fault.python:
        return f"they need Python {'.'.join(map(str, fault.python))}"
    if fault.lane == "cuda" and sys.platform != "linux":
        return "the stand-in for CUDA's driver needs Linux"
    if fault.lane != "cpu":
        try:
            toolchain.find()
        except toolchain.MissingToolchainError as error:
            return str(error)
    return ""


def _select(arguments: argparse.Namespace) -> list[Fault]:
    faults = [fault for area in arguments.areas or AREAS for fault in read(area)]
    reasons = {fault.place: _reason_to_leave_out(fault) for fault in faults}
    for reason, count in Counter(filter(None, reasons.values())).items():
        print(f"{count} faults are left out: {reason}", flush=True)
    faults = [fault for fault in faults if not reasons[fault.place]]
    if arguments.sample is not None and arguments.sample < len(faults):
        chosen = random.Random(arguments.seed).sample(
            range(len(faults)), arguments.sample
        )
        faults = [faults[i] for i in sorted(chosen)]
    first, step = map(int, arguments.share.split("/"))
    return faults[first::step]


def _plant(copy: Copy, fault: Fault) -> str:
    """Plant a fault, and return how it ended: one of the words of the summary."""
    begin = time.monotonic()
    try:
        with copy.planted(fault):
            outcome = copy.test(fault)
    except BuildError as error:
        outcome = "not built"
        print(error)
    seconds = time.monotonic() - begin
    print(f"{outcome:9} {seconds:5.1f} s  {fault.path}: {fault.title}", flush=True)
    if outcome != "caught":
        print(f"    {fault.place}: {' '.join(fault.tests)}", flush=True)
    return outcome


def main() -> int:
    arguments = _arguments()
    faults = _select(arguments)
    if arguments.list:
        for fault in faults:
            print(f"{fault.place}: {fault.path}: {fault.title}")
        print(f"{len(faults)} faults")
        return 0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mxnp-mutations-") as folder:
        copy = Copy(Path(folder), faults)
        print(f"built after {time.monotonic() - begin:.0f} s", flush=True)
        if not copy.passes_without_faults(faults):
            return 1
        print(f"tests pass after {time.monotonic() - begin:.0f} s", flush=True)
        outcomes = Counter(_plant(copy, fault) for fault in faults)
    counts = ", ".join(
        f"{count} {outcome}" for outcome, count in sorted(outcomes.items())
    )
    print(f"{len(faults)} faults: {counts}; {time.monotonic() - begin:.0f} s")
    return 0 if set(outcomes) <= {"caught", "hung"} else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (TableError, BuildError) as error:
        sys.exit(str(error))
