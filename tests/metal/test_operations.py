"""Test every operation as a kernel: rows, dtypes, reductions, scans, gathers, scatters.

Integers, comparisons, + - * / and sqrt equal NumPy's to the last bit. Functions are within
the bounds of the Metal Shading Language Specification (table 8.2, precise) plus the error
of NumPy's own. Sums are within the bound for their number of additions.
"""

from __future__ import annotations

import functools
import itertools
import warnings
import zlib
from collections.abc import Sequence
from typing import Any

import numpy
import pytest
from support.metal import needs_gpu, no_reports
from support.tolerances import finfo, has_dtype

import mxnp
from mxnp._engine import core
from mxnp._engine.devices import GPU
from mxnp._verify.tolerances import CANCELLING, COMPLEX
from mxnp._verify.tolerances import GPU as ULP

pytestmark = [
    needs_gpu,
    pytest.mark.filterwarnings("ignore"),
]

DTYPES = [
    row.name
    for row in core.dtypes()
    if row.name in core.gpu().types and has_dtype(row.name)
]
HALVES = {"float16", "bfloat16"} & set(DTYPES)  # computed in float32
COMPLEXES = {"complex64", "complex128"} & set(DTYPES)
FLOATS = HALVES | COMPLEXES | {"float32", "float64"} & set(DTYPES)

EXTREMES = {
    "float16": [
        0.0,
        -0.0,
        1.0,
        -1.0,
        65504.0,
        -65504.0,
        numpy.inf,
        -numpy.inf,
        numpy.nan,
    ],
    "float32": [
        0.0,
        -0.0,
        1.0,
        -1.0,
        3.4e38,
        -3.4e38,
        numpy.inf,
        -numpy.inf,
        numpy.nan,
    ],
}
EXTREMES["bfloat16"] = EXTREMES["float32"]
EXTREMES["float64"] = [0.0, -0.0, 1.0, -1.0, 1.7e308, -1.7e308]
EXTREMES["float64"] += [numpy.inf, -numpy.inf, numpy.nan]


@pytest.fixture(autouse=True)
def on_metal() -> Any:
    """Record everything for the device, whose compiler must not reject any kernel."""
    before = mxnp._bridge.set_threshold(0)
    rejected = core.gpu_counts()["rejected"]
    with mxnp.device(GPU):
        yield
    mxnp._bridge.set_threshold(before)
    assert core.gpu_counts()["rejected"] == rejected, core.gpu_rejection()


@functools.cache
def numbers(dtype: str, n: int = 400, seed: int = 0) -> numpy.ndarray:
    """Return numbers of all magnitudes, and special numbers."""
    rng = numpy.random.default_rng([seed, zlib.crc32(dtype.encode())])
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if kind in "iu":
        limits = numpy.iinfo(dtype)
        found = rng.integers(limits.min, limits.max, n, dtype, endpoint=True)
        near = rng.random(n) < 0.7
        found[near] = rng.integers(-9 if limits.min else 0, 10, near.sum()).astype(
            dtype
        )
        found[:2] = limits.min, limits.max
        return found
    if kind == "c":
        part = "float32" if dtype == "complex64" else "float64"
        parts = numbers(part, n, seed + 1), numbers(part, n, seed + 2)
        keep = numpy.abs(parts[0]) < 1e30
        return (numpy.where(keep, parts[0], 1) + 1j * parts[1]).astype(dtype)
    scale = 3 if dtype == "float16" else 8
    found = rng.normal(size=n) * 10.0 ** rng.integers(-scale, scale, n)
    found[: n // 2] = rng.normal(size=n // 2)
    found[rng.random(n) < 0.02] = 0
    values = EXTREMES[dtype][: n // 4]
    found[n - len(values) :] = values
    found = found.astype(dtype)
    found[numpy.abs(found) < finfo(dtype).tiny] = 0  # Metal lacks subnormals
    return found


def operands(op: Any, dtypes: tuple[str, ...]) -> list[numpy.ndarray]:
    found = [numbers(dtype, seed=i).copy() for i, dtype in enumerate(dtypes)]
    if op.name in {"left_shift", "right_shift"}:
        found[1] = found[1] % numpy.array(8 * found[1].itemsize, found[1].dtype)
    if op.name == "ldexp":
        found[1] = found[1] % 9 - 4
    return found


def assert_equal(ours: Any, theirs: numpy.ndarray) -> None:
    """Assert that elements are equal; NumPy does not recognize NaN of bfloat16."""
    if theirs.dtype.name == "bfloat16":
        ours, theirs = numpy.asarray(ours).view("u2"), theirs.view("u2")
    numpy.testing.assert_array_equal(ours, theirs)


def owned(x: numpy.ndarray) -> Any:
    """Copy numbers to memory to which the device can write."""
    out = mxnp.empty(x.shape, x.dtype)
    out[...] = x
    return out


def ran(before: dict[str, int]) -> int:
    mxnp.synchronize()
    return core.gpu_counts()["groups"] - before["groups"]


def is_float(dtype: Any) -> bool:
    """Return whether a dtype has floats or complex numbers."""
    return numpy.dtype(dtype).name in FLOATS


def registered(op: Any) -> list[tuple[str, ...]]:
    """Return the loops of a ufunc for bfloat16, which are not in `ufunc.types`."""
    others = ("int32",) if op.name == "ldexp" else ("bfloat16",)
    given = ("bfloat16", *others)[: op.nin]
    try:
        found = getattr(numpy, op.name).resolve_dtypes(
            (*map(numpy.dtype, given), *[None] * op.nout)
        )
    except TypeError:
        return []
    return [given] if found[0].name == "bfloat16" else []


def loops(op: Any) -> list[tuple[str, ...]]:
    """Return the loops of a ufunc for dtypes that Metal has."""
    ufunc = getattr(numpy, op.name)
    found = registered(op) if has_dtype("bfloat16") else []
    for signature in dict.fromkeys(each.split("->")[0] for each in ufunc.types):
        names = tuple(numpy.dtype(c).name for c in signature if c not in "OmMSVU")
        if len(names) == ufunc.nin and set(names) <= set(DTYPES):
            found.append(names)
    return list(dict.fromkeys(found))


# The processor runs divisions of integers by zero, powers that may raise, and expm1.
NOT_TAKEN = {
    *(("reciprocal", d) for d in DTYPES if d not in FLOATS),
    *(("power", d) for d in DTYPES if d not in FLOATS),
    *(("power", d) for d in COMPLEXES),
    *(("float_power", d) for d in COMPLEXES),
    ("expm1", "complex64"),
    ("expm1", "complex128"),
}

CASES = [
    pytest.param(op, dtypes, id=f"{op.name}-{'-'.join(dict.fromkeys(dtypes))}")
    for op in core.ops()
    for dtypes in loops(op)
    if (op.name, dtypes[0]) not in NOT_TAKEN
]


def assert_near(name: str, dtype: str, ours: Any, theirs: Any) -> None:
    """Assert that a result is within the bounds of the operation from NumPy's."""
    ours, theirs = numpy.asarray(ours), numpy.asarray(theirs)
    assert ours.dtype == theirs.dtype
    if not is_float(theirs.dtype):
        numpy.testing.assert_array_equal(ours, theirs)
        return
    parts = theirs.real.dtype if theirs.dtype.kind == "c" else theirs.dtype
    tiny, eps = float(finfo(parts).tiny), float(finfo(parts).eps)
    same = (ours == theirs) | (numpy.isnan(ours) & numpy.isnan(theirs))
    exact = name not in ULP and name not in CANCELLING and dtype not in COMPLEXES
    if exact and parts != numpy.float16:
        flushed = (numpy.abs(theirs) < tiny) & (ours == 0)
        assert (same | flushed).all(), (ours[~same], theirs[~same])
        return
    wide = theirs.astype("c16" if theirs.dtype.kind == "c" else "f8")
    apart = numpy.abs(ours - wide)
    size = numpy.abs(wide)
    if theirs.dtype.kind == "c":
        bound = COMPLEX * eps * size
    elif parts.name in HALVES:
        bound = numpy.spacing(numpy.abs(theirs)).astype("f8") * 1.01
    else:
        steps = 4 if name in CANCELLING else ULP.get(name, 4)
        bound = steps * numpy.spacing(numpy.abs(theirs)).astype("f8")
    if name in CANCELLING:
        bound = numpy.maximum(bound, 4 * eps * 50)
    same |= (apart <= numpy.maximum(bound, tiny)) & numpy.isfinite(size)
    assert same.all(), (name, ours[~same], theirs[~same])


@pytest.mark.sampled(100)
@pytest.mark.parametrize(("op", "dtypes"), CASES)
def test_rows(op: Any, dtypes: tuple[str, ...]) -> None:
    inputs = operands(op, dtypes)
    with numpy.errstate(all="ignore"), mxnp.errstate(all="ignore"):
        theirs = getattr(numpy, op.name)(*inputs)
        given = [mxnp.array(each) for each in inputs]
        mxnp.synchronize()
        before = core.gpu_counts()
        ours = getattr(mxnp, op.name)(*given)
        taken = ran(before)
    outs = theirs if isinstance(theirs, tuple) else (theirs,)
    is_mixed = len(set(dtypes)) > 1 and op.name != "ldexp"  # runs in NumPy
    if all(out.dtype.name in DTYPES for out in outs) and not is_mixed:
        assert taken == 1
    mine = ours if isinstance(ours, tuple) else (ours,)
    for a, b in zip(mine, outs, strict=True):
        if dtypes[0] in COMPLEXES and b.dtype.kind == "c":  # infinite or NaN parts
            keep = numpy.isfinite(b) & numpy.isfinite(inputs[0])
            a, b = numpy.asarray(a)[keep], b[keep]
        assert_near(op.name, dtypes[0], a, b)


EVERY = [
    op
    for op in core.ops()
    if has_dtype("bfloat16") and op.nin == op.nout == 1 and registered(op)
]


def rank(x: numpy.ndarray) -> numpy.ndarray:
    """Return the positions of bfloat16 numbers in their order, counted from zero."""
    size = (x.view("u2") & 0x7FFF).astype(int)
    return numpy.where(x.view("u2") & 0x8000, -size, size)


@pytest.mark.parametrize("op", EVERY, ids=lambda op: op.name)
def test_every_number_of_bfloat16(op: Any) -> None:
    x = numpy.arange(2**16, dtype="u2").view("bfloat16")
    x = x[(x == 0) | ~(numpy.abs(x) < finfo(x.dtype).tiny)]  # Metal lacks subnormals
    with numpy.errstate(all="ignore"), mxnp.errstate(all="ignore"):
        theirs = getattr(numpy, op.name)(x)
        before = core.gpu_counts()
        ours = numpy.asarray(getattr(mxnp, op.name)(mxnp.array(x)))
    assert ran(before) == 1
    if theirs.dtype == bool:
        numpy.testing.assert_array_equal(ours, theirs)
        return
    tiny = finfo(x.dtype).tiny
    is_nan = numpy.isnan(theirs)
    same = (numpy.isnan(ours) & is_nan) | (
        (numpy.abs(ours) <= tiny) & (numpy.abs(theirs) <= tiny)
    )
    apart = abs(rank(ours) - rank(theirs))[~same]
    assert apart.max(initial=0) <= (op.name in ULP), (op.name, numpy.unique(apart))


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts(dtype: str, to: str) -> None:
    x = numbers(dtype)
    if is_float(dtype) and numpy.dtype(to).kind in "iu":
        small = numpy.nan_to_num(x.astype("c8").real, posinf=3, neginf=3)
        x = (small % 100).astype(dtype)
    with numpy.errstate(all="ignore"), mxnp.errstate(all="ignore"):
        theirs = x.astype(to)
        given = mxnp.array(x)
        mxnp.synchronize()
        before = core.gpu_counts()
        ours = given.astype(to)
        taken = ran(before)
    to_real = dtype in COMPLEXES and to not in COMPLEXES  # this cast warns in NumPy
    assert taken == (not to_real)
    ours = numpy.asarray(ours)
    same = (ours == theirs) | (numpy.isnan(ours) & numpy.isnan(theirs))
    if is_float(to):
        tiny = finfo(theirs.dtype).tiny
        same |= (numpy.abs(theirs) < tiny) & (numpy.abs(ours) < tiny)
    assert same.all()


# -- Reductions, scans, searches -------------------------------------------------------

SHAPES = [
    ((7,), 0), ((70_001,), 0), ((3, 20_001), 1), ((20_001, 3), 0), ((10, 20, 30), 1),
    ((10, 20, 30), (0, 2)), ((5, 1, 2000), 2), ((2000, 33), None),
]  # fmt: skip
REDUCTIONS = {
    "add": DTYPES, "multiply": DTYPES, "maximum": DTYPES, "minimum": DTYPES,
    "logical_or": ["bool"], "logical_and": ["bool"],
    "bitwise_and": ["int32", "uint8"], "bitwise_or": ["int64"], "bitwise_xor": ["uint16"],
    "fmax": ["float32"],
}  # fmt: skip


def summands(name: str, dtype: str, shape: tuple[int, ...]) -> numpy.ndarray:
    n = int(numpy.prod(shape))
    x = numbers(dtype, n, 5).copy()
    if is_float(dtype):
        rng = numpy.random.default_rng(3)
        x = rng.normal(size=n)
        x = (x + 1j * rng.normal(size=n)).astype(dtype) if dtype in COMPLEXES else x
        x = numpy.exp(x.real * 1e-3) if name == "multiply" else x
        x = x.astype(dtype)
    return x.reshape(shape)


@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
@pytest.mark.parametrize(
    ("name", "dtype"), [(name, d) for name, ds in REDUCTIONS.items() for d in ds]
)
def test_reductions(name: str, dtype: str, shape: Any, axis: Any) -> None:
    x = summands(name, dtype, shape)
    kept = {"dtype": dtype} if name in {"add", "multiply"} else {}
    theirs = getattr(numpy, name).reduce(x, axis=axis, **kept)
    given = mxnp.array(x)
    mxnp.synchronize()
    before = core.gpu_counts()
    ours = getattr(mxnp, name).reduce(given, axis=axis, keepdims=True, **kept)
    taken = ran(before)
    if dtype != "bool":  # NumPy reads few elements of it
        assert taken >= 1
    ours = numpy.asarray(ours).reshape(numpy.shape(theirs))
    if not is_float(dtype) or name in {"maximum", "minimum", "fmax"}:
        numpy.testing.assert_array_equal(ours, theirs)
        return
    exact = getattr(numpy, name).reduce(
        x.astype("c16" if x.dtype.kind == "c" else "f8"), axis
    )
    size = (
        numpy.add.reduce(numpy.abs(x).astype("f8"), axis)
        if name == "add"
        else abs(exact)
    )
    n = x.size / max(numpy.size(theirs), 1)
    eps = float(finfo(dtype).eps)
    bound = eps * size * (
        numpy.log2(n) + 300 if name != "multiply" else n + 2
    ) + eps * abs(exact)
    assert (abs(ours - exact) <= bound).all()


@pytest.mark.parametrize("dtype", ["int32", "uint8", *sorted(FLOATS)])
@pytest.mark.parametrize("name", ["add", "multiply", "maximum"])
@pytest.mark.parametrize("shape", [(5,), (1000,), (3, 700), (700, 3), (1, 300)])
def test_scans(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    x = summands("multiply", dtype, shape)
    for axis in range(len(shape)):
        theirs = getattr(numpy, name).accumulate(x, axis=axis, dtype=dtype)
        ours = getattr(mxnp, name).accumulate(mxnp.array(x), axis=axis, dtype=dtype)
        if is_float(dtype) and name != "maximum":
            rtol = 2 * x.size * float(finfo(dtype).eps)
            numpy.testing.assert_allclose(
                numpy.asarray(ours).astype("c16"), theirs.astype("c16"), rtol=rtol
            )
        else:
            numpy.testing.assert_array_equal(ours, theirs)


LONG_SCANS = [(8191,), (8193,), (70_001,), (3, 20_001), (20_001, 3), (300, 1100)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int32", "uint8", *sorted(FLOATS)])
@pytest.mark.parametrize("name", ["add", "multiply", "maximum"])
@pytest.mark.parametrize("shape", LONG_SCANS, ids=str)
def test_scans_of_segments(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    """If there are few lines, their segments are scanned side by side."""
    axis = int(numpy.argmax(shape)) if shape[0] != 300 else 0
    x = summands("multiply" if name == "multiply" else "add", dtype, shape)
    for key in (..., slice(None, None, -1), (..., slice(1, None))):
        given, view = x[key], mxnp.array(x)[key]
        mxnp.synchronize()
        before = core.gpu_counts()
        ours = getattr(mxnp, name).accumulate(view, axis=axis, dtype=dtype)
        assert ran(before) >= 1
        theirs = getattr(numpy, name).accumulate(given, axis=axis, dtype=dtype)
        if not is_float(dtype) or name == "maximum":
            numpy.testing.assert_array_equal(ours, theirs)
            continue
        kind = "c16" if given.dtype.kind == "c" else "f8"
        wide = given.astype(kind)
        exact = getattr(numpy, name).accumulate(wide, axis=axis)
        size = numpy.abs(exact)
        if name == "add":
            size = numpy.add.accumulate(numpy.abs(wide), axis=axis)
        n = given.shape[axis]
        bound = float(finfo(dtype).eps) * size * (300 if name == "add" else n + 2)
        assert (numpy.abs(numpy.asarray(ours).astype(kind) - exact) <= bound).all()


@pytest.mark.parametrize("n", [1000, 20_000])
@pytest.mark.parametrize("where", [None, 0.3, 0.999])
def test_scans_propagate_nan_and_infinities(n: int, where: float | None) -> None:
    x = numpy.linspace(-3, 5, n, dtype="float32")
    if where is not None:
        x[int(where * n)], x[int(where * n) + 1 :: 2000] = numpy.inf, numpy.nan
    for name in ("add", "maximum", "minimum"):
        with numpy.errstate(all="ignore"):
            theirs = getattr(numpy, name).accumulate(x)
            ours = getattr(mxnp, name).accumulate(mxnp.array(x))
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("n", [100, 1000, 20_000])
def test_a_scan_of_infinities_does_not_warn(n: int) -> None:
    x = numpy.ones(n, "float32")
    x[5] = numpy.inf
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert mxnp.cumsum(mxnp.array(x)).tolist() == numpy.cumsum(x).tolist()
    assert not caught


@pytest.mark.parametrize("name", ["add", "multiply"])
@pytest.mark.parametrize("n", [100, 1000, 20_000])
def test_a_scan_that_exceeds_the_range_warns(name: str, n: int) -> None:
    x = numpy.full(n, 1e36 if name == "add" else 4, "float32")
    for kept in (n, 20):  # the second one stays in the range
        given = mxnp.array(x)
        given[kept:] = 0 if name == "add" else 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            numpy.asarray(getattr(mxnp, name).accumulate(given))
        expected = kept * 1e36 > 3.4e38 if name == "add" else kept > 63
        assert [str(w.message) for w in caught] == [
            "overflow encountered in accumulate"
        ] * expected


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_logarithms_of_sums_warn_of_nan(name: str, dtype: str) -> None:
    for number in (numpy.nan, numpy.inf, 1):
        found = []
        for xp in (numpy, mxnp):
            a = xp.array([1, -numpy.inf, number] * 300, dtype)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for operands in ((a, a[::-1]), (a, a)):
                    numpy.asarray(getattr(xp, name)(*operands))
            found.append([str(w.message) for w in caught])
        assert found[0] == found[1]


# The numbers that a scan of ones meets, where each is in an array of some length.
MET = {
    "infinities of both signs": {0.3: numpy.inf, 0.8: -numpy.inf},
    "after a NaN": {0.2: numpy.nan, 0.3: numpy.inf, 0.8: -numpy.inf},
    "before a NaN": {0.2: numpy.inf, 0.5: -numpy.inf, 0.9: numpy.nan},
    "infinity and zero": {0.2: numpy.inf, 0.9: 0},
    "zero and infinity": {0.2: 0, 0.9: -numpy.inf},
    "too large after an infinity": {0.5: numpy.inf, 0.6: 60000, 0.7: 60000},
    "too large before an infinity": {0.5: 60000, 0.6: 60000, 0.9: numpy.inf},
}


@pytest.mark.parametrize("n", [100, 3000, 20_000])
@pytest.mark.parametrize("name", ["add", "multiply"])
@pytest.mark.parametrize("met", MET)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_scan_reports_what_its_results_met(
    n: int, name: str, met: str, dtype: str
) -> None:
    x = numpy.full(n, name == "multiply", dtype)
    for part, value in MET[met].items():
        x[int(part * n)] = value
    found = []
    for xp in (numpy, mxnp):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = getattr(xp, name).accumulate(xp.array(x)).tolist()
        found.append((str(results), {str(w.message) for w in caught}))
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("shape", [(9,), (20_000,), (4, 5000), (5000, 4), (6, 7, 8)])
def test_searches(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    x = numbers(dtype, int(numpy.prod(shape)), 9).reshape(shape)
    for axis in [None, *range(len(shape))]:
        theirs = getattr(numpy, name)(x, axis=axis)
        ours = getattr(mxnp, name)(mxnp.array(x), axis=axis)
        numpy.testing.assert_array_equal(ours, theirs)
    ties = numpy.repeat(numpy.array([1, 0, 1]), 100).astype(dtype)
    assert getattr(mxnp, name)(mxnp.array(ties)) == getattr(numpy, name)(ties)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_searches_in_segments(dtype: str) -> None:
    """Threadgroups search parts of an array, and the first of equal elements wins."""
    x = numpy.zeros(70_003, dtype)
    for first in (60_001, 30_000, 17):
        x[first] = 5
        given = mxnp.array(x)
        mxnp.synchronize()
        before = core.gpu_counts()
        assert given.argmax() == (-given).argmin() == first
        assert ran(before) >= 1


@pytest.mark.parametrize("axis", [0, 1])
def test_searches_prefer_the_first_nan(axis: int) -> None:
    x = numpy.tile(numpy.arange(300, dtype="f4"), (300, 1))
    x[7::9, 5::11] = numpy.nan
    for name in ("argmax", "argmin"):
        theirs = getattr(numpy, name)(x, axis)
        numpy.testing.assert_array_equal(getattr(mxnp.array(x), name)(axis), theirs)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((50_000,), None), ((500, 100), None), ((500, 100), 0), ((100, 500), 1)],
    ids=str,
)
@pytest.mark.parametrize(
    ("special", "expected"),
    [
        ({7: 3e38, 40_007: 3e38}, "overflow"),
        ({8: 3e38, 9: 3e38}, "overflow"),
        ({100: numpy.inf, 40_100: -numpy.inf}, "invalid"),
        ({49_998: numpy.inf, 49_999: -numpy.inf}, "invalid"),
        ({100: numpy.inf, 200: numpy.inf}, ""),
        ({100: numpy.nan, 300: numpy.inf}, ""),
        ({49_999: 3e38}, ""),
    ],
)
def test_conditions_of_sums(
    shape: tuple[int, ...], axis: int | None, special: dict[int, float], expected: str
) -> None:
    x = numpy.ones(50_000, "f4")
    for at, value in special.items():
        x[at] = value
    found = []
    for xp in (numpy, mxnp):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            numpy.asarray(xp.array(x.reshape(shape)).sum(axis))
            mxnp.synchronize()
        found.append({str(w.message).split()[0] for w in caught})
    assert found[0] == found[1]
    if axis is None:
        assert found[1] == ({expected} if expected else set())


@pytest.mark.parametrize(
    "shape", [(5, 64), (700, 12), (3001, 16), (9, 4, 32), (64, 520)]
)
def test_columns_in_packs(shape: tuple[int, ...]) -> None:
    """A thread has several adjacent columns, of which each has its own result."""
    for dtype in sorted({"uint8", "int16", "float32"} | {"float64"} & set(DTYPES)):
        x = numbers("int16", int(numpy.prod(shape))).astype(dtype).reshape(shape) % 50
        for axis in range(len(shape) - 1):
            for name in ("sum", "max", "argmin"):
                theirs = getattr(x, name)(axis)
                ours = getattr(mxnp.array(x), name)(axis)
                numpy.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["sum", "max"])
@pytest.mark.parametrize("shape", [(700, 16), (3001, 24), (5, 300, 8)])
def test_columns_in_batches_of_packs(shape: tuple[int, ...], name: str) -> None:
    """Packs are half as long because of the operations, so a thread loads two at a time."""
    x = numbers("int16", int(numpy.prod(shape))).astype("uint8").reshape(shape)
    for axis in range(len(shape) - 1):
        theirs = getattr((x + 1) ^ 5, name)(axis)
        ours = getattr((mxnp.array(x) + 1) ^ 5, name)(axis)
        numpy.testing.assert_array_equal(ours, theirs)


def test_a_search_for_nan() -> None:
    x = numpy.ones(1000, "f4")
    x[[300, 700]] = numpy.nan
    assert mxnp.argmax(mxnp.array(x)) == mxnp.argmin(mxnp.array(x)) == 300


# -- Gather and scatter ----------------------------------------------------------------

OPERATIONS = {
    "add": FLOATS | {"int32", "uint8", "int16"}, "subtract": HALVES | {"float32", "int32"},
    "multiply": HALVES | {"float32", "int32", "uint16", "int8"}, "divide": HALVES | {"float32"},
    "maximum": HALVES | {"float32", "int32", "uint8"},
    "minimum": HALVES | {"float32", "int16", "uint32"},
    "power": HALVES | {"float32"}, "fmax": HALVES | {"float32"}, "logical_or": {"bool"}, "bitwise_xor": {"uint8"},
    "left_shift": {"int32"}, "hypot": {"float32"},
}  # fmt: skip
MATRIX = [
    (name, dtype, nan, spread)
    for name, dtypes in OPERATIONS.items()
    for dtype in sorted(dtypes - COMPLEXES)
    for nan in (["none", "update", "memory", "both"] if dtype in FLOATS else ["none"])
    for spread in ("contended", "spread")
]


@pytest.mark.sampled(24)
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "dtype", "nan", "spread"), MATRIX)
def test_scatters(name: str, dtype: str, nan: str, spread: str) -> None:
    rng = numpy.random.default_rng(len(name))
    n, slots = 2000, 3 if spread == "contended" else 1500
    target = rng.integers(1, 3, slots).astype(dtype)
    # With products of 1 and 2, the order of updates does not matter.
    values = rng.choice([1, 1, 1, 1, 1, 1, 1, 2], n).astype(dtype)
    if name in {"multiply", "divide", "power", "left_shift"} and spread == "contended":
        values[:] = 1
        values[::500] = 2
    if name in {"add", "subtract"} and dtype == "bfloat16" and spread == "contended":
        values[::2] *= -1  # sums above 256 would be rounded, and depend on the order
    places = rng.integers(0, slots, n)
    if nan in {"update", "both"}:
        values[rng.integers(0, n, 20)] = numpy.nan
    if nan in {"memory", "both"}:
        target[0] = numpy.nan
    expected = target.copy()
    getattr(numpy, name).at(expected, places, values)
    ours = owned(target)
    index, operand = mxnp.array(places), mxnp.array(values)
    mxnp.synchronize()
    before = core.gpu_counts()
    getattr(mxnp, name).at(ours, index, operand)
    assert ran(before) == 1
    ordered = name in {"hypot", "power", "divide"}
    if dtype in FLOATS and (ordered or dtype in HALVES):
        rtol = {"float16": 0.02, "bfloat16": 0.1}.get(dtype, 1e-4)
        numpy.testing.assert_allclose(
            numpy.asarray(ours).astype("f8"), expected.astype("f8"), rtol=rtol
        )
    else:
        numpy.testing.assert_array_equal(ours, expected)


# These are sorted and updated in order: 64-bit elements, and `deterministic=True`.
OF_ALL = {"add", "multiply", "maximum", "minimum", "fmax", "fmin", "subtract"}
OF_ALL |= {"logical_and", "logical_or", "logical_xor"}
OF_INTEGERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"}
ORDERED = {
    "int64": OF_ALL | OF_INTEGERS, "uint64": OF_ALL | OF_INTEGERS, "complex64": OF_ALL,
    "float32": OF_ALL | {"divide"}, "float16": OF_ALL | {"divide"},
    "int16": OF_ALL | OF_INTEGERS, "bool": OF_ALL - {"subtract"},
}  # fmt: skip
if "float64" in DTYPES:
    ORDERED["float64"] = ORDERED["float32"]
ORDERED_MATRIX = [
    (name, dtype, nan, spread)
    for dtype, names in ORDERED.items()
    for name in sorted(names)
    for nan in (["none", "update", "memory", "both"] if dtype in FLOATS else ["none"])
    for spread in ("contended", "spread")
]


def in_disorder(dtype: str, name: str, n: int) -> numpy.ndarray:
    """Return values whose updates have other bits in another order, including zeros."""
    rng = numpy.random.default_rng(n + len(name))
    if dtype not in FLOATS:
        found = rng.integers(0, 256, (n, numpy.dtype(dtype).itemsize), "u1")
        found = found.view(dtype)[:, 0].copy() if dtype != "bool" else found[:, 0] > 99
        return found if "shift" not in name else abs(found) % numpy.array(3, dtype)
    found = rng.normal(size=n) * 10.0 ** rng.integers(-2, 3, n)
    found[rng.random(n) < 0.05] *= 0
    if name in {"multiply", "divide"}:
        found = 1 + found / 1e4
    found = found.astype(dtype)
    return (
        found if dtype != "complex64" else found + 1j * rng.normal(size=n).astype("f4")
    )


def assert_same_bits(ours: Any, theirs: numpy.ndarray) -> None:
    """Compare values and signs of zeros; all NaN are equal."""
    numpy.testing.assert_array_equal(ours, theirs, strict=True)
    if theirs.dtype.kind in "fc":
        for part in "real", "imag":
            a, b = getattr(numpy.asarray(ours), part), getattr(theirs, part)
            known = ~numpy.isnan(b)
            numpy.testing.assert_array_equal(*map(numpy.signbit, (a[known], b[known])))


@pytest.mark.sampled(24)
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "dtype", "nan", "spread"), ORDERED_MATRIX)
def test_updates_in_order(name: str, dtype: str, nan: str, spread: str) -> None:
    n, slots = 3000, 3 if spread == "contended" else 2500
    target, values = (in_disorder(dtype, name, size) for size in (slots, n))
    places = numpy.random.default_rng(7).integers(-slots, slots, n)
    if nan in {"update", "both"}:
        values[::211] = numpy.nan
    if nan in {"memory", "both"}:
        target[0] = numpy.nan
    expected = target.copy()
    getattr(numpy, name).at(expected, places, values)
    ours, index, operand = owned(target), mxnp.array(places), mxnp.array(values)
    mxnp.synchronize()
    before = core.gpu_counts()
    # Without atomic operations of 64 bits, all updates of such elements are in order.
    in_place = target.itemsize == 8 and "float64" not in DTYPES
    if in_place:
        getattr(mxnp, name).at(ours, index, operand)
    else:
        ours = getattr(ours.at[index], name)(operand, deterministic=True)
    mxnp.synchronize()
    after = core.gpu_counts()
    # Two dispatches for sorting, one for the updates, and one for the computed indices.
    count = after["dispatches"] - before["dispatches"]
    assert count == 4 + (not in_place)
    assert after["declined"] == before["declined"]
    assert_same_bits(ours, expected)


def test_updates_in_order_that_are_the_processors() -> None:
    """The device is not accurate enough for these, whatever the order."""
    x, places = in_disorder("float32", "power", 7), numpy.arange(3000) % 7
    values = numpy.random.default_rng(1).normal(size=3000).astype("f4")
    for name in "power", "hypot", "arctan2", "logaddexp":
        expected = x.copy()
        getattr(numpy, name).at(expected, places, values)
        selected = mxnp.array(x).at[mxnp.array(places)]
        ours = getattr(selected, name)(mxnp.array(values), deterministic=True)
        numpy.testing.assert_array_equal(ours, expected)
    for dtype in "float64", "complex128":
        expected = x.astype(dtype)
        numpy.add.at(expected, places, values.astype(dtype))
        selected = mxnp.array(x.astype(dtype)).at[mxnp.array(places)]
        for deterministic in False, True:
            operand = mxnp.array(values.astype(dtype))
            ours = selected.add(operand, deterministic=deterministic)
            numpy.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_last_of_repeated_indices_is_assigned(dtype: str) -> None:
    rng = numpy.random.default_rng(1)
    values, places = numbers(dtype, 3000, 2), rng.integers(-50, 50, 3000)
    theirs = numpy.zeros(50, dtype)
    theirs[places] = values
    ours, index, operand = mxnp.zeros(50, dtype), mxnp.array(places), mxnp.array(values)
    mxnp.synchronize()
    before = core.gpu_counts()
    ours[index] = operand
    assert ran(before) == 1
    assert_equal(ours, theirs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gathers(dtype: str) -> None:
    rng = numpy.random.default_rng(1)
    table = numbers(dtype, 6000, 2).reshape(60, 100)
    rows, columns = rng.integers(-60, 60, (2, 500))
    x, i, j = map(mxnp.array, (table, rows, columns))
    for ours, theirs in [
        (x[i], table[rows]),
        (x[:, j], table[:, columns]),
        (x[i, j], table[rows, columns]),
        (x.T[j], table.T[columns]),
        (
            mxnp.take(x, i + 100, axis=0, mode="clip"),
            table.take(rows + 100, 0, mode="clip"),
        ),
        (
            mxnp.take(x, i * 7, axis=0, mode="wrap"),
            table.take(rows * 7, 0, mode="wrap"),
        ),
    ]:
        assert_equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_sorted_arrays(dtype: str, side: str) -> None:
    table, values = numpy.sort(numbers(dtype, 500, 3)), numbers(dtype, 700, 4)
    ours = mxnp.searchsorted(mxnp.array(table), mxnp.array(values), side)
    numpy.testing.assert_array_equal(ours, numpy.searchsorted(table, values, side))


# -- Layouts and groups -----------------------------------------------------------------


@pytest.mark.parametrize("ndim", range(1, 9))
def test_axes(ndim: int) -> None:
    shape = (5, 4, 3, 2, 3, 2, 3, 2)[:ndim]
    x = numpy.arange(numpy.prod(shape), dtype="f4").reshape(shape)
    for order in itertools.islice(itertools.permutations(range(ndim)), 12):
        theirs = numpy.transpose(x, order)[::-1] * 2 + x.sum(
            0, keepdims=True
        ).transpose(order)
        y = mxnp.array(x)
        ours = mxnp.transpose(y, order)[::-1] * 2 + y.sum(0, keepdims=True).transpose(
            order
        )
        numpy.testing.assert_array_equal(ours, theirs)


def test_a_chain_is_one_dispatch() -> None:
    x = mxnp.linspace(0, 1, 10_000).astype("f4")
    mxnp.synchronize()
    before = core.gpu_counts()
    y = mxnp.sqrt(x * x + 1) * 0.5
    assert ran(before) == 1
    z = numpy.asarray(x)
    numpy.testing.assert_array_equal(y, numpy.sqrt(z * z + 1) * numpy.float32(0.5))


def test_bits_of_one_dtype_as_another() -> None:
    x = mxnp.arange(100, dtype="f4")
    y = x * 2
    bits = y.view("i4") & 0x7F800000
    numpy.testing.assert_array_equal(
        bits, (numpy.arange(100, dtype="f4") * 2).view("i4") & 0x7F800000
    )


def test_warnings_are_derived_from_results() -> None:
    x = mxnp.array(numpy.array([1.0, 0.0], "f4"))
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        numpy.asarray(1 / x)
    with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
        numpy.asarray(mxnp.sqrt(x - 2))
    with pytest.warns(RuntimeWarning, match="overflow encountered in multiply"):
        numpy.asarray((x + 1) * 3e38 * 2)


def conditions(xp: Any, name: str, args: Sequence[Any]) -> set[str]:
    """Return the warnings of a ufunc of arrays that are filled with these numbers."""
    with numpy.errstate(all="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(xp, name)(*(xp.array(numpy.full(40, a)) for a in args))
        mxnp.synchronize()
    return {str(each.message) for each in caught}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "name",
    [
        *("multiply", "square", "divide", "reciprocal", "exp"),
        *("nextafter", "spacing", "float_power"),
    ],
)
def test_conditions_are_those_of_numpy(name: str, dtype: str) -> None:
    float_type = numpy.dtype(dtype) if name != "float_power" else numpy.dtype("f8")
    if float_type.name not in core.gpu().types:
        pytest.skip("the device has no such dtype")
    limits = numpy.finfo(float_type)
    least, tiny = limits.smallest_subnormal, limits.tiny
    numbers = [0.0, -0.0, 1.0, -1.0, 1.5, 1 / 3, 4.0, -20.0, numpy.inf, numpy.nan]
    numbers += [limits.max, -limits.max, tiny, -tiny, tiny * (1 + limits.eps)]
    numbers += [tiny * 1.5, numpy.sqrt(tiny) * 1.01]
    has_subnormals = GPU != "metal" or dtype != "float32"
    if has_subnormals and name != "exp":  # exp: depends on the processor's instructions
        numbers += [least, least * 3, least * 8]
    ufunc = getattr(numpy, name)
    for args in itertools.product(numpy.array(numbers, float_type), repeat=ufunc.nin):
        expected = conditions(numpy, name, args)
        if name in ("nextafter", "spacing", "float_power"):
            expected -= {f"underflow encountered in {name}"}
        assert conditions(mxnp, name, args) == expected, args


ATOMICS = ["add", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"]


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("name", ATOMICS)
def test_updates_of_integers_are_one_operation(name: str, dtype: str) -> None:
    chance = numpy.random.default_rng(7)
    least, most = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
    for size in (1, 5, 300):
        a = chance.integers(least, most, size, dtype, endpoint=True)
        values = chance.integers(least, most, 2000, dtype, endpoint=True)
        at = chance.integers(-size, size, 2000)
        ours = mxnp.array(a)
        getattr(mxnp, name).at(ours, mxnp.array(at), mxnp.array(values))
        mxnp.synchronize()
        if GPU == "cuda" or numpy.dtype(dtype).itemsize == 4:
            assert "mx_update_by_" in core.gpu_text()
        getattr(numpy, name).at(a, at, values)
        assert numpy.asarray(ours).tobytes() == a.tobytes()


COMPARISONS = ["less", "less_equal", "greater", "greater_equal"]
EXTREMES_OF_TWO = ["maximum", "minimum", "fmax", "fmin"]


@pytest.mark.skipif(not has_dtype("bfloat16"), reason="there is no ml_dtypes")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [*COMPARISONS, *EXTREMES_OF_TWO, "equal", "not_equal"])
def test_comparisons_of_bfloat16_with_nan(name: str) -> None:
    for a, b in itertools.product([1.0, numpy.nan], repeat=2):
        x, y = (numpy.full(40, each).astype("bfloat16") for each in (a, b))
        texts = []
        for xp in (numpy, mxnp):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                getattr(xp, name)(xp.array(x), xp.array(y))
                mxnp.synchronize()
            texts.append([str(each.message) for each in caught])
        assert texts[0] == texts[1], (a, b)


@pytest.mark.parametrize(
    "name", ["maximum", "minimum", "fmax", "fmin", "less", "less_equal"]
)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_pairs_of_special_values(name: str, dtype: str) -> None:
    parts = [numpy.nan, numpy.inf, -numpy.inf, 0, 1, -2]
    values = parts if dtype == "float32" else [complex(1, y) for y in parts] + [0j, 2]
    if dtype == "complex64" and name not in COMPARISONS:
        values = [value for value in values if not numpy.isnan(value)]
    pairs = numpy.array(list(itertools.product(values, repeat=2)), dtype)
    a, b = pairs[:, 0].copy(), pairs[:, 1].copy()
    with numpy.errstate(all="ignore"):
        ours = numpy.asarray(getattr(mxnp, name)(mxnp.array(a), mxnp.array(b)))
        numpy.testing.assert_array_equal(ours, getattr(numpy, name)(a, b))


@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16"])
def test_shifts_by_the_width(name: str, dtype: str) -> None:
    width = 8 * numpy.dtype(dtype).itemsize
    by = [0, 1, width - 1, width, width + 1, *([-1] if dtype[0] == "i" else [])]
    numbers = [1, 100, *([-1, -100] if dtype[0] == "i" else [])]
    pairs = numpy.array(list(itertools.product(numbers, by)), dtype)
    a, b = pairs[:, 0].copy(), pairs[:, 1].copy()
    ours = numpy.asarray(getattr(mxnp, name)(mxnp.array(a), mxnp.array(b)))
    numpy.testing.assert_array_equal(ours, getattr(numpy, name)(a, b))


def test_a_failed_check_stops_later_operations() -> None:
    kept, n = mxnp.zeros(100, "f4"), mxnp.arange(200)
    mxnp.synchronize()
    index = n + 0  # it is not yet known that some are out of bounds
    kept[index] = 2
    with pytest.raises(IndexError, match="index 100 is out of bounds for axis 0"):
        mxnp.synchronize()
    assert (numpy.asarray(kept) == 0).all()
    assert (mxnp.zeros(100, "f4") + 1).sum() == 100


@pytest.mark.parametrize("index", [100, -101])
def test_an_index_that_is_just_out_of_bounds(index: int) -> None:
    kept, n = mxnp.zeros(100, "f4"), mxnp.array([0, index] * 50)
    mxnp.synchronize()
    kept[n + 0] = 2
    with pytest.raises(IndexError, match=f"index {index} is out of bounds"):
        mxnp.synchronize()
    assert (numpy.asarray(kept) == 0).all()


def test_no_segment_of_a_reduction_is_empty() -> None:
    """An empty last segment would add zeros to minima and products."""
    x = numpy.full((25_601, 8), -1, "f4")
    ours = mxnp.array(x)
    numpy.testing.assert_array_equal(ours.max(axis=0), x.max(axis=0))
    numpy.testing.assert_array_equal(ours.prod(axis=0), x.prod(axis=0))


def test_reductions_of_a_group_fit_the_memory_of_a_threadgroup() -> None:
    """20 sums of int64 need 40 KiB in one kernel, and a threadgroup has 32 KiB."""
    x = mxnp.arange(4000).reshape(40, 100)
    mxnp.synchronize()
    with no_reports():
        sums = [(x + i).sum(axis=1) for i in range(20)]
        mxnp.synchronize()
    for i, ours in enumerate(sums):
        numpy.testing.assert_array_equal(ours, (numpy.asarray(x) + i).sum(axis=1))


def test_a_range_in_the_pass_of_a_reduction() -> None:
    """The result is computed in packs, whose elements the range must number."""
    x = mxnp.arange(100_000, dtype="float32")
    assert float(mxnp.minimum.reduce(x + 1)) == 1
    x = mxnp.arange(100_000, dtype="float32")
    assert float((x * 2).max()) == 199_998
