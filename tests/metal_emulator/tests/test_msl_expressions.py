"""Compile metal/scalar.metal and the expressions of csrc/ir/ops.def for every type."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest
from metal_emulator.msl import compiler, lint
from support.casts import cast
from support.msl import (
    INTEGER_TYPES,
    NUMPY_TYPES,
    checker,
    evaluate,
    kernel_of,
    needs_compiler,
)
from support.paths import ROOT

pytestmark = [needs_compiler, pytest.mark.slow]
pytest_plugins = ["support.msl"]

FILES = ["compact", "radix", "random", "segments", "sort", "matmul"]
PRELUDE = "".join(
    (ROOT / "metal" / f"{name}.metal").read_text(encoding="utf-8")
    for name in ("scalar", "element", "reduce", "scatter")
)
SCALAR = (ROOT / "metal" / "scalar.metal").read_text(encoding="utf-8")

OPS = (ROOT / "csrc" / "ir" / "ops.def").read_text(encoding="utf-8")
ROW = re.compile(
    r'^OP\((\w+),\s*(\d), (\d), (\w+),\s*(\w+),\s*[^,]+,\s*(.*?),\s*"', re.MULTILINE
)
KINDS = {
    "bool": ["bool"],
    "integer": INTEGER_TYPES,
    "real_floating": ["float", "half"],
    "complex": ["float2"],
}
KINDS["floating"] = KINDS["real_floating"] + KINDS["complex"]
KINDS["real"] = KINDS["integer"] + KINDS["real_floating"]
KINDS["numeric"] = KINDS["integer"] + KINDS["floating"]
KINDS["any"] = KINDS["bool"] + KINDS["numeric"]
KINDS["real_or_bool"] = KINDS["bool"] + KINDS["real"]
KINDS["integer_or_bool"] = KINDS["bool"] + KINDS["integer"]
KINDS["scaled"] = KINDS["real_floating"]
KINDS["double"] = []


@functools.cache
def word_program():
    """A kernel for each operation and each of its types."""
    kernels = []
    for name, inputs, outputs, types, result, expression in ROW.findall(OPS):
        for t in KINDS[types]:
            second = "int" if types == "scaled" else t
            given = {"truth": "bool", "count": "uchar"}.get(result, t)
            if result == "magnitude" and t == "float2":
                given = "float"
            other = {"same_int": "int"}.get(result, t)
            setup = f"{other} c;" if outputs == "2" else ""
            types_in = [t, second][: int(inputs)]
            kernels.append(kernel_of(f"{name}_{t}", given, types_in, expression, setup))
    return SCALAR + "\n" + "".join(kernels), len(kernels)


def test_scalar_arithmetic_compiles_for_every_type():
    text, count = word_program()
    assert count > 500
    assert len(checker().check(text)) == count


def test_scalar_arithmetic_has_no_lint():
    assert lint.lint_text(word_program()[0]) == []


A = np.array([3.5, -2.25, 7.0, 0.5], np.float32)
B = np.array([2.0, 1.5, -3.0, 0.25], np.float32)
Z, W = (A + 1j * B).astype(np.complex64), (B - 0.5j * A).astype(np.complex64)
M, N = np.array([-7, 12, -128], np.int8), np.array([3, 5, 6], np.int8)

# type, tolerance, inputs, words
AGREEING = [
    (
        "float",
        3e-7,
        (A, B),
        ["add", "subtract", "multiply", "divide", "remainder", "hypot", "fmod"],
    ),
    (
        "float",
        1e-6,
        (abs(A),),
        ["exp", "cbrt", "log1p", "expm1", "sqrt", "tanh", "arcsinh"],
    ),
    ("float2", 2e-5, (Z, W), ["multiply", "divide", "power"]),
    (
        "char",
        0,
        (M, N),
        ["floor_divide", "remainder", "gcd", "lcm", "power", "left_shift"],
    ),
]


@pytest.mark.parametrize(
    ("t", "tolerance", "inputs", "name"),
    [
        pytest.param(t, tolerance, inputs, name, id=f"{name}-{t}")
        for t, tolerance, inputs, names in AGREEING
        for name in names
    ],
)
def test_scalar_arithmetic_agrees_with_numpy(t, tolerance, inputs, name, build):
    library = build(word_program()[0])
    result = evaluate(library, f"{name}_{t}", inputs[0].dtype, *inputs)
    np.testing.assert_allclose(result, getattr(np, name)(*inputs), rtol=tolerance)


def test_quotients_of_positions(build):
    """The words are those of `reciprocal` in csrc/gpu/kernel.c."""
    lengths = [2**k + d for k in range(31) for d in (-1, 0, 1) if 0 < 2**k + d <= 2**30]
    lengths = np.unique([*lengths, 6, 10, 641, 6_700_417, 715_827_883])
    power = np.array([(int(n) - 1).bit_length() for n in lengths])
    words = -(-(2 ** (31 + power)) // lengths) | power << 32
    near = np.unique(
        [k * n + d for n in lengths for k in (0, 1, 5) for d in (-1, 0, 1)]
    )
    numbers = np.append(near[(near >= 0) & (near < 2**31)], [2**31 - 2, 2**31 - 1])
    a, n = (each.ravel() for each in np.meshgrid(numbers.astype("i4"), lengths))
    by = np.repeat(words, len(numbers))
    kernel = kernel_of("quotient", "int", ["int", "long"], "mx_quotient(a, b)")
    found = evaluate(build(PRELUDE + kernel), "quotient", np.int32, a, by)
    np.testing.assert_array_equal(found, a // n)


@pytest.mark.parametrize("host", ["", "#define MX_X86\n"])
def test_casts_of_floats_are_those_of_the_processor(host, build):
    """On x86-64 that is so of numbers that the processor's instructions can represent."""
    numbers = [0, 0.5, 300.7, 7e4, 2.0**31, 2.0**32, 2.0**40, 1e30, np.inf, np.nan]
    processor = "macOS arm64"
    if host:
        numbers, processor = numbers[:4], "x86-64"
    x = np.array([*numbers, *(-each for each in numbers)], np.float32)
    kernels = [
        kernel_of(f"cast_{t}", t, ["float"], f"mx_cast<{t}>(a)", "")
        for t in INTEGER_TYPES
    ]
    library = build(host + PRELUDE + "".join(kernels))
    for t in INTEGER_TYPES:
        dtype = np.dtype(NUMPY_TYPES[t])
        expected = [cast(each, processor, "float32", dtype.name) for each in x.tolist()]
        assert evaluate(library, f"cast_{t}", dtype, x).tolist() == expected


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_extremes_of_floats_are_those_of_a_mac(name, build):
    """There 0 is above -0, in any order. Of two NaN, kernels take the first."""
    numbers = [0, -0.0, 1, -1, 1e-40, -1e-40, np.inf, -np.inf, np.nan, -np.nan]
    x, y = (each.ravel() for each in np.meshgrid(*[np.float32(numbers)] * 2))
    kernel = kernel_of("extreme", "float", ["float"] * 2, f"mx_{name}(a, b)")
    found = evaluate(build(SCALAR + kernel), "extreme", np.float32, x, y)
    expected = getattr(np, name)(x, y)
    zeros = (x == 0) & (y == 0)
    is_negative = np.signbit(x), np.signbit(y)
    merge = np.logical_or if "min" in name else np.logical_and
    expected[zeros] = np.where(merge(*is_negative), np.float32(-0.0), 0)[zeros]
    both = np.isnan(x) & np.isnan(y)  # NumPy's choice depends on the processor
    expected[both] = x[both]
    np.testing.assert_array_equal(found.view("u4"), expected.view("u4"))


DEFINITIONS = (
    "typedef float mx_item; typedef float mx_sum; typedef float mx_update_value;\n"
    "#define MX_SIDE 32\n#define MX_IS_FLOAT 1\n#define MX_IS_COMPLEX 0\n"
    "#define MX_A_IS_TRANSPOSED 0\n#define MX_B_IS_TRANSPOSED 1\nstruct mx_update_op {"
    " static MX_INLINE float apply(float a, float b) { return a - b; } };\n"
)


@pytest.mark.parametrize("name", FILES)
def test_all_functions_are_inlined(name):
    """Apple's compiler made calls of `inline` functions, and matrices lost columns."""
    text = (
        PRELUDE
        + DEFINITIONS
        + (ROOT / "metal" / f"{name}.metal").read_text(encoding="utf-8")
    )
    assert lint.functions_not_inlined(text) == set()


def test_functions_that_are_not_inlined_are_found():
    functions = "float f() { return 1; } inline float g() { return f(); }"
    method = "struct s { static float h() { return g(); } METAL_FUNC int i() { return 1; } };"
    kernel = "kernel void k(device float *a [[buffer(0)]]) { *a = s::h(); }"
    found = lint.functions_not_inlined(SCALAR + functions + method + kernel)
    assert found == {"f", "g", "h"}


@pytest.mark.parametrize("host", ["", "#define MX_X86\n"])
@pytest.mark.parametrize("version", compiler.VERSIONS)
def test_every_file_compiles_in_every_version(version, host):
    """bfloat16 is in versions from 3.1 on."""
    chosen = compiler.Compiler(instrumented=False, version=version)
    for name in FILES:
        text = (ROOT / "metal" / f"{name}.metal").read_text(encoding="utf-8")
        assert chosen.check(host + PRELUDE + DEFINITIONS + text)
    kernel = "kernel void k(device bfloat *a [[buffer(0)]]) { *a = mx_add(*a, *a); }"
    if version < 310:
        with pytest.raises(compiler.CompileError, match="unknown type name"):
            chosen.check(host + PRELUDE + kernel)
    else:
        assert chosen.check(host + PRELUDE + kernel)
