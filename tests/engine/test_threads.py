"""Test the threads that call compiled functions: what ends the pieces of a call."""

import threading

import pytest

from mxnp._engine import threads


class Lock:
    """A lock that tells when it is released, and whose second acquire may raise."""

    raises = False

    def __init__(self):
        self.lock, self.tries = threading.Lock(), 0
        self.released, self.waited = threading.Event(), threading.Event()
        locks.append(self)

    def acquire(self):
        self.tries += 1
        if self.tries == 2 and self.raises:
            raise KeyboardInterrupt
        if self.tries == 3:
            self.waited.set()
        self.lock.acquire()

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
        assert locks[0].released.wait(60)

    with pytest.raises(ValueError, match="failed"):
        threads.run_pieces(work, 20, 2, 1)
    assert sorted(parts) == [0, 10]


def test_an_interrupt_while_others_compute_ends_them(monkeypatch):
    monkeypatch.setattr(Lock, "raises", True)
    parts = []

    def work(part):
        parts.append(part.start)
        if part.start == 1:
            assert locks[0].waited.wait(60)

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
