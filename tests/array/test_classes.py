"""Test NumPy's classes that take or return arrays."""

import abc
import collections.abc
import ctypes
import weakref
from pathlib import Path
from typing import Any

import numpy
import pytest

import mxnp


def test_broadcast_of_arrays_and_broadcasts(xp: Any) -> Any:
    a, b = xp.ones((3, 1)), xp.arange(4)
    both = xp.broadcast(a, xp.broadcast(b, 2.0))
    assert both.iters[0].base is a
    assert both.iters[1].base is b
    assert isinstance(both, xp.broadcast)
    first = next(both)
    index = both.index
    rest = len(list(both))
    both.reset()
    return [
        first,
        index,
        rest,
        both.index,
        both.shape,
        both.ndim,
        both.nd,
        both.numiter,
    ]


@pytest.mark.parametrize("dtype", [
    "f8", ">i4", "S3", "U2", "V5", "M8[s]", "O",
    [("a", "i1"), ("b", "f8", (2,)), ("t", "M8[D]")],
    numpy.dtype({"names": ["A", "B"], "formats": ["f4", "f4"], "offsets": [0, 8],
                 "itemsize": 16}),
    numpy.dtype([("a", "b"), ("b", "i"), ("c", "b")], align=True),
], ids=str)  # fmt: skip
def test_numpy_sees_the_very_dtype_and_memory(dtype: Any) -> None:
    a = mxnp.zeros((2, 6), dtype)[:, ::2]
    host = numpy.asarray(a)
    assert type(host) is numpy.ndarray
    assert host.dtype == a.dtype
    assert host.dtype.isalignedstruct == a.dtype.isalignedstruct
    assert (host.shape, host.strides) == (a.shape, a.strides)
    assert numpy.shares_memory(host, a)
    assert host.flags.writeable
    assert a.__array_interface__["typestr"] == host.__array_interface__["typestr"]


@pytest.mark.parametrize(
    "dtype", [object, "O", "object", numpy.dtype(object)], ids=repr
)
def test_arrays_in_a_list_become_objects_as_they_are(dtype: Any) -> None:
    items = [mxnp.zeros(3), mxnp.zeros((1, 3))]
    made = mxnp.array(items, dtype=dtype)
    assert made[0] is items[0]
    assert mxnp.array(items, dtype)[1] is items[1]


def test_subclasses_of_numpy_write_to_arrays(xp: Any) -> Any:
    masked = xp.ma.array(xp.arange(6.0).reshape(2, 3), mask=[[0, 1, 0], [0, 0, 0]])
    out = xp.zeros((2, 3))
    assert masked.cumsum(0, out=out) is out
    assert masked.round(1, out=out) is out
    return out


WITH_OUT = {
    "argmax": lambda x, out: x.argmax(0, out=out((4,), int)),
    "argmin": lambda x, out: x.argmin(0, out((4,), int)),
    "choose": lambda x, out: x.astype(int).choose([*range(12)], out=out((3, 4), int)),
    "compress": lambda x, out: x.compress([1, 0, 1], 0, out=out((2, 4))),
    "cumprod": lambda x, out: x.cumprod(0, out=out((3, 4))),
    "cumsum": lambda x, out: x.cumsum(0, None, out((3, 4))),
    "dot": lambda x, out: x.dot(x.T, out=out((3, 3))),
    "round": lambda x, out: x.round(1, out=out((3, 4))),
    "take": lambda x, out: x.take([[0, 1]], out=out((1, 2))),
    "trace": lambda x, out: x.trace(out=out(())),
}


@pytest.mark.parametrize("kind", ["memmap", "recarray"])
@pytest.mark.parametrize("name", WITH_OUT)
def test_inherited_methods_write_to_arrays(
    xp: Any, name: str, kind: str, tmp_path: Path
) -> Any:
    a = xp.arange(12.0).reshape(3, 4)
    if kind == "memmap":
        x = xp.memmap(tmp_path / "file", float, "w+", shape=(3, 4))
        x[:] = a
    else:
        x = a.view(getattr(xp, kind))
    outs = []

    def out(*args: Any) -> Any:
        outs.append(xp.zeros(*args))
        return outs[-1]

    assert WITH_OUT[name](x, out) is outs[0]
    return outs[0]


@pytest.mark.filterwarnings("ignore:The chararray class is deprecated")
def test_text_with_arrays(xp: Any) -> Any:
    text = xp.array(["%d", "%s"]).view(xp.char.chararray)
    return (text % xp.array([3, 7])).tolist()


def test_ctypes_holds_the_array() -> None:
    a = mxnp.arange(3.0)
    seen = weakref.ref(a)
    pointer = a.ctypes.data_as(ctypes.c_void_p)
    del a
    assert seen() is not None
    del pointer
    assert seen() is None


def test_pointers_take_arrays(xp: Any) -> Any:
    kind = xp.ctypeslib.ndpointer(dtype=float, ndim=1)
    assert kind.from_param(xp.ones(2)).shape[:] == [2]
    with pytest.raises(TypeError) as error:
        kind.from_param(xp.ones(2, int))
    return str(error.value)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_names_in_the_caller_are_seen(xp: Any) -> Any:
    a = xp.array([[1, 2]])
    return [xp.r_["a; a"], xp.r_[1:3, a[0]], xp.mgrid[0:2, 0:2], len(a)]


def test_functions_that_call_back_see_arrays(xp: Any) -> Any:
    kinds = []

    def total(x: Any) -> Any:
        kinds.append(type(x) is xp.ndarray)
        return x.sum()

    sums = xp.apply_along_axis(total, 0, xp.ones((3, 2)))
    again = xp.apply_along_axis(func1d=total, axis=0, arr=xp.ones((3, 2)))
    assert all(kinds)
    return [sums, again, xp.fromfunction(lambda i, j: i + j, (2, 2))]


def test_seed_sequences_give_arrays(xp: Any) -> Any:
    class Zeros(xp.random.bit_generator.ISeedSequence):  # type: ignore[misc, name-defined]
        def generate_state(self, n_words: int, dtype: Any = numpy.uint32) -> Any:
            return xp.zeros(n_words, dtype)

    return [
        xp.random.default_rng(Zeros()).random(3),
        xp.random.Generator(xp.random.Philox(Zeros())).random(3),
    ]


class Counting(type):
    """A metaclass of the program."""

    def __new__(mcls, name: str, bases: Any, namespace: Any) -> Any:
        return super().__new__(mcls, name, bases, {**namespace, "n": len(bases)})


class Plain(type):
    """A metaclass without methods."""


def _by_statement(xp: Any) -> Any:
    class Made(xp.ndarray, metaclass=abc.ABCMeta):
        pass

    return Made


def _with_a_mixin(xp: Any) -> Any:
    class Made(xp.ndarray, collections.abc.Hashable):
        __hash__ = object.__hash__

    return Made


def _with_an_override(xp: Any) -> Any:
    class Made(xp.ndarray, metaclass=Counting):
        def __array_ufunc__(
            self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any
        ) -> Any:
            plain = [xp.asarray(x).view(xp.ndarray) for x in inputs]
            return super().__array_ufunc__(ufunc, method, *plain, **kwargs) * 10

    return Made


@pytest.mark.parametrize(
    "derive",
    [
        _by_statement,
        _with_a_mixin,
        _with_an_override,
        lambda xp: Counting("Made", (xp.ndarray,), {}),
        lambda xp: Plain("Made", (xp.ndarray,), {"n": 3}),
        lambda xp: type("Made", (xp.ndarray, collections.abc.Sized), {}),
        lambda xp: abc.ABCMeta("Made", (xp.ndarray,), {}),
    ],
)
def test_classes_with_a_metaclass(xp: Any, derive: Any) -> Any:
    made = derive(xp)
    x = xp.arange(3.0).view(made)
    y = x + xp.ones(3)
    assert isinstance(x, xp.ndarray)
    assert issubclass(made, xp.ndarray)
    names = type(made).__name__, type(y).__name__, type(x[1:]).__name__
    return names, xp.asarray(y), getattr(made, "n", None), x.sum()


@pytest.mark.parametrize("cls", [numpy.recarray, numpy.memmap, numpy.matrix])
def test_other_bases_of_a_subclass_have_their_own_view(cls: type) -> None:
    class Named(mxnp.ndarray):  # type: ignore[misc]
        def view(self, *args: Any, **kwargs: Any) -> str:
            return "a name"

    assert type("Made", (cls, Named), {}).view is Named.view  # type: ignore[attr-defined]
