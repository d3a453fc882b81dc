"""Test functions of large index arrays: threads, fusion, order and warnings."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.lanes import ON_CUDA, ON_GPU, needs_fusion
from support.tolerances import near

import mxnp as np
from mxnp import _bridge
from mxnp._engine import core
from mxnp._routines.indexing import _LEAST_REPEATED
from mxnp._verify.tolerances import INEXACT

RANDOM = numpy.random.default_rng(7)
N = 100_000
INTEGERS = [*"bBhHiIqQ"]


@pytest.fixture(autouse=True)
def large() -> Any:
    before = _bridge.set_threshold(4_096)
    yield
    _bridge.set_threshold(before)


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> Any:
    before = np.set_num_threads(request.param)
    yield request.param
    np.set_num_threads(before)


def same(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(_bridge.wrap(theirs))
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert numpy.asarray(ours).tobytes() == numpy.asarray(theirs).tobytes()


def operations() -> list[str]:
    """Return the operations of the last flush, one string per group."""
    return [" ".join(group.operations) for group in core.last_flush()]


def numbers(shape: Any, dtype: str = "d") -> numpy.ndarray[Any, Any]:
    with numpy.errstate(invalid="ignore"):  # negative numbers are cast to uint8
        return (RANDOM.random(shape) * 100 - 30).astype(dtype)


# -- Functions -------------------------------------------------------------------------

i_ = RANDOM.integers(-40, 40, (300, 200))
j_ = i_[:30]
k_ = RANDOM.integers(0, 4, (300, 200))
x_, y_, z_ = (numbers((300, 200)) for _ in range(3))
t_ = numpy.sort(numbers(5_000))
m_ = RANDOM.random((300, 200)) < 0.3
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "take": lambda np, a: np.take(a(x_), a(i_)),
    "take axis": lambda np, a: np.take(a(x_), a(j_), axis=1),
    "take method": lambda np, a: a(x_).take(a(j_), 0),
    "take clip": lambda np, a: np.take(a(x_), a(i_ * 900), mode="clip"),
    "take wrap": lambda np, a: np.take(a(x_), a(j_ * 901), axis=-1, mode="wrap"),
    "take transposed": lambda np, a: np.take(a(x_).T, a(j_).T, axis=1),
    "take_along_axis 0": lambda np, a: np.take_along_axis(a(x_), a(i_), 0),
    "take_along_axis 1": lambda np, a: np.take_along_axis(a(x_), a(i_), 1),
    "take_along_axis argsort": lambda np, a: np.take_along_axis(
        a(x_), np.argsort(a(x_), 1), axis=-1
    ),
    "ix_": lambda np, a: a(x_)[np.ix_(a(i_[:, 0]), a(i_[0]))],
    "choose": lambda np, a: np.choose(a(k_), [a(x_), a(y_), a(z_), a(x_)]),
    "choose wrap": lambda np, a: np.choose(a(i_), [a(x_), a(y_), a(z_)], mode="wrap"),
    "choose clip": lambda np, a: a(i_).choose([a(x_), a(y_)], mode="clip"),
    "select": lambda np, a: np.select([a(x_) > 20, a(y_) > 0], [a(y_), a(z_) * 2], -1),
    "select integers": lambda np, a: np.select([a(m_)], [a(k_)], 7.5),
    "select first": lambda np, a: np.select([a(m_), a(m_)], [a(x_), a(y_)]),
    "searchsorted": lambda np, a: np.searchsorted(a(t_), a(x_)),
    "searchsorted right": lambda np, a: a(t_).searchsorted(a(x_), "right"),
    "searchsorted cast": lambda np, a: np.searchsorted(a(t_).astype("f4"), a(x_)),
    "searchsorted integers": lambda np, a: np.searchsorted(np.arange(100), a(i_)),
    "bincount": lambda np, a: np.bincount(a(k_).ravel()),
    "bincount minlength": lambda np, a: np.bincount(a(k_).ravel(), minlength=9),
    "bincount weights": lambda np, a: np.bincount(a(k_).ravel(), a(x_).ravel()),
    "bincount casts": lambda np, a: np.bincount(a(k_).ravel(), a(k_).ravel(), 2),
    "argwhere": lambda np, a: np.argwhere(a(m_)),
    "argwhere 3": lambda np, a: np.argwhere(a(m_).reshape(10, 30, 200)),
    "argwhere numbers": lambda np, a: np.argwhere(a(k_)),
    "nonzero 3": lambda np, a: a(m_).reshape(10, 30, 200).nonzero()[1],
    "nonzero": lambda np, a: np.array(np.nonzero(a(m_))),
    "where": lambda np, a: np.array(np.where(a(x_) > 3)),
    "mask rows": lambda np, a: a(x_)[a(m_[:, 0])],
    "mask": lambda np, a: a(x_)[a(m_)],
    "unique": lambda np, a: np.unique(a(i_)),
    "unique bytes": lambda np, a: np.unique(a(i_).astype("i1")),
    "unique far": lambda np, a: np.unique(a(i_) * 10**9),
    "unique inverse": lambda np, a: np.unique(a(i_), return_inverse=True)[1],
    "unique counts": lambda np, a: np.unique(a(i_), return_counts=True)[1],
    "unique all": lambda np, a: np.unique(a(i_), True, True, True)[2],
    "histogram": lambda np, a: np.histogram(a(x_), 50)[0],
    "histogram edges": lambda np, a: np.histogram(a(x_), 50)[1],
    "histogram float32": lambda np, a: np.histogram(a(x_).astype("f4"), 7)[0],
    "histogram whole": lambda np, a: np.histogram(np.floor(a(x_)), 100)[0],
    "histogram range": lambda np, a: np.histogram(a(x_), 33, (-10, 20.5))[0],
    "histogram density": lambda np, a: np.histogram(a(x_), 9, density=True)[0],
    "clip by numbers of two kinds": lambda np, a: np.clip(
        a(k_).astype("i2"), 0.5, numpy.float32(2)
    ),
    "clip by numbers of NumPy": lambda np, a: np.clip(
        a(k_).astype("u2"), numpy.int16(1), numpy.float32(2)
    ),
    "clip by a complex number": lambda np, a: np.clip(
        a(k_).astype("u2"), 2j, numpy.float32(2)
    ),
    "histogram bins": lambda np, a: np.histogram(a(x_), [-3, 0, 5.5])[0],
}


@pytest.mark.sampled(19)
@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions(function: Callable[..., Any], pending: bool, threads: int) -> None:
    ours = function(np, lambda x: np.array(x).copy() if pending else np.array(x))
    theirs = function(numpy, lambda x: x)
    if ON_CUDA and function is FUNCTIONS["bincount weights"]:
        assert near(ours, theirs).all()  # threads add in any order
    else:
        same(ours, theirs)


CHANGES: dict[str, Callable[..., Any]] = {
    "put": lambda np, a, out: np.put(out, a(i_), a(y_)),
    "put scalar": lambda np, a, out: out.put(a(i_), 3),
    "put clip": lambda np, a, out: np.put(out, a(i_ * 900), a(y_), mode="clip"),
    "put wrap": lambda np, a, out: np.put(out, a(i_ * 901), a(y_), mode="wrap"),
    "put repeated": lambda np, a, out: np.put(out, a(i_), a(y_[0])),
    "put_along_axis": lambda np, a, out: np.put_along_axis(out, a(i_), a(y_), 1),
    "put_along_axis scalar": lambda np, a, out: np.put_along_axis(out, a(i_), 2.5, 0),
    "fill_diagonal": lambda np, a, out: np.fill_diagonal(out, 7),
    "fill_diagonal wrap": lambda np, a, out: np.fill_diagonal(out, 7, wrap=True),
    "place": lambda np, a, out: np.place(out, a(m_), a(y_[0])),
    "place many": lambda np, a, out: np.place(out, a(m_), a(y_)),
    "putmask": lambda np, a, out: np.putmask(out, a(m_), a(y_)),
    "putmask casts": lambda np, a, out: np.putmask(out, a(m_), a(i_)),
    "putmask repeats": lambda np, a, out: np.putmask(out, a(m_), a(y_[0, :7])),
    "mask": lambda np, a, out: out.__setitem__(a(m_), 3),
    "mask array": lambda np, a, out: out.__setitem__(a(m_), a(y_[m_])),
    "rows": lambda np, a, out: out.__setitem__(a(i_[0]), a(y_[:200])),
    "itself": lambda np, a, out: out.__setitem__(a(i_[0]), out[:200]),
    "add.at": lambda np, a, out: np.add.at(out, (a(i_), a(i_)), a(y_)),
    "negative.at": lambda np, a, out: np.negative.at(out, a(i_[0])),
    "subtract rows": lambda np, a, out: np.subtract.at(out, a(i_[0]), a(y_[0])),
}


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changes(change: Callable[..., Any], pending: bool, threads: int) -> None:
    ours, theirs = np.array(x_), x_.copy()
    change(numpy, lambda x: x, theirs)
    assert (
        change(np, lambda x: np.array(x).copy() if pending else np.array(x), ours)
        is None
    )
    if ON_CUDA and change is CHANGES["add.at"]:  # its threads add in any order
        assert near(ours, theirs).all()
    else:
        same(ours, theirs)


@pytest.mark.parametrize(
    "call",
    [
        lambda np, a: np.take(a(x_), a(i_ * 9000)),
        lambda np, a: np.take(a(x_), a(i_ * 9000), axis=1),
        lambda np, a: np.take(a(x_), a(i_), axis=2),
        lambda np, a: np.take(a(x_), a(i_), mode="near"),
        lambda np, a: np.put(a(x_), a(i_ * 9000), 1),
        lambda np, a: np.choose(a(k_), [a(x_), a(y_)]),
        lambda np, a: np.choose(a(i_), [a(x_), a(y_)]),
        lambda np, a: np.bincount(a(i_).ravel()),
        lambda np, a: np.bincount(a(k_)),
        lambda np, a: np.bincount(a(k_).ravel(), a(x_)),
        lambda np, a: np.searchsorted(a(x_), a(x_)),
        lambda np, a: np.take_along_axis(a(x_), a(i_[0]), 1),
        lambda np, a: np.add.at(a(x_), a(i_), a(y_[:3])),
        lambda np, a: np.add.at(a(x_), a(x_), 1),
        lambda np, a: np.add.at(a(x_), a(i_ + 4000), 1),
        lambda np, a: a(x_).__setitem__(a(i_), a(y_[:3])),
        lambda np, a: a(x_).__setitem__(a(m_), a(y_)),
        lambda np, a: a(x_)[a(m_.T)],
    ],
)
def test_errors(call: Callable[..., Any]) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011
        call(numpy, lambda x: x)
    with pytest.raises(expected.type) as caught:
        call(np, np.array)
    assert str(caught.value) == str(expected.value)


# -- Order and threads -----------------------------------------------------------------


@pytest.mark.sampled(17)
@pytest.mark.parametrize(
    "shape", [(1,), (7,), (5_000,), (3_000_000,), (50, 64), (4, 3_000)]
)
@pytest.mark.parametrize("dtype", "defFbBiq")
@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "maximum", "power", "set"]
)
def test_updates_in_order(shape: Any, dtype: str, name: str, threads: int) -> None:
    """Update one element many times, few elements, and distant ones."""
    n = 100_000 if len(shape) == 1 else 300_000 // shape[1]
    i = RANDOM.integers(-shape[0], shape[0], n)
    if shape == (7,):
        i[: n // 2] = 3
    v = numbers((n, *shape[1:]), dtype)
    a = numbers(shape, dtype)
    ours = np.array(a)
    # The threads of a GPU update floats in any order.
    device = "cpu" if ON_GPU and dtype in INEXACT else np.get_device()
    with np.device(device), numpy.errstate(all="ignore"):
        try:
            if name == "set":
                a[i] = v
                ours[np.array(i)] = np.array(v)
            else:
                getattr(numpy, name).at(a, i, v)
                getattr(np, name).at(ours, np.array(i), np.array(v))
        except (TypeError, ValueError):
            return
        np.synchronize()
    if a.dtype.kind in "fc" and name in ("power", "multiply", "add"):
        assert numpy.array_equal(ours, a, equal_nan=True)
    else:
        same(ours, a)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum"])
def test_copies_for_each_thread_are_joined(dtype: str, name: str, threads: int) -> None:
    """If the order does not matter, threads share the indices."""
    info = numpy.iinfo(dtype)
    values = RANDOM.integers(info.min, info.max, 200_000, dtype, endpoint=True)
    i = RANDOM.integers(0, 500, values.size)
    a = RANDOM.integers(info.min, info.max, 500, dtype, endpoint=True)
    ours = np.array(a)
    getattr(numpy, name).at(a, i, values)
    getattr(np, name).at(ours, np.array(i), np.array(values))
    same(ours, a)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_each_integer_dtype_is_an_index(dtype: str) -> None:
    x = numbers(120)
    i = RANDOM.integers(0 if dtype.isupper() else -120, 120, N).astype(dtype)
    same(np.array(x)[np.array(i)], x[i])
    same(np.array(x)[np.array(i)[::-3]], x[i[::-3]])
    huge = numpy.array([2**64 - 1] * N, "Q")
    same(np.array(x)[np.array(huge)], x[huge])


@pytest.mark.parametrize("array", [numpy.asarray, np.asarray])
def test_objects_beside_index_arrays_are_read_once(array: Callable[..., Any]) -> None:
    class Index:
        reads = 0

        def __index__(self) -> int:
            self.reads += 1
            return 1

    index = Index()
    a, too_large = array(numpy.ones((3, 4))), array(numpy.full(N, 3))
    with pytest.raises(IndexError):
        a[too_large, index:]
    with pytest.raises(IndexError):
        a[too_large, index:] = 2.0
    assert index.reads == 2


def test_references_to_index_arrays_are_released_once() -> None:
    a = np.array(numbers((300, 40)))
    i, j = np.array(RANDOM.integers(0, 300, N)), np.array(RANDOM.integers(0, 40, N))
    memory = numpy.arange(100) % 40
    np.synchronize()
    before = [sys.getrefcount(each) for each in (i, j, memory, a)]
    for _ in range(5):
        a[i, j], a[:, memory], a[i]
        a[i, j] = 3.0
        np.add.at(a, (i, j), 1.0)
        np.synchronize()
    assert [sys.getrefcount(each) for each in (i, j, memory, a)] == before


# -- Fusion ----------------------------------------------------------------------------


@needs_fusion
def test_a_gather_is_part_of_a_pass() -> None:
    x, u = np.array(numbers(1_000)), np.array(RANDOM.random(N))
    i = np.array(RANDOM.integers(0, 1_000, N))
    y = x[i] * u + 1
    np.synchronize()
    assert operations() == ["take multiply add"]
    del y
    places = (u * 1_000).astype(int)
    y = x[places] * u
    np.synchronize()
    assert operations() == ["multiply cast check take multiply"]
    assert numpy.array_equal(
        y, numpy.asarray(x)[numpy.asarray(places)] * numpy.asarray(u)
    )


def test_a_known_range_is_not_checked() -> None:
    x, i = np.array(numbers(1_000)), np.array(RANDOM.integers(0, 1_000, N))
    for _ in range(2):
        y = x[i]
        np.synchronize()
        assert operations() == ["take"]
        assert y.shape == (N,)


def test_writes_and_reads_keep_their_order() -> None:
    x, i = numpy.arange(1_000.0), RANDOM.integers(0, 1_000, N)
    ours, index = np.array(x) + 0, np.array(i)
    before = ours[index]
    ours *= 2
    between = ours[index]
    ours[index[:5_000]] = -1
    after = ours[index]
    index += 0
    index[:] = 0
    last = ours[index]
    same(before, x[i])
    same(between, x[i] * 2)
    x *= 2
    x[i[:5_000]] = -1
    same(after, x[i])
    same(last, x[0 * i])


def test_rows_are_taken_by_the_engine() -> None:
    x, i = np.array(numbers((50, 64))), np.array(RANDOM.integers(0, 50, 10_000))
    y = x[i] + 1
    np.synchronize()
    assert operations() == ["take", "add"]
    assert y.shape == (10_000, 64)
    np.add.at(x, i, y)
    np.synchronize()
    copies = ["copy"] if ON_CUDA else []  # a copy of the target is updated
    assert operations() == ["add.at", *copies]


def test_small_updates_of_an_array_in_use_do_not_make_it_wait() -> None:
    u = np.zeros(N)
    u += 1
    u[np.array([0, N - 1])] = 0.0
    u += 1
    assert _bridge.pending() >= 4
    assert u.sum() == 2 * N - 2


# -- Warnings --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", "def")
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("divide", 0, "divide by zero encountered in divide"),
        ("multiply", 3, "overflow encountered in multiply"),
    ],
)
def test_updates_warn(name: str, value: int, message: str, dtype: str) -> None:
    if ON_GPU and name == "multiply":
        pytest.skip("updates on a GPU raise no conditions")
    a, i = np.ones(5, dtype), np.zeros(N, dtype=int)

    def change() -> None:
        getattr(np, name).at(a, i, np.full(N, value, dtype))
        np.synchronize()

    with pytest.warns(RuntimeWarning, match=message) as seen:
        change()
    assert seen[0].filename == __file__


@pytest.mark.parametrize("name", ["maximum", "minimum", "add"])
def test_nan_in_updates_does_not_warn(name: str) -> None:
    a, i = np.array([1.0, numpy.nan]), np.array(RANDOM.integers(0, 2, N))
    getattr(np, name).at(a, i, np.full(N, numpy.nan))
    assert numpy.isnan(a).all()


def test_casts_of_assignments_warn_as_numpys() -> None:
    a, i = np.zeros(5, int), np.zeros(N, int)

    def change() -> None:
        a[i] = np.full(N, numpy.nan)
        np.synchronize()

    with pytest.warns(RuntimeWarning, match="invalid value encountered in cast"):
        change()
    with pytest.warns(np.exceptions.ComplexWarning):
        np.zeros(5)[i] = np.full(N, 1j)


# -- Numbers of Python ----------------------------------------------------------------

UPDATING = [
    *(
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "fmin",
        "power",
        "floor_divide",
    ),
    *(
        "bitwise_or",
        "left_shift",
        "logaddexp",
        "lcm",
        "logical_and",
        "copysign",
        "equal",
    ),
]
VALUES = [True, 1, 3, -1, 200, 2**40, 2**63, 0.1, 2.5, 1e300, numpy.nan, 1 + 2j]


@pytest.mark.sampled(9)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [*"?bhilBHILefdFD"])
@pytest.mark.parametrize("name", UPDATING)
def test_numbers_of_at_have_a_dtype_of_their_own(xp: Any, name: str, dtype: str) -> Any:
    """NumPy makes an array of the number first, with a dtype of its own."""
    results = []
    for value, size in itertools.product(VALUES, (30, 40_000)):
        a = (xp.arange(size) % 11).astype(dtype)
        try:
            getattr(xp, name).at(a, xp.arange(size) % 97 % size, value)
            results.append(a)
        except (TypeError, ValueError, OverflowError) as error:
            results.append(str(error))  # NumPy leaves undefined numbers in the array
    return results


REPEATS: dict[str, Callable[[Any], Any]] = {
    "some": lambda places: places % 3,
    "none": lambda places: places * 0,
    "last": lambda places: (places == places[-1]) * 2,
    "many": lambda places: places % 29,
    "negative": lambda places: places % 3 - 2 * (places == 7),
    "floats": lambda places: places * 1.0,
    "too few": lambda places: places[1:],
}


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("counts", REPEATS.values(), ids=REPEATS)
def test_items_are_repeated_by_counts(xp: Any, counts: Any, axis: int | None) -> Any:
    a = xp.arange(2.0 * _LEAST_REPEATED).reshape(-1, 8)
    n = a.size if axis is None else a.shape[axis]
    try:
        return xp.repeat(a, counts(xp.arange(n)), axis)
    except (TypeError, ValueError) as error:
        return str(error)


@pytest.mark.parametrize("size", [30, 40_000])
@pytest.mark.parametrize("choice", [3, -1, True, 2.5, 1j])
@pytest.mark.parametrize("dtype", ["u8", "i8", "f4", "?"])
def test_numbers_of_select(xp: Any, dtype: str, choice: Any, size: int) -> Any:
    x = (xp.arange(size) % 5).astype(dtype)
    results = []
    for choices, default in (([choice], x), ([x], choice), ([choice, x], choice)):
        try:
            conditions = [xp.arange(size) > 3] * len(choices)
            results.append(xp.select(conditions, choices, default))
        except (TypeError, OverflowError) as error:
            results.append(str(error))
    return results


@pytest.mark.parametrize("size", [30, 200_000])
def test_infinite_weights_are_counted_without_a_warning(xp: Any, size: int) -> Any:
    i = xp.arange(size)
    return xp.bincount(i % 3, xp.where(i % 2 == 0, numpy.inf, -numpy.inf))
