"""Test matrix products with cuBLAS and Fourier transforms with cuFFT."""

from __future__ import annotations

import ctypes
import os
import textwrap
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.cuda_libraries import check_missing_libraries

import mxnp as np
from mxnp import _bridge
from mxnp._engine import core
from mxnp._gpu import products
from mxnp._verify import differences, tolerances

STAND_IN = os.environ.get("MXNP_CUDA_STAND_IN")
pytestmark = pytest.mark.skipif(
    "cuda" not in np.devices() or not STAND_IN, reason="needs the stand-in for CUDA"
)

DTYPES = ["float32", "float64", "complex64", "complex128"]
GEMM, TRANSFORM = "cublasGemmStridedBatchedEx_64", "cufftXtExec"


@pytest.fixture(autouse=True)
def few_products(monkeypatch: pytest.MonkeyPatch, on_metal: None) -> None:
    monkeypatch.setattr(products, "_FEW_OTHER_PRODUCTS", 0)


@pytest.fixture
def library() -> Any:
    return ctypes.CDLL(STAND_IN)


def numbers(dtype: str, *shape: int) -> Any:
    """Return random numbers of a dtype."""
    rng = numpy.random.default_rng(len(shape))
    values = rng.integers(-9, 9, shape) / 4
    if dtype in ("complex64", "complex128"):
        values = values + 1j * rng.integers(-9, 9, shape) / 4
    return values.astype(dtype)


def check(
    compute: Callable[..., Any], arrays: list[Any], name: str, calls: int, library: Any
) -> None:
    """Compare the results of NumPy and mxnp, and count the calls of a function."""
    expected = compute(numpy, *arrays)
    ours = [np.array(a) for a in arrays]
    before = library.cuda_standin_count(name.encode())
    result = compute(np, *ours)
    assert (type(result) is np.ndarray) == (type(expected) is numpy.ndarray)
    is_view = type(result) is np.ndarray and not result.flags.owndata
    assert not (is_view and expected.flags.owndata and expected.flags.c_contiguous)
    result = numpy.asarray(result)
    assert library.cuda_standin_count(name.encode()) == before + calls
    eps = numpy.finfo(expected.dtype).eps
    largest = float(abs(expected).max(initial=1))
    numpy.testing.assert_allclose(result, expected, rtol=0, atol=16 * eps * largest)
    assert result.dtype == expected.dtype
    assert result.flags.c_contiguous == expected.flags.c_contiguous
    for one, array in zip(ours, arrays, strict=True):
        numpy.testing.assert_array_equal(one, array)


# -- Products -------------------------------------------------------------------------


MATRICES: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "plain": (lambda _, a, b: a @ b, (6, 7), (7, 5)),
    "function": (lambda xp, a, b: xp.matmul(a, b), (6, 7), (7, 5)),
    "dot": (lambda xp, a, b: xp.dot(a, b), (6, 7), (7, 5)),
    "transposed": (lambda _, a, b: b.T @ a.T, (6, 7), (7, 5)),
    "columns": (lambda _, a, b: a[:, 1:4] @ b[2:5, 1:3], (6, 7), (7, 5)),
    "one column": (lambda _, a, b: a[:, :1] @ b[:1], (6, 7), (7, 5)),
    "one row": (lambda _, a, b: a[2:3] @ b, (6, 7), (7, 5)),
    "steps": (lambda _, a, b: a[::2, ::2] @ b[::2], (6, 7), (7, 5)),
    "reversed": (lambda _, a, b: a[::-1] @ b[:, ::-1], (6, 7), (7, 5)),
    "one element": (lambda _, a, b: a @ b, (1, 1), (1, 1)),
    "vector": (lambda _, a, b: a @ b, (6, 7), (7,)),
    "row of a matrix": (lambda _, a, b: a @ b, (7,), (7, 5)),
    "batch": (lambda _, a, b: a @ b, (3, 6, 7), (3, 7, 5)),
    "batch of turned": (
        lambda _, a, b: b.swapaxes(1, 2) @ a.swapaxes(1, 2),
        (3, 6, 7),
        (3, 7, 5),
    ),
    "outer axis inside": (
        lambda _, a, b: a.transpose(1, 0, 2) @ b,
        (6, 3, 7),
        (3, 7, 5),
    ),
    "every second": (lambda _, a, b: a[::2] @ b[1:], (3, 6, 7), (3, 7, 5)),
    "one for all": (lambda _, a, b: a @ b, (3, 6, 7), (7, 5)),
    "all with one": (lambda _, a, b: a @ b, (6, 7), (3, 7, 5)),
    "broadcast": (
        lambda xp, a, b: xp.broadcast_to(a, (3, 6, 7)) @ b,
        (6, 7),
        (3, 7, 5),
    ),
    "two outer axes": (lambda _, a, b: a @ b, (2, 3, 6, 7), (2, 3, 7, 5)),
    "vectors of a stack": (lambda xp, a, b: xp.dot(a, b), (3, 6, 7), (7,)),
    "inner": (lambda xp, a, b: xp.inner(a, b), (6, 7), (5, 7)),
    "computed": (lambda _, a, b: (a * 2) @ (b + 1) - 1, (6, 7), (7, 5)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MATRICES)
def test_products(name: str, dtype: str, library: Any) -> None:
    compute, left, right = MATRICES[name]
    check(compute, [numbers(dtype, *left), numbers(dtype, *right)], GEMM, 1, library)


CONTRACTIONS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], int]] = {
    "vectors": (lambda _, a, b: a @ b, [(50,), (50,)], 0),
    "dot": (lambda xp, a, b: xp.dot(a, b), [(50,), (50,)], 0),
    "vdot": (lambda xp, a, b: xp.vdot(a, b), [(5, 10), (5, 10)], 0),
    "tensordot 1": (lambda xp, a, b: xp.tensordot(a, b, 1), [(3, 6, 7), (7, 5)], 1),
    "tensordot 2": (lambda xp, a, b: xp.tensordot(a, b), [(3, 6, 7), (6, 7)], 1),
    "tensordot axes": (
        lambda xp, a, b: xp.tensordot(a, b, axes=([0, -1], [2, 0])),
        [(3, 6, 7), (7, 5, 3)],
        1,
    ),
    "tensordot 0": (lambda xp, a, b: xp.tensordot(a, b, 0), [(3, 6), (5,)], 0),
    **{
        subscripts: (
            lambda xp, *operands, text=subscripts: xp.einsum(text, *operands),
            shapes,
            calls,
        )
        for subscripts, shapes, calls in (
            ("ij,jk->ik", [(6, 7), (7, 5)], 1),
            ("ij, jk", [(6, 7), (7, 5)], 1),
            ("ij,jk->ki", [(6, 7), (7, 5)], 1),
            ("ij,kj->ik", [(6, 7), (5, 7)], 1),
            ("bij,bjk->bik", [(3, 6, 7), (3, 7, 5)], 1),
            ("bij,bkj->bik", [(3, 6, 7), (3, 5, 7)], 1),
            ("abi,ij->abj", [(2, 3, 6), (6, 5)], 1),
            ("ij,j->i", [(6, 7), (7,)], 1),
            ("ijk,jk->i", [(6, 7, 2), (7, 2)], 1),
            ("ij,jk->i", [(6, 7), (7, 5)], 1),
            ("i,i->", [(50,), (50,)], 0),
            ("ij,ij->i", [(6, 7), (6, 7)], 0),
            ("ij,ij->j", [(6, 7), (6, 7)], 0),
            ("ij,ji->", [(6, 7), (7, 6)], 0),
            ("i,j->ij", [(6,), (7,)], 0),
            ("ij,ij->ij", [(6, 7), (6, 7)], 0),
            ("ij->", [(6, 7)], 0),
            ("ij->j", [(6, 7)], 0),
            ("ij->ji", [(6, 7)], 0),
            ("ii->i", [(6, 6)], 0),
        )
    },
}


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("name", CONTRACTIONS)
def test_contractions(name: str, dtype: str, library: Any) -> None:
    compute, shapes, calls = CONTRACTIONS[name]
    arrays = [numbers(dtype, *shape) for shape in shapes]
    check(compute, arrays, GEMM, calls, library)


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, a: a @ a,
        lambda xp, a: xp.dot(a, a),
        lambda xp, a: xp.inner(a, a[:, 1:]),
        lambda xp, a: xp.vdot(a, a[1:]),
        lambda xp, a: xp.tensordot(a, a, 1),
        lambda xp, a: xp.tensordot(a, a, axes=([0], [0, 1])),
        lambda xp, a: xp.tensordot(a, a, axes=([5], [0])),
        lambda xp, a: xp.einsum("ij,jk->ik", a, a),
        lambda xp, a: xp.einsum("ij,jk->iq", a, a.T),
        lambda xp, a: xp.einsum("ij,jk->ii", a, a.T),
        lambda xp, a: xp.einsum("ij", a, a),
        lambda xp, a: xp.einsum("i,jk->i", a, a),
        lambda xp, a: xp.einsum("i$->i", a),
    ],
)
def test_errors_are_numpys(call: Callable[..., Any]) -> None:
    a = numbers("float64", 6, 7)
    messages = []
    for xp in (numpy, np):
        with pytest.raises(Exception, match=r".") as caught:
            call(xp, xp.array(a))
        messages.append((caught.type, str(caught.value)))
    assert messages[0] == messages[1]


def test_operands_and_results_move_once(library: Any) -> None:
    a = numbers("float64", 200, 300)
    x = np.array(a)
    np.synchronize()
    before = core.gpu_counts()
    y = x @ x.T
    z = y @ x
    np.synchronize()
    after = core.gpu_counts()
    assert after["bytes_in"] - before["bytes_in"] == a.nbytes
    assert after["bytes_out"] == before["bytes_out"]
    numpy.testing.assert_allclose(z, a @ a.T @ a)
    x[0] = 0.0  # on the processor
    a[0] = 0.0
    numpy.testing.assert_allclose(x @ x.T, a @ a.T)
    numpy.testing.assert_allclose(y[1:, 1:], a[1:] @ a[1:].T)


def test_complex_numbers_need_not_lie_at_multiples_of_their_size(library: Any) -> None:
    a = numbers("float64", 42)
    expected = a[1:41].view("c16").reshape(4, 5)
    turned = np.array(a)[1:41].view("c16").reshape(4, 5)
    numpy.testing.assert_allclose(turned @ turned.T, expected @ expected.T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_if_a_product_fails_the_kernel_computes_it(dtype: str, library: Any) -> None:
    a, b = numbers(dtype, 40, 70), numbers(dtype, 33, 70)
    x, y = np.array(a), np.array(b)
    np.synchronize()
    library.cuda_standin_fail(GEMM.encode(), ctypes.c_long(0), 13)
    before = library.cuda_standin_count(b"cuLaunchKernel")
    for _ in range(2):
        numpy.testing.assert_allclose(x @ y.T, a @ b.T, rtol=1e-5)
        assert library.cuda_standin_count(b"cuLaunchKernel") == before + 1


# -- Transforms -----------------------------------------------------------------------


ONE_AXIS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int32"])
@pytest.mark.parametrize(
    "arguments",
    [{}, {"n": 5}, {"n": 16, "norm": "ortho"}, {"axis": 0, "norm": "forward"}],
    ids=str,
)
@pytest.mark.parametrize("shape", [(12,), (3, 4, 5), (1, 1)], ids=str)
@pytest.mark.parametrize("name", ONE_AXIS)
def test_transforms(
    name: str, shape: Any, arguments: Any, dtype: str, library: Any
) -> None:
    if name in ("rfft", "ihfft") and dtype in ("complex64", "complex128"):
        pytest.skip("needs real numbers")
    if shape == (1, 1) and name in ("irfft", "hfft") and "n" not in arguments:
        pytest.skip("has no element")

    def compute(xp: Any, a: Any) -> Any:
        return getattr(xp.fft, name)(a, **arguments)

    check(compute, [numbers(dtype, *shape)], TRANSFORM, 1, library)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize(
    "arguments",
    [{}, {"norm": "ortho"}, {"s": (3, 8), "axes": (2, 0)}, {"axes": (1, 1)}],
    ids=str,
)
@pytest.mark.parametrize("name", SEVERAL)
def test_transforms_of_several_axes(
    name: str, arguments: Any, dtype: str, library: Any
) -> None:
    if name.startswith("r") and dtype == "complex128":
        pytest.skip("needs real numbers")
    calls = 2 if arguments.get("axes") or name.endswith("2") else 3

    def compute(xp: Any, a: Any) -> Any:
        return getattr(xp.fft, name)(a, **arguments)

    check(compute, [numbers(dtype, 3, 4, 5)], TRANSFORM, calls, library)


@pytest.mark.parametrize(
    "compute",
    [
        lambda xp, a: xp.fft.fft(a[::2, ::-1]),
        lambda xp, a: xp.fft.fft(a.T),
        lambda xp, a: xp.fft.irfft(a[:, 2:5]),
        lambda xp, a: xp.fft.ifft(xp.fft.fft(a * 2) + 1),
    ],
)
def test_views_are_transformed(compute: Callable[..., Any], library: Any) -> None:
    calls = 2 if "ifft" in compute.__code__.co_names else 1
    check(compute, [numbers("complex128", 6, 8)], TRANSFORM, calls, library)


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, a: xp.fft.rfft(a * 1j),
        lambda xp, a: xp.fft.fft(a, 0),
        lambda xp, a: xp.fft.fft(a, axis=2),
        lambda xp, a: xp.fft.ifft(a, norm="unknown"),
        lambda xp, a: xp.fft.fft(a[:0], axis=0),
        lambda xp, a: xp.fft.fft2(a, s=(3,)),
        lambda xp, a: xp.fft.irfft(a[:, :1]),
    ],
)
def test_errors_of_transforms_are_numpys(call: Callable[..., Any]) -> None:
    test_errors_are_numpys(call)


INTO_OUT: list[tuple[str, dict[str, Any], tuple[int, ...], int]] = [
    ("fft", {}, (6, 8), 1),
    ("rfft", {"n": 6, "axis": 0}, (4, 8), 1),
    ("irfft", {}, (6, 14), 1),
    ("ihfft", {}, (6, 5), 1),
    ("fft2", {}, (6, 8), 2),
    ("rfft2", {"s": (6, 5)}, (6, 3), 2),
    ("irfftn", {"s": (3, 4), "axes": (0, 1)}, (3, 4), 2),
]


@pytest.mark.parametrize(("name", "arguments", "shape", "calls"), INTO_OUT)
def test_transforms_into_given_memory(
    name: str, arguments: Any, shape: Any, calls: int, library: Any
) -> None:
    """The result has the bits that it has without `out`."""
    kind = "float64" if name in ("rfft", "rfft2", "ihfft") else "complex128"
    a = numbers(kind, 6, 8)
    out = np.empty(shape, "float64" if name.startswith("irfft") else "complex128")
    before = library.cuda_standin_count(TRANSFORM.encode())
    result = getattr(np.fft, name)(np.array(a), **arguments, out=out)
    np.synchronize()
    assert library.cuda_standin_count(TRANSFORM.encode()) == before + calls
    assert result is out
    numpy.testing.assert_array_equal(
        out, getattr(np.fft, name)(np.array(a), **arguments)
    )
    expected = getattr(numpy.fft, name)(a, **arguments)
    numpy.testing.assert_allclose(out, expected, atol=1e-13)


def test_a_transform_replaces_its_input() -> None:
    a = numbers("complex128", 6, 8)
    ours = np.array(a)
    assert np.fft.fft2(ours, out=ours) is ours
    numpy.testing.assert_allclose(ours, numpy.fft.fft2(a))


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, a: xp.fft.fft(a, out=xp.empty((6, 9), complex)),
        lambda xp, a: xp.fft.fft(a, out=xp.empty((6, 7))),
        lambda xp, a: xp.fft.fft(a, None, -1, None, xp.empty((1, 7), complex)),
        lambda xp, a: xp.fft.fft2(a, s=(3, 7), out=xp.empty((3, 7), complex)),
        lambda xp, a: xp.fft.fft(a, out=xp.broadcast_to(xp.zeros(7, complex), (6, 7))),
    ],
)
def test_errors_of_given_memory_are_numpys(call: Callable[..., Any]) -> None:
    test_errors_are_numpys(call)


def test_given_memory_of_hfft() -> None:
    """NumPy 2.4 ignores it."""
    a, ours, theirs = numbers("complex128", 6), np.zeros(10), numpy.zeros(10)
    is_ours = np.fft.hfft(np.array(a), out=ours) is ours
    assert is_ours == (numpy.fft.hfft(a, out=theirs) is theirs)
    assert ours.any() == theirs.any() == is_ours


def test_large_transforms_of_rows_run_on_the_device(library: Any) -> None:
    a = numbers("complex64", 300, 256)
    check(lambda xp, a: xp.fft.fft(a), [a], TRANSFORM, 1, library)


def test_a_few_elements_of_a_large_array_are_transformed(library: Any) -> None:
    _bridge.set_threshold(1000)
    a = numbers("complex128", 2000)
    check(lambda xp, a: xp.fft.irfft(a, 16), [a], TRANSFORM, 0, library)
    check(lambda xp, a: xp.fft.fft(a, 5), [a], TRANSFORM, 1, library)


def test_verified_transforms() -> None:
    x = np.array(numbers("float32", 300, 256))
    with np.verify():
        y = np.fft.rfft(x + 1)
        np.fft.irfft2(y)
    limit = tolerances.TRANSFORM * 2.0**-23 * (8 + 8)
    theirs = numpy.full((2, 8), 8.0, "f4")
    wrong = theirs + numpy.array([0.5 * limit, 2 * limit], "f4")[:, None]
    near = differences._is_near_on_device(wrong, theirs, "irfft")
    assert near.tolist() == [[True] * 8, [False] * 8]


def test_plans_are_kept(library: Any) -> None:
    x = np.array(numbers("float64", 50))
    np.fft.rfft(x)
    np.synchronize()
    made = library.cuda_standin_count(b"cufftMakePlanMany64")
    for _ in range(3):
        np.fft.rfft(x + 1)
    np.synchronize()
    assert library.cuda_standin_count(b"cufftMakePlanMany64") == made
    dropped = library.cuda_standin_count(b"cufftDestroy")
    for n in range(1, 101):
        expected = numpy.fft.rfft(numpy.asarray(x), n)
        numpy.testing.assert_allclose(np.fft.rfft(x, n), expected, atol=1e-12)
    assert library.cuda_standin_count(b"cufftDestroy") >= dropped + 36


@pytest.mark.parametrize(
    "function",
    [
        "cufftCreate",
        "cufftSetAutoAllocation",
        "cufftMakePlanMany64",
        "cufftSetStream",
    ],
)
def test_without_a_plan_numpy_transforms(function: str, library: Any) -> None:
    n = {"cufftCreate": 211, "cufftSetStream": 212, "cufftMakePlanMany64": 213}
    a = numbers("float64", n.get(function, 214))
    x = np.array(a) + 1
    library.cuda_standin_fail(function.encode(), ctypes.c_long(0), 2)
    before = library.cuda_standin_count(TRANSFORM.encode())
    numpy.testing.assert_array_equal(np.fft.rfft(x), numpy.fft.rfft(a + 1))
    assert library.cuda_standin_count(TRANSFORM.encode()) == before
    expected = numpy.fft.rfft(a + 1)
    numpy.testing.assert_allclose(np.fft.rfft(x), expected, atol=1e-12)
    assert library.cuda_standin_count(TRANSFORM.encode()) == before + 1


@pytest.mark.parametrize("function", ["cufftSetWorkArea", "cufftXtExec"])
def test_a_transform_that_fails_raises_and_keeps_its_input(
    function: str, library: Any
) -> None:
    a = numbers("complex128", 215)
    x = np.array(a) + 1
    library.cuda_standin_fail(function.encode(), ctypes.c_long(0), 6)
    y = np.fft.fft(x)
    with pytest.raises(RuntimeError, match="cuFFT failed: status 6"):
        numpy.asarray(y)
    numpy.testing.assert_array_equal(x, a + 1)
    numpy.testing.assert_allclose(np.fft.fft(x), numpy.fft.fft(a + 1))


# -- Missing libraries ----------------------------------------------------------------


PROGRAM = textwrap.dedent(
    """
    import ctypes, os
    import numpy
    import mxnp as np

    library = ctypes.CDLL(os.environ["MXNP_CUDA_STAND_IN"])
    library.cuda_standin_fail(os.environ["FAILS"].encode(), ctypes.c_long(0), 3)
    a = numpy.arange(4900.0).reshape(70, 70) % 5
    x = np.array(a)
    for _ in range(2):
        assert (x @ x.T).tolist() == (a @ a.T).tolist()
        assert numpy.allclose(np.fft.fft(x + 1), numpy.fft.fft(a + 1))
    names = (b"cublasGemmStridedBatchedEx_64", b"cufftXtExec")
    print(*(library.cuda_standin_count(name) for name in names))
    """
)


@pytest.mark.parametrize(
    ("without", "fails", "calls", "line"),
    [
        ("", "-", "2 2", "cuBLAS 13.0, cuFFT 12.0, cuSOLVER 12.0"),
        (
            "cublas",
            "-",
            "0 2",
            "no cuBLAS (pip install '.[cuda]'), cuFFT 12.0, cuSOLVER 12.0",
        ),
        (
            "cufft",
            "-",
            "2 0",
            "cuBLAS 13.0, no cuFFT (pip install '.[cuda]'), cuSOLVER 12.0",
        ),
        ("", "cublasCreate_v2", "0 2", ""),
        ("", "cublasSetStream_v2", "0 2", ""),
    ],
)
def test_missing_libraries(without: str, fails: str, calls: str, line: str) -> None:
    check_missing_libraries(PROGRAM, without, fails, calls, line)


@pytest.mark.parametrize("n", [40_000, 39_999, 50_000, 20_001])
def test_a_transform_to_real_numbers_stays_on_the_device(n: int) -> None:
    # 50,000 needs more coefficients than there are, and 20,001 fewer.
    x = np.arange(20_001.0) * (1 - 2j)
    np.synchronize()
    before = core.gpu_counts()
    y = np.fft.irfft(x, n)
    np.synchronize()
    after = core.gpu_counts()
    assert after["bytes_in"] == before["bytes_in"]
    assert after["bytes_out"] <= before["bytes_out"] + 64
    assert after["command_buffers"] == before["command_buffers"] + 1
    expected = numpy.fft.irfft(numpy.arange(20_001.0) * (1 - 2j), n)
    numpy.testing.assert_allclose(numpy.asarray(y), expected, rtol=0, atol=1e-8)
