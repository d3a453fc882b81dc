"""Comparison of a result of mxnp with NumPy's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy
from support.tolerances import near

import mxnp


@dataclass(frozen=True)
class Allowed:
    """Differences that two equal results may have."""

    any_nan: bool = False  # the bits of NaN
    any_last_bit: bool = False  # the last bit of numbers
    steps: int = 2  # how many units in the last place that means
    on_gpu: bool = False  # what a GPU does with floats of 32 bits and less


NOTHING = Allowed()
PLAIN = {bool, int, float, complex, str, bytes, type(None)}  # equal if their texts are


def assert_same(
    ours: Any, numpys: Any, where: str = "result", allowed: Allowed = NOTHING
) -> None:
    """
    Assert that a result of mxnp is the same as NumPy's.

    Arrays must agree in class, dtype, shape, strides, flags and every bit, except for the
    differences in `allowed`. Scalars must agree in class and value, and containers in
    class and elements.
    """
    kind = type(numpys)
    if kind is numpy.ndarray:
        assert type(ours) is mxnp.ndarray, f"{where} is a {type(ours)}"
        assert_same_array(ours.__array__(), numpys, where, allowed)
    elif isinstance(numpys, numpy.ufunc):
        assert ours is getattr(mxnp, numpys.__name__), where
    elif kind is dict:
        assert type(ours) is dict, where
        assert list(ours) == list(numpys), where
        for key, value in numpys.items():
            assert_same(ours[key], value, f"{where}[{key!r}]", allowed)
    elif isinstance(numpys, tuple | list):
        assert type(ours) is kind, f"{where} is a {type(ours)}, not a {kind}"
        assert len(ours) == len(numpys), where
        kinds = [*map(type, numpys)]
        are_plain = PLAIN.issuperset(kinds) and [*map(type, ours)] == kinds
        if are_plain and repr(ours) == repr(numpys):
            return
        for i, value in enumerate(numpys):
            assert_same(ours[i], value, f"{where}[{i}]", allowed)
    elif isinstance(numpys, numpy.ndarray):
        assert isinstance(ours, numpy.ndarray), f"{where} is a {type(ours)}"
        assert_same_array(ours, numpys, where, allowed)
    else:
        assert type(ours) is kind, f"{where} is a {type(ours)}, not a {kind}"
        if isinstance(numpys, BaseException):
            ours, numpys = ours.args, numpys.args
        same = repr(ours) == repr(numpys) or _equal(ours, numpys)
        if not same and allowed.any_last_bit:
            is_float = isinstance(numpys, float | complex | numpy.inexact)
            same = is_float and _are_close(ours, numpys, allowed.steps)
        if not same and allowed.on_gpu and isinstance(numpys, numpy.inexact):
            same = bool(near(ours, numpys).all())
        assert same, f"{where} is {ours!r}, not {numpys!r}"


def assert_same_array(
    ours: numpy.ndarray, numpys: numpy.ndarray, where: str, allowed: Allowed = NOTHING
) -> None:
    """Assert that two NumPy arrays agree in everything but their address."""
    for name in ("dtype", "shape", "strides"):
        mine, theirs = getattr(ours, name), getattr(numpys, name)
        assert mine == theirs, f"{where}.{name} is {mine}, not {theirs}"
    for name in ("c_contiguous", "f_contiguous", "writeable", "aligned"):
        mine, theirs = getattr(ours.flags, name), getattr(numpys.flags, name)
        assert mine == theirs, f"{where}.flags.{name} is {mine}, not {theirs}"
    assert _have_same_owner(ours, numpys), (
        f"{where} {'owns' if ours.flags.owndata else 'does not own'} its memory"
    )
    if numpys.dtype.kind in "biufc" and numpys.dtype.char not in "gG":
        # Comparing bytes distinguishes signed zeros and NaN.
        same = ours.tobytes() == numpys.tobytes()
        if not same and allowed.any_nan:
            same = _without_nan(ours) == _without_nan(numpys)
        if not same and allowed.any_last_bit and numpys.dtype.kind in "fc":
            same = _are_close(ours, numpys, allowed.steps)
        if not same and allowed.on_gpu:
            same = bool(near(ours, numpys).all())
    elif numpys.dtype.hasobject:
        assert_same(ours.tolist(), numpys.tolist(), where)
        return
    else:
        same = numpy.array_equal(ours, numpys) or repr(ours) == repr(numpys)
    assert same, f"{where} is\n{ours!r}, not\n{numpys!r}"


def _have_same_owner(ours: numpy.ndarray, numpys: numpy.ndarray) -> bool:
    """
    Check whether both arrays own their memory, or neither does.

    A program may resize an array that owns its memory. Two differences are allowed: a
    result may own what is a view of a whole array in NumPy, as a gather along the last
    axis is, and what the test itself has reshaped.
    """
    whole = getattr(numpys.base, "size", None) == numpys.size
    return ours.flags.owndata == numpys.flags.owndata or (ours.flags.owndata and whole)


def _are_close(ours: Any, numpys: Any, steps: int) -> bool:
    """Check whether numbers agree within some units in the last place."""
    step = steps * numpy.finfo(numpy.asarray(numpys).dtype).eps
    return numpy.allclose(ours, numpys, rtol=step, atol=0, equal_nan=True)


def _without_nan(array: numpy.ndarray) -> bytes:
    """Return the bytes of numbers, with all NaN replaced by the same one."""
    numbers = array.astype(array.dtype.newbyteorder("="), order="C")
    if numbers.dtype.kind == "c":
        numbers = numbers.reshape(-1).view(numbers.real.dtype)
    if numbers.dtype.kind == "f":
        numbers[numpy.isnan(numbers)] = numpy.nan
    return numbers.tobytes()


def _equal(ours: Any, numpys: Any) -> bool:
    """Check whether two objects other than arrays are equal; NaN equals NaN."""
    if isinstance(numpys, float) and math.isnan(numpys):
        return math.isnan(ours)
    return bool(ours == numpys)
