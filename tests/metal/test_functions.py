"""Test functions that use several kernels: sorting, selection, matrix products."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import pytest
from support.metal import lacks_float64, launches, needs_gpu

import mxnp
from mxnp import _bridge
from mxnp._engine import core
from mxnp._gpu import functions, products

pytestmark = [needs_gpu, pytest.mark.usefixtures("on_metal")]


def dispatches() -> int:
    mxnp.synchronize()
    return core.gpu_counts()["dispatches"]


def integers(dtype: str, *shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(len(shape)).integers(0, 50, shape).astype(dtype)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int64", "uint16", "float16", "float32"]
)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sorts(dtype: str, axis: int) -> None:
    x = integers(dtype, 20, 300)
    given, before = mxnp.array(x), dispatches()
    ours = mxnp.sort(given, axis)
    assert dispatches() > before
    numpy.testing.assert_array_equal(ours, numpy.sort(x, axis))
    numpy.testing.assert_array_equal(given, x)
    given.sort(axis)
    numpy.testing.assert_array_equal(given, numpy.sort(x, axis))
    before = dispatches()
    places = mxnp.argsort(given * 0 + mxnp.array(x), axis, kind="stable")
    assert dispatches() > before
    numpy.testing.assert_array_equal(places, numpy.argsort(x, axis, kind="stable"))


def test_sorts_numbers_that_are_special() -> None:
    x = numpy.array(
        [numpy.nan, 3, -numpy.inf, 0, numpy.inf, 1e-40, numpy.nan, -1], "f4"
    )
    numpy.testing.assert_array_equal(mxnp.sort(mxnp.array(x)), numpy.sort(x))
    rows = numpy.ascontiguousarray(x[::-1].reshape(2, 4).T)
    numpy.testing.assert_array_equal(mxnp.sort(mxnp.array(rows).T), numpy.sort(rows.T))


def special(dtype: str, n: int) -> numpy.ndarray:
    """Return numbers of the whole range of a dtype, some of them equal or special."""
    rng, kind = numpy.random.default_rng(n), numpy.dtype(dtype)
    x = numpy.frombuffer(rng.bytes(n * kind.itemsize), dtype=kind).copy()
    if kind.kind == "b":
        x = rng.random(n) < 0.5
    if kind.kind == "f":
        x = rng.normal(size=n).astype(dtype)
        for i, value in enumerate((0.0, -0.0, numpy.nan, numpy.inf, -numpy.inf)):
            x[i::11] = value
        x[5::101] = -x[2]
    x[7::13] = x[6]
    return x


@pytest.mark.slow
@pytest.mark.parametrize("n", [2049, 12_288, 40_961])
@pytest.mark.parametrize("dtype", sorted(functions._SORTED))
def test_long_sorts_are_stable(dtype: str, n: int) -> None:
    """CUDA sorts long rows by their digits: the lengths are those of whole tiles or not."""
    x = special(dtype, n)
    expected = numpy.argsort(x, kind="stable")
    before = dispatches()
    places = mxnp.argsort(mxnp.array(x), kind="stable")
    ours = mxnp.sort(mxnp.array(x))
    assert dispatches() > before
    numpy.testing.assert_array_equal(places, expected)
    assert numpy.asarray(ours).tobytes() == x[expected].tobytes()
    assert ours.base is None
    assert places.base is None


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_long_rows_are_sorted(dtype: str) -> None:
    x = special(dtype, 4 * 9001)
    for shape, axis in ((4, 9001), 1), ((9001, 4), 0), ((2, 9001, 2), -2):
        rows = x.reshape(shape)
        given = mxnp.array(rows)
        for key in (..., slice(None, None, -1)):
            expected = numpy.sort(rows[key], axis)
            numpy.testing.assert_array_equal(mxnp.sort(given[key], axis), expected)
            places = numpy.argsort(rows[key], axis, kind="stable")
            ours = mxnp.argsort(given[key], axis, kind="stable")
            numpy.testing.assert_array_equal(ours, places)


@pytest.mark.parametrize("name", ["equal", "descending", "one digit differs"])
def test_sorts_of_few_digits(name: str) -> None:
    n = 20_000
    x = {
        "equal": numpy.full(n, -3),
        "descending": numpy.arange(n)[::-1] % 300,
        "one digit differs": numpy.arange(n) % 5 << 24,
    }[name].astype("int32")
    numpy.testing.assert_array_equal(mxnp.sort(mxnp.array(x)), numpy.sort(x))
    ours = mxnp.argsort(mxnp.array(x), kind="stable")
    numpy.testing.assert_array_equal(ours, numpy.argsort(x, kind="stable"))


def outcome(call: Any) -> Any:
    """Return the values of a call, or its error."""
    try:
        return numpy.asarray(call()).tolist()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("axis", [None, 5, 1.5])
def test_axis_errors_are_numpys(axis: Any) -> None:
    x = integers("int32", 3, 4)
    expected = outcome(lambda: numpy.sort(x, axis))
    assert outcome(lambda: mxnp.sort(mxnp.array(x), axis)) == expected


@pytest.mark.parametrize("name", ["sort", "argsort"])
@pytest.mark.parametrize(
    "options",
    [
        {"kind": "foo"},
        {"kind": 1},
        {"kind": ""},
        {"kind": []},
        {"kind": "stable", "stable": True},
        {"kind": "quicksort", "stable": False},
        {"order": "f"},
        {"axis": 2},
        {"axis": 0, "kind": "foo"},
    ],
)
def test_sorts_raise_numpys_errors(name: str, options: dict[str, Any]) -> None:
    def outcomes(xp: Any) -> list[Any]:
        x = xp.array(numpy.linspace(1, 0, 3000, dtype="f4"))
        calls = [lambda: getattr(xp, name)(x, **options)]
        calls.append(lambda: getattr(x, name)(**options))
        return [outcome(call) for call in calls]

    assert outcomes(mxnp) == outcomes(numpy)


@pytest.mark.parametrize(
    "options", [{"kind": "heapsort"}, {"kind": "s"}, {"stable": True}, {"stable": 0}]
)
def test_sorts_take_numpys_options(options: dict[str, Any]) -> None:
    x = numpy.linspace(1, 0, 3000, dtype="f4")
    given = mxnp.array(x)
    numpy.testing.assert_array_equal(
        mxnp.sort(given, **options), numpy.sort(x, **options)
    )
    given.sort(**options)
    numpy.testing.assert_array_equal(given, numpy.sort(x))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32"])
def test_equal_elements_have_the_order_of_numpys_sort(dtype: str) -> None:
    x = integers(dtype, 5000)
    numpy.testing.assert_array_equal(mxnp.argsort(mxnp.array(x)), numpy.argsort(x))
    rows = numpy.random.default_rng(0).permutation(6000).astype(dtype).reshape(3, 2000)
    rows[1, 7] = rows[1, 1900]
    given = mxnp.array(rows)
    for axis in 0, 1:
        ours = mxnp.argsort(given, axis)
        numpy.testing.assert_array_equal(ours, numpy.argsort(rows, axis))


@pytest.mark.parametrize("places", [(7, 8), (30, 2000)])
@pytest.mark.parametrize("values", [(0.0, -0.0), (numpy.nan, numpy.nan)])
def test_equal_numbers_of_other_bits_have_the_order_of_numpys_sort(
    values: tuple[float, float], places: tuple[int, int]
) -> None:
    x = numpy.random.default_rng(1).permutation(3000).astype("f4") + 1
    x[list(places)] = values
    numpy.testing.assert_array_equal(mxnp.array(x).argsort(), x.argsort())


@pytest.mark.parametrize("dtype", ["int16", "uint32", "int64", "float32"])
@pytest.mark.parametrize("kind", [None, "quicksort", "heapsort"])
def test_distinct_elements_are_sorted_on_the_gpu(dtype: str, kind: Any) -> None:
    x = numpy.random.default_rng(2).permutation(6000).astype(dtype) - dtype.startswith(
        "i"
    )
    if dtype == "float32":
        x[[5, 6, 7]] = numpy.nan, numpy.inf, -numpy.inf
    rows, before = mxnp.array(x).reshape(2, 3000), dispatches()
    for axis in 0, 1, -1:
        expected = numpy.argsort(x.reshape(2, 3000), axis, kind)
        numpy.testing.assert_array_equal(rows.argsort(axis, kind), expected)
    numpy.testing.assert_array_equal(
        mxnp.argsort(mxnp.array(x), kind=kind), numpy.argsort(x, kind=kind)
    )
    assert dispatches() >= before + 4


# -- Selecting ------------------------------------------------------------------------

SELECTED = [name for name in core.gpu().types if name != "bool"]


def masked(n: int, share: float) -> tuple[numpy.ndarray, Any]:
    """Return a mask as a NumPy array, and one that the device computed."""
    x = numpy.random.default_rng(n).random(n, "f4")
    return x < numpy.float32(share), mxnp.array(x) < numpy.float32(share)


@pytest.mark.parametrize("dtype", [*SELECTED, "bool"])
@pytest.mark.parametrize("n", [1, 257, 9000])
@pytest.mark.parametrize("share", [0.02, 0.5, 2])
def test_masks(dtype: str, n: int, share: float) -> None:
    x, (theirs, mask) = integers(dtype, n), masked(n, share)
    given = mxnp.array(x)
    ours, count = launches(lambda: given[mask])
    expected = x[theirs]
    assert count == (3 + 1 if expected.size else 2 + 1)  # one computes the mask
    assert (ours.dtype, ours.shape) == (expected.dtype, expected.shape)
    assert numpy.asarray(ours).tobytes() == expected.tobytes()
    assert ours.flags.owndata
    assert ours.flags.c_contiguous
    assert ours.flags.writeable


PLACES = {
    "nonzero": lambda np, c: np.nonzero(c),
    "method nonzero": lambda np, c: c.nonzero(),
    "where": lambda np, c: np.where(c),
    "flatnonzero": lambda np, c: np.flatnonzero(c),
    "argwhere": lambda np, c: np.argwhere(c),
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("shape", [(5000,), (50, 100), (4, 25, 50)])
@pytest.mark.parametrize("share", [0, 0.3, 2])
def test_places(name: str, shape: tuple[int, ...], share: float) -> None:
    theirs, mask = masked(5000, share)
    expected = PLACES[name](numpy, theirs.reshape(shape))
    ours, count = launches(lambda: PLACES[name](mxnp, mask.reshape(shape)))
    assert count >= (3 + 1 if theirs.any() else 2 + 1)
    assert type(ours) is (tuple if type(expected) is tuple else mxnp.ndarray)
    numpy.testing.assert_array_equal(ours, expected, strict=True)
    for a, b in zip(ours, expected):
        assert a.dtype == b.dtype == numpy.intp


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "complex64"])
def test_places_of_numbers(dtype: str) -> None:
    x = integers(dtype, 3000) - numpy.array(3, dtype)
    x[::7], x[1::7] = 0, (numpy.nan if x.dtype.kind in "fc" else 5)
    given = mxnp.array(x)
    ours, count = launches(lambda: mxnp.flatnonzero(given))
    assert count == 4
    numpy.testing.assert_array_equal(ours, numpy.flatnonzero(x))


@pytest.mark.parametrize("name", ["extract", "compress", "method compress"])
def test_functions_that_select(name: str) -> None:
    x, (theirs, mask) = integers("int32", 4000), masked(4000, 0.4)
    calls = {
        "extract": lambda np, c, a: np.extract(c, a),
        "compress": lambda np, c, a: np.compress(c, a),
        "method compress": lambda np, c, a: a.compress(c),
    }
    given = mxnp.array(x)
    ours, count = launches(lambda: calls[name](mxnp, mask, given))
    assert count == 3 + 1
    numpy.testing.assert_array_equal(ours, calls[name](numpy, theirs, x), strict=True)


def test_masks_of_more_axes() -> None:
    x, (theirs, mask) = integers("float32", 60, 70), masked(4200, 0.4)
    theirs, mask, given = theirs.reshape(60, 70), mask.reshape(60, 70), mxnp.array(x)
    ours, count = launches(lambda: given[mask])
    assert count == 3 + 1
    numpy.testing.assert_array_equal(ours, x[theirs], strict=True)
    rows, count = launches(lambda: given[mask[:, 3]])  # and a copy of rows
    assert count >= 3
    numpy.testing.assert_array_equal(rows, x[theirs[:, 3]], strict=True)
    for a, c in [(given.T, mask.T), (given[::2], mask[::2]), (given, mask.T.copy().T)]:
        numpy.testing.assert_array_equal(
            a[c], numpy.asarray(a)[numpy.asarray(c)], strict=True
        )


@pytest.mark.parametrize("size", [2999, 3001])
def test_mask_errors_are_numpys(size: int) -> None:
    x, (theirs, mask) = integers("int32", 3000), masked(size, 0.5)
    expected = outcome(lambda: x[theirs])
    assert expected[0] is IndexError
    assert outcome(lambda: mxnp.array(x)[mask]) == expected
    expected = outcome(lambda: numpy.extract(theirs, x))
    assert outcome(lambda: mxnp.extract(mask, mxnp.array(x))) == expected


def test_a_mask_that_fails_is_not_used() -> None:
    x, places = mxnp.arange(3000, dtype="f4"), mxnp.arange(3000) * 2
    mask = x[places] > 3
    with pytest.raises(IndexError, match="index 3000 is out of bounds"):
        x[mask]
    numpy.testing.assert_array_equal(x[x > 2995], numpy.arange(2996, 3000, dtype="f4"))


@lacks_float64
def test_selections_on_the_processor() -> None:
    x, (theirs, mask) = integers("float64", 3000), masked(3000, 0.5)
    ours, count = launches(lambda: mxnp.array(x)[mask])
    assert count == 1  # only the mask
    numpy.testing.assert_array_equal(ours, x[theirs], strict=True)
    foreign = mxnp.asarray(theirs)  # its memory is not from the pool
    ours, count = launches(lambda: mxnp.array(x.astype("f4"))[foreign])
    assert count == 0
    numpy.testing.assert_array_equal(ours, x[theirs])
    with mxnp.device("cpu"):
        given = mxnp.array(x.astype("f4"))
        ours, count = launches(lambda: given[given > 3])
    assert count == 0
    numpy.testing.assert_array_equal(ours, x[x > 3])


def test_few_elements_are_numpys() -> None:
    _bridge.set_threshold(2**14)
    x, mask = mxnp.ones(5000, "f4"), mxnp.ones(5000, bool)
    assert launches(lambda: x[mask])[1] == 0


# -- Products -------------------------------------------------------------------------


@pytest.fixture
def all_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run products of all sizes on the GPU."""
    monkeypatch.setattr(products, "_FEW_PRODUCTS", {})


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint32"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((70, 90), (90, 33)), ((3, 70, 90), (3, 90, 33)), ((70, 90), (3, 90, 33))],
)
@pytest.mark.usefixtures("all_products")
def test_products(dtype: str, left: Any, right: Any) -> None:
    a, b = integers(dtype, *left) % 5, integers(dtype, *right) % 5
    for product in (operator.matmul, mxnp.matmul):
        before = dispatches()
        ours = product(mxnp.array(a), mxnp.array(b))
        assert dispatches() > before
        numpy.testing.assert_array_equal(ours, a @ b)
        assert ours.flags.owndata
    turned = mxnp.array(numpy.ascontiguousarray(b.swapaxes(-1, -2))).swapaxes(-1, -2)
    numpy.testing.assert_array_equal(mxnp.array(a) @ turned, a @ b)


@pytest.mark.usefixtures("all_products")
def test_a_product_of_recorded_matrices() -> None:
    a = integers("float32", 50, 60)
    x = mxnp.array(a) + 1
    y = x @ x.T
    y += 1
    numpy.testing.assert_array_equal(y, (a + 1) @ (a + 1).T + 1)


@pytest.mark.parametrize("other", [(89, 33), (90,), ()])
def test_shape_errors_are_numpys(other: tuple[int, ...]) -> None:
    a, b = integers("float32", 70, 90), numpy.ones(other, "f4")
    expected = outcome(lambda: a @ b)
    assert outcome(lambda: mxnp.array(a) @ mxnp.array(b)) == expected


@pytest.mark.skipif("float64" in core.gpu().types, reason="the GPU has doubles")
def test_doubles_are_numpys() -> None:
    a, before = numpy.ones((60, 60)), dispatches()
    numpy.testing.assert_array_equal(mxnp.array(a) @ mxnp.array(a), a @ a)
    assert dispatches() == before


def test_nan_with_a_sign_is_last() -> None:
    x = numpy.array([1, -numpy.inf, -numpy.nan, numpy.inf, numpy.nan, -2] * 3000, "f4")
    x[2::6] = numpy.copysign(x[2::6], -1)
    ours = numpy.asarray(mxnp.sort(mxnp.array(x)))
    numpy.testing.assert_array_equal(ours, numpy.sort(x))


def test_true_elements_that_are_not_1() -> None:
    numbers = numpy.arange(20_000, dtype="uint8") % 3
    x = numpy.arange(20_000, dtype="float32")
    ours = mxnp.array(x)[mxnp.array(numbers.view(bool))]
    numpy.testing.assert_array_equal(numpy.asarray(ours), x[numbers != 0])
