"""Options that say after how many programs, or how many seconds, a run ends."""

from __future__ import annotations

import argparse
import math
import sys

PROGRAMS = 1000


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options ``--programs`` and ``--seconds``."""
    parser.add_argument(
        "--programs", type=int, help=f"at most; {PROGRAMS} without --seconds"
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most")


def most_programs(chosen: argparse.Namespace) -> int:
    """Return the number of programs. Without ``--seconds`` exactly so many run."""
    if chosen.programs is not None:
        return int(chosen.programs)
    return PROGRAMS if chosen.seconds == math.inf else sys.maxsize
