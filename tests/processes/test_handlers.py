"""Test code of the program that runs in the middle of a call: signal handlers, finalizers.

NumPy's compiled functions run no such code, so a call is before the handler or after it: no
number is drawn twice, no seed is lost, and no array has a part of either. What mxnp computes
in several steps of Python must look like one step too.
"""

from __future__ import annotations

import types
from typing import Any

import numpy
import pytest
from support.moments import at_each_line

import mxnp

pytestmark = pytest.mark.any_nan

Library = types.ModuleType

N = 70_001  # threads divide the draws and sorts of so many numbers
HELD = numpy.random.RandomState(2).permutation(N) * 1.5
MASK, PLACES = HELD > N / 2, numpy.random.RandomState(3).permutation(N)

# The arrays a, b, s, t, and w, which waits; the mask m and the positions i; the generator `rng`,
# and `state`, which keeps one of two normal numbers.
DRAWS = """
rng.random(n)
rng.random(out=a)
rng.standard_normal(n, dtype="f4")
rng.normal(2, 3, n)
rng.integers(0, 100, n, dtype="u1")
rng.integers(0, 2**40, n)
rng.poisson(3, n)
rng.choice(a, n)
rng.choice(a, 500, replace=False)
rng.shuffle(a)
rng.permutation(a)
rng.permuted(a, out=a)
rng.bit_generator.random_raw(n)
state.random_sample(n)
state.randn(n)
state.normal(1, 2, n + 1)
state.randint(0, 100, n)
state.exponential(2, n)
state.choice(a, n)
state.shuffle(a)
"""
WRITES = """
np.add(a, b, out=a)
np.multiply(a, b, out=a, where=m)
np.modf(b, out=(a, b))
a.__iadd__(b)
a.sort()
a.sort(kind="stable")
a[::2].sort(kind="stable")
a[::-1].sort()
a[:70_000].reshape(100, -1).sort(axis=0)
a[:70_000].reshape(70, -1).partition([5, 9], axis=0)
np.add.at(a, i, b)
np.maximum.at(a, i, b)
a.__setitem__(i, b)
a.__setitem__(m, 4)
a.__setitem__(slice(None, None, -1), a)
np.copyto(a, b)
np.copyto(a, 3, where=m)
np.copyto(a, b, where=m)
np.putmask(a, m, b)
np.place(a, m, [1, 2, 3])
np.put(a, i, b)
a.cumsum(out=a)
np.add.accumulate(b, out=a)
np.add.accumulate(w, out=w)
np.cumsum(w[:70_000].reshape(10, -1).T, out=a[:70_000])
np.max(w[:70_000].reshape(10, -1), axis=1, out=s)
np.maximum.reduce(w[:70_000].reshape(10, -1), axis=1, out=s)
np.any(w[:70_000].reshape(10, -1), axis=1, out=t)
np.sum(w[:70_000].reshape(10, -1), axis=1, out=s, initial=0)
np.max(w[:70_000].reshape(10, -1), axis=1, out=s, initial=100_000)
np.copyto(w, b, where=m)
w.sort(kind="stable")
a.clip(2, 30, out=a)
np.take(b, i, out=a, mode="clip")
np.concatenate([b[: n // 2], b[n // 2 :]], out=a)
np.nan_to_num(a, copy=False)
"""


class Stop(BaseException):
    """The exception of a handler."""


def stop() -> None:
    raise Stop


HANDLERS = {
    "draws": "rng.random(6), rng.integers(0, 9, 3, dtype='i4'), state.randn(3), state.rand()",
    "seeds": "state.seed(3), setattr(rng.bit_generator, 'state', other)",
    "writes": "a.__setitem__(slice(None, None, 3), 1.25), b.fill(2), w.fill(4), s.fill(5), t.fill(1)",
    "interrupts": "stop()",
}


def new_names(xp: Library) -> dict[str, Any]:
    """Return the names of a call. One normal number is kept."""
    names = {"np": xp, "n": N, "stop": stop, "other": numpy.random.PCG64(9).state}
    names |= {"rng": xp.random.default_rng(7), "state": xp.random.RandomState(8)}
    names["state"].randn()
    arrays = {"a": HELD, "b": HELD[::-1], "m": MASK, "i": PLACES}
    arrays |= {"s": numpy.zeros(10), "t": numpy.zeros(10, bool)}
    names |= {name: xp.array(value) for name, value in arrays.items()}
    return names | {"w": xp.array(HELD) * 1}


def plain(x: Any) -> Any:
    """Return bytes in place of arrays."""
    if isinstance(x, tuple):
        return tuple(map(plain, x))
    return numpy.asarray(x).tobytes() if isinstance(x, numpy.ndarray) else repr(x)


class Call:
    """A call and a handler, each of which may run."""

    def __init__(self, xp: Library, text: str, handler: str) -> None:
        self.names = new_names(xp)
        self.text, self.handler = text, HANDLERS[handler]
        self.results: dict[str, Any] = {}

    def call(self) -> None:
        """Run the call. A result that is an array of the program is looked at there."""
        result = eval(self.text, self.names)
        is_new = self.text in DRAWS and "out=" not in self.text
        self.results["call"] = plain(result) if is_new else None

    def handle(self) -> None:
        self.results["handler"] = plain(eval(self.handler, self.names))

    def outcome(self) -> Any:
        """Return what the program can see: results, arrays, and the next numbers."""
        arrays = [plain(self.names[name]) for name in "abstw"]
        rng, state = self.names["rng"], self.names["state"]
        numbers = rng.integers(0, 2**30, 3, dtype="i4"), state.randn(3), state.rand(2)
        return self.results, arrays, plain(numbers)


def outcomes(text: str, handler: str) -> list[Any]:
    """Return the outcomes with NumPy of the call before the handler, and after it."""
    found = []
    for order in ("call", "handle"), ("handle", "call"):
        theirs = Call(numpy, text, handler)
        try:
            for step in order:
                getattr(theirs, step)()
        except Stop:
            theirs.results.clear()  # which the program does not get
        found.append(theirs.outcome())
    return found


CASES = [
    *((text, handler) for text in DRAWS.strip().splitlines() for handler in HANDLERS),
    *((text, "writes") for text in WRITES.strip().splitlines()),
    *((text, "interrupts") for text in WRITES.strip().splitlines()),
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("text", "handler"), CASES)
def test_a_call_is_before_a_handler_or_after_it(text: str, handler: str) -> None:
    mxnp.set_num_threads(2)
    expected = outcomes(text, handler)
    Call(mxnp, text, handler).call()  # which loads modules
    ours = Call(mxnp, text, handler)

    def call() -> None:
        try:
            ours.call()
        except Stop:
            ours.results.clear()

    def handle() -> None:
        ours.handle()

    for has_run in at_each_line(call, handle):
        assert ours.outcome() in expected or not has_run
        ours = Call(mxnp, text, handler)
