"""The clock: how long the peers take, measured in turn."""

from __future__ import annotations

import gc
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from .case import define

MIN_SAMPLE = 2e-3  # seconds; shorter samples say more about the clock
MAX_ROUNDS = 25
LONG = 2.0  # seconds
MIN_ROUNDS = 3
MAX_TRIES = 4  # of a sample, while other work takes the processor away

Sample = Callable[[int], float]  # seconds for a number of repetitions


class Timing(NamedTuple):
    """How long one peer takes for one case, in seconds."""

    median: float
    low: float  # first quartile
    high: float  # third quartile
    speed: float  # NumPy's median over this one: above 1 is faster than NumPy
    samples: int
    repetitions: int  # in each sample
    faults: float  # page faults of a repetition, median
    disturbed: int  # samples in which other work took the processor away

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, over the median."""
        return (self.high - self.low) / 2 / self.median


def sampler(
    statement: str,
    names: dict[str, Any],
    finish: Callable[[], object] = lambda: None,
) -> Sample:
    """
    Give a function that repeats a statement and returns the seconds it took.

    Parameters
    ----------
    statement : str
        What is repeated.
    names : dict
        The names in it. They are local, as in a function that computes something.
    finish : callable, optional
        Called once after the repetitions, and timed with them.

    Returns
    -------
    callable
        Takes the number of repetitions.
    """
    lines = [
        "_start = _clock()",
        "for _ in _repeat(None, _count):",
        f"    {statement}",
        "_finish()",
        "return _clock() - _start",
    ]
    own = {"_clock": time.perf_counter, "_repeat": repeat, "_finish": finish}
    sample = define("sample", ["_count", *names], lines, own)

    def run(count: int) -> float:
        seconds: float = sample(count, **names)
        return seconds

    return run


def calibrate(sample: Sample, shortest: float = MIN_SAMPLE) -> tuple[int, float]:
    """
    Find how often a statement is repeated in one sample.

    Returns
    -------
    int
        The number of repetitions, so that a sample takes `shortest` seconds or more.
    float
        The seconds that such a sample took.
    """
    count = 1
    sample(1)  # caches, pools and compiled code
    while True:
        seconds = sample(count)
        if seconds >= shortest:
            return count, seconds
        # Aim a little beyond, but do not trust a very short sample.
        count = max(count + 1, min(100 * count, int(1.3 * count * shortest / seconds)))


def in_turn(
    samples: dict[str, Sample], allowance: float, shortest: float = MIN_SAMPLE
) -> dict[str, Timing]:
    """
    Time several things against each other.

    One round takes a sample of each; another begins each round, so that a drift of the
    machine and what one leaves in the caches meet all alike. Before each sample its
    statement runs once untimed: what is measured is the steady state. A sample in which
    the system gave the processor to something else is taken again, if it can be had
    undisturbed in `MAX_TRIES`. What takes longer than `LONG` is timed once.

    Parameters
    ----------
    samples : dict
        What is timed, by name; the first is what the others are compared with.
    allowance : float
        Seconds it may take, about; there are `MIN_ROUNDS` rounds anyway, and not more
        than `MAX_ROUNDS`.
    shortest : float, optional
        Seconds that one sample takes at least.

    Returns
    -------
    dict
        A `Timing` by name.
    """
    names = list(samples)
    counts: dict[str, int] = {}
    taken: dict[str, list[float]] = {name: [] for name in names}
    estimate = 0.0
    for name in list(names):
        counts[name], seconds = calibrate(samples[name], shortest)
        if seconds > LONG * counts[name]:
            taken[name].append(seconds / counts[name])
            names.remove(name)
        else:
            estimate += seconds * (1 + 1 / counts[name])
    rounds = max(MIN_ROUNDS, min(MAX_ROUNDS, int(allowance / (estimate or 1))))
    faults: dict[str, list[float]] = {name: [] for name in samples}
    disturbed = dict.fromkeys(samples, 0)
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds):
            first = number % len(names) if names else 0
            for name in names[first:] + names[:first]:
                for _ in range(MAX_TRIES):
                    samples[name](1)
                    before = system_counts()
                    seconds = samples[name](counts[name])
                    after = system_counts()
                    alone = after.switches == before.switches
                    if alone:
                        break
                taken[name].append(seconds / counts[name])
                faults[name].append((after.faults - before.faults) / counts[name])
                disturbed[name] += not alone
    finally:
        gc.enable()
    base = statistics.median(taken[next(iter(samples))])
    return {
        name: _timing(taken[name], base, counts[name], faults[name], disturbed[name])
        for name in samples
    }


def _timing(
    taken: Sequence[float],
    base: float,
    count: int,
    faults: Sequence[float],
    disturbed: int,
) -> Timing:
    samples = len(taken)
    taken = [*taken, *taken] if len(taken) == 1 else taken
    low, median, high = statistics.quantiles(taken, n=4, method="inclusive")
    each = round(statistics.median(faults or [0]), 3)
    return Timing(median, low, high, base / median, samples, count, each, disturbed)


class SystemCounts(NamedTuple):
    """What the system has counted so far."""

    faults: int  # of all threads
    switches: int  # involuntary, of this thread


def system_counts() -> SystemCounts:
    """Return the counts; where threads are not counted apart, all threads' switches."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    own = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
    return SystemCounts(usage.ru_minflt, resource.getrusage(own).ru_nivcsw)
