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


def longest(shape: tuple[int, ...], without: int | None = None) -> int:
    """Return the longest axis of a shape, or -1, leaving one axis out."""
    axes = (i for i in range(len(shape)) if i != without)
    return max(axes, key=shape.__getitem__, default=-1)


def cut(a: Any, axis: int, part: slice) -> Any:
    """Return a part of an array along an axis."""
    return a[(slice(None),) * axis + (part,)]


def run_pieces(
    work: Callable[[slice], Any], n: int, pieces: int, most: int = 0
) -> list[Any]:
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
    most : int, optional
        The longest part that a call of `work` gets. A thread calls it for a longer
        piece again and again, until another piece has failed or a signal handler has
        raised an exception. By default a call gets a whole piece.

    Returns
    -------
    list
        The last result of each piece, in their order.

    Raises
    ------
    Exception
        What the first piece that failed raised, without the frames of another thread,
        or what a signal handler raised.
    """
    _bridge.profile_note_threads(pieces)
    parts = [slice(i * n // pieces, (i + 1) * n // pieces) for i in range(pieces)]
    results: list[Any] = [None] * pieces
    errors: dict[int, BaseException] = {}  # by the number of the piece

    def compute(i: int) -> None:
        start, stop = parts[i].start, parts[i].stop
        step = most or max(stop - start, 1)
        for at in range(start, stop, step):
            results[i] = work(slice(at, min(at + step, stop)))
            if errors:
                return

    def compute_and_release(i: int, lock: LockType) -> None:
        try:
            compute(i)
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
                start_new_thread(run, (compute_and_release, i, lock))
            except RuntimeError:  # no more threads, or the interpreter ends
                compute_and_release(i, lock)
        compute(0)
    except BaseException as error:
        errors[0] = error
    finally:
        _wait(locks, errors)
    for i in sorted(errors):
        raise errors[i] if i < 1 else errors[i].with_traceback(None)
    return results


def _wait(locks: list[LockType], errors: dict[int, BaseException]) -> None:
    """Wait until threads have released locks, whatever signal handlers raise."""
    for lock in locks:
        while True:
            try:
                lock.acquire()
                break
            except BaseException as error:
                errors[-1] = error  # before those of the pieces
