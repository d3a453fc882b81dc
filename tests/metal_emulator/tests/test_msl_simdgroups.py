"""Functions of SIMD-groups and their matrices in the Metal emulator's library."""

from __future__ import annotations

import numpy as np
import pytest
from support.msl import HEAD, LANES, NUMPY_TYPES, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]
pytest_plugins = ["support.msl"]

SIMD_CASES = {
    "simd_sum(a)": lambda a: np.full(LANES, a.sum()),
    "simd_max(a)": lambda a: np.full(LANES, a.max()),
    "simd_min(a)": lambda a: np.full(LANES, a.min()),
    "simd_product(select(1, a, i == 5))": lambda a: np.full(LANES, a[5]),
    "simd_and(a | 1)": lambda a: np.full(LANES, np.bitwise_and.reduce(a | 1)),
    "simd_or(a)": lambda a: np.full(LANES, np.bitwise_or.reduce(a)),
    "simd_xor(a)": lambda a: np.full(LANES, np.bitwise_xor.reduce(a)),
    "simd_prefix_inclusive_sum(a)": np.cumsum,
    "simd_prefix_exclusive_sum(a)": lambda a: np.cumsum(a) - a,
    "simd_prefix_inclusive_product(1 + a % 2)": lambda a: np.cumprod(1 + np.fmod(a, 2)),
    "simd_prefix_exclusive_product(i == 3 ? 4 : 1)": lambda a: np.where(
        np.arange(LANES) > 3, 4, 1
    ),
    "simd_shuffle(a, ushort(31 - i))": lambda a: a[::-1],
    "simd_shuffle_up(a, 3)": lambda a: np.concatenate([a[:3], a[:-3]]),
    "simd_shuffle_down(a, 3)": lambda a: np.concatenate([a[3:], a[-3:]]),
    "simd_shuffle_xor(a, 5)": lambda a: a[np.arange(LANES) ^ 5],
    "simd_shuffle_rotate_up(a, 5)": lambda a: np.roll(a, 5),
    "simd_shuffle_rotate_down(a, 5)": lambda a: np.roll(a, -5),
    "simd_broadcast(a, 7)": lambda a: np.full(LANES, a[7]),
    "simd_broadcast_first(a)": lambda a: np.full(LANES, a[0]),
    "simd_is_first()": lambda a: np.arange(LANES) == 0,
    "simd_all(a > 0)": lambda a: np.full(LANES, (a > 0).all()),
    "simd_all(a < 1000)": lambda a: np.full(LANES, True),
    "simd_any(a == 17)": lambda a: np.full(LANES, (a == 17).any()),
    "int(ulong(simd_ballot(i % 3 == 0)) >> 1)": lambda a: np.full(
        LANES, sum(1 << n for n in range(0, LANES, 3)) >> 1
    ),
    "ulong(simd_active_threads_mask()) == 0xfffffffful": lambda a: np.full(LANES, True),
    "simd_sum(int2(a, 1)).y": lambda a: np.full(LANES, LANES),
    "int(simd_sum(half(i)))": lambda a: np.full(LANES, 496),
}


@pytest.fixture(scope="module")
def simd_library(build):
    kernels = [
        f"kernel void k{n}(device const int *p [[buffer(0)]], device int *out [[buffer(1)]],"
        " uint i [[thread_index_in_simdgroup]])\n"
        f"{{ int a = p[i]; out[i] = {expression}; }}\n"
        for n, expression in enumerate(SIMD_CASES)
    ]
    for t in ("float", "half"):
        kernels.append(
            f"kernel void matrix_{t}(device const {t} *p [[buffer(0)]],"
            f" device const {t} *q [[buffer(1)]], device {t} *out [[buffer(2)]])\n{{\n"
            f"    simdgroup_matrix<{t}, 8, 8> a, b, c = make_filled_simdgroup_matrix<{t}, 8, 8>(1);\n"
            "    threadgroup float local[64];\n"
            "    simdgroup_load(a, p, 16, ulong2(4, 1));\n"
            "    simdgroup_load(b, q, 8, ulong2(0, 0), true);\n"
            "    simdgroup_multiply_accumulate(c, a, b, c);\n"
            "    simdgroup_store(c, out, 8);\n}\n"
        )
    return build(HEAD + "".join(kernels))


@pytest.mark.parametrize("expression", SIMD_CASES)
def test_simd_function(expression, simd_library):
    values = np.array([(7 * i * i + 3) % 101 - 20 for i in range(LANES)], np.int32)
    out = np.zeros(LANES, np.int32)
    name = f"k{list(SIMD_CASES).index(expression)}"
    simd_library.run(name, values, out, threads=LANES, together=True)
    expected = np.asarray(SIMD_CASES[expression](values)).astype(np.int32)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("t", ["float", "half"])
def test_simdgroup_matrices(t, simd_library):
    dtype = NUMPY_TYPES[t]
    p = (np.arange(16 * 16) % 7 - 3).astype(dtype).reshape(16, 16)
    q = (np.arange(64) % 5 - 2).astype(dtype).reshape(8, 8)
    out = np.zeros((8, 8), dtype)
    simd_library.run(f"matrix_{t}", p, q, out, threads=LANES, together=True)
    np.testing.assert_array_equal(out, p[1:9, 4:12] @ q.T + 1)
