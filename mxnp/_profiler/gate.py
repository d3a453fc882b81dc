"""Limits on NumPy calls and waits: ``--fail-on-fallback`` and ``--fail-on-sync``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

from mxnp._engine import figures

from .model import Place, Report

# Kinds of waits that no expression of the program asks for.
_NOT_REQUESTED = {"exit", "report", "full", "memory"}


def fallbacks(report: Report, allowed: Sequence[str]) -> list[tuple[int, str]]:
    """
    Return the operations on large arrays that NumPy ran, the most frequent first.

    Parameters
    ----------
    report : Report
        The report of the program.
    allowed : sequence of str
        Patterns of operations and places that do not count: see `is_allowed`.

    Returns
    -------
    list of (int, str)
        The number of calls, and the line, operation and expression.
    """
    return _sorted(
        (row.numpy_fallbacks, _describe(row.place, row.operation))
        for row in report.rows
        if row.numpy_fallbacks and not is_allowed(row.place, row.operation, allowed)
    )


def waits(report: Report, allowed: Sequence[str]) -> list[tuple[int, str]]:
    """Return the waits of the program, in the form of `fallbacks`."""
    return _sorted(
        (wait.count, _describe(wait.place, wait.reason))
        for wait in report.waits
        if wait.kind not in _NOT_REQUESTED
        and not is_allowed(wait.place, wait.operation or wait.kind, allowed)
    )


def _describe(place: Place, what: str) -> str:
    return f"{place}: {what}: {place.expression}"


def _sorted(found: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    return sorted(found, key=lambda one: -one[0])


def is_allowed(place: Place, operation: str, allowed: Sequence[str]) -> bool:
    """
    Check whether an operation is allowed at a place.

    Parameters
    ----------
    place : Place
        The expression.
    operation : str
        The name of the operation.
    allowed : sequence of str
        Each is an operation such as ``linalg.svd`` or ``linalg.*``, a file such as
        ``plot.py``, the end of its path such as ``tools/*.py``, or a line such as
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
    """Return the message for a limit that was exceeded, or an empty string."""
    count = sum(number for number, _ in found)
    if count <= limit:
        return ""
    allowed = f" ({limit} allowed)" if limit else ""
    lines = [f"  {number:>7,} x {description}" for number, description in found]
    return "\n".join([f"{title}: {figures.count(count, 'time')}{allowed}", *lines])
