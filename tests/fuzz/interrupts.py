"""
Interrupt random programs: ``python -m tests.fuzz.interrupts``.

A KeyboardInterrupt is raised at a random moment of every other statement. Afterwards:

- The statement has had all of its effects, or none, or it has written its results but
  bound no name. Programs with NumPy are in one of these states, too.
- Every other array has NumPy's values, immediately and later.
- The statement can be run again, and the queue continues.
- After the program, no more memory is in use than before it.
"""

from __future__ import annotations

import argparse
import ast
import gc
import random
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy

import mxnp
from mxnp import _bridge

from . import unusual
from .grammar import write
from .limits import add_limits, most_programs
from .programs import (
    Difference,
    Program,
    Step,
    attempt,
    compare,
    compare_errors,
    namespace,
)

# The work has several chunks, so that an interrupt can occur between two of them.
WORK = Step(
    "a0 = make(0, (300, 900), 'd')\nfor _ in range(8): a0 = np.sqrt(a0 * a0 + 1)"
)
SHORTEST, LONGEST = 2e-6, 2e-3  # seconds until the interrupt


class LostInterruptError(Exception):
    """A signal handler raised KeyboardInterrupt, but the statement did not raise it."""


class Alarm:
    """A timer that raises one KeyboardInterrupt while a statement runs."""

    delivered = 0
    is_armed = False

    def __init__(self) -> None:
        signal.signal(signal.SIGALRM, self.ring)

    def ring(self, number: int, frame: FrameType | None) -> None:
        if self.is_armed:
            self.is_armed = False
            self.delivered += 1
            raise KeyboardInterrupt

    def run(self, step: Step, names: dict[str, Any], seconds: float) -> Any:
        """Run a statement; return its error, KeyboardInterrupt if it was interrupted."""
        before = self.delivered
        try:
            try:
                self.is_armed = True
                signal.setitimer(signal.ITIMER_REAL, seconds)
                # If the last string that ran was interrupted, Python ends as the signal does.
                exec(compile(step.text, "<string>", "exec"), names)
            finally:
                self.is_armed = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            return KeyboardInterrupt
        except Exception as error:
            if self.delivered > before:
                # NumPy drops the interrupt if it formats the message of another error.
                return KeyboardInterrupt
            return type(error), str(error)
        if self.delivered > before:
            return LostInterruptError, f"{step.text} was not interrupted"
        return None


def statements(step: Step) -> list[ast.stmt]:
    """Return the statements of a step; the list is empty after a syntax error."""
    try:
        return ast.parse(step.text).body
    except SyntaxError:
        return []


def simple_steps(program: Program) -> Iterator[Step]:
    """Yield single statements, so that programs can be interrupted between them."""
    for step in program:
        if not step.is_exact:  # Inexact results are replaced by NumPy's, which waits.
            continue
        inner = statements(step)
        if inner and isinstance(inner[0], ast.For):  # The loop variable is unused.
            rounds = len(eval(ast.unparse(inner[0].iter)))
            inner = rounds * inner[0].body
        texts = [ast.unparse(each) for each in inner] or [step.text]
        yield from map(Step, texts[:-1])
        yield Step(texts[-1], is_checked=step.is_checked)


def target(step: Step) -> str | None:
    """Return the name that a statement binds."""
    match statements(step):
        case [ast.Assign(targets=[ast.Name(id=name)])]:
            return name
    return None


class Run:
    """A program that is interrupted, and the same program with NumPy."""

    def __init__(self, seed: int, alarm: Alarm, tally: Counter[str]) -> None:
        self.steps = list(simple_steps(write(seed, has_process=False)))
        self.random = random.Random(seed)
        self.alarm, self.tally = alarm, tally
        self.theirs, self.ours = namespace(numpy), namespace(mxnp)

    def run(self) -> Difference | None:
        """Return the first difference."""
        for number, step in enumerate(self.steps):
            self.wait()
            # After an interrupt, NumPy's guard against arrays that contain themselves may
            # persist. Then str() of any array at the same address is "...".
            is_quiet = self.random.random() < 0.5 or "str(" in step.text
            message = self.in_peace(step) if is_quiet else self.interrupted(step)
            is_last = number == len(self.steps) - 1
            if not message and (step.is_checked or is_last):
                message = compare(self.ours, self.theirs, is_exact=True)
            if message:
                return Difference(number, f"{step.text}: {message}")
        return None

    def seconds(self) -> float:
        return SHORTEST * (LONGEST / SHORTEST) ** self.random.random()

    def wait(self) -> None:
        """Sometimes interrupt a flush of the queue."""
        if self.random.random() < 0.05:
            attempt(WORK, self.theirs)
            attempt(WORK, self.ours)
            self.alarm.run(Step("np.synchronize()"), self.ours, self.seconds())
            self.tally["runs of the queue left halfway"] += _bridge.pending() > 0

    def in_peace(self, step: Step) -> str:
        return compare_errors(step, attempt(step, self.ours), self.theirs)

    def interrupted(self, step: Step) -> str:
        name = target(step)
        before = self.ours.get(name)
        error = self.alarm.run(step, self.ours, self.seconds())
        if error is KeyboardInterrupt:
            return self.go_on(step, name, self.ours.get(name) is not before)
        return compare_errors(step, error, self.theirs)

    def go_on(self, step: Step, name: str | None, is_bound: bool) -> str:
        """Bring NumPy's program to the interrupted state; return a difference, if any."""
        is_written = name is None or "out=" in step.text
        if is_written:
            happened = compare(self.ours, self.theirs, is_exact=True) != ""
        else:  # The arrays are not compared, so that more operations stay in the queue.
            happened = is_bound
        self.tally["after" if happened else "before"] += 1
        if not happened:
            return self.in_peace(step)
        if name and not is_bound:
            step = Step(step.text.removeprefix(f"{name} = "))
        attempt(step, self.theirs)
        return compare(self.ours, self.theirs, is_exact=True) if is_written else ""


def memory_in_use() -> int:
    gc.collect()
    mxnp.synchronize()
    return mxnp.memory_info()["in_use"]


def run(seed: int, alarm: Alarm, tally: Counter[str]) -> str:
    """Run one program and return a description of the first error, if any."""
    before = memory_in_use()
    mxnp.set_num_threads(1 + seed % 3)
    difference = Run(seed, alarm, tally).run()
    if difference:
        return f"step {difference.step}: {difference.message}"
    left = memory_in_use() - before
    return f"{left} more bytes are in use afterwards" if left else ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.interrupts")
    add_limits(parser)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    chosen = parser.parse_args()
    unusual.WITHOUT.append("callbacks")  # the statement may have half of its effects
    _bridge.set_threshold(0)
    _bridge.set_signal_interval(0)  # Check for interrupts between any two chunks.
    alarm, tally = Alarm(), Counter[str]()
    begin, seed, found = time.monotonic(), chosen.seed, 0
    last = chosen.seed + most_programs(chosen)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        while seed < last and time.monotonic() < begin + chosen.seconds:
            message = run(seed, alarm, tally)
            if message:
                found += 1
                print(f"# seed {seed}: {message}", flush=True)
            seed += 1
    states = ", ".join(f"{tally[word]} {word}" for word in sorted(tally))
    print(
        f"{seed - chosen.seed} programs from seed {chosen.seed} on, {found} differ; "
        f"{alarm.delivered} interrupts ({states})"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
