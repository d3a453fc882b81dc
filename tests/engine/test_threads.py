"""Test the threads that call compiled functions: what ends the pieces of a call."""

import gc
import threading
import weakref

import pytest
from support.moments import at_each_line

from mxnp._engine import threads


class Lock:
    """
    A lock that tells when it is released, and whose second acquire may raise.

    The first acquire comes before the thread starts. Others wait for its end.
    """

    raises = False

    def __init__(self):
        self.lock, self.tries = threading.Lock(), 0
        self.released, self.waited = threading.Event(), threading.Event()
        self.waits, self.is_stuck = threading.Event(), False
        locks.append(self)

    def acquire(self):
        self.tries += 1
        if self.tries == 2 and self.raises:
            raise KeyboardInterrupt
        if self.tries == 3:
            self.waited.set()
        if self.tries > 1:
            self.waits.set()
        self.is_stuck |= not self.lock.acquire(timeout=20)

    def release(self):
        self.lock.release()
        self.released.set()


locks = []


@pytest.fixture(autouse=True)
def observed(monkeypatch):
    monkeypatch.setattr(threads, "allocate_lock", Lock)
    locks.clear()


def test_parts_of_pieces():
    parts = []
    results = threads.run_pieces(
        lambda part: parts.append(part) or part.start, 23, 2, 4
    )
    assert sorted((part.start, part.stop) for part in parts) == [
        (0, 4), (4, 8), (8, 11), (11, 15), (15, 19), (19, 23),
    ]  # fmt: skip
    assert results == [8, 19]


def test_a_piece_that_fails_ends_the_others():
    parts = []

    def work(part):
        parts.append(part.start)
        if part.start == 10:
            raise ValueError("failed")
        assert locks[1].released.wait(60)

    with pytest.raises(ValueError, match="failed"):
        threads.run_pieces(work, 20, 2, 1)
    assert sorted(parts) == [0, 10]


def test_an_interrupt_while_others_compute_ends_them(monkeypatch):
    monkeypatch.setattr(Lock, "raises", True)
    parts, begun = [], threading.Event()

    def work(part):
        parts.append(part.start)
        if part.start == 0:
            assert begun.wait(60)
        if part.start == 1:
            begun.set()
            assert locks[1].waited.wait(60)

    with pytest.raises(KeyboardInterrupt):
        threads.run_pieces(work, 3, 2, 1)
    assert sorted(parts) == [0, 1]


def test_an_error_of_the_own_thread_keeps_its_frames():
    def work(part):
        if part.start == 0:
            raise ValueError("a handler's")

    with pytest.raises(ValueError, match="a handler's") as found:
        threads.run_pieces(work, 4, 2)
    assert found.traceback[-1].name == "work"


class Call:
    """A call of three pieces, whose threads end when the caller waits for them."""

    def __init__(self):
        locks.clear()
        self.begun, self.ended, self.error = set(), set(), None
        self.has_begun = [threading.Event() for _ in range(3)]

    def work(self, part):
        i = part.start
        self.begun.add(i)
        self.has_begun[i].set()
        if threading.current_thread() is not threading.main_thread():
            locks[i].waits.wait(20)
        self.ended.add(i)

    def start(self, run, args):
        start_new_thread(run, args)
        assert self.has_begun[args[1]].wait(60)

    def run(self):
        try:
            threads.run_pieces(self.work, 3, 3)
        except BaseException as error:
            self.error = type(error)
        self.left = self.begun - self.ended


start_new_thread = threads.start_new_thread


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_no_thread_outlives_a_call_that_a_handler_ends(monkeypatch, error):
    def handle():
        raise error

    def run():
        nonlocal call
        call = Call()
        monkeypatch.setattr(threads, "start_new_thread", call.start)
        call.run()

    call = None
    moments = 0
    for has_run in at_each_line(run, handle):
        moments += has_run
        assert not call.left
        assert not any(lock.is_stuck for lock in locks)
        assert call.error is (error if has_run else None)
    assert moments > 20


def test_the_caller_computes_the_pieces_without_threads(monkeypatch):
    def fail(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "start_new_thread", fail)
    assert threads.run_pieces(lambda part: part.start, 9, 3) == [0, 3, 6]


def test_a_thread_that_begins_too_late_has_nothing_to_do(monkeypatch):
    started, parts = [], []
    monkeypatch.setattr(threads, "start_new_thread", lambda *call: started.append(call))

    def work(part):
        parts.append(part.start)
        while part.start == 3 and started:
            run, args = started.pop(0)
            run(*args)

    threads.run_pieces(work, 9, 3)
    assert parts == [0, 3, 6]


@pytest.mark.parametrize("failing", [0, 1])
def test_an_exception_keeps_nothing_alive(failing):
    class Array:
        """Stands for an array, to which weak references are possible."""

    def run():
        array = Array()

        def work(part):
            if part.start == failing:
                raise ValueError(array)

        try:
            threads.run_pieces(work, 2, 2)
        except ValueError as error:
            error.args = ()
        return weakref.ref(array)

    was_enabled = gc.isenabled()
    gc.disable()
    try:
        assert run()() is None
    finally:
        if was_enabled:
            gc.enable()
