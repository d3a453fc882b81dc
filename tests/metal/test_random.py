"""Test random numbers drawn on the device: values and later state equal NumPy's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
from support.metal import lacks_float64, launches, needs_gpu
from support.moments import at_each_line

import mxnp
from mxnp import _bridge
from mxnp._engine import core
from mxnp._engine.devices import GPU

pytestmark = [needs_gpu, pytest.mark.usefixtures("on_metal")]


def bits(x: Any) -> Any:
    """Return everything that distinguishes a result from others."""
    if not isinstance(x, numpy.ndarray | mxnp.ndarray):
        return type(x), x
    return x.dtype, x.shape, x.flags.owndata, x.flags.c_contiguous, x.tobytes()


class Pair:
    """A generator of NumPy and one of mxnp with the same seed."""

    def __init__(self, seed: Any = 7, kind: str = "Philox", **more: Any) -> None:
        self.theirs, self.ours = (
            np.random.Generator(getattr(np.random, kind)(seed, **more))
            for np in (numpy, mxnp)
        )

    def check(
        self, name: str, *args: Any, kernels: int | None = None, **kw: Any
    ) -> None:
        """Draw from both generators and compare."""
        expected = getattr(self.theirs, name)(*args, **kw)
        ours, count = launches(lambda: getattr(self.ours, name)(*args, **kw))
        assert bits(ours) == bits(expected), name
        if kernels is not None:
            assert count == kernels, name
        self.check_state()

    def check_raw(self, n: Any, kernels: int | None = None) -> None:
        expected = self.theirs.bit_generator.random_raw(n)
        ours, count = launches(lambda: self.ours.bit_generator.random_raw(n))
        assert type(ours) is (mxnp.ndarray if n is not None else int)
        assert bits(ours) == bits(expected)
        if kernels is not None:
            assert count == kernels
        self.check_state()

    def check_state(self) -> None:
        ours, theirs = (g.bit_generator.state for g in (self.ours, self.theirs))
        assert ours.keys() == theirs.keys()
        if "buffer" not in theirs:
            numpy.testing.assert_equal(ours, theirs)
            return
        for key in "buffer_pos", "has_uint32", "uinteger", "bit_generator":
            assert ours[key] == theirs[key], key
        numpy.testing.assert_array_equal(ours["buffer"], theirs["buffer"])
        for key in "counter", "key":
            numpy.testing.assert_array_equal(ours["state"][key], theirs["state"][key])


DRAWS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "float32": ("random", (), {"dtype": numpy.float32}),
    "float64": ("random", (), {}),
    "int64": ("integers", (0, 1 << 40), {}),
    "int64 of 10 bits": ("integers", (-3, 1021), {}),
    "int64 of 32 bits": ("integers", (2**32,), {}),
    "int64, all": ("integers", (-(2**63), 2**63), {}),
    "int64, end": ("integers", (-(2**63), 2**63 - 1), {"endpoint": True}),
    "uint64": ("integers", (2**64,), {"dtype": "uint64"}),
    "int32": ("integers", (-(2**31), 2**31), {"dtype": "int32"}),
    "int32 of 5 bits": ("integers", (10, 41), {"dtype": "int32", "endpoint": True}),
    "uint32": ("integers", (0, 2**32), {"dtype": "uint32"}),
    "uint32 of 1 bit": ("integers", (2,), {"dtype": "uint32"}),
}


KINDS = ["Philox", "PCG64"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("size", [1, 2, 8, 9, 1000, (3, 5, 7), (4111,), (20_001,)])
def test_draws(draw: str, size: Any, kind: str) -> None:
    name, args, keywords = DRAWS[draw]
    Pair(kind=kind).check(name, *args, kernels=1, size=size, **keywords)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 3, 4, 5, 4000])
def test_raw_integers(n: int, kind: str) -> None:
    Pair(kind=kind).check_raw(n, kernels=1)
    Pair(kind=kind).check_raw((n, 2), kernels=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 4, 5, 1000, 4001])
def test_bytes(n: int, kind: str) -> None:
    Pair(kind=kind).check("bytes", n, kernels=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_mixed_draws(seed: int, kind: str) -> None:
    """Mix draws of all kinds and sizes, including those that run in NumPy."""
    rng, pair = numpy.random.default_rng(seed), Pair(seed, kind)
    total = 0
    for _ in range(60):
        size = int(rng.choice([1, 2, 3, 5, 8, 13, 40, 700]))
        before = core.gpu_counts()["dispatches"]
        kind = rng.integers(6)
        if kind == 0:
            pair.check("standard_normal", size)
            pair.check("random")
        elif kind == 1:
            pair.check("integers", 0, 100, size, dtype="uint8")
            pair.check("integers", 0, 100, size)
        elif kind == 2:
            pair.check_raw(size)
        elif kind == 3:
            pair.check("bytes", size)
        else:
            name, args, keywords = DRAWS[rng.choice([*DRAWS])]
            pair.check(name, *args, size=size, **keywords)
        total += core.gpu_counts()["dispatches"] - before
    assert total > 20


M = 2**64 - 1
REFUSES_0 = not numpy.__version__.startswith(("2.3.", "2.4."))  # as `buffer_pos`


@pytest.mark.parametrize("counter", [0, M - 1, M << 64, 2**256 - 2, 2**256 - 1])
@pytest.mark.parametrize("pos", [0, 1, 3, 4])
@pytest.mark.parametrize("has_uint32", [0, 1])
def test_states_that_were_set(counter: int, pos: int, has_uint32: int) -> None:
    """Include states that cannot result from draws."""
    for draw in ["float32", "float64", "uint32", "int64 of 10 bits", "uint64"]:
        pair = Pair(None, key=2**127 + 5, counter=counter)
        for generator in pair.ours, pair.theirs:
            state = generator.bit_generator.state
            state["buffer"] = numpy.array([M, 2, M - 3, 4 << 40], "u8")
            state["buffer_pos"], state["has_uint32"] = pos, has_uint32
            state["uinteger"] = 2**32 - 7
            if pos == 0 and REFUSES_0:
                with pytest.raises(ValueError, match="must be between 1 and 4"):
                    generator.bit_generator.state = state
            else:
                generator.bit_generator.state = state
        name, args, keywords = DRAWS[draw]
        pair.check(name, *args, size=50, kernels=1, **keywords)
        pair.check("random", 3)


@pytest.mark.parametrize("number", [0, 1, M, 2**127, 2**128 - 1])
@pytest.mark.parametrize("increment", [1, 2**64 + 1, 2**128 - 1])
@pytest.mark.parametrize("has_uint32", [0, 1])
def test_states_of_pcg64_that_were_set(
    number: int, increment: int, has_uint32: int
) -> None:
    for draw in ["float32", "float64", "uint32", "int64 of 10 bits", "uint64"]:
        pair = Pair(kind="PCG64")
        for generator in pair.ours, pair.theirs:
            state = generator.bit_generator.state
            state["state"] = {"state": number, "inc": increment}
            state["has_uint32"], state["uinteger"] = has_uint32, 2**32 - 7
            generator.bit_generator.state = state
        name, args, keywords = DRAWS[draw]
        pair.check(name, *args, size=50, kernels=1, **keywords)
        pair.check("random", 3)


def test_default_generator() -> None:
    ours, count = launches(lambda: mxnp.random.default_rng(3).random(5000))
    assert count == 1
    numpy.testing.assert_array_equal(ours, numpy.random.default_rng(3).random(5000))


@pytest.mark.parametrize("kind", KINDS)
def test_draws_that_are_numpys(kind: str) -> None:
    pair = Pair(kind=kind)
    pair.check("random", kernels=0)
    pair.check("random", 0, kernels=0)
    pair.check("random", numpy.int64(100), kernels=0)
    pair.check("integers", 0, 1000, 500, kernels=0)  # some numbers are rejected
    pair.check("integers", 5, 6, 500, kernels=0)
    pair.check("integers", 0, 256, 500, dtype="uint8", kernels=0)
    pair.check("integers", [0, 1], 256, 2, kernels=0)
    pair.check("bytes", 0, kernels=0)
    pair.check_raw(None, kernels=0)
    out = mxnp.empty(50)
    ours, count = launches(lambda: pair.ours.random(out=out))
    assert ours is out
    assert count == 0
    numpy.testing.assert_array_equal(out, pair.theirs.random(50))
    pair.check_state()


def test_other_generators_and_devices_are_numpys() -> None:
    for kind in ("PCG64DXSM", "SFC64"):
        Pair(3, kind).check("random", 3000, kernels=0, dtype="f4")
    for device in ("cpu", "auto"):
        with mxnp.device(device):
            Pair().check("random", 3000, kernels=0, dtype="f4")
    _bridge.set_threshold(2**14)
    pair = Pair()
    pair.check("random", 2**14 - 1, kernels=0, dtype="f4")
    pair.check("random", 2**14, kernels=1, dtype="f4")


@pytest.mark.parametrize(
    ("name", "args", "keywords"),
    [
        ("random", (-5,), {}),
        ("random", ((3, -1),), {}),
        ("random", (5,), {"dtype": "int32"}),
        ("random", (5,), {"dtype": ">f4"}),
        ("random", (5, "f4", None, 3), {}),
        ("integers", (0, 2**33, 5), {"dtype": "int32"}),
        ("integers", (4, 0, 5), {}),
        ("integers", (0, 2**64 + 2**63, 5), {"dtype": "uint64"}),
    ],
)
def test_errors_are_numpys(name: str, args: Any, keywords: dict[str, Any]) -> None:
    pair, raised = Pair(), []
    for generator in pair.theirs, pair.ours:
        with pytest.raises(Exception) as info:  # noqa: PT011  (whichever NumPy raises)
            getattr(generator, name)(*args, **keywords)
        raised.append((info.type, str(info.value)))
    assert raised[0] == raised[1]
    pair.check_state()


def test_draws_join_recorded_operations() -> None:
    pair = Pair()
    ours = pair.ours.random(3000, "f4")
    ours = mxnp.sqrt(ours * 2 + 1)
    theirs = numpy.sqrt(pair.theirs.random(3000, "f4") * 2 + 1)
    numpy.testing.assert_array_equal(ours, theirs)


@lacks_float64
def test_new_numbers_of_the_policy() -> None:
    before = mxnp.set_float64_policy("float32")
    try:
        ours, theirs = Pair().ours.random(3000), Pair().theirs.random(3000)
        assert ours.dtype == numpy.float32
        numpy.testing.assert_array_equal(ours, theirs.astype("f4"))
        assert Pair().ours.random(3000, dtype="f8").dtype == numpy.float64
    finally:
        mxnp.set_float64_policy(before)


def test_threads_that_share_a_generator() -> None:
    """Each draw is atomic, but their order is arbitrary."""
    pair = Pair()

    def draw(_: int) -> list[float]:
        with mxnp.device(GPU):
            return numpy.asarray(pair.ours.random(100, "f4")).tolist()

    with ThreadPoolExecutor(4) as pool:
        ours = sorted(pool.map(draw, range(24)))
    assert ours == sorted(pair.theirs.random(100, "f4").tolist() for _ in range(24))
    pair.check_state()


@pytest.mark.parametrize("kind", ["Philox", "PCG64"])
@pytest.mark.parametrize("handler", ["draws", "seeds"])
def test_a_draw_is_before_a_handler_or_after_it(kind: str, handler: str) -> None:
    """Numbers are not drawn twice, and a state that a handler sets is not lost."""
    other = getattr(numpy.random, kind)(3).state

    def call() -> None:
        found.append(("call", pair.ours.random(3000, dtype="f4").tobytes()))

    def handle() -> None:
        found.append(("handler", run_handler(pair.ours)))

    def run_handler(rng: Any) -> Any:
        if handler == "seeds":
            rng.bit_generator.state = other
            return None
        return rng.integers(0, 2**32, 3, dtype="u4").tobytes()

    def outcome(rng: Any) -> Any:
        return dict(found), rng.bit_generator.random_raw(5).tobytes()

    expected = []
    for order in ("call", "handler"), ("handler", "call"):
        theirs, found = Pair(kind=kind).theirs, []
        for step in order:
            if step == "call":
                found.append((step, theirs.random(3000, dtype="f4").tobytes()))
            else:
                found.append((step, run_handler(theirs)))
        expected.append(outcome(theirs))
    pair, found, moments = Pair(kind=kind), [], 0
    for has_run in at_each_line(call, handle):
        assert outcome(pair.ours) in expected or not has_run
        pair, found, moments = Pair(kind=kind), [], moments + has_run
    assert moments > 10  # lines of mxnp
