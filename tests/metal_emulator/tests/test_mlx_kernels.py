"""Run kernels of MLX on the Metal emulator, and compare with NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.driver import KERNELS, i4, needs_host
from support.kernel_headers import MLX
from support.msl import HEAD

pytestmark = [needs_host, pytest.mark.slow]
pytest_plugins = ["support.driver"]


def i8(*values: int) -> bytes:
    return np.array(values, "i8").tobytes()


@pytest.fixture
def compiled(driver, quiet):
    """Return a function that compiles headers of MLX with instantiations of kernels."""

    def compile_kernels(headers, instantiations, change=lambda text: text):
        text = HEAD + change(MLX.text(*headers)) + instantiations
        assert driver.compile(text), driver.error
        return driver

    yield compile_kernels
    assert driver.compile(KERNELS), driver.error


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


UNARY = """
#define instantiate_unary(op, name, type) \\
  instantiate_kernel("v_" #op #name, unary_v, type, type, op)
instantiate_unary(Exp, float32, float)
instantiate_unary(Abs, float32, float)
instantiate_unary(Erf, float32, float)
instantiate_unary(Negative, int8, int8_t)
instantiate_unary(Square, complex64, complex64_t)
instantiate_unary(Square, bfloat16, bfloat16_t)
"""


def test_unary(compiled):
    driver = compiled(["utils.h", "unary_ops.h", "unary.h"], UNARY)
    x = random(0, 1001)

    def compute(name, values, per_thread):
        out = driver.zeros(values.shape, values.dtype)
        arguments = [driver.buffer(values), out, i4(values.size)]
        threads = -(-values.size // per_thread)
        assert driver.run(name, arguments, threads, 64) == 0, driver.error
        return out.array

    np.testing.assert_allclose(compute("v_Expfloat32", x, 2), np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(compute("v_Absfloat32", x, 2), np.abs(x))
    erf = compute("v_Erffloat32", np.array([0, 0.5, -2], "f4"), 2)
    np.testing.assert_allclose(erf, [0, 0.5204999, -0.9953223], rtol=1e-6)
    bytes_ = np.arange(-128, 128).astype("i1")
    np.testing.assert_array_equal(compute("v_Negativeint8", bytes_, 8), -bytes_)
    z = x[:1000].view("c8")
    np.testing.assert_allclose(compute("v_Squarecomplex64", z, 1), z * z, rtol=1e-5)
    upper = x.view("u4") >> 16 << 16
    halves = (upper >> 16).astype("u2")
    squares = compute("v_Squarebfloat16", halves, 4).astype("u4") << 16
    exact = upper.view("f4") ** 2
    np.testing.assert_allclose(squares.view("f4"), exact, rtol=2**-8)


BINARY = """
#define instantiate_binary(op, name, type, result) \\
  instantiate_kernel("vv_" #op #name, binary_vv, type, type, op) \\
  instantiate_kernel("g2_" #op #name, binary_g_nd2, type, type, op, int)
instantiate_binary(Add, int32, int, int)
instantiate_binary(Multiply, complex64, complex64_t, complex64_t)
instantiate_binary(Power, float32, float, float)
instantiate_kernel("vv_Lessfloat32", binary_vv, float, bool, Less)
"""


def test_binary(compiled):
    driver = compiled(["utils.h", "binary_ops.h", "binary.h"], BINARY)

    def compute(name, a, b, per_thread, dtype=None):
        out = driver.zeros(a.shape, dtype or a.dtype)
        arguments = [driver.buffer(a), driver.buffer(b), out, i4(a.size)]
        threads = -(-a.size // per_thread)
        assert driver.run(name, arguments, threads, 64) == 0, driver.error
        return out.array

    a, b = random(1, 2, 1000)
    integers = [(1000 * x).astype("i4") for x in (a, b)]
    np.testing.assert_array_equal(compute("vv_Addint32", *integers, 2), sum(integers))
    z, w = a.view("c8"), b.view("c8")
    product = compute("vv_Multiplycomplex64", z, w, 1)
    np.testing.assert_allclose(product, z * w, rtol=1e-5, atol=1e-6)
    power = compute("vv_Powerfloat32", abs(a), b, 2)
    np.testing.assert_allclose(power, abs(a) ** b, rtol=1e-5)
    less = compute("vv_Lessfloat32", a, b, 2, "?")
    np.testing.assert_array_equal(less, a < b)
    matrix, other = a.reshape(20, 50), b.reshape(50, 20)
    out = driver.zeros((20, 50))
    arguments = [driver.buffer(matrix), driver.buffer(other), out, i8(50, 1), i8(1, 20)]
    assert driver.run("g2_Powerfloat32", arguments, (50, 20), (10, 5)) == 0
    with np.errstate(invalid="ignore"):
        expected = matrix**other.T
    np.testing.assert_allclose(out.array, expected, rtol=1e-5)


ROWS = """
instantiate_kernel("sum", row_reduce_simple, float, float, Sum<float>)
instantiate_kernel("max", row_reduce_simple, float, float, Max<float>)
"""


@pytest.mark.parametrize("size", [37, 1000])
def test_row_reductions(compiled, size):
    driver = compiled(["utils.h", "reduce_utils.h", "reduce.h"], ROWS)
    x = random(2, 8, 2 * size)

    def reduce(name, values):
        rows, columns = values.shape
        out = driver.zeros(rows, values.dtype)
        arguments = [driver.buffer(values), out, i8(columns), i8(rows)]
        grid, group = (128, rows // 4), (128, 1)
        assert driver.run(name, arguments, grid, group) == 0, driver.error
        return out.array

    np.testing.assert_allclose(reduce("sum", x), x.sum(1), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(reduce("max", x), x.max(1))


SCANS = """
instantiate_kernel("sum", contiguous_scan, int, int, CumSum<int>, 4, true, false)
instantiate_kernel("back", contiguous_scan, int, int, CumSum<int>, 4, true, true)
instantiate_kernel("before", contiguous_scan, int, int, CumSum<int>, 4, false, false)
instantiate_kernel("product", contiguous_scan, long, long, CumProd<long>, 4, true, false)
"""


@pytest.mark.parametrize("size", [5, 1000])
def test_scans(compiled, size):
    driver = compiled(["utils.h", "binary_ops.h", "scan.h"], SCANS)
    x = np.random.default_rng(3).integers(-9, 9, (3, size)).astype("i4")

    def scan(name, values):
        out = driver.zeros(values.shape, values.dtype)
        arguments = [driver.buffer(values), out, i8(size)]
        assert driver.run(name, arguments, (64, 3), (64, 1)) == 0, driver.error
        return out.array

    sums = np.cumsum(x, 1)
    np.testing.assert_array_equal(scan("sum", x), sums)
    np.testing.assert_array_equal(scan("before", x), sums - x)
    back = np.cumsum(x[:, ::-1], 1)[:, ::-1]
    np.testing.assert_array_equal(scan("back", x), back)
    signs = np.where(x < 0, -1, 1).astype("i8")
    np.testing.assert_array_equal(scan("product", signs), np.cumprod(signs, 1))


SORTS = """
instantiate_kernel("sort", block_sort, float, float, false, 64, 4)
instantiate_kernel("argsort", block_sort, float, uint32_t, true, 64, 4)
"""


def test_sorts(compiled):
    driver = compiled(["utils.h", "sort.h"], SORTS)
    x = random(4, 3, 200)
    x[0, 5] = np.nan

    def sort(name, dtype):
        out = driver.zeros(x.shape, dtype)
        numbers = [i4(n) for n in (200, 1, 1, 200, 200)]
        arguments = [driver.buffer(x), out, *numbers]
        assert driver.run(name, arguments, (64, 3), (64, 1)) == 0, driver.error
        return out.array

    np.testing.assert_array_equal(sort("sort", "f4"), np.sort(x, 1))
    np.testing.assert_array_equal(sort("argsort", "u4"), np.argsort(x, 1))


def test_softmax(compiled):
    instantiation = 'instantiate_kernel("softmax", softmax_single_row, float, float)'
    driver = compiled(["utils.h", "softmax.h"], instantiation)
    x, out = random(5, 4, 301), driver.zeros((4, 301))
    arguments = [driver.buffer(x), out, i4(301)]
    assert driver.run("softmax", arguments, 4 * 96, 96) == 0, driver.error
    powers = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out.array, powers / powers.sum(1, keepdims=True), 1e-5)


def without_function_constants(text):
    """Set each function constant to false, and remove the conditions of arguments."""
    text = re.sub(r"\[\[function_constant\(\d+\)\]\]", "= false", text)
    return re.sub(r", function_constant\(\w+\)", "", text)


@pytest.mark.parametrize("transposed", [False, True])
def test_matrix_products(compiled, transposed):
    instantiation = (
        "instantiate_kernel("
        f'"gemm", gemm, float, 32, 32, 16, 2, 2, false, {str(transposed).lower()})'
    )
    headers = ["utils.h", "steel/gemm/gemm.h", "steel/gemm/kernels/steel_gemm_fused.h"]
    driver = compiled(headers, instantiation, without_function_constants)
    rows, columns, inner = 70, 45, 50
    a, b = random(6, rows, inner), random(7, inner, columns)
    stored = np.ascontiguousarray(b.T) if transposed else b
    out = driver.zeros((rows, columns))
    tiles = -(-columns // 32), -(-rows // 32)
    numbers = (rows, columns, inner, inner, stored.shape[1], columns, *tiles)
    parameters = i4(*numbers) + i8(0, 0, 0) + i4(0, inner // 16, 0, 0)
    buffers = [driver.buffer(a), driver.buffer(stored), driver.buffer(a), out]
    arguments = [*buffers, parameters, bytes(64), i4(1), i8(0, 0, 0)]
    grid, group = (32 * tiles[0], 2 * tiles[1], 2), (32, 2, 2)
    assert driver.run("gemm", arguments, grid, group) == 0, driver.error
    np.testing.assert_allclose(out.array, a @ b, rtol=1e-4, atol=1e-4)
