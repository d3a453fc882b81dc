"""Compare native loops with mpmath, and all but sine and cosine with NumPy's bits."""

from __future__ import annotations

import itertools
import platform
import re
import warnings
from pathlib import Path
from typing import Any

import mpmath
import numpy
import pytest
from numpy._core import _multiarray_umath

import mxnp
from mxnp import _bridge

ROOT = Path(__file__).parents[2]

SIZE = 20011

# The largest error among 14 million points is 0.668 ulp; NumPy's is 0.51.
CIRCULAR_ULP = 0.70


@pytest.fixture(autouse=True)
def everything_is_recorded() -> Any:
    """Record every operation for the processor, which has the native loops."""
    before = _bridge.set_threshold(0)
    with mxnp.device("cpu"):
        yield
    _bridge.set_threshold(before)


LAYOUTS = {
    "contiguous": lambda x: x,
    "reversed": lambda x: x[::-1],
    "strided": lambda x: numpy.repeat(x, 3)[::3],
    "columns": lambda x: numpy.stack([x, x], axis=1)[:, 0],
    "unaligned": lambda x: _unaligned(x),
}


def _unaligned(x: numpy.ndarray) -> numpy.ndarray:
    memory = numpy.zeros(x.nbytes + 1, "u1")
    moved = memory[1:].view(x.dtype)
    moved[:] = x
    return moved


def result(
    name: str, *inputs: numpy.ndarray, layout: Any = LAYOUTS["contiguous"]
) -> Any:
    """Return mxnp's result for arrays in a layout as a numpy.ndarray."""
    arrays = [mxnp.asarray(layout(x)) for x in inputs]
    return getattr(mxnp, name)(*arrays).__array__()


def with_warnings(action: Any) -> tuple[Any, set[str]]:
    """Return a result and its warnings, without the operation's name."""
    with numpy.errstate(all="warn"), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        value = action()
    return value, {str(w.message).split(" encountered")[0] for w in found}


def assert_same_bits(ours: numpy.ndarray, theirs: numpy.ndarray) -> None:
    """Compare bits; all NaN are equal."""
    if theirs.dtype.kind == "f":
        assert (numpy.isnan(ours) == numpy.isnan(theirs)).all()
        number, bits = ~numpy.isnan(theirs), f"u{theirs.itemsize}"
        ours, theirs = ours[number].view(bits), theirs[number].view(bits)
    numpy.testing.assert_array_equal(ours, theirs)


UFUNCS = [x for x in vars(numpy).values() if isinstance(x, numpy.ufunc)]
TO_THE_SAME = {ufunc.__name__: ufunc.types for ufunc in UFUNCS}


@pytest.mark.parametrize("size", [3, 100, SIZE])
@pytest.mark.parametrize("name", [x for x, y in TO_THE_SAME.items() if "d->d" in y])
def test_nan_has_numpys_sign(name: str, size: int) -> None:
    """The sign of NaN that invalid numbers have does not depend on the size of the array."""
    values = [-1.5, numpy.nan, -numpy.inf, numpy.inf, 0.5, -(2.0**60), 1e-310, 2, -0.5]
    values.append(-numpy.abs(numpy.nan))
    for dtype in "efd":
        if f"{dtype}->{dtype}" not in TO_THE_SAME[name]:
            continue
        with numpy.errstate(all="ignore"):
            x = numpy.resize(values, size).astype(dtype)
            theirs, ours = getattr(numpy, name)(x), result(name, x)
        is_nan = numpy.isnan(theirs)
        numpy.testing.assert_array_equal(is_nan, numpy.isnan(ours))
        signs = numpy.signbit(ours[is_nan]), numpy.signbit(theirs[is_nan])
        numpy.testing.assert_array_equal(*signs)


# -- Sine and cosine of float64 --------------------------------------------------------


def points() -> numpy.ndarray:
    """Return hard arguments of sine and cosine: near their zeros, and large ones."""
    chance = numpy.random.default_rng(11)
    quarters = numpy.arange(1, 60001, 97) * (numpy.pi / 2)
    return numpy.concatenate(
        [
            chance.uniform(-1, 1, 500),
            chance.uniform(-10, 10, 800),
            chance.uniform(-1e5, 1e5, 800),
            chance.uniform(1e5, 1e18, 100),
            10.0 ** chance.uniform(-320, 5, 500),
            *(quarters, -quarters, numpy.nextafter(quarters, 0)),
            numpy.arange(1, 200) * (numpy.pi / 4),
            [99999.99999999999, 1e5, 100000.00000000001, 2.0**-27, 1e300, 5e-324],
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_circular_functions_are_accurate(name: str) -> None:
    x = points()
    found = result(name, x)
    worst = mpmath.mpf(0)
    with mpmath.workprec(1200):
        for value, ours in zip(x.tolist(), found.tolist(), strict=True):
            true = getattr(mpmath, name)(mpmath.mpf(value))
            step = mpmath.mpf(float(numpy.spacing(abs(float(true)))))
            worst = max(worst, abs(mpmath.mpf(ours) - true) / step)
    assert worst < CIRCULAR_ULP


@pytest.mark.parametrize("layout", sorted(LAYOUTS.keys() - {"unaligned"}))
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_circular_functions_know_no_layout(name: str, layout: str) -> None:
    x = numpy.resize(points(), SIZE)
    straight = LAYOUTS[layout](result(name, x))
    assert result(name, x, layout=LAYOUTS[layout]).tobytes() == straight.tobytes()
    assert result(name, x[:1]).tobytes() == result(name, x)[:1].tobytes()
    again = mxnp.array(x)
    getattr(mxnp, name)(again, again)
    assert again.__array__().tobytes() == result(name, x).tobytes()


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_short_arrays_have_numpys_circular_functions(name: str) -> None:
    """Operations on 512 elements and more are recorded."""
    _bridge.set_threshold(1 << 14)
    x = numpy.random.default_rng(3).uniform(-10, 10, 5000)
    for each in numpy.split(x, 20):
        y = getattr(mxnp, name)(mxnp.array(each))
        assert _bridge.pending() == 0
        assert_same_bits(y.__array__(), getattr(numpy, name)(each))
    a = mxnp.array(x)
    y = getattr(mxnp, name)(a)
    assert _bridge.pending() == 1
    is_different = y.__array__().tobytes() != getattr(numpy, name)(x).tobytes()
    assert is_different == _bridge.has_own_loop(getattr(numpy, name), a)


SPECIAL = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 2.3e-308, 1e-200, -1e-160, numpy.nan]


@pytest.mark.parametrize("value", [*SPECIAL, numpy.inf, -numpy.inf, 1e308])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_circular_functions_of_special_numbers(name: str, value: float) -> None:
    """Special numbers among ordinary ones have NumPy's results and warnings."""
    x = numpy.linspace(-3, 3, SIZE)
    x[777] = value
    with numpy.errstate(all="warn"), warnings.catch_warnings(record=True) as ours:
        warnings.simplefilter("always")
        found = result(name, x)
    with numpy.errstate(all="warn"), warnings.catch_warnings(record=True) as theirs:
        warnings.simplefilter("always")
        expected = getattr(numpy, name)(x)
    numpy.testing.assert_array_equal(found[777], expected[777])
    assert numpy.signbit(found[777]) == numpy.signbit(expected[777])
    assert [str(w.message) for w in ours] == [str(w.message) for w in theirs]


# -- Exponentials and logarithms of float64 ----------------------------------------------

# The limits of the method: where exp is 1, where the C library is called, where results
# are subnormal, and where they are zero and infinity.
EXP_LIMITS = [2.0**-54, 512.0, 708.3964185322641, 709.782712893384, 745.1332191019412]

# Those of log: from where on it has a polynomial of its own, up to where, and what the C
# library computes.
LOG_LIMITS = [1 - 2.0**-4, 1.0, 1.064697265625, 2.0**-1022, 1.7976931348623157e308]

EXPONENTIALS = ["exp", "log"]


def exponents() -> numpy.ndarray:
    """Return arguments of all magnitudes, and those that the methods treat alone."""
    chance = numpy.random.default_rng(12)
    limits = numpy.array(EXP_LIMITS + LOG_LIMITS)
    steps = numpy.arange(-40000, 40000, 37) * (numpy.log(2) / 256)  # where n changes
    near = [numpy.nextafter(limits, 0), limits, numpy.nextafter(limits, 1e4)]
    found = numpy.concatenate(
        [
            *(chance.uniform(-size, size, 20000) for size in (1e-3, 1, 20, 600, 800)),
            *(1 + chance.uniform(-size, size, 20000) for size in (1e-9, 1e-3, 0.1)),
            2.0 ** chance.uniform(-1074, 1024, 20000),
            10.0 ** chance.uniform(-320, 3, 5000),
            chance.integers(0, 2**64, 5000, dtype="u8").view("f8"),
            *(steps, numpy.nextafter(steps, 0), *near, *(-x for x in near)),
            [0.0, -0.0, 5e-324, numpy.inf, -numpy.inf, numpy.nan, 1e308],
        ]
    )
    return chance.permutation(found)


def knows_the_c_library() -> bool:
    """Return whether mxnp has the methods of the C library, which uses FMA."""
    features = _multiarray_umath.__cpu_features__
    is_known = platform.libc_ver()[0] == "glibc" and platform.machine() == "x86_64"
    return is_known and features["FMA3"] and features["AVX2"]


def calls_the_c_library() -> bool:
    """
    Return whether NumPy calls a C library whose methods mxnp has.

    NumPy 2.4 chooses by X86_V4, which NPY_DISABLE_CPU_FEATURES may disable alone.
    """
    features = _multiarray_umath.__cpu_features__
    has_own = features.get("X86_V4", features.get("AVX512_SKX"))
    return knows_the_c_library() and not has_own


@pytest.mark.skipif(not calls_the_c_library(), reason="NumPy has other loops here")
@pytest.mark.parametrize("name", EXPONENTIALS)
def test_exponentials_have_own_loops(name: str) -> None:
    assert _bridge.has_own_loop(getattr(numpy, name), mxnp.ones(3))
    assert not _bridge.has_own_loop(getattr(numpy, name), mxnp.ones(3, "f4"))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 255, 256, 257, SIZE, None])
@pytest.mark.parametrize("name", EXPONENTIALS)
def test_exponentials_have_numpys_bits(name: str, size: int | None) -> None:
    x = exponents()[:size]
    with numpy.errstate(all="ignore"):
        assert_same_bits(result(name, x), getattr(numpy, name)(x))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", EXPONENTIALS)
def test_exponentials_in_any_layout(name: str, layout: str) -> None:
    """With AVX-512, NumPy's bits are others for a reversed array."""
    x = exponents()[:SIZE]
    with numpy.errstate(all="ignore"):
        found = result(name, x, layout=LAYOUTS[layout])
        assert_same_bits(found, getattr(numpy, name)(LAYOUTS[layout](x)))
        expected = getattr(numpy, name)(x)
        again = mxnp.array(x)
        getattr(mxnp, name)(again, again)
        assert_same_bits(again.__array__(), expected)


@pytest.mark.parametrize("threshold", [0, 1 << 20])
@pytest.mark.parametrize("name", EXPONENTIALS)
def test_conditions_of_single_exponentials(name: str, threshold: int) -> None:
    """Recorded ones, and those of small arrays, which are computed immediately."""
    _bridge.set_threshold(threshold)
    limits = [*EXP_LIMITS, *LOG_LIMITS, 1e308, numpy.inf, 710.0, 746.0]
    for value in [*SPECIAL, *limits, *(-x for x in limits)]:
        for others in (1.0, 5.0):
            x = numpy.full(600, others)
            x[300] = value
            ours = with_warnings(lambda x=x: result(name, x))
            theirs = with_warnings(lambda x=x: getattr(numpy, name)(x))
            assert_same_bits(ours[0], theirs[0])
            assert ours[1] == theirs[1], value


@pytest.mark.parametrize("size", [1, 7, 31, 32, 33, SIZE])
@pytest.mark.parametrize("other", [0.9, 0.0, numpy.nan, None])
def test_logarithms_close_to_1(other: float | None, size: int) -> None:
    """All numbers of a block are close to 1, or all but one."""
    x = numpy.random.default_rng(13).uniform(0.94, 1.06, size)
    if other is not None:
        x[::100] = other
    with numpy.errstate(all="ignore"):
        assert_same_bits(result("log", x), numpy.log(x))


def test_the_table_of_powers() -> None:
    text = (ROOT / "csrc/cpu/kernels/exponents.c").read_text(encoding="utf-8")
    rows = re.findall(r"\{(0x3\w+), (-?0x[0-9a-fp.+-]+)\}", text)
    assert len(rows) == 128
    with mpmath.workprec(300):
        for k, (bits, rest) in enumerate(rows):
            power = mpmath.mpf(2) ** (mpmath.mpf(k) / 128)
            nearest = numpy.float64(power)
            assert int(bits, 16) + (k << 45) == int(nearest.view("i8"))
            assert float.fromhex(rest) == float(power / float(nearest) - 1)


def test_the_table_of_logarithms() -> None:
    """The first column is near the inverses of the centres of intervals."""
    text = (ROOT / "csrc/cpu/kernels/logarithms.c").read_text(encoding="utf-8")
    rows = re.findall(r"\{(0x1\S+), (-?0x\S+)\}", text)
    assert len(rows) == 128
    with mpmath.workprec(300):
        for k, row in enumerate(rows):
            inverse, value = map(float.fromhex, row)
            centre = 0.6875 + (k + 0.5) / 256 if k < 80 else 1 + (k - 79.5) / 128
            assert abs(inverse - 1 / centre) < 2.0**-20
            assert value * 2.0**43 == mpmath.nint(-mpmath.log(inverse) * 2**43)


# -- Powers of float64 -------------------------------------------------------------------

POWERS = ["power", "float_power"]

# The limits of the method: where exponents and bases are left to the C library, where exp
# of the logarithm is 1, and where powers of 2 overflow and underflow.
POWER_LIMITS = [
    *(0.0, 5e-324, 2.0**-1022, 2.0**-65, 2.0**-54, 0.5, 0.5**0.5, 1.0, 1.5, 2.0, 3.0),
    *(738.0, 1022.0, 1024.0, 1075.0, 2.0**51, 2.0**51 + 0.5, 2.0**53, 2.0**63, 1e308),
    *(numpy.inf, numpy.nan),
]

# Exponents for which NumPy's loop of power has one operation or none, and others.
SINGLE_EXPONENTS = [-1.0, 0.0, 0.5, 1.0, 2.0, -2.0, -0.5, 1.7, 3.0, 4.0, 1e3, numpy.nan]


def bases_and_exponents() -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return ordinary numbers, those of all magnitudes, and whole exponents."""
    chance = numpy.random.default_rng(14)
    any_size = chance.choice([-1, 1], (2, SIZE)) * 2.0 ** chance.uniform(
        -1074, 1024, SIZE
    )
    near = 1 + chance.uniform(-1, 1, SIZE) * 2.0 ** chance.uniform(-52, -1, SIZE)
    whole = chance.integers(-20, 20, SIZE).astype("f8")
    pairs = [
        (chance.uniform(0, 10, SIZE), chance.uniform(-3, 3, SIZE)),
        (chance.normal(0, 3, SIZE), whole),
        (near, chance.normal(0, 1e4, SIZE)),
        (any_size[0], chance.uniform(-1, 1, SIZE)),
        (chance.uniform(0, 10, SIZE), any_size[1]),
        (any_size[0], whole),
    ]
    x, y = (numpy.concatenate(column) for column in zip(*pairs, strict=True))
    order = chance.permutation(x.size)
    return x[order], y[order]


@pytest.mark.skipif(not knows_the_c_library(), reason="mxnp has no loop here")
def test_powers_have_own_loops() -> None:
    """NumPy has no loop of its own for float_power with AVX-512."""
    x, y = mxnp.ones((2, 3))
    assert _bridge.has_own_loop(numpy.float_power, x, y)
    assert _bridge.has_own_loop(numpy.power, x, y) == calls_the_c_library()


@pytest.mark.parametrize("size", [1, 2, 7, 127, 128, 129, SIZE, None])
@pytest.mark.parametrize("name", POWERS)
def test_powers_have_numpys_bits(name: str, size: int | None) -> None:
    x, y = (column[:size] for column in bases_and_exponents())
    for base in (x, numpy.abs(x)):
        with numpy.errstate(all="ignore"):
            expected = getattr(numpy, name)(base, y)
            assert_same_bits(result(name, base, y), expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", POWERS)
def test_powers_in_any_layout(name: str, layout: str) -> None:
    x, y = (column[:SIZE] for column in bases_and_exponents())
    with numpy.errstate(all="ignore"):
        found = result(name, x, y, layout=LAYOUTS[layout])
        assert_same_bits(
            found, getattr(numpy, name)(LAYOUTS[layout](x), LAYOUTS[layout](y))
        )
        for out in (0, 1):
            arrays = [mxnp.array(x), mxnp.array(y)]
            getattr(mxnp, name)(*arrays, out=arrays[out])
            assert_same_bits(arrays[out].__array__(), getattr(numpy, name)(x, y))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("threshold", [0, 1 << 20])
@pytest.mark.parametrize("name", POWERS)
def test_conditions_of_single_powers(name: str, threshold: int) -> None:
    """Recorded ones, and those of small arrays, which are computed immediately."""
    _bridge.set_threshold(threshold)
    limits = [*POWER_LIMITS, *(-x for x in POWER_LIMITS)]
    x, y = numpy.full((2, 600), 1.5)
    for x[300], y[300] in itertools.product(limits, repeat=2):
        ours = with_warnings(lambda: result(name, x, y))
        theirs = with_warnings(lambda: getattr(numpy, name)(x, y))
        assert_same_bits(ours[0], theirs[0])
        assert ours[1] == theirs[1], (x[300], y[300])


def power_of(name: str, x: numpy.ndarray, y: Any) -> numpy.ndarray:
    """Return mxnp's powers with an exponent that is an array or a number."""
    return getattr(mxnp, name)(mxnp.array(x), y).__array__()


@pytest.mark.parametrize("exponent", SINGLE_EXPONENTS)
@pytest.mark.parametrize("name", POWERS)
def test_powers_with_a_single_exponent(name: str, exponent: float) -> None:
    """The square root of -0 is -0, and power of -0 and 0.5 is 0."""
    bases = bases_and_exponents()[0][:SIZE]
    bases[: 2 * len(POWER_LIMITS)] = [*POWER_LIMITS, *(-x for x in POWER_LIMITS)]
    for x in (bases, numpy.abs(bases) + 1e-3, bases[:40], bases[:1]):
        for y in (exponent, numpy.full(1, exponent), numpy.full(x.size, exponent)):
            ours = with_warnings(lambda x=x, y=y: power_of(name, x, y))
            theirs = with_warnings(lambda x=x, y=y: getattr(numpy, name)(x, y))
            assert_same_bits(ours[0], theirs[0])
            assert ours[1] == theirs[1]


def test_the_table_of_logarithms_of_bases() -> None:
    """Rows are inverses of the centres of intervals, rounded, and their logarithms."""
    text = (ROOT / "csrc/cpu/kernels/powers.c").read_text(encoding="utf-8")
    rows = re.findall(r"\{(0x1\S+), (-?0x\S+), (-?0x\S+)\}", text)
    ends = (numpy.arange(129) << 45) + 0x3FE6955500000000
    ends = ends.astype("i8").view("f8")
    assert len(rows) == 128
    with mpmath.workprec(300):
        for k, row in enumerate(rows):
            inverse, value, rest = map(float.fromhex, row)
            centre = (ends[k] + ends[k + 1]) / 2
            unit = 128 if centre < 1 else 256
            assert inverse * unit == round(unit / centre)
            logarithm = -mpmath.log(inverse)
            assert value * 2.0**43 == mpmath.nint(logarithm * 2**43)
            assert rest == float(logarithm - value)


# -- Quotients of float32 and float64 --------------------------------------------------

QUOTIENTS = ["floor_divide", "remainder", "fmod"]


def dividends_and_divisors(dtype: str) -> Any:
    """Generate pairs of arrays whose quotients are ordinary, whole, large, and special."""
    chance, limits = numpy.random.default_rng(9), numpy.finfo(dtype)

    def numbers(spread: int) -> numpy.ndarray:
        exponents = chance.integers(-spread, spread, SIZE)
        return (chance.uniform(-1, 1, SIZE) * numpy.exp2(exponents)).astype(dtype)

    whole = chance.integers(-(2**20), 2**20, SIZE).astype(dtype)
    with numpy.errstate(all="ignore"):
        yield numbers(10), numbers(3)
        yield numbers(10), numpy.full(SIZE, -0.7, dtype)
        yield numbers(60), numbers(60)
        yield numbers(600), numbers(600)
        yield numbers(3) * whole, numbers(3)
        divisors = numbers(3)
        yield divisors * whole, divisors
        yield numpy.nextafter(divisors * whole, numbers(3)), divisors
        edges = [0, 1, 3, 0.1, limits.max, limits.tiny, limits.smallest_subnormal]
        edges += [
            numpy.inf,
            numpy.nan,
            2.0**51,
            2.0**52 + 1,
            limits.eps,
            1 - limits.epsneg,
        ]
        signed = numpy.array([*edges, *(-edge for edge in edges)], dtype)
        yield chance.choice(signed, SIZE), chance.choice(signed, SIZE)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", QUOTIENTS)
def test_quotients_have_numpys_bits_and_warnings(name: str, dtype: str) -> None:
    for x, y in dividends_and_divisors(dtype):
        for n in (SIZE, 3):
            ours = with_warnings(lambda x=x[:n], y=y[:n]: result(name, x, y))
            theirs = with_warnings(lambda x=x[:n], y=y[:n]: getattr(numpy, name)(x, y))
            assert_same_bits(ours[0], theirs[0])
            assert ours[1] == theirs[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", QUOTIENTS)
def test_conditions_of_single_quotients(name: str, dtype: str) -> None:
    *_, (edges, _) = dividends_and_divisors(dtype)
    for x, y in itertools.product(numpy.unique(edges), repeat=2):
        a, b = numpy.ones((2, 600), dtype)
        a[300], b[300] = x, y
        ours = with_warnings(lambda a=a, b=b: result(name, a, b))
        theirs = with_warnings(lambda a=a, b=b: getattr(numpy, name)(a, b))
        assert_same_bits(ours[0], theirs[0])
        assert ours[1] == theirs[1], (x, y)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", QUOTIENTS)
def test_quotients_in_any_layout(name: str, layout: str) -> None:
    x, y = next(dividends_and_divisors("float64"))
    found = result(name, x, y, layout=LAYOUTS[layout])
    assert_same_bits(found, LAYOUTS[layout](getattr(numpy, name)(x, y)))
    for out in (0, 1):
        arrays = [mxnp.array(x), mxnp.array(y)]
        getattr(mxnp, name)(*arrays, out=arrays[out])
        assert_same_bits(arrays[out].__array__(), getattr(numpy, name)(x, y))


# -- float16 ---------------------------------------------------------------------------

UNARY = [
    *("square", "reciprocal", "sqrt", "rint", "floor", "ceil", "trunc"),
    *("deg2rad", "radians", "rad2deg", "degrees", "negative", "fabs", "sign"),
    *("logical_not", "isnan", "isinf", "isfinite", "signbit"),
]
ARITHMETIC = ["add", "subtract", "multiply", "divide", *QUOTIENTS]
BINARY = [
    *ARITHMETIC,
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
    *("maximum", "minimum", "fmax", "fmin"),
    *("logical_and", "logical_or", "logical_xor", "copysign", "heaviside"),
]


def halves() -> numpy.ndarray:
    return numpy.arange(65536).astype("u2").view("f2")


@pytest.mark.parametrize("name", UNARY)
def test_every_half(name: str) -> None:
    x = halves()
    ours, our_warnings = with_warnings(lambda: result(name, x))
    theirs, their_warnings = with_warnings(lambda: getattr(numpy, name)(x))
    assert_same_bits(ours, theirs)
    assert our_warnings == their_warnings


def test_the_step_at_nan_is_numpys_nan() -> None:
    x = halves()
    for y in (numpy.ones_like(x), x):
        with numpy.errstate(all="ignore"):
            ours, theirs = result("heaviside", x, y), numpy.heaviside(x, y)
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_halves(name: str) -> None:
    chance = numpy.random.default_rng(5)
    x, y = halves(), chance.permutation(halves())
    for other in (y, x, -x, numpy.resize(halves()[31700:31800], x.size)):
        with numpy.errstate(all="ignore"):
            assert_same_bits(result(name, x, other), getattr(numpy, name)(x, other))


EDGES = numpy.array(
    [
        *(0, -0.0, 1, -1, 6e-8, 6.1e-5, 5.96e-8, 0.3, 65504, -65504, 3e4, 256, 1e-3),
        *(numpy.inf, -numpy.inf, numpy.nan),
    ],
    "f2",
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", QUOTIENTS)
def test_quotients_of_finite_halves(name: str) -> None:
    """Blocks without infinities, NaN and zeros take a separate path."""
    chance = numpy.random.default_rng(6)
    finite = halves()[numpy.isfinite(halves()) & (halves() != 0)]
    x, y = chance.choice(finite, (2, 1_000_000))
    with numpy.errstate(all="ignore"):
        expected = getattr(numpy, name)(x, y)
        assert_same_bits(result(name, x, y), expected)
        assert_same_bits(result(name, x, x), getattr(numpy, name)(x, x))


@pytest.mark.parametrize(
    "name", [name for name in BINARY if getattr(numpy, name).types[0][-1] != "?"]
)
def test_halves_in_place(name: str) -> None:
    x, y = halves()[:SIZE], halves()[1000 : SIZE + 1000]
    with numpy.errstate(all="ignore"):
        expected = getattr(numpy, name)(x, y)
        for out in (0, 1):
            arrays = [mxnp.array(x), mxnp.array(y)]
            getattr(mxnp, name)(*arrays, out=arrays[out])
            assert_same_bits(arrays[out].__array__(), expected)


@pytest.mark.parametrize("name", UNARY)
def test_conditions_of_single_halves(name: str) -> None:
    for x in EDGES:
        a = numpy.ones(600, "f2")
        a[300] = x
        ours, our_warnings = with_warnings(lambda a=a: result(name, a))
        theirs, their_warnings = with_warnings(lambda a=a: getattr(numpy, name)(a))
        assert_same_bits(ours, theirs)
        assert our_warnings == their_warnings, x


@pytest.mark.parametrize("name", ARITHMETIC)
def test_conditions_of_halves(name: str) -> None:
    for x, y in itertools.product(EDGES, repeat=2):
        a, b = numpy.ones((2, 600), "f2")
        a[300], b[300] = x, y
        ours, our_warnings = with_warnings(lambda a=a, b=b: result(name, a, b))
        theirs, their_warnings = with_warnings(
            lambda a=a, b=b: getattr(numpy, name)(a, b)
        )
        assert_same_bits(ours, theirs)
        assert our_warnings == their_warnings, (x, y)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["add", "less", "maximum", "remainder", "copysign"])
def test_halves_in_any_layout(name: str, layout: str) -> None:
    x, y = halves()[:SIZE], halves()[1000 : SIZE + 1000]
    once = numpy.broadcast_to(x[7:8], x.shape)
    found = result(name, x, y, layout=LAYOUTS[layout])
    assert_same_bits(found, LAYOUTS[layout](getattr(numpy, name)(x, y)))
    assert_same_bits(result(name, once, y), getattr(numpy, name)(once, y))
