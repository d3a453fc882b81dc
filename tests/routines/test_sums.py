"""
Test that sums and products have NumPy's bits in strict mode, whatever computes their elements.

A GPU adds in another order. Its sums are compared within a bound.
"""

from __future__ import annotations

import functools
import io
import itertools
import math
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from support.lanes import ON_CUDA, ON_GPU

import mxnp
from mxnp import _bridge
from mxnp._verify import tolerances

pytestmark = pytest.mark.filterwarnings("ignore")

DTYPES = ["float32", "float64", "complex64", "complex128"]

# Rows of one leaf and of many, whose halves are not multiples of 8; rows that are shorter
# than a lane of NumPy's loop, or have a rest; rows of results that are shared by threads.
CASES: list[tuple[tuple[int, ...], Any]] = [
    ((100_003,), None),
    ((1_000_007,), 0),
    ((300, 401), None),
    ((300, 401), 0),
    ((300, 401), 1),
    ((3, 50_001), 1),
    ((3, 50_001), 0),
    ((20_001, 5), 0),
    ((20_001, 5), 1),
    ((20_001, 7), 1),
    ((20_001, 8), 1),
    ((9_001, 29), 1),
    ((9_001, 29), 0),
    ((5_001, 63), 1),
    ((3_001, 100), 1),  # complex numbers of two leaves
    ((5_001, 150), 0),
    ((40, 3_001), 0),
    ((40, 9_001), 0),
    ((31, 70, 90), 0),
    ((31, 70, 90), 1),
    ((31, 70, 90), 2),
    ((70, 31, 90), (0, 2)),
    ((70, 31, 90), (0, 1)),
    ((31, 70, 90), (1, 2)),
    ((31, 70, 90), None),
    ((31, 2_000, 3), 1),
    ((31, 2_000, 3), 2),
]

EXPRESSIONS: dict[str, Callable[[types.ModuleType, Any, Any], Any]] = {
    "x.sum": lambda xp, x, axis: xp.sum(x, axis=axis),
    "x*x": lambda xp, x, axis: xp.sum(x * x, axis=axis),
    "2*x and max": lambda xp, x, axis: (
        xp.sum(x * 2, axis=axis) + xp.max(abs(x), axis=axis)
    ),
    "mean": lambda xp, x, axis: xp.mean(x, axis=axis, keepdims=True),
    "std": lambda xp, x, axis: xp.std(x, axis=axis),
    "nansum": lambda xp, x, axis: xp.nansum(x, axis=axis),
    "row*x": lambda xp, x, axis: xp.sum(x * x[:1], axis=axis),
}

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda x: x,
    "F": lambda x: x.copy(order="F"),
    "reversed": lambda x: x[::-1].copy()[::-1],
}


def numbers(dtype: str, shape: tuple[int, ...]) -> Any:
    """Return numbers whose sum depends on the order of the additions."""
    return drawn(dtype, shape).copy()


@functools.lru_cache(8)
def drawn(dtype: str, shape: tuple[int, ...]) -> Any:
    """Return the numbers, which take longer than to add them."""
    random = numpy.random.default_rng(len(shape) + shape[0])
    found = random.standard_normal(shape) * 10.0 ** random.integers(-3, 4, shape)
    if dtype.startswith("c"):
        return (found + 1j * random.standard_normal(shape)).astype(dtype)
    return found.astype(dtype)


def assert_same_bits(mine: Any, numpys: Any) -> None:
    assert type(mine).__name__ == type(numpys).__name__
    mine, numpys = numpy.asarray(mine), numpy.asarray(numpys)
    assert (mine.dtype, mine.shape) == (numpys.dtype, numpys.shape)
    assert mine.tobytes() == numpys.tobytes()


def updated(xp: types.ModuleType, x: Any) -> Any:
    result = x * 1
    result[..., 1:] += x[..., :-1]
    return result


def assert_near(mine: Any, numpys: Any, size: Any, count: int) -> None:
    """Assert that a sum of `count` numbers, whose absolute values add to `size`, is near."""
    mine, numpys = numpy.asarray(mine), numpy.asarray(numpys)
    assert (mine.dtype, mine.shape) == (numpys.dtype, numpys.shape)
    steps = numpy.log2(count) + tolerances.SUM_STEPS["gpu"]
    assert (abs(mine - numpys) <= steps * numpy.finfo(mine.dtype).eps * size).all()


@pytest.mark.sampled(24)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), CASES, ids=str)
def test_sums_have_numpys_bits(
    shape: tuple[int, ...], axis: Any, dtype: str, layout: str
) -> None:
    theirs = LAYOUTS[layout](numbers(dtype, shape))
    mine = LAYOUTS[layout](mxnp.asarray(numbers(dtype, shape)).copy())
    for name, compute in EXPRESSIONS.items():
        if not isinstance(axis, int) and (name == "row*x" or layout == "reversed"):
            continue  # NumPy adds these as one long row: see "Last bits"
        if dtype.startswith("c") and layout == "reversed" and "*" in name:
            continue  # NumPy's products depend on the strides
        numpys, ours = compute(numpy, theirs, axis), compute(mxnp, mine, axis)
        if ON_CUDA:
            length = numpy.sqrt(
                numpy.mean(abs(theirs) ** 2, axis, keepdims=name == "mean")
            )
            size = compute(numpy, abs(theirs), axis) + length
            assert_near(ours, numpys, size, theirs.size)
        else:
            assert_same_bits(ours, numpys)


@pytest.mark.sampled(2)
@pytest.mark.skipif(ON_CUDA, reason="a GPU adds in another order")
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_rows_and_their_ends(dtype: str) -> None:
    """Rows have up to 8 leaves, whose last numbers are fewer than the lanes."""
    for length in (*range(63, 140, 7), 200, 255, 257, 500, 513, 1000, 1023, 1024, 1025):
        theirs = numbers(dtype, (300_007 // length, length + 1))[:, 1:]
        mine = mxnp.array(theirs)
        assert_same_bits(mxnp.sum(mine, axis=1), theirs.copy().sum(axis=1))
        mine = mxnp.array(theirs.base)[:, 1:]  # type: ignore[index]
        assert_same_bits(mxnp.sum(mine[::2], axis=1), theirs[::2].sum(axis=1))
        assert_same_bits(mxnp.sum(mine[:, ::-1], axis=1), theirs[:, ::-1].sum(axis=1))


PARTS: dict[str, Callable[[types.ModuleType, Any], Any]] = {
    "differences": lambda xp, x: (x[1:, 1:] - x[:-1, :-1]).sum(),
    "squares": lambda xp, x: ((x[2:, ::2] - x[:-2, ::2]) ** 2).mean(),
    "of each plane": lambda xp, x: xp.sum(
        x[1:, 3:].reshape(2, -1, x.shape[1] - 3) * 3, (1, 2)
    ),
    "less the means of columns": lambda xp, x: ((x - x[0]) * 2).sum(),
    "less the means of rows": lambda xp, x: (x - x[:, :1]).sum(),
    "of one sign": lambda xp, x: xp.sqrt(abs(x[:, 1:])).sum(),
    "transposed": lambda xp, x: (x.T[1:] + x.T[:-1]).sum(),
    "selected": lambda xp, x: xp.where(x[1:] > 0, x[1:], x[0]).sum(),
    "deviation": lambda xp, x: (x[1:, 1:] * 2).std(),
    "of short rows": lambda xp, x: (
        x[:, : x.shape[1] // 30 * 30].reshape(len(x), -1, 10)[:, 1:] * 2
    ).sum(2),
    "of both layouts": lambda xp, x: [
        y := x * 3,
        z := xp.asarray(x.copy(order="F")) * 2,
        z.sum(1) + (y + z).sum(1),
    ][-1],
    "kept": lambda xp, x: [y := x[:, 1:] * x[:, :1], y.sum(), y.max()][1],
    "after others": lambda xp, x: [
        (x * 2).sum(),
        y := x[:, 1:] * x[:, :1],
        z := (y + 1).sum(),
        z + (x[:, :-1] * y).sum(),
    ][-1],
    "and absolute values": lambda xp, x: [y := x * 2, y.sum(1) + abs(y).sum(1)][-1],
}


@pytest.mark.skipif(ON_GPU, reason="a GPU adds in another order")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PARTS)
def test_sums_of_computed_matrices(name: str, dtype: str) -> None:
    """Their elements are contiguous in NumPy, even if the operands have gaps."""
    for shape in ((201, 150), (11, 9_001), (4_001, 31), (401, 500)):
        theirs = numbers(dtype, shape)
        mine = mxnp.array(theirs)
        assert_same_bits(PARTS[name](mxnp, mine), PARTS[name](numpy, theirs))


REDUCTIONS: dict[str, Callable[[types.ModuleType, Any, Any], Any]] = {
    "sum": lambda xp, x, axis: xp.sum(x, axis),
    "sum of some": lambda xp, x, axis: xp.sum(x, axis, where=x.real > 0),
    "sum in float64": lambda xp, x, axis: xp.sum(x.real, axis, dtype="float64"),
    "mean": lambda xp, x, axis: xp.mean(x, axis),
    "var": lambda xp, x, axis: xp.var(x, axis),
    "std": lambda xp, x, axis: xp.std(x, axis),
    "prod": lambda xp, x, axis: xp.prod(x, axis),
    "nansum": lambda xp, x, axis: xp.nansum(x, axis),
    "nanprod": lambda xp, x, axis: xp.nanprod(x, axis),
    "nanmean": lambda xp, x, axis: xp.nanmean(x, axis),
    "nanvar": lambda xp, x, axis: xp.nanvar(x, axis),
    "nanstd": lambda xp, x, axis: xp.nanstd(x, axis),
    "add.reduce": lambda xp, x, axis: xp.add.reduce(x, axis),
}


def places(n: int) -> Any:
    return numpy.arange(n) * 7 % n


OPERANDS: dict[str, Callable[[types.ModuleType, Any], Any]] = {
    "last axis": lambda xp, x: x[..., xp.asarray(places(x.shape[-1]))],
    "first axis": lambda xp, x: x[xp.asarray(places(len(x)))],
    "elements": lambda xp, x: x.ravel()[xp.asarray(places(x.size).reshape(x.shape))],
    "taken": lambda xp, x: xp.take(x, xp.asarray(places(x.shape[-1])), axis=-1) + x,
    "where": lambda xp, x: xp.where(x.real > 0, x, 0),
    "masked": lambda xp, x: (x * 1)[abs(x) > 0.01] * 2,
    "scaled": lambda xp, x: x * 2 - 1,
    "squares": lambda xp, x: x * x,
    "less a row": lambda xp, x: x - x[:1],
    "less a column": lambda xp, x: x - x[..., :1],
    "with gaps": lambda xp, x: x[1:, ..., 1:] - x[:-1, ..., :-1],
    "with steps": lambda xp, x: x[..., ::2] * 2,
    "of short rows": lambda xp, x: x.reshape(-1, 6)[:, 1:] * 2,
    "reversed": lambda xp, x: x[::-1] + x[..., ::-1],
    "transposed": lambda xp, x: x.T * 2,
    "both orders": lambda xp, x: x + x.T.copy().T,
    "view": lambda xp, x: (x * 2)[..., 1:],
    "view of columns": lambda xp, x: (x * 2).T[1:],
    "updated": updated,
}

# Two columns or rows, rows of several leaves, rows of a few elements, three axes.
WAITING = [(2, 6_000), (6_000, 2), (20, 603), (11, 36, 30), (100, 10, 12)]
WAITING_AXES = {
    1: [None, 0],
    2: [None, 0, 1],
    3: [None, 0, 1, 2, (0, 1), (0, 2), (1, 2)],
}


@pytest.fixture
def low_threshold() -> Iterator[int]:
    """Record arrays of 1,024 elements. NumPy reduces those of 16,384 in memory."""
    before = _bridge.set_threshold(1_024), _bridge.set_eager(False)
    yield 16 * 1_024
    _bridge.set_threshold(before[0])
    _bridge.set_eager(before[1])


@pytest.mark.sampled(6)
@pytest.mark.skipif(ON_GPU, reason="a GPU adds in another order")
@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_waiting_and_computed_arrays(
    name: str, operand: str, low_threshold: int
) -> None:
    """Whether an operand waits or is in memory makes no difference to a bit."""
    reduce, compute = REDUCTIONS[name], OPERANDS[operand]
    for dtype, shape in itertools.product([*DTYPES, "float16"], WAITING):
        assert math.prod(shape) < low_threshold
        x = numbers(dtype, shape)
        x = x / abs(x) * (1 + abs(x) % 0.01) if "prod" in name else x
        for order in ("C", "F"):
            mine = mxnp.array(x.astype(dtype), order=order)
            for axis in WAITING_AXES[compute(mxnp, mine).ndim]:
                computed = compute(mxnp, mine)
                mxnp.synchronize()
                result = reduce(mxnp, compute(mxnp, mine), axis)
                assert_same_bits(result, reduce(mxnp, computed, axis))


HALVES: dict[str, Callable[[types.ModuleType, Any, Any], Any]] = {
    **{name: REDUCTIONS[name] for name in ("sum", "prod", "nanmean", "add.reduce")},
    "sum of some": REDUCTIONS["sum of some"],
    "of integers": lambda xp, x, axis: xp.sum(x.view("i2") >> 4, axis, "float16"),
    "sum of a product": lambda xp, x, axis: xp.sum(x * x, axis),
    "sum and maximum": lambda xp, x, axis: xp.sum(x, axis) + xp.max(x, axis),
    "from a value": lambda xp, x, axis: xp.sum(x, axis, initial=-0.0, keepdims=True),
}


@pytest.mark.sampled(4)
@pytest.mark.skipif(ON_GPU, reason="a GPU adds in another order")
@pytest.mark.parametrize("layout", [*LAYOUTS, "with gaps", "zeros"])
@pytest.mark.parametrize("name", HALVES)
def test_sums_of_float16(name: str, layout: str) -> None:
    """NumPy rounds the sum of a row, or each sum if it goes row by row."""
    reduce = HALVES[name]
    for shape in ((300_007,), (3, 90_001), (90_001, 3), (300, 1_009), (40, 50, 150)):
        x = numbers("float64", shape)
        x = x / abs(x) * (1 + abs(x) % 0.01) if name == "prod" else x / 10
        if layout == "zeros":
            x[...] = -0.0
        x = x.astype("float16")
        change = LAYOUTS.get(layout, lambda x: x[..., 1:] if layout[0] == "w" else x)
        theirs, mine = change(x), change(mxnp.asarray(x.copy()))
        for axis in WAITING_AXES[x.ndim]:
            numpys = reduce(numpy, theirs, axis)
            assert_same_bits(reduce(mxnp, mine, axis), numpys)
            if layout in ("C", "F"):
                assert_same_bits(reduce(mxnp, mine * 1, axis), numpys)


COLUMNS: list[tuple[tuple[int, ...], int]] = [
    ((300, 1_000), 0),
    ((70, 6_000), 0),
    ((40, 8_190), 0),
    ((270, 1_001), 0),  # 7 * 11 * 13
    ((300, 1_009), 0),  # a prime number
    ((2_003, 395), 0),  # 2 parts of 200 and 195 numbers
    ((67, 4_999), 0),
    ((5_009, 101), 0),
    ((130, 2_048), 0),  # parts as wide as the kernel takes, with two threads
    ((70, 4_096), 0),
    ((90, 3_072), 0),  # with three
    ((50, 6_144), 0),
    ((40, 7_168), 0),  # with seven
    ((20, 14_336), 0),
    ((3, 110, 1_024), 1),
    ((300, 2, 512), 0),
]


@pytest.mark.sampled(26)
@pytest.mark.skipif(ON_CUDA, reason="a GPU adds in another order")
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("dtype", [*DTYPES, "float16", "int64"])
@pytest.mark.parametrize(("shape", "axis"), COLUMNS, ids=str)
def test_columns_that_threads_share(
    shape: tuple[int, ...], axis: int, dtype: str, threads: int
) -> None:
    theirs, before = numbers(dtype, shape), mxnp.set_num_threads(threads)
    mine = mxnp.asarray(theirs.copy())
    expressions = ["x.sum", "mean", "x*x", "2*x and max"] + ["std"] * (dtype[0] != "c")
    try:
        for name in expressions:
            compute = EXPRESSIONS[name]
            assert_same_bits(compute(mxnp, mine, axis), compute(numpy, theirs, axis))
        parts = theirs[::-2], theirs[..., 1:], theirs[..., ::-1]
        for part, numpys in zip(
            (mine[::-2], mine[..., 1:], mine[..., ::-1]), parts, strict=True
        ):
            assert_same_bits(mxnp.sum(part, axis=axis), numpy.sum(numpys, axis=axis))
            assert_same_bits(mxnp.max(part, axis=axis), numpy.max(numpys, axis=axis))
    finally:
        mxnp.set_num_threads(before)


def store_and_add(xp: Any, x: Any, y: Any) -> list[Any]:
    """Compute arrays that stay and their sums in the same pass."""
    z = x * 2 + y
    x -= y
    return [x, z, z.sum(axis=0), (z * x).max(axis=0)]


ROW_PROGRAMS: dict[str, Any] = {
    "stored results": store_and_add,
    "several dtypes": lambda xp, x, y: [
        (x.astype("f4") * xp.float32(3)).sum(axis=0),
        ((x > y).astype("f8") * y).sum(axis=0),
    ],
    "broadcast operands": lambda xp, x, y: [((x - y[0]) * y[:, :1] + 1).sum(axis=0)],
    "one operand twice": lambda xp, x, y: [((x * x - x) / (y + x)).sum(axis=0)],
    "exponentials": lambda xp, x, y: [(xp.exp(x) - xp.sin(y) * x).sum(axis=0)],
    "reversed rows": lambda xp, x, y: [(x * y[:, ::-1]).sum(axis=0)],
    "no number": lambda xp, x, y: [((x - x) / (y - y)).sum(axis=0)],
    "large numbers": lambda xp, x, y: [((x * 1e308) * (y + 10)).sum(axis=0)],
}


@pytest.mark.sampled(5)
@pytest.mark.skipif(ON_CUDA, reason="a GPU adds in another order")
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", ROW_PROGRAMS)
def test_rows_computed_in_parts(name: str, threads: int) -> None:
    """Loops compute the rows of a part where they are, without copies of them."""
    before, program = mxnp.set_num_threads(threads), ROW_PROGRAMS[name]
    try:
        for shape in ((301, 1_009), (40, 8_191), (3_001, 270)):
            given = [numbers("float64", shape), numbers("float64", shape)[::-1]]
            results = []
            for xp in (numpy, mxnp):
                x, y = (xp.array(array) for array in given)
                with warnings.catch_warnings(record=True) as found:
                    warnings.simplefilter("always")
                    arrays = [numpy.array(array) for array in program(xp, x, y)]
                results.append((arrays, sorted({str(w.message) for w in found})))
            (numpys, numpys_warnings), (ours, our_warnings) = results
            for mine, theirs in zip(ours, numpys, strict=True):
                assert_same_bits(mine, theirs)
            assert our_warnings == numpys_warnings
    finally:
        mxnp.set_num_threads(before)


def squares_and_most(xp: Any, x: Any, y: Any) -> Any:
    """Use differences, which are never in memory, for a sum of squares and for an extreme."""
    differences = x - y[:, :1]
    squares, most = (differences**2).sum(axis=1), differences.max(axis=1)
    del differences
    return squares + most


SQUARES: dict[str, Any] = {
    "of rows": lambda xp, x, y: ((x - y[:, :1]) ** 2).sum(axis=1),
    "of columns": lambda xp, x, y: ((x - y[0]) ** 2).sum(axis=0),
    "of all": lambda xp, x, y: ((x - x[0, 0]) ** 2).sum(),
    "from a number": lambda xp, x, y: xp.square(x - 0.25).sum(axis=-1),
    "as a product": lambda xp, x, y: xp.var(x, axis=0, mean=y[:1]),
    "reversed": lambda xp, x, y: ((x[:, ::-1] - y[:, :1]) ** 2).sum(axis=1),
    "with gaps": lambda xp, x, y: ((x[::2, 1::2] - y[::2, :1]) ** 2).sum(axis=1),
    "from each element": lambda xp, x, y: ((x - y) ** 2).sum(axis=1),
    "from reversed means": lambda xp, x, y: ((x - y[::-1, 1:2]) ** 2).sum(axis=1),
    "from rows with gaps": lambda xp, x, y: ((x[:, 1:] - y[0, :-1]) ** 2).sum(axis=0),
    "beside an extreme": squares_and_most,
    "that overflow": lambda xp, x, y: (
        (
            x * x.dtype.type(1e30) * x.dtype.type(1e30 if x.itemsize == 4 else 1e200)
            - y[:1]
        )
        ** 2
    ).sum(axis=0),
}


@pytest.mark.sampled(5)
@pytest.mark.skipif(ON_CUDA, reason="a GPU adds in another order")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SQUARES)
def test_squares_of_differences(name: str, dtype: str) -> None:
    """One kernel computes the difference, its square and the sum."""
    for shape in ((301, 1_009), (3_001, 101), (20_000, 16), (7, 30_011)):
        results = []
        for xp in (numpy, mxnp):
            x, y = (
                xp.array(numbers(dtype, shape)),
                xp.array(numbers(dtype, shape)[::-1]),
            )
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                result = numpy.array(SQUARES[name](xp, x, y))
            results.append((result, sorted({str(w.message) for w in found})))
        (theirs, their_warnings), (mine, my_warnings) = results
        assert_same_bits(mine, theirs)
        assert my_warnings == their_warnings


@pytest.mark.skipif(ON_GPU, reason="a GPU reduces in another order")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_the_first_complex_nan_is_the_extreme(name: str, dtype: str) -> None:
    theirs = numpy.zeros((20_000, 3), dtype, order="F")
    theirs.real[5::7] = numpy.nan
    theirs.imag = numpy.arange(60_000).reshape(20_000, 3)
    mine = mxnp.array(theirs)
    for turned in (
        lambda x: x,
        lambda x: x[::-1],
        lambda x: x[::-1, ::-1],
        lambda x: x.T,
    ):
        for axis in (0, 1, None):
            ours = getattr(mxnp, name)(turned(mine), axis=axis)
            assert_same_bits(ours, getattr(numpy, name)(turned(theirs), axis=axis))


@pytest.mark.parametrize("shape", [(1,), (1, 1), (3,)], ids=str)
def test_clip_of_negative_zeros(shape: tuple[int, ...]) -> None:
    zeros = numpy.full(shape, -0.0)
    for bounds in ((0, 9), (0.0, 9.0), (-1, 0)):
        ours = mxnp.clip(mxnp.array(zeros), *bounds)
        assert_same_bits(ours, numpy.clip(zeros, *bounds))


@pytest.mark.skipif(ON_CUDA, reason="threads of the processor")
@pytest.mark.thread_unsafe(reason="it explains the operations of all threads")
@pytest.mark.parametrize(
    "shape", [(1_000, 1_000), (125, 8_000), (1_000, 1_009), (5_009, 101)], ids=str
)
@pytest.mark.parametrize("name", ["sum", "max"])
def test_columns_are_reduced_by_several_threads(
    name: str, shape: tuple[int, ...]
) -> None:
    x, text = mxnp.asarray(numbers("float64", shape).copy()), io.StringIO()
    before = mxnp.set_num_threads(2)
    try:
        numpy.asarray(getattr(mxnp, name)(x, axis=0))
        mxnp.explain(text)
    finally:
        mxnp.set_num_threads(before)
    assert "2 threads" in text.getvalue()


def test_sums_are_the_same_for_any_number_of_threads() -> None:
    x = mxnp.asarray(numbers("float64", (3_001, 701))).copy()
    before = mxnp.get_num_threads()
    try:
        for axis in (None, 0, 1):
            found = set()
            for threads in (1, 2, 3, 7):
                mxnp.set_num_threads(threads)
                found.add(numpy.asarray((x * x).sum(axis=axis)).tobytes())
            assert len(found) == 1
    finally:
        mxnp.set_num_threads(before)


def test_sum_of_negative_zeros_and_an_initial_value() -> None:
    zeros = numpy.full((400, 300), -0.0)
    mine = mxnp.asarray(zeros).copy()
    for axis in (None, 0, 1):
        assert_same_bits(mxnp.sum(mine, axis=axis), numpy.sum(zeros, axis=axis))
        assert_same_bits(
            mxnp.sum(mine, axis=axis, initial=-0.0),
            numpy.sum(zeros, axis=axis, initial=-0.0),
        )
    theirs = numbers("float64", (100_003,))
    ours = mxnp.sum(mxnp.asarray(theirs).copy(), initial=0.1)
    numpys = numpy.sum(theirs, initial=0.1)
    if ON_CUDA:
        assert_near(ours, numpys, numpy.sum(abs(theirs)), theirs.size)
    else:
        assert_same_bits(ours, numpys)


@pytest.mark.skipif(ON_CUDA, reason="sums of a GPU have other bits")
def test_sums_in_several_threads_have_numpys_bits() -> None:
    theirs = [numbers("float64", (5_000 + 17 * k, 40)) for k in range(4)]
    failed: list[str] = []

    def check(k: int) -> None:
        mine = mxnp.asarray(theirs[k]).copy()
        for _ in range(20):
            for axis in (None, 0, 1):
                total = numpy.asarray((mine * mine).sum(axis=axis))
                if (
                    total.tobytes()
                    != numpy.asarray((theirs[k] * theirs[k]).sum(axis)).tobytes()
                ):
                    failed.append(f"{k}, axis {axis}")

    threads = [threading.Thread(target=check, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.skipif(ON_CUDA, reason="sums of a GPU have other bits")
def test_mean_divides_complex64_by_a_wider_count() -> None:
    theirs = numbers("complex64", (56, 3_000))
    mine = mxnp.asarray(theirs).copy()
    assert_same_bits(mxnp.mean(mine, axis=1), numpy.mean(theirs, axis=1))
    assert_same_bits(mxnp.var(mine, axis=1), numpy.var(theirs, axis=1))


# -- Products ----------------------------------------------------------------------------

# The innermost axis is kept, or the reduced rows are short.
PRODUCTS: list[tuple[tuple[int, ...], Any]] = [
    ((300, 401), 0),
    ((300, 401), 1),
    ((3, 50_001), 0),
    ((20_001, 5), 0),
    ((9_001, 29), 0),
    ((5_001, 150), 0),
    ((5_001, 64), 1),
    ((900, 1_024), 1),
    ((40, 3_001), 0),
    ((31, 70, 90), 0),
    ((31, 70, 90), 1),
    ((31, 70, 90), 2),
    ((70, 31, 90), (0, 1)),
    ((31, 2_000, 3), 1),
]

FACTORS: dict[str, Callable[[types.ModuleType, Any, Any], Any]] = {
    "prod": lambda xp, x, axis: xp.prod(x, axis=axis),
    "2*x-1": lambda xp, x, axis: xp.prod(2 * x - 1, axis=axis),
    "nanprod": lambda xp, x, axis: xp.nanprod(x, axis=axis, keepdims=True),
    "x and sum": lambda xp, x, axis: xp.prod(x, axis=axis) + xp.sum(x, axis=axis),
    "x and max": lambda xp, x, axis: xp.prod(x, axis=axis) + xp.max(x, axis=axis),
}


def factors(dtype: str, shape: tuple[int, ...], spread: float) -> Any:
    """Return numbers whose product depends on the order of the multiplications."""
    random = numpy.random.default_rng(len(shape) + shape[0])
    found = numpy.exp(random.uniform(-spread, spread, shape))
    if dtype.startswith("c"):
        return (found * numpy.exp(1j * random.uniform(0, 6, shape))).astype(dtype)
    return (found * random.choice([-1, 1], shape)).astype(dtype)


@pytest.mark.sampled(19)
@pytest.mark.skipif(ON_GPU, reason="a GPU multiplies in another order")
@pytest.mark.parametrize("layout", ["C", "reversed"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), PRODUCTS, ids=str)
def test_products_have_numpys_bits(
    shape: tuple[int, ...], axis: Any, dtype: str, layout: str
) -> None:
    theirs = LAYOUTS[layout](factors(dtype, shape, 0.05))
    mine = LAYOUTS[layout](mxnp.asarray(factors(dtype, shape, 0.05)).copy())
    for compute in FACTORS.values():
        assert_same_bits(compute(mxnp, mine, axis), compute(numpy, theirs, axis))


@pytest.mark.skipif(ON_GPU, reason="a GPU multiplies in another order")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_overflow_where_numpys_do(dtype: str) -> None:
    """Partial products of most columns overflow or underflow."""
    theirs = factors(dtype, (2_001, 400), 30)
    mine = mxnp.array(theirs)
    found = mxnp.prod(mine, axis=0)
    assert_same_bits(found, numpy.prod(theirs, axis=0))
    assert_same_bits(mxnp.prod(mine[:, :7], axis=0), numpy.prod(theirs[:, :7], axis=0))


@pytest.mark.skipif(ON_GPU, reason="a GPU multiplies in another order")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_long_rows(dtype: str) -> None:
    """NumPy multiplies one number after the other. mxnp multiplies products of blocks."""
    theirs = factors(dtype, (300_003,), 0.01)
    product = theirs[0]
    for factor in theirs[1:]:
        product = product * factor
    assert product == numpy.prod(theirs)
    bound = theirs.size * numpy.finfo(dtype).eps
    numpy.testing.assert_allclose(
        mxnp.prod(mxnp.array(theirs) * 1), product, rtol=bound
    )

    # NumPy's product overflows at the second large number. mxnp's block has its inverse, too.
    large = numpy.finfo(dtype).max / 4
    theirs = numpy.ones(300_000, dtype)
    theirs[[10, 100_100, 100_101]] = large, large, 1 / large
    assert numpy.prod(theirs) == numpy.inf
    found = mxnp.prod(mxnp.array(theirs) * 1)
    numpy.testing.assert_allclose(found, large, rtol=bound)


@pytest.mark.skipif(ON_GPU, reason="a GPU adds in another order")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("shape", [(700,), (500, 1), (1, 1)])
@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
def test_views_that_repeat_elements(
    name: str, shape: tuple[int, ...], axis: int | None, dtype: str
) -> None:
    """NumPy goes through repeated elements in an order of its own."""
    results = []
    for np in (numpy, mxnp):
        a = np.array(factors(dtype, shape, 0.01))
        found = getattr(np, name)(np.broadcast_to(a, (500, 700)), axis=axis)
        results.append(numpy.asarray(found).tobytes())
    assert results[0] == results[1]


@pytest.fixture
def usual_threshold() -> Iterator[None]:
    """Have the usual border of large sums, which have another order."""
    before = _bridge.set_threshold(16_384)
    yield
    _bridge.set_threshold(before)


@pytest.mark.skipif(ON_GPU, reason="a GPU adds in another order")
@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint8"])
def test_waiting_integers_in_float32(
    usual_threshold: None, dtype: str, name: str
) -> None:
    """NumPy casts a part of the integers at a time, and adds the sums of the parts."""
    results = []
    for np in (numpy, mxnp):
        a = np.array(
            numpy.random.default_rng(3).integers(0, 120, 200_000).astype(dtype)
        )
        results.append(getattr(a * 1 + 100, name)(dtype="float32").tobytes())
    assert results[0] == results[1]
