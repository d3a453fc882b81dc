"""`doctor()`: find slow patterns in a program, and sort them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, TextIO

from mxnp._engine import core, devices
from mxnp._engine.frames import frameless_members
from mxnp._interop.dask_protocols import describe_chunks
from mxnp._interop.program_files import is_in_program
from mxnp._profiler.model import Report
from mxnp._profiler.report import profile

from . import (
    algorithm_patterns,
    array_patterns,
    element_patterns,
    numpy_patterns,
    rendering,
)
from .findings import Edit, Finding, Search
from .syntax import Facts, Source

# In this order, because a node that one pattern claims is left out by the next ones.
PATTERNS: tuple[Callable[[Search], Iterable[Finding]], ...] = (
    array_patterns.growing_arrays,
    algorithm_patterns.sorting_loops,
    algorithm_patterns.grouped_reductions,
    algorithm_patterns.inverse_products,
    algorithm_patterns.python_functions,
    algorithm_patterns.functions_of_rows,
    element_patterns.element_loops,
    element_patterns.builtin_reductions,
    element_patterns.comprehensions,
    array_patterns.masked_updates,
    array_patterns.kept_results,
    array_patterns.repeated_waits,
    array_patterns.double_precision,
    element_patterns.element_waits,
    element_patterns.scalar_reads,
    numpy_patterns.small_calls,
    numpy_patterns.plain_arrays,
    numpy_patterns.mostly_numpys,
)

_SHARE = 0.02  # of the array work: smaller findings are left out
_LEAST_SHARE = 0.005  # the same if there are no larger findings


def diagnose(report: Report) -> tuple[list[Finding], list[Edit]]:
    """
    Return the findings in the files of the program, and the changes that they suggest.

    Parameters
    ----------
    report : Report
        The counts of the program.

    Returns
    -------
    findings : list of Finding
        The findings, the most expensive first.
    edits : list of Edit
        The changes, in the order of the files.
    """
    places = [row.place for row in report.rows] + [wait.place for wait in report.waits]
    files = dict.fromkeys(place.file for place in places)
    has_gpu = _has_gpu()
    findings: list[Finding] = []
    edits: list[Edit] = []
    for file in files:
        source = Source.of(file) if file and is_in_program(file) else None
        if source is not None:
            search = Search(source, Facts(report, source), has_gpu)
            findings += [found for pattern in PATTERNS for found in pattern(search)]
            edits += search.edits
    return sorted(findings, key=lambda finding: -finding.seconds), edits


def _has_gpu() -> bool:
    return bool(core.gpu().models) and devices.get_device() != "cpu"


def examine(report: Report) -> rendering.Diagnosis:
    """Find slow patterns, and select the findings that are worth a change.

    Small findings are left out. The limit is lower if all of them are small.
    """
    findings, edits = diagnose(report)
    array = report.total.array
    listed: list[Finding] = []
    for share in (_SHARE, _LEAST_SHARE):
        if not listed:
            listed = [each for each in findings if each.seconds >= share * array]
    rest = [finding for finding in findings if finding not in listed]
    return rendering.Diagnosis(listed, rest, report, edits, describe_chunks())


@frameless_members
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
        return diagnose(self.report)[0]

    def print(self, file: TextIO | None = None) -> None:
        """
        Print the findings.

        Parameters
        ----------
        file : file object, optional
            Where to print, by default ``sys.stdout``.
        """
        print(rendering.text(examine(self.report)), file=file)

    def _to_dict(self) -> dict[str, Any]:
        report = super()._to_dict()
        report["findings"] = [asdict(finding) for finding in self.findings]
        return report

    def __repr__(self) -> str:
        found = rendering.head(examine(self.report))
        return super().__repr__().replace("<mxnp.profile: ", f"<mxnp.doctor: {found}. ")

    def _findings(self, report: Report) -> str:
        return rendering.html(examine(report))
