"""The report of a run: a row for each case, with the machine and the versions."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from .case import Case
from .clock import Timing

FORMAT = 2  # the version of the JSON format
EQUAL = 1.05  # a case that takes up to this times as long is not listed as slower
MOST_SKIPPED = 250  # cases that were not run, above which they are counted
MOST_ROWS = 1000  # of a suite, above which only the slow ones are listed
LEAST_SPEED = 0.95  # of NumPy's, below which they are slow


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
    threads: int = 0  # of mxnp, or 0 if it is not known

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

    @property
    def best(self) -> float | None:
        """Speed of mxnp over NumPy's by the shortest samples, if both are known."""
        return self._over("least")

    @property
    def processor(self) -> float | None:
        """Processor time of mxnp over NumPy's, if both are known."""
        inverse = self._over("processor")
        return 1 / inverse if inverse else None

    def _over(self, field: str) -> float | None:
        both = [self.timings.get(peer) for peer in ("numpy", "mxnp")]
        theirs, ours = (getattr(timing, field, 0.0) for timing in both)
        return theirs / ours if theirs and ours else None

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
        # A process that is bound to some cores has the load of the whole machine.
        load, cores = self.load["before"][0], int(self.machine["cores"].split()[-1])
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

    def skipped(self) -> Iterator[tuple[str, str, int, str]]:
        """Yield the suite, the label, the size and the reason of what was not run.

        Of more than `MOST_SKIPPED` cases, the label is their number.
        """
        rows = [row for row in self.rows if row.skipped]
        many = Counter((row.suite, row.size, row.skipped) for row in rows)
        if len(rows) <= MOST_SKIPPED:
            yield from ((r.suite, r.label, r.size, r.skipped) for r in rows)
            return
        for (suite, size, reason), count in many.items():
            yield suite, f"{count} cases", size, reason

    def write_json(self, path: Path) -> None:
        """Write the whole report to a file."""
        rows = [
            asdict(row) | {"timings": {k: t._asdict() for k, t in row.timings.items()}}
            for row in self.rows
        ]
        content = {"format": FORMAT, **vars(self), "rows": rows}
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_json(path: Path) -> Report:
    """
    Read a report that `Report.write_json` wrote.

    Raises
    ------
    ValueError
        If the file is not such a report.
    """
    content: Any = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise ValueError(f"{path} is not a report of this version of mxnp.bench")
    rows = [
        Row(**row | {"timings": {k: Timing(**t) for k, t in row["timings"].items()}})
        for row in content.pop("rows")
    ]
    return Report(**content, rows=rows)


def read_reports(paths: Sequence[Path]) -> Report:
    """
    Read the parts of one report, which several processes wrote.

    Raises
    ------
    ValueError
        If a file is not a report, or if machines or versions differ.
    """
    parts = sorted(map(read_json, paths), key=lambda part: part.started)
    first, *others = parts
    for part in others:
        for name in ("processor", "system", "python"):
            if part.machine[name] != first.machine[name]:
                raise ValueError(f"the reports differ in the {name}")
        if part.versions != first.versions:
            raise ValueError("the reports differ in the versions of the packages")
    if not others:
        return first
    threads = {
        peer: ", ".join(sorted({part.threads[peer] for part in parts}, key=int))
        for peer in first.threads
    }
    return replace(
        first,
        command=f"{first.command} (the first of {len(parts)} parts)",
        seconds=max(part.seconds for part in parts),
        load={"before": first.load["before"], "after": parts[-1].load["after"]},
        threads=threads,
        rows=[row for part in parts for row in part.rows],
    )


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


def are_many(rows: Sequence[Row]) -> bool:
    """Check whether a suite has too many rows for a table that lists them all."""
    peers = {peer for row in rows for peer in row.timings}
    return len(rows) > MOST_ROWS and peers == {"numpy", "mxnp"}


def speeds_by_size(rows: Sequence[Row]) -> list[list[str]]:
    """
    Return a table of mxnp's speed over NumPy's: the head and the lines.

    A line has a number of threads and of elements, and for each dtype the geometric
    mean of the speeds and the number of cases below `LEAST_SPEED`.
    """
    dtypes = list(dict.fromkeys(row.dtype for row in rows))
    lines = [["threads", "elements", *dtypes, "all", "processor time"]]
    timed = [row for row in rows if row.best]
    for threads, size in sorted({(row.threads, row.size) for row in timed}):
        own = [row for row in timed if (row.threads, row.size) == (threads, size)]
        cells = [_mean_text([r for r in own if r.dtype == dtype]) for dtype in dtypes]
        used = geometric_mean(ratio for row in own if (ratio := row.processor))
        lines.append(
            [str(threads), size_text(size), *cells, _mean_text(own), f"{used:.2f}"]
        )
    return lines


def _mean_text(rows: Sequence[Row]) -> str:
    speeds = [speed for row in rows if (speed := row.best)]
    below = sum(speed < LEAST_SPEED for speed in speeds)
    return f"{geometric_mean(speeds):.2f}, {below} of {len(speeds)}" if speeds else ""


def slow_by_size(rows: Sequence[Row]) -> list[list[str]]:
    """
    Return a table of the cases that are slower than NumPy: the head and the lines.

    A case has a line for each number of threads in which its speed over NumPy's is
    below `LEAST_SPEED` at some size, with the speeds at all sizes, the slowest first.
    """
    sizes = sorted({row.size for row in rows})
    speeds: dict[tuple[str, ...], dict[int, float]] = {}
    for row in rows:
        if speed := row.best:
            key = (row.name, row.dtype, str(row.threads))
            speeds.setdefault(key, {})[row.size] = speed
    slow = {key: each for key, each in speeds.items() if _is_slow(each)}
    return [
        ["case", "dtype", "threads", *map(size_text, sizes)],
        *(
            [*key, *(f"{each[n]:.2f}" if n in each else "" for n in sizes)]
            for key, each in sorted(
                slow.items(), key=lambda item: min(item[1].values())
            )
        ),
    ]


def _is_slow(speeds: Mapping[int, float]) -> bool:
    return min(speeds.values()) < LEAST_SPEED


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
