"""Run random programs: ``python -m tests.fuzz --programs 5000 --seed 7``."""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time

from mxnp import _bridge

from .grammar import write
from .limits import add_limits, most_programs
from .programs import Program, is_complete, run, script
from .shrinking import shrink

PROGRAM_SECONDS = 300  # after which a program counts as hanging


def fails(program: Program) -> bool:
    return run(program) is not None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    add_limits(parser)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--threshold", type=int, default=0)
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--print", action="store_true", help="print the programs")
    chosen = parser.parse_args()
    _bridge.set_threshold(chosen.threshold)
    faulthandler.enable()
    begin, seed, found = time.monotonic(), chosen.seed, 0
    last = chosen.seed + most_programs(chosen)
    while seed < last and time.monotonic() < begin + chosen.seconds:
        faulthandler.dump_traceback_later(PROGRAM_SECONDS, exit=True)
        program = write(seed)
        if chosen.print:
            print(f"# seed {seed}\n{script(program)}\n", flush=True)
        difference = run(program)
        if difference:
            faulthandler.cancel_dump_traceback_later()
            found += 1
            program = shrink(program[: difference.step + 1], fails, is_complete)
            difference = run(program) or difference
            print(
                f"# seed {seed}: {difference.message}\n{script(program)}\n", flush=True
            )
            if not chosen.keep_going:
                break
        seed += 1
    count = seed - chosen.seed
    print(f"{count} programs from seed {chosen.seed} on, {found} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
