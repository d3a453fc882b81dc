"""Write a report as a Markdown page, with the slower cases first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from textwrap import wrap

from .report import (
    EQUAL,
    LEAST_SPEED,
    Report,
    Row,
    are_many,
    geometric_mean,
    mean_ratios,
    ranked,
    seconds_text,
    size_text,
    slow_by_size,
    speeds_by_size,
)

WIDTH = 120  # characters of a line of text

_FAST = "mxnp.fast"


def write(report: Report, path: Path) -> None:
    """Write a report to a Markdown file."""
    path.write_text("\n".join(_page(report)).rstrip() + "\n", encoding="utf-8")


def _page(report: Report) -> Iterator[str]:
    yield "# Benchmarks"
    yield ""
    yield from wrap(
        "This page compares mxnp with NumPy and other array packages, which run in one "
        "process with the same number of threads. In each round, every peer takes one "
        "sample in turn. A sample repeats the computation for 2 ms or more, and counts "
        "as the time of one repetition. If the system preempted it, it is taken again, "
        "up to three times. Every result was compared with NumPy's before it was "
        "timed. Speeds are NumPy's median time over the peer's: above 1 is faster than "
        "NumPy. The compilation of `jax.jit` is not timed. Small sizes run first.",
        WIDTH,
    )
    yield ""
    yield from wrap(
        "NumPy's speed depends on the process. After any package has freed larger "
        "arrays, the C library keeps more freed memory, and NumPy's temporaries cost "
        "no page faults. The JSON file has the page faults of each timing.",
        WIDTH,
    )
    yield ""
    yield from _circumstances(report)
    yield ""
    if report.busy:
        yield f"**{report.busy}**"
        yield ""
    yield "## Slower cases"
    yield ""
    yield from _slower(report)
    yield from _wrong(report)
    yield "## Summary"
    yield ""
    yield from _summary(report)
    for suite in report.suites():
        yield ""
        yield f"## {suite}"
        yield ""
        yield from _suite(report, suite)


def _circumstances(report: Report) -> Iterator[str]:
    versions = ", ".join(f"{peer} {text}" for peer, text in report.versions.items())
    threads = ", ".join(f"{peer} {text}" for peer, text in report.threads.items())
    lines = {
        "command": f"`{report.command}`",
        "started": f"{report.started}, took {report.seconds:.0f} s",
        **report.machine,
        "versions": versions,
        "threads": f"{threads}; matrix products as NumPy's BLAS is set",
        "load (1, 5, 15 min)": ", ".join(
            f"{when} {' '.join(map(str, values))}"
            for when, values in report.load.items()
        ),
        "not installed": ", ".join(report.missing) or "none of the requested peers",
    }
    yield from _table(["", ""], ([key, text] for key, text in lines.items()))


def _slower(report: Report) -> Iterator[str]:
    """Yield tables of the cases that are slower than a peer, by peer and size."""
    found = False
    suites = map(report.of_suite, report.suites())
    listed = [row for rows in suites if not are_many(rows) for row in rows]
    for peer in report.peers:
        sizes: dict[tuple[str, str], list[tuple[int, float]]] = {}
        for row in listed:
            if peer in row.faster():
                speed = row.speed(peer)
                assert speed is not None
                sizes.setdefault((row.suite, row.label), []).append((row.size, speed))
        if not sizes:
            continue
        found = True
        compared = sum(row.speed(peer) is not None for row in listed)
        slower = sum(map(len, sizes.values()))
        yield f"### Slower than {peer}: {slower} of {compared}"
        yield ""
        yield from _table(
            ["suite", "case", f"mxnp's speed over {peer}'s, by size"],
            (
                [
                    suite,
                    label,
                    ", ".join(
                        f"{size_text(size)}: {speed:.2f}" for size, speed in pairs
                    ),
                ]
                for (suite, label), pairs in sorted(
                    sizes.items(), key=lambda item: min(speed for _, speed in item[1])
                )
            ),
        )
        yield ""
    percent = round(100 * (EQUAL - 1))
    if not listed:
        yield "The tables of the suites below list them."
    elif found:
        yield f"Differences of up to {percent} % are not listed here."
    else:
        yield f"No case is slower by more than {percent} %."
    yield ""


def _wrong(report: Report) -> Iterator[str]:
    failures = report.failures()
    skipped = list(report.skipped())
    if failures:
        yield "## Errors"
        yield ""
        yield from _table(
            ["suite", "case", "size", "peer", "error"],
            (
                [row.suite, row.label, size_text(row.size), peer, text]
                for row, peer, text in failures
            ),
        )
        yield ""
    if skipped:
        yield "## Cases that were not run"
        yield ""
        yield from _table(
            ["suite", "case", "size", "reason"],
            (
                [suite, label, size_text(size), reason]
                for suite, label, size, reason in skipped
            ),
        )
        yield ""


def _summary(report: Report) -> Iterator[str]:
    peers = [peer for peer in report.peers if peer != "mxnp"]
    yield "The speed of mxnp relative to each peer: geometric mean (lowest)."
    yield ""
    lines = []
    for suite in report.suites():
        rows = report.of_suite(suite)
        kinds = list(dict.fromkeys(row.kind for row in rows))
        for kind in ["", *kinds] if len(kinds) > 1 else [""]:
            chosen = [row for row in rows if kind in ("", row.kind)]
            lines.append(
                [suite, kind or "all", *(_mean(chosen, peer) for peer in peers)]
            )
    yield from _table(["suite", "kind", *peers], lines)
    yield from _ratios(report)
    yield from _strict(report)


def _ratios(report: Report) -> Iterator[str]:
    """Return the table of mxnp's time over NumPy's by number of elements."""
    means = {suite: mean_ratios(report.of_suite(suite)) for suite in report.suites()}
    lines = [
        [suite, ", ".join(f"{size}: {mean:.2f}" for size, mean in each.items())]
        for suite, each in means.items()
        if each
    ]
    if lines:
        yield ""
        yield "mxnp's time over NumPy's: geometric mean by number of elements."
        yield ""
        yield from _table(["suite", "time, by number of elements"], lines)


def _strict(report: Report) -> Iterator[str]:
    """Yield a table of the time that strict mode takes more than fast mode."""
    rows = [row for row in report.rows if row.speed(_FAST)]
    lines = []
    for kind in dict.fromkeys(row.kind for row in rows):
        speeds = [row.speed(_FAST) for row in rows if row.kind == kind]
        costs = [1 / speed - 1 for speed in speeds if speed]
        middle, most = f"{median(costs):.1%}", f"{max(costs):.1%}"
        lines.append([kind, str(len(costs)), middle, most])
    if lines:
        yield ""
        yield "Additional time of strict mode, compared with fast mode:"
        yield ""
        yield from _table(["indices", "cases", "median", "most"], lines)


def _mean(rows: Sequence[Row], peer: str) -> str:
    speeds = [speed for row in rows if (speed := row.speed(peer))]
    return f"{geometric_mean(speeds):.2f} ({min(speeds):.2f})" if speeds else ""


def _suite(report: Report, suite: str) -> Iterator[str]:
    rows = report.of_suite(suite)
    if are_many(rows):
        yield from _by_size(rows)
        return
    peers = ranked(rows, report.peers)
    yield (
        "The speed relative to NumPy, and the median time ± half the distance between "
        "the quartiles. Peers are sorted by speed, and the fastest of a row is bold."
    )
    yield ""
    yield from _table(
        ["case", "size", *peers, "mxnp slower than"],
        (
            [
                row.label,
                size_text(row.size),
                *(_cell(row, peer) for peer in peers),
                ", ".join(row.faster()),
            ]
            for row in rows
            if not row.skipped
        ),
    )


def _by_size(rows: Sequence[Row]) -> Iterator[str]:
    """Yield tables of mxnp's speed over NumPy's, for each number of elements."""
    head, *lines = speeds_by_size(rows)
    yield from wrap(
        "The speed of mxnp relative to NumPy by the shortest samples: the geometric "
        f"mean, and the number of cases below {LEAST_SPEED}. The last column is the "
        "geometric mean of mxnp's processor time, of all threads, over NumPy's.",
        WIDTH,
    )
    yield ""
    yield from _table(head, lines)
    yield ""
    head, *lines = slow_by_size(rows)
    yield f"Cases whose speed is below {LEAST_SPEED} at some size, the slowest first:"
    yield ""
    yield from _table(head, lines)


def _cell(row: Row, peer: str) -> str:
    if peer in row.errors:
        return "error"
    timing = row.timings.get(peer)
    if timing is None:
        return ""
    best = max(row.timings.values(), key=lambda each: each.speed)
    speed = f"{timing.speed:.2f}"
    return (
        f"{f'**{speed}**' if timing is best else speed}: {seconds_text(timing.median)} "
        f"±{100 * timing.spread:.0f}%"
    )


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _line(head)
    yield "|" + "---|" * len(head)
    for line in lines:
        yield _line(line)


def _line(cells: Sequence[str]) -> str:
    # The bars and stars of expressions would end a cell or begin emphasis.
    texts = [
        text if text.startswith(("**", "`")) else text.replace("*", "\\*")
        for text in (cell.replace("|", "\\|") for cell in cells)
    ]
    return f"| {' | '.join(texts)} |"
