"""Python threads that call NumPy's compiled functions, which run without the GIL.

The threads are started for each call. An executor of `concurrent.futures` would import
modules that a program may have under the same names, and it refuses work when the main
thread has ended.
"""

from __future__ import annotations

import contextvars
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable
from typing import Any

import numpy

from mxnp import _bridge


def strict_errstate() -> numpy.errstate:
    """
    Return an errstate in which conditions are ignored or errors.

    The compiled function is called for everything after the error. A warning would
    name a line of mxnp, and a function that the program is to be told by would run for
    each piece.
    """
    reports: Any = numpy.geterr()
    for kind, how in reports.items():
        reports[kind] = how if how == "ignore" else "raise"
    return numpy.errstate(**reports)


def run_pieces(work: Callable[[slice], Any], n: int, pieces: int) -> list[Any]:
    """
    Call a function for each piece of a range, on threads, which a report shows.

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
    _bridge.profile_note_threads(pieces)
    parts = [slice(i * n // pieces, (i + 1) * n // pieces) for i in range(pieces)]
    results: list[Any] = [None] * pieces
    errors: list[BaseException | None] = [None] * pieces

    def compute(i: int, lock: LockType) -> None:
        try:
            results[i] = work(parts[i])
        except BaseException as error:
            errors[i] = error
        finally:
            lock.release()

    locks = [allocate_lock() for _ in parts[1:]]
    try:
        for i, lock in enumerate(locks, 1):
            lock.acquire()
            run = contextvars.copy_context().run
            try:
                start_new_thread(run, (compute, i, lock))
            except RuntimeError:  # no more threads, or the interpreter ends
                compute(i, lock)
        results[0] = work(parts[0])
    except Exception as error:
        errors[0] = error
    finally:
        _wait(locks)
    for raised in errors:
        if raised is not None:
            raise raised.with_traceback(None)
    return results


def _wait(locks: list[LockType]) -> None:
    """Wait until threads have released locks, whatever signal handlers raise."""
    raised = None
    for lock in locks:
        while True:
            try:
                lock.acquire()
                break
            except BaseException as error:
                raised = error
    if raised is not None:
        raise raised
