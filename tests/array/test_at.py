"""``a.at[key]``, and the mode of an index out of bounds."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from support.lanes import ON_CUDA
from support.tolerances import near

import mxnp as np
from mxnp import _bridge
from mxnp._engine import core

BINARY = [op.name for op in core.ops() if op.nin == 2 and op.nout == 1]


@pytest.fixture(autouse=True, params=[0, 16_384], ids=["recorded", "default"])
def threshold(request: pytest.FixtureRequest) -> Any:
    before = _bridge.set_threshold(request.param)
    yield
    _bridge.set_threshold(before)


def same(ours: Any, theirs: Any) -> None:
    assert type(ours) is np.ndarray
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    equal = numpy.array_equal(ours, theirs, equal_nan=theirs.dtype.kind in "fc")
    assert equal or (ON_CUDA and near(ours, theirs).all())


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
def test_each_binary_ufunc(name: str, dtype: str) -> None:
    a = numpy.array([3, 1, 2, 0, 1]).astype(dtype)
    v = numpy.array([1, 2, 1, 2]).astype(dtype)
    i = numpy.array([0, 2, 2, -1])
    expected = a.copy()
    ours = np.array(a)
    with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
        error = type_error(getattr(numpy, name).at, expected, i, v)
        change = getattr(ours.at[np.array(i)], name)
        if error:
            assert type_error(change, np.array(v)) == error
        else:
            same(change(np.array(v)), expected)
    same(ours, a)


def type_error(call: Any, *args: Any) -> str:
    """Return the text of the TypeError that a call raises, or an empty string."""
    try:
        call(*args)
    except TypeError as error:
        return str(error)
    return ""


def test_function_at() -> None:
    """It is the attribute, and takes what can be made an array."""
    expected = numpy.array([1.0, 7.0, 3.0])
    for given in (np.array([1.0, 2, 3]), numpy.array([1.0, 2, 3]), [1.0, 2.0, 3.0]):
        same(np.at(given)[1].add(5), expected)
        same(np.at(given)[1].set(7), expected)
        assert list(given) == [1.0, 2.0, 3.0]


def test_short_names() -> None:
    a = np.array([1.0, 5.0])
    same(a.at[0].max(3), numpy.array([3.0, 5.0]))
    same(a.at[1].min(3), numpy.array([1.0, 3.0]))


KEYS: dict[str, Any] = {
    "int": 1,
    "negative": -1,
    "slice": slice(None, None, 2),
    "ellipsis": ...,
    "none": None,
    "array": numpy.array([0, 2, 2]),
    "list": [0, 2],
    "mask": numpy.array([True, False, True]),
    "tuple": (numpy.array([0, 2]), slice(1, 3)),
    "apart": (numpy.array([0, 2]), slice(None), numpy.array([1, 1])),
    "last": (..., numpy.array([0, 0, 1])),
    "integers": (1, 2, 3),
    "mixed": (slice(None), 1, numpy.array([3, 3])),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_keys(key: Any, order: str) -> None:
    a = numpy.arange(60.0).reshape(3, 4, 5).copy(order=order)
    ours = np.array(a).copy(order=order)
    expected = a.copy()
    numpy.add.at(expected, key, 7)
    same(ours.at[_bridge.wrap(key)].add(7), expected)
    expected = a.copy()
    expected[key] = -1
    same(ours.at[_bridge.wrap(key)].set(-1), expected)
    assert numpy.array_equal(ours.at[_bridge.wrap(key)].get(), a[key])
    same(ours, a)


def test_get_is_a_copy() -> None:
    a = np.arange(6.0)
    b = a.at[1:3].get()
    b += 10
    same(a, numpy.arange(6.0))


def test_casts_are_those_of_ufunc_at_and_of_assignments() -> None:
    a = np.arange(3)
    same(a.at[np.array([0, 0])].add(1.7), numpy.array([2, 1, 2]))
    same(a.at[0:1].add(1.7), numpy.array([1, 1, 2]))
    same(a.at[0].set(2.9), numpy.array([2, 1, 2]))


def test_apply() -> None:
    a = np.arange(4.0)
    same(a.at[np.array([1, 1, 3])].apply(np.negative), numpy.array([0.0, 1, 2, -3]))
    same(a.at[1:].apply(lambda x: x * 10), numpy.array([0.0, 10, 20, 30]))


# -- Modes -----------------------------------------------------------------------------

# The indices of a key for an array of 3 x 4. Some are out of bounds.
OUT = numpy.array([-5, -4, -1, 0, 3, 4, 9])


def index(mode: str | None, n: int) -> numpy.ndarray[Any, Any]:
    """Return OUT as indices into an axis of length n, with -1 for dropped ones."""
    i = numpy.where(OUT < 0, OUT + n, OUT)
    if mode == "clip":
        return i.clip(0, n - 1)
    if mode == "wrap":
        return OUT % n
    return numpy.where((i < 0) | (i >= n), -1, i)


@pytest.mark.parametrize("mode", ["clip", "wrap", "drop", "fill"])
@pytest.mark.parametrize("name", ["set", "add", "multiply", "max"])
@pytest.mark.parametrize("last", [False, True])
def test_updates_out_of_bounds(mode: str, name: str, last: bool) -> None:
    a = numpy.arange(12.0).reshape(3, 4)
    axis = 1 if last else 0
    i = index(mode, a.shape[axis])
    v = numpy.arange(7.0) + 2
    expected = numpy.moveaxis(a.copy(), axis, 0)
    for k, value in zip(i, v, strict=True):
        if k < 0:
            continue
        old = expected[k].copy()
        expected[k] = {
            "set": 0 * old + value,
            "add": old + value,
            "multiply": old * value,
            "max": numpy.maximum(old, value),
        }[name]
    key = (slice(None), np.array(OUT)) if last else np.array(OUT)
    values = np.array(v) if last else np.array(v)[:, None]
    ours = getattr(np.array(a).at[key], name)(values, mode=mode)
    same(ours, numpy.moveaxis(expected, 0, axis))


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_reads_out_of_bounds(mode: str) -> None:
    a = numpy.arange(12.0).reshape(3, 4)
    key = np.array(OUT)
    same(np.array(a).at[key].get(mode=mode), a[index(mode, 3)])
    same(np.array(a).at[:, key].get(mode=mode), a[:, index(mode, 4)])
    same(np.array(a).at[key, 1].get(mode=mode), a[index(mode, 3), 1])


@pytest.mark.parametrize(
    ("dtype", "fill"), [("float32", numpy.nan), ("int8", -128), ("uint16", 65535)]
)
def test_out_of_bounds_reads_are_filled(dtype: str, fill: Any) -> None:
    a = numpy.arange(12).reshape(3, 4).astype(dtype)
    i = index("fill", 3)
    expected = numpy.where((i < 0)[:, None], numpy.array(fill).astype(dtype), a[i])
    same(np.array(a).at[np.array(OUT)].get(mode="fill"), expected)
    expected = numpy.where((i < 0)[:, None], numpy.array(7).astype(dtype), a[i])
    same(np.array(a).at[np.array(OUT)].get(mode="fill", fill_value=7), expected)


@pytest.mark.parametrize("key", [5, -6, (1, 9), (slice(None, None, -1), 4)])
def test_single_indices_out_of_bounds(key: Any) -> None:
    a = np.arange(12.0).reshape(3, 4)
    same(a.at[key].add(1, mode="drop"), numpy.arange(12.0).reshape(3, 4))
    assert numpy.isnan(a.at[key].get(mode="fill")).all()
    with pytest.raises(IndexError):
        a.at[key].add(1)


def test_modes_that_are_none() -> None:
    a = np.arange(3.0)
    same(a.at[np.array([1])].add(1, mode="promise_in_bounds"), numpy.array([0.0, 2, 2]))
    message = "mode must be None or one of 'clip', 'drop'"
    with pytest.raises(ValueError, match=message):
        a.at[0].get(mode="clamp")
    for change in (a.at[0].set, a.at[0].add):
        with pytest.raises(ValueError, match=message):
            change(1, mode="clamp")
    with pytest.raises(
        IndexError, match="index 3 is out of bounds for axis 0 with size 3"
    ):
        a.at[np.array([3])].set(1).tolist()


def test_keywords_of_jax() -> None:
    a = np.arange(3.0)
    options = {"indices_are_sorted": True, "unique_indices": True}
    same(a.at[np.array([0, 1])].add(1, **options), numpy.array([1.0, 2, 2]))
    assert a.at[1].get(**options) == 1


# -- Examples from other libraries -----------------------------------------------------


def test_mlx_style() -> None:
    """MLX: ``x[idx] += y`` updates an element once, ``x.at[idx].add(y)`` every time."""
    a = np.array([0, 0])
    idx = np.array([0, 1, 0, 1])
    b = np.array([0, 0])
    b[idx] += 1
    same(b, numpy.array([1, 1]))
    same(a.at[idx].add(1), numpy.array([2, 2]))
    for name, expected in {
        "add": [4, 4], "subtract": [-4, -4], "multiply": [0, 0], "divide": [0, 0],
        "maximum": [2, 2], "minimum": [0, 0],
    }.items():  # fmt: skip
        same(getattr(a.at[idx], name)(2), numpy.array(expected))


def test_jax_style() -> None:
    """JAX: updates of elements and rows, with modes, that leave the array unchanged."""
    x = np.arange(5.0)
    same(x.at[2].add(10), numpy.array([0.0, 1, 12, 3, 4]))
    same(x.at[20].add(10, mode="clip"), numpy.array([0.0, 1, 2, 3, 14]))
    assert x.at[20].get(mode="clip") == 4.0
    assert numpy.isnan(x.at[20].get(mode="fill"))
    assert x.at[20].get(mode="fill", fill_value=-1) == -1.0
    m = (
        np.zeros((3, 3))
        .at[np.array([0, 1]), np.array([1, 2])]
        .set(np.array([5.0, 6.0]))
    )
    same(m, numpy.array([[0.0, 5, 0], [0, 0, 6], [0, 0, 0]]))
    same(
        np.ones((2, 2)).at[0].multiply(3).at[:, 1].divide(2),
        numpy.array([[3, 1.5], [1, 0.5]]),
    )


@pytest.mark.needs("array_api_extra")
@pytest.mark.slow
def test_array_api_extra_takes_it() -> None:
    import array_api_extra as extra

    x = np.arange(4.0)
    same(extra.at(x)[1].set(9.0, copy=True), numpy.array([0.0, 9, 2, 3]))
    same(extra.at(x)[x > 1].add(1.0, copy=True), numpy.array([0.0, 1, 3, 4]))
    same(x, numpy.arange(4.0))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("slots", [1, 30_000])
def test_updates_of_many_complex_numbers(name: str, dtype: str, slots: int) -> None:
    draw = numpy.random.default_rng(0)
    a = numpy.exp(1j * draw.normal(size=slots)).astype(dtype)
    values = numpy.exp(1j * draw.normal(size=40_000)).astype(dtype)
    values[::10_000] = -0.0, numpy.inf, complex(0, -numpy.inf), numpy.nan
    places = draw.integers(-slots, slots, values.size)
    expected, ours = a.copy(), np.array(a)
    with numpy.errstate(all="ignore"):
        getattr(numpy, name).at(expected, places, values)
        getattr(np, name).at(ours, np.array(places), np.array(values))
    same(ours, expected)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_quotients_of_complex_numbers_are_those_of_ufunc_at(dtype: str) -> None:
    numbers = numpy.random.default_rng(0).normal(size=(2, 500))
    a = (numbers[0] + 1j * numbers[1]).astype(dtype)
    expected = a.copy()
    numpy.divide.at(expected, slice(None), 3.3)
    same(np.array(a).at[:].divide(3.3), expected)
