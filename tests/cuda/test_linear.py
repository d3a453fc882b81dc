"""Test `numpy.linalg` with cuSOLVER.

Vectors may have other signs or phases than NumPy's, and those of equal values may be other
vectors of the same space. So vectors are tested by what they are vectors of. The bounds are
those of float64, because float32 and complex64 are computed in it and rounded once.
"""

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
from mxnp._gpu import linear

STAND_IN = os.environ.get("MXNP_CUDA_STAND_IN")
pytestmark = pytest.mark.skipif(
    "cuda" not in np.devices() or not STAND_IN, reason="needs the stand-in for CUDA"
)

DTYPES = ["float32", "float64", "complex64", "complex128", "int32"]
SQUARES: list[Any] = [(6, 6), (2, 3, 5, 5), (1, 1)]
OTHERS: list[Any] = [(9, 4), (4, 9), (3, 5, 2), (2, 5)]
BOUND = 64  # in eps times the number of rows and columns


@pytest.fixture(autouse=True)
def every_size(monkeypatch: pytest.MonkeyPatch, on_metal: None) -> None:
    monkeypatch.setattr(linear, "_LEAST", 0)


@pytest.fixture
def library() -> Any:
    return ctypes.CDLL(STAND_IN)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the kinds of factorizations that succeed."""
    kinds: list[int] = []
    run = linear._run

    def count(kind: int, *args: Any, **kwargs: Any) -> Any:
        status = run(kind, *args, **kwargs)
        kinds.append(kind)
        return status

    monkeypatch.setattr(linear, "_run", count)
    return kinds


def numbers(dtype: str, *shape: int, seed: int = 0) -> Any:
    """Return random matrices of a dtype, whose condition is small."""
    rng = numpy.random.default_rng(seed)
    values = rng.integers(-9, 9, shape) / (1 if dtype == "int32" else 4)
    if dtype in ("complex64", "complex128"):
        values = values + 1j * rng.integers(-9, 9, shape) / 4
    for i in range(min(shape[-2:])):
        values[..., i, i] += 60 if dtype == "int32" else 20
    return values.astype(dtype)


def conjugate(a: Any) -> Any:
    return a.conj().swapaxes(-1, -2)


def assert_alike(ours: Any, theirs: Any) -> None:
    """Compare the class, dtype, shape and strides with those of NumPy's result."""
    is_array = type(theirs) is numpy.ndarray
    assert type(ours) is (np.ndarray if is_array else type(theirs))
    ours, theirs = numpy.asarray(ours), numpy.asarray(theirs)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert ours.strides == theirs.strides or 1 in ours.shape or not ours.size


def assert_near(ours: Any, theirs: Any) -> None:
    """Compare all that describes a result, and its values."""
    assert_alike(ours, theirs)
    ours, theirs = numpy.asarray(ours), numpy.asarray(theirs)
    if theirs.dtype.kind not in "fc":
        numpy.testing.assert_array_equal(ours, theirs)
        return
    size = max(theirs.shape[-2:], default=1)
    bound = BOUND * size * numpy.finfo(theirs.dtype).eps * abs(theirs).max(initial=0)
    numpy.testing.assert_allclose(ours, theirs, rtol=0, atol=bound)


def assert_orthogonal(vectors: Any) -> None:
    found = conjugate(vectors) @ vectors
    n, eps = vectors.shape[-2], numpy.finfo(vectors.dtype).eps
    ones = numpy.broadcast_to(numpy.eye(found.shape[-1]), found.shape)
    numpy.testing.assert_allclose(found, ones, rtol=0, atol=BOUND * n * eps)


# -- Values ---------------------------------------------------------------------------

UNIQUE: dict[str, tuple[Callable[..., Any], list[int]]] = {
    "inv": (lambda xp, a: xp.linalg.inv(a), [0]),
    "det": (lambda xp, a: xp.linalg.det(a), [0]),
    "slogdet": (lambda xp, a: xp.linalg.slogdet(a), [0]),
    "det of turned rows": (lambda xp, a: xp.linalg.det(a[..., ::-1, :]), [0]),
    "inv of turned rows": (lambda xp, a: xp.linalg.inv(a[..., ::-1, :]), [0]),
    "solve": (lambda xp, a: xp.linalg.solve(a, a[..., ::2] + 1), [0]),
    "solve for a column": (lambda xp, a: xp.linalg.solve(a, b=a[..., :1]), [0]),
    "solve one vector": (lambda xp, a: xp.linalg.solve(a, a[(0,) * (a.ndim - 1)]), [0]),
    "matrix_power": (lambda xp, a: xp.linalg.matrix_power(a, -2), [0]),
    "cholesky": (lambda xp, a: xp.linalg.cholesky(a), [1]),
    "cholesky upper": (lambda xp, a: xp.linalg.cholesky(a, upper=True), [1]),
    "eigvalsh": (lambda xp, a: xp.linalg.eigvalsh(a), [4]),
    "eigvalsh upper": (lambda xp, a: xp.linalg.eigvalsh(a, "u"), [4]),
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "turned": lambda a: a.swapaxes(-1, -2),
    "reversed": lambda a: a[..., ::-1, ::-1],
    "computed": lambda a: a * 2 + a,
}


def check(name: str, a: Any, calls: list[int], view: Callable[[Any], Any]) -> None:
    """Compare a function of a view with NumPy's."""
    compute, kinds = UNIQUE[name]
    theirs = compute(numpy, view(a))
    x = np.array(a)
    ours = compute(np, view(x))
    assert calls == kinds
    if name == "slogdet":
        assert type(ours).__name__ == type(theirs).__name__ == "SlogdetResult"
        for one, other in zip(ours, theirs, strict=True):
            assert_near(one, other)
    else:
        assert_near(ours, theirs)
    numpy.testing.assert_array_equal(x, a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES, ids=str)
@pytest.mark.parametrize("name", UNIQUE)
def test_square_matrices(name: str, shape: Any, dtype: str, calls: list[int]) -> None:
    check(name, numbers(dtype, *shape), calls, lambda a: a)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", UNIQUE)
def test_views(name: str, view: str, calls: list[int]) -> None:
    check(name, numbers("complex128", 2, 5, 5), calls, VIEWS[view])


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_one_side_for_a_stack(dtype: str, calls: list[int]) -> None:
    a, b = numbers(dtype, 4, 4), numbers(dtype, 3, 2, 4, 3)
    ours = np.linalg.solve(np.array(a), np.array(b))
    assert_near(ours, numpy.linalg.solve(a, b))
    a, b = numbers(dtype, 3, 1, 4, 4), numbers(dtype, 2, 4, 3)
    assert_near(np.linalg.solve(np.array(a), np.array(b)), numpy.linalg.solve(a, b))
    assert calls == [0, 0]


# -- Vectors --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES, ids=str)
@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigenvectors(triangle: str, shape: Any, dtype: str, calls: list[int]) -> None:
    a = numbers(dtype, *shape)
    theirs = numpy.linalg.eigh(a, triangle)
    ours = np.linalg.eigh(np.array(a), triangle)
    assert calls == [4]
    assert type(ours) is type(theirs)
    assert_near(ours.eigenvalues, theirs.eigenvalues)
    assert_alike(ours.eigenvectors, theirs.eigenvectors)
    values, vectors = map(numpy.asarray, ours)
    assert_orthogonal(vectors)
    part = numpy.tril(a, -1) if triangle == "L" else numpy.triu(a, 1)
    whole = part + conjugate(part) + numpy.eye(shape[-1]) * a.real
    eps = BOUND * shape[-1] * numpy.finfo(vectors.dtype).eps
    numpy.testing.assert_allclose(
        whole @ vectors, vectors * values[..., None, :], atol=eps * abs(values).max()
    )


def assert_factors(factors: Any, a: Any) -> None:
    """Assert that singular vectors are orthogonal, and that the factors' product is `a`."""
    u, s, vh = map(numpy.asarray, factors)
    assert_orthogonal(u)
    assert_orthogonal(conjugate(vh))
    k = s.shape[-1]
    product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
    eps = BOUND * max(a.shape[-2:]) * numpy.finfo(u.dtype).eps
    numpy.testing.assert_allclose(product, a, rtol=0, atol=eps * s.max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES + OTHERS, ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_singular_vectors(full: bool, shape: Any, dtype: str, calls: list[int]) -> None:
    a = numbers(dtype, *shape)
    theirs = numpy.linalg.svd(a, full_matrices=full)
    ours = np.linalg.svd(np.array(a), full_matrices=full)
    assert calls == [linear._SVD_POLAR]
    assert type(ours) is type(theirs)
    assert_alike(ours.U, theirs.U)
    assert_near(ours.S, theirs.S)
    assert_alike(ours.Vh, theirs.Vh)
    assert_factors(ours, a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6, 6), (7, 4), (2, 4, 7)], ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_singular_vectors_without_full_rank(
    full: bool, shape: Any, dtype: str, calls: list[int]
) -> None:
    a = numbers(dtype, *shape)
    a[..., 1, :] = a[..., 0, :]
    a[..., 2] = a[..., 3]
    found = np.linalg.svd(np.array(a), full_matrices=full)
    assert calls == [linear._SVD_POLAR, linear._SVD]
    assert_near(found.S, numpy.linalg.svd(a)[1])
    assert_factors(found, a)
    x, b = np.array(a), np.array(a[..., :1])
    assert np.linalg.matrix_rank(x).tolist() == numpy.linalg.matrix_rank(a).tolist()
    assert_near(np.linalg.pinv(x, 1e-5), numpy.linalg.pinv(a, 1e-5))
    if a.ndim == 2:
        assert_near(np.linalg.lstsq(x, b)[0], numpy.linalg.lstsq(a, a[..., :1])[0])


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_vectors_of_a_hermitian_matrix(dtype: str, calls: list[int]) -> None:
    a = numbers(dtype, 6, 6)
    a = a + conjugate(a) - 40 * numpy.eye(6, dtype=dtype)
    ours = np.linalg.svd(np.array(a), hermitian=True)
    assert calls == [4]
    theirs = numpy.linalg.svd(a, hermitian=True)
    assert_near(ours.S, theirs.S)
    u, s, vh = map(numpy.asarray, ours)
    numpy.testing.assert_allclose((u * s) @ vh, a, atol=1e-4)
    x = np.array(a)
    assert_near(np.linalg.svdvals(x), numpy.linalg.svdvals(a))
    assert_near(np.linalg.pinv(x, hermitian=True), numpy.linalg.pinv(a, hermitian=True))
    assert calls == [4, linear._SVD_POLAR, 4]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES + OTHERS, ids=str)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
def test_qr(mode: str, shape: Any, dtype: str, calls: list[int]) -> None:
    """The reflectors are LAPACK's, and so are the signs."""
    a = numbers(dtype, *shape)
    theirs = numpy.linalg.qr(a, mode)
    x = np.array(a)
    ours = np.linalg.qr(x, mode=mode)
    numpy.testing.assert_array_equal(x, a)
    assert calls == ([2] if mode in ("r", "raw") else [2, 3])
    if mode == "r":
        assert_near(ours, theirs)
        return
    assert type(ours) is type(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert_near(one, other)


# -- What consists of them ------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int32"])
@pytest.mark.parametrize("shape", [(6, 6), (9, 4), (4, 9), (3, 5, 2)], ids=str)
@pytest.mark.parametrize(
    "compute",
    [
        lambda xp, a: xp.linalg.svd(a, compute_uv=False),
        lambda xp, a: xp.linalg.svdvals(a),
        lambda xp, a: xp.linalg.cond(a),
        lambda xp, a: xp.linalg.cond(a, -2),
        lambda xp, a: xp.linalg.matrix_rank(a),
        lambda xp, a: xp.linalg.matrix_rank(a, tol=18.0),
        lambda xp, a: xp.linalg.pinv(a),
        lambda xp, a: xp.linalg.pinv(a, 0.5),
    ],
    ids=["svd", "svdvals", "cond", "cond -2", "rank", "rank tol", "pinv", "pinv rcond"],
)
def test_compositions(
    compute: Callable[..., Any], shape: Any, dtype: str, calls: list[int]
) -> None:
    a = numbers(dtype, *shape)
    ours = compute(np, np.array(a))
    assert calls == [linear._SVD_POLAR]
    assert_near(ours, compute(numpy, a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6, 6), (9, 4), (4, 9)], ids=str)
@pytest.mark.parametrize("rcond", [None, -1, 0.75, 2])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_least_squares(
    columns: Any, rcond: Any, shape: Any, dtype: str, calls: list[int]
) -> None:
    a, b = numbers(dtype, *shape), numbers(dtype, shape[0], 3, seed=1)
    b = b if columns else b[:, 0].copy()
    ours = np.linalg.lstsq(np.array(a), np.array(b), rcond=rcond)
    theirs = numpy.linalg.lstsq(a, b, rcond=rcond)
    assert calls == [linear._SVD_POLAR]
    assert type(ours[2]) is type(theirs[2])
    assert ours[2] == theirs[2]
    for i in (0, 1, 3):
        assert_near(ours[i], theirs[i])


@pytest.mark.parametrize("p", [1, "fro", numpy.inf])
def test_condition_of_a_singular_matrix(p: Any) -> None:
    a = numbers("float64", 2, 4, 4)
    a[1] = 1
    ours = np.linalg.cond(np.array(a), p)
    assert_near(ours[:1], numpy.linalg.cond(a, p)[:1])
    assert ours[1] == numpy.inf


# -- Errors ---------------------------------------------------------------------------

INDEFINITE = numpy.diag([1.0, 2.0, -3.0])
NAN = numpy.full((6, 6), numpy.nan)


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, a: xp.linalg.inv(xp.ones((3, 3))),
        lambda xp, a: xp.linalg.inv(xp.zeros((2, 3, 3))),
        lambda xp, a: xp.linalg.solve(xp.ones((3, 3)), xp.ones(3)),
        lambda xp, a: xp.linalg.matrix_power(xp.ones((3, 3)), -1),
        lambda xp, a: xp.linalg.cholesky(xp.array(INDEFINITE)),
        lambda xp, a: xp.linalg.cholesky(xp.stack([xp.eye(3), -xp.eye(3)])),
        lambda xp, a: xp.linalg.eigvalsh(xp.array(NAN)),
        lambda xp, a: xp.linalg.svd(xp.array(NAN)),
        lambda xp, a: xp.linalg.inv(a),
        lambda xp, a: xp.linalg.inv(a[0]),
        lambda xp, a: xp.linalg.det(a),
        lambda xp, a: xp.linalg.cholesky(a),
        lambda xp, a: xp.linalg.eigh(a),
        lambda xp, a: xp.linalg.eigh(a[:, :6], "K"),
        lambda xp, a: xp.linalg.eigh(a[:, :6], 3),
        lambda xp, a: xp.linalg.qr(a, "unknown"),
        lambda xp, a: xp.linalg.qr(a, []),
        lambda xp, a: xp.linalg.qr(a[0]),
        lambda xp, a: xp.linalg.svd(a[0]),
        lambda xp, a: xp.linalg.svd(a, unknown=True),
        lambda xp, a: xp.linalg.solve(a, a),
        lambda xp, a: xp.linalg.solve(a[:, :6], a[:5]),
        lambda xp, a: xp.linalg.solve(a[:, :6], a[0]),
        lambda xp, a: xp.linalg.solve(a[:, :6]),
        lambda xp, a: xp.linalg.solve(xp.ones((2, 3, 3)), xp.ones((3, 3, 1))),
        lambda xp, a: xp.linalg.lstsq(a, a[:5]),
        lambda xp, a: xp.linalg.lstsq(a, a, rcond="warn"),
        lambda xp, a: xp.linalg.pinv(a, 1, rtol=1),
        lambda xp, a: xp.linalg.cond(a, 1),
        lambda xp, a: xp.linalg.inv(a[:, :6].astype("float16")),
        lambda xp, a: xp.linalg.matrix_power(a[:, :6], 0.5),
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


@pytest.mark.parametrize(
    "compute",
    [
        lambda xp, a: xp.linalg.det(a * 0),
        lambda xp, a: xp.linalg.det(a[:0, :0]),
        lambda xp, a: xp.linalg.slogdet(xp.stack([a, a * 0 + 1])),
        lambda xp, a: xp.linalg.inv(a * xp.nan),
        lambda xp, a: xp.linalg.inv(a.astype(">f8")),
        lambda xp, a: xp.linalg.inv(a.astype("longdouble").astype("float64")),
        lambda xp, a: xp.linalg.qr(a * xp.inf, "r"),
        lambda xp, a: xp.linalg.lstsq(a * 0, a)[0],
        lambda xp, a: xp.linalg.matrix_rank(a[0]),
        lambda xp, a: xp.linalg.matrix_rank(a * 0),
        lambda xp, a: xp.linalg.pinv(a[:, :0]),
        lambda xp, a: xp.linalg.solve(a, a[:, :0]),
    ],
)
def test_unusual_operands(compute: Callable[..., Any]) -> None:
    a = numbers("float64", 6, 6)
    with numpy.errstate(all="ignore"):
        theirs = compute(numpy, a)
        ours = compute(np, np.array(a))
    pairs = (
        zip(ours, theirs, strict=True) if type(theirs) is tuple else [(ours, theirs)]
    )
    for one, other in pairs:
        numpy.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.filterwarnings("error::DeprecationWarning")
def test_numpy_warns_of_old_modes() -> None:
    with pytest.raises(DeprecationWarning, match="economic"):
        np.linalg.qr(np.array(numbers("float64", 6, 6)), "economic")


def test_an_error_of_an_earlier_operation_is_raised_once() -> None:
    x, places = np.array(numbers("float64", 6, 6)), np.arange(9) + 1
    y = x.reshape(-1)[places * 4]
    with pytest.raises(IndexError):
        np.linalg.inv(x)
    numpy.testing.assert_allclose(np.linalg.inv(x) @ x, numpy.eye(6), atol=1e-12)
    with pytest.raises(IndexError):
        numpy.asarray(y)


def test_small_matrices_are_numpys(
    monkeypatch: pytest.MonkeyPatch, calls: list[int]
) -> None:
    monkeypatch.setattr(linear, "_LEAST", 7)
    a = numbers("float64", 50, 6, 6)
    numpy.testing.assert_array_equal(np.linalg.inv(np.array(a)), numpy.linalg.inv(a))
    assert not calls
    with np.device("cpu"):
        np.linalg.svd(np.array(a))
    assert not calls


def test_verified_functions() -> None:
    a = numbers("float64", 6, 6)
    with np.verify():
        for compute, _ in UNIQUE.values():
            compute(np, np.array(a))
        np.linalg.svd(np.array(a[:4]))
        np.linalg.eigh(np.array(a))
        np.linalg.qr(np.array(a), "complete")


# -- A device that fails --------------------------------------------------------------

FAILING = [
    ("inv", "cusolverDnXgetrf"),
    ("inv", "cusolverDnXgetrs"),
    ("inv", "cusolverDnXgetrf_bufferSize"),
    ("cholesky", "cusolverDnXpotrf"),
    ("qr", "cusolverDnXgeqrf"),
    ("qr", "cusolverDnDorgqr"),
    ("eigvalsh", "cusolverDnXsyevd"),
    ("svdvals", "cusolverDnXgesvdp"),
]


@pytest.mark.parametrize(("name", "function"), FAILING)
def test_if_the_library_fails_numpy_computes(
    name: str, function: str, library: Any, calls: list[int]
) -> None:
    a = numbers("float64", 6, 6)
    x = np.array(a) + 1
    library.cuda_standin_fail(function.encode(), ctypes.c_long(0), 7)
    ours = getattr(np.linalg, name)(x)
    theirs = getattr(numpy.linalg, name)(a + 1)
    assert calls == ([2] if function == "cusolverDnDorgqr" else [])
    for one, other in zip(ours, theirs, strict=True):
        numpy.testing.assert_array_equal(one, other)
    np.synchronize()
    numpy.testing.assert_array_equal(x, a + 1)
    getattr(np.linalg, name)(x)
    assert calls


def test_without_memory_numpy_computes(library: Any, calls: list[int]) -> None:
    a = numpy.random.default_rng(0).random((200, 200))
    x, y = np.array(a) + 1, np.array(a) * 2
    np.synchronize()
    np.clear_cache()
    try:
        library.cuda_standin_limit(ctypes.c_long(400_000))
        ours = np.linalg.inv(x)
        assert not calls
        numpy.testing.assert_array_equal(ours, numpy.linalg.inv(a + 1))
        assert float((y + 1).sum()) == pytest.approx(float((a * 2 + 1).sum()))
    finally:
        library.cuda_standin_limit(ctypes.c_long(-1))
    numpy.testing.assert_allclose(np.linalg.inv(x) @ x, numpy.eye(200), atol=1e-9)
    assert calls == [0]


def test_matrices_stay_on_the_device() -> None:
    from mxnp._engine import core

    x = np.array(numbers("float64", 200, 200)) + 1
    np.synchronize()
    before = core.gpu_counts()
    y = np.linalg.inv(x)
    np.linalg.slogdet(y)
    np.linalg.cholesky(x @ x.T)
    q, _ = np.linalg.qr(y)
    z = np.linalg.eigh(q)[1] @ x
    np.synchronize()
    after = core.gpu_counts()
    assert after["bytes_in"] - before["bytes_in"] < 200 * 50
    assert after["bytes_out"] - before["bytes_out"] < 200 * 50
    assert z.shape == (200, 200)


PROGRAM = textwrap.dedent(
    """
    import ctypes, os
    import numpy
    import mxnp as np
    from mxnp._gpu import linear

    linear._LEAST = 0
    library = ctypes.CDLL(os.environ["MXNP_CUDA_STAND_IN"])
    library.cuda_standin_fail(os.environ["FAILS"].encode(), ctypes.c_long(0), 3)
    a = numpy.arange(400.0).reshape(20, 20) % 7 + 9 * numpy.eye(20)
    for _ in range(2):
        assert numpy.allclose(np.linalg.inv(np.array(a)), numpy.linalg.inv(a))
    names = (b"cusolverDnCreate", b"cusolverDnXgetrf")
    print(*(library.cuda_standin_count(name) for name in names))
    """
)


@pytest.mark.parametrize(
    ("without", "fails", "calls", "line"),
    [
        ("", "-", "1 2", "cuBLAS 13.0, cuFFT 12.0, cuSOLVER 12.0"),
        (
            "cusolver",
            "-",
            "0 0",
            "cuBLAS 13.0, cuFFT 12.0, no cuSOLVER (pip install '.[cuda]')",
        ),
        ("", "cusolverDnCreate", "1 0", ""),
        ("", "cusolverDnSetStream", "1 0", ""),
        ("", "cusolverDnCreateParams", "1 0", ""),
    ],
)
def test_missing_libraries(without: str, fails: str, calls: str, line: str) -> None:
    check_missing_libraries(PROGRAM, without, fails, calls, line)


def test_threshold() -> None:
    """A view of few elements is factored by NumPy, whatever its base is."""
    _bridge.set_threshold(1000)
    a = numbers("float64", 40, 40)
    x = np.array(a)
    numpy.testing.assert_array_equal(
        np.linalg.inv(x[:5, :5]), numpy.linalg.inv(a[:5, :5])
    )
    numpy.testing.assert_allclose(np.linalg.inv(x), numpy.linalg.inv(a), rtol=1e-12)
