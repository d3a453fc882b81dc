"""
Test many Python threads: separate and shared arrays, settings, warnings.

``python -m tests.fuzz.threads --programs 10000`` runs random programs in threads.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.paths import ROOT, python_path
from support.processes import end_of, run_file

import mxnp
from mxnp import _bridge

N = 20_000
SECONDS = 500  # after which threads count as hanging
NUMBERS = numpy.linspace(0.5, 2, N)


@pytest.fixture(autouse=True)
def often_switched() -> Iterator[None]:
    threshold, interval = _bridge.set_threshold(1000), sys.getswitchinterval()
    threads = mxnp.get_num_threads()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)
    mxnp.set_num_threads(threads)
    _bridge.set_threshold(threshold)


def in_threads(n: int, body: Callable[[int], Any]) -> list[Any]:
    """Run a body in threads that begin together; return the results in order."""
    barrier = threading.Barrier(n, timeout=SECONDS)

    def work(number: int) -> Any:
        barrier.wait()
        return body(number)

    with ThreadPoolExecutor(n) as executor:
        return list(executor.map(work, range(n), timeout=SECONDS))


COUNTS = [2, 4, 16]


# -- Arrays ----------------------------------------------------------------------------


def compute(xp: Any, number: int, rounds: int) -> Any:
    x, i = xp.array(NUMBERS) * (number + 1), (xp.arange(N) * 7) % N
    y = xp.zeros(N)
    for k in range(rounds):
        y += xp.sqrt(abs(x) * k + 1)
        y[i[:500]] *= 0.5
        x = xp.where(y > x, x, y[i])
        y[::2] -= float(x[k]) + x.max()
    return x, y, y[y > 0], int((x > 1).sum())


@pytest.mark.parametrize("n", COUNTS)
def test_arrays_of_their_own(n: int) -> None:
    found = in_threads(n, lambda number: compute(mxnp, number, 12))
    for number, ours in enumerate(found):
        for mine, expected in zip(ours, compute(numpy, number, 12), strict=True):
            assert (numpy.asarray(mine) == expected).all()


@pytest.mark.parametrize("n", COUNTS)
def test_an_array_that_all_read(n: int) -> None:
    shared = mxnp.array(NUMBERS) * 2  # recorded: the first reader runs it

    def read(number: int) -> list[bool]:
        expected = NUMBERS * 2
        return [
            bool((numpy.asarray(shared[number:] + k) == expected[number:] + k).all())
            and float((shared * k).max()) == (expected * k).max()
            for k in range(10)
        ]

    assert all(all(each) for each in in_threads(n, read))


@pytest.mark.parametrize("n", COUNTS)
def test_readers_and_writers_under_a_lock(n: int) -> None:
    """A thread that acquires the lock reads everything that was written under it."""
    lock = threading.Lock()
    table: Any = mxnp.zeros((n, N))
    sums = numpy.zeros(n)
    rounds = 15

    def work(number: int) -> bool:
        is_right = True
        for k in range(rounds):
            with lock:
                table[number] += k
                sums[number] += k
            with lock:
                rows, expected = table[:, 5].tolist(), sums.tolist()
                whole = table.sum(axis=1)
            is_right &= rows == expected
            is_right &= whole.tolist() == [N * each for each in expected]
        return is_right

    assert in_threads(n, work) == [True] * n
    assert (table == sum(range(rounds))).all()


def test_one_writer_and_many_readers_in_turn() -> None:
    condition, turn = threading.Condition(), [0]
    x: Any = mxnp.zeros(N)
    turns, readers = 40, 4
    wrong = []

    def wait_for(is_mine: Callable[[], bool]) -> None:
        assert condition.wait_for(is_mine, timeout=SECONDS)

    def write() -> None:
        for k in range(turns):
            with condition:
                wait_for(lambda k=k: turn[0] == k * (readers + 1))  # type: ignore[misc]
                x[:] = mxnp.sqrt(x * x) + 1
                turn[0] += 1
                condition.notify_all()

    def read(number: int) -> None:
        for k in range(turns):
            mine = k * (readers + 1) + number
            with condition:
                wait_for(lambda mine=mine: turn[0] == mine)  # type: ignore[misc]
                if float(x[number] * 2) != 2 * (k + 1) or (x != k + 1).any():
                    wrong.append((number, k))
                turn[0] += 1
                condition.notify_all()

    in_threads(readers + 1, lambda number: read(number) if number else write())
    assert not wrong


WILD = """
    import random, sys, threading
    import numpy
    import mxnp as np
    from mxnp import _bridge

    _bridge.set_threshold(0)
    sys.setswitchinterval(1e-5)
    ROWS, N = 40, 500
    shared = [np.arange(float(ROWS * N)).reshape(ROWS, N) for _ in range(3)]
    kinds = 14

    def step(choose):
        a, b = choose.choice(shared), choose.choice(shared)
        n, kind = choose.randrange(1, ROWS), choose.randrange(kinds)
        rows = [choose.randrange(ROWS) for _ in range(5)]
        if kind == 0:
            a += b
        elif kind == 1:
            a[rows] = b[rows[::-1]] * 0.5
        elif kind == 2:
            a[a > choose.random()] = 0
        elif kind == 3:
            shared[choose.randrange(3)] = a * 1 + b
        elif kind == 4:
            a[n].sort()
        elif kind == 5:
            a.sum(), a.tolist()
        elif kind == 6:
            np.sqrt(np.abs(a), out=b)
        elif kind == 7:
            numpy.asarray(a.T[::2])[:1] = 1
        elif kind == 8:
            np.add.at(a, rows, 1.0)
        elif kind == 9:
            np.concatenate([a, b[::-1]], axis=1).max(axis=0)
        elif kind == 10:
            memory = memoryview(a)
            a[n:] *= 2
            memory.release()
        elif kind == 11:
            np.set_num_threads(choose.randrange(1, 5))
        elif kind == 12:
            a.flat[n] = 3.0
            a.shape = (N, ROWS) if choose.random() < 0.01 else a.shape
            a.shape = (ROWS, N)
        else:
            shared[choose.randrange(3)] = numpy.array(b)[:] + np.array(a)

    def work(seed):
        choose = random.Random(seed)
        for _ in range(400):
            with numpy.errstate(all="ignore"):
                try:
                    step(choose)
                except (ValueError, IndexError) as error:
                    words.add(type(error).__name__)  # of a shape that was another's
        done.append(seed)

    words, done = set(), []
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range({threads})]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((np.asarray(a) * 0 + 1).shape == (ROWS, N) for a in shared)
    x = np.arange(1000.0)
    print(len(done), float((x + 1).sum()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 16])
def test_shared_arrays_without_a_lock(n: int, tmp_path: Path) -> None:
    """The values are undefined, but nothing crashes and later results are correct."""
    program = WILD.replace("{threads}", str(n))
    assert run_file(tmp_path, program, PYTHONWARNINGS="ignore") == f"{n} 500500.0"


LENDING = """
    import threading
    import mxnp as np
    from mxnp._bridge import pending

    def record():
        waiting.append(w + 1)
        while not over.wait(1e-4):
            waiting.append(w + 1)

    x, w = np.linspace(0, 1, 200_000), np.linspace(0, 1, 20_000)
    np.synchronize()
    over, waiting = threading.Event(), []
    thread = threading.Thread(target=record)
    thread.start()
    for n in range(100):
        float((x * n).sum())
    over.set()
    thread.join()
    np.synchronize()
    print(pending(), len(waiting) > 0, all(float(z[-1]) == 2 for z in waiting))
"""


@pytest.mark.slow
def test_one_records_while_another_sums_temporaries(tmp_path: Path) -> None:
    """Rematerializable instructions stay queued before those of the other thread."""
    assert run_file(tmp_path, LENDING) == "0 True True"


def test_random_programs() -> None:
    command = [
        "-m",
        "tests.fuzz.threads",
        "--programs",
        "25",
        "--threads",
        "8",
    ]
    end = end_of(*command, PYTHONPATH=python_path(ROOT))
    assert end.status == 0, end.out + end.err
    assert "25 programs" in end.out


# -- Settings --------------------------------------------------------------------------


def settings(number: int) -> tuple[str, str, str]:
    """Return one of eight settings: a mode, and errstate's divide and invalid."""
    return (
        ("fast", "strict")[number % 2],
        ("ignore", "warn")[number // 2 % 2],
        ("ignore", "raise")[number // 4 % 2],
    )


def have(number: int, stack: ExitStack) -> None:
    mode, divide, invalid = settings(number)
    stack.enter_context(mxnp.mode(mode))
    stack.enter_context(mxnp.errstate(divide=divide, invalid=invalid))


def are_mine(number: int) -> bool:
    mode, divide, invalid = settings(number)
    state = numpy.geterr()
    is_scalar = type((mxnp.zeros(N) + 1).sum()) is numpy.float64
    try:
        mxnp.sqrt(mxnp.zeros(N) - 1).tolist()
        said = "ignore"
    except FloatingPointError:
        said = "raise"
    return (
        mxnp.get_mode() == mode
        and (state["divide"], state["invalid"]) == (divide, invalid)
        and is_scalar == (mode == "strict")
        and said == (invalid if mode == "strict" else "ignore")  # no warnings
    )


@pytest.mark.parametrize("n", [2, 8, 16])
def test_settings_of_each_thread(n: int) -> None:
    def work(number: int) -> bool:
        with ExitStack() as stack:
            have(number, stack)
            return all(are_mine(number) for _ in range(20))

    assert in_threads(n, work) == [True] * n
    assert mxnp.get_mode() == "strict"


def test_settings_of_each_task() -> None:
    async def task(number: int) -> bool:
        with ExitStack() as stack:
            have(number, stack)
            found = []
            for _ in range(10):
                await asyncio.sleep(0)
                found.append(are_mine(number))
            # A function in a thread runs with the context of the task.
            found.append(await asyncio.to_thread(are_mine, number))
        return all(found)

    async def all_tasks() -> list[bool]:
        return await asyncio.gather(*map(task, range(8)))

    assert asyncio.run(all_tasks()) == [True] * 8


def test_settings_of_each_context() -> None:
    """A context applies in every thread that runs it, and in no other thread."""
    stack = ExitStack()
    contexts = [contextvars.copy_context() for _ in range(8)]
    for number, context in enumerate(contexts):
        context.run(have, number, stack)
    with mxnp.mode("fast"), ThreadPoolExecutor(4) as executor:
        found = [
            executor.submit(context.run, are_mine, number)
            for number, context in enumerate(contexts)
        ]
        assert all(each.result() for each in found)
        assert executor.submit(mxnp.get_mode).result() == "strict"
        inside = executor.submit(contextvars.copy_context().run, mxnp.get_mode)
        assert inside.result() == "fast"
    assert mxnp.get_mode() == "strict"


@pytest.mark.parametrize("divide", ["ignore", "warn"])
def test_the_state_is_that_of_the_recording(divide: str) -> None:
    """The state of the thread that runs the operation does not matter."""
    other = {"ignore": "warn", "warn": "ignore"}[divide]
    recorded = []

    def record() -> None:
        with numpy.errstate(divide=divide):
            recorded.append(1 / (mxnp.zeros(N) + 0))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=record)
        thread.start()
        thread.join()
        with numpy.errstate(divide=other):
            assert recorded[0][5] == numpy.inf
    messages = [str(each.message) for each in caught]
    assert messages == ["divide by zero encountered in divide"] * (divide == "warn")


# -- Warnings --------------------------------------------------------------------------


def test_warnings_of_all_threads_are_issued_once() -> None:
    """Filters belong to the process; each operation warns once, with its line."""

    def work(number: int) -> None:
        for k in range(5):
            y = (k + 1) / (mxnp.zeros(N) + 0)
            if k % 2:
                assert y[number] == numpy.inf

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        in_threads(4, work)
    assert [each.category for each in caught] == [RuntimeWarning] * 20
    assert {each.lineno for each in caught} == {work.__code__.co_firstlineno + 2}
    assert {each.filename for each in caught} == {__file__}


def record_and_stay(
    recorded: threading.Event, over: threading.Event, found: list[Any]
) -> None:
    y = 1 / (mxnp.zeros(N) + 0)
    recorded.set()
    assert over.wait(SECONDS)
    try:
        found.append(float((y + 1)[3]))
        found.append("nothing was raised")
    except RuntimeWarning as error:
        found.extend([str(error), *error.__notes__])


@pytest.mark.parametrize("need", [mxnp.synchronize, lambda: float(mxnp.ones(N).sum())])
def test_an_error_of_showing_a_warning_is_its_threads(need: Callable[[], Any]) -> None:
    recorded, over, found = threading.Event(), threading.Event(), []
    arguments = recorded, over, found
    thread = threading.Thread(target=record_and_stay, args=arguments)
    thread.start()
    assert recorded.wait(SECONDS)
    need()
    mxnp.synchronize()  # this thread has no error
    over.set()
    thread.join()
    line = record_and_stay.__code__.co_firstlineno + 3
    assert found == [
        "divide by zero encountered in divide",
        f"recorded at {__file__}:{line}",
    ]


def test_errors_of_several_threads_in_one_run() -> None:
    recorded, over, found = threading.Event(), threading.Event(), []
    arguments = recorded, over, found
    own = mxnp.log(mxnp.zeros(N) - 1)
    thread = threading.Thread(target=record_and_stay, args=arguments)
    thread.start()
    assert recorded.wait(SECONDS)
    with pytest.raises(RuntimeWarning, match="invalid value encountered in log"):
        mxnp.synchronize()
    over.set()
    thread.join()
    assert numpy.isnan(own[3])
    assert found[0] == "divide by zero encountered in divide"
