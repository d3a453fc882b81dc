"""Test recorded forms of functions that create evenly spaced numbers and grids."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.lanes import ON_CUDA

import mxnp
from mxnp import _bridge

N = 700
CALLS: dict[str, Callable[[Any], Any]] = {
    "floats": lambda np: np.linspace(10.0, 50.0, N),
    "a number by name": lambda np: np.linspace(10.0, 50.0, num=N),
    "a huge number by name": lambda np: np.linspace(0, 1, num=10**400),
    "integers": lambda np: np.linspace(1, 7, N),
    "backwards": lambda np: np.linspace(5.0, -12.3, N),
    "a NumPy scalar": lambda np: np.linspace(np.float64(0.1), np.int64(9), N),
    "without the end": lambda np: np.linspace(0, 1, N, endpoint=False),
    "with the step": lambda np: np.linspace(0.1, 9.7, N, retstep=True),
    "float32": lambda np: np.linspace(0, 12.0, N, dtype=np.float32),
    "float16": lambda np: np.linspace(0, 1e6, N, dtype="f2"),
    "int32": lambda np: np.linspace(-7, 12.5, N, dtype="i4"),
    "uint8": lambda np: np.linspace(0.5, 255.9, N, dtype="u1"),
    "bool": lambda np: np.linspace(0, 1, N, dtype=bool),
    "complex": lambda np: np.linspace(0, 1j, N),
    "complex dtype": lambda np: np.linspace(0, 1, N, dtype="c8"),
    "big-endian": lambda np: np.linspace(0, 1, N, dtype=">f8"),
    "a float32 scalar": lambda np: np.linspace(np.float32(0.1), np.float32(7), N),
    "arrays": lambda np: np.linspace([0.0, 1.0], [2.0, 3.0], N, axis=1),
    "no distance": lambda np: np.linspace(5.0, 5.0, N),
    "subnormal": lambda np: np.linspace(0, 5e-324, N),
    "overflow": lambda np: np.linspace(-1e308, 1e308, N),
    "infinite": lambda np: np.linspace(0, np.inf, N),
    "large integers": lambda np: np.linspace(2**60, 2**62, N),
    "huge integers": lambda np: np.linspace(0, 2**70, N),
    "negative number": lambda np: np.linspace(0, 1, -5),
    "float number": lambda np: np.linspace(0, 1, 700.0),
    "no argument": lambda np: np.linspace(0),
    "wrong keyword": lambda np: np.linspace(0, 1, N, step=3),
    "logspace": lambda np: np.logspace(-3, 3, N),
    "logspace of base 2": lambda np: np.logspace(-3, 3, N, base=2),
    "logspace of float32": lambda np: np.logspace(-3, 3, N, dtype="f4"),
    "logspace, overflow": lambda np: np.logspace(0, 400, N),
    "logspace of the same dtype": lambda np: np.logspace(-3, 3, N, dtype="f8"),
    "logspace of big-endian": lambda np: np.logspace(-3, 3, N, dtype=">f8"),
    "logspace of a wrong dtype": lambda np: np.logspace(-3, 3, N, dtype="wrong"),
    "geomspace": lambda np: np.geomspace(1, 1000, N),
    "geomspace without the end": lambda np: np.geomspace(-2, -900.5, N, False),
    "geomspace of float32": lambda np: np.geomspace(1, 1000, N, dtype="f4"),
    "geomspace of complex": lambda np: np.geomspace(1j, 1000j, N),
    "indices": lambda np: np.indices((70, 80)),
    "indices of float32": lambda np: np.indices([6, 14, 15], dtype="f4"),
    "sparse indices": lambda np: np.indices((30, 40), sparse=True),
    "indices of nothing": lambda np: np.indices((0, 40)),
    "mgrid of numbers": lambda np: np.mgrid[0:1:30j, 0:2:40j],
    "mgrid of integers": lambda np: np.mgrid[0:30, 5:85:2],
    "mgrid of both": lambda np: np.mgrid[-1.5:3:0.1, 5:65],
    "mgrid from 0.0": lambda np: np.mgrid[0.0:30, 5:65],
    "mgrid to infinity": lambda np: np.mgrid[0 : np.inf, 5:65],
    "mgrid of NaN": lambda np: np.mgrid[0 : np.nan : 40j, 5:65],
    "mgrid of three axes": lambda np: np.mgrid[:6, 1:15, -3:17],
    "mgrid of one step": lambda np: np.mgrid[0:1:1j, 0:2:900j],
    "mgrid backwards": lambda np: np.mgrid[30:0:-1, 5:65],
    "mgrid of one axis": lambda np: np.mgrid[0:1:900j],
    "mgrid without a stop": lambda np: np.mgrid[0:, 5:65],
    "mgrid of nothing": lambda np: np.mgrid[0:0, 5:965],
    "mgrid with no step": lambda np: np.mgrid[0:30:0, 5:65],
    "small mgrid": lambda np: np.mgrid[0:3, 1:9:2, -2:0],
    "small mgrid of numbers": lambda np: np.mgrid[0:1:5j, -0.0:3:0.5, 2.5:0:-1],
    "small mgrid of large integers": lambda np: np.mgrid[2**62 : 2**62 + 3, 0:2],
    "small mgrid of huge integers": lambda np: np.mgrid[2**63 : 2**63 + 3, 0:2],
    "ogrid": lambda np: np.ogrid[0:1:30j, 0:2:40j],
    "meshgrid": lambda np: np.meshgrid(np.arange(30.0), np.arange(40)),
    "meshgrid, ij": lambda np: np.meshgrid(
        np.arange(3.0), np.arange(14), np.arange(15.0), indexing="ij"
    ),
    "meshgrid of three": lambda np: np.meshgrid(
        np.arange(6.0), np.arange(14), np.arange(15) > 3
    ),
    "sparse meshgrid": lambda np: np.meshgrid(
        np.arange(30.0), np.arange(40), sparse=True
    ),
    "meshgrid of a matrix": lambda np: np.meshgrid(np.ones((5, 6)), np.arange(40)),
    "meshgrid, wrong": lambda np: np.meshgrid(np.ones(30), np.ones(40), indexing="x"),
    "outer": lambda np: np.outer(np.arange(30.0), np.arange(40)),
    "outer of matrices": lambda np: np.outer(np.ones((5, 6)).T, np.arange(40) * 1j),
    "tri": lambda np: np.tri(30, 40, 3),
    "tri of bool": lambda np: np.tri(400, dtype=bool),
    "tri of int8, below": lambda np: np.tri(30, 20, -4, dtype="i1"),
    "tri beyond": lambda np: np.tri(30, 20, 90),
    "tri of a float": lambda np: np.tri(30.5),
    "tril": lambda np: np.tril(np.ones((30, 40)) * 2, -4),
    "triu": lambda np: np.triu(np.ones((3, 30, 40), "f4") * 2, 4),
    "triu of a transposed array": lambda np: np.triu(np.ones((30, 40), "i8").T),
    "triu of complex": lambda np: np.triu(np.ones((30, 30)) * 2j, -3),
    "triu of a row": lambda np: np.triu(np.ones(900)),
    "triu of a float": lambda np: np.triu(np.ones((30, 30)), 1.5),
}


@pytest.fixture(autouse=True)
def recorded() -> Any:
    before = _bridge.set_threshold(100)
    mxnp.synchronize()
    yield
    _bridge.set_threshold(before)


def found(call: Callable[[Any], Any], np: Any) -> Any:
    """Return what a call returns, raises and warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(np)
        except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
            return type(error), str(error)
        arrays = result if isinstance(result, tuple | list) else [result]
        described = [
            (a.dtype, a.shape, a.strides, a.flags.owndata, numpy.asarray(a).tobytes())
            for a in arrays
        ]
    texts = sorted({str(each.message) for each in caught})
    return type(result) if len(arrays) > 1 else None, described, texts


@pytest.mark.parametrize("name", CALLS)
def test_bits_errors_and_warnings(name: str) -> None:
    # Powers on a GPU have other bits.
    has_powers = name.startswith(("logspace", "geomspace"))
    device = "cpu" if ON_CUDA and has_powers else mxnp.get_device()
    with mxnp.device(device):
        assert found(CALLS[name], mxnp) == found(CALLS[name], numpy)


RECORDED = {
    "floats": 5,
    "a number by name": 5,
    "without the end": 3,
    "logspace": 6,
    "logspace of the same dtype": 6,
    "indices": 2,
    "mgrid of numbers": 2,
    "meshgrid": 2,
    "outer": 1,
    "tri of bool": 1,
}


@pytest.mark.parametrize("name", RECORDED)
def test_large_calls_are_recorded(name: str) -> None:
    for _ in range(2):  # sometimes the result of an operation is computed immediately
        x = mxnp.ones(10_000) + 1
        x += x * x
        mxnp.synchronize()
        result = CALLS[name](mxnp)
        if _bridge.pending() >= RECORDED[name]:
            break
    assert _bridge.pending() >= RECORDED[name]
    del result, x


def test_an_overflow_of_logspace_is_raised() -> None:
    with mxnp.errstate(all="raise"), pytest.raises(FloatingPointError):
        float(mxnp.logspace(0, 400, N).sum())
