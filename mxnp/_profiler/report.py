"""What a part of a program cost, line by line: measured, and given in several forms."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import numpy

from mxnp._engine import core

from . import html
from . import text as _table
from . import trace as _trace
from .counter import Counter
from .model import Check, Line, Place, Report, Row, Total, Wait

SCHEMA = "mxnp-report/1"
N_EVENTS = 1_000_000  # of a trace


def to_dict(report: Report, program: str = "") -> dict[str, Any]:
    """Give a report as the object that its json is: see docs/report.md."""
    return {
        "schema": SCHEMA,
        "mxnp": core.core_version(),
        "numpy": numpy.__version__,
        "program": program,
        "total": asdict(report.total),
        "rows": [_with_place(row) for row in report.rows],
        "waits": [_with_place(wait) for wait in report.waits],
        "checks": [_with_place(check) for check in report.checks],
    }


def _with_place(counted: Row | Wait | Check) -> dict[str, Any]:
    values = asdict(counted)
    place: Place = counted.place
    del values["place"]
    return {**asdict(place), "expression": place.expression, **values}


class profile:  # noqa: N801
    """
    Context manager: what each line of a block costs, and where it runs.

    Operations of all threads are counted from the beginning of the block to its end,
    also those in functions that it calls. What was recorded before runs first; what
    was recorded in the block has run when it ends.

    Parameters
    ----------
    trace : bool, optional
        Whether single events are noted too, a million at most, for `to_trace`.

    Attributes
    ----------
    report : Report
        All of it, until now or until the end of the block.
    rows : list of Row
        By expression, operation and where it ran: ``calls``, ``elements``,
        ``seconds``, ``bytes_read``, ``bytes_written`` and more, the slowest first.
    waits : list of Wait
        Expressions for which everything recorded had to run: ``reason``, ``count``,
        ``seconds``.
    checks : list of Check
        Expressions whose indices were looked at.
    total : Total
        Sums, in seconds and bytes.

    Raises
    ------
    IndexError, MemoryError, RuntimeError
        At the beginning and at the end, as `synchronize`.

    See Also
    --------
    explain : What the last flush did.

    Notes
    -----
    Blocks may be in each other, and in several threads at once: each counts all that
    happens between its own beginning and end.

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

    def __enter__(self) -> profile:
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
        """All of it, until now or until the end of the block."""
        return self._counter.read()

    @property
    def rows(self) -> list[Row]:
        """By expression, operation and where it ran, the slowest first."""
        return self.report.rows

    @property
    def waits(self) -> list[Wait]:
        """Expressions for which everything recorded had to run."""
        return self.report.waits

    @property
    def checks(self) -> list[Check]:
        """Expressions whose indices were looked at."""
        return self.report.checks

    @property
    def total(self) -> Total:
        """Sums, in seconds and bytes."""
        return self.report.total

    def lines(self) -> list[Line]:
        """Give the program's lines with their rows and waits, the slowest first."""
        return self.report.lines()

    def print(self, file: TextIO | None = None) -> None:
        """
        Print tables; this needs rich.

        Parameters
        ----------
        file : file object, optional
            Where to print, by default ``sys.stdout``.

        Raises
        ------
        ImportError
            If rich is not installed.
        """
        _require_rich()
        _table.print_report(self.report, file)

    def to_json(self, file: Any = None) -> str:
        """
        Give the report as json, whose keys are described in docs/report.md.

        Parameters
        ----------
        file : path-like, optional
            A file to write it to, too.

        Returns
        -------
        str
            The text.
        """
        return write(json.dumps(self._to_dict(), indent=1) + "\n", file)

    def _to_dict(self) -> dict[str, Any]:
        return to_dict(self.report, self._program)

    def to_html(self, file: Any = None) -> str:
        """
        Give the report as a page that needs nothing else, with the program's lines.

        Parameters
        ----------
        file : path-like, optional
            A file to write it to, too.

        Returns
        -------
        str
            The text.
        """
        return write(html.page(self.report, self._program), file)

    def to_trace(self, file: Any = None) -> str:
        """
        Give a trace for chrome://tracing or https://ui.perfetto.dev, as json.

        Parameters
        ----------
        file : path-like, optional
            A file to write it to, too.

        Returns
        -------
        str
            The text. Without ``trace=True`` there are no events in it.
        """
        return write(json.dumps(_trace.trace(self.report)), file)

    def __repr__(self) -> str:
        return f"<mxnp.profile: {_table.summary(self.report)}>"

    def __rich__(self) -> Any:
        return _table.render(self.report)

    def _repr_html_(self) -> str:
        return html.fragment(self.report)


def write(text: str, file: Any) -> str:
    """Write a text to a file, if one is given, and give it."""
    if file is not None:
        Path(file).write_text(text, encoding="utf-8")
    return text


def _require_rich() -> None:
    if not _table.is_possible():
        raise ImportError(_table.MISSING)
