"""Test assignments to masked elements of values that are a view of the same array."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import mxnp


def assigned(xp: Any, size: int, is_tuple: bool, start: int, step: int) -> Any:
    random = numpy.random.default_rng(size)
    a = xp.array(random.random(size))
    mask = xp.array(random.random(size) < 0.5)
    values = a[start : start + int(mask.sum())][::step]
    a *= 2
    a[(mask,) if is_tuple else mask] = values
    return numpy.array(a)


@pytest.mark.parametrize("size", [50, 2_000, 30_000])
@pytest.mark.parametrize("is_tuple", [False, True])
@pytest.mark.parametrize(("start", "step"), [(0, 1), (3, 1), (0, -1), (5, -1)])
def test_values_are_read_in_numpys_order(
    size: int, is_tuple: bool, start: int, step: int
) -> None:
    found = assigned(mxnp, size, is_tuple, start, step)
    expected = assigned(numpy, size, is_tuple, start, step)
    numpy.testing.assert_array_equal(found, expected)


def test_rows_and_columns() -> None:
    for xp in (numpy, mxnp):
        a = xp.array(numpy.random.default_rng(0).random((150, 150)))
        mask = a > 0.5
        values = a.T.reshape(-1)[: int(mask.sum())]
        other = a.ravel()[: int(mask.sum())]
        a[mask] = values
        a[mask] = other
        if xp is numpy:
            expected = a
    numpy.testing.assert_array_equal(a, expected)
