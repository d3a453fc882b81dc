"""Test compiled kernels: their arguments, variables and branches."""

from __future__ import annotations

import numpy as np
import pytest
from support.msl import HEAD, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]
pytest_plugins = ["support.msl"]


def test_kernels_in_the_prelude_are_there(build):
    kernel = "kernel void {}(device int *a [[buffer(0)]]) {{ *a = 5; }}\n"
    text = (
        HEAD + kernel.format("p") + "/* -- end of prelude -- */\n" + kernel.format("q")
    )
    assert sorted(build(text).kernels) == ["p", "q"]


def test_loops_in_functions_are_branches(build):
    text = HEAD + (
        "inline int count(int n) { int s = 0; for (int i = 0; i < n; i++) s ^= i * n; return s; }\n"
        "/* -- end of prelude -- */\n"
        "kernel void k(device int *a [[buffer(0)]]) { *a = count(*a); }\n"
    )
    library = build(text, instrumented=True)
    value = np.array([1000], np.int32)
    library.run("k", value)
    assert library.engine.branches > 1000


@pytest.mark.parametrize(("fast_math", "expected"), [(False, [1, 1]), (True, [0, 1])])
def test_fast_math_knows_no_nan(fast_math, expected, build):
    text = HEAD + (
        "kernel void k(device const float *a [[buffer(0)]], device int *out [[buffer(1)]])"
        " { out[0] = isnan(a[0]); out[1] = (as_type<uint>(a[0]) & 0x7fffffffu) > 0x7f800000u; }"
    )
    out = np.zeros(2, np.int32)
    build(text, fast_math).run("k", np.array([np.nan], np.float32), out)
    assert out.tolist() == expected


def test_values_of_attributes(build):
    text = HEAD + (
        "kernel void k(device uint *out [[buffer(0)]], constant uint &n [[buffer(1)]],"
        " threadgroup uint *t [[threadgroup(0)]],"
        " uint3 g [[thread_position_in_grid]],"
        " ushort3 p [[threads_per_grid]], uint lane [[thread_index_in_simdgroup]],"
        " uint width [[threads_per_simdgroup]])\n"
        "{ out[0] = g.x; out[1] = g.y; out[2] = g.z; out[3] = p.x; out[4] = lane;"
        " out[5] = width; out[6] = n; out[7] = t == (threadgroup uint *)0; }"
    )
    out, n = np.zeros(8, np.uint32), np.array([77], np.uint32)
    library = build(text)
    library.run("k", out, n, threads=3)
    assert out.tolist() == [2, 3, 4, 3, 2, 32, 77, 0]
    kernel = library.kernels["k"]
    arguments = [kernel.arguments[i] for i in range(kernel.argument_count)]
    assert [a.kind for a in arguments] == [0, 0, 1, 2, 7, 9, 11]
    assert [a.index for a in arguments][:3] == [0, 1, 0]
    assert [a.is_const for a in arguments][:3] == [0, 1, 0]
    assert [a.space for a in arguments][:3] == [1, 2, 3]


def test_threadgroup_variables_are_numbered_in_each_kernel(build):
    kernel = (
        "kernel void {}(device uint *out [[buffer(0)]]) {{\n"
        "threadgroup uint t[3][2], u; threadgroup half h;\n"
        "t[2][1] = 1; u = 2; h = 3; out[0] = t[2][1] + u + uint(h); }}\n"
    )
    library = build(HEAD + kernel.format("p") + kernel.format("q"))
    out = np.zeros(1, np.uint32)
    library.run("q", out)
    assert out[0] == 6
    assert {n: len(v) for n, v in library.engine.variables.items()} == {
        0: 24,
        1: 4,
        2: 2,
    }
