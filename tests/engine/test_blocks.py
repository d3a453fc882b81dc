"""Test the ends of blocks, segments and chunks, and what the operations of a pass share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.constants import constant
from support.lanes import ON_CUDA, ON_GPU

import mxnp
from mxnp import _bridge

N = 50_000
RECORDED = constant("base/limits.h", "MX_MOST_DIRECT") + 1  # NumPy copies fewer bytes
PAGE = constant("cpu/kernels/copy_kernels.c", "PAGE")


def both(compute: Callable[[Any], Any]) -> None:
    """
    Assert that mxnp and NumPy compute the same elements and issue the same warnings.

    mxnp computes first, so that memory that it does not write cannot have NumPy's elements.
    """
    results = []
    for xp in (mxnp, numpy):
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            found = compute(xp)
            mxnp.synchronize()
        texts = sorted({str(each.message) for each in issued})
        results.append((numpy.asarray(found), texts))
    (ours, texts), (expected, numpys) = results
    assert ours.dtype == expected.dtype
    numpy.testing.assert_array_equal(ours, expected)
    assert texts == numpys


def numbers(xp: Any, *shape: int) -> Any:
    """Return numbers that are in memory, so that no operation is recorded for them."""
    return xp.array(numpy.random.default_rng(len(shape)).normal(size=shape))


# -- Copies ------------------------------------------------------------------------------


# Distances in bytes around those that csrc/cpu/kernels/copy_kernels.c copies in parts.
@pytest.mark.parametrize("distance", [1, 8, 31, 32, 33, 1024, 4095, 4097])
@pytest.mark.parametrize("is_ahead", [False, True])
def test_copies_between_places_of_pages(distance: int, is_ahead: bool) -> None:
    apart = -(-RECORDED // PAGE) * PAGE + distance
    made = numpy.random.default_rng(0).integers(0, 256, 2 * apart, dtype=numpy.uint8)
    for n, ends in (
        (apart + RECORDED, (slice(apart, None), slice(None, RECORDED))),
        (RECORDED, (slice(distance, None), slice(None, -distance))),
    ):
        to, start = ends if is_ahead else ends[::-1]

        def copied(xp: Any, n: int = n, to: slice = to, start: slice = start) -> Any:
            x = xp.array(made[:n]) ^ 1
            x[to] = x[start]
            return x

        both(copied)


# -- Any and all -----------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 1, 17_000, 300_000, 599_999, None])
@pytest.mark.parametrize("dtype", ["?", "i8", "f8"])
@pytest.mark.parametrize("shape", [(600_000,), (3, 200_000), (600, 1000)])
def test_any_and_all_that_one_element_decides(
    shape: tuple[int, ...], dtype: str, place: int | None
) -> None:
    made = numpy.zeros(shape, dtype)
    if place is not None:
        made.flat[place] = 1
    for axis in (None, -1, 0):
        both(lambda xp, i=axis: (xp.array(made) > 0).any(axis=i))
        both(lambda xp, i=axis: (xp.array(made) == 0).all(axis=i))
        both(lambda xp, i=axis: xp.array(made).any(axis=i))
        both(lambda xp, i=axis: xp.logical_not(xp.array(made)).all(axis=i))


def test_any_and_all_of_a_mask_that_is_used_again() -> None:
    x = numpy.arange(600_000.0)

    def compute(xp: Any) -> Any:
        mask = xp.array(x) < 500_000
        return [mask.any(), mask.all(), mask.sum(), mask[::1000].any(), *mask[-3:]]

    both(lambda xp: xp.array([int(each) for each in compute(xp)]))


@pytest.mark.skipif(ON_CUDA, reason="a GPU does not report NaN in casts")
@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("place", [0, 300_000, 599_999])
def test_warnings_behind_the_element_that_decides(place: int) -> None:
    """NumPy computes all elements before it looks for one that is true."""
    made = numpy.ones(600_000)
    made[place] = 0
    made[-2] = -1
    signalling = numpy.ones(600_000)
    signalling.view("u8")[place] = 0x7FF4000000000000
    both(lambda xp: (1 / xp.array(made) < 2).any())
    both(lambda xp: (xp.sqrt(xp.array(made)) < 2).any())
    both(lambda xp: (xp.array(made).astype("i8") // xp.array(made).astype("i8")).any())
    both(lambda xp: xp.array(signalling).astype(bool).any())
    both(lambda xp: (xp.array(signalling) > 0).any())


# -- Rows that are kept ----------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["?", *"bhilBHILfd"])
@pytest.mark.parametrize(
    "shape", [(9000, 16), (7001, 63), (3001, 131), (601, 1000), (200, 2048), (40, 5000)]
)
def test_reductions_along_outer_axes(shape: tuple[int, int], dtype: str) -> None:
    made = numpy.random.default_rng(0).integers(-120, 120, shape).astype(dtype)
    for name in ("max", "min", "any", "all", "sum"):
        if name != "sum" or dtype not in "fd":
            both(
                lambda xp, of=name: (
                    getattr(xp.array(made) ^ True, of)(0)
                    if dtype == "?"
                    else getattr(xp.array(made) + made[:1], of)(axis=0)
                )
            )
            both(lambda xp, of=name: getattr(xp.array(made)[::-1, ::2], of)(axis=0))
    both(lambda xp: (xp.array(made) > made[3]).any(axis=0))
    both(lambda xp: xp.array(made.reshape(-1, 1, shape[1])).max(axis=(0, 1)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_extremes_of_rows_with_nan(dtype: str) -> None:
    """NaN wins, without a warning."""
    made = numpy.random.default_rng(0).normal(size=(9001, 67)).astype(dtype)
    made[4000, 3] = made[-1, 40] = numpy.nan
    made[0, 5] = -numpy.inf
    both(lambda xp: xp.array(made).max(axis=0))
    both(lambda xp: (xp.array(made) * 2).min(axis=0))
    both(lambda xp: xp.array(made).max(axis=1))
    both(lambda xp: (1 / (xp.array(made) - made[:1])).max(axis=0))


# -- Searches and scans ----------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[:, ::3], lambda x: x[::-1]])
def test_searches_in_lines_with_gaps(view: Any, axis: int) -> None:
    both(lambda xp: view(numbers(xp, 700, 900)).argmax(axis=axis))


ROWS = [(40_001, 1), (13_001, 3), (10_000, 4), (1201, 31), (1200, 32), (1199, 33)]
ROWS += [(40, 900), (19, 2050), (2, 20_000), (1, 40_000)]
SEARCHED = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?", "D"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("columns", [2, 4, 8, 16])
def test_negative_numbers_beside_a_reduction(columns: int, dtype: str) -> None:
    """NumPy's loop is wrong for some strides, which a pass over columns would have."""
    x = numpy.arange(101 * columns).reshape(-1, columns).astype(dtype)
    before = _bridge.set_threshold(0)
    flags, a = mxnp.array(x > 3), mxnp.array(x)
    mxnp.synchronize()
    found, y = mxnp.any(flags, axis=1), -a
    n = _bridge.pending()
    _bridge.set_threshold(before)
    assert n == 2
    assert (y.__array__() == -x).all()
    assert (found.__array__() == (x > 3).any(axis=1)).all()


@pytest.mark.parametrize("dtype", SEARCHED)
@pytest.mark.parametrize("shape", ROWS)
def test_searches_of_rows_with_ties(shape: tuple[int, int], dtype: str) -> None:
    """The first of equal elements is found, in whichever piece of the rows it is."""
    few = numpy.random.default_rng(1).integers(0, 3, shape).astype(dtype)
    many = numpy.random.default_rng(2).integers(0, 120, shape).astype(dtype)
    for made in (few, many):
        both(lambda xp, a=made: (xp.array(a) + 0 * a[:1]).argmax(axis=0))
        both(lambda xp, a=made: (xp.array(a) + 0 * a[:1]).argmin(axis=0))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", ROWS)
def test_searches_of_rows_with_nan(shape: tuple[int, int], dtype: str) -> None:
    """The first NaN is found.  Zeros of both signs are equal."""
    random = numpy.random.default_rng(3)
    made = random.choice([0.0, -0.0, 1.5, -numpy.inf, numpy.inf], shape).astype(dtype)
    sparse = numpy.where(random.random(shape) < 2 / shape[0], numpy.nan, made)
    for a in (made, numpy.where(made == 0, numpy.nan, made), sparse.astype(dtype)):
        both(lambda xp, a=a: (xp.array(a) * 1).argmax(axis=0))
        both(lambda xp, a=a: (xp.array(a) * 1).argmin(axis=0))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_searches_of_rows_of_views(axis: int) -> None:
    views: list[Callable[[Any], Any]] = [
        lambda x: x,
        lambda x: x[::-1],
        lambda x: x[:, ::-1, 3:],
        lambda x: x[::2, 1::3],
        lambda x: x[:, :, ::2],
        lambda x: x[:, :, :20],
        lambda x: x.T,
        lambda x: x.swapaxes(0, 1),
        lambda x: x[:, :1],
    ]
    for view in views:
        both(lambda xp, view=view: view(numbers(xp, 40, 30, 35) * 1).argmin(axis))
        both(lambda xp, view=view: view(xp.round(numbers(xp, 3, 9001, 5))).argmax(axis))
    both(lambda xp: numbers(xp, 80, 70, 60).argmin(axis=axis, keepdims=True))
    both(lambda xp: xp.broadcast_to(numbers(xp, 80, 1, 60), (80, 70, 60)).argmax(axis))


def test_searches_of_rows_with_no_conditions() -> None:
    """A comparison with NaN is not reported, as NumPy ignores conditions here."""

    def compute(xp: Any) -> Any:
        with numpy.errstate(all="raise"):
            return xp.full((700, 900), xp.nan).argmax(axis=0)

    both(compute)


@pytest.mark.parametrize("width", [1023, 1024, 1025, 2500])
def test_scans_of_wide_rows(width: int) -> None:
    both(lambda xp: xp.cumsum(xp.ones((40, width), int), axis=0))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n_lines", [1, 2, 3, 4, 5, 13, 70_001])
def test_running_results_of_lines(n_lines: int, dtype: str) -> None:
    """Kernels go along four lines at a time, and along the others one by one."""
    random = numpy.random.default_rng(n_lines)
    made = random.normal(1, 0.01, (n_lines, 70_003 // n_lines + 3)).astype(dtype)
    made[0, :2] = -0.0
    views: list[Callable[[Any], Any]] = [lambda x: x, lambda x: x[:, ::-1]]
    views += [lambda x: x[::-1, ::2], lambda x: x.copy(order="F")]
    for view in views:
        for name in ("cumsum", "cumprod"):
            found, expected = (
                numpy.asarray(getattr(xp, name)(view(xp.array(made)), axis=1))
                for xp in (mxnp, numpy)
            )
            assert found.dtype == expected.dtype
            if ON_GPU:
                numpy.testing.assert_allclose(found, expected, 1e-3)
            else:
                assert found.tobytes() == expected.tobytes()


# -- Reductions ------------------------------------------------------------------------


@pytest.mark.parametrize("height", [1025, 1030, 1056, 1057])
def test_rows_that_wait_on_a_level_are_added(height: int) -> None:
    """Rows are multiplied in levels of 32, the last of which may hold only one row."""
    both(lambda xp: xp.array(numpy.full((height, 1000), -1)).prod(axis=0))


WIDTHS = [63, 64, 65, 128, 129, 500, 1023, 1024, 1025]


@pytest.mark.parametrize("dtype", ["?", "i1", "i4", "i8", "u8", "f2", "f4", "f8", "D"])
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_that_share_a_block(width: int, dtype: str) -> None:
    """Rows of up to 1,024 elements are reduced several at a time, each to one result."""
    made = numpy.random.default_rng(4).integers(0, 3, (20_000 // width, width))
    made[1::5] = 0
    made[2::5] = 1
    a = made.astype(dtype)
    views: list[Callable[[Any], Any]] = [lambda x: x, lambda x: x[::-1, 1:]]
    views += [lambda x: x[:, ::-1], lambda x: x.T.copy().T, lambda x: x[::3]]
    names = ["any", "all", "max", "min", "count_nonzero", "prod", "sum"]

    def compute(xp: Any, view: Callable[[Any], Any], name: str) -> Any:
        x = view(xp.array(a)) * 1
        return getattr(xp, name)(x, axis=1)

    for view in views:
        for name in names:
            if name == "prod" and a.dtype.kind in "fc":
                continue  # such products may be computed in another order
            both(lambda xp, v=view, f=name: compute(xp, v, f))
        both(lambda xp, v=view: xp.count_nonzero(v(xp.array(a)) == 1, axis=-1))
        both(lambda xp, v=view: (v(xp.array(a)) == 1).any(axis=-1, keepdims=True))


def test_rows_that_share_a_block_keep_nan_and_conditions() -> None:
    def compute(name: str, xp: Any) -> Any:
        x = xp.ones((200, 100))
        x[7, 3] = x[8, 99] = xp.nan
        x[9, 5] = x[9, 6] = 1e200
        x[10] = -0.0
        with numpy.errstate(all="warn"):
            return getattr(xp, name)(x * 1, axis=1)

    for name in ("max", "min", "prod", "any", "all"):
        both(lambda xp, f=name: compute(f, xp))


@pytest.mark.parametrize("dtype", ["F", "D"])
def test_counts_of_complex_expressions(dtype: str) -> None:
    a = numpy.random.default_rng(5).integers(-1, 2, (300, 200)).astype(dtype)
    a[4, 5], a[4, 6] = complex(0, numpy.nan), complex(0, -1)
    both(lambda xp: xp.count_nonzero(xp.array(a) + 0))
    both(lambda xp: xp.count_nonzero(xp.array(a) * 2, axis=1))


def test_counts_and_other_reductions_share_rows() -> None:
    def compute(xp: Any) -> Any:
        x = numbers(xp, 300, 200)
        y = x * 2 > 0.5
        found = [
            y.sum(axis=1),
            xp.count_nonzero(x < 0, axis=1),
            y.any(axis=1),
            x.max(axis=1),
        ]
        return xp.stack([*found, y.mean(axis=1)])

    both(compute)


@pytest.mark.parametrize(
    ("name", "end"), [("multiply", 1e200), ("add", 1.2e308)], ids=["products", "sums"]
)
@pytest.mark.parametrize("n", [20_000, 33_000, 300_000, 2_000_000])
def test_reductions_that_overflow_at_the_end(name: str, end: float, n: int) -> None:
    """No part of the array overflows, so the condition is met when parts are joined."""

    def compute(xp: Any) -> Any:
        x = xp.ones(n)
        x[0] = x[-1] = end
        return getattr(xp, name).reduce(x * 1)

    both(compute)


@pytest.mark.parametrize("shape", [(100, 700), (3000, 700), (700, 3000), (3, 40_000)])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_of_products_that_overflow_at_the_end(
    shape: tuple[int, int], axis: int
) -> None:
    def compute(xp: Any) -> Any:
        x = xp.ones(shape)
        ends = (slice(None), [0, -1]) if axis else [0, -1]
        x[ends] = 1e200
        return xp.multiply.reduce(x * 1, axis=axis)

    both(compute)


def test_a_sum_and_a_product_of_rows_in_one_pass() -> None:
    def compute(xp: Any) -> Any:
        x = numbers(xp, 2000, 30) * 0.01 + 1
        return xp.stack([xp.sum(x, axis=0), xp.prod(x, axis=0) * 0.5])

    for ours, expected in zip(compute(mxnp), compute(numpy), strict=True):
        numpy.testing.assert_allclose(ours, expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["max", "min", "prod", "sum"])
def test_reductions_of_bools_as_numbers(name: str) -> None:
    both(lambda xp: getattr((numbers(xp, N) > 0).astype(float), name)())
    both(lambda xp: getattr((numbers(xp, N) > -99).astype(float), name)())


@pytest.mark.skipif(ON_GPU, reason="sums of a GPU have other bits")
@pytest.mark.parametrize("axis", [None, 1])
def test_sums_of_long_rows_with_gaps(axis: int | None) -> None:
    both(lambda xp: numbers(xp, 300, 5007)[:, :5000].sum(axis=axis))


# -- Operations that share a pass --------------------------------------------------------


def test_the_first_operation_of_a_pair_is_used_twice() -> None:
    def compute(xp: Any) -> Any:
        a = numbers(xp, N)
        b, c = a[::-1].copy(), a + 7
        product = a * b
        total, square = product + c, product * product
        del product
        return total - square

    # Without it, a block that met a condition would run again, with each operation by itself.
    with numpy.errstate(all="ignore"):
        both(compute)


def test_conditions_before_an_operation_that_clears_them() -> None:
    def compute(xp: Any) -> Any:
        x = numbers(xp, N)
        x[N // 2] = 0
        y = xp.maximum(1 / x, 2)
        return xp.less(y, 3)

    both(compute)


@pytest.mark.skipif(ON_GPU, reason="a GPU runs no group twice")
def test_an_update_that_overflows_runs_once() -> None:
    def compute(xp: Any) -> Any:
        x = xp.ones(N)
        x[5] = 1e308
        x *= 10
        return x

    both(compute)


# -- Views that share memory -----------------------------------------------------------


def test_views_that_overlap_by_half_an_element() -> None:
    def compute(xp: Any) -> Any:
        x = numbers(xp, 2 * N + 1)
        a, b = x[:-1].view("c16"), x[1:].view("c16")
        y = a * 2
        b += 1
        z = a * 3
        b *= 2
        return xp.stack([y, z, a, b])

    both(compute)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_views_that_overlap_by_one_element(dtype: str) -> None:
    def compute(xp: Any) -> Any:
        n = 4 * N
        x = xp.array(numpy.arange(2 * n + 1).astype(dtype))
        a, b = x[: n + 1], x[n:]
        y = a * 2
        b += 1
        z = a * 3
        a += 5
        return xp.stack([y, z, a, b])

    both(compute)


def test_a_write_does_not_move_in_front_of_reads_of_a_reversed_view() -> None:
    def compute(xp: Any) -> Any:
        x, v = numbers(xp, 2 * N), xp.array(numpy.arange(float(N)))
        u = v + 1
        y = x[::-1] * 2
        x[:N] = v
        mxnp.synchronize()
        return xp.concatenate([u, y, x])

    both(compute)


@pytest.mark.skipif(ON_CUDA, reason="the memory of results is on the GPU")
def test_memory_of_results_is_returned() -> None:
    x = mxnp.array(numpy.ones(10 * N))
    mxnp.synchronize()
    before = mxnp.memory_info()["in_use"]
    for _ in range(3):
        y = x * 2
        mxnp.synchronize()
        assert mxnp.memory_info()["in_use"] > before
        del y
        assert mxnp.memory_info()["in_use"] == before


# -- Index arrays ----------------------------------------------------------------------


def indices(xp: Any, low: int, high: int, n: int = N) -> Any:
    return xp.array(numpy.random.default_rng(high).integers(low, high, n))


def test_gathers_by_two_index_arrays() -> None:
    both(
        lambda xp: numbers(xp, 500, 300)[indices(xp, -500, 500), indices(xp, -300, 300)]
    )


@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8", "c8", "c16"])
def test_gathers_of_each_size_of_an_element(dtype: str) -> None:
    made = numpy.random.default_rng(0).integers(0, 100, 5000).astype(dtype)
    if made.dtype.kind == "c":
        made += 1j * made[::-1]
    both(lambda xp: xp.array(made)[indices(xp, -5000, 5000)])
    both(
        lambda xp: xp.array(made).reshape(50, 100)[
            indices(xp, -50, 50), indices(xp, -100, 100)
        ]
    )
    both(lambda xp: xp.array(made).reshape(50, 100)[:, indices(xp, -100, 100, 300)])


@pytest.mark.parametrize("step", [2, -1, -3])
def test_gathers_by_indices_with_gaps(step: int) -> None:
    both(lambda xp: numbers(xp, 500)[indices(xp, -500, 500, 3 * N)[::step]])
    both(lambda xp: numbers(xp, 500)[indices(xp, 0, 500, 3 * N)[::step]] * 2)


def elements(dtype: str, *shape: int) -> Any:
    n = int(numpy.prod(shape))
    made = numpy.random.default_rng(n).integers(0, 100, n).astype(dtype)
    if made.dtype.kind == "c":
        made += 1j * made[::-1]
    return made.reshape(shape)


@pytest.mark.parametrize("n_lines", [2, 4, 7, 8, 9, 17, 600])
@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8", "c16"])
def test_columns(dtype: str, n_lines: int) -> None:
    """The lines of the result are contiguous if `take` makes them, and not otherwise."""
    table = elements(dtype, n_lines, 130)
    for n in (100, 20_000 if n_lines < 20 else 1000):
        for low in (0, -130):
            few = indices(numpy, low, 130, n)
            both(lambda xp, i=few: xp.array(table)[:, xp.array(i)])
            both(lambda xp, i=few: xp.array(table).take(xp.array(i), axis=1))


def test_columns_of_three_axes() -> None:
    table = elements("f8", 9, 11, 90)
    few = indices(numpy, -90, 90, 300)
    both(lambda xp: xp.array(table)[:, :, xp.array(few)])
    both(lambda xp: xp.array(table)[:, 3:, xp.array(few)])
    both(lambda xp: xp.array(table)[::2, ::-1, xp.array(few)])
    both(lambda xp: xp.array(table).transpose(2, 0, 1)[xp.array(few)])
    both(lambda xp: xp.array(table).transpose(1, 0, 2)[:, :, xp.array(few)])
    both(lambda xp: xp.array(table)[:, :, xp.array(few).reshape(20, 15)[:, ::2]])
    both(lambda xp: xp.array(table)[:, :, xp.array(few)[::-2]])
    both(lambda xp: xp.array(table).take(xp.array(few), axis=2))
    both(lambda xp: xp.array(table).take(xp.array(few).reshape(20, 15).T, axis=2))
    both(lambda xp: xp.array(table).take(xp.array(few) % 90, axis=2, mode="wrap"))
    both(lambda xp: xp.array(table).take(xp.array(few) + 30, axis=2, mode="clip"))


@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(1, 60_000), (700, 80), (5000, 16), (30_000, 3)])
def test_indices_along_an_axis(shape: tuple[int, int], dtype: str) -> None:
    table = elements(dtype, *shape)
    for axis in (0, 1):
        for low in (0, -shape[axis]):
            key = numpy.random.default_rng(axis).integers(low, shape[axis], shape)
            both(
                lambda xp, i=axis, k=key: xp.take_along_axis(
                    xp.array(table), xp.array(k), i
                )
            )
            both(
                lambda xp, i=axis, k=key: (
                    xp.take_along_axis(xp.array(table), xp.array(k) * 1, i)
                    + xp.array(table)
                )
            )


@pytest.mark.parametrize("low", [0, -1])
@pytest.mark.parametrize("factor", [None, 1])
def test_two_index_arrays_of_which_one_changes_along_rows(
    factor: int | None, low: int
) -> None:
    """With a factor, the indices are computed in the pass that reads the elements."""

    def compute(xp: Any, is_transposed: bool) -> Any:
        i = indices(xp, low * 300, 300, 200)[:, None]
        j = indices(xp, low * 400, 400, 500)[None, :]
        if is_transposed:
            i, j = i.T, j.T
        if factor:
            i, j = i * factor, j * factor
        return numbers(xp, 300, 400)[i, j]

    both(lambda xp: compute(xp, False))
    both(lambda xp: compute(xp, True))
    both(
        lambda xp: numbers(xp, 30, 40, 50)[
            xp.array([[7], [-3]]), indices(xp, low * 40, 40, N), xp.array([[-50], [49]])
        ]
    )


@pytest.mark.parametrize("place", [0, 255, 256, 700, 40_000, N - 1])
@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8", "c16"])
def test_one_computed_index_is_negative(dtype: str, place: int) -> None:
    table = elements(dtype, 700)

    def compute(xp: Any, index: int) -> Any:
        made = numpy.arange(N) % 700
        made[place] = index
        return xp.array(table)[xp.array(made) * 1]

    both(lambda xp: compute(xp, -700))
    both(lambda xp: compute(xp, 699))
    for index in (700, -701):
        with pytest.raises(
            IndexError, match=f"index {index} is out of bounds for axis 0"
        ):
            numpy.asarray(compute(mxnp, index))


@pytest.mark.parametrize("index", [700, 701, 1 << 62, -701, -(1 << 62)])
def test_indices_are_clamped_in_fast_mode(index: int) -> None:
    """The index is the only one that is out of bounds."""
    table, made = elements("f8", 1000), numpy.arange(N) % 700
    made[777] = index
    with mxnp.mode("fast"):
        found = mxnp.array(table)[:700][mxnp.array(made) * 1]
        found = numpy.asarray(found)
    made[777] = 699 if index > 0 else 0
    numpy.testing.assert_array_equal(found, table[made])


def test_indices_of_two_axes_that_select_rows() -> None:
    """A block of points ends with the last axis of the indices."""

    def compute(xp: Any) -> Any:
        rows, columns = indices(xp, 0, 50, 60)[:, None], indices(xp, 0, 40, 30)
        return numbers(xp, 50, 40, 7)[rows, columns]

    both(compute)
    both(
        lambda xp: numbers(xp, 500, 7)[
            indices(xp, 0, 500, 6000).reshape(60, 100)[:, ::3]
        ]
    )
    both(lambda xp: numbers(xp, 500, 7)[indices(xp, 0, 500, 6000).reshape(60, 100).T])


@pytest.mark.parametrize("least", [-1, -2, -500])
def test_the_least_index_is_negative(least: int) -> None:
    places = numpy.arange(30_000) % 400
    places[777] = least
    both(lambda xp: numbers(xp, 500)[xp.array(places)])
    both(lambda xp: numbers(xp, 500, 7)[xp.array(places)])


def test_values_whose_rows_have_gaps() -> None:
    def compute(xp: Any) -> Any:
        a = xp.zeros((1000, 20))
        a[indices(xp, -1000, 1000, 3000)] = numbers(xp, 3000, 40)[:, ::2]
        return a

    both(compute)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint16"])
def test_many_updates_of_few_elements(name: str, dtype: str) -> None:
    def compute(xp: Any) -> Any:
        a = xp.array(numpy.full(100, 3, dtype))
        values = numpy.random.default_rng(0).integers(0, 3, 200_003).astype(dtype)
        odd = xp.array(2 * values + 1)  # products of odd numbers never wrap to 0
        getattr(xp, name).at(a, indices(xp, 0, 100, 200_003), odd)
        return a

    both(compute)


@pytest.mark.parametrize("period", [1, 3])
def test_masks_whose_true_bytes_are_not_1(period: int) -> None:
    is_true = (numpy.arange(N) % period + (period == 1) * 2).astype("u1").view(bool)
    both(lambda xp: numbers(xp, N)[xp.array(is_true)])
    both(lambda xp: xp.array(is_true).astype(float).sum())
    both(lambda xp: xp.where(xp.array(is_true), numbers(xp, N), 0))
    both(lambda xp: xp.where(xp.array(is_true), 1.5, numbers(xp, N)))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_searches_for_nan_and_for_values_of_a_table(dtype: str, side: Any) -> None:
    table = numpy.resize([1, 2, 2, 5, numpy.inf, numpy.nan], 600)
    values = numpy.resize([0, 1, 2, 3, 5, 9, numpy.inf, numpy.nan], N + 3)
    if dtype == "int16":
        table, values = (numpy.nan_to_num(x, posinf=11) for x in (table, values))
    table = numpy.sort(table).astype(dtype)
    values = values.astype(dtype)
    both(lambda xp: xp.searchsorted(xp.array(table), xp.array(values), side=side))


SORTED = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


def sorted_table(dtype: str, size: int) -> Any:
    """Return elements of which two are often equal, the largest, and one that is NaN."""
    table = numpy.arange(size).astype(dtype) // 2
    table[-1:] = numpy.nan if table.dtype.kind == "f" else numpy.iinfo(dtype).max
    return numpy.sort(table)


def values_to_find(table: Any, n: int) -> Any:
    values = numpy.random.default_rng(n).choice(table, n)
    values[::7] = values[::7] + 1  # may wrap around
    if table.dtype.kind == "f":
        values[::5] = -values[::5] - 0.5
        values[::11] = numpy.inf
    return values


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", SORTED)
@pytest.mark.parametrize("size", [1, 2, 3, 100, 1001])
def test_searches_in_tables_of_each_dtype(size: int, dtype: str, side: Any) -> None:
    """The number of values is not a multiple of those that are searched for together."""
    table = sorted_table(dtype, size)
    for n in (N + 1, N + 63):
        values = values_to_find(table, n)
        both(lambda xp, v=values: xp.searchsorted(xp.array(table), xp.array(v), side))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["i2", "i8", "u8", "f4", "f8"])
def test_searches_in_views(dtype: str, side: Any) -> None:
    table = sorted_table(dtype, 999)
    values = values_to_find(table, 3 * N)
    for step in (1, 2, -1, -3):
        both(
            lambda xp, k=step: xp.searchsorted(
                xp.array(table[::k].copy())[::k][: 999 // abs(k)],
                xp.array(values)[:: abs(k)],
                side,
            )
        )
    both(
        lambda xp: xp.searchsorted(
            xp.broadcast_to(xp.array(table[5:6]), 77), xp.array(values), side
        )
    )
    both(
        lambda xp: xp.searchsorted(
            xp.array(table), xp.array(values).reshape(30, -1)[:, :49], side
        )
    )


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n_numbers", [0, 1, 2, 50, 99, 100])
def test_searches_for_nan_among_numbers_and_nan(n_numbers: int, dtype: str) -> None:
    table = numpy.full(100, numpy.nan, dtype)
    table[:n_numbers] = numpy.arange(n_numbers)
    if n_numbers:
        table[n_numbers - 1] = numpy.inf
    values = numpy.resize(numpy.array([numpy.nan, -1, 1, 48.5, numpy.inf], dtype), N)
    both(lambda xp: xp.searchsorted(xp.array(table), xp.array(values)))
    both(lambda xp: xp.searchsorted(xp.array(table), xp.array(values), "right"))


# -- Casts -----------------------------------------------------------------------------


@pytest.mark.skipif(ON_GPU, reason="a GPU converts such numbers in its own way")
@pytest.mark.parametrize("to", ["uint32", "int32", "uint64", "uint8"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("step", [1, 2])
def test_casts_of_floats_that_the_integer_type_lacks(
    dtype: str, to: str, step: int
) -> None:
    values = numpy.resize([-1.0, -2.5, 3e9, 5e9, 1e30, numpy.nan, 7.0], N)
    with numpy.errstate(over="ignore"):
        values = values.astype(dtype)
    both(lambda xp: xp.array(values)[::step].astype(to))
