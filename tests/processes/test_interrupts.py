"""
Test interrupts at any moment; tests/fuzz/interrupts.py describes what must hold after one.

``python -m tests.fuzz.interrupts --programs 10000`` runs more programs.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import traceback
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import numpy
import pytest
from fuzz.grammar import write
from fuzz.interrupts import simple_steps
from fuzz.programs import Step, attempt, namespace
from support.moments import at_each_line, is_own
from support.paths import ROOT, python_path
from support.processes import end_of

import mxnp
from mxnp import _bridge
from mxnp._engine import places
from mxnp._namespace.mirror import find_counterpart

N = 20_000


@pytest.fixture(autouse=True)
def all_recorded() -> Iterator[None]:
    before = _bridge.set_threshold(0)
    yield
    _bridge.set_threshold(before)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX's timers")
def test_programs_that_are_interrupted() -> None:
    """Timers interrupt them; on a busy machine others may be needed until each state occurs."""
    total, seed = Counter[str](), 0
    while not (total["after"] and total["before"]):
        command = ["-m", "tests.fuzz.interrupts", "--programs", "120", "--seed"]
        found = end_of(*command, str(seed), PYTHONPATH=python_path(ROOT))
        assert found.status == 0, found.out + found.err
        assert found.out.startswith(f"120 programs from seed {seed} on, 0 differ")
        for count, state in re.findall(r"(\d+) (after|before)", found.out):
            total[state] += int(count)
        seed += 120


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX's timers")
def test_an_interrupted_statement_does_not_end_the_process() -> None:
    program = """
from tests.fuzz.interrupts import Alarm, Step

print(Alarm().run(Step("while True: pass"), {}, 0.01).__name__)
"""
    found = end_of("-c", program, PYTHONPATH=python_path(ROOT))
    assert (found.status, found.out, found.err) == (0, "KeyboardInterrupt\n", "")


# -- Errors of handlers ------------------------------------------------------------------


class Stop(BaseException):
    """The exception of a signal handler, raised in whatever Python code is running."""


def _asks(frame: FrameType | None) -> bool:
    """Check whether a method of an odd argument runs: NumPy drops errors of some."""
    while frame is not None and not frame.f_code.co_filename.endswith("unusual.py"):
        frame = frame.f_back
    return frame is not None


class Trap:
    """Raises Stop in the n-th Python function that a statement calls."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.where = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        # Errors are ignored in code that closes a generator.
        is_counted = event == "call" and code.co_name != "<genexpr>"
        if is_counted and "tests/fuzz" not in code.co_filename and not _asks(frame):
            self.n -= 1
            if self.n == 0:
                sys.setprofile(None)
                self.where = f"{code.co_filename}:{code.co_name}"
                raise Stop

    def is_lost(self, step: Step, names: dict[str, Any]) -> bool:
        """Run a statement; return whether Stop was raised in it and not propagated."""
        try:
            sys.setprofile(self)
            try:
                attempt(step, names)
            finally:
                sys.setprofile(None)
        except Stop:
            attempt(step, names)
            return False
        return bool(self.where)


@pytest.mark.slow
def test_errors_of_handlers_are_not_taken_for_numpys() -> None:
    """When NumPy is called after a failed attempt, only NumPy's errors are dropped."""
    lost, stopped = [], 0
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in range(150):
            names = namespace(mxnp)
            for number, step in enumerate(simple_steps(write(seed, has_process=False))):
                trap = Trap(1 + (seed + number) % 4)
                if trap.is_lost(step, names):
                    lost.append((step.text, trap.where))
                stopped += bool(trap.where)
    assert not lost
    assert stopped > 500


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
@pytest.mark.parametrize(
    "read",
    [
        numpy.asarray,
        numpy.array,
        memoryview,
        bytes,
        numpy.from_dlpack,
        numpy.array_repr,
    ],
    ids=["asarray", "array", "memoryview", "bytes", "from_dlpack", "array_repr"],
)
def test_errors_come_out_of_exports(
    read: Callable[[Any], Any], error: type[BaseException], monkeypatch: Any
) -> None:
    """NumPy drops errors from the buffer protocol, and calls __array__ next."""

    def show(*_: Any) -> None:
        monkeypatch.undo()
        raise error("once")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        y = 1 / (mxnp.zeros(N) + 0)
        monkeypatch.setattr(warnings, "showwarning", show)
        with pytest.raises(error, match="once"):
            read(y)
        assert numpy.isinf(numpy.asarray(y)).all()


def test_a_raised_error_is_not_raised_again() -> None:
    y = 1 / (mxnp.zeros(N) + 0)
    with pytest.raises(RuntimeWarning, match="divide by zero"):
        memoryview(y)
    assert y.__array__()[3] == numpy.inf
    assert y._np_array[3] == numpy.inf


def test_an_exception_of_a_handler_is_raised(monkeypatch: Any) -> None:
    """Another exception of a recorded form would leave the call to NumPy."""

    def interrupted(*_: Any) -> None:
        raise ValueError("from the program")

    monkeypatch.setattr(mxnp.clip, "implementation", interrupted)
    monkeypatch.setattr(mxnp.clip, "threshold_factor", 1)
    with pytest.raises(ValueError, match="from the program"):
        mxnp.clip(mxnp.zeros(N), 0, 3)


# Calls of each way in which mxnp computes, with arrays that wait, and those that it leaves to
# NumPy because of an exception.
CALLS = """
a * 2 + 1
(d * 2 + 1).sum()
np.exp(-d) * 2
a[i] + a[::-1]
a[a > 3].sum()
np.clip(a, 0, b)
np.sort(a, kind="stable")
np.sum(a, axis=0, out=c)
np.arange(0.0, 20_000, 1)
np.arange(2**70, 2**70 + 5)
np.gradient(a)
np.select([a > 3], [b], 7)
np.linalg.norm(a)
np.median(a)
np.add.at(a, i, b)
np.copyto(a, b, where=a > 3)
np.random.default_rng(1).normal(1, 2, 20_000)
np.asarray(a + 1)
memoryview(a + 1)
np.put_along_axis(a, i, 1, 0)
np.unique(a)
"""


@pytest.mark.parametrize("error", [ValueError, TypeError, RuntimeError, AttributeError])
@pytest.mark.parametrize("text", CALLS.strip().splitlines())
def test_the_exception_of_a_handler_reaches_the_program(
    text: str, error: type[Exception]
) -> None:
    """NumPy raises such exceptions for arguments, so forms and layers drop those of NumPy."""
    names = {"np": mxnp, "c": mxnp.zeros(()), "i": mxnp.arange(N)}
    lost = []

    def fail() -> None:
        lost.append(traceback.extract_stack()[-3])
        raise error("handled")

    def call() -> None:
        try:
            names["a"], names["b"] = mxnp.arange(N) * 1.0, mxnp.ones(N)
            names["d"] = mxnp.ones(N)
            names["e"] = numpy.asarray(names["d"])  # of the same memory
            eval(text, names)
        except error as caught:
            if str(caught) == "handled":
                lost.pop()
        except OverflowError:
            pass

    call()  # which loads modules
    assert sum(at_each_line(call, fail)) > 0
    assert not lost


@pytest.mark.parametrize("error", [ValueError, Stop])
@pytest.mark.parametrize("text", ["np.add(w, b)", "w[1:].__setitem__(0, b[0])"])
def test_the_exception_of_a_handler_passes_checks(
    text: str, error: type[BaseException]
) -> None:
    """Checks of a call ask for its name, and wait for its arrays."""
    lost, is_inside = [], False

    def fail() -> None:
        lost.append(traceback.extract_stack()[-3])
        raise error("handled")

    def call() -> None:
        nonlocal is_inside
        w, b = mxnp.arange(N)[mxnp.arange(3)] * 2, mxnp.ones(3)
        with mxnp.verify():
            is_inside = True
            try:
                eval(text, {"np": mxnp, "w": w, "b": b})
            except error:
                lost.pop()
            is_inside = False

    assert sum(at_each_line(call, fail, lambda code: is_inside and is_own(code))) > 0
    assert not lost


class Handler:
    """A handler that is an object."""

    def __call__(self, number: int, frame: Any) -> None:
        fail_in_numpy(number, frame)


def fail_in_numpy(*arguments: Any) -> None:
    numpy.linalg.inv(numpy.zeros((2, 2)))


def fail_for_a_function_in_it(*arguments: Any) -> None:
    def fail() -> None:
        fail_in_numpy(*arguments)

    fail()


@pytest.mark.parametrize(
    "handler",
    [fail_in_numpy, Handler(), partial(fail_in_numpy), fail_for_a_function_in_it],
)
def test_handlers_of_each_kind(handler: Any, monkeypatch: Any) -> None:
    """The exception is NumPy's own, raised in a handler that Python calls for a signal."""

    def form(*_: Any) -> None:
        before = signal.signal(signal.SIGTERM, handler)
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.signal(signal.SIGTERM, before)

    monkeypatch.setattr(mxnp.clip, "implementation", form)
    monkeypatch.setattr(mxnp.clip, "threshold_factor", 1)
    with pytest.raises(numpy.linalg.LinAlgError):
        mxnp.clip(mxnp.zeros(N), 0, 3)


class Unhashable:
    """An object that refuses to be hashed in a function that it calls."""

    def __hash__(self) -> int:
        return self.refuse()

    def refuse(self) -> int:
        raise TypeError(self)


def test_a_refusal_is_dropped_with_what_it_holds() -> None:
    """Frames must not keep the exception, through which they are known, in a cycle."""
    x = Unhashable()
    is_alive = weakref.ref(x)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        assert find_counterpart(x) is x
        del x
        assert not is_alive()
    finally:
        if was_enabled:
            gc.enable()


@pytest.mark.parametrize("error", [ValueError, Stop, KeyboardInterrupt])
def test_the_exception_of_a_handler_follows_one_of_an_operation(
    error: type[BaseException],
) -> None:
    """A note says where the operation was recorded, and Python code writes it."""

    def fail() -> None:
        raise error("handled")

    def call() -> None:
        nonlocal caught
        a = mxnp.arange(N)[mxnp.arange(N) + 1]
        try:
            a.sum().item()
        except BaseException as raised:
            caught = raised

    describe = places.describe.__code__
    caught: BaseException | None = None
    for has_run in at_each_line(call, fail, lambda code: code is describe):
        if has_run:
            assert isinstance(caught, error)
            assert isinstance(caught.__context__, IndexError)
    assert isinstance(caught, IndexError)
