"""Run a program with a report: measure it, write the outputs, and check the limits."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, TracebackType
from typing import TextIO

from mxnp._doctor import rendering
from mxnp._doctor.doctor import doctor, examine
from mxnp._engine import core
from mxnp._profiler import gate, text
from mxnp._profiler.report import profile
from mxnp._rewrite.patches import patch
from mxnp._rewrite.recording import Recording

from .report_options import ReportOptions


class ReportSession:
    """
    Context manager that measures a program and writes the requested reports.

    The program keeps its exceptions and its exit status. Only a program that succeeds
    but exceeds a limit exits with status 1. Child processes write nothing.

    Parameters
    ----------
    options : ReportOptions
        The requested reports and limits.
    program : str
        The name of the program.

    Raises
    ------
    OSError
        If a file cannot be written.
    """

    def __init__(self, options: ReportOptions, program: str) -> None:
        kinds = {kind for kind, _ in options.outputs}
        self._options = options
        self._files = [(kind, _opened(file)) for kind, file in options.outputs]
        measured = doctor if options.is_doctor else profile
        self._profile = measured(trace="trace" in kinds)
        self._profile._program = program
        self._process = os.getpid()
        self._folder = Path.cwd()
        self._recording: Recording | None = None
        if options.patch is not None:
            self._patch = _opened(options.patch)
            self._recording = Recording()

    def __enter__(self) -> Callable[[bytes, str], CodeType | None] | None:
        """Return the function that compiles the program, if it is not Python's."""
        self._profile.__enter__()
        return self._recording.__enter__().compile if self._recording else None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if os.getpid() != self._process:
            return
        _wait_for_threads()
        if isinstance(error, SystemExit):
            core.finish()  # prints deferred errors that were not raised
        self._profile._counter.stop(runs_rest=error is None)
        self._write()
        is_good = error is None or (
            isinstance(error, SystemExit) and error.code in (None, 0)
        )
        if not self._passes() and is_good:
            raise SystemExit(1) from None

    def _write(self) -> None:
        for kind, file in self._files:
            # The reader of a pipe may have closed it.
            with contextlib.suppress(BrokenPipeError):
                if kind == "text":
                    text.print_report(self._profile.report, file)
                else:
                    if file is not sys.stdout:
                        file.truncate(0)
                    file.write(getattr(self._profile, f"to_{kind}")())
                file.flush()
            if file not in (sys.stdout, sys.stderr):
                file.close()
        if self._recording is not None:
            self._recording.__exit__()
        if not self._options.is_doctor and self._recording is None:
            return
        diagnosis = examine(self._profile.report)
        if self._options.is_doctor:
            print(rendering.text(diagnosis), file=sys.stderr)
        if self._recording is not None:
            made = patch(self._recording, diagnosis.edits, self._folder)
            print(made.notes, file=sys.stderr)
            _write_patch(made.diff, self._patch)

    def _passes(self) -> bool:
        report, options = self._profile.report, self._options
        verdicts = []
        if options.fallbacks is not None:
            found = gate.fallbacks(report, options.allowed)
            title = "mxnp: NumPy ran operations on large arrays"
            verdicts.append(gate.verdict(title, found, options.fallbacks))
        if options.waits is not None:
            found = gate.waits(report, options.allowed)
            title = "mxnp: the program waited for recorded operations"
            verdicts.append(gate.verdict(title, found, options.waits))
        failed = [verdict for verdict in verdicts if verdict]
        for verdict in failed:
            print(verdict, file=sys.stderr)
        return not failed


def _write_patch(diff: bytes, file: TextIO) -> None:
    """Write a diff as the bytes that it is, for files in other encodings."""
    if file is sys.stderr and diff:
        file.write("\n")
    if file not in (sys.stdout, sys.stderr):
        file.truncate(0)
    file.flush()
    with contextlib.suppress(BrokenPipeError):
        if hasattr(file, "buffer"):
            file.buffer.write(diff)
        else:
            file.write(diff.decode(errors="replace"))
        file.flush()
    if file not in (sys.stdout, sys.stderr):
        file.close()


def _wait_for_threads() -> None:
    """Wait for the other threads of the program, as the interpreter does at its end.

    Threads may wait for the main thread with `join`, so the main thread is marked as
    ended first. Only the interpreter's own function does both.
    """
    threading._shutdown()  # type: ignore[attr-defined]


def _opened(file: str) -> TextIO:
    """Open an output before the program runs, which may change the current folder."""
    if file in ("", "-"):
        return sys.stdout if file else sys.stderr
    if file.endswith(".py"):
        raise OSError(
            f"cannot write a report to a Python file: {file}; pass another file name"
        )
    return open(file, "a", encoding="utf-8")  # noqa: PTH123
