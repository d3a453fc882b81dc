"""Test arrays that are arguments other than operands, such as shapes, while deferred."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy
import pytest

import mxnp


def deferred(xp: ModuleType, *values: int) -> Any:
    """Return a small array whose elements are still to be computed."""
    x = (xp.ones((20_000, len(values)), xp.int64) * xp.array(values) + 0).max(axis=0)
    assert xp is not mxnp or mxnp._bridge.pending()
    return x


CALLS = {
    (3, 4): """
np.zeros(x)
np.ones(x)
np.full(x, 7)
np.full(3, x[0])
np.full((5, 2), x)
np.reshape(np.arange(12), x)
np.arange(12).reshape(x)
np.arange(12).reshape(x[0], x[1])
(np.ones((20_000, 12)) * 2).max(axis=0).reshape(x)
np.broadcast_to(np.arange(4), x)
np.ndarray(shape=x).shape
np.ndarray(x).shape
np.random.RandomState(0).random_sample(x)
np.random.default_rng(0).normal(size=x)
np.random.default_rng(0).integers(0, 9, size=x)
np.resize(np.arange(3), x)
np.zeros_like(np.zeros(3), shape=x)
np.indices(x)
np.eye(x[0], x[1])
np.pad(np.arange(3), x)
np.unravel_index(3, x)
list(np.ndindex(*x))
np.lib.stride_tricks.as_strided(np.arange(16), x, (8, 8))
""",
    (1, 0): """
np.transpose(np.zeros((2, 3)), x)
np.zeros((2, 3)).transpose(x)
np.zeros((2, 3)).transpose(x[0], x[1])
(np.ones((200, 300)) * 2).transpose(x)
np.sum(np.ones((200, 300)), axis=x[0])
np.sum(np.ones((2, 3)), axis=x)
np.moveaxis(np.zeros((2, 3, 4)), x, [0, 2])
np.expand_dims(np.zeros(3), x)
np.rot90(np.arange(4).reshape(2, 2), 1, x)
np.roll(np.arange(12).reshape(3, 4), (1, 2), x)
np.linalg.norm(np.eye(3), axis=x)
np.packbits(np.ones(9, bool), axis=x[1])
""",
    (3, 7): """
np.arange(10)[slice(x[0], x[1])]
np.arange(10)[x]
list(range(x[0], x[1]))
np.arange(x[0], x[1])
np.linspace(0, 1, x[0])
np.split(np.arange(9), x)
np.repeat(np.arange(2), x)
np.tile(np.arange(3), x)
np.histogram(np.arange(9.0), x[0])
np.histogram(np.arange(40_000.0), 3, range=x)
np.dtype(("f8", x)).shape
np.dtype([("a", "i1", x)]).fields["a"][0].shape
np.dtype({"names": ["a"], "formats": [("f8", x)]}).itemsize
np.bincount(np.arange(3), minlength=x[0])
np.fft.fft(np.arange(4.0), x[0])
np.frombuffer(x, np.int64)
memoryview(x).tolist()
x[0] in np.arange(9)
[1] * x[0]
""",
}


@pytest.mark.parametrize(
    ("values", "call"),
    [
        (values, call)
        for values, all in CALLS.items()
        for call in all.split("\n")
        if call
    ],
)
def test_arrays_are_computed_before_numpy_reads_them(
    xp: ModuleType, values: tuple[int, ...], call: str
) -> Any:
    try:
        return eval(call, {"np": xp, "x": deferred(xp, *values)})
    except TypeError as error:  # NumPy refuses some arrays, too
        return str(error)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_attributes_are_set_to_computed_arrays(xp: ModuleType) -> Any:
    x = deferred(xp, 3, 4)
    shaped = xp.arange(12.0)
    shaped.shape = x
    strided = xp.arange(12.0).reshape(3, 4)
    strided.strides = deferred(xp, 8, 8)
    parts = xp.zeros(2, complex)
    parts.real = deferred(xp, 3, 4)
    parts.imag = deferred(xp, 5, 6)
    flat = xp.zeros(2)
    flat.flat = deferred(xp, 3, 4)
    read_only = xp.zeros(3)
    read_only.flags.writeable = deferred(xp, 0)[0]
    return shaped, strided, parts, flat, read_only


@pytest.mark.parametrize(
    "call",
    [
        "np.dtype(x)",
        "np.zeros(3, dtype=x)",
        "np.zeros(40_000, dtype=x)",
        "np.zeros(3).astype(x)",
        "np.zeros(40_000).astype(x)",
        "np.zeros(3).view(x)",
        "np.sum(np.zeros(400_000), dtype=x)",
        "setattr(np.zeros(3), 'dtype', x)",
    ],
)
def test_an_array_is_no_dtype(xp: ModuleType, call: str) -> Any:
    with pytest.raises((TypeError, ValueError)) as caught:
        eval(call, {"np": xp, "x": deferred(xp, 3, 4)})
    return str(caught.value)


def test_the_refusal_to_be_a_dtype_is_no_member() -> None:
    assert "__numpy_dtype__" not in dir(mxnp.zeros(3))
    assert numpy.dtype(mxnp.ndarray) == numpy.dtype(numpy.ndarray)
