"""Test what kernels cost on the Metal emulator: accesses, barriers, threads.

The costs do not depend on the machine, so the bounds are tight. A kernel that costs less
may lower them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.metal import count_costs, needs_host, no_reports

import mxnp

pytestmark = [needs_host, pytest.mark.usefixtures("on_metal")]


def values(dtype: str, *shape: int) -> Any:
    """Return an array in memory of the device."""
    given = numpy.random.default_rng(0).integers(0, 50, shape)
    return mxnp.array(given.astype(dtype))


def costs_of(call: Callable[[], Any]) -> dict[str, int]:
    """Return what the kernels of a call cost."""
    with no_reports(), count_costs() as costs:
        kept = call()
    del kept  # a result that nobody holds is not computed
    return costs


@pytest.mark.parametrize(
    ("dtype", "loads_of_product"), [("float32", 0.13), ("int32", 0.75)]
)
def test_product(dtype: str, loads_of_product: float) -> None:
    """Each tile is loaded once for each tile of the other operand beside it."""
    a, b = values(dtype, 128, 256), values(dtype, 256, 64)
    costs = costs_of(lambda: a @ b)
    assert costs["dispatches"] == 1
    assert costs["loads"] == 128 * 256 * 2 + 256 * 64 * 4
    assert costs["threadgroup_loads"] <= loads_of_product * 128 * 256 * 64
    assert costs["barriers"] == 2 * 8 * (256 // 32)
    assert costs["threadgroup_bytes"] <= 10_240  # three threadgroups on a core


def test_an_update_of_an_integer_is_one_atomic_operation() -> None:
    """Without a load before it, and without an exchange that may have to be repeated."""
    n = 4096
    target, at, ones = values("int32", 2 * n), values("int64", n), values("int32", n)
    costs = costs_of(lambda: mxnp.add.at(target, at, ones))
    assert costs["dispatches"] == 1
    assert costs["atomics"] == n
    with_loops = values("float32", 2 * n), values("float32", n)
    costs = costs_of(lambda: mxnp.add.at(with_loops[0], at, with_loops[1]))
    assert costs["atomics"] >= 1.9 * n  # some values are 0


# -- Elements -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "pack"),
    [("float32", 4), ("uint8", 16), ("float16", 8), ("complex64", 2)],
)
def test_packs(dtype: str, pack: int) -> None:
    """A thread loads and stores 16 bytes, and divides nothing."""
    n = 4096
    a, b = values(dtype, n), values(dtype, n)
    costs = costs_of(lambda: a + b)
    assert costs["threads"] == n // pack
    assert costs["loads"] == 2 * n // pack
    assert costs["stores"] == n // pack
    assert costs["divisions"] == 0


def test_packs_of_rows() -> None:
    """Rows of a part of a matrix are loaded in packs, and one row is added to all."""
    a, row = values("float32", 64, 128), values("float32", 64)
    costs = costs_of(lambda: a[:, :64] + row)
    assert costs["loads"] == 2 * 64 * 64 // 4
    assert costs["divisions"] == 0


def test_unaligned_elements() -> None:
    """Elements that are not at multiples of 16 bytes are loaded one by one."""
    a = values("float32", 4097)
    assert costs_of(lambda: a[1:] + a[:-1])["loads"] == 2 * 4096


# -- Reductions and scans -----------------------------------------------------------------


def test_many_short_rows() -> None:
    """Threadgroups have several rows, whose lanes exchange their sums."""
    a = values("float32", 3000, 8)
    costs = costs_of(lambda: a.sum(axis=1))
    assert costs["threads"] <= 2 * 3000 + 256
    assert costs["loads"] == 3000 * 8 // 4
    assert costs["barriers"] == costs["threadgroup_stores"] == costs["divisions"] == 0


def test_long_rows() -> None:
    """A threadgroup joins its sums with one barrier."""
    a = values("float32", 300, 2048)
    costs = costs_of(lambda: a.sum(axis=1))
    assert costs["dispatches"] == 1
    assert costs["threadgroups"] == costs["barriers"] == 300
    assert costs["loads"] == 300 * 2048 // 4
    assert costs["threadgroup_bytes"] <= 64


def test_few_columns() -> None:
    """No threads idle beside a narrow matrix."""
    a = values("float32", 4096, 2)
    costs = costs_of(lambda: a.max(axis=0))
    assert costs["threads"] <= 2 * 2 * 4096


def test_search() -> None:
    a = values("float32", 500, 100)
    costs = costs_of(lambda: a.argmax(axis=1))
    assert costs["barriers"] == 0
    assert costs["loads"] == 500 * 100 // 4


def test_scan() -> None:
    """Each thread has several elements, and SIMD-groups add them up."""
    a = values("float32", 20, 4096)
    costs = costs_of(lambda: a.cumsum(axis=1))
    assert costs["barriers"] <= 20 * (2 * 4 + 1)
    assert costs["threadgroup_loads"] <= 20 * 4096 * 2 + 20 * 256


def test_short_scans() -> None:
    a = values("float32", 1000, 20)
    costs = costs_of(lambda: a.cumsum(axis=1))
    assert costs["threads"] <= 1000 * 8 + 256
    assert costs["barriers"] == 0


def test_scans_of_columns() -> None:
    """One thread goes along each column, beside those of the adjacent columns."""
    a = values("float32", 50, 2048)
    costs = costs_of(lambda: a.cumsum(axis=0))
    assert costs["threads"] == 2048
    assert costs["barriers"] == 0
    numpy.testing.assert_allclose(a.cumsum(axis=0), numpy.cumsum(a, axis=0), rtol=1e-5)


def test_mask() -> None:
    """Adjacent lanes read adjacent elements of a mask, three times in all."""
    n = 4096 * 8
    mask, a = values("uint8", n) > 20, values("float32", n)
    selected = int(mask.sum())
    costs = costs_of(lambda: a[mask])
    assert costs["loads"] <= 3 * n + selected + 1000
    assert costs["barriers"] <= 2 * 8 + 4
    assert costs["threadgroup_loads"] <= 8 * (8 + 256 * 4) + 256 * 8


def test_positions_of_many_axes() -> None:
    """An axis is found by a multiplication, as a division takes many times as long."""
    a = values("int32", 3, 5, 7, 4, 6)
    part = a[::2, ::2, ::2, ::2, ::2]
    assert costs_of(lambda: part + 1)["divisions"] == 0
    assert costs_of(lambda: part.sum(axis=(1, 3)))["divisions"] == 0
