"""Test single functions and conversions of the Metal emulator's library."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.msl import HEAD, NUMPY_TYPES, evaluate, kernel_of, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]
pytest_plugins = ["support.msl"]

# name: type of the result, types of the inputs, statements, expression, values, expected
OTHER_CASES = {
    "ldexp": (
        "float",
        ["float", "int"],
        "",
        "ldexp(a, b)",
        [(1.5, 3), (3.0, -1)],
        [12, 1.5],
    ),
    "ldexp_half": ("half", ["half", "int"], "", "ldexp(a, b)", [(1.5, 3)], [12]),
    "frexp": (
        "float",
        ["float"],
        "int e;",
        "frexp(a, e) + 100 * e",
        [(12.0,), (0.3,)],
        [400.75, np.float32(0.6) - 100],
    ),
    "frexp_vector": (
        "float",
        ["float"],
        "int2 e;",
        "frexp(float2(a, 3), e).y + 100 * e.x",
        [(12.0,)],
        [400.75],
    ),
    "modf": (
        "float",
        ["float"],
        "float w;",
        "modf(a, w) + 100 * w",
        [(-2.25,)],
        [-200.25],
    ),
    "modf_half": (
        "half",
        ["half"],
        "half w;",
        "modf(a, w) + 100 * w",
        [(2.25,)],
        [200.25],
    ),
    "sincos": (
        "float",
        ["float"],
        "float c;",
        "sincos(a, c) * 0 + c",
        [(0.0,)],
        [1.0],
    ),
    "ilogb": ("int", ["float"], "", "ilogb(a)", [(12.0,), (0.3,)], [3, -2]),
    "isnan": (
        "int",
        ["float"],
        "",
        "isnan(a)",
        [(math.nan,), (math.inf,), (1,)],
        [1, 0, 0],
    ),
    "isinf": (
        "int",
        ["float"],
        "",
        "isinf(a)",
        [(math.nan,), (-math.inf,), (1,)],
        [0, 1, 0],
    ),
    "isfinite": (
        "int",
        ["float"],
        "",
        "isfinite(a)",
        [(math.nan,), (math.inf,), (1,)],
        [0, 0, 1],
    ),
    "isnormal": (
        "int",
        ["float"],
        "",
        "isnormal(a)",
        [(0,), (1e-40,), (1,)],
        [0, 0, 1],
    ),
    "signbit": ("int", ["float"], "", "signbit(a)", [(-0.0,), (2,), (-3,)], [1, 0, 1]),
    "isnan_half": ("int", ["half"], "", "isnan(a)", [(math.nan,), (1,)], [1, 0]),
    "signbit_half": ("int", ["half"], "", "signbit(a)", [(-0.0,), (1,)], [1, 0]),
    "isnan_vector": (
        "int",
        ["float"],
        "",
        "any(isnan(float2(a, 1))) + 2 * all(isnan(float2(a, 1)))",
        [(math.nan,), (1,)],
        [1, 0],
    ),
    "nextafter": (
        "float",
        ["float", "float"],
        "",
        "nextafter(a, b)",
        [(1, 2), (1, 0), (0, -1)],
        [np.nextafter(np.float32(1), np.float32(x)) for x in (2, 0)]
        + [np.nextafter(np.float32(0), np.float32(-1))],
    ),
    "nextafter_half": (
        "half",
        ["half", "half"],
        "",
        "nextafter(a, b)",
        [(1, 2), (1, 0), (0, -1), (-1, -2)],
        [
            np.nextafter(np.float16(a), np.float16(b))
            for a, b in [(1, 2), (1, 0), (0, -1), (-1, -2)]
        ],
    ),
    "select": ("float", ["float"], "", "select(a, 2.0f, a < 1)", [(0,), (3,)], [2, 3]),
    "select_vector": (
        "float",
        ["float"],
        "float2 v = float2(a, 5);",
        "select(v, v * 10, v < 4).x + select(v, v * 10, v < 4).y",
        [(1,), (6,)],
        [15, 11],
    ),
    "dot": (
        "float",
        ["float"],
        "",
        "dot(float3(a, 1, 2), float3(3, 4, 5))",
        [(2,)],
        [20],
    ),
    "cross": (
        "float",
        ["float"],
        "",
        "cross(float3(a, 0, 0), float3(0, 2, 0)).z",
        [(3,)],
        [6],
    ),
    "length": ("float", ["float"], "", "length(float2(a, 4))", [(3,)], [5]),
    "distance": (
        "float",
        ["float"],
        "",
        "distance(float2(a, 4), float2(0))",
        [(3,)],
        [5],
    ),
    "normalize": ("float", ["float"], "", "normalize(float2(a, 4)).x", [(3,)], [0.6]),
    "as_type": ("uint", ["float"], "", "as_type<uint>(a)", [(1.0,)], [0x3F800000]),
    "as_type_vector": (
        "uint",
        ["half"],
        "",
        "as_type<uint>(half2(a, 1))",
        [(2.0,)],
        [0x3C004000],
    ),
    "constructor_of_parts": (
        "float",
        ["float"],
        "float4 v = float4(a, float2(2, 3), 4); int4 w = int4(v); uint2 u = uint2(w.zw);",
        "v.x + 10 * v.w + 100 * w.y + 1000 * u.x",
        [(1.5,)],
        [1.5 + 40 + 200 + 3000],
    ),
    "bool_vector": (
        "int",
        ["int"],
        "bool3 t = bool3(a > 1, true, false); t.y = !t.x; bool3 u = t || bool3(false);",
        "u.x + 2 * u.y + 4 * u.z + 8 * all(u == t) + 16 * float3(t).x",
        [(0,), (2,)],
        [2 + 8, 1 + 8 + 16],
    ),
    "bfloat": (
        "float",
        ["float"],
        "bfloat q = bfloat(a); q = q * q + 1.0bf;",
        "q",
        [(1.5,), (1.00390625,)],
        [3.25, 2.0],
    ),
    "half_literal": (
        "float",
        ["float"],
        "",
        "a + 0.1h",
        [(0,)],
        [np.float32(np.float16(0.1))],
    ),
    "half_sum": ("half", ["half", "half"], "", "a + b", [(2048, 1), (1, 2)], [2048, 3]),
    "limits": (
        "int",
        ["int"],
        "",
        "numeric_limits<int>::max() == INT_MAX && numeric_limits<short>::min() == -32768"
        " && numeric_limits<ulong>::max() == ~0ul && numeric_limits<uchar>::digits == 8"
        " && numeric_limits<float>::max() == FLT_MAX && numeric_limits<half>::max() == 65504"
        " && numeric_limits<float>::epsilon() == 0x1p-23f && isinf(numeric_limits<float>::infinity())"
        " && numeric_limits<half>::epsilon() == 0x1p-10h && isnan(numeric_limits<float>::quiet_NaN())"
        " && numeric_limits<float>::lowest() == -FLT_MAX && numeric_limits<long>::min() == LONG_MIN"
        " && numeric_limits<char>::lowest() == -128 && numeric_limits<bfloat>::epsilon() == 0x1p-7",
        [(0,)],
        [1],
    ),
    "mul24": (
        "int",
        ["int", "int"],
        "",
        "mul24(a, b)",
        [(-5, 7), (1 << 24, 3)],
        [-35, 0],
    ),
    "mad24": ("uint", ["uint", "uint"], "", "mad24(a, b, 2u)", [(5, 7)], [37]),
    "table": ("float", ["int"], "", "table[a]", [(0,), (2,)], [1.5, 3.5]),
    "unsuffixed": ("int", ["int"], "", "sizeof(1.0) == 4 && 0.1 == 0.1f", [(0,)], [1]),
    "shift_of_long": ("long", ["long"], "", "a << 40", [(3,)], [3 << 40]),
}
OTHER_PROGRAM = (
    HEAD
    + "constant float table[] = {1.5, 2.5, 3.5};\n"
    + "".join(
        kernel_of(f"k_{name}", result, types, expression, setup)
        for name, (result, types, setup, expression, *_) in OTHER_CASES.items()
    )
)


@pytest.mark.parametrize("name", OTHER_CASES)
def test_other_function(name, build):
    result, types, _, _, values, expected = OTHER_CASES[name]
    inputs = [
        np.array(column, NUMPY_TYPES[t]) for column, t in zip(zip(*values), types)
    ]
    out = evaluate(build(OTHER_PROGRAM), f"k_{name}", NUMPY_TYPES[result], *inputs)
    if np.issubdtype(out.dtype, np.floating):
        np.testing.assert_allclose(
            out, np.array(expected, out.dtype), rtol=2e-7, atol=0
        )
    else:
        assert out.tolist() == expected


def test_conversions_of_half_and_bfloat(build):
    text = HEAD + (
        "kernel void k(device const float *a [[buffer(0)]], device half *h [[buffer(1)]],"
        " device float *f [[buffer(2)]], device ushort *b [[buffer(3)]],"
        " uint i [[thread_position_in_grid]])\n"
        "{ h[i] = half(a[i]); f[i] = float(h[i]); b[i] = as_type<ushort>(bfloat(a[i])); }"
    )
    bits = np.arange(0, 2**32, 7919 * 97, np.uint32)
    edges = np.array([65519.9, 65520, 2**-14, 2**-25, 2**-24 * 1.5, -0.0], np.float32)
    a = np.concatenate([bits.view(np.float32), edges, np.float32([math.inf])])
    a = a[~np.isnan(a)]
    a = a[(np.abs(a) >= np.finfo(np.float32).tiny) | (a == 0)]
    h, f = np.zeros(len(a), np.float16), np.zeros(len(a), np.float32)
    b = np.zeros(len(a), np.uint16)
    build(text).run("k", a, h, f, b, threads=len(a))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            h.view(np.uint16), a.astype(np.float16).view(np.uint16)
        )
    np.testing.assert_array_equal(f, h.astype(np.float32))
    wide = a.view(np.uint32).astype(np.uint64)
    np.testing.assert_array_equal(b, (wide + 0x7FFF + (wide >> 16 & 1)) >> 16)
