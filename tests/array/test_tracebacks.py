"""Test that tracebacks show the program and NumPy, and not the Python code of mxnp."""

from __future__ import annotations

import contextlib
import copy
import inspect
import pickle
import re
import traceback
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.processes import run_file

import mxnp
from mxnp import _bridge
from mxnp._engine import frames

OWN = str(Path(mxnp.__file__).parent)
N = 20_011  # elements, so that operations are recorded

GIVEN = f"""
import io
n = {N}
a = np.arange(6.0).reshape(2, 3)
i = np.arange(3)
v = np.arange(3.0)
v.flags.writeable = False
x = np.arange(1.0, n + 1)
z = np.zeros(n)
m = np.ones((130, 131))
g = np.random.default_rng(1)
def fail(*args):
    raise KeyError("the program's")
"""

PROGRAMS = """
a.sum(axis=5)
x.sum(axis=5)
x.sum(axis="x")
x.mean(dtype="foo")
x.var(axis=2)
np.cumsum(x, axis=3)
np.concatenate([x, m])
np.stack([x, z[:5]])
x + z[:5]
x[n]
x[np.array([1, n])]
x[[0.5]]
x @ m
x.reshape(7, 3)
x.astype("foo")
x.astype(int, casting="safe")
x.fill("x")
np.where(x)[5]
np.where(x, z)
np.histogram(x, range=(2, 1))
np.histogram(x, bins="foo")
np.median(x, axis=4)
np.full(n, "x", float)
np.take(x, [n])
np.take(x, i, axis=3)
np.put(x, [n], 1)
np.add.at(x, [n], 1)
np.add.reduce(x, axis=4)
np.roll(x, "a")
np.pad(x, -1)
np.interp(1)
np.gradient(x, axis=5)
np.diff(x, n=-1)
np.percentile(x, 101)
np.linalg.inv(m)
np.linalg.solve(m, x)
np.fft.fft(x, -1)
np.fft.fft(x, axis=5)
np.load(io.BytesIO(b""))
np.ndarray()
np.ndarray[int, float, str]
np.ufunc()
np.nditer([a, np.ones(4)])
np.broadcast(a, np.ones(4))
np.vectorize(3)(a)
np.frompyfunc(3, 1, 1)
np.fromfunction(fail, (2, 2))
np.apply_along_axis(fail, 0, a)
np.apply_over_axes(fail, a, [0])
np.piecewise(x, [x > 0], [fail])
np.vectorize(fail)(a)
np.random.default_rng(-1)
np.random.Generator(3)
np.random.RandomState("x")
g.spawn(-1)
g.normal(size="x")
g.shuffle(3)
np.testing.assert_equal(1, 2)
np.testing.assert_equal(x, x + 1)
np.testing.assert_allclose(x, x + 1)
a.resize(4, 4, foo=1)
a.dump(3)
a.dumps(3)
a.flat[9]
v.flat[0] = 1
a.at[9].set(1)
a.at[0].foo(1)
np.ctypeslib.ndpointer(float, ndim=3).from_param(a)
np.device("x")
np.set_mode("x")
np.set_device("x")
np.ndarray.__getitem__(np.matrix([1]), 5)

with np.errstate(all="raise"):
    x / z

with np.errstate(all="raise"):
    np.std(x / 1e-320)

with np.errstate(all="call", call=fail):
    np.log(z)

warnings.simplefilter("error")
1 / z

warnings.simplefilter("error")
np.nanmean(z[:0])

warnings.simplefilter("error")
np.mean(x[:0])

class A(np.ndarray):
    pass
x.view(A).view("foo")

class A(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return super().__array_ufunc__(ufunc, "foo", *inputs, **kwargs)
x.view(A) + 1

class A(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return super().__array_ufunc__(ufunc, "foo", *inputs, **kwargs)
x.view(A).__array_ufunc__(np.add, "reduce", x)

class A(np.ndarray):
    def __array_function__(self, *args):
        return super().__array_function__(*args)
x.view(A).__array_function__(np.sum, (A,), (), {})

class A(np.ndarray):
    def __array_finalize__(self, obj):
        fail()
x.view(A)

y = x[(z + n).astype(int)]
np.synchronize()

y = x[(z + n).astype(int)]
with warnings.catch_warnings():
    pass

y = x[(z + n).astype(int)]
warnings.simplefilter("ignore")

y = x[(z + n).astype(int)]
str(y)

y = x[(z + n).astype(int)]
y.at[0].set(1)
"""

SOURCES = [
    line
    for part in re.split("\n\n", PROGRAMS.strip("\n"))
    for line in (part.splitlines() if part.startswith("a.sum") else [part])
]


@pytest.fixture(params=[None, 0], ids=["usual", "everything recorded"])
def _threshold(request: pytest.FixtureRequest) -> Iterator[None]:
    before = _bridge.get_threshold()
    if request.param is not None:
        _bridge.set_threshold(request.param)
    yield
    _bridge.set_threshold(before)


def error_of(source: str) -> BaseException:
    """Run a program and return its error."""
    names: dict[str, Any] = {"np": mxnp, "warnings": warnings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(GIVEN, "<given>", "exec"), names)
        try:
            exec(compile(source, "<program>", "exec"), names)
        except Exception as error:
            return error
        finally:
            drop_errors()
    raise AssertionError("there was no error")


def drop_errors() -> None:
    """Raise what is pending, so that no later test does."""
    for _ in range(3):
        with contextlib.suppress(IndexError):
            mxnp.synchronize()


def files_of(error: BaseException) -> list[str]:
    """Return the files of all frames that Python would print."""
    chain: traceback.TracebackException | None
    chain = traceback.TracebackException.from_exception(error)
    files = []
    while chain is not None:
        files += [frame.filename for frame in chain.stack]
        earlier = None if chain.__suppress_context__ else chain.__context__
        chain = chain.__cause__ or earlier
    return files


@pytest.mark.usefixtures("_threshold")
@pytest.mark.parametrize("source", SOURCES)
def test_tracebacks_do_not_show_mxnp(source: str) -> None:
    error = error_of(source)
    files = files_of(error)
    assert "<program>" in files
    assert not [file for file in files if file.startswith(OWN)]
    if isinstance(error, KeyError):  # raised by the program's function
        assert files[-1] == "<given>"


def test_full_tracebacks(tmp_path: Path) -> None:
    program = """
        import traceback, mxnp as np
        try:
            np.load(3)
        except Exception as error:
            print([frame.name for frame in traceback.extract_tb(error.__traceback__)][1])
    """
    assert run_file(tmp_path, program, MXNP_TRACEBACKS="full") == "load"


def test_functions_look_like_functions() -> None:
    assert isinstance(mxnp.load, types.FunctionType)
    assert mxnp.load.__name__ == "load"
    assert inspect.signature(mxnp.load) == inspect.signature(numpy.load)
    for function in (mxnp.load, mxnp.random.default_rng, mxnp.testing.assert_equal):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function
    assert "load" in repr(mxnp.load)
    mxnp.load.some_name = 3  # type: ignore[attr-defined]
    assert mxnp.load.some_name == 3  # type: ignore[attr-defined]
    del mxnp.load.some_name  # type: ignore[attr-defined]


def python_members(cls: type) -> Iterator[str]:
    bases = [each for each in cls.__mro__ if each.__module__.startswith("mxnp")]
    for name, member in ((n, m) for base in bases for n, m in vars(base).items()):
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if type(function) is types.FunctionType and name not in frames.QUICK:
            yield f"{cls.__name__}.{name}"


def test_no_public_function_has_a_frame() -> None:
    """Neither functions that are written in Python, nor methods of the array's classes."""
    modules = [mxnp, mxnp.random, mxnp.fft, mxnp.testing, mxnp.ma, mxnp.ctypeslib]
    found = []
    for module in modules:
        later = {name: getattr(module, name) for name in getattr(module, "_later", ())}
        for name, value in (vars(module) | later).items():
            if name.startswith("_"):
                continue
            if type(value) is types.FunctionType and value.__module__.startswith(
                "mxnp"
            ):
                found.append(f"{module.__name__}.{name}")
            if isinstance(value, type) and value.__module__.startswith("mxnp"):
                found += python_members(value)
    assert found == []
