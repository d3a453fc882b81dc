"""Compare bfloat16 on the processor with ml_dtypes: values and warnings."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.lanes import needs_fusion

import mxnp
from mxnp import _bridge
from mxnp._engine import core

ml_dtypes = pytest.importorskip("ml_dtypes")
bfloat16 = ml_dtypes.bfloat16
pytestmark = pytest.mark.skipif(
    type(numpy.dtype(bfloat16)).__module__ != "numpy",
    reason="NumPy computes bfloat16 of ml_dtypes from version 0.7 on",
)

DTYPES = [row.name for row in core.dtypes()]
EVERY = numpy.arange(2**16, dtype="u2").view(bfloat16)  # all numbers of the dtype
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, 3.0, 257.0, 1e-40, -1e-40, 3.3e38, -3.3e38]
SPECIAL += [numpy.inf, -numpy.inf, numpy.nan, -numpy.nan]


@pytest.fixture(autouse=True)
def recorded() -> Any:
    """Record every operation, for the processor."""
    before = _bridge.set_threshold(0)
    with mxnp.device("cpu"):
        yield
        mxnp.synchronize()
    _bridge.set_threshold(before)


def outcome(body: Callable[[Any], Any], xp: Any) -> Any:
    """Return a body's result or exception, its warnings, and whether it recorded."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = body(xp)
        except Exception as error:
            found = error
        is_pending = _bridge.pending() > 0
        mxnp.synchronize()
    many = found if isinstance(found, tuple) else (found,)
    texts = sorted({(str(each.message), each.category) for each in caught}, key=str)
    return [plain(each) for each in many], texts, is_pending


def plain(x: Any) -> Any:
    if isinstance(x, Exception):
        return type(x), str(x)
    if isinstance(x, mxnp.ndarray | numpy.ndarray | numpy.generic):
        array = numpy.asarray(x)
        if array.dtype == bfloat16 and core.processor() != "x86-64":
            # Compilers choose which of two NaN an operation returns.
            is_nan = (array.view("u2") & 0x7FFF) > 0x7F80
            array = numpy.where(is_nan, bfloat16("nan"), array)
        kind = "array" if isinstance(x, mxnp.ndarray | numpy.ndarray) else type(x)
        return kind, array.dtype, array.shape, array.tobytes()
    return x


def agree(body: Callable[[Any], Any]) -> bool:
    """Assert that mxnp agrees with NumPy; return whether the operation was recorded."""
    theirs, their_warnings, _ = outcome(body, numpy)
    ours, our_warnings, is_pending = outcome(body, mxnp)
    assert ours == theirs
    assert our_warnings == their_warnings
    return is_pending


def numbers(n: int = 3000, seed: int = 0) -> numpy.ndarray:
    """Return numbers of all magnitudes, and each pair of special numbers."""
    rng = numpy.random.default_rng(seed)
    found = (rng.normal(size=n) * 10.0 ** rng.integers(-6, 6, n)).astype(bfloat16)
    pairs = numpy.array(SPECIAL, bfloat16)
    pairs = (
        numpy.tile(pairs, len(SPECIAL)) if seed else numpy.repeat(pairs, len(SPECIAL))
    )
    return numpy.concatenate([found, pairs, EVERY[seed::331]])[: n + 300]


def others(dtype: str, n: int = 3003) -> numpy.ndarray:
    """Return numbers of another dtype, including its limits."""
    rng = numpy.random.default_rng(7)
    kind = numpy.dtype(dtype).kind
    if dtype == "bfloat16":
        return numpy.resize(numbers(), n)
    if kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if kind in "iu":
        limits = numpy.iinfo(dtype)
        found = rng.integers(limits.min, limits.max, n, dtype, endpoint=True)
        found[:2] = limits.min, limits.max
        return found
    found = rng.normal(size=n) * 10.0 ** rng.integers(-7, 5, n)
    found[: len(SPECIAL)] = SPECIAL
    with numpy.errstate(all="ignore"):
        return (found + (1j * found[::-1] if kind == "c" else 0)).astype(dtype)


# -- The dtype itself --------------------------------------------------------------------


def run(program: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return result.stdout.strip()


def test_ml_dtypes_is_not_imported() -> None:
    assert run("import mxnp, sys; print('ml_dtypes' in sys.modules)") == "False"


def test_dtype_is_recognized_when_it_is_met() -> None:
    # Arrays of other registered dtypes come first and must not be mistaken for bfloat16.
    program = """
import mxnp, numpy
x = mxnp.array(numpy.ones(50_000, "f4"))
import ml_dtypes
y = mxnp.array(numpy.ones(50_000, ml_dtypes.float8_e4m3fn))
z = y + y
print(mxnp._bridge.pending(), z.dtype, end=" ")
b = mxnp.array(numpy.ones(50_000, ml_dtypes.bfloat16)) * 2
print(mxnp._bridge.pending(), b.dtype, b[0])
"""
    assert run(program) == "0 float8_e4m3fn 1 bfloat16 2"


def test_dtypes_of_the_name_alone_are_not_taken_for_it() -> None:
    assert not _bridge.has_dtype(numpy.dtype(ml_dtypes.float8_e5m2).num)
    assert not _bridge.has_dtype(numpy.dtype("V2").num)
    assert _bridge.has_dtype(numpy.dtype(bfloat16).num)


# -- Casts -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [1, -1, 3])
def test_casts_of_every_number(dtype: str, step: int) -> None:
    x = EVERY
    if dtype.startswith("u") and core.processor() != "x86-64":
        # What other numbers become depends on the step, in NumPy too.
        with numpy.errstate(invalid="ignore"):
            x = x[(x >= 0) & (x < float(numpy.iinfo(dtype).max))]
    assert agree(lambda xp: xp.array(x)[::step].astype(dtype))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "complex" not in d])
@pytest.mark.parametrize("step", [1, 2])
def test_casts_to_it(dtype: str, step: int) -> None:
    assert agree(lambda xp: xp.array(others(dtype))[::step].astype(bfloat16))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_casts_of_complex_numbers_are_numpys(dtype: str) -> None:
    assert not agree(lambda xp: xp.array(others(dtype)).astype(bfloat16))


def test_rounding_is_to_even() -> None:
    upper = numpy.arange(2**16, dtype="u4") << 16
    for lower in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF):
        x = (upper | lower).view("f4")
        assert agree(lambda xp, x=x: xp.array(x).astype(bfloat16))
    x = numpy.arange(2**16, dtype="u2").view("f2")
    assert agree(lambda xp: xp.array(x).astype(bfloat16))


# -- Ufuncs ------------------------------------------------------------------------------

WITHOUT_LOOP = {  # these take integers only
    *(
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "invert",
        "left_shift",
        "right_shift",
    ),
    *("bitwise_count", "gcd", "lcm"),
}


def inputs(op: Any, n: int = 3000) -> list[numpy.ndarray]:
    found = [numbers(n), numbers(n, 1)][: op.nin]
    if op.name == "ldexp":
        found[1] = numpy.arange(len(found[0]), dtype="i4") % 301 - 150
    return found


@pytest.mark.parametrize("op", core.ops(), ids=lambda op: op.name)
@pytest.mark.parametrize("step", [1, -2])
def test_rows(op: Any, step: int) -> None:
    given = inputs(op)
    is_recorded = agree(
        lambda xp: getattr(xp, op.name)(*(xp.array(x)[::step] for x in given))
    )
    assert is_recorded == (op.name not in WITHOUT_LOOP)


UNARY = [op for op in core.ops() if op.nin == 1]


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
def test_rows_of_every_number(op: Any) -> None:
    agree(lambda xp: getattr(xp, op.name)(xp.array(EVERY)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name", ["add", "divide", "less", "equal", "arctan2", "power", "logical_or"]
)
def test_promotion(name: str, dtype: str) -> None:
    a, b = numbers(2703), others(dtype)
    agree(lambda xp: getattr(xp, name)(xp.array(a), xp.array(b)))
    agree(lambda xp: getattr(xp, name)(xp.array(b)[::-1], xp.array(a)))


SCALARS = [
    *(
        0,
        2,
        -1,
        257,
        2**24 + 1,
        2**53 + 1,
        2**63,
        10**400,
        True,
        2.5,
        1.001,
        -0.5,
        1e39,
    ),
    *(1e300, float("nan"), 2j, numpy.float32(1.001), numpy.float64(1.001)),
    *(numpy.float16(2.5), numpy.int8(2), numpy.int64(3), numpy.bool_(True)),
    *(numpy.complex64(1j), numpy.datetime64("2020"), bfloat16(2.5), bfloat16("nan")),
]


@pytest.mark.parametrize(
    "scalar", SCALARS, ids=lambda x: f"{type(x).__name__}-{x}"[:30]
)
@pytest.mark.parametrize(
    "body",
    [
        lambda x, s: x + s,
        lambda x, s: s - x,
        lambda x, s: x * s,
        lambda x, s: x**s,
        lambda x, s: x < s,
        lambda x, s: x == s,
        lambda x, s: x // s,
    ],
    ids=["+", "-", "*", "**", "<", "==", "//"],
)
def test_scalars(body: Any, scalar: Any) -> None:
    agree(lambda xp: body(xp.array(numbers()), scalar))


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_place(dtype: str) -> None:
    def body(xp: Any) -> Any:
        x, y = xp.array(numbers(2703)), xp.array(others(dtype))
        with xp.errstate(over="ignore"):
            x += y
            x *= 1.001
        return x

    def cast(xp: Any) -> Any:
        with xp.errstate(
            over="ignore"
        ):  # which NumPy says of the ufunc, mxnp of the cast
            x = xp.array(others(dtype))
            return xp.multiply(x, x, out=xp.empty(x.shape, bfloat16))

    agree(body)
    agree(cast)


@needs_fusion
@pytest.mark.filterwarnings("ignore")
def test_a_chain_is_one_group() -> None:
    x = mxnp.array(numbers())
    mxnp.synchronize()
    y = mxnp.sqrt(x * x + 1) * 2
    assert _bridge.pending() == 4
    mxnp.synchronize()
    (group,) = core.last_flush()
    assert group.operations == ("multiply", "add", "sqrt", "multiply")
    z = numbers()
    with numpy.errstate(all="ignore"):
        assert numpy.asarray(y).tobytes() == (numpy.sqrt(z * z + 1) * 2).tobytes()


def test_conditions() -> None:
    x = mxnp.array(numpy.array([1.0, 0.0, numpy.nan], bfloat16))
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        numpy.asarray(1 / x)
    with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
        numpy.asarray(mxnp.sqrt(x - 1))
    with (
        mxnp.errstate(invalid="raise"),
        pytest.raises(FloatingPointError, match="sqrt"),
    ):
        mxnp.sqrt(x - 1)
    with mxnp.errstate(all="ignore"):
        assert numpy.asarray(x < 1).tolist() == [False, True, False]


def test_conditions_of_comparisons_are_numpys() -> None:
    """Before NumPy 2.5, comparing NaN raised a condition, alone and in a chain."""
    values = numpy.array([1.0, 0.0, numpy.nan], bfloat16)
    agree(lambda xp: xp.array(values) < 1)
    agree(lambda xp: (xp.array(values) + 1 < 1) | (xp.array(values) > 2))


# -- Reductions, scans, searches ---------------------------------------------------------

REDUCTIONS = [
    *(
        "sum",
        "prod",
        "mean",
        "max",
        "min",
        "argmax",
        "argmin",
        "any",
        "all",
        "std",
        "var",
    ),
    *("cumsum", "cumprod"),
]
FUNCTIONS = [
    "ptp",
    "nansum",
    "nanmax",
    "nanmin",
    "nanmean",
    "count_nonzero",
    "nanargmax",
]


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", REDUCTIONS + FUNCTIONS)
@pytest.mark.parametrize("special", [False, True])
def test_reductions(name: str, axis: Any, special: bool) -> None:
    rng = numpy.random.default_rng(3)
    x = rng.normal(size=(130, 700)).astype(bfloat16)
    x[5] = -0.0
    if special:
        x[::7, ::11] = numpy.nan
        x[3, 3], x[9, 1] = numpy.inf, -numpy.inf
    recorded = agree(lambda xp: getattr(xp, name)(xp.array(x), axis=axis))
    agree(lambda xp: getattr(xp, name)(xp.array(x)[::-2, ::3], axis=axis))
    agree(lambda xp: getattr(xp, name)(xp.array(x).T, axis=axis))
    if name in REDUCTIONS:
        agree(lambda xp: getattr(xp.array(x), name)(axis=axis))
    assert not (recorded and name in {"sum", "prod", "mean", "max", "min"})


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64", "int64"])
def test_sums_in_a_dtype(dtype: str) -> None:
    x = (numpy.arange(5000) % 7).astype(bfloat16)
    agree(lambda xp: xp.array(x).sum(dtype=dtype))
    agree(lambda xp: xp.add.reduce(xp.array(x).reshape(50, 100), dtype=dtype))
    agree(lambda xp: xp.cumsum(xp.array(x), dtype=dtype))
    agree(lambda xp: xp.array(x.astype("i4")).sum(dtype=bfloat16))
    agree(lambda xp: xp.add.reduce(xp.array(x), initial=2))
    agree(lambda xp: xp.array(x).sum(keepdims=True, where=xp.array(x > 2)))


def test_searches_prefer_the_first() -> None:
    x = numpy.zeros(40_000, bfloat16)
    x[[20, 30_000]] = 1
    agree(lambda xp: xp.argmax(xp.array(x)))
    x[[25_000, 35_000]] = numpy.nan
    agree(lambda xp: xp.argmax(xp.array(x)))
    agree(lambda xp: xp.argmin(xp.array(x)))


# -- Elements ----------------------------------------------------------------------------

VALUES = [
    *(2, 2.5, 1e39, 2**70, True, None, "1.5", 2j, numpy.float32(1.001), bfloat16(3)),
    *(numpy.arange(7), numpy.arange(7.0), numpy.arange(7) * 1j, numpy.arange(5)),
    numpy.arange(7).astype(bfloat16),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda x: f"{type(x).__name__}-{x}"[:30])
def test_assignment(value: Any) -> None:
    def assign(key: Any) -> Any:
        def body(xp: Any) -> Any:
            x = xp.zeros((6, 7), bfloat16)
            given = xp.array(value) if isinstance(value, numpy.ndarray) else value
            x[key(xp)] = given
            return x

        return body

    agree(assign(lambda xp: ...))
    agree(assign(lambda xp: slice(1, 3)))
    agree(assign(lambda xp: xp.array([0, 3, 3])))
    agree(assign(lambda xp: xp.zeros((6, 7), bfloat16) < 1))
    agree(lambda xp: xp.full(5000, value, bfloat16) if numpy.ndim(value) == 0 else 0)


@pytest.mark.parametrize(
    "name",
    ["add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "fmax"],
)
@pytest.mark.parametrize(
    "value",
    [2, 2.5, 1.001, numpy.int8(2), bfloat16(2.5), "bfloat16", "float32", "int64"],
    ids=str,
)
def test_updates(name: str, value: Any) -> None:
    rng = numpy.random.default_rng(1)
    places = rng.integers(-40, 40, 500)

    def body(xp: Any) -> Any:
        x = xp.array(numbers()[:40])
        given = xp.array(others(value, 500)) if isinstance(value, str) else value
        getattr(xp, name).at(x, xp.array(places), given)
        return x

    agree(body)


def test_at() -> None:
    x, values = numbers()[:50], numbers(500, 1)[:500]
    places = numpy.random.default_rng(1).integers(0, 50, 500)
    with numpy.errstate(all="ignore"), mxnp.errstate(all="ignore"):
        expected = x.copy()
        numpy.add.at(expected, places, values)
        ours = mxnp.array(x).at[mxnp.array(places)].add(mxnp.array(values))
        assert numpy.asarray(ours).tobytes() == expected.tobytes()


BODIES = {
    "take": lambda xp, x: x[xp.array([5, -1, 300, 5])],
    "take rows": lambda xp, x: xp.take(x[:3000].reshape(30, 100), xp.array([3, -1]), 0),
    "mask": lambda xp, x: x[x > 1],
    "where": lambda xp, x: xp.where(x > 1, x, x[::-1]),
    "where with int": lambda xp, x: xp.where(x > 1, x, 2),
    "where with float": lambda xp, x: xp.where(x > 1, x, 2.5),
    "where with float32": lambda xp, x: xp.where(x > 1, x, xp.ones(x.shape, "f4")),
    "where with int64": lambda xp, x: xp.where(x > 1, x, xp.ones(x.shape, "i8")),
    "where with scalar": lambda xp, x: xp.where(x > 1, x, bfloat16(2.5)),
    "clip": lambda xp, x: xp.clip(x, -1, 1),
    "clip below": lambda xp, x: xp.clip(x, None, 1),
    "clip by arrays": lambda xp, x: xp.clip(x, x[::-1], xp.ones(x.shape, "f4")),
    "concatenate": lambda xp, x: xp.concatenate([x, x[::2]]),
    "concatenate with float32": lambda xp, x: xp.concatenate([x, xp.ones(3000, "f4")]),
    "concatenate with int64": lambda xp, x: xp.concatenate([x, xp.ones(3000, "i8")]),
    "stack": lambda xp, x: xp.stack([x, x + 1]),
    "copy": lambda xp, x: x[::-1].copy(),
    "zeros": lambda xp, x: xp.zeros((50, 100), bfloat16),
    "ones": lambda xp, x: xp.ones_like(x),
    "arange": lambda xp, x: xp.arange(3000, dtype=bfloat16),
    "linspace": lambda xp, x: xp.linspace(0, 1, 3000, dtype=bfloat16),
    "repeat": lambda xp, x: xp.repeat(x, 3),
    "roll": lambda xp, x: xp.roll(x, 100),
    "sort": lambda xp, x: xp.sort(x),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.sort(x[:900]), x),
    "view": lambda xp, x: (x * 2).view("u2") & 255,
    "view of integers": lambda xp, x: (x.view("u2") ^ 0x8000).view(bfloat16) + x,
    "in two dimensions": lambda xp, x: x[:3000].reshape(30, 100).T + x[:30],
    "dot": lambda xp, x: xp.dot(x, x),
    "matmul": lambda xp, x: x[:100].reshape(10, 10) @ x[:100].reshape(10, 10),
    "into an overlapping view": lambda xp, x: xp.add(x[1:], 1, out=x[:-1]),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_functions(name: str) -> None:
    agree(lambda xp: BODIES[name](xp, xp.array(numbers())))
