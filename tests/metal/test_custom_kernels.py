"""Compare kernels of `gpu_kernel` with NumPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy
import pytest
from support.metal import (
    HOST,
    in_threads,
    lacks_float64,
    needs_gpu,
    needs_host,
    no_reports,
)

import mxnp as np
from mxnp import _bridge
from mxnp._engine import core

pytestmark = needs_gpu

GPU = core.gpu().name
# All dtypes that the GPU has, and NumPy.
DTYPES = [name for name in core.gpu().types if name != "bfloat16"]

EXP = """
    uint i = thread_position_in_grid.x;
    out[i] = metal::exp(x[i]);
"""

DOUBLE = """
    uint i = thread_position_in_grid.x;
    out[i] = x[i] + x[i];
"""

# A kernel for arrays with any strides.
COPY = """
    uint i = thread_position_in_grid.x;
    out[i] = x[elem_to_loc(i, x_shape, x_strides, x_ndim)];
"""


@pytest.fixture(autouse=True, params=["large", "small"])
def threshold(request: pytest.FixtureRequest) -> Any:
    """Run each test with every operation recorded, and with the default threshold."""
    before = _bridge.set_threshold(0 if request.param == "large" else 16384)
    with no_reports():
        yield request.param
    _bridge.set_threshold(before)


def kernel(
    source: str, name: str = "test", x: Any = ("x",), out: Any = ("out",), **more
):
    return np.gpu_kernel(name, list(x), list(out), source, **more)


def launch(made, inputs, size=None, shape=None, dtype=None, threads=64, **more) -> Any:
    """Launch a kernel with one output, by default like the first input."""
    x = inputs[0]  # numpy.shape(x) would wait for an mxnp array
    shape = (
        (x.shape if hasattr(x, "shape") else numpy.shape(x)) if shape is None else shape
    )
    size = int(numpy.prod(shape)) if size is None else size
    (out,) = made(
        inputs=inputs,
        grid=(size, 1, 1),
        threadgroup=(threads, 1, 1),
        output_shapes=[shape],
        output_dtypes=[inputs[0].dtype if dtype is None else dtype],
        **more,
    )
    assert type(out) is np.ndarray
    return out


def values(dtype: str, n: int) -> numpy.ndarray:
    """Return numbers whose doubles do not overflow the dtype."""
    numbers = numpy.arange(n) % 50
    if dtype.startswith("complex"):
        return (numbers - 1j * numbers[::-1]).astype(dtype)
    return (numbers - 25 if dtype[0] in "fi" else numbers).astype(dtype)


# -- Inputs ----------------------------------------------------------------------------


def test_elementwise_exp() -> None:
    x = numpy.linspace(-80, 80, 10_001, dtype="f4")
    out = launch(kernel(EXP), [np.array(x)])
    assert out.dtype == numpy.float32
    exact = numpy.exp(x.astype("f8"))
    ulps = numpy.abs(numpy.asarray(out) - exact) / numpy.spacing(exact.astype("f4"))
    assert ulps.max() <= 4


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_that_the_gpu_has(dtype: str) -> None:
    x = values(dtype, 333)
    out = launch(kernel(DOUBLE), [np.array(x)])
    assert out.dtype == x.dtype
    numpy.testing.assert_array_equal(out, x + x)


@pytest.mark.parametrize("char", "?bhilqBHILQefF")
def test_dtypes_by_their_characters(char: str) -> None:
    x = values("int8", 20).astype(char)
    out = launch(kernel("out[thread_position_in_grid.x] = x[0];"), [np.array(x)])
    assert out.dtype == numpy.dtype(char)
    numpy.testing.assert_array_equal(out, numpy.full(20, x[0]))


def views() -> dict[str, Any]:
    """Return views of a new array."""
    x = np.array(numpy.arange(24 * 35, dtype="f4").reshape(24, 35))
    return {
        "whole": x,
        "transposed": x.T,
        "steps": x[::2, 1::3],
        "backwards": x[::-1, ::-2],
        "row": x[3],
        "column": x[:, 4],
        "broadcast": np.broadcast_to(x[2], (5, 35)),
        "three axes": x.reshape(4, 6, 35).transpose(2, 0, 1)[3:, :, ::-1],
        "later": x[7:, 5:],
    }


@pytest.mark.parametrize("name", list(views()))
def test_strided_inputs(name: str) -> None:
    x = views()[name]
    expected = numpy.asarray(x).copy()
    out = launch(kernel(COPY, ensure_row_contiguous=False), [x])
    numpy.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", list(views()))
def test_inputs_in_c_order(name: str) -> None:
    x = views()[name]
    out = launch(kernel(DOUBLE), [x])
    numpy.testing.assert_array_equal(out, 2 * numpy.asarray(x))


def test_strides_are_those_of_the_view() -> None:
    x = np.zeros((6, 10, 4), dtype="f4")[::2, ::-3, 1:3]
    source = """
        out[0] = x_ndim;
        for (int i = 0; i < x_ndim; i++) {
            out[1 + i] = x_shape[i];
            out[4 + i] = x_strides[i];
        }
    """
    made = kernel(source, ensure_row_contiguous=False)
    out = launch(made, [x], size=1, shape=(7,), dtype="i8")
    assert out.tolist() == [3, 3, 4, 2, 80, -12, 1]
    made = kernel(source)
    out = launch(made, [x], size=1, shape=(7,), dtype="i8")
    assert out.tolist() == [3, 3, 4, 2, 8, 2, 1]


def test_shapes_of_several_arrays() -> None:
    source = """
        out[0] = a_shape[0] * 1000 + b_shape[1];
        out[1] = a_ndim * 10 + b_ndim;
        out[2] = out_shape[0] + out_strides[0] + out_ndim;
        out[3] = b_strides[0];
    """
    made = kernel(source, x=("a", "b"))
    inputs = [np.zeros(17, "f4"), np.zeros((3, 9), "i2")]
    out = launch(made, inputs, size=1, shape=(4,), dtype="i4")
    assert out.tolist() == [17009, 12, 6, 9]


def test_names_that_begin_alike() -> None:
    made = kernel("out[0] = x_shape[0] * 100 + xx_shape[0];", x=("x", "xx"))
    inputs = [np.ones(3, "f4"), np.ones(4, "f4")]
    out = launch(made, inputs, size=1, shape=(1,), dtype="i4")
    assert out.tolist() == [304]


def test_inputs_of_no_dimensions_are_references() -> None:
    made = kernel(
        "uint i = thread_position_in_grid.x; out[i] = x[i] * scale + n;",
        x=("x", "scale", "n"),
    )
    x = np.arange(100, dtype="f4")
    for scale in (
        np.array(2.5, dtype="f4"),
        numpy.array(2.5, "f4"),
        numpy.float32(2.5),
    ):
        out = launch(made, [x, scale, numpy.int32(3)])
        numpy.testing.assert_array_equal(out, numpy.arange(100, dtype="f4") * 2.5 + 3)


def test_few_elements_are_in_constant_space(capsys: pytest.CaptureFixture) -> None:
    made = kernel(
        "uint i = thread_position_in_grid.x; out[i] = w[i % 7] * x[i];", x=("w", "x")
    )
    w, x = numpy.arange(7, dtype="f4"), numpy.arange(8, dtype="f4")
    out = launch(made, [np.array(w), np.array(x)], shape=(8,), verbose=True)
    numpy.testing.assert_array_equal(out, w[numpy.arange(8) % 7] * x)
    text = capsys.readouterr().out
    assert "constant const float *w" in text
    assert "device const float *x" in text


@pytest.mark.parametrize("start", range(1, 6))
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
def test_few_elements_from_anywhere(start: int, dtype: str) -> None:
    x = values(dtype, 64)
    few = np.array(x)[start : start + 3]
    made = kernel("uint i = thread_position_in_grid.x; out[i] = x[i % 3];")
    out = launch(made, [few], shape=(6,))
    assert out.tolist() == x[start : start + 3].tolist() * 2


@pytest.mark.parametrize("contiguous", [True, False])
def test_few_elements_begin_where_their_memory_does(
    contiguous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Metal needs aligned offsets in constant space. The emulator does not check."""
    launched: list[Any] = []
    before = _bridge.launch

    def look(*arguments: Any) -> None:
        launched.extend(arguments[3][:2])
        before(*arguments)

    monkeypatch.setattr(_bridge, "launch", look)
    x = np.arange(64, dtype="f2")
    made = kernel(
        "out[0] = a[a_strides[0]] + b + c[1];",
        x="abc",
        ensure_row_contiguous=contiguous,
    )
    out = launch(made, [x[3:9:3], x[5:6].reshape(()), x[1:]], size=1, shape=(1,))
    assert out.tolist() == [6 + 5 + 2]
    assert [array.base for array in launched] == [None, None]


def test_numpy_inputs_and_lists() -> None:
    made = kernel(
        "uint i = thread_position_in_grid.x; out[i] = a[i] + b[i] * c[i];", x="abc"
    )
    a = numpy.arange(10, dtype="f4")
    out = launch(made, [a, [1, 2] * 5, (True,) * 10])
    numpy.testing.assert_array_equal(out, a + [1, 2] * 5)
    strided = numpy.arange(40, dtype="f4").reshape(10, 4)[::-1, 2]
    out = launch(made, [strided, numpy.asfortranarray([2] * 10), [True] * 10])
    numpy.testing.assert_array_equal(out, strided + 2)


def test_numpy_inputs_of_odd_memory() -> None:
    made = kernel(DOUBLE)
    expected = numpy.arange(20, dtype="f4")
    swapped = expected.astype(">f4")
    unaligned = numpy.frombuffer(b"x" + expected.tobytes(), "u1")[1:].view("f4")
    assert not unaligned.flags.aligned
    read_only = expected.copy()
    read_only.flags.writeable = False
    for x in (swapped, unaligned, read_only):
        out = launch(made, [x], shape=(20,), dtype="f4")
        numpy.testing.assert_array_equal(out, 2 * expected)


def test_numpy_inputs_of_much_memory() -> None:
    x = numpy.zeros(20_000_000, dtype="f4")
    x[-1] = 3
    out = launch(kernel("out[0] = x[19999999];"), [x], size=1, shape=(1,))
    assert out.tolist() == [3]


def test_an_array_more_than_once() -> None:
    made = kernel("uint i = thread_position_in_grid.x; out[i] = a[i] * b[i];", x="ab")
    x = np.arange(100, dtype="f4")
    numpy.testing.assert_array_equal(launch(made, [x, x]), numpy.arange(100.0) ** 2)
    out = launch(made, [x[:50], x[50:]])
    numpy.testing.assert_array_equal(out, numpy.arange(50.0) * numpy.arange(50, 100))


def test_no_inputs() -> None:
    made = kernel("uint i = thread_position_in_grid.x; out[i] = i * i;", x=())
    (out,) = made(
        inputs=[],
        grid=(50, 1, 1),
        threadgroup=(32, 1, 1),
        output_shapes=[(50,)],
        output_dtypes=[np.int32],
    )
    assert out.tolist() == [i * i for i in range(50)]


def test_inputs_of_no_elements() -> None:
    made = kernel("out[thread_position_in_grid.x] = x_shape[0];")
    for empty in (np.zeros((0, 3), "f4"), numpy.zeros((0, 3), "f4")):
        out = launch(made, [empty], shape=(4,))
        assert out.tolist() == [0] * 4


def test_outputs_of_no_elements() -> None:
    made = kernel("rest[thread_position_in_grid.x] = x[0];", out=("out", "rest"))
    out, rest = made(
        inputs=[np.ones(3, "f4")],
        grid=(5, 1, 1),
        threadgroup=(5, 1, 1),
        output_shapes=[(0,), (5,)],
        output_dtypes=["f4", "f4"],
    )
    assert out.shape == (0,)
    assert rest.tolist() == [1] * 5


# -- Outputs ---------------------------------------------------------------------------


def test_several_outputs() -> None:
    source = """
        uint i = thread_position_in_grid.x;
        s[i] = metal::sin(x[i]);
        c[i] = metal::cos(x[i]);
        sign[i] = x[i] < 0;
    """
    made = kernel(source, out=("s", "c", "sign"))
    x = numpy.linspace(-3, 3, 1000, dtype="f4").reshape(10, 100)
    s, c, sign = made(
        inputs=[np.array(x)],
        grid=(1000, 1, 1),
        threadgroup=(256, 1, 1),
        output_shapes=[x.shape, x.shape, (1000,)],
        output_dtypes=["float32", np.float32, bool],
    )
    numpy.testing.assert_allclose(s, numpy.sin(x), atol=1e-6)
    numpy.testing.assert_allclose(c, numpy.cos(x), atol=1e-6)
    numpy.testing.assert_array_equal(sign, (x < 0).ravel())
    assert s.shape == (10, 100)
    assert sign.dtype == bool


@pytest.mark.parametrize("dtype", DTYPES)
def test_init_value(dtype: str) -> None:
    made = kernel("if (thread_position_in_grid.x == 3) out[3] = x[0];")
    x = numpy.zeros(1, dtype)
    out = launch(made, [np.array(x)], size=8, shape=(8, 10), init_value=1)
    expected = numpy.ones((8, 10), dtype)
    expected[0, 3] = 0
    assert out.dtype == numpy.dtype(dtype)
    numpy.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("value", [-1, 2.5, float("inf"), True, numpy.float32(7), 0])
def test_init_values_of_several_kinds(value: Any) -> None:
    (out,) = kernel("", x=())(
        inputs=[],
        grid=(1, 1, 1),
        threadgroup=(1, 1, 1),
        output_shapes=[(20, 3)],
        output_dtypes=["f4"],
        init_value=value,
    )
    numpy.testing.assert_array_equal(out, numpy.full((20, 3), value, "f4"))


def test_a_histogram_by_float_atomics() -> None:
    source = """
        uint i = thread_position_in_grid.x;
        int bin = int(metal::floor(x[i] * 10));
        atomic_fetch_add_explicit(&out[min(bin, 9)], 1.0f, memory_order_relaxed);
    """
    made = kernel(source, atomic_outputs=True)
    x = numpy.random.default_rng(1).random(5000, dtype="f4")
    counts, _ = numpy.histogram(x.astype("f4") * numpy.float32(10), 10, (0, 10))
    out = launch(made, [np.array(x)], size=5000, shape=(10,), init_value=0)
    numpy.testing.assert_array_equal(out, counts)


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_atomics_of_whole_numbers(dtype: str) -> None:
    source = """
        uint i = thread_position_in_grid.x;
        atomic_fetch_add_explicit(&out[0], x[i], memory_order_relaxed);
        atomic_fetch_max_explicit(&out[1], x[i], memory_order_relaxed);
    """
    x = numpy.random.default_rng(2).integers(0, 1000, 3000).astype(dtype)
    made = kernel(source, atomic_outputs=True)
    out = launch(made, [np.array(x)], size=3000, shape=(2,), init_value=0)
    assert out.tolist() == [x.sum(), x.max()]


# -- Templates and headers -------------------------------------------------------------


def test_templates() -> None:
    source = """
        uint i = thread_position_in_grid.x;
        T value = T(x[i]) * N;
        out[i] = negate ? -value : value;
    """
    made = kernel(source)
    x = numpy.arange(50, dtype="f4")
    for dtype, n, negate in (
        ("int32", 3, True),
        (np.float32, -2, False),
        ("i8", 5, True),
    ):
        template = [("T", dtype), ("N", n), ("negate", negate)]
        out = launch(made, [np.array(x)], dtype=dtype, template=template)
        expected = (x * (-n if negate else n)).astype(dtype)
        numpy.testing.assert_array_equal(out, expected)
        assert out.dtype == expected.dtype


def test_templates_of_numpys_own_scalars() -> None:
    made = kernel("out[thread_position_in_grid.x] = flag ? N : 0;")
    template = [("N", numpy.int64(7)), ("flag", numpy.bool_(True))]
    out = launch(made, [np.zeros(3, "i4")], template=template)
    assert out.tolist() == [7, 7, 7]


@pytest.mark.parametrize("n", [2**40, -(2**40), 2**31, -(2**31)])
def test_templates_of_large_numbers(n: int) -> None:
    made = kernel("out[thread_position_in_grid.x] = N;")
    out = launch(made, [np.zeros(3, "i8")], template=[("N", n)])
    assert out.tolist() == [n] * 3


def test_header_functions_use_templates() -> None:
    header = """
        #define TWICE(x) ((x) + (x))
        constant float table[3] = {1.0f, 10.0f, 100.0f};
        template <typename U> U add_n(U x) { return x + U(N); }
        T look_up(uint i) { return T(table[i % 3]); }
    """
    made = kernel(
        "uint i = thread_position_in_grid.x; out[i] = TWICE(add_n(x[i])) * look_up(i);",
        header=header,
    )
    x = numpy.arange(30, dtype="f4")
    template = {"T": np.float32, "N": 4}.items()
    out = launch(made, [np.array(x)], template=template)
    expected = 2 * (x + 4) * numpy.array([1, 10, 100], "f4")[numpy.arange(30) % 3]
    numpy.testing.assert_array_equal(out, expected)


# -- Larger kernels --------------------------------------------------------------------

GRID_SAMPLE = """
    uint c = thread_position_in_grid.x;
    uint place = thread_position_in_grid.y;
    int height = image_shape[1], width = image_shape[2], channels = image_shape[3];
    uint n = place / uint(grid_shape[1] * grid_shape[2]);

    float x = ((float(grid[2 * place]) + 1) * width - 1) / 2;
    float y = ((float(grid[2 * place + 1]) + 1) * height - 1) / 2;
    int left = int(metal::floor(x)), top = int(metal::floor(y));

    float sum = 0;
    for (int corner = 0; corner < 4; corner++) {
        int column = left + (corner & 1), row = top + (corner >> 1);
        float weight = (1 - metal::abs(x - column)) * (1 - metal::abs(y - row));
        if (column >= 0 && column < width && row >= 0 && row < height)
            sum += weight * float(image[((n * height + row) * width + column) * channels + c]);
    }
    out[place * channels + c] = T(sum);
"""


def sample(image: numpy.ndarray, grid: numpy.ndarray) -> numpy.ndarray:
    """Sample images bilinearly at positions from -1 to 1, with zeros outside."""
    n, height, width, channels = image.shape
    padded = numpy.zeros((n, height + 4, width + 4, channels))
    padded[:, 2:-2, 2:-2] = image
    x = ((grid[..., 0].astype("f8") + 1) * width - 1) / 2
    y = ((grid[..., 1].astype("f8") + 1) * height - 1) / 2
    left, top = numpy.floor(x).astype(int), numpy.floor(y).astype(int)
    out = numpy.zeros((*grid.shape[:3], channels))
    for column, row in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (1 - abs(x - left - column)) * (1 - abs(y - top - row))
        rows = numpy.clip(top + row + 2, 0, height + 3)
        columns = numpy.clip(left + column + 2, 0, width + 3)
        batch = numpy.arange(n)[:, None, None]
        out += weight[..., None] * padded[batch, rows, columns]
    return out


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_bilinear_sampling(dtype: str) -> None:
    rng = numpy.random.default_rng(3)
    image = rng.random((2, 9, 11, 5)).astype(dtype)
    grid = rng.uniform(-1.1, 1.1, (2, 7, 6, 2)).astype(dtype)
    made = kernel(GRID_SAMPLE, x=("image", "grid"))
    (out,) = made(
        inputs=[np.array(image), np.array(grid)],
        template=[("T", dtype)],
        grid=(5, 2 * 7 * 6, 1),
        threadgroup=(5, 16, 1),
        output_shapes=[(2, 7, 6, 5)],
        output_dtypes=[dtype],
    )
    tolerance = 1e-5 if dtype == "float32" else 2e-3
    numpy.testing.assert_allclose(out, sample(image, grid), atol=tolerance)


SCAN = """
    threadgroup float sums[32];
    uint i = thread_position_in_grid.x;
    float value = i < uint(x_shape[0]) ? x[i] : 0;
    float before = simd_prefix_exclusive_sum(value);
    if (thread_index_in_simdgroup == threads_per_simdgroup - 1)
        sums[simdgroup_index_in_threadgroup] = before + value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint g = 0; g < simdgroup_index_in_threadgroup; g++)
        before += sums[g];
    if (i < uint(x_shape[0]))
        out[i] = before + value;
    if (thread_index_in_threadgroup == threads_per_threadgroup.x - 1)
        totals[threadgroup_position_in_grid.x] = before + value;
"""


def test_a_scan_by_threadgroups() -> None:
    x = numpy.random.default_rng(4).integers(0, 50, 1000).astype("f4")
    out, totals = kernel(SCAN, out=("out", "totals"))(
        inputs=[np.array(x)],
        grid=(1024, 1, 1),
        threadgroup=(128, 1, 1),
        output_shapes=[(1000,), (8,)],
        output_dtypes=["f4", "f4"],
    )
    blocks = numpy.append(x, numpy.zeros(24, "f4")).reshape(8, 128)
    numpy.testing.assert_array_equal(out, blocks.cumsum(1).ravel()[:1000])
    numpy.testing.assert_array_equal(totals, blocks.sum(1))


def test_attributes() -> None:
    source = """
        uint3 at = thread_position_in_grid;
        uint3 n = threads_per_grid;
        uint i = (at.z * n.y + at.y) * n.x + at.x;
        uint3 group = threadgroup_position_in_grid * threads_per_threadgroup;
        out[i] = all(group + thread_position_in_threadgroup == at);
        uint per_group = threads_per_threadgroup.x * threads_per_threadgroup.y;
        out[i] += thread_index_in_threadgroup < per_group * threads_per_threadgroup.z;
        out[i] += thread_index_in_threadgroup
                  == simdgroup_index_in_threadgroup * threads_per_simdgroup
                         + thread_index_in_simdgroup;
        out[i] += simdgroups_per_threadgroup * threads_per_simdgroup >= per_group;
        out[i] += all(threadgroups_per_grid == uint3(3, 2, 5));
    """
    (out,) = kernel(source, x=())(
        inputs=[],
        grid=(12, 6, 5),
        threadgroup=(4, 3, 1),
        output_shapes=[(5, 6, 12)],
        output_dtypes=["i4"],
    )
    assert (out == 5).all()


def test_vectors() -> None:
    source = """
        uint i = thread_position_in_grid.x;
        float3 a = float3(x[i], x[i] * 2, -1.5f), b = float3(0.5f);
        float2 c = clamp(float2(a.x, a.y), float2(0.25f), float2(0.75f));
        int4 n = int4(7, -8, 9, int(i)) % 5;
        out[16 * i] = dot(a, b);
        out[16 * i + 1] = length(cross(a, b));
        out[16 * i + 2] = distance(a, b) + length_squared(c);
        out[16 * i + 3] = normalize(a).y;
        out[16 * i + 4] = all(a < b) + 2 * any(a < b) + 4 * all(a != 0.5f);
        out[16 * i + 5] = max(min(a, b), -b).z + floor(a).z + (-a).z;
        out[16 * i + 6] = mix(a, b, float3(0.25f)).x + fract(x[i] + 3);
        out[16 * i + 7] = saturate(x[i] * 2) + sign(x[i] - 0.5f) + step(0.5f, x[i]);
        out[16 * i + 8] = smoothstep(0.0f, 1.0f, x[i]) + powr(x[i], 2.0f);
        out[16 * i + 9] = n.x + 10 * n.y + 100 * n.z + 1000 * n.w;
        out[16 * i + 10] = (n & 1).x + (n | 4).w + (n << 1).z + abs(n).y;
        out[16 * i + 11] = sqrt(c).x + exp(c).y;
    """
    x = numpy.linspace(0, 1, 40, dtype="f4")
    out = launch(kernel(source), [np.array(x)], size=40, shape=(40, 16))
    ours = numpy.asarray(out).astype("f8")
    x = x.astype("f8")
    a = numpy.stack([x, x * 2, numpy.full(40, -1.5)], axis=1)
    b = numpy.full(3, 0.5)
    c = a[:, :2].clip(0.25, 0.75)
    i = numpy.arange(40)
    less = a < b
    expected = [
        a @ b,
        numpy.linalg.norm(numpy.cross(a, b), axis=1),
        numpy.linalg.norm(a - b, axis=1) + (c * c).sum(1),
        a[:, 1] / numpy.linalg.norm(a, axis=1),
        less.all(1) + 2 * less.any(1) + 4 * (a != 0.5).all(1),
        numpy.full(40, -0.5 - 2 + 1.5),
        x * 0.75 + 0.125 + (x + 3) % 1,
        (x * 2).clip(0, 1) + numpy.sign(x - 0.5) + (x >= 0.5),
        x * x * (3 - 2 * x) + x**2,
        2 - 30 + 400 + 1000 * (i % 5),
        (i % 5 | 4) + 8 + 3,
        numpy.sqrt(c[:, 0]) + numpy.exp(c[:, 1]),
    ]
    for k, column in enumerate(expected):
        numpy.testing.assert_allclose(ours[:, k], column, rtol=2e-6, atol=2e-6)


def test_a_macro_in_the_header() -> None:
    source = """
        threadgroup float shared[32];
        uint i = thread_index_in_threadgroup;
        shared[i] = x[i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[i] = shared[TURN(i)];
    """
    made = kernel(source, header="#define TURN(i) (31 - (i))")
    out = launch(made, [np.arange(32, dtype="f4")], threads=32)
    assert out.tolist() == list(range(31, -1, -1))


# -- Source code and pipelines ---------------------------------------------------------


def test_dtypes_of_one_name_side_by_side() -> None:
    made = kernel(DOUBLE, name="variant")
    arrays = [values(dtype, 100 + i) for i, dtype in enumerate(DTYPES)]
    compiled = -1
    for _ in range(2):
        outs = [launch(made, [np.array(x)]) for x in arrays * 3]
        for out, x in zip(outs, arrays * 3):
            numpy.testing.assert_array_equal(out, x + x)
        assert compiled in {-1, core.gpu_counts()["compiled"]}
        compiled = core.gpu_counts()["compiled"]


def test_a_launch_again_compiles_nothing() -> None:
    made = kernel(DOUBLE, name="again")
    for n in (10, 1000):
        numpy.testing.assert_array_equal(launch(made, [np.ones(n, "f4")]), [2] * n)
    compiled = core.gpu_counts()["compiled"]
    for n in (30, 5000):
        x = np.array(numpy.arange(n, dtype="f4"))
        numpy.testing.assert_array_equal(launch(made, [x]), 2 * numpy.arange(n))
    assert core.gpu_counts()["compiled"] <= compiled + (n == 30)


def test_kernels_of_one_name_and_other_texts() -> None:
    outs = []
    for factor in range(1, 5):
        made = kernel(f"uint i = thread_position_in_grid.x; out[i] = x[i] * {factor};")
        outs.append(launch(made, [np.arange(50, dtype="f4")]))
    for factor, out in enumerate(outs, 1):
        numpy.testing.assert_array_equal(out, factor * numpy.arange(50))


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_few_pipelines_are_kept(limit: int) -> None:
    made = kernel(DOUBLE, name="evicted")
    before = core.set_kernel_limit(limit)
    try:
        outs = []
        for i in range(100):
            x = values(("f4", "i4", "u2")[i % 3], 50 + i)
            outs.append((launch(made, [np.array(x)]) + i, x + x + x.dtype.type(i)))
        for out, expected in outs:
            numpy.testing.assert_array_equal(out, expected)
    finally:
        assert core.set_kernel_limit(before) == limit


# -- Lifetimes -------------------------------------------------------------------------


def test_threads_that_drop_their_arrays_immediately() -> None:
    made = kernel(
        "uint i = thread_position_in_grid.x; out[i] = x[i] * s + y[i];", x="xsy"
    )

    def body(number: int) -> None:
        for turn in range(64):
            n = 100 + 7 * (number % 5)
            (out,) = made(
                inputs=[
                    np.full(n, number, dtype="f4"),
                    np.array(turn, dtype="f4"),
                    np.arange(n, dtype="f4"),
                ],
                grid=(n, 1, 1),
                threadgroup=(32, 1, 1),
                output_shapes=[(n,)],
                output_dtypes=["f4"],
            )
            expected = number * turn + numpy.arange(n, dtype="f4")
            numpy.testing.assert_array_equal(out, expected)

    in_threads(32, body)


def test_steps_of_many_sequences() -> None:
    made = kernel(
        """
        uint b = thread_position_in_grid.y, i = thread_position_in_grid.x;
        uint n = threads_per_grid.x;
        out[b * n + i] = x[b * n + (i + 1) % n] + bias[b];
        """,
        x=("x", "bias"),
    )
    bias = numpy.arange(32, dtype="f4")
    state = np.array(numpy.tile(numpy.arange(48, dtype="f4"), (32, 1)))
    for _ in range(64):
        (state,) = made(
            inputs=[state, np.array(bias)],
            grid=(48, 32, 1),
            threadgroup=(48, 4, 1),
            output_shapes=[(32, 48)],
            output_dtypes=["f4"],
        )
        state = state + 1
    expected = numpy.roll(numpy.arange(48), -64) + 64 * (bias[:, None] + 1)
    numpy.testing.assert_array_equal(state, expected)


def test_unused_outputs() -> None:
    made = kernel(DOUBLE)
    for n in range(100, 400):
        launch(made, [np.ones(n, "f4")])
    np.synchronize()


# -- Order -----------------------------------------------------------------------------


def test_a_call_does_not_wait() -> None:
    x = np.ones(20_000, "f4")
    np.synchronize()
    x = x + 1
    waiting = _bridge.pending()
    assert waiting > 0
    out = launch(kernel(DOUBLE), [x.reshape(100, 200).T])
    out = launch(kernel(DOUBLE), [out + 1])
    assert _bridge.pending() >= waiting + 3
    numpy.testing.assert_array_equal(out, numpy.full((200, 100), 10))


def test_a_launch_uses_the_values_at_its_time() -> None:
    made = kernel(DOUBLE)
    x = np.arange(1000, dtype="f4")
    first = launch(made, [x])
    x += 1
    second = launch(made, [x])
    x[::2] = 0
    first *= 10
    third = launch(made, [x]) + second
    x[...] = -1
    numpy.testing.assert_array_equal(first, 20 * numpy.arange(1000))
    numpy.testing.assert_array_equal(second, 2 * numpy.arange(1000) + 2)
    odd = numpy.where(numpy.arange(1000) % 2, 2 * numpy.arange(1000) + 2, 0)
    numpy.testing.assert_array_equal(third, odd + 2 * numpy.arange(1000) + 2)
    numpy.testing.assert_array_equal(x, [-1] * 1000)


def test_numpys_memory_may_change_after_the_call() -> None:
    made = kernel(DOUBLE)
    x = numpy.arange(1000, dtype="f4")
    out = launch(made, [x])
    x[...] = 7
    numpy.testing.assert_array_equal(out, 2 * numpy.arange(1000))
    ours = np.arange(1000, dtype="f4")
    theirs = numpy.asarray(ours)
    out = launch(made, [ours])
    theirs[...] = 7
    numpy.testing.assert_array_equal(out, 2 * numpy.arange(1000))


def test_operations_on_outputs() -> None:
    made = kernel(EXP)
    x = np.linspace(0, 1, 3000, dtype="f4").reshape(30, 100)
    out = launch(made, [x])
    total = (out.sum(axis=1) + np.log(out).mean()).max()
    y = numpy.linspace(0, 1, 3000, dtype="f4").reshape(30, 100)
    expected = (numpy.exp(y).sum(axis=1) + y.mean()).max()
    numpy.testing.assert_allclose(float(total), expected, rtol=1e-5)


def test_the_processors_operations_between() -> None:
    made = kernel(DOUBLE)
    x = np.arange(1000, dtype="f4")
    for _ in range(4):
        x = launch(made, [x])
        with np.device("cpu"):
            x = x + 1
        x = (x.astype("f8") * 0.5).astype("f4")  # float64 runs on the processor
    expected = numpy.arange(1000) + sum([0.5] * 4)
    numpy.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("device", ["cpu", "auto", GPU])
def test_a_kernel_runs_whatever_the_device(device: str) -> None:
    before = core.gpu_counts()["dispatches"]
    with np.device(device):
        out = launch(kernel(DOUBLE), [np.ones(10, "f4")])
        np.synchronize()
    assert core.gpu_counts()["dispatches"] > before
    assert out.tolist() == [2] * 10


def test_a_grid_of_zero_runs_nothing() -> None:
    before = core.gpu_counts()["dispatches"]
    out = launch(kernel(DOUBLE), [numpy.ones(3, "f4")], size=0, init_value=4)
    with np.device("cpu"):
        assert out.tolist() == [4, 4, 4]
    assert core.gpu_counts()["dispatches"] <= before + 1  # to fill the output
    assert launch(kernel(DOUBLE), [np.ones((0, 3), "f4")]).shape == (0, 3)


def test_threadgroups_that_do_not_divide_the_grid() -> None:
    for n, threads in ((1, 64), (63, 64), (65, 64), (7, 3), (1000, 1024)):
        out = launch(kernel(DOUBLE), [np.arange(n, dtype="f4")], threads=threads)
        numpy.testing.assert_array_equal(out, 2 * numpy.arange(n))


def test_verbose_prints_the_text(capsys: pytest.CaptureFixture) -> None:
    made = kernel(EXP, name="printed", header="// a header")
    launch(made, [np.ones(10, "f4")])
    assert capsys.readouterr().out == ""
    launch(made, [np.ones(10, "f4")], verbose=True, stream=None)
    text = capsys.readouterr().out
    assert EXP in text
    assert "// a header" in text
    assert "kernel void printed(" in text
    assert "device const float *x [[buffer(0)]]" in text


# -- Errors ----------------------------------------------------------------------------


def test_a_compile_error_names_the_line_of_the_source() -> None:
    source = (
        "uint i = thread_position_in_grid.x;\nfloat y = x[i];\nout[i] = no_such(y);\n"
    )
    made = kernel(source, name="wrong", header="// one\n// two\n// three")
    with pytest.raises(ValueError, match=r"wrong[:(]3[\s\S]*no_such") as caught:
        launch(made, [np.ones(10, "f4")])
    assert "does not compile" in str(caught.value)
    numpy.testing.assert_array_equal(
        launch(kernel(DOUBLE), [np.ones(9, "f4")]), [2] * 9
    )


def test_an_error_of_one_dtype_alone() -> None:
    made = kernel("uint i = thread_position_in_grid.x; out[i] = x[i] % 3;")
    with pytest.raises(ValueError, match=r"test[:(]1"):
        launch(made, [np.ones(10, "f4")])
    assert launch(made, [np.full(4, 5, "i4")]).tolist() == [2] * 4


def call(made: Any, **changed: Any) -> Any:
    arguments = {
        "inputs": [np.ones(10, "f4")],
        "grid": (10, 1, 1),
        "threadgroup": (10, 1, 1),
        "output_shapes": [(10,)],
        "output_dtypes": ["f4"],
    }
    return made(**arguments | changed)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"inputs": []}, "inputs must have 1 items, but has 0"),
        ({"inputs": [1, 2]}, "inputs must have 1 items, but has 2"),
        ({"output_shapes": []}, "output_shapes must have 1 items, but has 0"),
        ({"output_dtypes": ["f4"] * 2}, "output_dtypes must have 1 items, but has 2"),
        ({"grid": (1, 1)}, "grid must be three sizes"),
        ({"grid": (1, 1, 1, 1)}, "grid must be three sizes"),
        ({"grid": (1, -1, 1)}, "grid must be three sizes"),
        ({"threadgroup": (1,)}, "threadgroup must be three sizes"),
        ({"threadgroup": (0, 1, 1)}, "threadgroup must be positive"),
        ({"threadgroup": (-5, 1, 1)}, "threadgroup must be three sizes"),
        ({"threadgroup": (1025, 1, 1)}, "may have 1024 threads, not 1025 \\* 1 \\* 1"),
        ({"threadgroup": (64, 64, 1)}, "may have 1024 threads, not 64 \\* 64"),
        ({"threadgroup": (2**31, 2**31, 4)}, "threads, not"),
        ({"threadgroup": (2**32, 2**32, 1)}, "threadgroup must be three sizes"),
        ({"grid": (2**32 + 1, 1, 1)}, "grid"),
        ({"output_shapes": [(-1,)]}, "negative"),
    ],
)
def test_wrong_arguments_raise(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(kernel(DOUBLE), **changed)
    assert call(kernel(DOUBLE))[0].tolist() == [2] * 10


@lacks_float64
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_unsupported_dtypes_raise(dtype: str) -> None:
    message = f"{dtype} is not available on device '{GPU}'"
    with pytest.raises(TypeError, match=message):
        call(kernel(DOUBLE), inputs=[np.ones(10, dtype)])
    with pytest.raises(TypeError, match=message):
        call(kernel(DOUBLE), output_dtypes=[dtype])
    with pytest.raises(TypeError, match=message):
        call(kernel(DOUBLE), template=[("T", dtype)])


@lacks_float64
def test_a_list_of_floats_is_float64() -> None:
    with pytest.raises(TypeError, match="float64 is not available on device"):
        call(kernel(DOUBLE), inputs=[[1.5]])


@pytest.mark.parametrize("x", [["a"], [None], numpy.zeros(10, "M8[s]")])
def test_inputs_that_are_not_numbers_raise(x: Any) -> None:
    with pytest.raises(TypeError, match=f"not available on device '{GPU}'"):
        call(kernel(DOUBLE), inputs=[x])


@pytest.mark.parametrize("dtype", ["float16", "int8", "int64", "bool", "complex64"])
def test_atomic_outputs_of_other_sizes(dtype: str) -> None:
    made = kernel("", atomic_outputs=True)
    with pytest.raises(TypeError, match="32 bits") as caught:
        call(made, output_dtypes=[dtype])
    assert dtype in str(caught.value)


def test_names_of_arrays() -> None:
    with pytest.raises(ValueError, match="names of arrays must be unique"):
        kernel("", x=("a", "a"))
    with pytest.raises(ValueError, match="names of arrays must be unique"):
        kernel("", x=("a",), out=("a",))
    for bad in ("", "a b", "1st", "a-b", "a;b"):
        with pytest.raises(ValueError, match="invalid identifier for a kernel"):
            kernel("", x=(bad,))
        with pytest.raises(ValueError, match="invalid identifier for a kernel"):
            kernel("", out=(bad,))
        with pytest.raises(ValueError, match="invalid identifier for a kernel"):
            kernel("", name=bad)


def test_too_many_arrays() -> None:
    names = [f"x{i}" for i in range(12)]
    total = " + ".join(f"{name}[0]" for name in names)
    made = kernel(f"out[0] = {total};", x=names)
    with pytest.raises(ValueError, match="may have 12 arrays, not 13"):
        call(made, inputs=[np.ones(10, "f4")] * 12)
    made = kernel("out[0] = " + total.replace(" + x11[0]", "") + ";", x=names[:11])
    out = call(made, inputs=[np.ones(10, "f4")] * 11, grid=(1, 1, 1))[0]
    assert out[0] == 11


@pytest.mark.parametrize("dtype", [">f4", ">i2"])
def test_outputs_of_swapped_bytes(dtype: str) -> None:
    with pytest.raises(TypeError, match=f"{dtype} is not available"):
        call(kernel(DOUBLE), output_dtypes=[dtype])


def test_the_kernels_own_name() -> None:
    made = kernel(DOUBLE, name="special")
    assert made.__name__ == "special"
    assert "special" in made.__doc__


@needs_host
@pytest.mark.skipif(GPU != "metal", reason="it counts what the Metal emulator runs")
def test_no_launch_after_a_check_that_failed() -> None:
    launch(kernel(DOUBLE, name="after_a_check"), [np.ones(20_000, "f4")])
    np.synchronize()
    assert HOST
    before = HOST.dispatch_count("after_a_check")
    for _ in range(3):
        i = np.arange(20_000) * 2
        y = np.arange(20_000, dtype="f4")[i]
        out = launch(kernel(DOUBLE, name="after_a_check"), [np.ones(20_000, "f4")])
        with pytest.raises(IndexError, match="index 20000 is out of bounds"):
            np.synchronize()
        with pytest.raises(IndexError, match="index 20000 is out of bounds"):
            out.tolist()
        assert HOST.dispatch_count("after_a_check") == before
        del y
    i = np.arange(20_000) // 2
    y = np.arange(20_000, dtype="f4")[i]
    out = launch(kernel(DOUBLE, name="after_a_check"), [y])
    numpy.testing.assert_array_equal(out, numpy.arange(20_000) // 2 * 2)
    assert HOST.dispatch_count("after_a_check") == before + 1


def test_an_input_that_failed() -> None:
    i = np.arange(20_000) * 2
    x = np.arange(20_000, dtype="f4")
    y = x[i]
    with pytest.raises(IndexError, match="index 20000 is out of bounds"):
        call(kernel(DOUBLE), inputs=[y])[0].tolist()
    assert call(kernel(DOUBLE))[0].tolist() == [2] * 10


def test_bfloat16() -> None:
    from ml_dtypes import bfloat16

    kernel = np.gpu_kernel(
        "halve",
        ["x", "k"],
        ["out", "count"],
        """
        uint i = thread_position_in_grid.x;
        out[i] = T(float(x[i]) / float(k));
        count[i] = T(float(count[i]) + (float(x[i]) > 1.0f ? 1.0f : 0.0f));
        """,
    )
    x = numpy.arange(300).astype(bfloat16)
    for given in (x, np.array(x), np.array(numpy.repeat(x, 2))[::2]):
        out, count = kernel(
            inputs=[given, np.array(4, bfloat16)],
            template=[("T", bfloat16)],
            grid=(300, 1, 1),
            threadgroup=(64, 1, 1),
            output_shapes=[(300,), (300,)],
            output_dtypes=[bfloat16, bfloat16],
            init_value=1,
        )
        assert out.dtype == count.dtype == bfloat16
        numpy.testing.assert_array_equal(out, (x.astype("f4") / 4).astype(bfloat16))
        numpy.testing.assert_array_equal(count, (1 + (x > 1)).astype(bfloat16))


def find_collision(key: bytes, at: int, word: bytes) -> tuple[bytes, bytes]:
    """
    Return the words after `word` with which the hash of the key stays the same.

    The hash of csrc/gpu/pipelines.c multiplies words of 8 bytes in four lanes. `word`
    replaces the one at `at`, and the others those 32 and 64 bytes later, which are in the
    same lane.
    """
    mask, prime, lane = 2**64 - 1, 1099511628211, at % 32 // 8

    def add_word(state: int, word: bytes) -> int:
        state = (state ^ int.from_bytes(word, sys.byteorder)) * prime & mask
        return state ^ state >> 32

    before = (14695981039346656037, 1, 2, 3)[lane]
    for place in range(lane * 8, at, 32):
        before = add_word(before, key[place : place + 8])
    state, other_state = before, add_word(before, word)
    for place in (at, at + 32):
        state = add_word(state, key[place : place + 8])
    last = state ^ int.from_bytes(key[at + 64 : at + 72], sys.byteorder)
    letters = numpy.random.default_rng(0).integers(97, 123, (10**6, 8), dtype="u1")
    for second in map(bytes, letters):
        third = (last ^ add_word(other_state, second)).to_bytes(8, sys.byteorder)
        if all(32 <= letter < 127 and letter != 92 for letter in third):
            return second, third
    raise AssertionError("no word is printable")


def test_kernels_of_one_hash_are_distinguished(capsys: Any) -> None:
    x = np.array(numpy.arange(100, dtype="f4"))

    def run(source: str) -> tuple[numpy.ndarray, str]:
        out = launch(kernel(source, name="collide"), [x], verbose=True)
        np.synchronize()
        return out.__array__(), capsys.readouterr().out[:-1]

    source = (
        "uint i = thread_position_in_grid.x; out[i] = x[i] * 2.000000f; //" + "a" * 99
    )
    for _ in range(8):  # moves the number to a multiple of 8 bytes in the key
        doubled, text = run(source)
        key = text.encode()
        at = key.index(b"2.000000f")
        if at % 8 == 0:
            break
        source = " " + source
    second, third = find_collision(key, at, b"3.000000")
    begin = source.index("2.000000f")
    changed = bytearray(source.replace("2.000000f", "3.000000f").encode())
    changed[begin + 32 : begin + 40] = second
    changed[begin + 64 : begin + 72] = third
    tripled, _ = run(changed.decode())
    numpy.testing.assert_array_equal(doubled, x.__array__() * 2)
    numpy.testing.assert_array_equal(tripled, x.__array__() * 3)


def test_two_names() -> None:
    assert np.metal_kernel is np.gpu_kernel
