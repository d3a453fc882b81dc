"""Test the atomic functions of the Metal emulator's library."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.msl import HEAD, NUMPY_TYPES, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]
pytest_plugins = ["support.msl"]

ATOMIC_OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
}
RELAXED = "memory_order_relaxed"


def has_function(t, space, name):
    """Return whether Metal has a function for atomics of a type in an address space."""
    return t != "float" or space == "device" or name.startswith("exchange")


def atomic_program():
    kernels = [HEAD]
    for t in ("int", "uint", "float"):
        names = ["exchange_explicit"] + [
            f"fetch_{name}_explicit"
            for name in ATOMIC_OPERATIONS
            if t != "float" or name in {"add", "sub"}
        ]
        for name in names:
            for space in ("device", "threadgroup"):
                if not has_function(t, space, name):
                    continue
                kernels.append(
                    f"kernel void {name}_{t}_{space}(device atomic<{t}> *a [[buffer(0)]],"
                    f" device {t} *out [[buffer(1)]])\n{{\n"
                    f"    threadgroup atomic<{t}> local;\n"
                    f"    {t} start = atomic_load_explicit(a, {RELAXED});\n"
                    f"    atomic_store_explicit(&local, start, {RELAXED});\n"
                    f"    {space} atomic<{t}> *at = {'a' if space == 'device' else '&local'};\n"
                    f"    out[0] = atomic_{name}(at, out[0], {RELAXED});\n"
                    f"    out[1] = atomic_load_explicit(at, {RELAXED});\n}}\n"
                )
    for t in ("int", "float"):
        kernels.append(
            f"kernel void exchange_{t}(device atomic<{t}> *a [[buffer(0)]],"
            f" device {t} *expected [[buffer(1)]], device int *success [[buffer(2)]])\n{{\n"
            f"    {t} old = expected[0];\n"
            f"    success[0] = atomic_compare_exchange_weak_explicit(a, &old, {t}(7),"
            f" {RELAXED}, {RELAXED});\n    expected[0] = old;\n}}\n"
        )
    kernels.append(
        "kernel void extremes(device atomic<ulong> *a [[buffer(0)]],"
        " device ulong *b [[buffer(1)]])\n{\n"
        f"    atomic_max_explicit(&a[0], b[0], {RELAXED});\n"
        f"    atomic_min_explicit(&a[1], b[0], {RELAXED});\n}}\n"
        "kernel void flag(device atomic_bool *a [[buffer(0)]], device int *b [[buffer(1)]])\n"
        f"{{\n    b[0] = atomic_exchange_explicit(a, true, {RELAXED});\n}}\n"
    )
    return "".join(kernels)


@pytest.mark.parametrize("space", ["device", "threadgroup"])
@pytest.mark.parametrize("t", ["int", "uint", "float"])
def test_atomic_functions(t, space, build):
    library = build(atomic_program())
    dtype = NUMPY_TYPES[t]
    operations = {f"fetch_{n}": f for n, f in ATOMIC_OPERATIONS.items()}
    operations["exchange"] = lambda a, b: b
    for name, operation in operations.items():
        if t == "float" and name not in {"fetch_add", "fetch_sub", "exchange"}:
            continue
        if not has_function(t, space, name):
            continue
        for a, b in [(12, 10), (5, 3), (7, 7)]:
            memory, out = np.array([a], dtype), np.array([b, 0], dtype)
            library.run(f"{name}_explicit_{t}_{space}", memory, out)
            assert out.tolist() == [a, operation(a, b)]
            assert memory[0] == (out[1] if space == "device" else a)
    assert library.engine.atomics > 0


# type, memory, expected -> memory, expected, success: that of floats is a comparison of floats
EXCHANGES = [
    ("int", (1, 1), (7, 1, 1)),
    ("int", (1, 2), (1, 1, 0)),
    ("float", (1.0, 1.0), (7.0, 1.0, 1)),
    ("float", (1.0, 2.0), (1.0, 1.0, 0)),
    ("float", (0.0, -0.0), (0.0, 0.0, 1)),  # reported, not done
    ("float", (math.nan, 1.0), (math.nan, math.nan, 0)),
    ("float", (math.nan, math.nan), (7.0, math.nan, 0)),  # done, not reported
]


@pytest.mark.parametrize(("t", "before", "after"), EXCHANGES)
def test_compare_exchange(t, before, after, build):
    memory, expected = (np.array([x], NUMPY_TYPES[t]) for x in before)
    success = np.array([9], np.int32)
    build(atomic_program()).run(f"exchange_{t}", memory, expected, success)
    np.testing.assert_array_equal([memory[0], expected[0], success[0]], after)
    assert np.signbit(memory[0]) == np.signbit(np.float32(after[0]))


def test_other_atomics(build):
    library = build(atomic_program())
    memory, value = np.array([3, 3], np.uint64), np.array([2**40], np.uint64)
    library.run("extremes", memory, value)
    assert memory.tolist() == [2**40, 3]
    flag, old = np.zeros(1, np.uint8), np.array([9], np.int32)
    library.run("flag", flag, old)
    assert (flag[0], old[0]) == (1, 0)


def test_atomic_accesses_are_not_races(build):
    text = HEAD + (
        "kernel void k(device atomic_int *a [[buffer(0)]], device int *b [[buffer(1)]])"
        f" {{ atomic_store_explicit(a, atomic_load_explicit(a, {RELAXED}) + b[0], {RELAXED}); }}"
    )
    library = build(text, instrumented=True)
    memory, value = np.array([3], np.int32), np.array([4], np.int32)
    library.run("k", memory, value)
    assert memory[0] == 7
    assert library.engine.atomics == 2
    assert library.engine.accesses == [(value.ctypes.data, 4, 0)]
