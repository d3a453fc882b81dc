"""Whether a program may pass: what ran in NumPy, and what it waited for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

from mxnp._engine import figures

from .model import Place, Report

# What the program did not ask for: the end, and the queue when it is full.
_UNASKED = {"exit", "report", "full", "memory"}


def fallbacks(report: Report, allowed: Sequence[str]) -> list[tuple[int, str]]:
    """
    Give what NumPy ran of arrays so large that mxnp runs what it can, most calls first.

    Parameters
    ----------
    report : Report
        The program's.
    allowed : sequence of str
        What is left out: see `is_allowed`.

    Returns
    -------
    list of (int, str)
        Calls, and the line, operation and expression.
    """
    return _sorted(
        (row.large, _told(row.place, row.operation))
        for row in report.rows
        if row.large and not is_allowed(row.place, row.operation, allowed)
    )


def waits(report: Report, allowed: Sequence[str]) -> list[tuple[int, str]]:
    """Give what the program waited for, as `fallbacks` does."""
    return _sorted(
        (wait.count, _told(wait.place, wait.reason))
        for wait in report.waits
        if wait.kind not in _UNASKED
        and not is_allowed(wait.place, wait.operation or wait.kind, allowed)
    )


def _told(place: Place, what: str) -> str:
    return f"{place}: {what}: {place.expression}"


def _sorted(found: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    return sorted(found, key=lambda one: -one[0])


def is_allowed(place: Place, operation: str, allowed: Sequence[str]) -> bool:
    """
    Tell whether somebody allows an operation at a place.

    Parameters
    ----------
    place : Place
        The expression.
    operation : str
        What it does.
    allowed : sequence of str
        Each an operation such as ``linalg.svd`` or ``linalg.*``, a file such as
        ``plot.py`` or a part of its path such as ``tools/*.py``, or a line such as
        ``plot.py:14``.
    """
    path = PurePath(place.file)
    for pattern in allowed:
        file, colon, line = pattern.rpartition(":")
        is_line = colon and line.isdecimal()
        if fnmatchcase(operation, pattern):
            return True
        if is_line and int(line) != place.line:
            continue
        name = file if is_line else pattern
        if name and path.match(name):
            return True
    return False


def verdict(title: str, found: list[tuple[int, str]], limit: int) -> str:
    """Give what to print if more was found than may be; else an empty text."""
    count = sum(number for number, _ in found)
    if count <= limit:
        return ""
    may = f", and {limit} may be" if limit else ""
    lines = [f"  {number:>7,} x {told}" for number, told in found]
    return "\n".join([f"{title}: {figures.count(count, 'time')}{may}", *lines])
