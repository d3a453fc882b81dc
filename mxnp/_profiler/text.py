"""Show a report as tables of plain text."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence, Sized
from pathlib import Path
from typing import TextIO

from mxnp._engine import figures, places
from mxnp._engine.devices import GPU
from mxnp._interop.dask_protocols import describe_chunks

from .model import Line, Report, Row

TITLES = {GPU: "GPU", "cpu": "engine", "numpy": "NumPy"}
_MOST_LINES = 20  # shown in a table
_LEAST_WIDTH = 120  # in columns, if the output is not a terminal


def used_backends(report: Report) -> list[str]:
    """Return the backends that get a column: the GPU only if it ran something."""
    used = {row.backend for row in report.rows}
    return [backend for backend in TITLES if backend != GPU or backend in used]


def shown(file: str) -> str:
    """Return a cell's name, or a path relative to the current folder if possible."""
    cell = places.cell_name(file)
    if cell:
        return cell
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file or "(unknown)"


def place(file: str, line: int) -> str:
    """Return a place in a file or in a cell of a notebook."""
    return places.describe(file, line, shown(file))


def summary(report: Report) -> str:
    """Return one sentence about the time of all array work."""
    total = report.total
    if total.array == 0:
        return f"No array work in {figures.time(total.wall)}"
    parts = [f"{percent(total.fused, total.array)} fused"]
    parts += [
        f"{percent(total.seconds_on(backend), total.array)} {TITLES[backend]}"
        for backend in used_backends(report)
    ]
    return (
        f"{figures.time(total.array)} of {figures.time(total.wall)} "
        f"in array work: {', '.join(parts)}"
    )


def percent(part: float, whole: float) -> str:
    """Return a part as a percentage of a whole."""
    return f"{100 * part / whole:.0f}%" if whole else "0%"


def _seconds(seconds: float) -> str:
    return figures.time(seconds) if seconds else ""


def _number(n: int) -> str:
    return f"{n:,}" if n < 10**7 else f"{n:.2e}"


def render(report: Report, width: int = _LEAST_WIDTH) -> str:
    """Return the report as tables of a width, and sentences about the whole."""
    tables = [_line_table(report, width)] if report.rows else []
    if report.waits:
        tables.append(_wait_table(report, width))
    if report.conversions:
        tables.append(_conversion_table(report, width))
    return "\n".join([*tables, *_sentences(report), summary(report)])


def _table(
    title: str, names: list[str], rows: list[tuple[str, ...]], width: int
) -> str:
    """Return a table with a wide first column and right-aligned others.

    Further lines of the first cell are below the row, indented and wrapped. Its first
    line is cut at the width of the column.
    """
    columns = [*zip(names, *(row[1:] for row in rows), strict=True)]
    widths = [max(map(len, column)) for column in columns]
    first = max(width - 1 - sum(n + 3 for n in widths), 20)

    def line(text: str, cells: Sequence[str]) -> str:
        cut = text if len(text) <= first else f"{text[: first - 1]}…"
        ends = [f"   {cell:>{n}}" for cell, n in zip(cells, widths, strict=True)]
        return f" {cut:{first}}{''.join(ends)}".rstrip()

    lines = [title, line("", names), f" {'─' * (width - 1)}"]
    for text, *cells in rows:
        head, *others = text.split("\n")
        lines.append(line(head, cells))
        blank = [""] * len(names)
        for other in others:
            indent = {"initial_indent": "  ", "subsequent_indent": "  "}
            wrapped = textwrap.wrap(other, first, **indent)  # type: ignore[arg-type]
            lines += [line(part, blank) for part in wrapped]
    return "\n".join([*lines, ""])


def _more(rest: Sized, *cells: str) -> list[tuple[str, ...]]:
    """Return the last row of a table, which sums up the rows that are left out."""
    return [(figures.count(len(rest), "more line"), *cells)] if rest else []


def _line_table(report: Report, width: int) -> str:
    columns = used_backends(report)
    lines = [line for line in report.lines() if line.rows]
    rows: list[tuple[str, ...]] = []
    for line in lines[:_MOST_LINES]:
        times = [_seconds(line.seconds_on(name)) for name in columns]
        head = f"{place(line.file, line.line)}  {line.source}"
        rows.append((head, "", "", *times, "", ""))
        for row in line.rows:
            times = [_seconds(row.seconds * (row.backend == name)) for name in columns]
            rows.append(_row_cells(row, line, times))
    rest = lines[_MOST_LINES:]
    times = [_seconds(sum(x.seconds_on(name) for x in rest)) for name in columns]
    rows += _more(rest, "", "", *times, "", "")
    titles = [TITLES[name] for name in columns]
    names = ["calls", "elements", *titles, "memory", "fused"]
    return _table("Lines and operations", names, rows, width)


def _row_cells(row: Row, line: Line, times: list[str]) -> tuple[str, ...]:
    name = f"  {row.title}"
    if row.place.expression != line.source:
        name = f"{name}  {row.place.expression}"
    moved = row.bytes_read + row.bytes_written
    return (
        name,
        _number(row.calls),
        _number(row.elements),
        *times,
        figures.nbytes(moved) if moved else "",
        percent(row.fused_calls, row.calls) if row.fused_calls else "",
    )


def _wait_table(report: Report, width: int) -> str:
    rows: list[tuple[str, ...]] = [
        (
            f"{place(wait.place.file, wait.place.line)}  {wait.place.expression}"
            f"\n{wait.reason}",
            _number(wait.count),
            _number(wait.operations),
            figures.time(wait.seconds),
        )
        for wait in report.waits[:_MOST_LINES]
    ]
    rest = report.waits[_MOST_LINES:]
    rows += _more(
        rest,
        _number(sum(wait.count for wait in rest)),
        _number(sum(wait.operations for wait in rest)),
        figures.time(sum(wait.seconds for wait in rest)),
    )
    title = "Waits: everything recorded had to run"
    return _table(title, ["count", "operations", "waited"], rows, width)


def _conversion_table(report: Report, width: int) -> str:
    rows: list[tuple[str, ...]] = [
        (
            f"{place(one.place.file, one.place.line)}  {one.place.expression}"
            f"\n{one.function}\n{one.advice}",
            _number(one.calls),
            _number(one.arrays),
            figures.nbytes(one.nbytes),
            _seconds(one.waiting),
        )
        for one in report.conversions[:_MOST_LINES]
    ]
    rest = report.conversions[_MOST_LINES:]
    rows += _more(
        rest,
        _number(sum(one.calls for one in rest)),
        _number(sum(one.arrays for one in rest)),
        figures.nbytes(sum(one.nbytes for one in rest)),
        _seconds(sum(one.waiting for one in rest)),
    )
    title = "Arrays passed to packages, as NumPy arrays with the same memory"
    return _table(title, ["calls", "arrays", "memory", "waited"], rows, width)


def _sentences(report: Report) -> list[str]:
    total = report.total
    sentences = []
    if report.checks:
        checked = sum(check.count for check in report.checks)
        cached = sum(check.cached for check in report.checks)
        seconds = sum(check.seconds for check in report.checks)
        sentences.append(
            f"Index arrays checked: {checked} in {figures.time(seconds)}; "
            f"the range of {cached} more was already known"
        )
    if report.conversions:
        arrays = sum(one.arrays for one in report.conversions)
        calls = sum(one.calls for one in report.conversions)
        sentences.append(
            f"Packages got {figures.count(arrays, 'array')} "
            f"in {figures.count(calls, 'call')}"
        )
    sentences += [
        f"Waited {figures.time(total.waiting)} in "
        f"{figures.count(total.waits, 'wait')}; "
        f"recording took {figures.time(total.recording)}",
        f"Peak memory: {figures.nbytes(total.pool_peak)} in mxnp's arrays, "
        f"{figures.nbytes(total.process_peak)} in the process",
    ]
    return sentences + list(filter(None, [describe_chunks()]))


def print_report(report: Report, file: TextIO | None = None) -> None:
    """Print a report to a file, by default `sys.stdout`."""
    width = shutil.get_terminal_size().columns
    is_terminal = getattr(file or sys.stdout, "isatty", bool)()
    text = render(report, width if is_terminal else max(width, _LEAST_WIDTH))
    encoding = getattr(file or sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), file=file)
