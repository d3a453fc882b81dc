"""Test the threads that call compiled functions: what ends the pieces of a call."""

import ctypes
import gc
import platform
import signal
import threading
import weakref

import pytest
from support.moments import at_each_line
from support.processes import IGNORED, end_of

from mxnp import _bridge
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
        (0, 3), (3, 7), (7, 11), (11, 15), (15, 19), (19, 23),
    ]  # fmt: skip
    assert results == [0, 3, 7, 11, 15, 19]


def is_main():
    return threading.current_thread() is threading.main_thread()


def test_a_part_that_fails_ends_the_others():
    parts, has_begun = [], threading.Event()

    def work(part):
        parts.append(part.start)
        if is_main():
            has_begun.set()
            assert locks[1].released.wait(60)
        else:
            assert has_begun.wait(60)
            raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        threads.run_pieces(work, 20, 2, 1)
    assert sorted(parts) == [0, 1]


def test_an_interrupt_while_others_compute_waits_for_them(monkeypatch):
    monkeypatch.setattr(Lock, "raises", True)
    parts, has_begun = [], threading.Event()

    def work(part):
        if is_main():
            assert has_begun.wait(60)
        else:
            has_begun.set()
            assert locks[1].waited.wait(60)
        parts.append(part.start)

    with pytest.raises(KeyboardInterrupt):
        threads.run_pieces(work, 4, 2, 1)
    assert sorted(parts) == [0, 1, 2, 3]


def test_an_error_of_the_own_thread_keeps_its_frames():
    has_begun = threading.Event()

    def work(part):
        has_begun.wait(0 if is_main() else 60)
        if is_main():
            has_begun.set()
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
        if not is_main():
            locks[i + 1].waits.wait(20)
        self.ended.add(i)

    def start(self, run, compute, thread):
        start(run, compute, thread)
        assert self.has_begun[thread - 1].wait(60)

    def run(self):
        try:
            threads.run_pieces(self.work, 3, 3)
        except BaseException as error:
            self.error = type(error)
        self.left = self.begun - self.ended


start = threads._start


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_no_thread_outlives_a_call_that_a_handler_ends(monkeypatch, error):
    def handle():
        raise error

    def run():
        nonlocal call
        call = Call()
        monkeypatch.setattr(threads, "_start", call.start)
        call.run()

    call = None
    moments = 0
    for has_run in at_each_line(run, handle):
        moments += has_run
        assert not call.left
        assert not any(lock.is_stuck for lock in locks)
        assert call.error is (error if has_run else None)
    assert moments > 20


def test_the_caller_computes_the_parts_without_threads(monkeypatch):
    def fail(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_start", fail)
    assert threads.run_pieces(lambda part: part.start, 9, 3) == [0, 3, 6]


def test_a_thread_that_begins_too_late_has_nothing_to_do(monkeypatch):
    late = []
    monkeypatch.setattr(threads, "_start", lambda run, *call: late.append(call))

    def fail(part):
        raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        threads.run_pieces(fail, 9, 3)
    for compute, thread in late:
        compute(thread)
        assert not compute.__self__.errors


def of_two_threads(value):
    """Return the values that the caller's thread and another one have."""
    both, values = threading.Barrier(2), {}

    def work(part):
        both.wait(60)
        values[is_main()] = value()

    threads.run_pieces(work, 2, 2)
    return values[True], values[False]


def of_a_thread_that_waited(value):
    """Return values of the caller's thread and of one that had a call before."""
    known = set()
    for _ in range(50):
        own, (ident, other) = of_two_threads(lambda: (threading.get_ident(), value()))
        if ident in known:
            return own[1], other
        known.add(ident)
    raise AssertionError("each call has a new thread")


def test_a_thread_waits_for_the_next_call():
    assert of_a_thread_that_waited(is_main) == (True, False)


UPWARD = {"x86_64": 0x800, "aarch64": 0x400000, "arm64": 0x400000}


@pytest.mark.skipif(platform.machine() not in UPWARD, reason="Other numbers of modes")
def test_threads_round_as_the_caller_does():
    libc, one = ctypes.CDLL(None), 1.0
    assert of_a_thread_that_waited(lambda: one / 3) == (0.3333333333333333,) * 2
    assert libc.fesetround(UPWARD[platform.machine()]) == 0
    try:
        upward = of_a_thread_that_waited(lambda: one / 3)
    finally:
        libc.fesetround(0)
    assert upward == (0.33333333333333337,) * 2


MEETING = """
import contextvars, gc, os, signal, sys, threading, weakref
from mxnp._engine import threads
both, idents = threading.Barrier(2), []
def meet():
    def work(part):
        both.wait(60)
        if threading.current_thread() is not threading.main_thread():
            idents.append(threading.get_ident())
    threads.run_pieces(work, 2, 2)
def meet_again():
    while len(set(idents)) == len(idents):
        meet()
"""
FORK = """
meet_again()
child = os.fork()
meet()
if child:
    print(os.waitpid(child, 0)[1])
"""


def test_a_forked_process_has_no_threads_that_wait():
    end = end_of("-W", IGNORED, "-c", MEETING + FORK)
    assert (end.status, end.out.strip()) == (0, "0"), end.err


FORK_OF_A_THREAD = """
import os, threading
from mxnp._engine import threads
both, children = threading.Barrier(2), []
def work(part):
    both.wait(60)
    if threading.current_thread() is not threading.main_thread():
        children.append(os.fork())
threads.run_pieces(work, 2, 2)
print(os.waitpid(children[0], 0)[1])
"""


def test_a_process_that_a_thread_forked_ends_with_its_call():
    end = end_of("-c", FORK_OF_A_THREAD, seconds=60)
    assert (end.status, end.out.strip()) == (0, "0"), end.err


CONTEXT = """
class Value:
    pass
variable, value = contextvars.ContextVar("variable"), Value()
is_alive = weakref.ref(value)
context = contextvars.copy_context()
context.run(variable.set, value)
context.run(meet)
meet_again()
del context, value
gc.collect()
print(is_alive())
"""


def test_a_thread_that_waits_does_not_keep_the_context_of_its_first_call():
    end = end_of("-c", MEETING + CONTEXT)
    assert (end.status, end.out.strip()) == (0, "None"), end.err


BLOCKED = """
sys.setswitchinterval(60)  # a thread that ends a call goes on until it waits
meet_again()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
os.kill(os.getpid(), signal.SIGUSR1)
print(signal.sigwait({signal.SIGUSR1}) == signal.SIGUSR1)
"""


def test_a_thread_that_waits_gets_no_signals():
    """A program that blocks a signal after a call can wait for it."""
    one = {"OPENBLAS_NUM_THREADS": "1"}  # threads of OpenBLAS get signals
    end = end_of("-c", MEETING + BLOCKED, **one)
    assert (end.status, end.out.strip()) == (0, "True"), end.err


def test_a_caller_waits_for_its_own_calls_only():
    both, has_asked, end = threading.Barrier(2), threading.Event(), threading.Event()

    def work(part):
        both.wait(60)
        if threading.current_thread() is caller:
            answers.append(_bridge.await_calls())
            has_asked.set()
        assert end.wait(60)

    answers = []
    caller = threading.Thread(target=threads.run_pieces, args=(work, 2, 2))
    caller.start()
    try:
        assert has_asked.wait(60)
        answers.append(_bridge.await_calls())
    finally:
        end.set()
        caller.join()
    assert answers == [False, True]


LIMITED = """
from mxnp._engine import threads
started = []
def fail(*call):
    raise RuntimeError("can't start new thread")
for threads.start_new_thread in [fail] * 100 + [lambda *call: started.append(call)] * 100:
    try:
        threads._start(int)
    except RuntimeError:
        assert not started
print(len(started))
"""


def test_a_limited_number_of_threads_is_started():
    end = end_of("-c", LIMITED)
    assert (end.status, end.out.strip()) == (0, "64"), end.err


def test_threads_block_the_signals_that_the_caller_blocks():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    try:
        own, other = of_a_thread_that_waited(
            lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ())
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert own == other == before | {signal.SIGUSR2}


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
