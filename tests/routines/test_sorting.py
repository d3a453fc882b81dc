"""Test sorts and partitions of large arrays, which threads share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from support.constants import constant
from support.lanes import ON_GPU

import mxnp
from mxnp._engine import core
from mxnp._routines import indexing, sorting

Array = Any

DTYPES = [*"?bBhHiIlLefdFD"]
THREADS = [1, 2, 3]
KINDS = [None, "quicksort", "heapsort", "stable", "mergesort"]
# A GPU sorts without waiting, and only its stable sorts have NumPy's signs of zeros and NaN.
on_processor = pytest.mark.skipif(ON_GPU, reason="tests/metal has the sorts of a GPU")
SIZE = 70_001  # one row is divided, and its parts are of different sizes
# On arm64 NumPy's sorts draw pivots at random, so each call orders 0 and -0 anew.
ZEROS = [-0.0, 0.0] if core.processor() == "x86-64" else [0.0, 0.0]


def set_vectors(monkeypatch: pytest.MonkeyPatch, has_them: bool) -> None:
    """Replace the features of the processor by those of one with or without vectors."""
    features = {sorting._X86: has_them}
    monkeypatch.setattr(sorting, "FEATURES", features)


@pytest.fixture(autouse=True)
def _numpy_without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide rows also where NumPy's own sort is fast."""
    set_vectors(monkeypatch, False)


@pytest.fixture(params=THREADS, ids="{} threads".format)
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = mxnp.set_num_threads(request.param)
    yield request.param
    mxnp.set_num_threads(before)


@pytest.fixture(name="two_threads")
def _two_threads() -> Iterator[None]:
    before = mxnp.set_num_threads(2)
    yield
    mxnp.set_num_threads(before)


@pytest.fixture(name="three_threads")
def _three_threads() -> Iterator[None]:
    before = mxnp.set_num_threads(3)
    yield
    mxnp.set_num_threads(before)


def distinct(dtype: str, size: int = SIZE) -> Array:
    """Return numbers that differ, as far as the dtype has so many."""
    random = numpy.random.default_rng(size)
    if dtype in "fdFDe":
        x = random.permutation(size) - size / 2
        return (x + 1j * random.permutation(size) if dtype in "FD" else x).astype(dtype)
    return random.permutation(size).astype(dtype)


def repeated(dtype: str, size: int = SIZE) -> Array:
    """Return numbers of which many are equal; floats include NaN, infinities and zeros."""
    random = numpy.random.default_rng(size)
    x = random.integers(-20, 20, size)
    if dtype not in "fdFDe":
        return x.astype(dtype)
    values = numpy.array([*range(-30, 30), numpy.inf, -numpy.inf, numpy.nan, *ZEROS])
    real, imag = values[random.integers(0, len(values), (2, size))]
    if dtype not in "FD":
        return real.astype(dtype)
    out = numpy.empty(size, dtype)
    out.real, out.imag = real, imag
    return out


def assert_same_bits(ours: Array, theirs: Array) -> None:
    assert type(ours) is mxnp.ndarray
    ours = numpy.asarray(ours)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert ours.strides == theirs.strides or ours.size == 0
    assert ours.tobytes() == theirs.tobytes()


def check(call: Callable[[Any, Array], Any], x: Array) -> None:
    """Compare a call, which may change its argument, with NumPy's."""
    ours, theirs = mxnp.array(x, order="K"), x.copy("K")
    found, expected = call(mxnp, ours), call(numpy, theirs)
    if expected is not None:
        assert_same_bits(found, expected)
    assert_same_bits(ours, theirs)


# -- One row --------------------------------------------------------------------------


@on_processor
@pytest.mark.sampled(4)
@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("values", [distinct, repeated])
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_row(dtype: str, values: Callable[[str], Array]) -> None:
    x = values(dtype)
    for kind in KINDS:
        check(lambda xp, a, kind=kind: xp.sort(a, kind=kind), x)
        check(lambda _, a, kind=kind: a.sort(kind=kind), x)
        check(lambda xp, a, kind=kind: xp.argsort(a, kind=kind), x)
    check(lambda _, a: a.argsort(stable=True), x)
    check(lambda xp, a: xp.lexsort((a, a[::-1])), x)


@on_processor
@pytest.mark.sampled(12)
@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("n", [32_767, 32_768, 65_537, 262_143, 262_144, 400_000])
@pytest.mark.parametrize("dtype", ["b", "H", "i", "d"])
def test_sizes(dtype: str, n: int) -> None:
    for x in (distinct(dtype, n), repeated(dtype, n)):
        check(lambda xp, a: xp.sort(a), x)
        check(lambda xp, a: xp.argsort(a, kind="stable"), x)


@on_processor
@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("dtype", ["i", "e", "f", "d"])
def test_rows_in_order(dtype: str) -> None:
    rising = numpy.sort(repeated(dtype), kind="stable")
    almost = rising.copy()
    almost[[300, -300]] = almost[[-300, 300]]
    part = constant("cpu/kernels/sort.c", "PART")
    for x in (
        rising,
        rising[::-1].copy(),
        almost,
        numpy.append(rising[-part:], rising[:-part]),  # threads look at parts
        numpy.roll(rising, 9),
        numpy.zeros_like(rising),
    ):
        for kind in KINDS:
            check(lambda xp, a, kind=kind: xp.sort(a, kind=kind), x)
            check(lambda xp, a, kind=kind: xp.argsort(a, kind=kind), x)


@pytest.mark.parametrize("threads", [16], indirect=True)
@pytest.mark.parametrize("dtype", ["e", "i", "f", "d", "F", "D"])
@pytest.mark.usefixtures("threads")
def test_one_value_in_most_places(dtype: str) -> None:
    """Many threads sort into many buckets, of which one has most of the elements."""
    x = distinct(dtype)
    x[numpy.random.default_rng(1).random(SIZE) < 0.9] = 17
    for kind in KINDS:
        check(lambda xp, a, kind=kind: xp.sort(a, kind=kind), x)
        check(lambda xp, a, kind=kind: xp.argsort(a, kind=kind), x)
    check(lambda xp, a: xp.lexsort((a[::-1], a)), x)
    check(lambda xp, a: xp.argsort(a), distinct(dtype))


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("value", [7.0, numpy.nan])
@pytest.mark.parametrize("place", [1, 300, 40_000, 69_000])
def test_argsort_leaves_one_equal_pair_to_numpy(place: int, value: float) -> None:
    x = distinct("d", 200_001)
    x[[place, 150_000]] = value
    check(lambda xp, a: xp.argsort(a), x)


@on_processor
@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("special", [ZEROS, [-0.0, -0.0], [0.0, 0.0]])
def test_zeros(special: list[float]) -> None:
    x = distinct("d")
    x[::7], x[3::7] = special
    for kind in KINDS:
        check(lambda xp, a, kind=kind: xp.sort(a, kind=kind), x)


@on_processor
@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("dtype", ["d", "D"])
def test_payloads_of_nan(dtype: str) -> None:
    x = distinct(dtype)
    bits = x.view("u8").reshape(SIZE, -1)
    for payloads in (
        [0x7FF8 << 48] * 2,
        [0xFFF8 << 48] * 2,
        [0x7FF8 << 48, 0xFFF9 << 48],
    ):
        bits[5::1000], bits[9::1000] = payloads
        for kind in KINDS:
            check(lambda xp, a, kind=kind: xp.sort(a, kind=kind), x)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", [*"iIlL"])
def test_values_of_sparse_integers(dtype: str) -> None:
    """A sort finds the values of integers far apart, unless there are few."""
    step = {4: 20_000, 8: 10**13}[numpy.dtype(dtype).itemsize]
    for n_values in (SIZE, 500):
        x = (distinct("l") % n_values * step).astype(dtype)
        are_few = indexing._find_values(mxnp.array(x)) is NotImplemented
        assert are_few is (n_values == 500)
        check(lambda xp, a: xp.unique(a), x)
        check(lambda xp, a: xp.unique(a.reshape(7, -1)[:, ::2]), x[:70_000])
        check(lambda xp, a: xp.unique(a, return_counts=True)[1], x)
    assert indexing._find_values(mxnp.array(numpy.repeat(x, 16))) is NotImplemented


# -- Several rows ---------------------------------------------------------------------

LAYOUTS = {
    "C": lambda x: x.reshape(200, 350),
    "F": lambda x: x.reshape(350, 200).T,
    "steps": lambda x: x.reshape(200, 350)[::-1, ::3],
    "three": lambda x: x.reshape(50, 20, 70).transpose(2, 0, 1),
    "few long": lambda x: x.reshape(2, 35_000),
    "few long columns": lambda x: x.reshape(35_000, 2),
    "one row": lambda x: x[None],
    "one column": lambda x: x.reshape(35_000, 2)[:, :1],
    "none": lambda x: x[:0].reshape(0, 5),
}


@on_processor
@pytest.mark.sampled(6)
@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["?", "h", "l", "e", "f", "d", "D"])
def test_several_rows(dtype: str, layout: str) -> None:
    x = LAYOUTS[layout](repeated(dtype, 70_000))
    for axis in (*range(x.ndim), -1, None):
        check(lambda xp, a, axis=axis: xp.argsort(a, axis, kind="heapsort"), x)
        check(lambda xp, a, axis=axis: xp.sort(a, axis), x)
        check(lambda xp, a, axis=axis: xp.argsort(a, axis, kind="stable"), x)
        check(lambda xp, a, axis=axis: xp.argsort(a, axis), x)
        if axis is not None:
            check(lambda _, a, axis=axis: a.sort(axis), x)
            check(lambda xp, a, axis=axis: xp.lexsort((a, a[::-1]), axis), x)


# -- Memory ---------------------------------------------------------------------------


@pytest.mark.usefixtures("threads")
def test_views_see_a_sort_in_place() -> None:
    x = distinct("d", 2 * SIZE)
    ours, theirs = mxnp.array(x), x.copy()
    before, view = ours + 1, ours[1::2]
    ours[::2].sort()
    theirs[::2].sort()
    after = ours * 2
    ours[::-1].sort()
    assert_same_bits(before, x + 1)
    assert_same_bits(after, theirs * 2)
    theirs[::-1].sort()
    assert_same_bits(view, theirs[1::2])
    shared = theirs.copy()
    mxnp.asarray(shared).sort()
    assert shared.tobytes() == numpy.sort(theirs).tobytes()


@pytest.mark.usefixtures("three_threads")
def test_arrays_whose_elements_share_memory() -> None:
    x = numpy.lib.stride_tricks.sliding_window_view(distinct("l"), 3)
    check(lambda xp, a: xp.argsort(a, 1), x)
    repeated_row = numpy.broadcast_to(distinct("l"), (3, SIZE))
    ours = mxnp.asarray(repeated_row)
    assert_same_bits(mxnp.argsort(ours, 1), numpy.argsort(repeated_row, 1))
    with pytest.raises(ValueError, match="read-only"):
        ours.sort()
    writable = numpy.lib.stride_tricks.as_strided(distinct("l"), (SIZE - 9, 9), (8, 8))
    theirs = writable[:, 0].copy()
    mxnp.asarray(writable).sort(1)
    windows = numpy.lib.stride_tricks.as_strided(
        numpy.append(theirs, distinct("l")[-9:]), (SIZE - 9, 9), (8, 8)
    )
    windows.sort(1)
    assert writable.tobytes() == windows.tobytes()


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("dtype", [">f8", "m8[s]", "O", "S3", "g", "l,l"])
def test_other_dtypes(dtype: str) -> None:
    whole = distinct("l", 20_000)
    x = whole.astype("l,l") if dtype == "l,l" else whole.astype(dtype)
    for name in ("sort", "argsort"):
        ours = getattr(mxnp, name)(mxnp.array(x))
        assert ours.tolist() == getattr(numpy, name)(x).tolist()


# -- Errors ---------------------------------------------------------------------------

WRONG = [
    "xp.sort(x, 1)",
    "xp.sort(x, kind='none')",
    "xp.sort(x, kind='stable', stable=True)",
    "xp.sort(x, order='a')",
    "xp.argsort(x, -2)",
    "xp.argsort(x, kind=3)",
    "xp.lexsort((x, x[1:]))",
    "xp.lexsort(())",
    "xp.lexsort((x, x), 1)",
    "x.sort(None)",
    "x.sort(axis=2)",
    "xp.partition(x, 10**9)",
    "xp.partition(x, 'a')",
    "xp.partition(x, 1.0)",
    "xp.partition(x, (1, 2), order='a')",
    "xp.argpartition(x, (1, 2), order='a')",
    "xp.argpartition(x, 1, kind='stable')",
    "x.partition(3, 1)",
]


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("text", WRONG)
def test_errors(text: str) -> None:
    errors = []
    for xp in (numpy, mxnp):
        with pytest.raises(Exception) as info:  # noqa: PT011
            eval(text, {"xp": xp, "x": xp.array(distinct("d"))})
        errors.append((type(info.value), str(info.value)))
    assert errors[0] == errors[1]


# -- Partitions -----------------------------------------------------------------------


def assert_partition(ours: Array, whole: Array, kth: Any) -> None:
    """Check a row: the elements at the places, and those between them as sets."""
    ours = numpy.asarray(ours)
    places = sorted({int(k) % len(whole) for k in numpy.atleast_1d(kth)})
    assert ours.dtype == whole.dtype
    for begin, end in zip([0, *places], [*places, len(whole)], strict=True):
        numpy.testing.assert_array_equal(
            numpy.sort(ours[begin:end], kind="stable"), whole[begin:end]
        )
    numpy.testing.assert_array_equal(ours[places], whole[places])


PLACES = [0, -1, 35_000, [34_999, 35_000, -1], (0, 1, 2, 3), [*range(0, SIZE, 5000)]]


@pytest.mark.sampled(5)
@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", DTYPES)
def test_partitions_of_a_row(dtype: str) -> None:
    rising = numpy.sort(distinct(dtype))
    for x in (
        distinct(dtype),
        repeated(dtype),
        rising,
        rising[::-1].copy(),
        rising * 0,
    ):
        whole = numpy.sort(x, kind="stable")
        for kth in PLACES:
            ours = mxnp.array(x)
            assert_partition(mxnp.partition(ours, kth), whole, kth)
            places = mxnp.argpartition(ours, kth)
            numpy.testing.assert_array_equal(mxnp.sort(places), numpy.arange(SIZE))
            assert_partition(x[numpy.asarray(places)], whole, kth)
            assert_same_bits(ours, x)
            ours.partition(kth)
            assert_partition(ours, whole, kth)


@pytest.mark.usefixtures("threads")
def test_partitions_of_rows_are_numpys() -> None:
    for shape in ((200, 350), (3, 40_000), (40_000, 3), (40, 50, 60)):
        x = repeated("d", int(numpy.prod(shape))).reshape(shape)
        for axis in (*range(x.ndim), -1):
            kth = [0, x.shape[axis] // 2]
            check(lambda xp, a, k=kth, axis=axis: xp.partition(a, k, axis), x)
            check(lambda xp, a, k=kth, axis=axis: xp.argpartition(a, k, axis), x)
            check(lambda _, a, k=kth, axis=axis: a.partition(k, axis), x)


# -- Failures and reports ---------------------------------------------------------------


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("refused", range(4))
def test_without_memory_numpy_sorts(refused: int) -> None:
    x = distinct("d")
    calls: list[Callable[[Any], Any]] = [
        lambda a: a.sort(kind="stable"),
        lambda a: a.argsort(),
        lambda a: a.partition(5),
        lambda a: mxnp.lexsort((a, a)),
    ]
    for call in calls:
        ours = mxnp.array(x)
        mxnp.synchronize()
        mxnp.clear_cache()
        core.refuse_memory(refused, 1)
        try:
            call(ours)
        except MemoryError:
            pass
        finally:
            core.refuse_memory(0, 0)
        numpy.testing.assert_array_equal(mxnp.sort(ours), numpy.sort(x))


@on_processor
@pytest.mark.usefixtures("three_threads")
def test_reports_count_the_processor() -> None:
    x, rows = (
        mxnp.array(distinct("d")),
        mxnp.array(distinct("d")[:70_000].reshape(200, 350)),
    )
    with mxnp.profile() as report:
        mxnp.sort(x)
        mxnp.argsort(x)
        mxnp.lexsort((x, x))
        mxnp.partition(x, 5)
        mxnp.argpartition(rows, 5)
    found = {row.operation for row in report.rows if row.backend == "cpu"}
    assert {"sort", "argsort", "partition", "argpartition"} <= found
    names = ("sort", "partition", "lexsort")
    assert not [
        row
        for row in report.rows
        if row.backend == "numpy" and row.operation.endswith(names)
    ]


@on_processor
@pytest.mark.usefixtures("three_threads")
def test_reports_count_the_bytes_of_positions() -> None:
    with mxnp.profile() as report:
        mxnp.argsort(mxnp.array(distinct("f")))
    rows = [row for row in report.rows if row.operation == "argsort"]
    assert [(row.bytes_read, row.bytes_written) for row in rows] == [
        (4 * SIZE, 8 * SIZE)
    ]


@on_processor
@pytest.mark.parametrize(
    ("elements", "backend"),
    [
        (numpy.arange(1.0 * SIZE), "numpy"),
        (-numpy.arange(1.0 * SIZE), "numpy"),
        (distinct("d"), "cpu"),
    ],
    ids=["rising", "falling", "others"],
)
@pytest.mark.usefixtures("three_threads")
def test_numpy_sorts_runs(elements: Array, backend: str) -> None:
    """A stable sort of NumPy finds elements that rise or fall."""
    x = mxnp.array(elements)
    with mxnp.profile() as report:
        mxnp.argsort(x, kind="stable")
        mxnp.sort(x, kind="stable")
    found = {row.operation: row.backend for row in report.rows}
    assert (found["argsort"], found["sort"]) == (backend, backend)


@on_processor
@pytest.mark.parametrize("has_vectors", [False, True])
@pytest.mark.parametrize("dtype", "bhilfd")
@pytest.mark.parametrize("threads", [3, 4, 8], indirect=True)
def test_numpy_sorts_a_row_in_vectors(
    monkeypatch: pytest.MonkeyPatch, has_vectors: bool, dtype: str, threads: int
) -> None:
    """Threads divide long rows, and shorter ones where NumPy has no vectors."""
    set_vectors(monkeypatch, has_vectors)
    is_fast = has_vectors and dtype in "ilfd"
    least = sorting._LEAST_BY_THREADS // threads
    many = sorting._LEAST_PARTITIONED
    for shape, sorted_by_numpy, partitioned_by_numpy in (
        ((2 * least - 1,), is_fast and threads == 3, is_fast),
        ((least,), is_fast and threads == 3, is_fast),
        ((many,), is_fast and threads == 3, is_fast and threads < 8),
        ((sorting._LEAST_OF_FEW,), False, is_fast and threads < 8),
        ((600, 500), False, False),
    ):
        array = mxnp.ones(shape, dtype)
        with mxnp.profile() as report:
            mxnp.sort(array)
            mxnp.partition(array, 5)
        found = {(row.operation, row.backend) for row in report.rows}
        assert ("sort", "numpy" if sorted_by_numpy else "cpu") in found
        assert ("partition", "numpy" if partitioned_by_numpy else "cpu") in found


@pytest.mark.parametrize("packs_slowly", [False, True])
def test_numpy_is_not_fast_with_slow_vectors(
    monkeypatch: pytest.MonkeyPatch, packs_slowly: bool
) -> None:
    monkeypatch.setattr(sorting, "_PACKS_SLOWLY", packs_slowly)
    dtype = numpy.dtype("d")
    set_vectors(monkeypatch, True)
    assert sorting.numpy_is_fast(dtype)
    monkeypatch.setitem(sorting.FEATURES, sorting._WIDE, True)
    assert sorting.numpy_is_fast(dtype) is not packs_slowly


@pytest.mark.parametrize(
    ("feature", "values", "positions"),
    [
        (sorting._X86, "ilqfd", "ilqfd"),
        ("ASIMD", "ilqfd", ""),
        ("AVX512_ICL", "he", ""),
        ("ASIMDHP", "he", ""),
        ("SSE42", "", ""),
    ],
)
def test_features_of_numpys_vector_sorts(
    monkeypatch: pytest.MonkeyPatch, feature: str, values: str, positions: str
) -> None:
    monkeypatch.setattr(sorting, "FEATURES", {feature: True})
    for letters, of_positions in ((values, False), (positions, True)):
        found = {
            letter
            for letter in "?bhilqefdgFD"
            if sorting.numpy_is_fast(numpy.dtype(letter), of_positions)
        }
        assert found == set(letters)


def test_complex_numbers_are_searched(xp: Any) -> Any:
    rng = numpy.random.default_rng(0)
    a = xp.sort(xp.array(rng.integers(0, 9, (2000, 2)) * 1.0).view("c16")[:, 0])
    v = xp.array(rng.integers(-1, 11, (40_000, 2)) * 1.0).view("c16")[:, 0]
    found = [xp.searchsorted(a, v.copy(), side) for side in ("left", "right")]
    return found, a.searchsorted(v.reshape(200, 200)), xp.searchsorted(a.real, v)


# -- Code of the program that runs while an array waits -----------------------------------


def call_with_handler(
    call: Callable[[Array], Any],
    handler: Callable[[Array], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    """Call a function of an array whose own warning a handler receives meanwhile."""
    a, zeros = mxnp.arange(400_000.0), mxnp.zeros(400_000)
    with warnings.catch_warnings(), monkeypatch.context() as context:
        warnings.simplefilter("always")
        context.setattr(warnings, "showwarning", lambda *_, **__: handler(a))
        a /= zeros
        return call(a)


def shrink(a: Array) -> None:
    a.resize(16, refcheck=False)


def write(a: Array) -> None:
    a[...] = -mxnp.arange(400_000.0)


@on_processor
@pytest.mark.usefixtures("three_threads")
def test_an_array_that_shrinks_before_it_is_sorted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for call in (
        lambda a: a.sort() or a,
        lambda a: a.partition(3) or a,
        mxnp.argsort,
    ):
        assert call_with_handler(call, shrink, monkeypatch).shape == (16,)


@on_processor
@pytest.mark.usefixtures("three_threads")
def test_an_array_that_is_written_before_it_is_sorted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for call in (lambda a: a.sort() or a, lambda a: a[mxnp.argsort(a)]):
        found = call_with_handler(call, write, monkeypatch)
        assert (found == mxnp.arange(-399_999.0, 1)).all()


@on_processor
@pytest.mark.usefixtures("three_threads")
def test_an_array_that_is_locked_before_it_is_sorted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lock(a: Array) -> None:
        a.flags.writeable = False

    with pytest.raises(ValueError, match="read-only"):
        call_with_handler(lambda a: a.sort(), lock, monkeypatch)


def test_an_array_that_shrinks_before_a_mask_selects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mask = mxnp.arange(400_000) % 2 == 0
    mask.sum()
    with pytest.raises(IndexError, match="boolean index did not match"):
        call_with_handler(lambda a: a[mask], shrink, monkeypatch)


def test_an_array_that_is_written_before_a_mask_selects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mask = mxnp.arange(400_000) % 2 == 0
    mask.sum()
    found = call_with_handler(lambda a: a[mask], write, monkeypatch)
    assert (found == -mxnp.arange(0.0, 400_000, 2)).all()
