"""
Test that Fourier transforms on several threads are NumPy's.

cuFFT has other bits, and NumPy's bits on arm64 depend on the other rows. These transforms
are compared within a bound.
"""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any

import numpy
import pytest
from support.lanes import ON_CUDA, ON_X86

import mxnp
from mxnp._numpy_layer import divided
from mxnp._verify import tolerances

SHAPES = [(200, 1200), (2400, 120), (3, 70_000), (70, 40, 81), (2, 3, 40_000)]
NAMES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
OF_AXES = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]


@pytest.fixture(autouse=True)
def _three_threads() -> Any:
    before = mxnp.set_num_threads(3)
    yield
    mxnp.set_num_threads(before)


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    random = numpy.random.default_rng(3)
    found = random.standard_normal(shape)
    if dtype.startswith("c"):
        found = found + 1j * random.standard_normal(shape)
    return found.astype(dtype)


def assert_same(mine: Any, numpys: Any) -> None:
    assert type(mine) is mxnp.ndarray
    found = numpy.asarray(mine)
    assert (found.dtype, found.shape, found.strides) == (
        numpys.dtype,
        numpys.shape,
        numpys.strides,
    )
    if ON_CUDA or not ON_X86:
        bound = tolerances.TRANSFORM * numpy.finfo(numpys.dtype).eps
        assert (abs(found - numpys) <= bound * abs(numpys).max()).all()
    else:
        assert found.tobytes() == numpys.tobytes()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "complex64", "complex128", "int64"]
)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_transforms_along_an_axis_have_numpys_bits(
    shape: tuple[int, ...], dtype: str
) -> None:
    theirs = numbers(shape, dtype)
    mine = mxnp.asarray(theirs).copy()
    for name in NAMES:
        if name in ("rfft", "ihfft") and dtype.startswith("c"):
            continue  # NumPy discards the imaginary part, with a warning
        for axis in range(theirs.ndim):
            for options in ({}, {"n": 50}, {"norm": "ortho"}):
                numpys = getattr(numpy.fft, name)(theirs, axis=axis, **options)
                assert_same(getattr(mxnp.fft, name)(mine, axis=axis, **options), numpys)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_transforms_along_several_axes_have_numpys_bits(shape: tuple[int, ...]) -> None:
    theirs = numbers(shape, "float64")
    for view in (lambda x: x, lambda x: x.T, lambda x: x[::-1, ::2], lambda x: x + 1):
        for name in OF_AXES:
            if name.startswith("rfft") or not name.startswith("i"):
                numpys = getattr(numpy.fft, name)(view(theirs))
                assert_same(
                    getattr(mxnp.fft, name)(view(mxnp.asarray(theirs).copy())), numpys
                )


@pytest.mark.skipif(ON_CUDA, reason="cuFFT transforms them")
def test_transforms_are_divided_among_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x = mxnp.asarray(numbers((1200, 600), "float64")).copy()
    seen = set()
    waiting = threading.Barrier(3, timeout=500)
    run = divided.run_pieces

    def recorded(work: Any, n: int, pieces: int) -> Any:
        def wait(part: slice) -> Any:
            seen.add(threading.get_ident())
            waiting.wait()
            return work(part)

        return run(wait, n, pieces)

    monkeypatch.setattr(divided, "run_pieces", recorded)
    assert_same(mxnp.fft.rfft(x), numpy.fft.rfft(numpy.asarray(x)))
    assert len(seen) == 3
    assert threading.get_ident() in seen


@pytest.mark.skipif(ON_CUDA, reason="transforms on a GPU issue no warnings")
def test_conditions_are_reported_as_by_numpy() -> None:
    theirs = numbers((600, 600), "float64")
    theirs[3, 5] = numpy.inf
    mine = mxnp.asarray(theirs).copy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = numpy.asarray(mxnp.fft.fft(mine))
    with warnings.catch_warnings(record=True) as numpys:
        warnings.simplefilter("always")
        numpy.fft.fft(theirs)
    assert [(str(w.message), w.filename, w.lineno) for w in caught] == [
        (str(w.message), w.filename, w.lineno) for w in numpys
    ]
    with numpy.errstate(all="ignore"):
        if ON_X86:
            numpy.testing.assert_array_equal(found, numpy.fft.fft(theirs))
            assert_same(mxnp.fft.fft(mine), numpy.fft.fft(theirs))
    with mxnp.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        mxnp.fft.fft(mine)


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: np.fft.fft(x, axis=2),
        lambda np, x: np.fft.fft(x, out=x[:5]),
        lambda np, x: np.fft.fft(x, n=0),
        lambda np, x: np.fft.fft(x, norm="none"),
        lambda np, x: np.fft.fft(x, 5, 6, None, None, 7),
        lambda np, x: np.fft.fftn(x, axes=(0, 3)),
        lambda np, x: np.fft.fft(x, out=np.empty((2, 2))),
    ],
)
def test_errors_are_numpys(call: Any) -> None:
    theirs = numbers((200, 600), "float64")
    with pytest.raises((ValueError, TypeError, IndexError)) as numpys:
        call(numpy, theirs)
    with pytest.raises(numpys.type) as mine:
        call(mxnp, mxnp.asarray(theirs).copy())
    assert str(mine.value) == str(numpys.value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(ON_CUDA, reason="the processor of the child has other bits")
def test_transforms_in_a_forked_process() -> None:
    x = mxnp.asarray(numbers((200, 600), "float64")).copy()
    expected = numpy.asarray(mxnp.fft.fft(x)).tobytes()
    child = os.fork()
    if child == 0:
        os._exit(numpy.asarray(mxnp.fft.fft(x)).tobytes() != expected)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
