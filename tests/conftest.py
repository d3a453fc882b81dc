"""What all tests share: a body that is run on NumPy and on mxnp, and compared."""

from __future__ import annotations

import math
import types
from typing import Any

import numpy
import pytest

import mxnp


@pytest.fixture
def xp() -> types.ModuleType:
    """
    The library under test.

    A test that takes `xp` and returns something is run twice, with numpy and with
    mxnp, and what the two runs return must agree: see `assert_same`.
    """
    return mxnp


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Any:
    body = pyfuncitem.obj
    if "xp" not in pyfuncitem._fixtureinfo.argnames:
        return (yield)

    def both(**arguments: Any) -> None:
        expected = body(**arguments | {"xp": numpy})
        assert_same(body(**arguments | {"xp": mxnp}), expected)

    pyfuncitem.obj = both
    try:
        return (yield)
    finally:
        pyfuncitem.obj = body


def assert_same(ours: Any, numpys: Any, where: str = "result") -> None:
    """
    Assert that what mxnp gave is what NumPy gave.

    Arrays must agree in class, dtype, shape, strides, flags and every bit; scalars in
    class and value; containers in class and in all they hold.
    """
    kind = type(numpys)
    if kind is numpy.ndarray:
        assert type(ours) is mxnp.ndarray, f"{where} is a {type(ours)}"
        assert_same_array(ours.__array__(), numpys, where)
    elif isinstance(numpys, numpy.ufunc):
        assert ours is getattr(mxnp, numpys.__name__), where
    elif kind is dict:
        assert type(ours) is dict, where
        assert list(ours) == list(numpys), where
        for key, value in numpys.items():
            assert_same(ours[key], value, f"{where}[{key!r}]")
    elif isinstance(numpys, tuple | list):
        assert type(ours) is kind, f"{where} is a {type(ours)}, not a {kind}"
        assert len(ours) == len(numpys), where
        for i, value in enumerate(numpys):
            assert_same(ours[i], value, f"{where}[{i}]")
    elif isinstance(numpys, numpy.ndarray):
        assert isinstance(ours, numpy.ndarray), f"{where} is a {type(ours)}"
        assert_same_array(ours, numpys, where)
    else:
        assert type(ours) is kind, f"{where} is a {type(ours)}, not a {kind}"
        if isinstance(numpys, BaseException):
            ours, numpys = ours.args, numpys.args
        assert repr(ours) == repr(numpys) or _equal(ours, numpys), (
            f"{where} is {ours!r}, not {numpys!r}"
        )


def assert_same_array(ours: numpy.ndarray, numpys: numpy.ndarray, where: str) -> None:
    """Assert that two NumPy arrays agree in everything but their address."""
    for name in ("dtype", "shape", "strides"):
        mine, theirs = getattr(ours, name), getattr(numpys, name)
        assert mine == theirs, f"{where}.{name} is {mine}, not {theirs}"
    for name in ("c_contiguous", "f_contiguous", "writeable", "aligned"):
        mine, theirs = getattr(ours.flags, name), getattr(numpys.flags, name)
        assert mine == theirs, f"{where}.flags.{name} is {mine}, not {theirs}"
    if numpys.dtype.kind in "biufc" and numpys.dtype.char not in "gG":
        # The bits, so that signed zeros and NaN are told apart.
        same = ours.tobytes() == numpys.tobytes()
    elif numpys.dtype.hasobject:
        assert_same(ours.tolist(), numpys.tolist(), where)
        return
    else:
        same = numpy.array_equal(ours, numpys) or repr(ours) == repr(numpys)
    assert same, f"{where} is\n{ours!r}, not\n{numpys!r}"


def _equal(ours: Any, numpys: Any) -> bool:
    """Tell whether two objects that are no arrays are equal; NaN equals NaN."""
    if isinstance(numpys, float) and math.isnan(numpys):
        return math.isnan(ours)
    return bool(ours == numpys)
