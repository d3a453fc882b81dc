"""Show a report as tables on a terminal, with rich."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from mxnp._engine import figures, places
from mxnp._engine.devices import GPU

from .model import Line, Report, Row

MISSING = (
    "a report as text requires rich: install it with `pip install 'mxnp[report]'`, "
    "or use the forms json or html"
)
TITLES = {GPU: "GPU", "cpu": "engine", "numpy": "NumPy"}
_STYLES = {GPU: "green", "cpu": "cyan", "numpy": "yellow"}
_MOST_LINES = 20  # shown in a table
_LEAST_WIDTH = 120  # in columns, if the output is not a terminal


def is_possible() -> bool:
    """Check whether rich is installed."""
    return importlib.util.find_spec("rich") is not None


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


def render(report: Report) -> Any:
    """Return the renderable object that rich prints."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [_line_table(report)] if report.rows else []
    if report.waits:
        parts.append(_wait_table(report))
    if report.conversions:
        parts.append(_conversion_table(report))
    parts += [Text(sentence) for sentence in _sentences(report)]
    parts.append(Text(summary(report), style="bold"))
    return Group(*parts)


def _table(title: str, *columns: tuple[str, dict[str, Any]]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(
        title=title,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        expand=True,
    )
    for name, options in columns:
        table.add_column(name, **options)
    return table


def _right(width: int, **options: Any) -> dict[str, Any]:
    return {"justify": "right", "no_wrap": True, "min_width": width, **options}


def _line_table(report: Report) -> Any:
    from rich.text import Text

    columns = used_backends(report)
    table = _table(
        "Lines and operations",
        ("", {"overflow": "ellipsis", "no_wrap": True, "ratio": 1}),
        ("calls", _right(5)),
        ("elements", _right(9)),
        *((TITLES[name], _right(7, style=_STYLES[name])) for name in columns),
        ("memory", _right(7)),
        ("fused", _right(5)),
    )
    lines = [line for line in report.lines() if line.rows]
    for line in lines[:_MOST_LINES]:
        head = Text(f"{place(line.file, line.line)}  ", style="bold")
        head.append(line.source, style="not bold")
        times = [_seconds(line.seconds_on(name)) for name in columns]
        table.add_row(head, "", "", *times, "", "", style="on grey11")
        for row in line.rows:
            times = [_seconds(row.seconds * (row.backend == name)) for name in columns]
            table.add_row(*_row_cells(row, line, times))
    rest = lines[_MOST_LINES:]
    if rest:
        times = [_seconds(sum(x.seconds_on(name) for x in rest)) for name in columns]
        more = figures.count(len(rest), "more line")
        table.add_row(Text(more, style="italic"), "", "", *times, "", "")
    return table


def _row_cells(row: Row, line: Line, times: list[str]) -> list[Any]:
    from rich.text import Text

    name = Text(f"  {row.operation}")
    if row.place.expression != line.source:
        name.append(f"  {row.place.expression}", style="dim")
    moved = row.bytes_read + row.bytes_written
    return [
        name,
        _number(row.calls),
        _number(row.elements),
        *times,
        figures.nbytes(moved) if moved else "",
        percent(row.fused_calls, row.calls) if row.fused_calls else "",
    ]


def _wait_table(report: Report) -> Any:
    from rich.text import Text

    table = _table(
        "Waits: everything recorded had to run",
        ("", {"overflow": "ellipsis", "no_wrap": True, "ratio": 1}),
        ("count", _right(5)),
        ("operations", _right(10)),
        ("waited", _right(7)),
    )
    for wait in report.waits[:_MOST_LINES]:
        where = Text(f"{place(wait.place.file, wait.place.line)}  ", style="bold")
        where.append(wait.place.expression, style="not bold")
        where.append(f"\n  {wait.reason}", style="yellow")
        table.add_row(
            where,
            _number(wait.count),
            _number(wait.operations),
            figures.time(wait.seconds),
        )
    rest = report.waits[_MOST_LINES:]
    if rest:
        table.add_row(
            Text(figures.count(len(rest), "more line"), style="italic"),
            _number(sum(wait.count for wait in rest)),
            _number(sum(wait.operations for wait in rest)),
            figures.time(sum(wait.seconds for wait in rest)),
        )
    return table


def _conversion_table(report: Report) -> Any:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    table = _table(
        "Arrays passed to packages, as NumPy arrays with the same memory",
        ("", {"ratio": 1}),
        ("calls", _right(5)),
        ("arrays", _right(6)),
        ("memory", _right(7)),
        ("waited", _right(7)),
    )
    for one in report.conversions[:_MOST_LINES]:
        where = Text(no_wrap=True, overflow="ellipsis")
        where.append(f"{place(one.place.file, one.place.line)}  ", style="bold")
        where.append(one.place.expression)
        where.append(f"\n  {one.function}", style="yellow")
        advice = [Padding(Text(one.advice), (0, 0, 0, 2))] if one.advice else []
        table.add_row(
            Group(where, *advice),
            _number(one.calls),
            _number(one.arrays),
            figures.nbytes(one.nbytes),
            _seconds(one.waiting),
        )
    rest = report.conversions[_MOST_LINES:]
    if rest:
        table.add_row(
            Text(figures.count(len(rest), "more line"), style="italic"),
            _number(sum(one.calls for one in rest)),
            _number(sum(one.arrays for one in rest)),
            figures.nbytes(sum(one.nbytes for one in rest)),
            _seconds(sum(one.waiting for one in rest)),
        )
    return table


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
    return sentences


def print_report(report: Report, file: Any = None) -> None:
    """Print a report to a file, by default `sys.stdout`."""
    from rich.console import Console

    console = Console(file=file)
    if not console.is_terminal:
        console.width = max(console.width, _LEAST_WIDTH)
    console.print(render(report))
