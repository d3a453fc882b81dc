"""Time several peers in turn."""

from __future__ import annotations

import gc
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from .case import define

MIN_SAMPLE = 2e-3  # seconds; shorter samples depend on the clock's resolution
SHORT_SAMPLE = 2e-4  # of a run that has little time for each case
MAX_ROUNDS = 25
LONG = 2.0  # seconds; a longer computation is timed once, without a warm-up
MIN_ROUNDS = 3
MAX_TRIES = 4  # of one sample, if the system preempts it

Sample = Callable[[int], float]  # the seconds for a number of repetitions


class Timing(NamedTuple):
    """The time of one peer for one case, in seconds."""

    median: float
    low: float  # first quartile
    high: float  # third quartile
    speed: float  # NumPy's median over this one: above 1 is faster than NumPy
    samples: int
    repetitions: int  # in each sample
    page_faults: float  # of a repetition, median
    preempted: int  # samples during which the system ran other work on the core
    least: float = 0.0  # the shortest sample, or 0 if it is not known
    processor: float = 0.0  # least processor time of a repetition, of all threads

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, relative to the median."""
        return (self.high - self.low) / 2 / self.median


def sampler(
    statement: str,
    names: dict[str, Any],
    finish: Callable[[], object] = lambda: None,
) -> Sample:
    """
    Return a function that repeats a statement and returns the seconds it took.

    Parameters
    ----------
    statement : str
        The statement.
    names : dict
        The names in it. They are local variables, as in a function of a program.
    finish : callable, optional
        A function that is called once after the repetitions, and timed with them.

    Returns
    -------
    callable
        A function of the number of repetitions.
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


def calibrate(
    sample: Sample, shortest: float = MIN_SAMPLE, longest: float = LONG
) -> tuple[int, float]:
    """
    Determine how often a statement has to be repeated in one sample.

    A statement that takes longer than `longest` runs only once.

    Returns
    -------
    int
        The number of repetitions, so that a sample takes `shortest` seconds or more.
    float
        The seconds that such a sample took.
    """
    count = 1
    first = sample(1)  # caches, pools and compiled code
    if first > longest:
        return count, first
    while True:
        seconds = sample(count)
        if seconds >= shortest:
            return count, seconds
        # Aim a little higher. A very short sample is not accurate, hence the limit.
        count = max(count + 1, min(100 * count, int(1.3 * count * shortest / seconds)))


def in_turn(
    samples: dict[str, Sample], allowance: float, shortest: float = MIN_SAMPLE
) -> dict[str, Timing]:
    """
    Time several statements against each other.

    A round takes one sample of each statement, and each round begins with another one.
    So a drift of the machine and the contents of the caches affect all alike. Each
    statement runs once before its sample, without being timed, because the steady state
    is measured. A sample that the system preempted is taken again, up to `MAX_TRIES`
    times. A statement that takes longer than `LONG` or the allowance is timed once.

    Parameters
    ----------
    samples : dict
        The functions of `sampler`, by name. The others are compared with the first.
    allowance : float
        The approximate seconds to spend. There are at least `MIN_ROUNDS` rounds and at
        most `MAX_ROUNDS`.
    shortest : float, optional
        The least duration of one sample in seconds.

    Returns
    -------
    dict
        The `Timing` of each name.
    """
    names = list(samples)
    longest = min(LONG, max(allowance, shortest))
    counts: dict[str, int] = {}
    taken: dict[str, list[float]] = {name: [] for name in names}
    processor: dict[str, list[float]] = {name: [] for name in names}
    estimate = 0.0
    for name in list(names):
        began = time.process_time()
        counts[name], seconds = calibrate(samples[name], shortest, longest)
        if seconds > longest * counts[name]:
            taken[name].append(seconds / counts[name])
            processor[name].append(time.process_time() - began)
            names.remove(name)
        else:
            estimate += seconds * (1 + 1 / counts[name])
    rounds = max(MIN_ROUNDS, min(MAX_ROUNDS, int(allowance / (estimate or 1))))
    faults: dict[str, list[float]] = {name: [] for name in samples}
    preempted = dict.fromkeys(samples, 0)
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
                used = after.processor - before.processor
                processor[name].append(used / counts[name])
                preempted[name] += not alone
    finally:
        gc.enable()
    base = statistics.median(taken[next(iter(samples))])
    return {
        name: _timing(taken[name], base, counts[name], faults[name])._replace(
            preempted=preempted[name], processor=min(processor[name])
        )
        for name in samples
    }


def _timing(
    taken: Sequence[float],
    base: float,
    count: int,
    faults: Sequence[float],
) -> Timing:
    samples = len(taken)
    taken = [*taken, *taken] if len(taken) == 1 else taken
    low, median, high = statistics.quantiles(taken, n=4, method="inclusive")
    each = round(statistics.median(faults or [0]), 3)
    speed = base / median
    return Timing(median, low, high, speed, samples, count, each, 0, min(taken))


class SystemCounts(NamedTuple):
    """Counts of the system since the process began."""

    faults: int  # page faults of all threads
    switches: int  # involuntary context switches of this thread
    processor: float = 0.0  # seconds of processor time of all threads


def system_counts() -> SystemCounts:
    """Return the counts. Some systems count the switches of all threads together."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    own = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
    switches = resource.getrusage(own).ru_nivcsw
    return SystemCounts(usage.ru_minflt, switches, time.process_time())
