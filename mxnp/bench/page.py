"""Read a report from a page that `markdown` wrote, to draw charts of its figures.

A page has less than the report. Medians have the digits of the page, and layouts and
dtypes are parts of the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from .clock import Timing
from .report import Report, Row

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_CELL = re.compile(r"\**[\d.]+\**: ([\d.e+]+) (s|ms|us|ns) ±(\d+)%")


def read_page(path: Path) -> Report:
    """
    Read a page.

    Parameters
    ----------
    path : Path
        The Markdown file.

    Returns
    -------
    Report
        A report with the rows of the cases that were measured.

    Raises
    ------
    ValueError
        If the file is not such a page.
    """
    tables = list(_tables(path.read_text(encoding="utf-8")))
    facts = dict(row for heading, rows in tables if not heading for row in rows)
    try:
        started, took = facts["started"].split(", took ")
        versions, threads = _pairs(facts["versions"]), _pairs(facts["threads"])
        load = {
            name: [float(number) for number in numbers.split()]
            for name, numbers in _pairs(facts["load (1, 5, 15 min)"]).items()
        }
    except (KeyError, ValueError):
        raise ValueError(f"{path} is not a page of mxnp.bench") from None
    names = ("processor", "cores", "memory", "system", "python", "settings")
    return Report(
        facts["command"].strip("`"),
        started,
        float(took.removesuffix(" s")),
        {name: facts[name] for name in names if name in facts},
        load,
        versions,
        threads,
        {},
        [row for heading, rows in tables for row in _rows(heading, rows)],
    )


def _tables(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the tables of a page, each with its heading of the second level."""
    heading, rows = "", []
    for line in [*text.splitlines(), ""]:
        if line.startswith("| "):
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            rows.append([re.sub(r"\\([*|])", r"\1", cell.strip()) for cell in cells])
        elif rows and not line.startswith("|"):
            yield heading, rows
            rows = []
        if line.startswith("## "):
            heading = line.removeprefix("## ")


def _pairs(text: str) -> dict[str, str]:
    """Read ``numpy 2.4.6, mxnp 0.1.0; and more``."""
    parts = text.partition(";")[0].split(", ")
    return {name: rest for name, _, rest in (part.partition(" ") for part in parts)}


def _rows(suite: str, table: Sequence[Sequence[str]]) -> Iterator[Row]:
    """Yield the rows of a suite's table. Other tables have none."""
    head, *lines = table
    if list(head[:2]) != ["case", "size"]:
        return
    for name, size, *cells in lines:
        row = Row(suite, name, "", "", int(float(size)), 0, "", 0.0)
        for peer, cell in zip(head[2:], cells, strict=True):
            if found := _CELL.fullmatch(cell):
                median = float(found[1]) * _UNITS[found[2]]
                away = median * int(found[3]) / 100
                row.timings[peer] = Timing(
                    median, median - away, median + away, 0.0, 0, 0, 0.0, 0
                )
        base = row.timings.get("numpy")
        for peer, timing in row.timings.items():
            speed = base.median / timing.median if base else 0.0
            row.timings[peer] = timing._replace(speed=speed)
        yield row
