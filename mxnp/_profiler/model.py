"""The classes of a report: what each expression of a program did, and what it cost."""

from __future__ import annotations

import ast
import linecache
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from mxnp._engine.devices import GPU

BACKENDS = (GPU, "cpu", "numpy")
ENGINES = (GPU, "cpu")  # the backends that run recorded operations


@dataclass(frozen=True, order=True)
class Place:
    """
    An expression of the program.

    Parameters
    ----------
    file : str
        The file, as in the code object; empty if unknown.
    line, end_line : int
        Line numbers from 1; 0 if unknown.
    column, end_column : int
        In bytes of UTF-8, from 0; -1 if unknown.
    function : str
        Qualified name of the function that contains the expression.
    """

    file: str
    line: int
    end_line: int
    column: int
    end_column: int
    function: str

    @property
    def source(self) -> str:
        """The first line of the expression, without surrounding white space."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def expression(self) -> str:
        """The text of the expression on one line, or `source` if it is unknown."""
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

    def argument(self, function: str, from_end: int) -> str:
        """
        Return the name of the variable that is an argument, or an empty text.

        Parameters
        ----------
        function : str
            The function that was called; its last name has to be in the expression.
        from_end : int
            The argument's number from the end, from 1.
        """
        try:
            call = ast.parse(self.expression, mode="eval").body
        except SyntaxError:
            return ""
        if not isinstance(call, ast.Call):
            return ""
        passed = [*call.args, *(keyword.value for keyword in call.keywords)]
        is_known = (
            ast.unparse(call.func).rpartition(".")[2] == function.rpartition(".")[2]
            and all(keyword.arg for keyword in call.keywords)
            and not any(isinstance(each, ast.Starred) for each in passed)
            and 0 < from_end <= len(passed)
            and isinstance(passed[-from_end], (ast.Name, ast.Attribute))
        )
        return ast.unparse(passed[-from_end]) if is_known else ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "(unknown)"


@dataclass(frozen=True)
class Row:
    """
    The counts of one operation of one expression on one backend.

    Parameters
    ----------
    place : Place
        The expression.
    operation : str
        NumPy's name: ``add``, ``add.reduce``, ``linalg.svd``; ``getitem`` and
        ``setitem`` for subscripts.
    backend : {'metal', 'cuda', 'cpu', 'numpy'}
        Where it ran: ``cpu`` is mxnp's own engine on the processor.
    threads : int
        The number of threads that divided each call of a compiled function, or 0.
    calls, elements : int
        The number of calls, and of elements in all calls.
    seconds : float
        The operation's share of the time of its groups, or the time of the NumPy
        calls without the waits inside them.
    bytes_read, bytes_written : int
        Bytes of memory, computed from the sizes of the arrays.
    fused_calls : int
        Calls that ran in a group with other operations.
    fused_seconds : float
        The time of these calls.
    elided : int
        Results that were never in memory.
    numpy_fallbacks : int
        NumPy calls with arrays of a size that mxnp records where it can.
    float64_calls : int
        Calls that mxnp ran with float64 or complex128, which Metal does not support.
    plain_calls : int
        NumPy calls whose arrays are all NumPy's own, as packages return them.
    """

    place: Place
    operation: str
    backend: str
    threads: int
    calls: int
    elements: int
    seconds: float
    bytes_read: int
    bytes_written: int
    fused_calls: int
    fused_seconds: float
    elided: int
    numpy_fallbacks: int
    float64_calls: int
    plain_calls: int

    @property
    def title(self) -> str:
        """The operation, with its threads if it was divided."""
        divided = f", {self.threads} threads" if self.threads else ""
        return f"{self.operation}{divided}"


@dataclass(frozen=True)
class Wait:
    """
    An expression that needed a result, so that everything recorded had to run.

    Parameters
    ----------
    place : Place
        The expression.
    kind : str
        One of the keys of `counter.REASONS`, or empty.
    operation : str
        The function that was called, if any.
    reason : str
        Why the program waited, as a sentence.
    count, operations : int
        The number of waits, and of recorded operations that ran in them.
    seconds : float
        The time that the program waited.
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
    An expression whose indices are checked.

    Parameters
    ----------
    place : Place
        The expression.
    count, elements : int
        The number of index arrays that were checked, and of their elements.
    seconds : float
        The time that the checks took.
    cached : int
        The number of index arrays whose range was already known.
    """

    place: Place
    count: int
    elements: int
    seconds: float
    cached: int


@dataclass(frozen=True)
class Argument:
    """
    An argument of a package's function that is or holds an array.

    Parameters
    ----------
    expression : str
        The name of the array; empty if unknown.
    calls, arrays, elements, nbytes : int
        Calls, and sums over them.
    same, parts : int
        Calls with the array of the call before, and with another array that has the
        same memory.
    unchanged : int
        Calls with the array of the call before, if the program did not write it since.
    """

    expression: str
    calls: int
    arrays: int
    elements: int
    nbytes: int
    same: int
    parts: int
    unchanged: int


@dataclass(frozen=True)
class Conversion:
    """
    An expression that passes arrays to a function of a package.

    The function gets NumPy arrays with the same memory.

    Parameters
    ----------
    place : Place
        The expression of the program, which may call the function through others.
    function : str
        The function.
    calls, arrays, nbytes : int
        The number of calls with arrays, of arrays in all calls, and of their bytes,
        which are not copied.
    waits : int
        Calls that waited for recorded operations.
    waiting : float
        The seconds that they waited.
    advice : str
        What is known about a call in a loop, and what to do if that helps; or empty.
    """

    place: Place
    function: str
    calls: int
    arrays: int
    nbytes: int
    waits: int
    waiting: float
    advice: str


@dataclass(frozen=True)
class Total:
    """
    The sums of a report.

    Parameters
    ----------
    wall : float
        Seconds from the beginning to the end.
    array : float
        Seconds of array work: `gpu`, `cpu` and `numpy` together.
    gpu, cpu, numpy : float
        Seconds of array work on each backend.
    fused : float
        Seconds of operations that ran in a group with others.
    recording : float
        Seconds spent recording.
    waiting : float
        Seconds that the program waited for recorded operations.
    calls, elements, bytes_read, bytes_written : int
        Sums over all rows.
    waits : int
        The number of waits.
    pool_peak, process_peak : int
        The most bytes in mxnp's arrays, and in the process, since it began.
    """

    wall: float
    array: float
    gpu: float
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

    def seconds_on(self, backend: str) -> float:
        """Return the time of all array work on one backend."""
        return self.gpu if backend == GPU else float(getattr(self, backend))


@dataclass(frozen=True)
class Event:
    """
    One operation, NumPy call, wait or check.

    Parameters
    ----------
    category : {'metal', 'cuda', 'cpu', 'numpy', 'wait', 'check'}
        The backend as in `Row`, a wait, or a check.
    name : str
        The operation, or why the program waited.
    place : Place
        The expression.
    begin, seconds : float
        The begin, counted from the beginning of the report, and the duration. An
        operation of a group begins with its group and lasts its share of the group's
        time.
    group : int
        The group that it ran in, or 0.
    elements : int
        The elements of the operation, or the number of operations that a wait ran.
    thread : int
        Identifier of the thread that called.
    """

    category: str
    name: str
    place: Place
    begin: float
    seconds: float
    group: int
    elements: int
    thread: int


@dataclass(frozen=True)
class Line:
    """The rows, waits and conversions of one line, each sorted by time."""

    file: str
    line: int
    rows: list[Row]
    waits: list[Wait]
    conversions: list[Conversion]

    @property
    def seconds(self) -> float:
        """The time of the line's array work."""
        return sum(row.seconds for row in self.rows)

    @property
    def source(self) -> str:
        """The line's text, without surrounding white space."""
        return linecache.getline(self.file, self.line).strip()

    def seconds_on(self, backend: str) -> float:
        """Return the time of the line's array work on one backend."""
        return sum(row.seconds for row in self.rows if row.backend == backend)


@dataclass(frozen=True)
class Report:
    """The counts from the beginning of a report to its end."""

    rows: list[Row]
    waits: list[Wait]
    checks: list[Check]
    total: Total
    events: list[Event] = field(default_factory=list, repr=False)
    dropped: int = 0  # events beyond the limit
    conversions: list[Conversion] = field(default_factory=list)

    def lines(self) -> list[Line]:
        """Return the lines of the program, the slowest first."""
        columns: tuple[list[Any], ...] = (self.rows, self.waits, self.conversions)
        found: dict[tuple[str, int], tuple[list[Any], ...]]
        found = defaultdict(lambda: ([], [], []))
        for number, counted in enumerate(columns):
            for each in counted:
                found[each.place.file, each.place.line][number].append(each)
        lines = [Line(*key, *counted) for key, counted in found.items()]
        return sorted(lines, key=lambda line: -line.seconds)
