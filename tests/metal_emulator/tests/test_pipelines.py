"""Test what the Metal emulator checks when a library or a pipeline is made."""

from __future__ import annotations

import pytest
from support.driver import KERNELS, needs_host

pytestmark = [needs_host, pytest.mark.slow]
pytest_plugins = ["support.driver"]

LIMITED = """#include <metal_stdlib>
using namespace metal;
template <typename T>
[[max_total_threads_per_threadgroup(128)]]
kernel void limited(device T *b [[buffer(0)]], uint i [[thread_index_in_threadgroup]])
{
    threadgroup T items[8 * sizeof(T)], one;
    items[i] = b[i];
    one = items[i];
    b[i] = one;
}
template [[host_name("limited_float")]] kernel void
limited<float>(device float *b [[buffer(0)]], uint i [[thread_index_in_threadgroup]]);
kernel void unlimited(device float *b [[buffer(0)]], uint i [[thread_index_in_threadgroup]])
{
    threadgroup float few[2048];
    for (uint k = 0; k < 2; k++) {
        threadgroup float many[6145];
        many[i] = b[k];
        few[i] = many[i];
    }
    b[i] = few[i];
}
"""


@pytest.fixture
def fresh(driver):
    yield driver
    driver.configure(macos=15)
    assert driver.compile(KERNELS)


def test_limits_of_pipelines(fresh):
    library = fresh.library
    assert fresh.compile(LIMITED), fresh.error
    limited = fresh.pipeline("limited_float")
    assert library.driver_pipeline_threads(limited) == 128
    assert library.driver_pipeline_memory(limited) == 8 * 4 * 4 + 16
    assert library.driver_pipeline(fresh.source, b"unlimited") is None
    assert "Threadgroup memory size (32784) exceeds" in fresh.error
    assert fresh.compile(LIMITED.replace("6145", "6144")), fresh.error
    unlimited = fresh.pipeline("unlimited")
    assert library.driver_pipeline_threads(unlimited) == 1024
    fresh.configure(pipeline_threads=192)
    assert library.driver_pipeline_threads(unlimited) == 192
    assert library.driver_pipeline_threads(limited) == 128


@pytest.mark.parametrize(
    ("macos", "newest"), [(12, 240), (13, 300), (14, 310), (15, 320), (26, 400)]
)
def test_versions_of_macos(macos, newest, fresh):
    source = """#include <metal_stdlib>
        kernel void f(device uint *b [[buffer(0)]]) { b[0] = __METAL_VERSION__; }"""
    fresh.configure(macos=macos)
    for version in (240, 300, 310, 320, 400):
        compiled = fresh.compile(source, version=version)
        assert compiled == (version <= newest), fresh.error
        if compiled:
            out = fresh.zeros(1, "u4")
            assert fresh.run("f", [out], 1, 1) == 0
            assert out.array[0] == version


def test_the_default_version_is_old(fresh):
    source = """#include <metal_stdlib>
        kernel void f(device uint *b [[buffer(0)]]) { b[0] = __METAL_VERSION__; }"""
    fresh.source = fresh.library.driver_library(source.encode(), 0, -1, 0)
    out = fresh.zeros(1, "u4")
    assert fresh.run("f", [out], 1, 1) == 0
    assert out.array[0] == 240


@pytest.mark.parametrize(
    ("fast_math", "functions", "is_exact"),
    [(True, -1, False), (False, -1, True), (False, 0, False), (False, 1, True)],
)
def test_safe_mode_alone_leaves_the_functions_fast(
    fast_math, functions, is_exact, fresh
):
    source = """#include <metal_stdlib>
        using namespace metal;
        kernel void f(device float *b [[buffer(0)]]) { b[0] = sin(b[0]); }"""
    assert fresh.compile(source, fast_math=fast_math, functions=functions), fresh.error
    b = fresh.buffer([1], "f4")
    assert fresh.run("f", [b], 1, 1) == 0
    assert (abs(b.array[0] - 0.8414709848) < 1e-7) == is_exact
