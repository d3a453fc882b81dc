"""Print the tables of a report and a progress bar, with rich."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .report import (
    Report,
    Row,
    are_many,
    geometric_mean,
    mean_ratios,
    ranked,
    rows_above,
    seconds_text,
    size_text,
    slow_by_size,
    speeds_by_size,
)


@contextmanager
def progress(total: int) -> Iterator[Callable[[int, str], None]]:
    """
    Show a progress bar on the standard error.

    Parameters
    ----------
    total : int
        The number of cases.

    Yields
    ------
    callable
        A function of the number of finished cases and the name of the next one.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        # A thread that draws would take time from the measured code.
        auto_refresh=False,
    )
    with bar:
        task = bar.add_task("", total=total)

        def advance(number: int, text: str) -> None:
            bar.update(task, completed=number, description=text, refresh=True)

        yield advance


def show(report: Report) -> None:
    """Print a table for each suite, and then the errors of a report."""
    from rich.console import Console

    # In a file or a pipe, lines may be long.
    console = Console() if sys.stdout.isatty() else Console(width=200)
    for suite in report.suites():
        rows = report.of_suite(suite)
        if are_many(rows):
            console.print(_grid(f"{suite}: speed of mxnp", speeds_by_size(rows)))
            console.print(_grid(f"{suite}: slow cases", slow_by_size(rows)))
        else:
            console.print(_table(report, suite))
        if text := ratios_text(rows):
            console.print(text, highlight=False)
    console.print(
        "The first number is NumPy's time over the peer's: above 1 is faster than "
        "NumPy. Times are medians, ± half the distance between the quartiles.\nPeers "
        "are sorted by speed, and the fastest of a row is bold. [red]<[/] marks cases "
        "in which mxnp is slower than a peer by more than 5 %.",
        highlight=False,
    )
    if report.busy:
        console.print(report.busy, style="red", highlight=False)
    for row, peer, text in report.failures():
        size = size_text(row.size)
        line = f"error: {row.suite}: {row.label}, {size}, {peer}: {text}"
        console.print(line, style="red", markup=False, highlight=False, soft_wrap=True)
    for suite, label, elements, reason in report.skipped():
        line = f"skipped: {suite}: {label}, {size_text(elements)}: {reason}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for peer, reason in report.missing.items():
        console.print(
            f"not installed: {peer} ({reason})", markup=False, highlight=False
        )


def ratios_text(rows: Sequence[Row]) -> str:
    """Return a line with the mean ratios of a suite; empty if nothing was timed."""
    means = mean_ratios(rows)
    if not means:
        return ""
    timed = sum(row.ratio is not None for row in rows)
    by_size = ", ".join(f"{size}: {mean:.3f}" for size, mean in means.items())
    return (
        "mxnp's time over NumPy's, geometric mean by number of elements: "
        f"{by_size}; above 1 in {len(rows_above(rows, 1.0))} of {timed} cases."
    )


def show_above(report: Report, limit: float) -> None:
    """Print the cases in which mxnp's time is above `limit` times NumPy's."""
    above = rows_above(report.rows, limit)
    print(f"mxnp's time over NumPy's is above {limit:g} in {len(above)} cases:")
    for row in above:
        print(f"{row.ratio:8.2f}  {row.suite}: {row.label}, {size_text(row.size)}")


def _table(report: Report, suite: str) -> Any:
    from rich.table import Table
    from rich.text import Text

    rows = report.of_suite(suite)
    peers = ranked(rows, report.peers)
    means = ", ".join(
        f"{geometric_mean(speeds):.2f}x {peer}"
        for peer in peers
        if (speeds := [speed for row in rows if (speed := row.speed(peer))])
        and peer != "mxnp"
    )
    title = f"{suite}: speed of mxnp, geometric mean: {means or 'unknown'}"
    table = Table(title=title)
    table.add_column("case", min_width=16, max_width=54)
    table.add_column("size", justify="right")
    for peer in peers:
        table.add_column(peer, justify="right")
    table.add_column("mxnp slower than", max_width=16)
    before = ""
    for row in rows:
        if row.skipped:
            continue
        if before and row.label != before:
            table.add_section()
        cells = [_cell(row, peer) for peer in peers]
        slower = ", ".join(row.faster())
        wrong = any(row.errors)
        table.add_row(
            Text(row.label if row.label != before else ""),
            size_text(row.size),
            *cells,
            Text(f"< {slower}" if slower else "error" if wrong else "", "red"),
        )
        before = row.label
    return table


def _grid(title: str, lines: Sequence[Sequence[str]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(*lines[0], title=title)
    for line in lines[1:]:
        table.add_row(*map(Text, line))
    return table


def _cell(row: Row, peer: str) -> Any:
    from rich.text import Text

    if peer in row.errors:
        return Text("error", "red")
    timing = row.timings.get(peer)
    if timing is None:
        return Text("")
    best = max(row.timings.values(), key=lambda each: each.speed)
    text = Text(f"{timing.speed:.2f}x ", "bold" if timing is best else "")
    text.append(seconds_text(timing.median))
    text.append(f" ±{100 * timing.spread:.0f}%", "dim")
    return text
