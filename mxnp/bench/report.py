"""The report of a run: a row for each case, with the machine and the versions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from .case import Case
from .clock import Timing

FORMAT = 1  # the version of the JSON format
EQUAL = 1.05  # a case that takes up to this times as long is not listed as slower


@dataclass
class Row:
    """The results of one case."""

    suite: str
    name: str
    layout: str
    dtype: str
    size: int
    operations: int
    kind: str
    tolerance: float
    timings: dict[str, Timing] = field(default_factory=dict)  # by peer
    errors: dict[str, str] = field(default_factory=dict)  # by peer
    skipped: str = ""  # why the case was not measured

    @classmethod
    def of(cls, case: Case, skipped: str = "") -> Self:
        """Return a row of a case, without results."""
        return cls(
            case.suite,
            case.name,
            case.layout,
            case.dtype,
            case.size,
            case.operations,
            case.kind,
            case.relative,
            skipped=skipped,
        )

    @property
    def label(self) -> str:
        """The name of the case in tables, without its size."""
        return " ".join(filter(None, [self.name, self.layout, self.dtype]))

    def speed(self, peer: str) -> float | None:
        """Return mxnp's speed over a peer's: above 1, mxnp is faster."""
        ours, theirs = self.timings.get("mxnp"), self.timings.get(peer)
        return theirs.median / ours.median if ours and theirs else None

    @property
    def ratio(self) -> float | None:
        """Time of mxnp over that of NumPy: below 1, mxnp is faster."""
        speed = self.speed("numpy")
        return 1 / speed if speed else None

    def faster(self) -> list[str]:
        """Return the peers that mxnp is slower than, the fastest first."""
        speeds = {peer: self.speed(peer) for peer in self.timings}
        slower = [(s, peer) for peer, s in speeds.items() if s and s * EQUAL < 1]
        return [peer for _, peer in sorted(slower)]


@dataclass
class Report:
    """A run: its circumstances and its rows."""

    command: str
    started: str
    seconds: float
    machine: dict[str, str]
    load: dict[str, list[float]]  # "before" and "after" the run
    versions: dict[str, str]  # by peer
    threads: dict[str, str]  # by peer
    missing: dict[str, str]  # by peer, the reason
    rows: list[Row] = field(default_factory=list)

    @property
    def peers(self) -> list[str]:
        """The peers that took part."""
        return list(self.versions)

    @property
    def busy(self) -> str:
        """A warning if the machine had other work before the run, or ""."""
        load, cores = self.load["before"][0], int(self.machine["cores"].split()[0])
        if load <= cores / 4:
            return ""
        return (
            f"The load average was {load} before the run, on {cores} cores: "
            "other work affects these times."
        )

    def suites(self) -> list[str]:
        """Return the suites of the rows, in their order."""
        return list(dict.fromkeys(row.suite for row in self.rows))

    def of_suite(self, suite: str) -> list[Row]:
        """Return the rows of a suite."""
        return [row for row in self.rows if row.suite == suite]

    def failures(self) -> list[tuple[Row, str, str]]:
        """Return the row, the peer and the message of each error."""
        return [
            (row, peer, text) for row in self.rows for peer, text in row.errors.items()
        ]

    def write_json(self, path: Path) -> None:
        """Write the whole report to a file."""
        rows = [
            asdict(row) | {"timings": {k: t._asdict() for k, t in row.timings.items()}}
            for row in self.rows
        ]
        content = {"format": FORMAT, **vars(self), "rows": rows}
        path.write_text(json.dumps(content, indent=1) + "\n")


def read_json(path: Path) -> Report:
    """
    Read a report that `Report.write_json` wrote.

    Raises
    ------
    ValueError
        If the file is not such a report.
    """
    content: Any = json.loads(path.read_text())
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise ValueError(f"{path} is not a report of this version of mxnp.bench")
    rows = [
        Row(**row | {"timings": {k: Timing(**t) for k, t in row["timings"].items()}})
        for row in content.pop("rows")
    ]
    return Report(**content, rows=rows)


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean, or NaN without values."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def mean_ratios(rows: Sequence[Row]) -> dict[str, float]:
    """
    Return the geometric means of mxnp's time over NumPy's.

    Parameters
    ----------
    rows : sequence of Row
        The rows of a suite.

    Returns
    -------
    dict
        The mean for each number of elements, as `size_text` writes it, and for
        ``"all"``. If each case has a size of its own, only that for ``"all"``. Below 1,
        mxnp is faster. Without a timing of both it is empty.
    """
    ratios: dict[str, list[float]] = {}
    for row in sorted(rows, key=lambda row: row.size):
        if ratio := row.ratio:
            ratios.setdefault(size_text(row.size), []).append(ratio)
    if not ratios:
        return {}
    whole = [ratio for each in ratios.values() for ratio in each]
    has_sizes = len({row.label for row in rows}) < len(rows)
    means = {size: geometric_mean(each) for size, each in ratios.items()}
    return (means if has_sizes else {}) | {"all": geometric_mean(whole)}


def rows_above(rows: Iterable[Row], limit: float) -> list[Row]:
    """Return the rows in which mxnp's time is above `limit` times NumPy's."""
    ratios = [(row.ratio or 0.0, row) for row in rows]
    above = [(ratio, row) for ratio, row in ratios if ratio > limit]
    return [row for _, row in sorted(above, key=lambda each: -each[0])]


def ranked(rows: Sequence[Row], peers: Iterable[str]) -> list[str]:
    """Return the peers that have timings in the rows, the fastest first."""
    means = {
        peer: geometric_mean(
            row.timings[peer].speed for row in rows if peer in row.timings
        )
        for peer in peers
        if any(peer in row.timings for row in rows)
    }
    return sorted(means, key=lambda peer: -means[peer])


def seconds_text(seconds: float) -> str:
    """Return a duration as text with a suitable unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def size_text(size: int) -> str:
    """Return a short text for a number of elements: 1000, 1e4, 3e7."""
    digits = str(size)
    zeros = len(digits) - len(digits.rstrip("0"))
    return f"{digits[:-zeros]}e{zeros}" if zeros >= 4 else digits
