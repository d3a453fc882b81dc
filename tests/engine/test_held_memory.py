"""Test that the queue runs before it holds more operands than a cache has room for."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from support.constants import constant
from support.lanes import ON_GPU

import mxnp
from mxnp import _bridge

LIMIT = constant("python/record/record.c", "SMALL_LIMIT")
MOST = constant("base/limits.h", "MX_MOST_DIRECT")

pytestmark = pytest.mark.skipif(ON_GPU, reason="a GPU has the operands")


@pytest.fixture(autouse=True)
def threshold() -> Iterator[None]:
    before = _bridge.set_threshold(16_384)
    mxnp.synchronize()
    yield
    _bridge.set_threshold(before)


def add_in_steps(size: int, steps: int) -> tuple[Any, list[int]]:
    """Add arrays that the program drops, and return how many operations then wait."""
    total, waiting = mxnp.zeros(size), []
    for step in range(steps):
        total += mxnp.array(numpy.full(size, float(step)))
        waiting.append(_bridge.pending())
    return total, waiting


@pytest.mark.parametrize("size", [16_384, 40_000, MOST])
def test_small_operands_wait_as_long_as_they_are_cached(size: int) -> None:
    steps = 4 * LIMIT // (size * 8) + 4
    total, waiting = add_in_steps(size, steps)
    assert 1 < max(waiting) <= LIMIT // (size * 8) + 3
    assert (numpy.asarray(total) == steps * (steps - 1) / 2).all()


def test_larger_operands_wait_longer() -> None:
    """Their expressions are worth more than a pass over memory."""
    total, waiting = add_in_steps(MOST + 1, 12)
    assert waiting == [*range(waiting[0], waiting[0] + 12)]
    assert (numpy.asarray(total) == 66).all()


@pytest.mark.thread_unsafe(reason="it counts the memory of the process")
@pytest.mark.parametrize("size", [MOST, 10 * MOST])
def test_tracemalloc_counts_arrays_as_numpys(xp: Any, size: int) -> Any:
    def count() -> list[int]:
        traces = tracemalloc.take_snapshot().traces
        domain = numpy.lib.tracemalloc_domain
        found = [t.size for t in traces if t.domain == domain and t.size >= size]
        return sorted(found)

    tracemalloc.start()
    try:
        a = xp.ones(size)
        b = a + 1
        view = b[::2]
        counts = [count()]
        float(b[0])
        del a
        c = xp.array([b, b], dtype="f4")
        counts.append(count())
        del b, c
        counts.append(count())
        del view
        return [*counts, count()]
    finally:
        tracemalloc.stop()
