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
        Takes the part of the range that a piece has. It runs in a copy of the caller's
        context, which has NumPy's errstate.
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
    contexts = [contextvars.copy_context() for _ in range(pieces)]

    def attempt(piece: int) -> Any:
        part = slice(piece * n // pieces, (piece + 1) * n // pieces)
        try:
            return contexts[piece].run(work, part), None
        except Exception as error:
            return None, error

    pool = _pool(os.getpid(), get_num_threads())
    results, errors = zip(*pool.map(attempt, range(pieces)), strict=True)
    for error in errors:
        if error is not None:
            raise error.with_traceback(None)
    return list(results)
