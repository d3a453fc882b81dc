"""Test that arithmetic on the Metal emulator has the defaults of Apple's compiler."""

from __future__ import annotations

import numpy as np
import pytest
from support.msl import HEAD, kernel_of, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]

pytest_plugins = ["support.msl"]

LEAST = {"char": -128, "short": -32768, "int": -(2**31), "long": -(2**63)}
MOST = {"char": 127, "short": 32767, "int": 2**31 - 1, "long": 2**63 - 1}
MOST |= {f"u{name}": 2 * most + 1 for name, most in MOST.items()}


def run(library, name, *inputs, result=np.float32):
    out = np.zeros(len(inputs[0]), result)
    library.run(name, *inputs, out, threads=len(out))
    return out


# -- Contraction

A = np.array([1 + 2**-12], np.float32)  # A * A has a rounding error
SQUARE = A * A
PRODUCTS = kernel_of("products", "float", ["float", "float"], "a * a - b")
OFF = "#pragma METAL fp contract(off)\n"


def test_products_and_sums_are_contracted_by_default(build):
    assert run(build(HEAD + PRODUCTS), "products", A, SQUARE) == [2**-24]


@pytest.mark.parametrize("prelude", [OFF, f"{OFF}/* -- end of prelude -- */\n"])
def test_a_pragma_switches_contraction_off(prelude, build):
    assert run(build(HEAD + prelude + PRODUCTS), "products", A, SQUARE) == [0]


def test_contraction_is_within_one_expression(build):
    text = kernel_of("k", "float", ["float", "float"], "d - b", "float d = a * a;")
    assert run(build(HEAD + text), "k", A, SQUARE) == [0]


# -- Casts


@pytest.mark.parametrize("source", ["float", "half"])
@pytest.mark.parametrize("target", MOST)
def test_casts_of_floats_saturate(source, target, build):
    dtype = np.float32 if source == "float" else np.float16
    most, least = MOST[target], LEAST.get(target, 0)
    inputs = np.array([np.inf, -np.inf, np.nan, 300.5, -3.5, 100.9], dtype)
    integer = np.array([most]).astype(f"u{len(hex(most)) // 2 - 1}").dtype
    library = build(
        HEAD + kernel_of("k", f"u{target.removeprefix('u')}", [source], f"{target}(a)")
    )
    out = run(library, "k", inputs, result=f"u{integer.itemsize}")
    expected = [most, least, 0, min(300, most), max(-3, least), 100]
    assert out.tolist() == [x % 2 ** (8 * integer.itemsize) for x in expected]


# -- Functions


@pytest.mark.parametrize(
    ("function", "value", "error"),
    [
        ("sin", 1.0, 2**-14),
        ("sqrt", 2.0, 2**-22),
        ("log2", 1.1, 2**-20),
        ("exp", 1.0, 2e-6),
    ],
)
def test_fast_functions_are_inexact(function, value, error, build):
    text = HEAD + kernel_of("k", "float", ["float"], f"{function}(a)")
    x = np.full(1, value, np.float32)
    exact = getattr(np, function)(np.float64(value))
    precise = run(build(text), "k", x)
    fast = run(build(text, fast_functions=True), "k", x)
    qualified = run(
        build(text.replace(f"{function}(a)", f"fast::{function}(a)")), "k", x
    )
    assert abs(precise - exact) < abs(fast - exact) <= error
    assert qualified == fast


def test_precise_functions_ignore_the_options(build):
    text = HEAD + kernel_of("k", "float", ["float"], "precise::sin(a)")
    x = np.linspace(-9, 9, 99, dtype=np.float32)
    np.testing.assert_allclose(
        run(build(text, fast_math=True, fast_functions=True), "k", x),
        np.sin(x),
        rtol=1e-6,
    )


def test_fast_atan2_of_a_zero_is_undefined(build):
    text = HEAD + kernel_of("k", "float", ["float", "float"], "atan2(a, b)")
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    assert run(build(text), "k", zero, one) == [0]
    assert np.isnan(run(build(text, fast_functions=True), "k", zero, one))


# -- Versions


def test_fences_are_in_versions_from_3_2_on(build):
    fence = "atomic_thread_fence(mem_flags::mem_device, memory_order_relaxed);"
    text = HEAD + kernel_of("k", "float", ["float"], "a", fence)
    one = np.ones(1, np.float32)
    assert run(build(text, version=320), "k", one) == [1]


@pytest.mark.parametrize("version", [240, 300, 310, 320, 400])
def test_version(version, build):
    text = HEAD + kernel_of("k", "float", ["float"], "a + __METAL_VERSION__")
    zero = np.zeros(1, np.float32)
    assert run(build(text, version=version), "k", zero) == [version]
