"""The counts of the bridge between two moments, put into words."""

from __future__ import annotations

import contextlib
import resource
import sys
import time
import types
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mxnp import _bridge
from mxnp._engine import core

from .model import ENGINES, Check, Event, Place, Report, Row, Total, Wait

# -- Words -----------------------------------------------------------------------------

# Why the program waited; {} is the name of what was called.
REASONS = {
    "read": "{} reads the elements",
    "element": "a[i] reads elements",
    "export": "the memory is handed out",
    "full": "256 operations had been recorded",
    "memory": "much memory was waiting to be let go of",
    "shared": "the memory is known outside of mxnp, so nothing may wait",
    "synchronize": "synchronize()",
    "warnings": "warnings.catch_warnings() begins or ends",
    "exit": "the program ended",
    "report": "the report began or ended",
    "mask": "how many elements a mask selects must be known",
    "range": "the range of indices must be known",
    "errstate": "np.errstate wants errors of {} at once",
    "numpy": "{} runs in NumPy",
    "result": "{} gives a number",
    "": "unknown",
}
_READERS = {
    "bool": "the truth of an array",
    "float": "float()",
    "int": "int()",
    "index": "the use as an index",
    "repr": "repr()",
    "str": "print() or str()",
    "in": "the operator in",
    "iter": "a loop over the array",
    "buffer": "a buffer",
}
_METHODS = {1: ".reduce", 2: ".accumulate", 7: ".at"}  # by kind, of instruction.h
_CHECK = 5


class _Places:
    """The places of one reading: code objects are kept no longer than that."""

    def __init__(self) -> None:
        self._positions: dict[int, list[Any]] = {}

    def find(self, code: types.CodeType | None, instruction: int) -> Place:
        """Give the place of an instruction."""
        if code is None:
            return Place("", 0, 0, -1, -1, "")
        positions = self._positions.get(id(code))
        if positions is None:
            positions = self._positions[id(code)] = list(code.co_positions())
        at = instruction // 2
        known = positions[at] if 0 <= at < len(positions) else (None,) * 4
        line, end_line, column, end_column = known
        line = line or code.co_firstlineno
        return Place(
            code.co_filename,
            line,
            end_line or line,
            -1 if column is None else column,
            -1 if end_column is None else end_column,
            code.co_qualname,
        )


def _is_attribute(name: Any) -> bool:
    """Tell whether it is what gets or sets an attribute: no operation."""
    wrapped = getattr(name, "__wrapped__", name)
    return type(wrapped).__name__ == "method-wrapper"


def _name(name: Any) -> str:
    """Name an operation as a program does: linalg.svd, sum."""
    if isinstance(name, str):
        return name
    if name is None:
        return ""
    if _is_attribute(name):
        wrapped = getattr(name, "__wrapped__", name)
        return str(getattr(wrapped.__self__, "__name__", "an attribute"))
    qualified = str(getattr(name, "__qualname__", None) or name.__name__)
    module = getattr(name, "__module__", None) or ""
    top, _, chapter = module.partition(".")
    qualified = qualified.removeprefix("ndarray.")
    is_chapter = top in ("mxnp", "numpy") and chapter and chapter[0] != "_"
    return f"{chapter}.{qualified}" if is_chapter else qualified


def _reason(kind: str, operation: str) -> str:
    named = _READERS.get(operation, operation) if kind in ("read", "export") else ""
    if kind == "export" and named:
        return f"{named} is handed out"
    return REASONS[kind].format(named or operation)


# -- Reading the bridge ----------------------------------------------------------------

_SECOND = 1e9  # nanoseconds
_N_KEYS = 5  # values of a tuple that say what is counted


def _since(rows: list[tuple[Any, ...]], before: list[tuple[Any, ...]]) -> list[Any]:
    """Give what was counted since an earlier reading."""
    changed = list(rows)
    for number, old in enumerate(before):
        keys, values = rows[number][:_N_KEYS], rows[number][_N_KEYS:]
        past = old[_N_KEYS:]
        changed[number] = keys + tuple(
            new - was for new, was in zip(values, past, strict=True)
        )
    return changed


def _counted(counts: Iterable[tuple[Any, ...]], places: _Places) -> tuple[Any, ...]:
    """Put tuples of the bridge into rows, waits and checks."""
    rows: list[Row] = []
    waits: dict[Any, list[Any]] = defaultdict(lambda: [0, 0, 0])
    checks: dict[Place, list[Any]] = defaultdict(lambda: [0, 0, 0, 0])
    recording = 0
    for code, instruction, lane, kind, name, *values in counts:
        calls, elements, nanoseconds, read, written, fused, fused_ns, *rest = values
        if calls == 0 and nanoseconds == 0:
            continue
        place = places.find(code, instruction)
        if lane == "record":
            recording += nanoseconds
        elif lane == "wait":
            wait = waits[place, kind, _name(name)]
            for at, value in enumerate((calls, elements, nanoseconds)):
                wait[at] += value
        elif lane in ("check", "spared") or (lane in ENGINES and kind == _CHECK):
            check = checks[place]
            spared = calls if lane == "spared" else 0
            looked = (0, 0) if spared else (calls, elements)
            for at, value in enumerate((*looked, nanoseconds, spared)):
                check[at] += value
        if lane not in (*ENGINES, "numpy", "check") or _is_attribute(name):
            continue
        method = _METHODS.get(kind, "") if lane in ENGINES and name != "put" else ""
        rows.append(
            Row(
                place,
                _name(name) + method,
                "cpu" if lane == "check" else lane,
                calls,
                elements,
                nanoseconds / _SECOND,
                read,
                written,
                fused,
                fused_ns / _SECOND,
                *rest,
            )
        )
    return (
        sorted(_joined(rows), key=lambda row: -row.seconds),
        sorted(
            (
                Wait(place, kind, name, _reason(kind, name), count, n, ns / _SECOND)
                for (place, kind, name), (count, n, ns) in waits.items()
            ),
            key=lambda wait: -wait.seconds,
        ),
        [
            Check(place, count, elements, ns / _SECOND, spared)
            for place, (count, elements, ns, spared) in checks.items()
        ],
        recording / _SECOND,
    )


def _joined(rows: list[Row]) -> list[Row]:
    """Add up rows that name the same."""
    first: dict[Any, Row] = {}
    for row in rows:
        key = (row.place, row.operation, row.lane)
        same = first.get(key)
        if same is not None:
            sums = (
                getattr(same, name) + getattr(row, name)
                for name in Row.__dataclass_fields__
                if name not in ("place", "operation", "lane")
            )
            first[key] = Row(*key, *sums)
        else:
            first[key] = row
    return list(first.values())


def _process_peak() -> int:
    """Return the most memory that the process has had, in bytes.

    On Linux ``ru_maxrss`` starts with the peak of the process that started this one;
    ``VmHWM`` is the program's own.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _sum(rows: list[Row], waits: list[Wait], wall: float, recording: float) -> Total:
    lanes: dict[str, float] = defaultdict(float)
    for row in rows:
        lanes[row.lane] += row.seconds
    return Total(
        wall,
        sum(lanes.values()),
        lanes["metal"],
        lanes["cpu"],
        lanes["numpy"],
        sum(row.fused_seconds for row in rows),
        recording,
        sum(wait.seconds for wait in waits),
        sum(row.calls for row in rows),
        sum(row.elements for row in rows),
        sum(row.bytes_read for row in rows),
        sum(row.bytes_written for row in rows),
        sum(wait.count for wait in waits),
        core.memory_info()["peak"],
        _process_peak(),
    )


class Counter:
    """
    Counts from `start` to `stop`, all threads; more of them at once do not disturb.

    Parameters
    ----------
    n_events : int, optional
        At most so many single events are noted.
    """

    def __init__(self, n_events: int = 0) -> None:
        self._n_events = n_events
        self._report: Report | None = Report([], [], [], _sum([], [], 0, 0))

    def start(self) -> None:
        """Begin to count; what was recorded before runs first, and does not count."""
        _bridge.flush("report")
        _bridge.profile_start(self._n_events)
        self._report = None
        self._rows = _bridge.profile_rows()
        self._events, self._dropped = _bridge.profile_event_count()
        self._begin = time.monotonic_ns()

    def stop(self, runs_rest: bool = True) -> Report:
        """End; what was recorded meanwhile runs before, unless told not to."""
        try:
            if runs_rest:
                _bridge.flush("report")
        finally:
            self._report = self.read()
            self._rows = []
            _bridge.profile_stop()
        return self._report

    def read(self) -> Report:
        """Give what was counted until now, or until `stop`."""
        if self._report is not None:
            return self._report
        wall = (time.monotonic_ns() - self._begin) / _SECOND
        now = _bridge.profile_rows()
        places = _Places()
        rows, waits, checks, recording = _counted(_since(now, self._rows), places)
        events = _bridge.profile_events(self._events) if self._n_events else []
        dropped = _bridge.profile_event_count()[1] - self._dropped
        return Report(
            rows,
            waits,
            checks,
            _sum(rows, waits, wall, recording),
            [self._event(places, now[event[0]], *event[1:]) for event in events],
            dropped if self._n_events else 0,
        )

    def _event(
        self,
        places: _Places,
        row: tuple[Any, ...],
        begin: int,
        nanoseconds: int,
        group: int,
        elements: int,
        thread: int,
    ) -> Event:
        code, instruction, lane, kind, name, *_ = row
        words = _name(name)
        if lane == "wait":
            words = _reason(kind, words)
        elif lane in ENGINES and name != "put":
            words += _METHODS.get(kind, "")
        return Event(
            lane,
            words,
            places.find(code, instruction),
            (begin - self._begin) / _SECOND,
            nanoseconds / _SECOND,
            group,
            elements,
            thread,
        )
