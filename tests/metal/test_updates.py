"""Test ordered and 64-bit updates on the device: keys, values, bounds, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.metal import launches as count_launches
from support.metal import needs_metal

import mxnp
from mxnp import _bridge
from mxnp._engine import core
from mxnp._gpu import updates

pytestmark = [needs_metal, pytest.mark.usefixtures("on_metal")]

N = 2500


def launches(call: Callable[[], Any]) -> tuple[Any, int]:
    """Return the result of a call, and the number of kernels that it ran."""
    mxnp.synchronize()
    return count_launches(call)


def integers(low: int, high: int, *shape: int, dtype: str = "int64") -> numpy.ndarray:
    return numpy.random.default_rng(len(shape)).integers(low, high, shape, dtype)


def ours_of(x: Any) -> Any:
    """Return a key or value with mxnp arrays in place of NumPy arrays."""
    if isinstance(x, tuple):
        return tuple(map(ours_of, x))
    return mxnp.array(x) if isinstance(x, numpy.ndarray) else x


I, J = integers(-30, 30, N), integers(-40, 40, N, 1)[:, 0]  # noqa: E741
KEYS: dict[str, Any] = {
    "rows": I,
    "rows of a tuple": (I, ...),
    "columns": (slice(None), J),
    "points": (I, J),
    "a row's": (3, J),
    "a column's": (I, -2),
    "new axis": (I, None, J),
    "two axes": I.reshape(50, 50),
    "broadcast": (I[:40, None], J[:50]),
    "some columns": (I, slice(3, 30, 4)),
    "columns backwards": (I, slice(None, None, -1)),
    "some rows": (slice(20, 2, -3), J),
    "unsigned": (I % 30).astype("uint8"),
    "few bits": I.astype("int8"),
    "a mask of rows": integers(0, 2, 30) > 0,
    "a mask": integers(0, 2, 30, 40) > 0,
    "a mask and indices": (integers(0, 2, 30) > 0, J[:1]),
    "not negative": (I % 30, J % 40),
}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", ["one", "each", "row", "other dtype", "Python"])
def test_keys(key: str, value: str) -> None:
    a = integers(-9, 9, 30, 40)
    selected = a[KEYS[key]].shape
    values: Any = {
        "one": numpy.array(7),
        "each": integers(-99, 99, *selected),
        "row": integers(-99, 99, *selected[-1:]),
        "other dtype": integers(-99, 99, *selected, dtype="int16"),
        "Python": 5,
    }[value]
    if value == "row" and len(selected) > 1 and key == "two axes":
        values = values[None]
    expected = a.copy()
    numpy.subtract.at(expected, KEYS[key], values)
    given, index, operand = mxnp.array(a), ours_of(KEYS[key]), ours_of(values)
    _, count = launches(lambda: mxnp.subtract.at(given, index, operand))
    assert count >= 2
    numpy.testing.assert_array_equal(given, expected, strict=True)


def test_more_axes() -> None:
    a, i, j = integers(-9, 9, 6, 7, 8), integers(-7, 7, 400), integers(-8, 8, 400, 1)
    for key in [
        (slice(None), i),
        (..., j[:, 0]),
        (slice(1, 4), i, j[:, 0]),
        (i % 6, 3),
    ]:
        values = integers(-99, 99, *a[key].shape)
        expected = a.copy()
        numpy.bitwise_xor.at(expected, key, values)
        given = mxnp.array(a)
        _, count = launches(
            lambda k=key, g=given, v=values: mxnp.bitwise_xor.at(
                g, ours_of(k), ours_of(v)
            )
        )
        assert count >= 2
        numpy.testing.assert_array_equal(given, expected, strict=True)


def test_values_and_indices_in_the_memory_that_is_updated() -> None:
    a = integers(0, N, N)
    expected, ours = a.copy(), mxnp.array(a)
    numpy.add.at(expected, a.copy(), expected[::-1].copy())
    _, count = launches(lambda: mxnp.add.at(ours, ours, ours[::-1]))
    assert count >= 3
    numpy.testing.assert_array_equal(ours, expected)
    i = integers(0, 300, N)
    expected, ours = a.copy(), mxnp.array(a)
    numpy.maximum.at(expected, i, a)
    mxnp.maximum.at(ours, mxnp.array(i), ours)
    numpy.testing.assert_array_equal(ours, expected)


def test_views() -> None:
    a, i = integers(-9, 9, 90), integers(0, 30, N)
    for view in [
        lambda x: x[20:60],
        lambda x: x.reshape(30, 3)[:, 0],
        lambda x: x[::-1],
        lambda x: x.reshape(45, 2).T[0],
    ]:
        expected, ours = a.copy(), mxnp.array(a)
        numpy.add.at(view(expected), i, 3)
        mxnp.add.at(view(ours), mxnp.array(i), 3)
        numpy.testing.assert_array_equal(ours, expected)


def test_read_only_and_other_memory() -> None:
    a, i = integers(-9, 9, 90), integers(0, 30, N)
    foreign = mxnp.asarray(a)
    _, count = launches(lambda: mxnp.add.at(foreign, mxnp.array(i), 1))
    assert count == 0
    fixed, index = mxnp.array(a), mxnp.array(i)
    fixed.flags.writeable = a.flags.writeable = False

    def add(xp: Any, to: Any, indices: Any) -> str:
        try:
            xp.add.at(to, indices, 1)
        except ValueError as error:  # NumPy 2.4 writes nevertheless
            return str(error)
        return ""

    error, count = launches(lambda: add(mxnp, fixed, index))
    assert (error, count) == (add(numpy, a, i), 0)
    numpy.testing.assert_array_equal(fixed, a)


# -- Bounds ---------------------------------------------------------------------------

MODES = ("drop", "fill", "clip", "wrap")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("is_waiting", [False, True])
def test_modes(mode: str, deterministic: bool, is_waiting: bool) -> None:
    a, i, v = integers(-9, 9, 30, 4), integers(-60, 60, N), integers(-9, 9, N, 4)
    index = mxnp.array(i - 1) + 1 if is_waiting else mxnp.array(i)
    ours, count = launches(
        lambda: (
            mxnp.array(a)
            .at[index]
            .add(mxnp.array(v), mode=mode, deterministic=deterministic)
        )
    )
    assert count >= 3
    expected = a.copy()
    kept = (i >= -30) & (i < 30) if mode in ("drop", "fill") else i > -999
    moved = numpy.where(i < 0, i + 30, i).clip(0, 29) if mode == "clip" else i
    numpy.add.at(expected, (moved % 30 if mode == "wrap" else moved)[kept], v[kept])
    numpy.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("name", ["add", "set"])
def test_modes_of_elements_with_atomic_operations(
    mode: str, dtype: str, name: str
) -> None:
    i = numpy.resize(numpy.arange(-65, 66), N)
    ours = getattr(mxnp.zeros(30, dtype).at[mxnp.array(i)], name)(1, mode=mode)
    expected = numpy.zeros(30, dtype)
    kept = (i >= -30) & (i < 30) if mode in ("drop", "fill") else i > -999
    moved = numpy.where(i < 0, i + 30, i).clip(0, 29) if mode == "clip" else i
    places = (moved % 30 if mode == "wrap" else moved)[kept]
    if name == "add":
        numpy.add.at(expected, places, 1)
    else:
        expected[places] = 1
    numpy.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("is_waiting", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_fast_mode_leaves_out(is_waiting: bool, axis: int) -> None:
    a, i = integers(-9, 9, 30, 30), integers(-60, 60, N)
    index = mxnp.array(i - 1) + 1 if is_waiting else mxnp.array(i)
    kept = (i >= -30) & (i < 30)
    expected, ours = a.copy(), mxnp.array(a)
    numpy.add.at(expected, (slice(None),) * axis + (i[kept],), 5)
    with mxnp.mode("fast"):
        _, count = launches(
            lambda: mxnp.add.at(ours, (slice(None),) * axis + (index,), 5)
        )
    assert count >= 3
    numpy.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("dtype", ["int64", "complex64"])
def test_an_index_that_is_known_to_be_none(dtype: str) -> None:
    a = integers(-9, 9, 30).astype(dtype)
    i = integers(-30, 30, N)
    i[70], i[80] = 31, -99
    ours, index = mxnp.array(a), mxnp.array(i)
    with pytest.raises(
        IndexError, match=r"^index 31 is out of bounds for axis 0 with size 30"
    ):
        mxnp.add.at(ours, index, 1)
    with pytest.raises(IndexError, match=r"^index 31 is out of bounds"):
        ours.at[index].add(1, deterministic=True)
    numpy.testing.assert_array_equal(ours, a)


def test_an_index_that_is_computed_and_none() -> None:
    """Indices are checked before the update; operations after it are dropped."""
    a = integers(-9, 9, 30, 30)
    i = integers(-30, 30, N)
    i[70], i[80] = 31, -99
    ours, good = mxnp.array(a), mxnp.array(I)
    mxnp.add.at(ours, good, 2)
    expected = a.copy()
    numpy.add.at(expected, I, 2)
    mxnp.synchronize()
    mxnp.add.at(ours, (slice(None), mxnp.array(i - 1) + 1), 1)
    mxnp.add.at(ours, good, 1)
    with pytest.raises(
        IndexError, match=r"^index 31 is out of bounds for axis 1 with size 30"
    ) as raised:
        mxnp.synchronize()
    assert "test_updates.py" in raised.value.__notes__[0]
    assert not _bridge.pending()
    numpy.testing.assert_array_equal(ours, expected)
    mxnp.add.at(ours, good, 1)
    numpy.add.at(expected, I, 1)
    numpy.testing.assert_array_equal(ours, expected)


def test_an_index_that_is_computed_and_none_of_a_copy() -> None:
    a = integers(-9, 9, 30).astype("f4")
    ours = mxnp.array(a).at[mxnp.array(I) + 25].add(1, deterministic=True)
    with pytest.raises(IndexError, match="is out of bounds for axis 0 with size 30"):
        mxnp.synchronize()
    del ours


# -- Updates elsewhere ----------------------------------------------------------------


def test_devices_and_sizes() -> None:
    a, i = integers(-9, 9, 30), mxnp.array(I)
    expected = a.copy()
    numpy.add.at(expected, I, 1)
    for device in "cpu", "auto":
        ours = mxnp.array(a)
        with mxnp.device(device):
            _, count = launches(lambda x=ours: mxnp.add.at(x, i, 1))
        assert count == 0
        numpy.testing.assert_array_equal(ours, expected)
    _bridge.set_threshold(2**14)
    ours = mxnp.array(a)
    _, count = launches(lambda: mxnp.add.at(ours, i, 1))
    assert count == 0
    numpy.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("deterministic", [False, True])
def test_long_lines_are_the_processors(
    monkeypatch: pytest.MonkeyPatch, deterministic: bool
) -> None:
    monkeypatch.setattr(updates, "_MAX_UPDATES", N - 1)
    a, i, v = integers(-9, 9, 30), mxnp.array(I), integers(-9, 9, N)
    kind = "f4" if deterministic else "i8"
    expected = a.astype(kind)
    numpy.add.at(expected, I, v.astype(kind))
    ours, values = mxnp.array(a.astype(kind)), mxnp.array(v.astype(kind))
    mxnp.synchronize()
    before = core.gpu_counts()
    ours = ours.at[i].add(values, deterministic=deterministic)
    mxnp.synchronize()
    after = core.gpu_counts()
    assert after["dispatches"] - before["dispatches"] <= 1  # the copy
    numpy.testing.assert_array_equal(ours, expected)


def test_counts() -> None:
    """Counting functions are updates of int64."""
    x = integers(0, 50, 4000)
    ours, count = launches(lambda: mxnp.bincount(mxnp.array(x)))
    assert count >= 3
    numpy.testing.assert_array_equal(ours, numpy.bincount(x), strict=True)
