"""Run MSL programs with objects in address spaces, kernels in macros and function constants."""

from __future__ import annotations

import numpy as np
import pytest
from metal_emulator.msl import compiler
from support.msl import HEAD, Library, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]
pytest_plugins = ["support.msl"]

OBJECTS = (
    HEAD
    + """
struct Pair {
    float a, b;
    float sum() const thread { return a + b; }
    float sum() const device { return a + b; }
    float difference() const constant { return a - b; }
    void negate() device { a = -a; b = -b; }
    float first() const device;
};
float Pair::first() const device { return a; }
struct Complex {
    float real, imag;
    Complex(float r, float i) thread : real(r), imag(i) {}
    Complex(float r, float i) threadgroup : real(r), imag(i) {}
    operator float() const thread { return real; }
    operator float() const device { return real; }
};
Complex operator*(Complex x, Complex y)
{
    return Complex(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real);
}
kernel void members(device Pair *p [[buffer(0)]], constant Pair &c [[buffer(1)]],
                    device float *out [[buffer(2)]])
{
    out[0] = p[0].sum();
    out[1] = c.difference();
    p[1].negate();
    Pair here = p[1];
    out[2] = here.sum();
    out[3] = p[0].first();
    p[2] = c;
    threadgroup Pair shared;
    shared = p[2];
    p[3] = shared;
}
template <typename T> kernel void square(device T *z [[buffer(0)]], device float *out [[buffer(1)]],
                                         uint i [[thread_position_in_grid]])
{
    z[i] = z[i] * z[i];
    out[i] = z[i];
}
template [[host_name("square_" "complex")]] [[kernel]] decltype(square<Complex>) square<Complex>;
"""
)


def test_member_functions_and_copies(build):
    pairs = np.arange(8, dtype="f4")
    shared, out = np.array([9, 2], "f4"), np.zeros(4, "f4")
    build(OBJECTS).run("members", pairs, shared, out)
    assert out.tolist() == [1, 7, -5, 0]
    assert pairs.tolist() == [0, 1, -2, -3, 9, 2, 9, 2]


@pytest.mark.parametrize("instrumented", [False, True])
def test_instantiated_template_of_a_class(instrumented, build):
    z = np.array([1 + 2j, 3 - 1j], "c8")
    out = np.zeros(2, "f4")
    library = build(OBJECTS, instrumented=instrumented)
    library.run("square_complex", z, out, threads=2)
    assert z.tolist() == [-3 + 4j, 8 - 6j]
    assert out.tolist() == [-3, 8]
    assert bool(library.engine.accesses) == instrumented


MACROS = (
    HEAD
    + """
constant float scale = 3;
constant float2 pair = {5, 7};
template <typename T, typename U> [[kernel]] void fill(
    device T *out, constant const int limits[2], uint i [[thread_position_in_grid]])
{
    vec<float, 2> both = vec<float, 2>(i, scale), other(pair);
    out[i] = T(U(both.x * both.y + other.y) + limits[1]);
}
#define INSTANTIATE(name, ...) \\
    template [[host_name("fill_" #name)]] [[kernel]] decltype(fill<__VA_ARGS__>) fill<__VA_ARGS__>;
#define BOTH(name, type) INSTANTIATE(name, type, float) INSTANTIATE(name##_whole, type, int)
BOTH(int, int)
BOTH(half, half)
#if __METAL_VERSION__ < 100
#include <vector>
INSTANTIATE(never, double)
#endif
"""
)


def test_kernels_of_macros(build):
    library = build(MACROS)
    assert sorted(library.kernels) == [
        "fill_half",
        "fill_half_whole",
        "fill_int",
        "fill_int_whole",
    ]
    for name, dtype in [("fill_int", "i4"), ("fill_half_whole", "f2")]:
        out = np.zeros(3, dtype)
        library.run(name, out, np.array([1, 100], "i4"), threads=3)
        assert out.tolist() == [107, 110, 113]


def test_errors_in_preprocessed_programs_are_at_their_lines():
    wrong = MACROS.replace("out[i] = T(", "out[i] = wrong(")
    line = wrong.split("out[i]", maxsplit=1)[0].count("\n") + 1
    with pytest.raises(
        compiler.CompileError, match=rf"program_source:{line}:\d+: error"
    ):
        compiler.Compiler(instrumented=False).check(wrong)
    wrong = MACROS.replace("i [[thread_position_in_grid]]", "i [[no_such_attribute]]")
    line = wrong.split("[[no_such", maxsplit=1)[0].count("\n") + 1
    with pytest.raises(
        compiler.CompileError, match=rf"program_source:{line}:\d+: error"
    ):
        compiler.Compiler(instrumented=False).check(wrong)


CONSTANTS = (
    HEAD
    + """
constant bool doubles [[function_constant(0)]];
constant int shift [[function_constant(10)]];
kernel void k(device int *out [[buffer(0)]],
              device int *more [[buffer(1), function_constant(doubles)]],
              uint i [[thread_position_in_grid]])
{
    out[i] = (doubles ? 2 : 1) * int(i) + shift;
}
"""
)


def test_function_constants(tmp_path):
    metal = compiler.Compiler(instrumented=False)
    for number, (doubles, expected) in enumerate(
        [("true", [7, 9, 11]), ("false", [7, 8, 9])]
    ):
        path = tmp_path / f"{number}.so"
        metal.compile(CONSTANTS, str(path), {0: doubles, 10: "7"})
        out = np.zeros(3, "i4")
        Library(path).run("k", out, out, threads=3)
        assert out.tolist() == expected


def test_function_constants_need_values(tmp_path):
    metal = compiler.Compiler(instrumented=False)
    assert [kernel.name for kernel in metal.check(CONSTANTS)] == ["k"]
    with pytest.raises(
        compiler.CompileError, match="constant 10, 'shift', has no value"
    ):
        metal.compile(CONSTANTS, str(tmp_path / "k.so"), {0: "true"})


QUADS = (
    HEAD
    + """
kernel void quads(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]],
                  uint quad [[quadgroup_index_in_threadgroup]],
                  ushort lane [[thread_index_in_quadgroup]])
{
    out[8 * i] = int(quad);
    out[8 * i + 1] = lane;
    out[8 * i + 2] = quad_sum(int(i));
    out[8 * i + 3] = quad_shuffle_xor(int(i), 1);
    out[8 * i + 4] = quad_broadcast(int(i), 2);
    out[8 * i + 5] = quad_shuffle_down(int(i), 1);
    out[8 * i + 6] = simd_shuffle_and_fill_up(int(i), -int(i), 3);
    out[8 * i + 7] = simd_shuffle_and_fill_down(int(i), -int(i), 1, 4);
}
"""
)


def test_quadgroups_and_filling_shuffles(build):
    out = np.zeros((32, 8), "i4")
    build(QUADS).run("quads", out, threads=32, together=True)
    i = np.arange(32)
    first = i // 4 * 4
    expected = [
        i // 4,
        i % 4,
        4 * first + 6,
        i ^ 1,
        first + 2,
        np.minimum(i + 1, first + 3),
        np.where(i >= 3, i - 3, -(i + 29)),
        np.where(i % 4 < 3, i + 1, -first),
    ]
    np.testing.assert_array_equal(out.T, expected)
