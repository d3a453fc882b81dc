"""Test that np.roll is recorded, with NumPy's results and layouts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import mxnp
from mxnp import _bridge

SHAPE = (300, 301)


@pytest.fixture(autouse=True)
def threshold() -> Iterator[None]:
    before = _bridge.set_threshold(16_384)
    yield
    _bridge.set_threshold(before)


def numbers(shape: tuple[int, ...] = SHAPE) -> Any:
    return numpy.random.default_rng(0).random(shape)


SHIFTS: list[tuple[Any, Any]] = [
    (1, 0),
    (-1, 1),
    (5, None),
    (numpy.int64(-3), 1),
    (numpy.uint8(3), -1),
    (True, 0),
    ((1, -2), (0, 1)),
    ((1, 2, 299), (0, 1, 0)),
    ([2, -1], (1, 0)),
    (4, (0, 1)),
    ((3, 4), 0),
    ((3, 4), None),
    (0, 0),
    (301, 1),
    (1000, 1),
    ((0, 0), (0, 1)),
]


@pytest.mark.thread_unsafe(reason="it counts the operations of all threads")
@pytest.mark.parametrize(("shift", "axis"), SHIFTS)
@pytest.mark.parametrize("layout", ["C", "F", "slice", "slice of F"])
@pytest.mark.parametrize("is_waiting", [False, True])
def test_rolls_are_recorded(
    shift: Any, axis: Any, layout: str, is_waiting: bool
) -> None:
    theirs = numbers((304, 305))
    ours = mxnp.array(theirs)
    if is_waiting:
        theirs, ours = theirs * 2, ours * 2
    if layout.endswith("F"):
        theirs, ours = theirs.T, ours.T
    if layout.startswith("slice"):
        theirs, ours = theirs[2:-2, 2:-2], ours[2:-2, 2:-2]
    before = _bridge.pending()
    rolled, expected = (
        mxnp.roll(ours, shift, axis=axis),
        numpy.roll(theirs, shift, axis),
    )
    if axis is not None or layout == "C":
        assert _bridge.pending() > before == is_waiting
    assert type(rolled) is mxnp.ndarray
    assert rolled.strides == expected.strides
    numpy.testing.assert_array_equal(rolled, expected)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (1, 0, 2)])
def test_rolls_along_three_axes(axes: tuple[int, ...]) -> None:
    theirs = numbers((30, 31, 32)).transpose(axes)
    ours = mxnp.array(numbers((30, 31, 32))).transpose(axes)
    for shift, axis in [((1, 2, 3), (0, 1, 2)), ((7, -7), (2, 0)), (3, 1)]:
        rolled, expected = mxnp.roll(ours, shift, axis), numpy.roll(theirs, shift, axis)
        assert rolled.strides == expected.strides
        numpy.testing.assert_array_equal(rolled, expected)


@pytest.mark.parametrize(
    ("shift", "axis", "error"),
    [
        (1, 2, numpy.exceptions.AxisError),
        ((1, 2, 3), (0, 1), ValueError),
        (1.5, 0, TypeError),
        ("a", 0, ValueError),
        (2**70, 0, ()),
    ],
)
def test_errors_are_those_of_numpy(shift: Any, axis: Any, error: Any) -> None:
    theirs = numbers()
    ours = mxnp.array(theirs)
    raised: list[BaseException | None] = []
    for xp, a in ((numpy, theirs), (mxnp, ours)):
        try:
            xp.roll(a, shift, axis)
            raised.append(None)
        except error as e:
            raised.append(e)
    assert type(raised[0]) is type(raised[1])
    assert str(raised[0]) == str(raised[1])


@pytest.mark.thread_unsafe(reason="it counts the operations of all threads")
def test_a_program_of_rolls_runs_in_one_pass_per_step() -> None:
    """Rolls of arrays in memory do not run the operations that read these arrays."""
    x = mxnp.array(numbers())
    mxnp.synchronize()
    flux = x * 2
    mxnp.synchronize()
    total = (
        x - flux + mxnp.roll(flux, -1, axis=0) - mxnp.roll(flux, (1, 1), axis=(0, 1))
    )
    assert _bridge.pending() >= 8
    f = numbers() * 2
    expected = numbers() - f + numpy.roll(f, -1, 0) - numpy.roll(f, (1, 1), (0, 1))
    numpy.testing.assert_array_equal(total, expected)
