"""Python threads that call NumPy's compiled functions, which run without the GIL.

A thread that has ended its work waits for the next call. An executor of
`concurrent.futures` would import modules that a program may have under the same names,
and it refuses work when the main thread has ended.
"""

from __future__ import annotations

import atexit
import contextvars
import os
import sys
from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable
from typing import Any

import numpy

from mxnp import _bridge

from .core import get_num_threads


def count_threads() -> int:
    """
    Return how many threads may compute a call of the running thread.

    A program that has threads or processes of its own has given them the cores.
    """
    threading = sys.modules.get("threading")
    is_main = threading is None or get_ident() == threading.main_thread().ident
    process = sys.modules.get("multiprocessing.process")
    is_child = process is not None and process.parent_process() is not None
    return get_num_threads() if is_main and not is_child else 1


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


os.register_at_fork(after_in_child=_bridge.forget_workers)

# Seconds after which a caller that sleeps looks for signals. One that arrives just
# before it falls asleep does not wake it.
_SLEEP = 0.02


def _start(run: Callable[..., Any], *args: Any) -> bool:
    """
    Call a function on a thread that waits, or else on a new one.

    Return whether there are not too many threads already.
    """
    return _bridge.give_call(start_new_thread, run, args)


def run_pieces(
    work: Callable[[slice], Any], n: int, pieces: int, most: int = 0
) -> list[Any]:
    """
    Call a function for each part of a range, on threads, which a report shows.

    Parameters
    ----------
    work : callable
        Takes a part of the range. A part belongs to the thread that takes it first, of
        the caller's and the others. The others have a copy of the caller's context,
        with NumPy's errstate.
    n : int
        The length of the range.
    pieces : int
        The number of threads.
    most : int, optional
        The longest part. No thread takes another one after a part has failed or a
        signal handler has raised an exception. By default there is a part for each
        thread.

    Returns
    -------
    list
        The results of the parts, whose lengths differ by one at most, in their order.

    Raises
    ------
    Exception
        What a part that failed raised, without the frames of another thread, or what a
        signal handler raised.
    """
    _bridge.profile_note_threads(pieces)
    return _Pieces(work, n, pieces, most).finish()


def run_beside(
    work: Callable[[slice], Callable[[], Any]], n: int, pieces: int, most: int = 0
) -> None:
    """
    Call a function for long parts of a range, on threads that nobody has to wait for.

    The caller's thread computes nothing. If a signal handler raises an exception there,
    the parts that have begun end later, and nothing of them is stored. The process
    waits for them when it ends.

    Parameters
    ----------
    work : callable
        Takes a part of the range. It returns a function that stores what it has
        computed, and writes nothing itself.
    n, pieces, most : int
        As for `run_pieces`.

    Raises
    ------
    Exception
        As from `run_pieces`.
    """
    _bridge.profile_note_threads(pieces)
    _Beside(work, n, pieces, most).finish()


class _Pieces:
    """
    The parts of a call, which threads take in their order.

    A signal handler may raise an exception between any two lines that the caller's
    thread runs, also while it starts threads or waits for them.
    """

    def __init__(
        self, work: Callable[[slice], Any], n: int, pieces: int, most: int
    ) -> None:
        self.work: Any = work
        parts = pieces * -(-n // (pieces * (most or n or 1))) or pieces
        self.parts = [slice(i * n // parts, (i + 1) * n // parts) for i in range(parts)]
        self.left = iter(range(parts))
        self.results: list[Any] = [None] * parts
        self.errors: dict[int, BaseException] = {}  # by the number of the thread
        self.given: set[int] = set()  # threads that have the call
        self.has_begun: dict[int, bool] = {}  # or begins too late
        self.ended: set[int] = set()
        self.locks = [allocate_lock() for _ in range(pieces)]

    def finish(self) -> list[Any]:
        """Return the results of the parts, or raise the first error."""
        try:
            try:
                self.run()
            finally:
                self.wait()
            for i in sorted(self.errors):
                raise self.errors[i] if i < 1 else self.errors[i].with_traceback(None)
            return self.results
        finally:
            self.wait()  # if a signal handler has ended the first wait
            self.forget()

    def compute(self) -> None:
        for i in self.left:
            if self.errors:
                return
            self.results[i] = self.work(self.parts[i])

    def compute_on_thread(self, thread: int) -> None:
        if not self.has_begun.setdefault(thread, True):
            return
        try:
            self.compute()
        except BaseException as error:
            self.errors[thread] = error
        finally:
            self.ended.add(thread)
            self.locks[thread].release()

    def run(self) -> None:
        try:
            self.start_threads()
            self.compute()
            _bridge.await_calls()
        except BaseException as error:
            self.errors[0] = error

    def start_threads(self) -> None:
        for thread, lock in enumerate(self.locks[1:], 1):
            lock.acquire()
            run = contextvars.copy_context().run
            try:
                if _start(run, self.compute_on_thread, thread):
                    self.given.add(thread)
            except RuntimeError as error:  # no more threads, or the interpreter ends
                _bridge.raise_handlers(error)

    def wait(self) -> None:
        """Wait for the threads that have begun, whatever signal handlers raise."""
        for thread, lock in enumerate(self.locks[1:], 1):
            while self.has_begun.setdefault(thread, False) and thread not in self.ended:
                try:
                    lock.acquire()
                except BaseException as error:
                    self.errors[-1] = error  # first, before parts

    def forget(self) -> None:
        """Drop what a thread that begins too late, or an exception, would keep."""
        self.work, self.results = None, []
        self.errors.clear()


class _Beside(_Pieces):
    """The parts of a call whose caller takes none, and leaves after an exception."""

    def __init__(
        self, work: Callable[[slice], Any], n: int, pieces: int, most: int
    ) -> None:
        super().__init__(work, n, pieces, most)
        self.locks.append(allocate_lock())  # thread 0 is the caller's
        self.storing = allocate_lock()
        self.is_over = False

    def compute(self) -> None:
        work = self.work
        for i in self.left:
            if self.errors or self.is_over:
                return
            store = work(self.parts[i])
            with self.storing:
                if not self.is_over:
                    store()

    def run(self) -> None:
        try:
            self.start_threads()
            if not self.given:
                self.compute()
            for thread in self.given:
                while not self.locks[thread].acquire(timeout=_SLEEP):
                    pass
        except BaseException as error:
            self.errors[0] = error

    def wait(self) -> None:
        """Let no thread begin, and nothing be stored, from now on."""
        while not self.is_over:
            try:
                if self.running():
                    _left.add(self)
                with self.storing:
                    self.is_over = True
            except BaseException as error:
                self.errors[-1] = error

    def running(self) -> list[int]:
        """Return the threads that compute a part. The others begin too late."""
        threads = range(1, len(self.locks))
        begun = [i for i in threads if self.has_begun.setdefault(i, False)]
        return [i for i in begun if i not in self.ended]

    def compute_on_thread(self, thread: int) -> None:
        super().compute_on_thread(thread)
        if self.is_over and not self.running():
            _left.discard(self)


_left: set[_Beside] = set()  # calls that a thread computes
os.register_at_fork(after_in_child=_left.clear)


@atexit.register
def _end_left() -> None:
    """Wait for the calls that were left, until another interrupt.

    A thread that returned from C++ later would abort the process: Python ends it, which
    C++ does not allow everywhere.
    """
    for call in [*_left]:
        for thread in call.running():
            with call.locks[thread]:
                pass
