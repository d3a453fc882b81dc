"""`doctor()`: find slow patterns in a program, sort them and print them."""

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

# In this order, because a node that one pattern claims is left out by the next ones.
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

_SHARE = 0.02  # of the array work: smaller findings are left out
_LEAST_SHARE = 0.005  # the same if there are no larger findings
_WIDTH = 88


def diagnose(report: Report) -> list[Finding]:
    """
    Return the findings in the files of the program, the most expensive first.

    Parameters
    ----------
    report : Report
        The counts of the program.
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
    return bool(core.gpu().models) and devices.get_device() != "cpu"


def significant(findings: list[Finding], report: Report) -> list[Finding]:
    """Leave out small findings, with a lower limit if all of them are small."""
    for share in (_SHARE, _LEAST_SHARE):
        least = share * report.total.array
        found = [finding for finding in findings if finding.seconds >= least]
        if found:
            return found
    return []


def print_findings(report: Report, file: TextIO | None = None) -> None:
    """
    Print the findings with the suggested rewrites.

    Parameters
    ----------
    report : Report
        The counts of the program.
    file : file object, optional
        Where to print, by default `sys.stdout`.
    """
    findings = diagnose(report)
    listed = significant(findings, report)
    head = figures.count(len(listed), "finding") if listed else "nothing found"
    print(f"Doctor: {head}", file=file)
    for finding in listed:
        print("\n".join(["", *_describe(finding, report)]), file=file)
    rest = findings[len(listed) :]
    if rest:
        seconds = figures.time(sum(finding.seconds for finding in rest))
        more = figures.count(len(rest), "smaller finding")
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
        lines.append("  Example:")
    elif finding.rewrite:
        same = "" if finding.conditions else ", with the same result"
        lines.append(f"  Rewrite{same}:")
    lines += [f"      {line}" for line in finding.rewrite]
    if finding.conditions:
        lines += _indented(f"Valid if {'; '.join(finding.conditions)}.")
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
    Context manager that reports slow patterns of a block and suggests rewrites.

    It measures the block as `profile` does, and then looks for known patterns in the
    program's files.

    Attributes
    ----------
    findings : list of Finding
        The findings until now or until the end of the block, the most expensive first.
        They have the attributes ``pattern``, ``file``, ``line``, ``source``,
        ``count``, ``unit``, ``seconds``, ``reason``, ``rewrite``, ``conditions`` and
        ``is_example``.

    See Also
    --------
    profile : Measure what each line costs and where it runs.

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
        """The findings, the most expensive first."""
        return diagnose(self.report)

    def print(self, file: TextIO | None = None) -> None:
        """
        Print the findings.

        Parameters
        ----------
        file : file object, optional
            Where to print, by default ``sys.stdout``.
        """
        print_findings(self.report, file or sys.stdout)

    def _to_dict(self) -> dict[str, Any]:
        report = super()._to_dict()
        report["findings"] = [asdict(finding) for finding in self.findings]
        return report
