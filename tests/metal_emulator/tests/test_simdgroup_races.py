"""Test that SIMD-group barriers order the accesses of a SIMD-group's lanes alone."""

from __future__ import annotations

import pytest
from support.driver import KERNELS, needs_host

pytestmark = [needs_host, pytest.mark.slow]
pytest_plugins = ["support.driver"]

PROGRAM = """
#include <metal_stdlib>
using namespace metal;

kernel void share(device float *a [[buffer(0)]], constant uint *far [[buffer(1)]],
                  uint n [[thread_index_in_threadgroup]])
{
    threadgroup float shared[64];
    shared[n] = float(n);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    a[n] = shared[n ^ far[0]];
}

kernel void share_without_barrier(device float *a [[buffer(0)]],
                                  uint n [[thread_index_in_threadgroup]])
{
    threadgroup float shared[64];
    shared[n] = float(n);
    simd_sum(1);
    a[n] = shared[n ^ 1];
}

kernel void store_matrix(device float *a [[buffer(0)]], constant uint *waits [[buffer(1)]],
                         uint n [[thread_index_in_threadgroup]])
{
    threadgroup float shared[64];
    simdgroup_matrix<float, 8, 8> m = make_filled_simdgroup_matrix<float, 8, 8>(3.0f);
    simdgroup_store(m, shared, 8);
    if (waits[0])
        simdgroup_barrier(mem_flags::mem_threadgroup);
    a[n] = shared[63 - n];
}
"""


@pytest.fixture
def races(driver):
    driver.configure(race=1)
    assert driver.compile(PROGRAM), driver.error
    yield driver
    assert driver.compile(KERNELS), driver.error


def number(n):
    return n.to_bytes(4, "little")


def test_lanes_of_one_simdgroup_are_ordered(races, quiet):
    assert races.run("share", [races.zeros(64), number(5)], 64, 64) == 0
    assert races.run("store_matrix", [races.zeros(64), number(1)], 32, 32) == 0


@pytest.mark.parametrize(
    ("kernel", "arguments", "threads"),
    [
        ("share", [number(32)], 64),  # another SIMD-group
        ("share_without_barrier", [], 64),
        ("store_matrix", [number(0)], 32),
    ],
)
def test_others_race(races, expect, kernel, arguments, threads):
    assert races.run(kernel, [races.zeros(64), *arguments], threads, threads) == 1
    expect("data race: read of the byte .* that another GPU thread wrote")
