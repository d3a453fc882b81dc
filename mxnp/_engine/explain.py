"""The report on the last flush."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TextIO

from mxnp import _bridge
from mxnp._bridge import frameless

from .core import Group, last_flush
from .figures import count, nbytes, time


@frameless
def explain(file: TextIO | None = None) -> None:
    """
    Print a report on the last flush.

    Operations on large arrays are recorded. A flush runs them in groups, and each group
    is one pass over memory, in blocks that stay in the cache. The report lists for each
    group its operations in the order in which they ran, its shape, the number of
    results that were never in memory, the bytes read and written, the threads, the
    number of operations that compiled kernels computed, and the time.

    Parameters
    ----------
    file : file object, optional
        Where to print; by default ``sys.stdout``.

    Notes
    -----
    The bytes are those of the arrays that a group reads and writes. Each array counts
    once. The report lists at most 256 groups. It does not include operations that were
    computed immediately: on small arrays, without a recorded form, and on arrays of
    up to 2**17 elements after flushes of single operations. The last line says how
    often functions of packages got arrays since mxnp was imported, if they did. A call
    that gets an array waits for the operations on it, so that it ends a group.

    Examples
    --------
    >>> import mxnp as np
    >>> x = np.arange(1_000_000.0)
    >>> y = np.sqrt(x * x + 1)
    >>> total = float(y.sum())
    >>> np.explain()  # doctest: +SKIP
    Last flush: 4 operations in 1 group, 8.00 MB read, 8.00 MB written, 1.62 ms
      1. multiply, add, sqrt, add.reduce
         (1000000,), 2 results never in memory, 8.00 MB read, 8.00 MB written,
         2 threads, 1.62 ms
    """
    groups = last_flush()
    lines = [_summary(groups)]
    for number, group in enumerate(groups, 1):
        lines += _describe(number, group)
    waiting = _bridge.pending()
    if waiting:
        lines.append(f"Recorded since, and not run yet: {count(waiting, 'operation')}")
    calls = _bridge.converted_calls()
    if calls:
        lines.append(f"Packages have got arrays in {count(calls, 'call')} so far")
    print("\n".join(lines), file=file)


def _summary(groups: list[Group]) -> str:
    if not groups:
        return "Nothing has been flushed yet"
    operations = sum(len(group.operations) for group in groups)
    parts = (
        f"{count(operations, 'operation')} in {count(len(groups), 'group')}",
        f"{nbytes(sum(group.bytes_read for group in groups))} read",
        f"{nbytes(sum(group.bytes_written for group in groups))} written",
        time(sum(group.seconds for group in groups)),
    )
    return f"Last flush: {', '.join(parts)}"


def _describe(number: int, group: Group) -> list[str]:
    parts = [
        f"{group.shape}",
        f"{nbytes(group.bytes_read)} read",
        f"{nbytes(group.bytes_written)} written",
        count(group.threads, "thread"),
        time(group.seconds),
    ]
    if group.compiled:
        parts.insert(-1, f"{group.compiled} compiled")
    if group.temporaries:
        parts.insert(1, f"{count(group.temporaries, 'result')} never in memory")
    head = f"{number:3}. "
    return [*_paragraph(head, group.operations), *_paragraph(" " * len(head), parts)]


def _paragraph(head: str, parts: Sequence[str]) -> list[str]:
    """Wrap a list; break lines only between its parts."""
    whole = ", ".join(part.replace(" ", "\xa0") for part in parts)
    blank = " " * len(head)
    lines = textwrap.wrap(whole, 88, initial_indent=head, subsequent_indent=blank)
    return [line.replace("\xa0", " ") for line in lines]
