"""Test that reads and writes of arrays that no recorded operation uses do not flush."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import mxnp
from mxnp import _bridge

N = 400


@pytest.fixture(autouse=True)
def threshold() -> Iterator[None]:
    mxnp.synchronize()
    before = _bridge.set_threshold(16_384)
    eager = _bridge.set_eager(False)
    yield
    _bridge.set_eager(eager)
    _bridge.set_threshold(before)


def numbers() -> Any:
    return numpy.random.default_rng(0).random((N, N))


def stays(act: Callable[[], Any]) -> bool:
    """Return whether the recorded operations still wait after a call."""
    before = _bridge.pending()
    assert before > 0
    act()
    return _bridge.pending() >= before


OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "an element": lambda other, small: other[3, 4],
    "a small element": lambda other, small: small[1],
    "item": lambda other, small: other.item(7),
    "flat": lambda other, small: other.flat[7],
    "float": lambda other, small: float(other[1:2, 1:2].reshape(())),
    "sum": lambda other, small: small.sum(),
    "write": lambda other, small: other.__setitem__((3, 4), 5.0),
    "write a small element": lambda other, small: small.__setitem__(1, 5.0),
    "write a row": lambda other, small: other.__setitem__((3, slice(0, 3)), small[:3]),
    "iterate": lambda other, small: list(small),
    "mask": lambda other, small: small[small > 0],
    "print": lambda other, small: repr(small),
}


@pytest.mark.parametrize("name", OTHERS)
def test_arrays_that_nothing_uses_do_not_flush(name: str) -> None:
    x, other, small = mxnp.array(numbers()), mxnp.array(numbers()), mxnp.arange(5.0)
    mxnp.synchronize()
    y = x * 2 + 1
    assert stays(lambda: OTHERS[name](other, small))
    assert y[0, 0] == x[0, 0] * 2 + 1
