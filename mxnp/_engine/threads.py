"""Python threads that call NumPy's compiled functions, which run without the GIL."""

from __future__ import annotations

import contextvars
import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .core import get_num_threads

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


@functools.lru_cache(maxsize=1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Return the threads of a process. A forked process needs its own."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads, "mxnp-numpy")


def run_pieces(work: Callable[[slice], Any], n: int, pieces: int) -> list[Any]:
    """
    Call a function for each piece of a range, on threads.

    Parameters
    ----------
    work : callable
        Takes the part of the range that a piece has. The caller's thread computes the
        first piece. Other threads have a copy of its context, with NumPy's errstate.
    n : int
        The length of the range.
    pieces : int
        The number of pieces, whose lengths differ by one at most.

    Returns
    -------
    list
        The results, in the order of the pieces.

    Raises
    ------
    Exception
        What the first piece that failed raised, without the frames of its thread.
    """
    parts = [slice(i * n // pieces, (i + 1) * n // pieces) for i in range(pieces)]

    def attempt(part: slice) -> Any:
        try:
            return work(part), None
        except Exception as error:
            return None, error

    submit = _pool(os.getpid(), get_num_threads()).submit
    others = [
        submit(contextvars.copy_context().run, attempt, part) for part in parts[1:]
    ]
    pairs = [attempt(parts[0]), *(other.result() for other in others)]
    for _, error in pairs:
        if error is not None:
            raise error.with_traceback(None)
    return [result for result, _ in pairs]
