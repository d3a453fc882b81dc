"""Imports: the time from the start of a process until the package is imported.

Each repetition is a process of its own, so the times include the interpreter's start.
The processes use compiled bytecode, also where the environment disables its files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from mxnp.bench.case import Case

SIZES = (1,)
QUICK_SIZES = (1,)

PROGRAMS = {
    "import": "import {}",
    "import, then np.ones(3) + 1": "import {} as np; np.ones(3) + 1",
}


def cases(sizes: Sequence[int]) -> list[Case]:
    """Return every program once; sizes play no part."""
    return [
        Case("imports", name, "", 1, partial(run, program), kind="import")
        for name, program in PROGRAMS.items()
    ]


def run(program: str, np: Any) -> int:
    """Run a program with NumPy or mxnp in a new process, and return its exit status."""
    command = [sys.executable, "-c", program.format(np.__name__)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # empty: not set
    return subprocess.run(command, check=True, env=environment).returncode
