"""What a program could do faster, line by line: found, sorted and printed."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, TextIO

from mxnp._engine import core, devices, figures
from mxnp._interop.program_files import is_in_program
from mxnp._profiler.model import Report
from mxnp._profiler.report import profile
from mxnp._profiler.text import shown

from . import array_patterns, element_patterns
from .findings import Finding, Search
from .syntax import Facts, Source

# In this order: what is told of a node is not told again.
PATTERNS: tuple[Callable[[Search], Iterable[Finding]], ...] = (
    array_patterns.growing_arrays,
    element_patterns.element_loops,
    element_patterns.builtin_reductions,
    element_patterns.comprehensions,
    array_patterns.masked_updates,
    array_patterns.kept_results,
    array_patterns.repeated_waits,
    array_patterns.double_precision,
    element_patterns.scalar_reads,
)

_SHARE, _LEAST_SHARE = 0.02, 0.005  # of the array work; if nothing costs more
_WIDTH = 88


def diagnose(report: Report) -> list[Finding]:
    """
    Look for patterns in the files of the program, the costliest first.

    Parameters
    ----------
    report : Report
        What was counted while it ran.
    """
    places = [row.place for row in report.rows] + [wait.place for wait in report.waits]
    files = dict.fromkeys(place.file for place in places)
    has_gpu = _has_gpu()
    findings: list[Finding] = []
    for file in files:
        source = Source.of(file) if file and is_in_program(file) else None
        if source is not None:
            search = Search(source, Facts(report, source), has_gpu)
            findings += [found for pattern in PATTERNS for found in pattern(search)]
    return sorted(findings, key=lambda finding: -finding.seconds)


def _has_gpu() -> bool:
    return bool(core.metal_devices()) and devices.get_device() != "cpu"


def worth_telling(findings: list[Finding], report: Report) -> list[Finding]:
    """Leave out what is small; if all is, it is told from a quarter of that on."""
    for share in (_SHARE, _LEAST_SHARE):
        told = [one for one in findings if one.seconds >= share * report.total.array]
        if told:
            return told
    return []


def print_findings(report: Report, file: TextIO | None = None) -> None:
    """
    Print what was found, with the lines as they could be.

    Parameters
    ----------
    report : Report
        What was counted while the program ran.
    file : file object, optional
        Where to print, by default `sys.stdout`.
    """
    findings = diagnose(report)
    told = worth_telling(findings, report)
    head = figures.count(len(told), "finding") if told else "nothing found"
    print(f"Doctor: {head}", file=file)
    for finding in told:
        print("\n".join(["", *_describe(finding, report)]), file=file)
    rest = findings[len(told) :]
    if rest:
        seconds = figures.time(sum(finding.seconds for finding in rest))
        more = figures.count(len(rest), "smaller one")
        print(f"\n{more} left out, {seconds} in all", file=file)


def _describe(finding: Finding, report: Report) -> list[str]:
    share = finding.seconds / report.total.array if report.total.array else 0
    where = f"{shown(finding.file)}:{finding.line}"
    cost = (
        f"{finding.pattern}: {finding.count:,} {finding.unit}, "
        f"{figures.time(finding.seconds)}, {100 * share:.0f}% of the array work"
    )
    lines = [f"{where}  {finding.source}", *_indented(cost), *_indented(finding.reason)]
    if finding.is_example:
        lines.append("  for example")
    elif finding.rewrite:
        same = "" if finding.conditions else ", with the same result"
        lines.append(f"  instead{same}")
    lines += [f"      {line}" for line in finding.rewrite]
    if finding.conditions:
        lines += _indented(f"Right if {'; '.join(finding.conditions)}.")
    return lines


def _indented(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
    )


class doctor(profile):  # noqa: N801
    """
    Context manager: what a block could do faster, with the lines as they could be.

    It measures as `profile` does, and looks in the program's files for patterns that
    are known to cost time.

    Attributes
    ----------
    findings : list of Finding
        Until now or until the end of the block, the costliest first: ``pattern``,
        ``file``, ``line``, ``source``, ``count``, ``unit``, ``seconds``, ``reason``,
        ``rewrite``, ``conditions``, ``is_example``.

    See Also
    --------
    profile : What each line costs, and where it runs.

    Examples
    --------
    >>> import mxnp as np
    >>> x = np.arange(100_000, dtype="f4")
    >>> with np.doctor() as d:
    ...     y = np.sqrt(x * x + 1)
    >>> d.findings
    []
    """

    __module__ = "mxnp"

    @property
    def findings(self) -> list[Finding]:
        """What was found, the costliest first."""
        return diagnose(self.report)

    def print(self, file: TextIO | None = None) -> None:
        """
        Print what was found.

        Parameters
        ----------
        file : file object, optional
            Where to print, by default ``sys.stdout``.
        """
        print_findings(self.report, file or sys.stdout)

    def _to_dict(self) -> dict[str, Any]:
        told = super()._to_dict()
        told["findings"] = [asdict(finding) for finding in self.findings]
        return told
