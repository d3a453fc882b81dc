"""Read the counts of the bridge twice, and return the difference as a report."""

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
from mxnp._engine.devices import GPU
from mxnp._interop.program_files import is_in_program

from .conversions import conversions, function_name
from .model import ENGINES, Check, Event, Place, Report, Row, Total, Wait

# -- Names and reasons -----------------------------------------------------------------

# Why the program waited, by the kind of the wait; {} is the name of what was called.
REASONS = {
    "read": "{} reads the elements",
    "element": "a[i] reads elements",
    "export": "the memory is exported",
    "package": "a package gets an array: {}",
    "full": "256 operations were recorded",
    "memory": "256 MB of memory, or 1 MB of small arrays, waited to be released",
    "shared": "the memory is known outside mxnp, so operations cannot be deferred",
    "synchronize": "synchronize()",
    "warnings": "filters of warnings change, or the list of catch_warnings() is read",
    "exit": "the program ended",
    "report": "the report began or ended",
    "mask": "the number of elements that a mask selects is needed",
    "range": "the range of indices is needed",
    "errstate": "np.errstate or a filter of warnings handles errors of {} immediately",
    "numpy": "{} runs in NumPy",
    "result": "{} returns a number",
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


class _Places:
    """Find the places of instructions.

    Positions are cached by code object for one reading only, so that no code object
    outlives the program's use of it.
    """

    def __init__(self) -> None:
        self._positions: dict[int, list[Any]] = {}

    def find(self, code: types.CodeType | None, instruction: int) -> Place:
        """Return the place of an instruction."""
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


def _name(name: Any) -> str:
    """Return the name of an operation as a program writes it: linalg.svd, sum."""
    if isinstance(name, str):
        return name
    if name is None:
        return ""
    wrapped = getattr(name, "__wrapped__", name)
    if type(wrapped).__name__ == "method-wrapper":  # it sets or deletes an attribute
        return str(wrapped.__self__.__name__)
    qualified = str(getattr(name, "__qualname__", None) or name.__name__)
    for cls in ("ndarray.", "Generator.", "RandomState."):
        if qualified.startswith(cls):
            return qualified.removeprefix(cls)
    module = getattr(name, "__module__", None) or ""
    top, _, submodule = module.partition(".")
    is_public = top in ("mxnp", "numpy") and submodule and submodule[0] != "_"
    return f"{submodule}.{qualified}" if is_public else qualified


def _wait_name(kind: str, name: Any) -> str:
    return function_name(name) if kind == "package" else _name(name)


def _reason(kind: str, operation: str) -> str:
    """Return the reason of a wait as a sentence."""
    reader = _READERS.get(operation, operation) if kind in ("read", "export") else ""
    if kind == "export" and reader:
        return f"{reader} is exported"
    return REASONS[kind].format(reader or operation)


def _label(where: str, kind: Any, name: Any) -> str:
    """Return the name of a row or an event."""
    if where == "wait":
        return _reason(kind, _wait_name(kind, name))
    if where in ENGINES:
        return core.operation_name(_name(name), kind)
    return _name(name)


# -- Reading the bridge ----------------------------------------------------------------

_SECOND = 1e9  # in nanoseconds
_OTHERS = ("numpy", "check", "divided")  # lanes with rows of their own
_N_KEYS = 5  # the first values of a tuple, which identify what the others count


def _since(rows: list[tuple[Any, ...]], before: list[tuple[Any, ...]]) -> list[Any]:
    """Return the counts since an earlier reading, which has the first of the rows."""
    changed = list(rows)
    for number, earlier in enumerate(before):
        keys, values = rows[number][:_N_KEYS], rows[number][_N_KEYS:]
        changed[number] = keys + tuple(
            new - old for new, old in zip(values, earlier[_N_KEYS:], strict=True)
        )
    return changed


def _counted(
    counts: Iterable[tuple[Any, ...]], places: _Places, wall: float
) -> tuple[Any, ...]:
    """Return rows, waits, checks, conversions and seconds of recording."""
    rows: list[Row] = []
    waits: dict[Any, list[Any]] = defaultdict(lambda: [0, 0, 0])
    checks: dict[Place, list[Any]] = defaultdict(lambda: [0, 0, 0, 0])
    passed: list[Any] = []
    recording = 0
    for code, instruction, where, kind, name, *values in counts:
        calls, elements, nanoseconds, read, written, fused, fused_ns, *rest = values
        rest, of_packages = rest[:4], rest[4:]
        if calls == 0 and nanoseconds == 0:
            continue
        place = places.find(code, instruction)
        if where == "record":
            recording += nanoseconds
        elif where == "wait":
            wait = waits[place, kind, _wait_name(kind, name)]
            for at, value in enumerate((calls, elements, nanoseconds)):
                wait[at] += value
        elif where == "package":
            counted = [calls, elements, nanoseconds, read, *of_packages]
            passed.append((place, kind, name, counted))
        elif where in ("check", "spared") or (
            where in ENGINES and kind == core.BOUNDS_CHECK
        ):
            check = checks[place]
            cached = calls if where == "spared" else 0
            checked = (0, 0) if cached else (calls, elements)
            for at, value in enumerate((*checked, nanoseconds, cached)):
                check[at] += value
        if where not in (*ENGINES, *_OTHERS):
            continue
        if rest[-1] == calls > 0 and not is_in_program(place.file):
            continue  # a package computes with NumPy's arrays
        label = _label(where, kind, name)
        rows.append(
            Row(
                place,
                label,
                "cpu" if where in ("check", "divided") else where,
                kind if where == "divided" else 0,
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
            Check(place, count, elements, ns / _SECOND, cached)
            for place, (count, elements, ns, cached) in checks.items()
        ],
        conversions(passed, wall),
        recording / _SECOND,
    )


def _joined(rows: list[Row]) -> list[Row]:
    """Add up the rows of the same place, operation and backend."""
    first: dict[Any, Row] = {}
    for row in rows:
        key = (row.place, row.operation, row.backend, row.threads)
        same = first.get(key)
        if same is not None:
            sums = (
                getattr(same, name) + getattr(row, name)
                for name in Row.__dataclass_fields__
                if name not in ("place", "operation", "backend", "threads")
            )
            first[key] = Row(*key, *sums)
        else:
            first[key] = row
    return list(first.values())


def _process_peak() -> int:
    """Return the peak of the memory of the process, in bytes.

    On Linux ``ru_maxrss`` begins with the peak of the parent process, and ``VmHWM``
    does not.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_bytes().splitlines():
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _sum(rows: list[Row], waits: list[Wait], wall: float, recording: float) -> Total:
    seconds: dict[str, float] = defaultdict(float)
    for row in rows:
        seconds[row.backend] += row.seconds
    return Total(
        wall,
        sum(seconds.values()),
        seconds[GPU],
        seconds["cpu"],
        seconds["numpy"],
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
    Counts array work of all threads from `start` to `stop`.

    Several counters may be active at the same time.

    Parameters
    ----------
    n_events : int, optional
        The largest number of single events to record.
    """

    def __init__(self, n_events: int = 0) -> None:
        self._n_events = n_events
        self._report: Report | None = Report([], [], [], _sum([], [], 0, 0))

    def start(self) -> None:
        """Begin counting. Operations recorded before run first and are not counted."""
        _bridge.flush("report")
        _bridge.profile_start(self._n_events, is_in_program)
        _bridge.operators_count()
        self._report = None
        self._rows = _bridge.profile_rows()
        self._events, self._dropped = _bridge.profile_event_count()
        self._begin = time.monotonic_ns()

    def stop(self, runs_rest: bool = True) -> Report:
        """
        End counting and return the report.

        Parameters
        ----------
        runs_rest : bool, optional
            Whether to run and count the operations that are still recorded.
        """
        try:
            if runs_rest:
                _bridge.flush("report")
        finally:
            self._report = self.read()
            self._rows = []
            _bridge.operators_leave()
            _bridge.profile_stop()
        return self._report

    def read(self) -> Report:
        """Return the report until now, or until `stop` was called."""
        if self._report is not None:
            return self._report
        wall = (time.monotonic_ns() - self._begin) / _SECOND
        now = _bridge.profile_rows()
        places = _Places()
        since = _since(now, self._rows)
        rows, waits, checks, passed, recording = _counted(since, places, wall)
        events = _bridge.profile_events(self._events) if self._n_events else []
        dropped = _bridge.profile_event_count()[1] - self._dropped
        return Report(
            rows,
            waits,
            checks,
            _sum(rows, waits, wall, recording),
            [self._event(places, now[event[0]], *event[1:]) for event in events],
            dropped if self._n_events else 0,
            passed,
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
        code, instruction, where, kind, name, *_ = row
        return Event(
            "cpu" if where == "divided" else where,
            _label(where, kind, name),
            places.find(code, instruction),
            (begin - self._begin) / _SECOND,
            nanoseconds / _SECOND,
            group,
            elements,
            thread,
        )
