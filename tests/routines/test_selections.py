"""Test the selection of elements and positions with a mask."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import mxnp
from mxnp import _bridge

DTYPES = [*"?bBhHiIlLqQefdgFDGSUVOmM"]
SIZES = [1023, 1024, 65_536, 65_537, 300_001]
DENSITIES = {"none": 0.0, "few": 0.001, "half": 0.5, "most": 0.999, "all": 1.0}


@pytest.fixture(autouse=True)
def large(request: pytest.FixtureRequest) -> Any:
    before = _bridge.set_threshold(16_384)
    yield
    _bridge.set_threshold(before)


def numbers(size: int, dtype: str) -> numpy.ndarray[Any, Any]:
    whole = numpy.random.default_rng(1).integers(0, 100, size)
    return whole.astype("S3" if dtype == "S" else "U3" if dtype == "U" else dtype)


def mask(size: int, density: str) -> numpy.ndarray[Any, Any]:
    chance = numpy.random.default_rng(2).random(size)
    return chance < DENSITIES[density]


def assert_same(ours: Any, theirs: Any) -> None:
    assert type(ours) is mxnp.ndarray
    assert (ours.dtype, ours.shape, ours.strides) == (
        theirs.dtype,
        theirs.shape,
        theirs.strides,
    )
    assert ours.tolist() == theirs.tolist()
    assert ours.flags.writeable


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str) -> None:
    x, m = numbers(5000, dtype if dtype != "V" else "i2"), mask(5000, "half")
    x = x.view("V2") if dtype == "V" else x
    assert_same(mxnp.array(x)[mxnp.array(m)], x[m])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("size", SIZES)
def test_sizes(size: int, density: str, threads: int) -> None:
    x, m = numbers(size, "i"), mask(size, density)
    ours, where = mxnp.array(x), mxnp.array(m)
    before = mxnp.set_num_threads(threads)
    try:
        assert_same(ours[where], x[m])
        assert_same(mxnp.flatnonzero(where), numpy.flatnonzero(m))
    finally:
        mxnp.set_num_threads(before)


@pytest.mark.parametrize(
    "expression",
    [
        "x[x > 50]",
        "(x * 2)[(x > 50) & (x < 70)]",
        "s[s > 50]",
        "s[(s > 50).T.T]",
        "s.T[s.T > 50]",
        "s[::2][s[::2] > 50]",
        "s[s[:, 0] > 50]",
        "x[x[:-1] > 50]",
        "x[None][(x > 50)[None]]",
        "x[np.zeros(x.size, bool)]",
        "x[(x > 50).view('u1').view(bool)]",
        "x[np.full(x.size, 7, 'u1').view(bool)]",
        "x[(x > 50, )]",
        "np.nonzero(x > 50)",
        "np.nonzero(x)",
        "(x % 3).nonzero()",
        "np.nonzero(x / 0 - x / 0)",
        "np.nonzero(s)",
        "s.nonzero()[1]",
        "np.where(x > 50)",
        "np.where(s > 50)",
        "np.where(x)",
        "np.flatnonzero(s > 50)",
        "np.flatnonzero(s.T)",
        "np.flatnonzero(x * 1j)",
        "np.argwhere(x > 50)",
        "np.extract(s > 50, s * 2)",
        "np.extract(x % 2, x)",
        "np.extract(x[:-5] > 50, x)",
        "np.compress(x > 50, x)",
        "np.compress(x > 50, s)",
        "np.compress(x, x)",
        "x.compress(x > 50)",
        "x.compress(x > 50, out=np.empty(int((x > 50).sum()), x.dtype))",
        "np.compress(s[0] > 50, s, axis=1)",
        "np.compress(s > 50, s)",
        "np.nonzero(x.astype('S2'))",
        "np.where(x > 50, x)",
    ],
)
def test_expressions(expression: str) -> None:
    found = []
    for xp in (mxnp, numpy):
        x = xp.array(numbers(40_000, "d"))
        try:
            with numpy.errstate(all="ignore"):
                one = eval(expression, {"np": xp, "x": x, "s": x.reshape(200, 200)})
        except (IndexError, TypeError, ValueError) as error:
            found.append((type(error), str(error)))
            continue
        each = one if isinstance(one, tuple) else (one,)
        found.append([(a.dtype, a.shape, numpy.asarray(a).tobytes()) for a in each])
    assert found[0] == found[1]


def test_selections_among_recorded_operations() -> None:
    x = mxnp.array(numbers(40_000, "d"))
    expected = numbers(40_000, "d")
    x += 1
    chosen = x[x > 50]
    x *= 0
    chosen += 1
    assert chosen.tolist() == ((expected + 1)[expected + 1 > 50] + 1).tolist()
    assert not x.any()


def test_dtypes_of_their_own() -> None:
    x = mxnp.array(numbers(5000, "i")).view(numpy.dtype("i4", metadata={"of": "mine"}))
    assert x[x > 50].dtype.metadata == {"of": "mine"}
    kind = type("Kind", (mxnp.ndarray,), {})
    own = mxnp.array(numbers(5000, "i")).view(kind)
    assert type(own[mxnp.array(mask(5000, "half"))]) is kind


LARGE = {
    "nonzero": lambda xp, x: xp.stack(xp.nonzero(x > 0)),
    "argwhere": lambda xp, x: xp.argwhere(x > 1),
    "method nonzero": lambda xp, x: xp.stack((x > 0).nonzero()),
    "nonzero of three axes": lambda xp, x: xp.stack(
        xp.nonzero(x.reshape(30, 10, -1) > 0)
    ),
    "place": lambda xp, x: (xp.place(x, x > 0, xp.arange(7.0)), x),
    "place with enough values": lambda xp, x: (xp.place(x, x > 0, xp.arange(1e6)), x),
    "putmask": lambda xp, x: (xp.putmask(x, x > 0, xp.ones(x.shape, "i4") * 3), x),
    "choose": lambda xp, x: xp.choose((x > 0).astype(int) + (x > 1), [x, x * 2, x * 3]),
    "choose out of bounds": lambda xp, x: xp.choose((x > 0) * 3, [x, x * 2, x * 3]),
    "nanmax of NaN": lambda xp, x: xp.nanmax(xp.where(x > -9, xp.nan, x), axis=0),
    "nanargmin of NaN": lambda xp, x: xp.nanargmin(xp.where(x > -9, xp.nan, x), axis=0),
    "nansum": lambda xp, x: xp.nansum(xp.where(x > 3, xp.nan, 1.0), axis=0),
}


@pytest.mark.parametrize("call", LARGE.values(), ids=LARGE)
def test_large_arrays(call: Any) -> None:
    x = numpy.random.default_rng(0).normal(size=(300, 800))
    results = []
    for xp in (numpy, mxnp):
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            try:
                found = call(xp, xp.array(x))
                mxnp.synchronize()
            except ValueError as error:
                found = (str(error),)
        found = found if isinstance(found, tuple) else (found,)
        found = [numpy.asarray(each) for each in found if each is not None]
        results.append((found, {str(each.message) for each in issued}))
    (expected, numpys), (ours, texts) = results
    for mine, theirs in zip(ours, expected, strict=True):
        numpy.testing.assert_array_equal(mine, theirs)
    assert texts == numpys


@pytest.mark.parametrize("size", [9, 40_000])
@pytest.mark.parametrize("dtype", ["?", "i4", "f8"])
def test_positions_are_views_of_the_same_shape(xp: Any, dtype: str, size: int) -> Any:
    x = (xp.arange(size) % 3).astype(dtype)
    found = [xp.nonzero(x)[0], xp.where(x)[0], x.nonzero()[0], xp.flatnonzero(x)]
    return [getattr(each.base, "shape", None) for each in found]


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("size", [6, 40_000])
def test_choices_are_in_c_order(xp: Any, size: int, mode: str) -> Any:
    columns = (xp.arange(size) % 3).reshape(2, -1).T
    rows = columns.copy(order="C")
    return [
        xp.choose(columns, [columns, columns + 1, columns + 2], mode=mode),
        columns.choose([rows, rows, rows], mode=mode),
        xp.choose(rows, [columns, rows, columns], mode=mode),
        xp.choose(rows[:1], [columns, columns, columns], mode=mode),
    ]


@pytest.mark.thread_unsafe(reason="it counts the operations of all threads")
def test_place_of_one_number_is_not_quadratic() -> None:
    """NumPy's `take` with mode "wrap" would count down to each index."""
    x = mxnp.zeros(400_000)
    mxnp.synchronize()
    with mxnp.profile() as profile:
        mxnp.place(x, x == 0, [1.5])
        mxnp.synchronize()
    assert x.sum() == 600_000
    assert "put" in {row.operation for row in profile.rows}
    assert "take" not in {row.operation for row in profile.rows}
    assert all(row.calls == 1 for row in profile.rows)
    assert all(row.elements <= x.size for row in profile.rows)


@pytest.mark.thread_unsafe(reason="it counts the operations of all threads")
def test_a_mask_alone_in_a_tuple_is_a_mask() -> None:
    """`numpy.delete` reads its array like that."""
    x = mxnp.arange(100_000.0)
    rows = []
    for key in (x > 3, (x > 3,)):
        mxnp.synchronize()
        with mxnp.profile() as profile:
            item = x[key]
        rows.append([(row.operation, row.elements, row.calls) for row in profile.rows])
        assert item.tolist() == numpy.arange(4.0, 100_000).tolist()
    assert rows[0] == rows[1]
