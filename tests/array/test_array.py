"""Test the array object: memory, views, attributes, methods, printing and protocols.

Each test is a body over `xp` that runs on numpy and on mxnp. The values that it returns
are compared to the last bit (see conftest.py). Bodies run over every dtype and every
layout, unless they test a particular one.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import gc
import importlib
import io
import operator
import pickle
import re
import sys
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.constants import constant
from support.lanes import ON_GPU

import mxnp

# Warnings are compared in tests/array/test_errors.py.
pytestmark = pytest.mark.filterwarnings("ignore")

Library = types.ModuleType

# -- dtypes and layouts --------------------------------------------------------------

REAL = ["f2", "f4", "f8", "g"]
COMPLEX = ["F", "D", "G"]
INTEGER = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
NUMBERS = [*INTEGER, *REAL, *COMPLEX]
SWAPPED = [">f8", ">i4"]
DATES = ["M8[D]", "m8[s]"]
STRINGS = ["S3", "U3"]
STRUCTURED = [("x", "i4"), ("y", "f8", (2,))]
DTYPES: list[Any] = ["?", *NUMBERS, *SWAPPED, *DATES, *STRINGS, "T", STRUCTURED, "O"]
PADDED = ["g", "G"]  # padding bytes have undefined values
NAMES = {str(STRUCTURED): "structured", "T": "StringDType", "O": "object"}


def named(dtype: Any) -> str:
    """Return the name of a dtype for the id of a test."""
    return NAMES.get(str(dtype), str(dtype))


def make(xp: Library, dtype: Any = "f8", shape: Any = (3, 4)) -> Any:
    """Return an array of a dtype, in C order, with distinct values."""
    return xp.array(values(numpy.dtype(dtype), shape))


@functools.cache  # both libraries get the same bytes, padding included
def values(dtype: numpy.dtype[Any], shape: Any) -> numpy.ndarray:
    """Return the values of `make`."""
    numbers = numpy.arange(int(numpy.prod(shape))).reshape(shape) % 7
    if dtype.names:
        records = numpy.zeros(shape, dtype)
        records["x"], records["y"] = numbers, numbers[..., None] / 2
        return records
    if dtype.kind == "c":
        return (numbers - 1.5j * numbers).astype(dtype)
    if dtype.kind == "O":
        return numpy.array(numbers, dtype=object)
    return (numbers % 2 if dtype.kind == "b" else numbers).astype(dtype)


LAYOUTS: dict[str, Callable[[Library, Any], Any]] = {
    "contiguous": make,
    "transposed": lambda xp, dtype: make(xp, dtype).T,
    "F order": lambda xp, dtype: make(xp, dtype).copy(order="F"),
    "negative step": lambda xp, dtype: make(xp, dtype)[::-1, ::-1],
    "strided": lambda xp, dtype: make(xp, dtype)[::2, 1::2],
    "broadcast": lambda xp, dtype: xp.broadcast_to(make(xp, dtype, (4,)), (3, 4)),
    "0-d": lambda xp, dtype: make(xp, dtype, ()),
    "empty": lambda xp, dtype: make(xp, dtype, (0, 4)),
    "read-only": lambda xp, dtype: frozen(make(xp, dtype)),
    "axis moved": lambda xp, dtype: xp.moveaxis(make(xp, dtype, (2, 3, 4)), 0, 1),
    "one element": lambda xp, dtype: make(xp, dtype, (1, 1)),
}


def frozen(array: Any) -> Any:
    """Return the array after making it read-only."""
    array.flags.writeable = False
    return array


def overlapping(xp: Library, dtype: Any) -> Any:
    """Return an array whose rows share most of their memory."""
    if dtype == "T":  # NumPy's as_strided does not take StringDType
        return make(xp, dtype, (3, 4))
    base = make(xp, dtype, (6,))
    step = base.strides[0]
    return xp.lib.stride_tricks.as_strided(base, (3, 4), (step, step))


LAYOUTS["overlapping"] = overlapping
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=named)
every_number = pytest.mark.parametrize("dtype", NUMBERS)
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))


def outcome(action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result of an action, or the class and text of its exception."""
    try:
        return action(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)


def each(source: str) -> Any:
    """Parametrise a test over expressions, one per line, whose names NumPy has."""
    lines = [line.strip() for line in source.strip().splitlines()]
    return pytest.mark.parametrize(
        "expression",
        [
            line
            for line in lines
            if all(map(is_known, re.findall(r"\bnp\.[\w.]+", line)))
        ],
    )


def is_known(name: str) -> bool:
    """Return whether this NumPy has a name such as ``np.strings.partition`` without a
    deprecation warning.
    """
    try:
        operator.attrgetter(name.removeprefix("np."))(numpy)
    except (AttributeError, DeprecationWarning):
        return False
    return True


# -- views ---------------------------------------------------------------------------

VIEWS = """
a[:]
a[1:]
a[::-1]
a[::2, ::-2]
a[..., None]
a[None, :, None]
a[1]
a[:, 1]
a[...]
a[()]
a[1:1]
a.T
a.mT
a.real
a.imag
a.reshape(-1)
a.reshape(4, 3)
a.reshape(2, 2, 3)
a.reshape(4, 3, order="F")
a.ravel()
a.ravel("K")
a.flatten()
a.view()
a.transpose(1, 0)
a.swapaxes(0, 1)
a.squeeze()
a.diagonal()
a.astype(a.dtype, copy=False)
np.asarray(a)
np.asanyarray(a)
np.ascontiguousarray(a)
np.asfortranarray(a)
np.array(a, copy=None)
np.array(a)
np.atleast_3d(a)
np.broadcast_to(a, (2, *a.shape))
np.broadcast_arrays(a, np.ones((5, *a.shape)))
np.expand_dims(a, 0)
np.moveaxis(a, 0, -1)
np.rollaxis(a, 1)
np.squeeze(a)
np.flip(a)
np.rot90(a)
np.split(a, 2, axis=1)
np.array_split(a, 2)
np.unstack(a)
np.diag(a)
np.diagonal(a, 1)
np.real(a)
np.imag(a)
np.reshape(a, (2, -1))
np.lib.stride_tricks.as_strided(a, (2, 2), a.strides)
np.lib.stride_tricks.sliding_window_view(a, (2, 2))
np.matrix_transpose(a)
np.linalg.diagonal(a)
np.einsum("ij->ji", a)
np.require(a, requirements="C")
memoryview(a)
np.frombuffer(a, dtype=a.dtype)
np.from_dlpack(a)
copy.copy(a)
"""

DTYPES_OF_VIEWS = ["f8", "D", "u1", "M8[D]", "S3", "O", STRUCTURED]


@each(VIEWS)
@pytest.mark.parametrize("dtype", DTYPES_OF_VIEWS, ids=named)
def test_views_share_memory(xp: Library, dtype: Any, expression: str) -> Any:
    """Check that views see each other's writes exactly as in NumPy."""
    a = make(xp, dtype)
    names = {"np": xp, "a": a, "memoryview": memoryview, "copy": copy}
    view = outcome(eval, expression, names)
    if isinstance(view, memoryview):
        return view.format, view.shape, view.strides, view.readonly, view.tobytes()
    parts = view if isinstance(view, tuple | list) else [view]
    shared = [isinstance(part, type(a)) and xp.shares_memory(a, part) for part in parts]
    before = copy.deepcopy(view)
    for part in parts:
        if isinstance(part, type(a)) and part.flags.writeable:
            outcome(operator.setitem, part, ..., make(xp, dtype, ()))
    return before, view, shared, a


@each(VIEWS)
def test_base(xp: Library, expression: str) -> Any:
    a = make(xp)
    view = outcome(eval, expression, {"np": xp, "a": a, "copy": copy})
    if isinstance(view, memoryview):
        return view.obj is a
    parts = view if isinstance(view, tuple | list) else [view]
    arrays = [part for part in parts if isinstance(part, type(a))]
    return [
        (part is a, part.base is None, part.base is a, part.flags.owndata)
        for part in arrays
    ]


def test_base_of_a_view_of_a_view(xp: Library) -> Any:
    a = make(xp)
    row = a[1:]
    again = row[:, ::2].T
    return again.base is a, row.base is a, again.base, type(again.base) is type(a)


def test_base_keeps_memory_alive(xp: Library) -> Any:
    view = make(xp, "f8", (1000,))[::100]
    gc.collect()
    noise = [make(xp, "f8", (1000,)) for _ in range(10)]
    return view, len(noise)


def test_view_of_a_buffer(xp: Library) -> Any:
    memory = bytearray(range(32))
    a = xp.frombuffer(memory, dtype="u2", offset=4, count=10)
    a[0] = 0xFFFF
    array = xp.ndarray((2, 2), "u2", memory, offset=2, strides=(8, 2), order="F")
    array[1, 1] = 0x1234
    return a, array, bytes(memory), array.base is memory, type(a.base).__name__


# -- indexing ------------------------------------------------------------------------

INDICES = """
0
-1
1, 2
1, -2
slice(None)
slice(1, None)
slice(None, None, -1)
slice(5, 1, -2)
(slice(None), 1)
(slice(1, 3), slice(None, None, 2))
...
(..., 0)
None
(None, 1, None)
()
[0, 2]
[[0, 1], [2, 0]]
([0, 1], [2, 0])
([[0], [2]], [1, 3])
(slice(None), [3, 0, 0])
([0, 2], slice(None, None, -1))
(0, [1, 2])
np.array([2, 0])
np.array(1)
np.array(1), 2
np.array([], dtype=int)
np.int8(2)
np.uint64(1)
True
False
(True, 1)
[True, False, True]
np.array([True, False, True])
np.arange(12).reshape(3, 4) % 3 == 0
(slice(None), np.array([True, False, True, False]))
np.ix_([0, 2], [1, 3])
np.s_[1:, ::2]
np.nonzero(np.eye(3, 4))
(np.array([0, 1]), None, np.array([1, 2]))
a.argmax()
1.0
"a"
9
"""


@each(INDICES)
@pytest.mark.parametrize("dtype", ["f8", "?", "U3", STRUCTURED, "O"], ids=named)
def test_get(xp: Library, dtype: Any, expression: str) -> Any:
    a = make(xp, dtype)
    index = outcome(eval, expression, {"np": xp, "a": a})
    return outcome(operator.getitem, a, index), outcome(operator.getitem, a.T, index)


@each(INDICES)
@pytest.mark.parametrize("dtype", ["f4", "i8", "D", "S3", "M8[D]", "T"], ids=named)
def test_set(xp: Library, dtype: Any, expression: str) -> Any:
    a = make(xp, dtype)
    index = outcome(eval, expression, {"np": xp, "a": a})
    value = make(xp, dtype, (5,))[3]
    values = make(xp, dtype, (4,))
    return [
        (outcome(operator.setitem, array, index, new), array)
        for array in (a, make(xp, dtype)[::-1], make(xp, dtype).T)
        for new in (value, values, values.tolist())
    ]


@pytest.mark.parametrize("size", [4, 30_000])
def test_keys_of_many_items(xp: Library, size: int) -> Any:
    a = xp.arange(2.0 * size).reshape(2, size)
    found = []
    for n in range(3 * constant("base/limits.h", "MX_MAX_NDIM")):
        for key in ((1,), (slice(1, None),), (0, xp.arange(size)[::-2])):
            new = (None,) * n
            a[(*new, *key)] += 1
            found += [a[(*new, *key)][..., :9], a[(*key[:1], *new, *key[1:])][..., :9]]
    return found, a


@pytest.mark.parametrize("shift", [-3, -1, 0, 1, 2])
@pytest.mark.parametrize("step", [1, -1])
def test_assignment_from_the_same_memory(xp: Library, shift: int, step: int) -> Any:
    a = make(xp, "f8", (10,))
    a[3:7] = a[3 + shift : 7 + shift][::step]
    b = make(xp, "f8", (5, 5))
    b[1:4, 1:4] = b[1 + shift % 2 : 4 + shift % 2, :3].T[::step]
    c = make(xp, "i4", (6,))
    c[:] = c[::-1]
    d = make(xp, "i4", (6,))
    d[[0, 1, 2]] = d[[2, 1, 0]]
    return a, b, c, d


def test_repeated_indices(xp: Library) -> Any:
    a = xp.zeros(4)
    a[[1, 1, 2]] += 1
    a[[3, 3]] = 5, 6
    b = xp.zeros(4)
    xp.add.at(b, [1, 1, 2], 1)
    return a, b


# -- operators and ufuncs ------------------------------------------------------------

BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_",
          "xor", "lshift", "rshift", "matmul", "eq", "ne", "lt", "le", "gt",
          "ge"]  # fmt: skip
UNARY = ["neg", "pos", "abs", "invert", "index", "not_", "truth"]


@every_dtype
@pytest.mark.parametrize("name", BINARY)
def test_operators(xp: Library, dtype: Any, name: str) -> Any:
    operate = getattr(operator, name)
    a, b = make(xp, dtype), make(xp, dtype)[::-1]
    scalar = make(xp, dtype, (3,))[2]
    if dtype == STRUCTURED:
        scalar = a[0]  # NumPy compares records by its own arrays
    return [
        outcome(operate, left, right)
        for left, right in [(a, b), (a, a.T), (a, 2), (2, a), (a, 1.5), (a, scalar),
                            (scalar, a), (a, a[0]), (a, [1, 2, 3, 4]), (a[0], b),
                            (a[:0], a[:0]), (a, a[:, :1]), (a, numpy.ones(4))]
    ]  # fmt: skip


@every_dtype
@every_layout
def test_unary_operators(xp: Library, dtype: Any, layout: Any) -> Any:
    a = layout(xp, dtype)
    return [outcome(getattr(operator, name), a) for name in UNARY]


@pytest.mark.any_last_bit
@every_dtype
@pytest.mark.parametrize("name", [name.strip("_") for name in BINARY[:13]])
def test_in_place_operators_keep_identity(xp: Library, dtype: Any, name: str) -> Any:
    operate = getattr(operator, f"i{name}")
    found = []
    for other in (1, 1.5, make(xp, dtype)[::-1], make(xp, dtype)[0], make(xp, "i1")):
        for layout in ("contiguous", "transposed", "negative step", "read-only"):
            a = LAYOUTS[layout](xp, dtype)
            turned = layout == "transposed" and numpy.ndim(other) > 0
            result = outcome(operate, a, other.T if turned else other)
            found.append((result is a, result, a))
    return found


def test_in_place_on_views_shows_in_the_base(xp: Library) -> Any:
    a = make(xp)
    alias = a
    a[1:] += a[:-1]
    a.T[0] *= 2
    a[::2][:, 1] -= 1
    alias += 1
    a += a.T.T
    a[...] **= 2
    return a, alias is a


UFUNCS = """
np.add(a, 1)
np.add(a, a, out=out)
np.add(a, a, out)
np.add(a, 1, out=(out,))
np.add(a, 1, out=a)
np.add(a, 1, where=mask, out=out)
np.add(a, 1, where=mask[0], out=out)
np.add(a, 1, dtype="f4")
np.add(a, 1, dtype=complex)
np.add(a, 1, casting="unsafe", dtype="i2")
np.add(a, 1, casting="unsafe", out=np.zeros((3, 4), "i2"))
np.add(a, 1, order="F")
np.add(a.T, 1, order="C")
np.add(a, 1, signature="ff->f", casting="same_kind")
np.add(a, 1, subok=False)
np.add(a, a[0], out=out.T.T)
np.add(1, 2)
np.add(a[0, 0], 1)
np.add(1, 2, out=np.array(0))
np.add(a, 1, out=np.zeros((2, 3, 4)))
np.add(a[1:], a[:-1], out=a[1:])
np.add(a[:-1], a[1:], out=a[1:])
np.add(a[:, ::-1], a, out=a)
np.multiply(a[:3, :3], a[:3, :3].T, out=a[:3, :3])
np.subtract(a, a.mean(), out=a)
np.maximum(a, 2)
np.divmod(a, 2)
np.divmod(a, 2, out=(out, None))
np.divmod(a, 2, out=(out, np.zeros((3, 4))))
np.modf(a / 2)
np.frexp(a)
np.sqrt(a, out=out[::-1])
np.exp(a, where=mask, out=np.ones((3, 4)))
np.matmul(a, a.T)
np.matmul(a, a.T, out=np.zeros((3, 3)))
np.matmul(a, a[0])
np.matmul(a[:, :3], a[:, :3], axes=[(0, 1), (1, 0), (0, 1)])
np.vecdot(a, a)
np.add.reduce(a)
np.add.reduce(a, axis=None)
np.add.reduce(a, axis=1, keepdims=True)
np.add.reduce(a, axis=(0, 1), initial=3, where=mask)
np.add.reduce(a, out=out[0])
np.add.reduce(a, axis=1, dtype="f4")
np.add.reduce(a, axis=())
np.maximum.reduce(a, initial=2.0)
np.multiply.accumulate(a, axis=1)
np.add.accumulate(a, out=a)
np.add.reduceat(a, [0, 2, 1], axis=1)
np.add.outer(a[0], a[1])
np.subtract.outer(a, [1, 2])
np.logical_and.reduce(mask)
np.add.at(a, ([0, 0], [1, 1]), 2)
np.negative.at(a, [0])
np.add.resolve_dtypes((np.dtype("f4"), np.dtype("i8"), None))
np.add.types
np.add.nin, np.add.nout, np.add.nargs, np.add.ntypes, np.add.identity
np.matmul.signature
np.isfinite(a)
np.frompyfunc(lambda p: p + 1, 1, 1)(a)
np.frompyfunc(lambda p: (p, p), 1, 2)(a)
np.vectorize(lambda p: p + 1)(a)
np.vectorize(lambda p: p.sum(), signature="(n)->()")(a)
np.clip(a, 1, 2, out=a)
np.where(mask, a, 0)
np.where(mask)
np.copyto(a, 0, where=mask)
np.sum(a, where=mask)
np.power(a, 2)
np.equal(a, a).all()
"""


@each(UFUNCS)
def test_ufuncs(xp: Library, expression: str) -> Any:
    a = make(xp)
    names = {"np": xp, "a": a, "out": xp.full((3, 4), 9.0), "mask": a % 3 == 0}
    result = eval(expression, names)
    out = names["out"]
    identity = [result is array for array in (a, out)]
    return result, identity, a, out


@pytest.mark.parametrize("x1", NUMBERS)
def test_promotion(xp: Library, x1: str) -> Any:
    a = make(xp, x1)
    others: list[Any] = [make(xp, x2) for x2 in NUMBERS]
    others += [1, 1.0, 1j, True, xp.float32(1), xp.int8(1), xp.array(1.0)]
    return [outcome(xp.add, a, other) for other in others]


# -- attributes ----------------------------------------------------------------------

ATTRIBUTES = ["shape", "strides", "ndim", "size", "itemsize", "nbytes", "dtype", "T",
              "real", "imag", "mT"]  # fmt: skip
if not ON_GPU:
    ATTRIBUTES.append("device")
FLAGS = ["C", "F", "W", "A", "X", "FNC", "FORC", "BEHAVED", "CARRAY", "FARRAY",
         "C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "ALIGNED", "OWNDATA",
         "WRITEBACKIFCOPY", "CONTIGUOUS", "FORTRAN"]  # fmt: skip


@every_dtype
@every_layout
def test_attributes(xp: Library, dtype: Any, layout: Any) -> Any:
    a = layout(xp, dtype)
    return [outcome(getattr, a, name) for name in ATTRIBUTES]


@every_layout
def test_flags(xp: Library, layout: Any) -> Any:
    a = layout(xp, "f8")
    named_flags = [outcome(operator.getitem, a.flags, name) for name in FLAGS]
    attributes = [outcome(getattr, a.flags, name.lower()) for name in FLAGS]
    return named_flags, attributes, repr(a.flags), a.flags.num, a.flags == a.flags


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", [True, False])
def test_settable_flags(xp: Library, name: str, value: bool) -> Any:
    a = make(xp)
    by_item = outcome(operator.setitem, a.flags, name, value)
    by_attribute = outcome(setattr, a.flags, name.lower(), value)
    return by_item, by_attribute, repr(a.flags), outcome(operator.setitem, a, 0, 1), a


def test_setflags(xp: Library) -> Any:
    a = make(xp)
    a.setflags(write=False)
    view = a[1:]
    refused = outcome(view.setflags, write=True)
    a.setflags(write=True, align=False)
    return view.flags.writeable, refused, repr(a.flags), outcome(a.setflags, uic=True)


SETTING = """
setattr(a, "shape", (4, 3))
setattr(a, "shape", -1)
setattr(a, "shape", (2, -1, 3))
setattr(a, "dtype", "i8")
setattr(a, "dtype", "f4")
setattr(a, "dtype", [("x", "f4"), ("y", "i4")])
setattr(a, "strides", (8, 32))
setattr(a, "real", 5)
setattr(a, "real", a[::-1])
setattr(a, "imag", 0)
setattr(a, "flat", 7)
setattr(a, "flat", [1, 2, 3])
setattr(a, "flat", a.T)
setattr(a, "T", a)
setattr(a, "mT", a)
setattr(a, "ndim", 3)
setattr(a, "foo", 3)
setattr(a, "data", b"")
delattr(a, "shape")
delattr(a, "dtype")
delattr(a, "strides")
delattr(a, "flat")
delattr(a, "real")
"""


@each(SETTING)
def test_settable_attributes(xp: Library, expression: str) -> Any:
    a, view = make(xp), make(xp)[::2]
    c = make(xp, "D")
    results = [
        outcome(eval, expression, {"a": array, "np": xp}) for array in (a, view, c)
    ]
    return results, a, view, c


def test_an_array_has_no_dict(xp: Library) -> Any:
    a = make(xp)
    return hasattr(a, "__dict__"), outcome(setattr, a, "x", 1), outcome(vars, a)


@every_dtype
@every_layout
def test_flat(xp: Library, dtype: Any, layout: Any) -> Any:
    a = layout(xp, dtype)
    flat = a.flat
    first = list(flat)[:3]
    return [
        first, len(flat), a.flat.index, a.flat.coords, a.flat.base is a,
        outcome(lambda: a.flat[2]), outcome(lambda: a.flat[::2]),
        outcome(lambda: a.flat[[0, -1]]), outcome(lambda: a.flat[...]),
        outcome(lambda: a.flat[a.flat == a.flat[0]]) if dtype != STRUCTURED else None,
        a.flat.copy(), xp.array(a.flat), outcome(next, a.flat),
        hasattr(a.flat, "shape"),
    ]  # fmt: skip


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided", "0-d"])
def test_flat_assignment(xp: Library, layout: str) -> Any:
    a = LAYOUTS[layout](xp, "f8")
    a.flat[0] = 10
    outcome(operator.setitem, a.flat, slice(1, None, 2), [20, 21])
    outcome(operator.setitem, a.flat, [0, -1], 5)
    flat = a.flat
    next(flat)
    return a, flat.index, flat.coords


def test_ctypes(xp: Library) -> Any:
    a = make(xp, "i4")
    pointer = a.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
    pointer[5] = 99
    void = ctypes.cast(a.ctypes, ctypes.c_void_p)
    return (
        a, list(a.ctypes.shape), list(a.ctypes.strides), void.value == a.ctypes.data,
        list(a[::-1, ::2].ctypes.strides_as(ctypes.c_long)),
        a.ctypes.data == a.__array_interface__["data"][0],
        a[1:].ctypes.data - a.ctypes.data, type(a.ctypes).__name__,
    )  # fmt: skip


def test_members_are_numpys() -> None:
    """Check that ndarray has NumPy's members, and otherwise only `_` names and `at`."""
    ours, numpys = set(dir(mxnp.ndarray)), set(dir(numpy.ndarray))
    assert numpys - ours == set()
    assert {name for name in ours - numpys if not name.startswith("_")} == {"at"}


# -- methods -------------------------------------------------------------------------

METHODS = """
a.all()
a.any(axis=0)
a.argmax()
a.argmax(axis=1, keepdims=True)
a.argmin(axis=0)
a.argpartition(1)
a.argsort()
a.argsort(axis=0, kind="stable")
a.argsort(axis=None)
a.astype("f4")
a.astype("O")
a.astype("S5")
a.astype("U5")
a.astype("i8")
a.astype("?")
a.byteswap() if a.dtype.char != "T" else None
a.choose([5, 6, 7, 8, 9, 10, 11])
a.clip(1, 3)
a.clip(min=2)
a.compress([True, False, True], axis=0)
a.conj()
a.conjugate()
a.copy()
a.cumprod()
a.cumsum(axis=1)
a.diagonal()
a.dot(a.T)
a.dot(2)
a.flatten()
a.flatten("F")
a.item(5)
a.item(1, 2)
a.item(-1)
a.max()
a.max(axis=0)
a.max(axis=(0, 1), keepdims=True)
a.mean()
a.mean(axis=1)
a.min(axis=1, initial=0)
a.nonzero()
a.prod()
a.ravel("F")
a.repeat(2)
a.repeat([1, 0, 2], axis=0)
a.reshape(2, 6)
a.reshape((6, 2), order="F")
a.round()
a.round(1)
a.searchsorted(2)
a[0].searchsorted([0, 2, 9])
a[0].searchsorted(1, side="right", sorter=[0, 1, 2, 3])
a.squeeze()
a.std()
a.std(axis=0, ddof=1)
a.var(axis=1, mean=a.mean(axis=1, keepdims=True))
a.sum()
a.sum(axis=0)
a.sum(axis=(0, 1))
a.sum(dtype="f8")
a.sum(axis=1, keepdims=True)
a.swapaxes(0, 1)
a.take([0, 5, -1])
a.take([[0, 1]], axis=1, mode="wrap")
a.tobytes()
a.tobytes("F")
a.tolist()
a.trace()
a.transpose()
a.transpose(1, 0)
a.view("u1")
a.view("i4")
a.real.getfield("u1", 0) if a.dtype.char not in "OT" else None
a.to_device("cpu")
a.__array_namespace__().__name__.partition(".")[0].replace("numpy", "mxnp")
a.__sizeof__() > a.nbytes
a.__array__()
a.__copy__()
a.__deepcopy__({})
a.__format__("")
a.__len__()
a.__contains__(3)
a.__bool__()
a.__complex__()
"""


@pytest.mark.any_last_bit
@each(METHODS)
@pytest.mark.parametrize("dtype", ["f8", "f2", "i4", "D", "?", "M8[D]", "U3", "T", "O"])
def test_methods(xp: Library, dtype: str, expression: str) -> Any:
    arrays = make(xp, dtype), make(xp, dtype)[::-1, ::-1]
    results = [outcome(eval, expression, {"a": a, "np": xp}) for a in arrays]
    if "__array__()" in expression:  # always a numpy.ndarray
        assert all(type(result) is numpy.ndarray for result in results)
        return [result.tolist() for result in results]
    return results


IN_PLACE = """
a.sort()
a.sort(axis=0)
a.sort(axis=-1, kind="stable")
a.sort(kind="heapsort")
a.partition(2)
a.partition([0, 2], axis=0)
a.fill(3)
a.fill(a[0, 1])
a.put([0, 5], [1, 2])
a.put([99], 1, mode="clip")
a.byteswap(inplace=True) if a.dtype.char != "T" else None
a.setfield(1, "u1", 0) if a.dtype.char not in "OT" else None
a.resize(12)
a.resize((2, 3))
a.resize(2, 2, refcheck=False)
a.__setitem__(0, 1)
a.__ifloordiv__(2)
a.__imatmul__(a)
np.put(a, [1], 5)
np.place(a, a == a[0, 0], a[0, 1]) if a.dtype.char != "T" else None
np.putmask(a, a == a[0, 0], a[0, 1])
np.fill_diagonal(a, 5)
np.copyto(a, a[::-1].copy())
np.random.default_rng(1).shuffle(a)
np.random.RandomState(1).shuffle(a)
np.random.shuffle(a[:0])
np.put_along_axis(a, np.zeros((3, 1), int), 7, axis=1)
"""


@each(IN_PLACE)
@pytest.mark.parametrize("dtype", ["f8", "i2", "D", "M8[D]", "S3", "T", "O"])
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided", "read-only"])
def test_methods_in_place(xp: Library, dtype: str, layout: str, expression: str) -> Any:
    a = LAYOUTS[layout](xp, dtype)
    base = a.base
    return outcome(eval, expression, {"a": a, "np": xp}), a, base


def test_sort_of_records(xp: Library) -> Any:
    a = make(xp, STRUCTURED, (8,))[::-1].copy()
    return a.argsort(order="x"), xp.sort(a, order=["x"]), a.sort(order="x"), a


@pytest.mark.parametrize("n", [8, 40_000])
@pytest.mark.parametrize("dtype", ["g", "G", "i8"])
def test_flags_after_a_change_of_the_dtype(xp: Library, n: int, dtype: str) -> Any:
    results = [xp.arange(1.0 * n) + 1, xp.zeros(n), xp.ones((1, n)) * 2]
    for x in results:
        x.dtype = dtype
    return [(x.shape, str(x.flags)) for x in results]


@pytest.mark.parametrize("refcheck", [True, False])
def test_resize_with_another_reference(xp: Library, refcheck: bool) -> Any:
    a, b, c = make(xp), make(xp), make(xp)
    view, alias = b[1:], c
    results = [
        outcome(lambda: a.resize(2, 9, refcheck=refcheck)),
        outcome(lambda: b.resize(2, 9, refcheck=refcheck)),
        outcome(lambda: view.resize(2, 9, refcheck=refcheck)),
        outcome(lambda: c.resize(2, 9, refcheck=refcheck)),
    ]
    return results, a, alias is c, c.shape, b.shape


# Objects that use the memory of an array, and the last two do not.
USERS = {
    "matrix": lambda xp, a: xp.asmatrix(a),
    "masked": lambda xp, a: xp.ma.array(a, copy=False),
    "subclass": lambda xp, a: a.view(xp.recarray),
    "windows": lambda xp, a: xp.lib.stride_tricks.sliding_window_view(a, 3),
    "from buffer": lambda xp, a: xp.ndarray((3,), "i2", a, 2),
    "text": lambda xp, a: xp.char.chararray((3,), 2, buffer=a),
    "memoryview": lambda xp, a: a.data,
    "exported": lambda xp, a: memoryview(a),
    "struct": lambda xp, a: a.__array_struct__,
    "dlpack": lambda xp, a: xp.from_dlpack(a),
    "ctypes": lambda xp, a: xp.ctypeslib.as_ctypes(a),
    "iterator": lambda xp, a: xp.nditer(a),
    "interface": lambda xp, a: a.__array_interface__,
    "none": lambda xp, a: None,
}


@pytest.mark.parametrize("n", [20, 20000])
@pytest.mark.parametrize("user", USERS)
def test_resize_while_others_use_the_memory(xp: Library, user: str, n: int) -> Any:
    a = xp.arange(n) * 2
    used = USERS[user](xp, a)
    while_used = outcome(lambda: a.resize(n + 1))
    del used
    return while_used, outcome(lambda: a.resize(n + 2)), a.shape


@pytest.mark.parametrize("refcheck", [True, False])
@pytest.mark.parametrize("shape", [(2, 9), (12,)])
def test_resize_with_a_weak_reference(
    xp: Library, shape: tuple[int, ...], refcheck: bool
) -> Any:
    a = make(xp)
    reference = weakref.ref(a)
    with_reference = outcome(lambda: a.resize(shape, refcheck=refcheck))
    kept = a.copy()
    del reference
    without = outcome(lambda: a.resize(shape, refcheck=False))
    return with_reference, kept, without, a


@pytest.mark.parametrize("size", [30_000, 45_000])
def test_a_computed_array_changes_its_size(xp: Library, size: int) -> Any:
    a = xp.arange(40_000.0) * 2
    a.resize(size, refcheck=False)
    return a


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("source", ["f8", "i4", "D", "M8[D]", "S3", "O", ">f8"])
def test_astype(xp: Library, source: str, casting: str) -> Any:
    targets = ["f8", "f4", "i8", "u1", "D", "?", "M8[s]", "m8[s]", "S3", "U9", "T", "O",
               ">f8", "f4,f4"]  # fmt: skip
    a = make(xp, source)
    return [outcome(a.astype, target, casting=casting) for target in targets]


@every_layout
@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("copied", [True, False])
def test_astype_order_and_copy(
    xp: Library, layout: Any, order: str, copied: bool
) -> Any:
    a = layout(xp, "f8")
    same = a.astype("f8", order=order, copy=copied)
    other = a.astype("f4", order=order, copy=copied, subok=False)
    return same, same is a, xp.shares_memory(same, a), other, a.copy(order=order)


@every_layout
@pytest.mark.parametrize(
    "dtype", ["u1", "f4", "D", "V8", "f4,f4", "S8", "O", "M8[s]", ">f8"]
)
def test_view_as_another_dtype(xp: Library, layout: Any, dtype: str) -> Any:
    a = layout(xp, "f8")
    view = outcome(a.view, dtype)
    shares = isinstance(view, type(a)) and xp.shares_memory(view, a)
    return view, shares, outcome(a.view, dtype, type(a)), outcome(a.view, type(a))


@every_dtype
@every_layout
def test_bytes_and_lists(xp: Library, dtype: Any, layout: Any) -> Any:
    a = layout(xp, dtype)
    whole = dtype not in ("O", "T", *PADDED)  # other bytes are pointers, or undefined
    # A subarray in a record is a numpy.ndarray, and so it is in a list.
    objects = [a.tolist, a.item, lambda: a.item(0)] if dtype != STRUCTURED else []
    return [
        [outcome(get) for get in objects],
        [outcome(a.tobytes, order) for order in "CFA"] if whole else None,
        outcome(a.byteswap) if whole else None,
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("O", "T")], ids=named)
@every_layout
def test_files(xp: Library, dtype: Any, layout: Any, tmp_path: Path) -> Any:
    a = layout(xp, dtype)
    path = tmp_path / "array.bin"
    a.tofile(path)
    from_path = xp.fromfile(path, dtype=a.dtype)
    with path.open("r+b") as file:
        part = xp.fromfile(file, dtype=a.dtype, count=2, offset=a.itemsize)
        end = file.tell()
        a.tofile(file)
    saved = tmp_path / "array.npy"
    xp.save(saved, a)
    xp.savez(tmp_path / "arrays.npz", a, named=a)
    with xp.load(tmp_path / "arrays.npz") as archive:
        loaded = {name: archive[name] for name in archive}
    return (
        from_path,
        part,
        end,
        None if dtype in PADDED else path.read_bytes(),
        xp.load(saved),
        None if dtype in PADDED else saved.read_bytes(),
        loaded,
    )


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "0-d", "empty"])
@pytest.mark.parametrize("dtype", ["f8", "i4", "?"])
def test_text_files(xp: Library, layout: str, dtype: str, tmp_path: Path) -> Any:
    a = LAYOUTS[layout](xp, dtype)
    path = tmp_path / "array.txt"
    a.tofile(path, sep=",", format="%s")
    text = io.StringIO()
    written = outcome(xp.savetxt, text, a)
    read = outcome(xp.loadtxt, io.StringIO(text.getvalue())) if a.size else None
    return path.read_text(encoding="utf-8"), written, text.getvalue(), read


# -- printing ------------------------------------------------------------------------

OPTIONS: list[dict[str, Any]] = [
    {}, {"precision": 2}, {"threshold": 3}, {"threshold": 3, "edgeitems": 1},
    {"linewidth": 20}, {"suppress": True}, {"sign": "+"}, {"floatmode": "fixed"},
    {"nanstr": "?", "infstr": "!"}, {"formatter": {"all": "<{}>".format}},
    {"legacy": "1.13"}, {"legacy": "1.25"},
]  # fmt: skip
if "override_repr" in numpy.get_printoptions():
    OPTIONS.append({"override_repr": "<{}>".format})


@every_dtype
@every_layout
def test_repr_str_format(xp: Library, dtype: Any, layout: Any) -> Any:
    a = layout(xp, dtype)
    return repr(a), str(a), outcome(format, a), outcome("{!r:>9}".format, a)


@pytest.mark.parametrize("options", OPTIONS, ids=",".join)
@pytest.mark.parametrize("dtype", ["f8", "D", "i4", "U3", STRUCTURED], ids=named)
def test_printoptions(xp: Library, options: Any, dtype: Any) -> Any:
    a, wide = make(xp, dtype) / 3 if dtype in ("f8", "D") else make(xp, dtype), None
    if dtype == "f8":
        wide = xp.array([xp.nan, xp.inf, 1e-30, 1e30])
    with xp.printoptions(**options):
        return repr(a), str(a), repr(wide), xp.array2string(a, separator=", "), f"{a}"


@pytest.mark.parametrize("spec", ["", "d", ".3f", ">10", "x"])
@pytest.mark.parametrize("dtype", ["f8", "i4", "U3", "M8[D]"])
def test_format_of_one_element(xp: Library, spec: str, dtype: str) -> Any:
    a = make(xp, dtype, (3,))
    return [outcome(format, each, spec) for each in (a[1], a[1:2], a[1, ...], a)]


# -- conversions, iteration, containment ----------------------------------------------


@pytest.mark.any_last_bit
@every_dtype
@every_layout
def test_conversions(xp: Library, dtype: Any, layout: Any) -> Any:
    a = layout(xp, dtype)
    one = a[(0,) * (a.ndim - 1)][:1] if a.size and a.ndim else a
    convert = bool, int, float, complex, operator.index, len, str, hash, round, abs
    kinds = (*convert, bytes) if dtype not in PADDED else convert
    return [outcome(kind, each) for kind in kinds for each in (a, one)]


@every_dtype
@every_layout
def test_iteration(xp: Library, dtype: Any, layout: Any) -> Any:
    a = layout(xp, dtype)
    return [
        outcome(list, a), outcome(lambda: [list(row) for row in a]), outcome(tuple, a),
        outcome(lambda: list(reversed(a))), outcome(lambda: dict(enumerate(a))),
        outcome(lambda: [x.copy() for x in xp.nditer(a, ["refs_ok"])]),
        outcome(lambda: list(xp.ndenumerate(a))),
        outcome(lambda: list(zip(a, a, strict=True))),
        outcome(iter, a) is not a,
    ]  # fmt: skip


def test_iteration_gives_views(xp: Library) -> Any:
    a = make(xp)
    for row in a:
        row += 1
    for row, other in zip(a, reversed(a), strict=True):
        row[0] = other[1]
    first, *rest = a
    first[:] = 0
    return a, rest, type(iter(a)).__name__


def test_iteration_sees_changes(xp: Library) -> Any:
    a = make(xp, "i8", (4,))
    seen = []
    for x in a:
        seen.append(x)
        a[-1] += 10
    return seen


@every_dtype
def test_containment(xp: Library, dtype: Any) -> Any:
    a = make(xp, dtype)
    values = a[1, 1], a[0], 1, "1", None, xp.nan, a[0].tolist(), b"1"
    return [outcome(operator.contains, a, value) for value in values]


@every_layout
def test_pattern_matching(xp: Library, layout: Any) -> Any:
    def matched(a: Any) -> Any:
        match a:
            case [first, *_]:  # from NumPy 2.5 on, NumPy calls len() here
                return ("sequence", first)
            case xp.ndarray(ndim=0):
                return ("scalar", a)
            case xp.ndarray(shape=(rows, *_), dtype=dtype):
                return (rows, dtype)
        return ("other", None)

    return outcome(matched, layout(xp, "i8"))


def test_classes(xp: Library) -> Any:
    a = make(xp)
    return (
        isinstance(a, xp.ndarray), isinstance(a, list), type(a) is xp.ndarray,
        issubclass(xp.ndarray, object), isinstance(numpy.ones(2), xp.ndarray),
        isinstance(xp.float64(1), xp.ndarray), isinstance(a, a.__class__), callable(a),
        xp.ndarray.__name__, xp.ndarray.__doc__ is not None,
        issubclass(xp.matrix, xp.ndarray), issubclass(xp.ma.MaskedArray, xp.ndarray),
        isinstance(xp.ma.array([1]), xp.ndarray), isinstance(xp.add, xp.ufunc),
    )  # fmt: skip


def test_generic_alias() -> None:
    alias = mxnp.ndarray[tuple[int, int], mxnp.dtype[mxnp.float64]]
    assert alias.__origin__ is mxnp.ndarray
    assert alias.__args__ == (tuple[int, int], numpy.dtype[numpy.float64])
    assert mxnp.ndarray[int, float] == mxnp.ndarray[int, float]


# -- copies and pickles --------------------------------------------------------------


@every_dtype
@every_layout
def test_copies(xp: Library, dtype: Any, layout: Any) -> Any:
    a = layout(xp, dtype)
    copies = [copy.copy(a), copy.deepcopy(a), a.copy(), xp.copy(a), a.__copy__()]
    nested = copy.deepcopy({"x": [a, a]})
    shared = (
        [xp.shares_memory(a, each) for each in copies] if a.dtype.char != "T" else None
    )
    return copies, nested["x"][0] is nested["x"][1], nested, shared


def test_deepcopy_of_objects(xp: Library) -> Any:
    inner = make(xp)
    a = xp.array([[1], {"x": inner}, None], dtype=object)
    shallow, deep = copy.copy(a), copy.deepcopy(a)
    a[0].append(2)
    inner[0] = 99
    return shallow[:1], deep, type(deep[1]["x"]) is type(inner)


@every_dtype
@every_layout
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(xp: Library, dtype: Any, layout: Any, protocol: int) -> Any:
    a = layout(xp, dtype)
    again, other = pickle.loads(pickle.dumps([a, a], protocol))
    return again, again is other, again.flags.writeable


@every_layout
def test_pickle_out_of_band(xp: Library, layout: Any) -> Any:
    a = layout(xp, "f8")
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(a, 5, buffer_callback=buffers.append)
    again = pickle.loads(data, buffers=buffers)
    shares = bool(a.size) and xp.shares_memory(a, again)
    frozen_copies = [bytes(buffer.raw()) for buffer in buffers]
    read_only = pickle.loads(data, buffers=frozen_copies)
    return again, shares, read_only, len(buffers), len(data) < 300


def test_dump_and_load(xp: Library, tmp_path: Path) -> Any:
    a = make(xp)
    a.dump(tmp_path / "array.pickle")
    file = io.BytesIO()
    a.dump(file)
    file.seek(0)
    loaded = xp.load(tmp_path / "array.pickle", allow_pickle=True)
    a.dump(newer := io.BytesIO(), protocol=5)
    protocols = newer.getvalue()[1], a.dumps(4)[1], a.dumps(protocol=0)[0], a.dumps()[1]
    return pickle.loads(a.dumps()), pickle.load(file), loaded, protocols


@pytest.mark.parametrize("name", ["r_", "c_", "mgrid", "ogrid"])
def test_index_objects_are_copied_and_pickled(xp: Library, name: str) -> Any:
    made = getattr(xp, name)
    copies = copy.copy(made), copy.deepcopy([made])[0], pickle.loads(pickle.dumps(made))
    return [(bool(each), each is made, each[0:3]) for each in (made, *copies)]


@pytest.mark.parametrize("name", ["add", "sum", "matmul", "linalg.inv"])
def test_functions_are_pickled_by_name(xp: Library, name: str) -> Any:
    function = operator.attrgetter(name)(xp)
    return pickle.loads(pickle.dumps(function)) is function, copy.copy(
        function
    ) is function


@pytest.mark.parametrize("name", ["ndarray", "ufunc", "float64", "dtype", "vectorize"])
def test_classes_are_pickled_by_name(xp: Library, name: str) -> Any:
    cls = getattr(xp, name)
    return pickle.loads(pickle.dumps(cls)) is cls, copy.deepcopy(cls) is cls


def test_state(xp: Library) -> Any:
    a, b = make(xp), xp.empty(0)
    reduced = a.__reduce__()
    b.__setstate__((1, (2, 2), xp.dtype("i4"), False, bytes(range(16))))
    return b, len(reduced) in (2, 3)


# -- references and protocols ----------------------------------------------------------


@pytest.mark.slow
def test_weak_references(xp: Library) -> Any:
    a = make(xp)
    called: list[int] = []
    reference = weakref.ref(a, lambda _: called.append(1))
    alive = reference() is a
    view = a[1:]
    del a
    gc.collect()
    kept = reference() is not None
    del view
    gc.collect()
    return alive, kept, reference() is None, called


@every_layout
def test_getsizeof(xp: Library, layout: Any) -> Any:
    a = layout(xp, "f8")
    owned = sys.getsizeof(make(xp, "f8", (1000,))) >= 8000
    return owned, a.__sizeof__() >= a.nbytes or not a.flags.owndata


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "T"], ids=named)
@every_layout
def test_array_interface(xp: Library, dtype: Any, layout: Any) -> Any:
    a = layout(xp, dtype)
    interface = a.__array_interface__
    address, read_only = interface.pop("data")

    class Holder:
        __array_interface__ = a.__array_interface__
        keep = a

    again = xp.asarray(Holder()) if dtype != "O" else a
    shares = again.size == 0 or xp.shares_memory(again, a)
    return interface, read_only, address == a.ctypes.data, again.copy(), shares


@every_layout
def test_array_struct(xp: Library, layout: Any) -> Any:
    a = layout(xp, "f8")

    class Holder:
        __array_struct__ = a.__array_struct__

    again = xp.asarray(Holder())
    return (
        again,
        type(a.__array_struct__).__name__,
        a.size == 0 or xp.shares_memory(a, again),
    )


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 or later is needed")
@pytest.mark.parametrize("dtype", ["f8", "i2", "D", "?", "S3", STRUCTURED], ids=named)
@every_layout
def test_buffer_protocol_by_name(xp: Library, dtype: Any, layout: Any) -> Any:
    a = layout(xp, dtype)
    view = a.__buffer__(284)  # PyBUF_FULL_RO
    return view.format, view.shape, view.strides, view.tobytes()


@every_dtype
@every_layout
def test_memoryview(xp: Library, dtype: Any, layout: Any) -> Any:
    a = layout(xp, dtype)
    view = outcome(memoryview, a)
    if not isinstance(view, memoryview):
        return view
    return [
        view.format, view.shape, view.strides, view.itemsize, view.readonly,
        view.nbytes, view.contiguous, view.obj is a,
        None if dtype in ("O", *PADDED) else view.tobytes(),
        xp.asarray(view) if a.size and dtype != "O" else None, a.data == view,
    ]  # fmt: skip


def test_refused_memoryviews_hold_nothing() -> None:
    a = mxnp.zeros(
        3, {"names": ["x"], "formats": ["i4"], "offsets": [4], "itemsize": 16}
    )
    inside = a.__array__()
    before = sys.getrefcount(inside), sys.getrefcount(a)
    for _ in range(100):
        with pytest.raises(BufferError):
            memoryview(a)
    assert (sys.getrefcount(inside), sys.getrefcount(a)) == before


def test_numpy_keeps_aligned_records() -> None:
    """A memoryview does not say that records are aligned."""
    dtype = numpy.dtype([("a", "i1"), ("b", "f8")], align=True)
    a = mxnp.zeros(3, dtype)
    assert numpy.asarray(a).dtype.isalignedstruct
    with pytest.raises(BufferError):
        memoryview(a)


def test_memory_written_through_a_memoryview(xp: Library) -> Any:
    a = make(xp, "u1", (6,))
    memoryview(a)[1:3] = b"ab"
    a.data[0] = 9
    io.BytesIO(b"xyz").readinto(a[3:])
    return a, bytes(a), bytearray(a), b"".join([a, a]), bytes(a[::2])


@every_layout
@pytest.mark.parametrize("dtype", ["f4", "f8", "D", "i2", "u8", "?"])
def test_dlpack(xp: Library, dtype: str, layout: Any) -> Any:
    a = layout(xp, dtype)
    again = outcome(xp.from_dlpack, a)
    copied = outcome(xp.from_dlpack, a, copy=True)
    shares = isinstance(again, xp.ndarray) and a.size > 0 and xp.shares_memory(a, again)
    # Packages for GPUs find the array there: tests/cuda/test_exchange.py.
    is_on_gpu = xp is mxnp and mxnp.get_device() == "cuda"
    device = (1, 0) if is_on_gpu else a.__dlpack_device__()
    return again, copied, shares, device


# -- results -------------------------------------------------------------------------

RESULTS = """
np.split(a, 2, axis=1)
np.array_split(a, 3)
np.hsplit(a, 2)
np.nonzero(a)
np.linalg.svd(m)
np.linalg.svd(m, compute_uv=False)
np.linalg.eig(m)
np.linalg.eigh(m)
np.linalg.qr(m)
np.linalg.slogdet(m)
np.linalg.lstsq(m, m[0])
np.linalg.inv(m)
np.linalg.det(m)
np.linalg.norm(m)
np.linalg.matrix_rank(m)
np.unique(a)
np.unique(a, return_index=True, return_inverse=True, return_counts=True)
np.unique_all(a)
np.unique_counts(a)
np.unique_inverse(a)
np.unique_values(a)
np.histogram(a)
np.histogram2d(a[0], a[1])
np.histogramdd(a)
np.gradient(m)
np.gradient(a[0])
np.meshgrid(a[0], a[1])
np.meshgrid(a[0], a[1], sparse=True, indexing="ij")
np.broadcast_arrays(a, a[0])
np.broadcast_shapes((2, 1), (3,))
np.broadcast(a, a[0]).shape
list(np.broadcast(a[0], 1))
np.ix_([0, 1], [2])
np.indices((2, 2))
np.indices((2, 2), sparse=True)
np.mgrid[0:2, 0:3]
np.ogrid[0:2, 0:3]
np.r_[1:3, a[0]]
np.c_[a[0], a[1]]
np.s_[1:2, ::3]
np.tril_indices(3)
np.triu_indices_from(m)
np.diag_indices(2)
np.unravel_index([1, 5], (2, 3))
np.ravel_multi_index(([0], [1]), (2, 3))
np.where(a > 2)
np.argwhere(a > 2)
np.divmod(a, 2)
np.modf(a)
np.polyfit([1, 2, 3, 4], [1, 4, 9, 17], 1, cov=True)
np.polyfit([1, 2, 3], [1, 4, 9], 1, full=True)
np.polydiv([1, 2, 3], [1, 1])
np.roots([1, -3, 2])
np.poly1d([1, 2, 3])(a)
np.polynomial.polynomial.polyfit([1, 2, 3], [1, 4, 9], 1, full=True)
np.intersect1d(a, [1, 2], return_indices=True)
np.average(a, axis=0, returned=True)
np.average(a, returned=True)
np.apply_along_axis(lambda row: row[::-1], 1, a)
np.apply_over_axes(np.sum, a, [0, 1])
np.piecewise(a, [a < 2, a >= 2], [lambda x: -x, 7])
np.select([a < 2, a > 3], [a, -a], 0)
np.fromfunction(lambda i, j: i + j, (2, 3))
np.fromiter((x for x in range(3)), float)
np.fromiter((a[0] for _ in range(2)), np.dtype((float, 4)))
np.fromregex(io.StringIO("1 2\\n3 4\\n"), r"(\\d) (\\d)", [("x", int), ("y", int)])
np.genfromtxt(["1 2", "3 4"], names="x,y", unpack=True)
np.loadtxt(["1 2", "3 4"], unpack=True)
np.einsum("ij,kj->ik", a, a)
np.einsum("ii", m)
np.einsum_path("ij,jk", m, m)
np.tensordot(a, a, axes=2)
np.dot(a[0], a[0])
np.vdot(a, a)
np.inner(a[0], a[0])
np.trace(m)
np.sum(a)
np.sum([])
np.max(a)
np.mean(a)
np.median(a)
np.percentile(a, [25, 75])
np.quantile(a, 0.5)
np.ptp(a)
np.argmax(a)
np.count_nonzero(a)
np.count_nonzero(a, axis=0)
np.allclose(a, a)
np.array_equal(a, a)
np.any(a)
np.all(a, axis=0)
np.size(a), np.ndim(a), np.shape(a)
np.result_type(a, 1)
np.can_cast(a.dtype, "f4")
np.min_scalar_type(5)
np.common_type(a, a)
np.isscalar(a[0, 0]), np.isscalar(a)
np.iscomplexobj(a), np.isrealobj(a)
np.iterable(a)
np.shares_memory(a, a[1:]), np.may_share_memory(a, a.copy())
np.array_repr(a), np.array_str(a)
np.fft.fft(a)
np.fft.fftfreq(5)
np.interp(2.5, a[0], a[0])
np.interp([2.5], a[0], a[0])
np.digitize(a, [1, 3])
np.searchsorted([1, 2, 3], 2)
np.bincount([0, 1, 1])
np.lexsort((a[0], a[1]))
np.cov(a)
np.corrcoef(a[0], a[1])
np.cross([1, 2, 3], [3, 2, 1])
np.kron(a, [1, 2])
np.trapezoid(a[0])
np.diff(a)
np.cumsum(a)
np.convolve(a[0], [1, 2])
np.packbits(a > 2)
np.unpackbits(np.uint8([3]))
np.block([[a, a], [a, a]])
np.concatenate([a, a])
np.stack([a, a], axis=-1)
np.concat((a, a), axis=1)
np.unstack(a)
np.insert(a, 1, 5, axis=0)
np.delete(a, 1, axis=0)
np.append(a, 1)
np.trim_zeros(np.array([0, 1, 0]))
np.pad(a, 1, mode="edge")
np.tile(a, 2)
np.roll(a, 1)
np.choose([0, 1], [[1, 2], [3, 4]])
np.full_like(a, 3), np.zeros_like(a), np.ones_like(a, shape=(2,))
np.empty_like(a).shape
np.linspace(0, 1, 3, retstep=True)
np.geomspace(1, 8, 4)
np.arange(3)
np.eye(2), np.identity(2), np.tri(2), np.vander([1, 2])
np.float64(3), np.array(3.0)[()]
np.array(3.0)
np.array(3.0) + 1
np.array([1, 2])[0]
np.array(["x"])[0]
np.array([(1, 2)], "i4,i4")[0]
np.array([a, None], dtype=object)[0]
np.finfo(float).max, np.iinfo(int).max, np.finfo("f4").eps
np.pi, np.e, np.inf, np.nan, np.newaxis
np.random.default_rng(1).random(3)
np.random.default_rng(1).random()
np.random.default_rng(1).integers(5)
np.random.default_rng(1).integers(0, 5, (2, 2))
np.random.default_rng(1).choice(a, 2)
np.random.default_rng(1).choice(5)
np.random.default_rng(1).permutation(a)
np.random.default_rng(1).normal(a)
np.random.default_rng(1).multivariate_normal([0, 0], np.eye(2))
np.random.default_rng(1).spawn(2)[0].random(2)
np.random.RandomState(1).rand(2, 2)
np.random.RandomState(1).get_state()
np.ma.array(a, mask=a > 2)
np.ma.masked_invalid(a).sum()
np.matrix(m) * 2
np.asarray(np.matrix(m))
np.rec.array([(1, 2.0)], names="x,y")
np.char.upper(["a", "b"])
np.strings.upper(["a", "b"])
np.strings.partition("abc", "b")
np.char.array(["a"])
np.lib.stride_tricks.sliding_window_view(a, 2, axis=0)
recfunctions.drop_fields(np.zeros(2, "f4,f4"), "f0")
np.lib.index_tricks.ndindex if hasattr(np.lib, "index_tricks") else None
list(np.ndindex(2, 1))
np.nditer([a, None]).operands[0]
np.datetime64("2020-01-01") + np.arange(2)
np.busday_count("2020-01-01", ["2020-02-01"])
np.is_busday("2020-01-01")
np.datetime_as_string(np.array(["2020"], "M8[Y]"))
np.ctypeslib.as_array((ctypes.c_int * 3)(1, 2, 3))
np.emath.sqrt([-1, 4])
np.emath.sqrt(-1)
np.i0(1.0), np.sinc(a)
np.apply_along_axis(np.sum, 0, a)
np.require(a, "f4", ["F"])
np.isclose(a, 2)
np.isclose(1.0, 1.0)
np.sort_complex(a)
np.nan_to_num(np.nan), np.nan_to_num([np.nan])
np.real_if_close(a + 0j)
np.iscomplex(a), np.isreal(1j)
np.around(2.567, 1), np.round(a, 1), np.fix(2.5)
np.get_printoptions()
np.geterr()
np.typename("d"), np.mintypecode(["f", "d"])
np.base_repr(5), np.binary_repr(5)
np.astype(a, "f4")
np.isdtype(a.dtype, "real floating")
np.vecdot(a, a), np.matvec(m, m[0]), np.vecmat(m[0], m)
np.copy(a), np.asarray_chkfinite(a)
np.array([np.array([1, 2]), np.array([3, 4])])
np.array([a[0], [9, 9, 9, 9]])
np.array([[a, a], [a, a]]).shape
np.array((a, a), dtype=object).shape
max(a.ravel()), min(a.ravel()), sum(a), sum(a.ravel())
sorted(a.ravel(), reverse=True)
[*a[0]]
dict(zip(a[0], a[1]))
"%s %r" % (a[0], a[1])
"{} {:.2f}".format(a[0], a[0, 1])
divmod(a, 2), round(a[0, 1], 1), pow(a, 2), abs(a)
list(map(float, a[0]))
[10, 20, 30][np.array(1)]
range(np.array(3))
operator.itemgetter(1)(a)
statistics.mean(a[0].tolist())
math.sqrt(np.array(4.0)), math.floor(a[0, 1])
"""


@each(RESULTS)
def test_results(xp: Library, expression: str) -> Any:
    """Check that scalars are NumPy's and arrays are mxnp's, also inside containers."""
    import math
    import statistics

    a = make(xp)
    m = xp.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])
    names = {"np": xp, "a": a, "m": m, "io": io, "math": math, "ctypes": ctypes}
    names |= {"operator": operator, "statistics": statistics}
    names["recfunctions"] = importlib.import_module(f"{xp.__name__}.lib.recfunctions")
    return eval(expression, names)


# Results of classes that are the same objects in both libraries.
OF_OWN_CLASSES = """
np.poly1d([1, 2, 3]).coeffs
np.polynomial.Polynomial([1, 2, 3])(a)
np.polynomial.Polynomial([1, 2, 3]).coef
np.polynomial.Polynomial([1, 2, 3]).roots()
np.polynomial.Polynomial([1, 2, 3]).linspace(3)[1]
np.random.SeedSequence(1).generate_state(2)
np.random.PCG64(1).random_raw(2)
np.random.MT19937(1).state["state"]["key"]
np.ma.array(a, mask=a > 2).filled(0)
np.ma.array(a, mask=a > 2).data
np.ma.array(a, mask=a > 2).mask
np.matrix(m).A
np.rec.array([(1, 2.0)], names="x,y").x
np.busdaycalendar(holidays=["2020-01-01"]).holidays
np.array([(1, [1, 2])], [("x", int), ("y", int, 2)])[0]["y"]
np.nditer(a).itviews[0]
"""


@each(OF_OWN_CLASSES)
def test_results_of_numpys_own_classes(expression: str) -> None:
    """Check that results of NumPy's classes are mxnp arrays with equal values."""
    found = []
    for xp in (numpy, mxnp):
        names = {"np": xp, "a": make(xp), "m": xp.eye(3)}
        found.append(eval(expression, names))
    assert isinstance(found[1], mxnp.ndarray)
    numpy.testing.assert_array_equal(found[1], found[0], strict=True)


def test_memory_maps(xp: Library, tmp_path: Path) -> Any:
    path = tmp_path / "map.bin"
    a = xp.memmap(path, "f4", "w+", shape=(3, 4))
    a[:] = make(xp, "f4")
    a[1] += 1
    a.flush()
    again = xp.memmap(path, "f4", "r")
    return again, type(a).__name__, a.sum(), (a + 1)[0].tolist(), path.read_bytes()


def test_lazy_archives(xp: Library, tmp_path: Path) -> Any:
    path = tmp_path / "arrays.npz"
    xp.savez_compressed(path, x=make(xp), y=xp.array("text"), z=make(xp, "O"))
    with xp.load(path, allow_pickle=True) as archive:
        files = archive.files, list(archive.keys()), "x" in archive, len(archive)
        values = list(archive.values()), dict(archive.items()), archive.f.x
    return files, values


def test_object_arrays_hold_the_assigned_objects(xp: Library) -> Any:
    inner = make(xp)
    a = xp.empty(3, dtype=object)
    a[0] = inner
    a[1] = [inner]
    a[2] = a
    kept = a[0] is inner, a[1][0] is inner, a[2] is a
    a[2] = None
    a[0][0] = 50
    return kept, inner, a.tolist(), type(a[0]) is type(inner)


def test_fields_of_objects_hold_the_assigned_objects(xp: Library) -> Any:
    inner = make(xp)
    a = xp.zeros(4, dtype=[("o", object), ("x", "f4", 2)])
    a[0] = inner, xp.ones(2)
    a[1:3] = [(inner, xp.zeros(())), ([inner], 3)]
    a[[3]] = (inner, xp.arange(2)[::-1])
    kept = [each is inner for each in (*a["o"][[0, 1, 3]], a["o"][2][0])]
    inner *= 2
    return kept, a["x"], a["o"][0].tolist()
