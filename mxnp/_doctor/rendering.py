"""Show the findings of the doctor as text and as HTML."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from html import escape

from mxnp._engine import figures
from mxnp._profiler.model import Report
from mxnp._profiler.text import percent, place, summary

from .findings import Edit, Finding

_WIDTH = 88


@dataclass(frozen=True)
class Diagnosis:
    """
    The findings of a program.

    Parameters
    ----------
    listed, rest : list of Finding
        The findings to show, and the smaller ones, which are only counted.
    report : Report
        The counts of the program.
    edits : list of Edit
        The changes of files that the findings suggest.
    chunks : str
        Which chunks Dask's arrays have, or empty if Dask is not in use.
    """

    listed: list[Finding]
    rest: list[Finding]
    report: Report
    edits: list[Edit]
    chunks: str = ""


def head(diagnosis: Diagnosis) -> str:
    """Return how many findings there are."""
    n = len(diagnosis.listed)
    return figures.count(n, "finding") if n else "nothing found"


def text(diagnosis: Diagnosis) -> str:
    """Return the findings with the suggested rewrites."""
    lines = [f"Doctor: {head(diagnosis)}"]
    for finding in diagnosis.listed:
        where = place(finding.file, finding.line)
        lines += ["", f"{where}  {finding.source}"]
        lines += _indented(_cost(finding, diagnosis)) + _indented(finding.reason)
        lines += [f"  {_title(finding)}"] if finding.rewrite else []
        lines += [f"      {line}" for line in finding.rewrite]
        if finding.conditions:
            lines += _indented(_conditions(finding))
    if diagnosis.rest:
        lines += ["", _left_out(diagnosis)]
    for paragraph in filter(None, [diagnosis.chunks, _bound(diagnosis.report)]):
        lines += ["", *textwrap.wrap(paragraph, _WIDTH)]
    return "\n".join(lines)


def html(diagnosis: Diagnosis) -> str:
    """Return the findings as HTML for the report."""
    parts = [f"<h2>Doctor: {escape(head(diagnosis))}</h2>"]
    for finding in diagnosis.listed:
        where = escape(place(finding.file, finding.line))
        lines = [
            f'<p><b>{where}</b> <span class="code">{escape(finding.source)}</span></p>',
            f"<p>{escape(_cost(finding, diagnosis))}</p>",
            f"<p>{_with_code(finding.reason)}</p>",
        ]
        if finding.rewrite:
            code = escape("\n".join(finding.rewrite))
            lines.append(f'<p>{_title(finding)}</p><pre class="code">{code}</pre>')
        if finding.conditions:
            lines.append(f"<p>{_with_code(_conditions(finding))}</p>")
        parts.append(f'<div class="finding">{"".join(lines)}</div>')
    if diagnosis.rest:
        parts.append(f"<p>{escape(_left_out(diagnosis))}</p>")
    ends = filter(None, [diagnosis.chunks, _bound(diagnosis.report)])
    parts += [f"<p>{escape(paragraph)}</p>" for paragraph in ends]
    return "".join(parts)


def _with_code(text: str) -> str:
    """Return a text as HTML, with its parts in backticks as code."""
    return re.sub("`(.+?)`", r'<span class="code">\1</span>', escape(text))


def _cost(finding: Finding, diagnosis: Diagnosis) -> str:
    begin = f"{finding.pattern}: {finding.count:,} {finding.unit}, "
    seconds = figures.time(finding.seconds)
    if finding.unit == "waits":  # while operations of other lines run
        return f"{begin}{seconds} in all"
    share = percent(finding.seconds, diagnosis.report.total.array)
    return f"{begin}{seconds}, {share} of the array work"


def _title(finding: Finding) -> str:
    if finding.is_example:
        return "Example:"
    return f"Rewrite{'' if finding.conditions else ', with the same result'}:"


def _conditions(finding: Finding) -> str:
    return f"Valid if {'; '.join(finding.conditions)}."


def _left_out(diagnosis: Diagnosis) -> str:
    seconds = figures.time(sum(finding.seconds for finding in diagnosis.rest))
    more = figures.count(len(diagnosis.rest), "smaller finding")
    return f"{more} left out, {seconds} in all"


def _bound(report: Report) -> str:
    """Return how much faster the program would be if array work took no time."""
    wall, array = report.total.wall, report.total.array
    if array == 0:
        return f"{summary(report)}: mxnp cannot make the program faster."
    rest = max(wall - array, wall / 100)
    most = f"{wall / rest:.3g} times as fast{' or more' * (wall - array < rest)}"
    return (
        f"{summary(report)}. If this work took no time, the program would be about "
        f"{most}: without other changes, mxnp cannot gain more. Whether "
        "it is faster than with NumPy, only a run without mxnp shows."
    )


def _indented(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
    )
