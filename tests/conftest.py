"""Run the bodies of tests with NumPy and with mxnp, and compare their results."""

from __future__ import annotations

import functools
import math
import os
import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy
import pytest
from support.lanes import ON_GPU
from support.tolerances import near

import mxnp
from mxnp import _bridge
from mxnp._engine.devices import GPU

# Whether each operation of each test is verified. Tests of the queue then fail.
VERIFY = bool(os.environ.get("MXNP_VERIFY"))

# Tests use their fixtures as plugins, and import from them before pytest loads them.
pytest.register_assert_rewrite("support.driver", "support.msl")
pytest_plugins = ["support.selection"]

# Tests that clear the caches leave the user's file as it is.
os.environ["MXNP_AUTO_SIZES"] = ""

# Whether an operation is recorded must not depend on the tests before it.
if hasattr(_bridge, "set_eager"):
    _bridge.set_eager(False)

# Nor must it depend on time whether a kernel is compiled; programs that tests start have none.
if hasattr(_bridge, "set_compiler") and "MXNP_JIT" not in os.environ:
    os.environ["MXNP_JIT"] = "0"
    _bridge.set_compiler(None, False)

# Waits for all recorded operations.
synchronize = getattr(mxnp, "synchronize", lambda: None)


def pytest_configure(config: pytest.Config) -> None:
    if sys.platform == "darwin":  # NumPy with Accelerate: numpy/numpy#28687
        spurious = "ignore:.* encountered in (matmul|dot|vecdot):RuntimeWarning"
        config.addinivalue_line("filterwarnings", spurious)
    for marker in (
        "any_nan: NaN in results may have any sign and payload",
        "any_last_bit: the last bits of results may differ, by stride and order of sums",
    ):
        config.addinivalue_line("markers", marker)


@pytest.fixture
def xp() -> types.ModuleType:
    """
    Return the library under test.

    A test that takes `xp` and returns something runs twice, with numpy and with mxnp.
    The two results must agree: see `assert_same`.
    """
    return mxnp


@pytest.fixture
def on_metal() -> Iterator[None]:
    """Record all operations, and run them on the GPU."""
    before = _bridge.set_threshold(0)
    mxnp.synchronize()
    with mxnp.device(GPU):
        yield
    _bridge.set_threshold(before)


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Replace a body that takes `xp` by one that runs twice, before other plugins wrap it."""
    if not isinstance(item, pytest.Function) or "xp" not in item._fixtureinfo.argnames:
        return
    body = item.obj
    allowed = Allowed(
        any_nan=item.get_closest_marker("any_nan") is not None,
        any_last_bit=item.get_closest_marker("any_last_bit") is not None
        and os.environ.get("MXNP_THRESHOLD") == "0",
        on_gpu=ON_GPU,
    )

    @functools.wraps(body)
    def both(**arguments: Any) -> None:
        expected = body(**arguments | {"xp": numpy})
        assert_same(body(**arguments | {"xp": mxnp}), expected, allowed=allowed)

    item.obj = both


def raise_warning(message: Any, *_: Any) -> None:
    """Raise a warning in place of showing it."""
    raise message


def expects_warnings(item: pytest.Item) -> bool:
    """Check whether a test collects its warnings, or a marker asks for them to be shown."""
    if "recwarn" in getattr(item, "fixturenames", ()):
        return True
    filters = (each.args for each in item.iter_markers("filterwarnings"))
    return any(
        text.startswith(("always", "default")) for args in filters for text in args
    )


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Any:
    # A filter that turns RuntimeWarnings into errors would keep operations from being recorded.
    if not expects_warnings(pyfuncitem):
        warnings.showwarning = raise_warning
    try:
        with mxnp.verify() if VERIFY else nullcontext() as checks:
            result = yield
        if checks is not None and checks.failure is not None:
            raise checks.failure  # The test caught this error.
        synchronize()  # Warnings belong to the test that recorded the operations.
    except BaseException:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            synchronize()
        raise
    return result


@dataclass(frozen=True)
class Allowed:
    """Differences that two equal results may have."""

    any_nan: bool = False  # the bits of NaN
    any_last_bit: bool = False  # the last bit of numbers
    on_gpu: bool = False  # what a GPU does with floats of 32 bits and less


NOTHING = Allowed()


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
            same = isinstance(numpys, float | complex) and _are_close(ours, numpys)
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
    if numpys.dtype.kind in "biufc" and numpys.dtype.char not in "gG":
        # Comparing bytes distinguishes signed zeros and NaN.
        same = ours.tobytes() == numpys.tobytes()
        if not same and allowed.any_nan:
            same = _without_nan(ours) == _without_nan(numpys)
        if not same and allowed.any_last_bit and numpys.dtype.kind in "fc":
            same = _are_close(ours, numpys)
        if not same and allowed.on_gpu:
            same = bool(near(ours, numpys).all())
    elif numpys.dtype.hasobject:
        assert_same(ours.tolist(), numpys.tolist(), where)
        return
    else:
        same = numpy.array_equal(ours, numpys) or repr(ours) == repr(numpys)
    assert same, f"{where} is\n{ours!r}, not\n{numpys!r}"


def _are_close(ours: Any, numpys: Any) -> bool:
    """Check whether numbers agree within two units in the last place."""
    step = 2 * numpy.finfo(numpy.asarray(numpys).dtype).eps
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
