"""Test determinants, inverses and solutions of small matrices, which have kernels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.constants import constant

import mxnp

SIDE = constant("cpu/kernels/factoring_kernels.h", "MX_MOST_FACTORED")
LANES = constant("cpu/kernels/factoring_kernels.c", "LANES")
CHUNK = constant("cpu/kernels/factoring.c", "CHUNK")

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "det": lambda xp, a: xp.linalg.det(a),
    "inv": lambda xp, a: xp.linalg.inv(a),
    "solve": lambda xp, a: xp.linalg.solve(a, a[..., :1]),
    "solve a vector": lambda xp, a: xp.linalg.solve(a, a[(0,) * (a.ndim - 1)]),
    "solve columns": lambda xp, a: xp.linalg.solve(a, a),
}


def matrices(kind: str, *shape: int) -> Any:
    """Return matrices of numbers, of which many are equal if they are integers."""
    rng = numpy.random.default_rng(11)
    if kind == "integers":
        return rng.integers(-3, 4, shape) + 9.0 * numpy.eye(shape[-1])[::-1]
    scale = 10.0 ** rng.integers(-4, 4, shape[:-1])[..., None]
    return rng.standard_normal(shape) * scale


def found(xp: Any, call: str, a: Any) -> Any:
    """Return the result, its type and layout, and the warnings, or the error."""
    x = a if xp is numpy else xp.array(a, order="K")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with numpy.errstate(all="warn"):
                out = CALLS[call](xp, x)
        except (numpy.linalg.LinAlgError, ValueError) as error:
            return type(error).__name__, str(error)
    texts = [(w.category, str(w.message)) for w in caught]
    strides = numpy.asarray(out).strides if out.size else None
    layout = out.shape, out.dtype, strides
    return type(out).__name__, layout, out.tobytes(), texts


@pytest.mark.parametrize("kind", ["numbers", "integers"])
@pytest.mark.parametrize("n", [1, LANES - 1, LANES, LANES + 1, 40])
@pytest.mark.parametrize("side", [*range(1, SIDE + 2)])
@pytest.mark.parametrize("call", CALLS)
def test_bits_of_small_matrices(call: str, side: int, n: int, kind: str) -> None:
    a = matrices(kind, n, side, side)
    turned = numpy.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2)
    for x in (a, turned, a[0], turned[0], a[None], a[::-1], a[::2], a[..., ::-1]):
        assert found(mxnp, call, x) == found(numpy, call, x)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 1, 20_000])
@pytest.mark.parametrize("call", ["det", "inv", "solve"])
def test_stacks_of_many_matrices(call: str, n: int, threads: int) -> None:
    before = mxnp.get_num_threads()
    mxnp.set_num_threads(threads)
    try:
        a = matrices("numbers", n, 3, 3)
        assert found(mxnp, call, a) == found(numpy, call, a)
    finally:
        mxnp.set_num_threads(before)


@pytest.mark.parametrize("place", [0, 4, 8])
@pytest.mark.parametrize(
    "value", ["nan", "inf", "-inf", "1e-310", "1e308", "0", "-0.0"]
)
@pytest.mark.parametrize("call", CALLS)
def test_values_that_lapack_treats_otherwise(call: str, value: str, place: int) -> None:
    a = numpy.diag([3.0, 2.0, 7.0])[[1, 0, 2]] * numpy.ones((2, 1, 1))
    a[1].flat[place] = float(value)
    for x in (a, a[1]):
        assert found(mxnp, call, x) == found(numpy, call, x)


@pytest.mark.parametrize("call", CALLS)
def test_singular_matrices(call: str) -> None:
    a = numpy.arange(27.0).reshape(3, 3, 3)
    zeros = numpy.zeros((3, 2, 2))
    for x in (a, a[0], zeros, zeros[0], numpy.ones((4, 3, 3)), a[:, :2]):
        assert found(mxnp, call, x) == found(numpy, call, x)


@pytest.mark.parametrize("dtype", ["f4", "c16", "i8", "?", "O", ">f8", "f2"])
@pytest.mark.parametrize("call", ["det", "inv", "solve"])
def test_other_dtypes(call: str, dtype: str) -> None:
    a = matrices("integers", 3, 2, 2).astype(dtype)

    def compute(xp: Any, x: Any) -> Any:
        try:
            out = CALLS[call](xp, x)
        except (numpy.linalg.LinAlgError, TypeError, ValueError) as error:
            return type(error), str(error)
        return out.dtype, out.tobytes()

    assert compute(mxnp, mxnp.array(a)) == compute(numpy, a)


@pytest.mark.parametrize("is_one", [False, True])
def test_right_hand_sides_that_are_not_direct(is_one: bool) -> None:
    a = matrices("numbers", 4, 3, 3)
    place: Any = 0 if is_one else ...
    sides = [a[0, 0], a[0, 0, :2], a[:, :, :2], a[:2, :, :1], a[0, :, :1], 1.0]
    for b in [*sides, [1, 2, 3]]:
        outcomes = []
        for xp, left in ((numpy, a[place]), (mxnp, mxnp.array(a[place]))):
            right = xp.array(b) if isinstance(b, numpy.ndarray) else b
            try:
                outcomes.append(xp.linalg.solve(left, right).tobytes())
            except (numpy.linalg.LinAlgError, ValueError) as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


def test_matrices_that_wait() -> None:
    a = matrices("numbers", 5000, 3, 3)
    x = mxnp.array(a)
    assert mxnp.linalg.inv(x * 2).tobytes() == numpy.linalg.inv(a * 2).tobytes()
    expected = numpy.linalg.solve(a + 1, a[..., :1] * 2).tobytes()
    assert mxnp.linalg.solve(x + 1, x[..., :1] * 2).tobytes() == expected
    x += 1
    assert mxnp.linalg.det(x).tobytes() == numpy.linalg.det(a + 1).tobytes()
