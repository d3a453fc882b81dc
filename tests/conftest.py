"""Run the bodies of tests with NumPy and with mxnp, and compare their results."""

from __future__ import annotations

import functools
import gc
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import hypothesis
import numpy
import pytest

# Unless a lane chose CUDA, the tests run as on a machine without an NVIDIA GPU. Processes
# that they start, and other packages, do the same.
if os.environ.get("MXNP_DEVICE") != "cuda":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

from support.lanes import ON_GPU
from support.paths import ROOT
from support.same import Allowed, assert_same
from support.sets import with_each

import mxnp
from mxnp import _bridge, _jit
from mxnp._engine.devices import GPU

# An installed wheel has no benchmarks, so those of the checkout are tested.
mxnp.__path__.append(str(ROOT / "mxnp"))

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

# Hypothesis draws the same examples in every run, however long it takes to draw one. With
# --hypothesis-profile=random it draws others, which --hypothesis-seed=N determines.
for profile, is_fixed in (("random", False), ("fixed", True)):
    hypothesis.settings.register_profile(
        profile,
        derandomize=is_fixed,
        database=None,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile(profile)

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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Any:
    """Keep Python's garbage collector from visiting the many objects that describe tests."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        if collects:
            gc.enable()


@pytest.fixture
def xp() -> types.ModuleType:
    """
    Return the library under test.

    A test that takes `xp` and returns something runs twice, with numpy and with mxnp.
    The two results must agree: see `assert_same`.
    """
    return mxnp


@pytest.fixture(autouse=True, scope="module")
def forgotten_groups() -> None:
    """Forget the groups of other files: a process compiles 2,048 different ones at most."""
    if os.environ.get("MXNP_JIT", "0") != "0":
        _bridge.set_compiler(None, False)
        _jit._start()


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
    if not isinstance(item, pytest.Function):
        return
    if "xp" in item._fixtureinfo.argnames:
        item.obj = with_both(item, item.obj)
    if sets := item.get_closest_marker("sets"):
        item.obj = with_each(item.obj, *sets.args)


def with_both(item: pytest.Item, body: Callable[..., Any]) -> Callable[..., None]:
    """Return a body that runs with NumPy and with mxnp, and compares the results."""
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

    return both


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
