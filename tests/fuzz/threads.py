"""
Run random programs in many threads: ``python -m tests.fuzz.threads``.

Each thread runs its own programs with mxnp and with NumPy. Between statements, it
sometimes does one of these:

- It adds to a shared array under a lock. At the end, the array has NumPy's values.
- It reads a shared array that is never written.
- It writes and reads a shared array without a lock. Its values are undefined, but
  nothing may crash.
- It changes the number of threads that share the work, waits, or collects garbage.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import random
import sys
import threading
import time
import warnings
from collections import Counter
from typing import Any

import numpy

import mxnp
from mxnp import _bridge

from . import unusual
from .grammar import write
from .interrupts import simple_steps
from .limits import add_limits, most_programs
from .programs import attempt, compare, compare_errors, namespace, run

PROGRAM_SECONDS = 600  # after which a program counts as hanging
SIZE = 30_000
NUMBERS = numpy.linspace(0.5, 1.5, SIZE)


class Fuzz:
    """The state that the threads share."""

    def __init__(self, seed: int, n_threads: int, programs: int, end: float) -> None:
        self.seed, self.n_threads = seed, n_threads
        self.programs, self.end = programs, end
        self.next_seed = seed
        self.lock = threading.Lock()
        self.counted: Any = mxnp.zeros(SIZE)
        self.constant: Any = mxnp.array(NUMBERS) * 2
        self.wild: Any = mxnp.zeros((30, SIZE // 30))
        self.tally: Counter[str] = Counter()
        self.faults: list[str] = []
        self.alone: list[int] = []  # seeds of programs that also differ in one thread

    def take_seed(self) -> int | None:
        """Return the seed of a program that has not run, or None at the end."""
        with self.lock:
            number = self.next_seed - self.seed
            is_over = number >= self.programs or time.monotonic() > self.end
            if is_over or self.faults:
                return None
            self.next_seed += 1
            # If the programs hang, the process ends with the stacks of the threads.
            faulthandler.dump_traceback_later(PROGRAM_SECONDS, exit=True)
        return self.next_seed - 1

    def work(self) -> None:
        try:
            while (seed := self.take_seed()) is not None:
                message = self.run(seed, random.Random(seed))
                if message and run(write(seed, has_process=False)) is not None:
                    self.alone.append(seed)
                elif message:
                    self.faults.append(f"seed {seed}: {message}")
        except BaseException as error:
            self.faults.append(f"{type(error).__name__}: {error}")
            raise

    def run(self, seed: int, choose: random.Random) -> str:
        """Run a program and return a description of the first error, if any."""
        theirs, ours = namespace(numpy), namespace(mxnp)
        program = list(simple_steps(write(seed, has_process=False)))
        for number, step in enumerate(program):
            if choose.random() < 0.2:
                message = self.disturb(choose)
                if message:
                    return message
            message = compare_errors(step, attempt(step, ours), theirs)
            if message:
                return f"{step.text}: {message}"
            if step.is_checked or number == len(program) - 1:
                message = compare(ours, theirs, is_exact=True)
                if message:
                    return f"step {number}, {step.text}: {message}"
        return ""

    def disturb(self, choose: random.Random) -> str:
        kind = choose.choice(["count", "read", "wild", "wild", "threads", "wait", "gc"])
        with self.lock:
            self.tally[kind] += 1
            if kind == "count":
                self.counted += self.constant
        if kind == "read":
            n = choose.randrange(SIZE)
            found = float((self.constant[n:] * 3)[0])
            return "" if found == NUMBERS[n] * 2 * 3 else f"{found} was read at {n}"
        if kind == "wild":
            self.write_wildly(choose)
        elif kind == "threads":
            mxnp.set_num_threads(choose.randint(1, max(4, self.n_threads)))
        elif kind == "wait":
            mxnp.synchronize()
        elif kind == "gc":
            gc.collect(0)
        return ""

    def write_wildly(self, choose: random.Random) -> None:
        a, rows = self.wild, choose.sample(range(30), 3)
        kind = choose.randrange(8)
        if kind == 0:
            a += 1
        elif kind == 1:
            a[rows] = a[rows[::-1]] * 0.5
        elif kind == 2:
            a[a > choose.random()] = 0
        elif kind == 3:
            self.wild = a * 1
        elif kind == 4:
            a[rows[0]].sort()
        elif kind == 5:
            float(a.sum()), a.tolist()[:0]
        elif kind == 6:
            mxnp.sqrt(mxnp.abs(a), out=a)
        else:
            numpy.asarray(a.T[::2])[:1] = 1

    def is_counted(self) -> bool:
        expected = numpy.zeros(SIZE)
        for _ in range(self.tally["count"]):
            expected += NUMBERS * 2
        return bool((numpy.asarray(self.counted) == expected).all())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.threads")
    add_limits(parser)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--threshold", type=int, default=0)
    chosen = parser.parse_args()
    faulthandler.enable()
    _bridge.set_threshold(chosen.threshold)
    sys.setswitchinterval(1e-4)
    warnings.simplefilter("ignore")
    unusual.WITHOUT.append("warnings")  # all threads have the same filters
    end = time.monotonic() + chosen.seconds
    fuzz = Fuzz(chosen.seed, chosen.threads, most_programs(chosen), end)
    threads = [threading.Thread(target=fuzz.work) for _ in range(chosen.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not fuzz.faults and not fuzz.is_counted():
        fuzz.faults.append("the sum of additions under a lock is wrong")
    for message in fuzz.faults:
        print(f"# {message}")
    done = fuzz.next_seed - fuzz.seed
    print(
        f"{done} programs from seed {fuzz.seed} on in {chosen.threads} threads, "
        f"{sum(fuzz.tally.values())} disturbances, {len(fuzz.faults)} faults; "
        f"in one thread too: {fuzz.alone}"
    )
    return 1 if fuzz.faults else 0


if __name__ == "__main__":
    sys.exit(main())
