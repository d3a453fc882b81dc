"""`profile()`: measure a block of a program by line, and write it in several forms."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

import numpy

from mxnp._engine import core
from mxnp._engine.frames import frameless_members

from . import html
from . import text as _table
from . import trace as _trace
from .counter import Counter
from .model import Check, Conversion, Line, Place, Report, Row, Total, Wait

SCHEMA = "mxnp-report/1"
N_EVENTS = 1_000_000  # the largest number of events of a trace


def to_dict(report: Report, program: str = "") -> dict[str, Any]:
    """Return a report as the object that JSON contains: see docs/report.md."""
    return {
        "schema": SCHEMA,
        "mxnp": core.core_version(),
        "numpy": numpy.__version__,
        "program": program,
        "total": asdict(report.total),
        "rows": [_with_place(row) for row in report.rows],
        "waits": [_with_place(wait) for wait in report.waits],
        "checks": [_with_place(check) for check in report.checks],
        "conversions": [_with_place(each) for each in report.conversions],
    }


def _with_place(counted: Row | Wait | Check | Conversion) -> dict[str, Any]:
    values = asdict(counted)
    place: Place = counted.place
    del values["place"]
    return {**asdict(place), "expression": place.expression, **values}


@frameless_members
class profile:  # noqa: N801
    """
    Context manager that measures what each line of a block costs and where it runs.

    The array operations of all threads are counted from the beginning of the block to
    its end, in functions that it calls too. Operations that were recorded before the
    block run first and are not counted. Operations that the block recorded have run
    when it ends.

    Parameters
    ----------
    trace : bool, optional
        Whether to record single events too, for `to_trace`. At most a million events
        are recorded.

    Attributes
    ----------
    report : Report
        The whole report, until now or until the end of the block.
    rows : list of Row
        The counts of each operation of each expression on each backend, the slowest
        first: ``calls``, ``elements``, ``seconds``, ``bytes_read``, ``bytes_written``
        and more.
    waits : list of Wait
        The expressions that needed a result, so that everything recorded had to run:
        ``reason``, ``count``, ``seconds``.
    checks : list of Check
        The expressions whose indices were checked.
    conversions : list of Conversion
        The expressions that passed arrays to functions of packages: ``function``,
        ``calls``, ``arrays``, ``waiting``, ``advice``.
    total : Total
        Sums over the report, in seconds and bytes.

    Raises
    ------
    IndexError, MemoryError, RuntimeError
        The deferred errors of recorded operations, as `synchronize` raises them, at
        the beginning and at the end of the block.

    See Also
    --------
    explain : Print what the last flush did.
    doctor : Report slow patterns and suggest rewrites.

    Notes
    -----
    Blocks may be nested or overlap, in several threads too. Each counts everything
    that happens between its own beginning and end.

    Examples
    --------
    >>> import mxnp as np
    >>> x = np.arange(1_000_000.0)
    >>> with np.profile() as p:
    ...     total = float(np.sqrt(x * x + 1).sum())
    >>> sorted({row.operation for row in p.rows})
    ['add', 'add.reduce', 'multiply', 'sqrt']
    >>> p.total.waits
    1
    >>> p.print()  # doctest: +SKIP
    """

    __module__ = "mxnp"

    def __init__(self, *, trace: bool = False) -> None:
        self._counter = Counter(N_EVENTS if trace else 0)
        self._program = ""

    def __enter__(self) -> Self:
        self._counter.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._counter.stop()

    @property
    def report(self) -> Report:
        """The whole report, until now or until the end of the block."""
        return self._counter.read()

    @property
    def rows(self) -> list[Row]:
        """The counts by expression, operation and backend, the slowest first."""
        return self.report.rows

    @property
    def waits(self) -> list[Wait]:
        """The expressions for which everything recorded had to run."""
        return self.report.waits

    @property
    def checks(self) -> list[Check]:
        """The expressions whose indices were checked."""
        return self.report.checks

    @property
    def conversions(self) -> list[Conversion]:
        """The expressions that passed arrays to functions of packages."""
        return self.report.conversions

    @property
    def total(self) -> Total:
        """Sums over the report, in seconds and bytes."""
        return self.report.total

    def lines(self) -> list[Line]:
        """Return the program's lines with their rows and waits, the slowest first."""
        return self.report.lines()

    def print(self, file: TextIO | None = None) -> None:
        """
        Print the report as tables.

        Parameters
        ----------
        file : file object, optional
            Where to print, by default ``sys.stdout``.
        """
        _table.print_report(self.report, file)

    def to_json(self, file: Any = None) -> str:
        """
        Return the report as JSON, whose keys are described in docs/report.md.

        Parameters
        ----------
        file : path-like, optional
            A file to write the text to.

        Returns
        -------
        str
            The text.
        """
        return _written(json.dumps(self._to_dict(), indent=1) + "\n", file)

    def _to_dict(self) -> dict[str, Any]:
        return to_dict(self.report, self._program)

    def to_html(self, file: Any = None) -> str:
        """
        Return the report as a self-contained HTML page with the program's lines.

        Parameters
        ----------
        file : path-like, optional
            A file to write the text to.

        Returns
        -------
        str
            The text.
        """
        report = self.report
        return _written(html.page(report, self._program, self._findings(report)), file)

    def to_trace(self, file: Any = None) -> str:
        """
        Return a trace as JSON, for chrome://tracing or https://ui.perfetto.dev.

        Parameters
        ----------
        file : path-like, optional
            A file to write the text to.

        Returns
        -------
        str
            The text. It has no events unless the profile was made with ``trace=True``.
        """
        return _written(json.dumps(_trace.trace(self.report)), file)

    def __repr__(self) -> str:
        return f"<mxnp.profile: {_table.summary(self.report)}>"

    def __rich__(self) -> Any:
        from rich.text import Text  # rich calls this

        return Text(_table.render(self.report), no_wrap=True)

    def _repr_html_(self) -> str:
        report = self.report
        return html.fragment(report, self._findings(report))

    def _findings(self, report: Report) -> str:
        """Return the findings of `doctor` as HTML; a profile has none."""
        return ""


def _written(text: str, file: Any) -> str:
    """Write a text to a file, if there is one, and return the text."""
    if file is not None:
        Path(file).write_text(text, encoding="utf-8")
    return text
