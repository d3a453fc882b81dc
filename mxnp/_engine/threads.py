"""Python threads that call NumPy's compiled functions, which run without the GIL.

The threads are started for each call. An executor of `concurrent.futures` would import
modules that a program may have under the same names, and it refuses work when the main
thread has ended.
"""

from __future__ import annotations

import contextvars
from _thread import allocate_lock, start_new_thread
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
        first piece, and those that no other thread has begun by then. Other threads
        have a copy of its context, with NumPy's errstate.
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
    call = _Pieces(work, n, pieces, most)
    try:
        try:
            call.run()
        finally:
            call.wait()
        for i in sorted(call.errors):
            raise call.errors[i] if i < 1 else call.errors[i].with_traceback(None)
        return call.results
    finally:
        call.wait()  # if a signal handler has ended the first wait
        call.forget()


class _Pieces:
    """
    The pieces of a call, each of which belongs to the thread that begins it first.

    A signal handler may raise an exception between any two lines that the caller's
    thread runs, also while it starts threads or waits for them.
    """

    def __init__(
        self, work: Callable[[slice], Any], n: int, pieces: int, most: int
    ) -> None:
        self.work: Any = work
        self.most = most
        self.parts = [
            slice(i * n // pieces, (i + 1) * n // pieces) for i in range(pieces)
        ]
        self.results: list[Any] = [None] * pieces
        self.errors: dict[int, BaseException] = {}  # by the number of the piece
        self.is_threads: dict[int, bool] = {}  # or the caller's, from its begin on
        self.ended: set[int] = set()
        self.locks = [allocate_lock() for _ in self.parts]

    def compute(self, i: int) -> None:
        start, stop = self.parts[i].start, self.parts[i].stop
        step = self.most or max(stop - start, 1)
        for at in range(start, stop, step):
            if self.errors:
                return
            self.results[i] = self.work(slice(at, min(at + step, stop)))

    def compute_on_thread(self, i: int) -> None:
        if not self.is_threads.setdefault(i, True):
            return
        try:
            self.compute(i)
        except BaseException as error:
            self.errors[i] = error
        finally:
            self.ended.add(i)
            self.locks[i].release()

    def run(self) -> None:
        try:
            self.start_threads()
            for i in range(len(self.parts)):
                if not self.is_threads.setdefault(i, False):
                    self.compute(i)
        except BaseException as error:
            self.errors[0] = error

    def start_threads(self) -> None:
        for i, lock in enumerate(self.locks[1:], 1):
            lock.acquire()
            run = contextvars.copy_context().run
            try:
                start_new_thread(run, (self.compute_on_thread, i))
            except RuntimeError as error:  # no more threads, or the interpreter ends
                _bridge.raise_handlers(error)

    def wait(self) -> None:
        """Wait for the threads that have begun, whatever signal handlers raise."""
        for i, lock in enumerate(self.locks):
            while self.is_threads.setdefault(i, False) and i not in self.ended:
                try:
                    lock.acquire()
                except BaseException as error:
                    self.errors[-1] = error  # before those of the pieces

    def forget(self) -> None:
        """Drop what a thread that begins too late, or an exception, would keep."""
        self.work, self.results = None, []
        self.errors.clear()
