"""Test pairs of steps that run as one loop: rounding, and bools that are not stored."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy
import pytest
from support.lanes import ON_GPU, needs_fusion
from support.tolerances import near

import mxnp
from mxnp._engine import core

SIZE = 20_011
STEPS = ["{} + {}", "{} - {}", "{} * {}"]
FIRSTS = [step.format(*pair) for step in STEPS for pair in ("xy", "xk", "kx", "xx")]
SECONDS = [
    step.format(*pair)
    for step in STEPS
    for pair in (("t", "z"), ("z", "t"), ("t", "h"), ("h", "t"), ("t", "x"), ("y", "t"))
]


def numbers(dtype: str, seed: int) -> numpy.ndarray[Any, Any]:
    """Return numbers of all magnitudes, zeros and infinities, but no NaN."""
    chance = numpy.random.default_rng(seed)
    most = 8 if ON_GPU else 30  # Metal devices lack subnormal numbers
    x = chance.standard_normal(SIZE) * 10.0 ** chance.integers(-most, most, SIZE)
    x[chance.integers(0, SIZE, 200)] = 0.0
    x[chance.integers(0, SIZE, 200)] = -0.0
    x[chance.integers(0, SIZE, 20)] = numpy.inf
    return x.astype(dtype)


def found(xp: Any, dtype: str, program: str) -> Any:
    names = {name: xp.array(numbers(dtype, seed)) for seed, name in enumerate("xyz")}
    names |= {"k": 1.37, "h": xp.array(numbers(dtype, 9)[:1])[0] * 0 + 0.731, "np": xp}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(program, names)
        result = numpy.asarray(names["out"])
    return result, sorted({str(each.message) for each in caught})


def assert_same(dtype: str, program: str) -> None:
    ours, our_warnings = found(mxnp, dtype, program)
    theirs, their_warnings = found(numpy, dtype, program)
    is_nan = numpy.isnan(theirs)
    assert (numpy.isnan(ours) == is_nan).all(), program
    ours, theirs = ours[~is_nan], theirs[~is_nan]
    same = ours.tobytes() == theirs.tobytes()
    assert same or near(ours, theirs).all(), program
    assert our_warnings == their_warnings, program


@pytest.mark.sampled(11)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("second", SECONDS)
def test_every_pair(second: str, dtype: str) -> None:
    for first in FIRSTS:
        assert_same(dtype, f"t = {first}\nout = {second}\ndel t")


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "program",
    [
        "out = ((x * y + z) * x - k) * (x + y) - h",
        "t = x * y\nout = t * t + z",
        "t = x * y\nout = t + z\nout *= t",
        "out = x[:-1:2] * y[:-1:2] + z[1::2]",
        "out = x[::-1] * y - z[::-1]",
        "out = x[:20000].reshape(100, 200).T * y[:200][:, None] + z[:100]",
        "out = x[:20000].reshape(100, 200) * y[:200] + z[:100][:, None]",
        "x += x * y + z\nout = x",
        "x *= k\nx -= y\nout = x",
        "out = x * k\nout += h\nout -= y",
        "out = np.fmax.reduce(x * y + z)",
        "out = (x[:20000].reshape(100, 200) * k - h).max(axis=0)",
        "out = np.sqrt(np.abs(x)) * k + h",
        "out = 1.0 - (2.0 - (3.0 - x))",
        "out = np.empty(2 * x.size, x.dtype)[::2]\nnp.add(x * y, z, out=out)",
    ],
)
def test_chains(program: str, dtype: str) -> None:
    assert_same(dtype, program)


COUNTS = [
    "b.sum()",
    "np.count_nonzero(b)",
    "b.mean()",
    "b.sum(dtype='f8')",
    "b.sum(dtype='f4')",
    "b.sum(dtype='u1')",
    "np.add.reduce(b, dtype='i8', initial=-3)",
    "b.sum(where=x[:n] > 1)",
    "b[::-1].sum()",
    "b[::3].sum()",
    "(~b).sum() + (b & True).sum()",
    "((x[:n] > 1) | b).sum()",
    "np.nanmean(x[:n])",
]


@pytest.mark.parametrize("n", [1, 239, 240, 481, 5_000, SIZE])
@pytest.mark.parametrize("program", COUNTS)
def test_bools_are_counted(program: str, n: int) -> None:
    assert_same("f8", f"n = {n}\nb = x[:n] > 0\nout = {program}")


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (0, 2), (1, 2), None])
@pytest.mark.parametrize("turn", ["b", "b.T", "b[:, ::-1]", "b[..., :7]"])
def test_bools_are_counted_along_axes(turn: str, axis: Any) -> None:
    program = f"b = x[:20000].reshape(40, 50, 10) > 0\nt = {turn}\n"
    assert_same("f8", f"{program}out = t.sum(axis={axis})")
    assert_same("f8", f"{program}out = (t ^ (t.sum(axis=0) > 9)).mean(axis={axis})")


@pytest.mark.thread_unsafe(reason="it counts the operations of all threads")
@needs_fusion
def test_bools_that_are_counted_are_not_written() -> None:
    values = numpy.tile(numbers("f8", 1), 120)  # fewer are counted in memory
    x = mxnp.array(values)
    mxnp.synchronize()
    with mxnp.device("cpu"):
        count = int((x > 0).sum())
    (group,) = core.last_flush()
    assert group.operations == ("greater", "cast", "add.reduce")
    assert group.bytes_written == 8
    assert count == int((values > 0).sum())


@needs_fusion
@pytest.mark.parametrize("at", [0, 1])
def test_warnings_name_the_step_that_met_the_condition(at: int) -> None:
    messages = ("overflow encountered in multiply", "overflow encountered in add")
    x = mxnp.full(SIZE, 10.0 if at == 0 else 1.0)
    y = mxnp.full(SIZE, 1.0 if at == 0 else 1e308)
    with pytest.warns(RuntimeWarning) as caught:
        first = float((x * 1e308 + y)[0])
    assert [str(each.message) for each in caught] == [messages[at]]
    assert first == numpy.inf


def test_lengths() -> None:
    for n, dtype in itertools.product((16_384, 16_385, 16_391, 70_001), ("f4", "f8")):
        x = numpy.random.default_rng(n).random(n).astype(dtype)
        a = mxnp.array(x)
        assert ((a * a + 1) * a - 2).tolist() == ((x * x + 1) * x - 2).tolist()
