"""Test what the Metal emulator counts: accesses, barriers, exchanges, divisions."""

from __future__ import annotations

import numpy as np
import pytest
from support.driver import KERNELS, i4, needs_host

pytestmark = [needs_host, pytest.mark.slow]
pytest_plugins = ["support.driver"]

PROGRAM = """
#include <metal_stdlib>
using namespace metal;

kernel void vectors(device const float4 *a [[buffer(0)]], device half2 *b [[buffer(1)]],
                    uint i [[thread_position_in_grid]])
{
    b[i] = half2(a[i].xy);
}

kernel void shares(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]],
                   uint n [[thread_index_in_threadgroup]])
{
    threadgroup float shared[64];
    shared[n] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    a[i] = simd_sum(shared[63 - n]);
}

kernel void divides(device int *a [[buffer(0)]], constant int *by [[buffer(1)]],
                    uint i [[thread_position_in_grid]])
{
    a[i] = a[i] / by[0] + a[i] / 7;
}

kernel void counts(device atomic_uint *a [[buffer(0)]])
{
    atomic_fetch_add_explicit(a, 1u, memory_order_relaxed);
}
"""


@pytest.fixture
def costs(driver):
    """Yield a function that runs a kernel and returns the given counts of it."""

    def run(name, arguments, grid, group, counters):
        driver.configure(cost=1)
        driver.library.metal_emulator_reset_costs()
        assert driver.run(name, arguments, grid, group) == 0
        return [driver.cost(counter) for counter in counters.split()]

    assert driver.compile(PROGRAM), driver.error
    yield run
    assert driver.compile(KERNELS), driver.error


@pytest.mark.usefixtures("quiet")
class TestCosts:
    def test_threads(self, driver, costs):
        a, b = driver.zeros((300, 4)), driver.zeros((300, 2), "f2")
        counters = "dispatches threadgroups threads"
        assert costs("vectors", [a, b], 300, 64, counters) == [1, 5, 300]

    def test_a_vector_is_one_access(self, driver, costs):
        a, b = driver.zeros((300, 4)), driver.zeros((300, 2), "f2")
        loads, load_bytes, *rest = costs(
            "vectors", [a, b], 300, 64, "loads load_bytes stores store_bytes barriers"
        )
        assert rest == [300, 1200, 0]
        assert loads == 300
        assert load_bytes <= 4800  # the compiler may load only the parts that are used

    def test_threadgroup_memory_and_lanes(self, driver, costs):
        counters = (
            "loads stores threadgroup_stores threadgroup_loads barriers exchanges"
        )
        a = driver.buffer(np.arange(128), "f4")
        counts = costs("shares", [a], 128, 64, counters)
        assert counts == [128, 128, 128, 128, 2, 4]
        assert driver.cost("threadgroup_bytes") == 256

    def test_divisions_by_variables(self, driver, costs):
        a = driver.buffer(np.arange(10), "i4")
        counters = "divisions constant_loads"
        assert costs("divides", [a, i4(3)], 10, 10, counters) == [10, 10]

    def test_atomics(self, driver, costs):
        counters = "atomics loads stores"
        assert costs("counts", [driver.zeros(1, "u4")], 100, 32, counters) == [100] * 3

    def test_workers_do_not_change_counts(self, driver, costs):
        a, counters = driver.zeros(1 << 12), "threads loads barriers branches exchanges"
        driver.configure(workers=1)
        alone = costs("shares", [a], 1 << 12, 64, counters)
        driver.configure(workers=4)
        assert costs("shares", [a], 1 << 12, 64, counters) == alone

    def test_nothing_is_counted_when_off(self, driver, costs):
        driver.library.metal_emulator_reset_costs()
        driver.configure(cost=0)
        assert driver.run("shares", [driver.zeros(64)], 64, 64) == 0
        assert driver.cost("threads") == 0

    def test_unknown_counter(self, driver):
        assert driver.library.metal_emulator_cost(b"money") == -1
