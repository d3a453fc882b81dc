"""Run programs in child processes, with a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import pytest

# Python's warning about a fork of a process with threads.
IGNORED = "ignore:This process:DeprecationWarning"


class End(NamedTuple):
    """The exit status of a process and its output."""

    status: int
    out: str
    err: str


def end_of(*command: Any, seconds: float = 300, **environment: str) -> End:
    """
    Run Python with these arguments until it and its children have ended.

    The test fails after the time limit, with the stacks of the threads.
    """
    process = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-W", IGNORED, *command],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGABRT)
        out, err = process.communicate()
        pytest.fail(f"hangs after {seconds} s:\n{out}{err}", pytrace=False)
    return End(process.returncode, out, err)


def run_file(folder: Path, *parts: str, **environment: str) -> str:
    """Run a program from a file, which spawned children need, and return its output."""
    file = folder / "program.py"
    file.write_text("\n".join(textwrap.dedent(part) for part in parts))
    end = end_of(file, **environment)
    assert end.status == 0, end.out + end.err
    assert end.err == ""
    return end.out.strip()
