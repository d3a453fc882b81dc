"""What the lines of a program cost: the classes of a report."""

from __future__ import annotations

import linecache
from collections import defaultdict
from dataclasses import dataclass, field

LANES = ("metal", "cpu", "numpy")
ENGINES = ("metal", "cpu")  # lanes of what mxnp itself runs


@dataclass(frozen=True, order=True)
class Place:
    """
    An expression of the program.

    Parameters
    ----------
    file : str
        As in its code object; empty where nothing is known.
    line, end_line : int
        From 1; 0 where nothing is known.
    column, end_column : int
        In bytes of UTF-8, from 0; -1 where nothing is known.
    function : str
        Qualified name of the function it is in.
    """

    file: str
    line: int
    end_line: int
    column: int
    end_column: int
    function: str

    @property
    def source(self) -> str:
        """The line of the program, without what is before and after it."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def expression(self) -> str:
        """The text of the expression, on one line; that of the line if not known."""
        if self.column < 0 or self.end_column < 0:
            return self.source
        lines = [
            linecache.getline(self.file, number).encode()
            for number in range(self.line, self.end_line + 1)
        ]
        if not lines:
            return self.source
        lines[-1] = lines[-1][: self.end_column]
        lines[0] = lines[0][self.column :]
        text = b" ".join(line.strip() for line in lines).decode(errors="replace")
        return text or self.source

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "(unknown)"


@dataclass(frozen=True)
class Row:
    """
    One operation of one expression, in one of the places where it ran.

    Parameters
    ----------
    place : Place
        The expression.
    operation : str
        NumPy's name: ``add``, ``add.reduce``, ``linalg.svd``; ``getitem`` and
        ``setitem`` for subscripts.
    lane : {'metal', 'cpu', 'numpy'}
        Where it ran: ``cpu`` is mxnp's own engine on the processor.
    calls, elements : int
        How often, and over how many elements in all.
    seconds : float
        Its share of the time of its group, or that of the call of NumPy without what
        it waited for.
    bytes_read, bytes_written : int
        Of memory, by the arrays' sizes.
    fused : int
        Calls that ran in one pass over memory together with others.
    fused_seconds : float
        The seconds of these.
    unwritten : int
        Results that never were in memory.
    large : int
        Calls of NumPy with arrays so large that mxnp runs what it can itself.
    doubles : int
        Calls that mxnp ran with operands of float64 or complex128, which no GPU takes.
    """

    place: Place
    operation: str
    lane: str
    calls: int
    elements: int
    seconds: float
    bytes_read: int
    bytes_written: int
    fused: int
    fused_seconds: float
    unwritten: int
    large: int
    doubles: int


@dataclass(frozen=True)
class Wait:
    """
    An expression for which everything recorded had to run at once.

    Parameters
    ----------
    place : Place
        The expression.
    kind : str
        One of the keys of `counter.REASONS`, or empty.
    operation : str
        What was called, if it was an operation.
    reason : str
        Why, in words.
    count, operations : int
        How often, and how many recorded operations ran.
    seconds : float
        That the program waited.
    """

    place: Place
    kind: str
    operation: str
    reason: str
    count: int
    operations: int
    seconds: float


@dataclass(frozen=True)
class Check:
    """
    An expression whose indices are looked at.

    Parameters
    ----------
    place : Place
        The expression.
    count, elements : int
        Arrays of indices that were looked at, and their elements.
    seconds : float
        That this took.
    spared : int
        Arrays that need not be, because their range was known.
    """

    place: Place
    count: int
    elements: int
    seconds: float
    spared: int


@dataclass(frozen=True)
class Total:
    """
    The sums of a report.

    Parameters
    ----------
    wall : float
        Seconds from the beginning to the end.
    array : float
        Seconds of array work: `metal`, `cpu` and `numpy` together.
    metal, cpu, numpy : float
        Seconds of each lane.
    fused : float
        Seconds of operations that ran together with others.
    recording : float
        Seconds that recording took the program.
    waiting : float
        Seconds that the program waited for recorded operations.
    calls, elements, bytes_read, bytes_written : int
        Of all rows.
    waits : int
        How often the program waited.
    pool_peak, process_peak : int
        The most bytes in arrays of mxnp, and in the process, since it was started.
    """

    wall: float
    array: float
    metal: float
    cpu: float
    numpy: float
    fused: float
    recording: float
    waiting: float
    calls: int
    elements: int
    bytes_read: int
    bytes_written: int
    waits: int
    pool_peak: int
    process_peak: int


@dataclass(frozen=True)
class Event:
    """
    One operation, call of NumPy, wait or check.

    Parameters
    ----------
    lane : str
        As in `Row`, or ``wait``, ``check``.
    name : str
        The operation, or why the program waited.
    place : Place
        The expression.
    begin, seconds : float
        Seconds since the beginning of the report. Of an operation in a group, its
        share of the group's time, from the group's beginning.
    group : int
        The group that it ran in, or 0.
    elements : int
        Of the operation; of a wait, the operations that ran.
    thread : int
        Identifier of the thread that called.
    """

    lane: str
    name: str
    place: Place
    begin: float
    seconds: float
    group: int
    elements: int
    thread: int


@dataclass(frozen=True)
class Line:
    """What one line of the program did; rows and waits are sorted by time."""

    file: str
    line: int
    rows: list[Row]
    waits: list[Wait]

    @property
    def seconds(self) -> float:
        """Of array work."""
        return sum(row.seconds for row in self.rows)

    @property
    def source(self) -> str:
        """The line's text, without blanks around it."""
        return linecache.getline(self.file, self.line).strip()

    def in_lane(self, lane: str) -> float:
        """Give the seconds of one lane."""
        return sum(row.seconds for row in self.rows if row.lane == lane)


@dataclass(frozen=True)
class Report:
    """What was counted from the beginning of a report to its end."""

    rows: list[Row]
    waits: list[Wait]
    checks: list[Check]
    total: Total
    events: list[Event] = field(default_factory=list, repr=False)
    dropped: int = 0  # events that there was no room for

    def lines(self) -> list[Line]:
        """Give the lines of the program, that which took longest first."""
        rows: dict[tuple[str, int], list[Row]] = defaultdict(list)
        waits: dict[tuple[str, int], list[Wait]] = defaultdict(list)
        for row in self.rows:
            rows[row.place.file, row.place.line].append(row)
        for wait in self.waits:
            waits[wait.place.file, wait.place.line].append(wait)
        lines = [Line(*key, rows[key], waits[key]) for key in {**rows, **waits}]
        return sorted(lines, key=lambda line: -line.seconds)
