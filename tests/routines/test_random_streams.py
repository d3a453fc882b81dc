"""Test draws of random numbers on threads: bits and later states equal NumPy's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
from support.moments import at_each_line

import mxnp
from mxnp import _bridge
from mxnp._routines import random_streams

if not _bridge.has_samplers(numpy.__version__):
    pytest.skip("the build has no samplers", allow_module_level=True)

GENERATORS = ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")
# Chunks have 5,040 halves of words.
SIZES = (1, 2, 41, 2519, 5041, 20_011)

CALLS = """
random; random dtype='f4'; uniform -1,2; uniform 0.5; standard_normal
standard_normal dtype='f4'; normal 1,2; normal 3.0; normal loc=3,scale=0
standard_exponential; standard_exponential dtype='f4'; exponential 2; exponential
standard_gamma 2.5; standard_gamma .3; standard_gamma 1; standard_gamma 2.5,dtype='f4'
standard_gamma .3,dtype='f4'; gamma .5,2; gamma 4; beta 2,3; beta .2,.3; beta .5,7
chisquare 3; chisquare .5; lognormal; lognormal 1,.5; laplace; gumbel 2,3; logistic
rayleigh; standard_t 3; f 3,4; vonmises 0,4; vonmises 1,1e-9; wald 3,2; standard_cauchy
pareto 3; weibull 2; power 3; triangular -3,0,8; triangular 0,0,1
noncentral_chisquare 3,20; noncentral_chisquare .5,1; noncentral_f 3,20,1
integers 0,100; integers 7; integers -5,2**40; integers -2**63,2**63; integers 2**33
integers 0,2**32; integers 0,2**63+1,dtype='u8'; integers 2**31+5,dtype='u4'
integers 2**26+1,dtype='u4'; integers 2**26+1; integers 2**62+1
integers 0,100,dtype='i4'; integers -7,9,dtype='i4',endpoint=True; integers 0,2**32,dtype='u4'
integers 0,100,dtype='u2'; integers -2**15,2**15,dtype='i2'; integers 3*2**14,dtype='u2'
integers 0,100,dtype='u1'; integers 0,256,dtype='u1'; integers -3,3,dtype='i1'
integers 0,2,dtype=bool; integers 0,1,dtype=bool,endpoint=True; choice 1000; choice 3
poisson 3; poisson 30; poisson .01; poisson 1e9; poisson
binomial 10,.3; binomial 1000,.3; binomial 10**9,.7; binomial 3,.999
negative_binomial 3,.4; negative_binomial 20.5,.01; geometric .2; geometric .5; geometric 1
logseries .6; logseries .99; zipf 4; zipf 1.01; zipf 1.0000001
hypergeometric 15,15,15; hypergeometric 3,4,5; hypergeometric 1000,2000,900
"""
LEGACY = """
random_sample; random; uniform -1,2; uniform; standard_normal; normal 1,2; normal
exponential 2; standard_exponential; randint 0,100; randint 7; randint 2**40
randint 0,100,dtype='i4'; randint -9,2**14,dtype='i2'; randint 0,100,dtype='u1'
randint 0,2**64,dtype='u8'; randint 0,2,dtype=bool; choice 1000; laplace 1,2; gumbel
logistic; triangular -3,0,8; poisson 3; poisson 30
"""


def read(text: str) -> list[str]:
    return [each.strip() for each in text.replace("\n", ";").split(";") if each.strip()]


def draw(owner: Any, call: str, size: Any) -> Any:
    name, _, arguments = call.partition(" ")
    args, kwargs = eval(f"(lambda *a, **k: (a, k))({arguments})")
    return getattr(owner, name)(*args, size=size, **kwargs)


def state_of(owner: Any) -> Any:
    """Return the state of a generator as text, which shows every bit."""
    is_new = isinstance(owner, numpy.random.Generator)
    state = owner.bit_generator.state if is_new else owner.get_state(legacy=False)
    with numpy.printoptions(threshold=10_000):
        return str(state)


def same(ours: Any, theirs: Any) -> None:
    """Check that an array of mxnp has the bits of one of NumPy."""
    assert type(ours) is mxnp.ndarray
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert numpy.asarray(ours).tobytes() == theirs.tobytes()


class Pair:
    """A generator of NumPy and one of mxnp with the same seed."""

    def __init__(self, kind: str, seed: int = 5, legacy: bool = False) -> None:
        self.theirs, self.ours = (
            (np.random.RandomState if legacy else np.random.Generator)(
                getattr(np.random, kind)(seed)
            )
            for np in (numpy, mxnp)
        )

    def check(self, call: str, size: Any) -> None:
        same(draw(self.ours, call, size), draw(self.theirs, call, size))
        assert state_of(self.ours) == state_of(self.theirs)


@pytest.fixture(autouse=True)
def everything_drawn_here() -> Iterator[None]:
    """Draw small sizes too."""
    before = _bridge.set_threshold(0)
    threads = mxnp.set_num_threads(2)
    with mxnp.device("cpu"):
        yield
    mxnp.set_num_threads(threads)
    _bridge.set_threshold(before)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the samplers of the calls that the core has drawn."""
    found: list[str] = []
    fill = random_streams._fill

    def noted(generator: Any, kind: str, out: Any, draw: Any) -> bool:
        done = fill(generator, kind, out, draw)
        if done and out.size not in (random_streams._SAMPLE, random_streams._MANY):
            found.append(draw.sampler)
        return done

    monkeypatch.setattr(random_streams, "_fill", noted)
    return found


@pytest.mark.sampled(10)
@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("call", read(CALLS))
def test_bits_and_states(call: str, kind: str, drawn: list[str]) -> None:
    for threads in 1, 2, 3:
        mxnp.set_num_threads(threads)
        for seed, size in enumerate(SIZES):
            pair = Pair(kind, seed)
            if seed % 2:  # one half of a word is left
                pair.check("integers 9,dtype='i4'", 1)
            drawn.clear()
            pair.check(call, size)
            pair.check(call, (3, size))
            assert threads == 1 or len(drawn) == 2


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", ["MT19937", "PCG64"])
@pytest.mark.parametrize("call", read(LEGACY))
def test_legacy_bits_and_states(call: str, kind: str, drawn: list[str]) -> None:
    for threads in 1, 2, 3:
        mxnp.set_num_threads(threads)
        for seed, size in enumerate(SIZES):
            pair = Pair(kind, seed, legacy=True)
            pair.check(call, size)
            pair.check("standard_normal", 3)  # which keeps the second of a pair
            drawn.clear()
            pair.check(call, (3, size))
            assert threads == 1 or drawn


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["PCG64", "MT19937"])
@pytest.mark.parametrize("call", ["standard_normal", "gamma 2.5", "poisson 30"])
def test_many_draws(call: str, kind: str) -> None:
    for threads in 2, 3:
        mxnp.set_num_threads(threads)
        Pair(kind, threads).check(call, 10_000_000)


def test_functions_of_the_module(drawn: list[str]) -> None:
    states = []
    for name, args in (
        ("rand", (30, 200)),
        ("randn", (5001,)),
        ("randn", (7,)),
        ("normal", (1, 2, 5001)),
        ("randint", (0, 100, 6000)),
        ("uniform", (0, 2, (2, 3000))),
        ("random", (5000,)),
        ("random_sample", (5000,)),
        ("choice", (100, 5000)),
    ):
        results = []
        for np in numpy, mxnp:  # whose functions have the same state
            np.random.seed(3)
            np.random.normal()
            results.append(getattr(np.random, name)(*args))
            states.append(str(np.random.get_state(legacy=False)))
        same(*reversed(results))
        assert states[-1] == states[-2]
    assert len(drawn) == 9


def test_sizes_of_calls(drawn: list[str]) -> None:
    _bridge.set_threshold(16384)
    pair = Pair("PCG64")
    for method in "normal", "random":
        pair.check(method, 65535)
        pair.check(method, (255, 256))
        assert not drawn
        pair.check(method, 65536)
        pair.check(method, (256, 256))
        assert len(drawn) == 2
        drawn.clear()


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
def test_out(name: str, dtype: str, drawn: list[str]) -> None:
    pair = Pair("PCG64")
    ours, theirs = (np.zeros((30, 301), dtype) for np in (mxnp, numpy))
    later = ours + 1
    assert getattr(pair.ours, name)(out=ours, dtype=dtype) is ours
    getattr(pair.theirs, name)(out=theirs, dtype=dtype)
    same(ours, theirs)
    getattr(pair.ours, name)((3, 301), dtype=dtype, out=ours[7:10])
    getattr(pair.theirs, name)((3, 301), dtype=dtype, out=theirs[7:10])
    same(ours, theirs)
    assert len(drawn) == 2
    assert (later == 1).all()  # it is recorded before, and reads the earlier elements


def test_choice_of_elements(drawn: list[str]) -> None:
    for legacy in False, True:
        pair = Pair("PCG64", legacy=legacy)
        ours, theirs = (np.arange(5000.0) * 3 for np in (mxnp, numpy))
        same(pair.ours.choice(ours, 6001), pair.theirs.choice(theirs, 6001))
        same(pair.ours.choice(ours, (5, 99), True), pair.theirs.choice(theirs, (5, 99)))
    ours, theirs = (np.arange(600).reshape(3, 200) for np in (mxnp, numpy))
    pair = Pair("PCG64")
    same(pair.ours.choice(ours, 99, axis=1), pair.theirs.choice(theirs, 99, axis=1))
    assert len(drawn) == 5


# -- Shuffles -------------------------------------------------------------------------

# Places are drawn from 512 halves of words at a time.
ROWS = (2, 3, 511, 512, 513, 514, 5000, 20_011)


def _shuffled(x: Any, owner: Any) -> Any:
    assert owner.shuffle(x) is None
    return x


@pytest.mark.sampled(6)
@pytest.mark.parametrize("has_half", [False, True])
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("kind", GENERATORS)
def test_shuffles(kind: str, legacy: bool, has_half: bool, drawn: list[str]) -> None:
    def check(call: Any, dtype: str = "") -> None:
        found, expected = (
            call(np, getattr(pair, owner))
            for np, owner in ((mxnp, "ours"), (numpy, "theirs"))
        )
        same(found, expected)
        assert (found.strides, found.flags.owndata) == (
            expected.strides,
            expected.flags.owndata,
        )
        assert state_of(pair.ours) == state_of(pair.theirs)

    for n in ROWS:
        pair = Pair(kind, legacy=legacy)
        if has_half:
            pair.check("randint 9,dtype='i4'" if legacy else "integers 9,dtype='i4'", 1)
        check(lambda np, owner, n=n: owner.permutation(n))
        check(lambda np, owner, n=n: owner.permutation(np.arange(2 * n)[::-2]))
        for dtype in ("?", "u2", "f4", "f8", "c16"):
            check(
                lambda np, owner, n=n, dtype=dtype: _shuffled(
                    (np.arange(n) * 3).astype(dtype), owner
                )
            )
    assert drawn.count("shuffle") == 7 * len(ROWS)


@pytest.mark.parametrize("legacy", [False, True])
def test_a_shuffle_draws_places_above_16_bits(legacy: bool, drawn: list[str]) -> None:
    n = 2**17 + 1  # the first range has only one bit
    pair = Pair("PCG64", legacy=legacy)
    same(pair.ours.permutation(n), pair.theirs.permutation(n))
    assert state_of(pair.ours) == state_of(pair.theirs)
    assert drawn == ["shuffle"]


@pytest.mark.parametrize("kind", GENERATORS)
def test_choices_of_each_element_once(kind: str, drawn: list[str]) -> None:
    pair = Pair(kind)
    n = random_streams._MANY + 1
    for size in (n, n // 2, (n // 50 + 1,), (n // 20 + 1, 1), n // 50):
        pair.check(f"choice {n},replace=False", size)
    for size in (n // 20 + 1, n // 20):
        pair.check(f"choice {n},replace=False,shuffle=False", size)
    ours, theirs = (np.arange(2.0 * n).reshape(2, n) for np in (mxnp, numpy))
    found = pair.ours.choice(ours, n // 3, False, axis=1)
    same(found, pair.theirs.choice(theirs, n // 3, False, axis=1))
    bases = [each.choice(n, n // 3, False).base for each in (pair.ours, pair.theirs)]
    assert bases == [None, None]
    assert drawn == ["shuffle"] * 7


def test_choices_of_many_reject_some_numbers(drawn: list[str]) -> None:
    Pair("PCG64").check("choice 2**21,replace=False,shuffle=False", 2**17)
    assert drawn == ["shuffle"]


SHUFFLES = """
shuffle(x[::2]); shuffle(x[::-1]); shuffle(x.reshape(50, -1)); shuffle(x, 0); shuffle(x, 1)
shuffle(x, axis=-1); shuffle(x.astype('U4')); shuffle(x[:1]); shuffle(x[:0]); shuffle(3)
shuffle(x.astype('>f8')); shuffle(np.broadcast_to(x, x.shape)); shuffle([*x]); shuffle()
permutation(1); permutation(0); permutation(-1); permutation(True); permutation(5.0)
permutation(x, 1); permutation(x, axis=-1); permutation(x.reshape(50, -1), axis=1)
permutation(2**62); permutation('abc'); permutation(9, 1); permutation(9, 'a')
permutation(x[:1]); permutation(x, 0.0); shuffle(x, 0.0)
choice(x.size, x.size + 1, False); choice(x.size, -1, False); choice(x, 9, False, axis=1)
choice(20_000, 10_000, False, axis=3); choice(20_000, 2.5, False); choice(20_000, 9, 0)
choice(x.reshape(50, -1), 9)
"""


@pytest.mark.parametrize("call", read(SHUFFLES))
@pytest.mark.parametrize("legacy", [False, True])
def test_odd_shuffles(call: str, legacy: bool) -> None:
    def run(np: Any, owner: Any) -> Any:
        x = np.arange(5000) * 0.5
        try:
            value = eval(f"owner.{call}", {"owner": owner, "x": x, "np": np})
        except Exception as error:
            return type(error), str(error), x.tobytes()
        found = value if value is None else numpy.asarray(value).tolist()
        return type(value).__name__, found, x.tobytes()

    pair = Pair("PCG64", legacy=legacy)
    assert run(mxnp, pair.ours) == run(numpy, pair.theirs)
    assert state_of(pair.ours) == state_of(pair.theirs)


def test_a_shuffle_follows_what_was_recorded(drawn: list[str]) -> None:
    x = mxnp.arange(20_000) * 2.0
    y = x * 2
    x += 1
    mxnp.random.RandomState(5).shuffle(x)
    later = x * 2
    theirs = numpy.arange(20_000) * 2.0
    before = theirs * 2
    theirs += 1
    numpy.random.RandomState(5).shuffle(theirs)
    same(x, theirs)
    same(y, before)
    same(later, theirs * 2)
    assert "shuffle" in drawn


def test_shuffles_that_differ_are_left_to_numpy(
    monkeypatch: pytest.MonkeyPatch, drawn: list[str]
) -> None:
    random_streams._exchanges.cache_clear()
    monkeypatch.setattr(random_streams, "_state_of", lambda owner: object())
    same(
        mxnp.random.default_rng(3).permutation(5000),
        numpy.random.default_rng(3).permutation(5000),
    )
    random_streams._exchanges.cache_clear()
    assert not drawn


def test_pickled_and_spawned_generators(drawn: list[str]) -> None:
    pair = Pair("PCG64")
    pair.check("normal", 5000)
    for change in (
        copy.copy,
        copy.deepcopy,
        lambda each: pickle.loads(pickle.dumps(each)),
        lambda each: each.spawn(2)[1],
    ):
        pair.ours, pair.theirs = change(pair.ours), change(pair.theirs)
        pair.check("normal", 5000)
    method = pickle.loads(pickle.dumps(pair.ours.normal))
    same(method(size=5000), pair.theirs.normal(size=5000))
    assert len(drawn) == 6


def test_states_that_were_set(drawn: list[str]) -> None:
    pair = Pair("Philox")
    for owner in pair.ours, pair.theirs:
        state = owner.bit_generator.state
        state["buffer"], state["buffer_pos"] = numpy.arange(4, dtype="u8"), 1
        owner.bit_generator.state = state
    pair.check("normal", 5000)  # the words that are kept are not those of the counter
    assert not drawn
    for owner in pair.ours, pair.theirs:
        state = owner.bit_generator.state
        state["state"]["counter"] = numpy.array([2**64 - 7, 2**64 - 1, 3, 0], "u8")
        state["buffer_pos"] = 4
        owner.bit_generator.state = state
    pair.check("normal", 5000)  # the counter carries twice
    assert drawn


class Own(numpy.random.PCG64):
    """A bit generator of a program."""


def test_what_numpy_draws(drawn: list[str]) -> None:
    theirs, ours = (np.random.Generator(Own(1)) for np in (numpy, mxnp))
    same(ours.normal(size=5000), theirs.normal(size=5000))
    pair = Pair("PCG64")
    for call in (
        "normal [1,2]*2500",
        "normal numpy.float32(1)",
        "normal True",
        "normal float('inf')",
        "poisson 0",
        "integers 5,6",
        "integers [5]*5000",
        "standard_exponential method='inv'",
        "choice 50,replace=False,shuffle=False",
        "choice 10_001,replace=False",
        "choice 5,p=[.1,.2,.3,.4,0]",
    ):
        pair.check(call, 49 if "False" in call else 5000)
    assert not drawn


WRONG = """
normal 0,-1; normal loc=1,mean=2; normal 1,2,3,4; normal 'a'; normal 0,float('nan')
uniform 0,float('inf'); uniform 2,1; standard_gamma -1; gamma -1,2; beta 0,1; poisson -1
poisson 1e30; binomial 3,2; binomial -1,.5; binomial 2.5,.5; zipf 1; geometric 0
integers 5,5; integers 5,2; integers 0,300,dtype='u1'; integers 0,2**64; integers 0.5,3
integers 3,dtype='f8'; integers 3,dtype='>i4'; random dtype='i4'; random dtype='>f8'
random out=np.zeros(4999); random out=np.zeros(5000,'f4'); random out=np.zeros((2,5000))[0]
standard_normal dtype='f4',out=np.zeros(5000); standard_normal out=np.zeros(10000)[::2]
triangular 3,2,1; triangular 1,1,1; hypergeometric 3,3,9; hypergeometric -1,3,2
choice 0; choice -3; choice 3,p=[1]; choice 2.5; rayleigh -1; vonmises 0,-1; wald 0,1
standard_exponential method='none'; logseries 1; negative_binomial 0,.5
"""


@pytest.mark.parametrize("size", ["5000", "-1", "(5, -1)", "2.5", "'a'", "(50, 2.5)"])
def test_errors(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments are refused also if the sampler was compared with NumPy's before."""
    monkeypatch.setattr(random_streams, "_is_numpys", lambda *_: True)
    monkeypatch.setattr(random_streams, "_agrees", {})
    for call in (*read(WRONG), "normal", "random", "integers 5", "binomial 3,.2"):
        outcomes = []
        for np in numpy, mxnp:
            owner = np.random.Generator(np.random.PCG64(1))
            name, _, arguments = call.partition(" ")
            separator = ", " if arguments else ""
            text = f"owner.{name}({arguments}{separator}size={size})"
            try:
                result = eval(text, {"np": np, "owner": owner})
                outcomes.append(numpy.asarray(result).tobytes())
            except Exception as error:
                outcomes.append((type(error), str(error)))
            outcomes[-1] = outcomes[-1], state_of(owner)
        assert outcomes[0] == outcomes[1], call


def test_samplers_that_differ_are_left_to_numpy(
    drawn: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_streams, "_agrees", {})
    original = _bridge.draw

    def other(out: Any, *args: Any) -> Any:
        done = original(out, *args)
        out[-1] += 1
        return done

    with monkeypatch.context() as changed:
        changed.setattr(_bridge, "draw", other)
        Pair("PCG64").check("normal 1,2", 5000)
    assert not drawn
    Pair("PCG64").check("normal 1,2", 5000)  # the outcome of the comparison is kept
    assert not drawn
    Pair("PCG64").check("normal 100,2", 5000)  # parameters of another size
    assert drawn == ["normal"]


def test_threads_share_a_generator() -> None:
    expected = numpy.random.Generator(numpy.random.PCG64(1)).normal(size=20 * 5000)
    ours = mxnp.random.Generator(mxnp.random.PCG64(1))
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: ours.normal(size=5000), range(20)))
    found = sorted(numpy.asarray(part).tobytes() for part in parts)
    assert found == sorted(part.tobytes() for part in expected.reshape(20, 5000))


def test_threads_of_the_program_draw_for_themselves(drawn: list[str]) -> None:
    """Their cores have work: to divide a draw would only take more time."""
    pair = Pair("PCG64")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pair.check, "normal", 5000).result()
        pool.submit(pair.check, "random", 5000).result()
    assert not drawn
    pair.check("normal", 5000)
    assert drawn == ["normal"]


def test_a_report_counts_draws() -> None:
    rng = mxnp.random.default_rng(1)
    rng.normal(size=5000)
    with mxnp.profile() as report:
        rng.normal(size=5000)
    row = next(row for row in report.rows if row.operation == "normal")
    assert (row.backend, row.calls, row.elements) == ("cpu", 1, 5000)
    assert row.bytes_written == 40_000


def test_memory_that_cannot_be_had() -> None:
    rng = mxnp.random.default_rng(1)
    with pytest.raises(
        MemoryError, match=r"^Unable to allocate .* shape \(1000000000000000,"
    ):
        rng.normal(size=10**15)


def test_legacy_binomial_numbers_are_numpys() -> None:
    """NumPy has another algorithm for them than for those of a Generator."""
    ours, theirs = mxnp.random.RandomState(1), numpy.random.RandomState(1)
    expected = theirs.binomial(10**11, 1e-10, 50_000)
    assert numpy.array_equal(ours.binomial(10**11, 1e-10, 50_000), expected)


def test_ranges_of_negative_zero() -> None:
    rng = mxnp.random.default_rng(1)
    rng.uniform(0.0, 0.0, 5000)
    with pytest.raises(ValueError, match="high - low < 0"):
        rng.uniform(0.0, -0.0, 5000)


@pytest.mark.parametrize("has_gauss", [0, 1, 2])
@pytest.mark.parametrize("size", [5000, 5001])
def test_numbers_that_a_state_keeps(has_gauss: int, size: int) -> None:
    found = []
    for xp in (numpy, mxnp):
        state = xp.random.RandomState(3)
        kept = state.get_state(legacy=False)
        state.set_state({**kept, "has_gauss": has_gauss, "gauss": 1.5})
        drawn = numpy.asarray(state.randn(size)).tobytes()
        found.append((drawn, state.get_state()[3:], state.randn()))
    assert found[0] == found[1]


@pytest.mark.parametrize("size", [(2**70, numpy.int64(1)), (2**70, None), (2**70, "a")])
def test_errors_of_odd_sizes(size: Any) -> None:
    messages = []
    for xp in (numpy, mxnp):
        with pytest.raises((OverflowError, TypeError, ValueError)) as caught:
            xp.random.default_rng(1).integers(0, 5, size, dtype="i4")
        messages.append((caught.type, str(caught.value)))
    assert messages[0] == messages[1]


def test_parameters_that_take_no_words_are_not_compared(drawn: list[str]) -> None:
    rng = mxnp.random.default_rng(1)
    rng.poisson(0.0, 5000)
    drawn.clear()
    rng.poisson(0.7, 5000)
    assert drawn == ["poisson"]


def test_each_generator_draws_from_its_own_state() -> None:
    drawn = []
    for xp in (numpy, mxnp):
        generators = [xp.random.default_rng(seed) for seed in (1, 2)]
        methods = [(rng.random, rng.normal) for rng in generators]
        draws = [
            method(size=size)
            for size in (5, LARGE * 20, 5)
            for pair in methods
            for method in pair
        ]
        drawn.append([numpy.asarray(each).tobytes() for each in draws])
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("kind", [mxnp.random.default_rng, mxnp.random.RandomState])
def test_methods_have_the_documentation_of_numpys(kind: Any) -> None:
    method = kind(1).normal
    assert method.__doc__
    assert method.__doc__ == type(method.__self__).normal.__doc__
    assert method.__module__ == "mxnp.random"


def test_methods_of_subclasses_are_called_each_time() -> None:
    class Shifted(mxnp.random.Generator):  # type: ignore[misc,name-defined]
        def random(self, size: Any = None) -> Any:
            return super().random(size) + 100

    rng = Shifted(mxnp.random.PCG64(3))
    assert all(rng.random(size).min() >= 100 for size in (5, 5000, 5000))


OVERRIDDEN = """
rng.choice(5, 3)
rng.choice([1, 2, 3])
rng.permutation(4)
rng.permutation(np.arange(4))
rng.multivariate_normal([0, 0], [[1, 0], [0, 1]])
rng.random(3), rng.normal(), rng.shuffle([1, 2, 3])
type(rng).standard_normal(rng, 2), rng.normals(2)
rng.standard_normal(), rng.normals(), rng.standard_normal()
[type(each).__name__ for each in (rng.spawn(2) if is_new else [])]
getattr(rng, "rand", rng.random)(2), rng.bytes(2)
getattr(rng, "randn", rng.normal)(2), getattr(rng, "tomaxint", rng.random)()
make().choice(9)
setattr(type(rng), "exponential", lambda self: 7) or rng.exponential()
rng.exponential(), setattr(type(rng), "exponential", len), type(rng).exponential is len
setattr(rng, "integers", lambda *_, **__: 3) or rng.choice(9)
setattr(rng, "randint", lambda *_, **__: 3) or rng.choice(9)
""".strip().splitlines()


@pytest.mark.parametrize("name", ["Generator", "RandomState"])
@pytest.mark.parametrize("call", OVERRIDDEN)
def test_methods_call_those_of_a_subclass(xp: Any, call: str, name: str) -> Any:
    """NumPy's methods call others by their names, and so call overridden ones."""
    called = []
    base = getattr(xp.random, name)

    def overriding(method: str) -> Any:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            kinds = [type(each) is xp.ndarray for each in args]
            called.append((method, kinds))
            return getattr(super(type(self), self), method)(*args, **kwargs)

        return call

    names = "integers shuffle standard_normal random random_sample randint permutation"
    members = {each: overriding(each) for each in names.split() if hasattr(base, each)}
    members["normals"] = base.standard_normal

    def make() -> Any:
        return type("Own", (base,), dict(members))(xp.random.MT19937(3))

    names = {"np": xp, "rng": make(), "make": make, "is_new": name == "Generator"}
    return eval(call, names), called


def test_a_method_of_a_class_draws_from_any_generator() -> None:
    method = mxnp.random.Generator.normal
    assert pickle.loads(pickle.dumps(method)) is method
    for xp in (numpy, mxnp):
        assert method(xp.random.default_rng(3)) == numpy.random.default_rng(3).normal()


def test_what_is_inside_a_generator_outlives_it() -> None:
    class Own(mxnp.random.Generator):  # type: ignore[misc,name-defined]
        pass

    inside = mxnp._bridge.unwrap(Own(mxnp.random.PCG64(3)))
    assert inside.choice(9) == numpy.random.Generator(numpy.random.PCG64(3)).choice(9)


# -- Code that runs in the middle of a draw -------------------------------------------

INTERRUPTED = {
    "uniform": lambda rng, n: rng.random(n),
    "normal": lambda rng, n: rng.standard_normal(n),
    "integers": lambda rng, n: rng.integers(0, 2**62, n),
    "float32": lambda rng, n: rng.random(n, dtype="f4"),
    "legacy uniform": lambda rng, n: rng.random_sample(n),
    "legacy normal": lambda rng, n: rng.standard_normal(n),
    "legacy integers": lambda rng, n: rng.randint(0, 2**62, n),
}
LARGE = 4096


def new_generator(xp: Any, name: str, kind: str) -> Any:
    bits = getattr(xp.random, kind)(3)
    owner = xp.random.RandomState if "legacy" in name else xp.random.Generator
    return owner(bits)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("name", INTERRUPTED)
def test_no_number_is_drawn_twice(name: str, kind: str) -> None:
    draw, numbers, rng = INTERRUPTED[name], [], None

    def call() -> None:
        numbers.append(draw(rng, LARGE))

    def handler() -> None:
        numbers.append(draw(rng, 6))

    expected = numpy.sort(draw(new_generator(numpy, name, kind), LARGE + 6))
    rng, moments = new_generator(mxnp, name, kind), 0
    for has_run in at_each_line(call, handler):
        found = numpy.concatenate([numpy.asarray(each) for each in numbers])
        assert numpy.array_equal(numpy.sort(found), expected) or not has_run
        numbers, rng, moments = [], new_generator(mxnp, name, kind), moments + has_run
    assert moments > 10  # lines of mxnp


@pytest.mark.parametrize("name", ["random", "randn", "rand"])
def test_a_seed_that_is_set_in_the_middle_stays(name: str) -> None:
    """The draw is before the seed or after it."""
    states = []
    for draws in (0, LARGE):
        numpy.random.seed(5)
        getattr(numpy.random, name)(draws)
        states.append(numpy.random.random(3).tolist())
    mxnp.random.seed(1)
    for has_run in at_each_line(
        lambda: getattr(mxnp.random, name)(LARGE), lambda: mxnp.random.seed(5)
    ):
        after = mxnp.random.random(3).tolist()
        assert after in states or not has_run
        mxnp.random.seed(1)


class Read(numpy.random.RandomState):
    """A generator whose state must not be read."""

    def get_state(self, legacy: bool = True) -> Any:
        raise AssertionError("the state is read")


def test_no_state_is_read_before_numpy_draws() -> None:
    """Reading the state of MT19937 takes as long as thousands of draws."""
    mxnp.set_num_threads(1)
    for form in "normal", "standard_normal":
        drawn = getattr(random_streams, f"_randomstate_{form}")(Read(1), size=5000)
        assert drawn is NotImplemented


@pytest.mark.parametrize("call", ["normal 1,2", "poisson 3", "random", "randn"])
@pytest.mark.parametrize("threads", [1, 2])
def test_forms_that_need_threads_are_not_asked_without(call: str, threads: int) -> None:
    asked = []

    def form(*args: Any, **kwargs: Any) -> Any:
        asked.append(args)
        return NotImplemented

    mxnp.set_num_threads(threads)
    is_state = call == "randn"
    pair = Pair("MT19937" if is_state else "PCG64")
    name, _, arguments = call.partition(" ")
    owner = mxnp.random.RandomState(1) if is_state else pair.ours
    method = getattr(owner, name)
    method.implementation = form
    given = [eval(each) for each in arguments.split(",") if each]
    method(*given, 5000)
    assert len(asked) == (threads > 1 or name == "random")
    method(5000) if is_state else method(*given, size=(50, 100))
    assert len(asked) == 2 * (threads > 1 or name == "random")
