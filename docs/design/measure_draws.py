"""Measure draws of random numbers, with NumPy and with mxnp.

    python docs/design/measure_draws.py [SIZE [NAME ...]]

Each row is a call with a size, and NumPy's time over mxnp's: the best of interleaved
runs, and then their medians. The names are those of methods and of generators. The
number of threads is that of mxnp (`MXNP_NUM_THREADS`). With one thread, mxnp draws what
it would leave to NumPy too, and the times are those of the processor.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

import mxnp
from mxnp._routines import random_streams

SECONDS = 0.5  # for each row
CLOCK = time.perf_counter if mxnp.get_num_threads() > 1 else time.thread_time
GENERATORS = ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")
CALLS = """
random; random dtype='f4'; uniform -1,2; standard_normal; standard_normal dtype='f4'
normal 1,2; standard_exponential; standard_exponential dtype='f4'; exponential 2
standard_gamma 2.5; standard_gamma 2.5,dtype='f4'; gamma .5,2; beta 2,3; chisquare 3
lognormal; laplace; gumbel; logistic; rayleigh; standard_t 3; f 3,4; vonmises 0,4
wald 3,2; standard_cauchy; pareto 3; weibull 2; power 3; triangular -3,0,8
noncentral_chisquare 3,20; noncentral_f 3,20,1
integers 0,100; integers 0,2**40; integers 0,100,dtype='i4'; integers 0,100,dtype='u2'
integers 0,100,dtype='u1'; integers 0,2,dtype=bool; choice 1000
poisson 3; poisson 30; binomial 10,.3; binomial 1000,.3; negative_binomial 3,.4
geometric .2; geometric .5; logseries .6; zipf 4; hypergeometric 15,15,15
"""
LEGACY = """
random_sample; uniform -1,2; standard_normal; normal 1,2; exponential 2; randint 0,100
randint 0,100,dtype='u1'; choice 1000; laplace; gumbel; poisson 3; binomial 1000,.3
"""


def calls(text: str) -> list[str]:
    return [each.strip() for each in text.replace("\n", ";").split(";") if each.strip()]


def read(call: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the name and the arguments of a call."""
    name, _, arguments = call.partition(" ")
    args, kwargs = eval(f"(lambda *a, **k: (list(a), k))({arguments})")
    return name, args, kwargs


def run(owner: Any, call: str, size: int) -> Callable[[], Any]:
    name, args, kwargs = read(call)
    method = getattr(owner, name)
    return lambda: method(*args, size=size, **kwargs)


def times(runs: list[Callable[[], Any]], seconds: float) -> list[list[float]]:
    """Return the times of interleaved runs."""
    taken: list[list[float]] = [[] for _ in runs]
    end = time.perf_counter() + seconds
    for each in runs:
        each()
    while time.perf_counter() < end or len(taken[0]) < 9:
        for each, found in zip(runs, taken, strict=True):
            begin = CLOCK()
            each()
            found.append(CLOCK() - begin)
    return taken


def main(size: int, names: list[str]) -> None:
    kinds = [n for n in names if n in GENERATORS or n == "RandomState"]
    for kind in kinds or ["PCG64"]:
        table = LEGACY if kind == "RandomState" else CALLS
        for call in calls(table):
            if set(names) - set(kinds) and call.split()[0] not in names:
                continue
            owners = [
                np.random.RandomState(1)
                if kind == "RandomState"
                else np.random.Generator(getattr(np.random, kind)(1))
                for np in (numpy, mxnp)
            ]
            taken = times([run(owner, call, size) for owner in owners], SECONDS)
            best, middle = (
                [f(each) for each in taken] for f in (min, statistics.median)
            )
            print(
                f"| {kind} | `{call}` | {best[0] * 1e3:.3f} | {best[1] * 1e3:.3f} "
                f"| {best[0] / best[1]:.2f} | {middle[0] / middle[1]:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    random_streams._pays = lambda *_: True
    main(int(float((sys.argv[1:] or ["1e6"])[0])), sys.argv[2:])
