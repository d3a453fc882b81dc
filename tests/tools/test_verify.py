"""Test `verify`: what is compared, what stops a program, and what is ignored."""

from __future__ import annotations

import contextlib
import itertools
import operator
import os
import re
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.lanes import ON_GPU
from support.metal import needs_metal
from support.paths import ROOT

import mxnp
from mxnp import VerificationError, _bridge
from mxnp._array.ndarray import ndarray
from mxnp._bridge import Array, Function
from mxnp._verify import tolerances

LARGE = 40_000


@pytest.fixture(autouse=True)
def everything_is_recorded() -> Iterator[None]:
    """Record all operations, so that there is something to verify."""
    mxnp.synchronize()
    before = _bridge.set_threshold(0)
    yield
    _bridge.set_threshold(before)


@contextlib.contextmanager
def fault(function: Any, wrong: Callable[..., Any]) -> Iterator[None]:
    """Replace the recorded form of a function by a wrong one."""
    before, threshold_factor = function.implementation, function.threshold_factor
    function.implementation, function.threshold_factor = wrong, 1
    try:
        yield
    finally:
        function.implementation, function.threshold_factor = before, threshold_factor


def run(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mxnp", *args],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | environment,
    )


# -- Injected faults -------------------------------------------------------------------


def copied(x: Any, *args: Any, **kwargs: Any) -> Any:
    return _bridge.wrap(numpy.array(x._np_array))


def with_wrong(x: Any, value: Any) -> Any:
    out = numpy.array(x._np_array)
    out.flat[5] = value
    return _bridge.wrap(out)


def test_a_wrong_element_is_found_at_the_line_of_the_program() -> None:
    x = mxnp.linspace(1, 2, 50)
    wrong = fault(mxnp.clip, lambda a, *_: with_wrong(a, 1.5))
    with wrong, mxnp.verify() as checks:
        mxnp.sqrt(x)
        with pytest.raises(VerificationError) as caught:
            mxnp.clip(x, 0, 3)
    frames = caught.traceback
    assert "mxnp.clip(x, 0, 3)" in str(frames[-1].statement)
    text = str(caught.value)
    assert text.startswith("clip differs from NumPy\n  at ")
    assert "test_verify.py" in text
    assert "mxnp.clip(x, 0, 3)" in text
    expected = numpy.linspace(1, 2, 50)[5]
    assert (
        f"result[5] is np.float64(1.5), and NumPy's is np.float64({expected})" in text
    )
    apart = abs(1.5 - expected) / numpy.spacing(expected)
    assert f"{apart:.3g} ulp apart, none allowed" in text
    assert "1 of 50 elements differ (dtype float64, shape (50,))" in text
    assert checks.failure is caught.value
    assert checks.verified == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda a, *_: with_wrong(a, -0.0), "is np.float64(-0.0)"),
        (lambda a, *_: with_wrong(a, numpy.nan), "is np.float64(nan)"),
        (lambda a, *_: copied(a).astype("f4"), "has dtype float32"),
        (lambda a, *_: copied(a).reshape(2, 25), "has shape (2, 25)"),
        (lambda a, *_: copied(a)[::-1].copy()[::-1], "has strides (-8,)"),
        (lambda a, *_: copied(a).tolist(), "is a builtins.list"),
    ],
)
def test_each_kind_of_difference_is_found(wrong: Any, message: str) -> None:
    x = mxnp.zeros(50)
    with (
        fault(mxnp.clip, wrong),
        mxnp.verify(),
        pytest.raises(VerificationError, match=re.escape(message)),
    ):
        mxnp.clip(x, 0, 3)


def test_an_exception_that_numpy_does_not_raise() -> None:
    def wrong(*args: Any) -> Any:
        raise ValueError("no")

    with (
        fault(mxnp.clip, wrong),
        mxnp.verify(),
        pytest.raises(VerificationError, match=r"raised ValueError\('no'\), and"),
    ):
        mxnp.clip(mxnp.zeros(50), 0, 3)


def test_an_exception_that_only_numpy_raises() -> None:
    with (
        fault(mxnp.clip, copied),
        mxnp.verify(),
        pytest.raises(
            VerificationError, match="mxnp returned a result, and NumPy raised"
        ),
    ):
        mxnp.clip(mxnp.zeros(50), mxnp.zeros(3), 3)


def test_an_operand_that_is_changed() -> None:
    def wrong(a: Any, *args: Any) -> Any:
        out = numpy.array(a._np_array)
        a[7] = 9
        return _bridge.wrap(out)

    with (
        fault(mxnp.clip, wrong),
        mxnp.verify(),
        pytest.raises(VerificationError, match=r"array 0 after the call\[7\] is .*9"),
    ):
        mxnp.clip(mxnp.zeros(50), 0, 3)


def test_an_array_that_is_not_changed() -> None:
    x = mxnp.zeros(50)
    with (
        fault(vars(mxnp.ndarray)["fill"], lambda a, value: None),
        mxnp.verify(),
        pytest.raises(
            VerificationError, match=r"array 0 after the call\[0\] is .*0\.0"
        ),
    ):
        x.fill(3)


def test_a_sum_that_is_off() -> None:
    x = mxnp.linspace(0, 1, LARGE)
    exact = float(numpy.sum(x._np_array))
    with (
        fault(mxnp.sum, lambda a: numpy.float64(exact * (1 + 1e-11))),
        mxnp.verify(),
        pytest.raises(
            VerificationError, match="more than the order of additions explains"
        ),
    ):
        mxnp.sum(x)


@needs_metal
def test_a_wrong_kernel_is_found() -> None:
    program = """
        import mxnp, mxnp._engine.core as _lib
        right = _lib.kernel_prelude
        wrong = b"\\n#define mx_sqrt(x) ((x) * 1.5f)\\n"
        _lib.use_gpu.__globals__["kernel_prelude"] = lambda kind: right(kind) + wrong
        _lib.use_gpu((0, 0, 0))
        x = mxnp.linspace(1, 2, 1000, dtype="f4")
        with mxnp.verify():
            y = x + x
            z = mxnp.sqrt(y)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"MXNP_DEVICE": "metal", "MXNP_THRESHOLD": "0"},
    )
    assert done.returncode == 1
    assert "mxnp.VerificationError: sqrt differs from NumPy" in done.stderr
    assert "1000 of 1000 elements differ (dtype float32" in done.stderr


# -- Correct operations ----------------------------------------------------------------

NUMBERS = numpy.random.default_rng(3).normal(size=(40, 50))
CALLS = """
x + 1
1 - x
2.0 ** x[0]
x @ x.T
x // 0.3
divmod(x, 0.7)
-x, +x, abs(x), ~(x > 0)
x == x.T[0, 0]
x < [1] * 50
np.sin(x), np.cos(x[::2, ::3])
np.exp(x[:, ::7]), np.log(abs(x.T))
np.arctan2(x, x[::-1])
np.add(x, 1, out=x)
np.add(x[:-1], 1, out=x[1:])
np.add(x, 1, where=x > 0, out=np.zeros_like(x))
np.add.reduce(x, axis=1), np.add.accumulate(x, axis=0), np.add.outer(x[0], x[1])
np.multiply.reduceat(x[0], [0, 5, 9])
np.add.at(x, (np.array([1, 1]), 2), 3.0)
x.sum(), x.mean(0), x.std(axis=1), x.var(), x.prod(), x.cumsum(1)
x.astype("f4").sum()
np.nansum(x), np.nanmean(x, axis=0), np.nanvar(x), np.cumprod(x[0])
(x + 1j * x).sum(), (x + 1j).prod(axis=1), (x + 1j).mean()
x.sort(axis=0), x
np.sort(x), np.argsort(x, kind="stable"), np.unique(x), np.median(x)
x.partition(3)
np.where(x > 0), np.where(x > 0, x, 0), np.nonzero(x > 1), x[x > 0]
x[3], x[-1, 2], x[1:4, ::-1], x[[1, 2]], x[:, None], x[..., 0], x[np.array([1]), [2]]
x.__setitem__(3, 4.5), x.__setitem__((slice(None), 2), x[:, 3])
x.__setitem__([1, 2], 0), x.__setitem__(x > 1, 1)
x.__setitem__((0, 0), [1]), x
x.__iadd__(x), x.__imul__(2), x.__ipow__(2)
x.__setitem__(slice(1, None), x[:-1])
x.T, x.real, x.imag, x.reshape(-1), x.ravel(), x.view("i8"), x.flat[3]
np.concatenate([x, x]), np.stack([x, x]), np.split(x, 2), np.tile(x, 2), np.pad(x, 1)
np.linalg.svd(x), np.linalg.eigh(x.T @ x), np.fft.fft(x), np.einsum("ij,kj", x, x)
np.histogram(x), np.bincount(np.arange(5)), np.searchsorted(x[0], 3)
np.zeros(5), np.ones((2, 3)), np.full(3, 7), np.arange(5), np.linspace(0, 1), np.eye(3)
np.array([1, 2]), np.array([[1.5], [2]]), np.asarray(x), np.copy(x)
np.array(["a", "bc"]) == "a", np.char.upper(np.array(["a"])), np.strings.add("a", "b")
np.array(["2024-01-01", "NaT"], "M8[D]") + 1
np.array([1, 2.5, "x", None], object) * 2
np.array([(1, 2.0)], "i4,f8")["f1"]
np.r_[1:4, 7], np.mgrid[:3, :2], np.ix_([1, 2], [3])
np.isnan(x), np.isfinite(x).all(), (x > 0).any(), np.allclose(x, x)
bool(x[0, 0] > 0), int(x[0, 0]), float(np.array(2.5)), 3.0 in x, len(x), list(x[0, :3])
x.tolist(), x.item(0), x.tobytes(), x.dtype, x.shape
np.log(x)
1 / np.zeros(3)
np.int8(127) + np.ones(3, "i1")
np.put(x, [1, 2], 0), np.copyto(x, 1), np.place(x, x > 0, 2), np.fill_diagonal(x, 4), x
x.byteswap().newbyteorder() if hasattr(x, "newbyteorder") else x.byteswap()
np.polyfit(np.arange(5), np.arange(5) ** 2, 2), np.convolve(x[0], x[1]), np.interp(0.5, [0, 1], [2, 3])
np.float16(x), x.astype("e") * 3, np.longdouble(1) * x
x[:0] + 1, x[:, :0].sum()
np.broadcast_to(x[0], (40, 50)) + 1
""".strip().splitlines()
ERRORS = """
x + np.zeros(3)
x[99]
x[0, 0, 0]
x[[1, 99]]
x.__setitem__(99, 1)
x.__setitem__(0, [1, 2])
x.__setitem__((0, 0), "a")
x.reshape(7)
x.sum(axis=5)
np.concatenate([x, x[0]])
bool(x)
x + "a"
x @ x
np.add(x, 1, out=np.zeros(3, int))
np.linalg.inv(np.zeros((2, 2)))
x < object()
np.sin("a")
np.sum(x, nothing=1)
x.nothing
np.int8(3) + np.array([300], "i1") + 300
""".strip().splitlines()


def call(text: str, xp: Any) -> Any:
    """Evaluate an expression; return its result or exception, and its x afterwards."""
    x = xp.array(NUMBERS)
    try:
        result = eval(text, {"np": xp, "x": x})
    except Exception as error:
        return type(error), str(error)
    return repr(result), repr(x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("threshold", [0, 2**14])
@pytest.mark.parametrize("text", [*CALLS, *ERRORS])
def test_verified_calls_do_the_same(text: str, threshold: int) -> None:
    _bridge.set_threshold(threshold)
    plain = call(text, mxnp)
    with mxnp.verify() as checks:
        verified = call(text, mxnp)
    # A cast and a sum run on the processor together, but the sum alone on the device.
    assert verified == plain or (ON_GPU and text == 'x.astype("f4").sum()')
    assert checks.verified >= 1  # at least the copy of x
    assert checks.failure is None


@needs_metal
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", [*CALLS, *ERRORS])
def test_calls_on_a_device(text: str) -> None:
    with mxnp.device("metal"), mxnp.verify() as checks:
        x = mxnp.array(NUMBERS.astype("f4"))
        with contextlib.suppress(
            ValueError, IndexError, TypeError, AttributeError, ArithmeticError
        ):
            eval(text, {"np": mxnp, "x": x})
    assert checks.failure is None


def test_a_small_and_a_large_sine() -> None:
    x = mxnp.linspace(0, 100, LARGE)
    with mxnp.verify() as checks:
        y = mxnp.sin(x)
    different = numpy.sin(x._np_array) != y._np_array
    assert different.any()  # the native loop differs within the tolerance
    assert checks.verified == 1


@pytest.mark.parametrize("name", ["exp", "log", "tan", "arctan", "cbrt", "float_power"])
def test_other_loops_of_numpy(name: str) -> None:
    rng = numpy.random.default_rng(1)
    x = mxnp.array(rng.random((300, 301)))
    args = (1.7,) if name == "float_power" else ()
    with mxnp.verify() as checks:
        for view in (x, x.T, x[::2, ::3], x[::-1, ::-1], x[:, 1:7]):
            getattr(mxnp, name)(view, *args)
    assert checks.failure is None


# -- Aliases ---------------------------------------------------------------------------


def test_operands_that_share_memory_share_it_in_the_copies() -> None:
    x = mxnp.arange(20.0)
    with mxnp.verify() as checks:
        mxnp.add(x[:-1], x[1:], out=x[1:])
        x[2:] = x[:-2]
        x += x[::-1]
        mxnp.multiply(x, x, out=x)
    y = numpy.arange(20.0)
    numpy.add(y[:-1], y[1:], out=y[1:])
    y[2:] = y[:-2]
    y += y[::-1]
    numpy.multiply(y, y, out=y)
    assert x.tolist() == y.tolist()
    assert checks.failure is None


def test_numpys_arrays_and_shares() -> None:
    memory = numpy.arange(10.0)
    x = mxnp.asarray(memory)
    with mxnp.verify() as checks:
        mxnp.add(x, memory[::-1], out=memory)
    assert memory.tolist() == [9.0] * 10
    assert checks.verified == 1


# -- Side effects ----------------------------------------------------------------------


def test_random_streams_go_on() -> None:
    def stream() -> Any:
        rng = mxnp.random.default_rng(5)
        state = mxnp.random.RandomState(5)
        return [rng.random(3).tolist(), state.rand(2).tolist(), rng.normal()]

    plain = stream()
    with mxnp.verify() as checks:
        assert stream() == plain
    assert checks.skipped["random numbers"] == 3


def test_functions_of_the_program_are_called_once() -> None:
    calls = []

    def double(x: Any) -> Any:
        calls.append(x)
        return x * 2

    x = mxnp.arange(3.0)
    with mxnp.verify() as checks:
        mxnp.apply_along_axis(double, 0, x)
        mxnp.vectorize(double, otypes="d")(x)
        mxnp.frompyfunc(double, 1, 1)(x)
        mxnp.fromfunction(double, (2,))
    assert len(calls) == 1 + 3 + 3 + 1
    assert checks.failure is None


def test_iterators_and_files_are_read_once(tmp_path: Path) -> None:
    numbers = iter([1.0, 2.0])
    with mxnp.verify() as checks:
        assert mxnp.fromiter(numbers, float).tolist() == [1, 2]
        mxnp.save(tmp_path / "x.npy", mxnp.arange(3))
        with (tmp_path / "x.npy").open("rb") as file:
            assert mxnp.load(file).tolist() == [0, 1, 2]
        with (tmp_path / "raw").open("wb+") as file:
            mxnp.arange(3.0).tofile(file)
            file.seek(0)
            assert mxnp.fromfile(file).tolist() == [0, 1, 2]
    assert checks.failure is None


def test_objects_of_the_program_are_used_once() -> None:
    class Counting:
        used = 0

        def __add__(self, other: Any) -> Any:
            Counting.used += 1
            return self

        __radd__ = __add__

    x = mxnp.array([Counting(), Counting()], object)
    with mxnp.verify() as checks:
        x + 1
        assert Counting.used == 2
        mxnp.arange(2) + Counting()
        assert Counting.used == 4
    assert checks.failure is None


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_subclasses() -> None:
    class Mine(mxnp.ndarray):  # type: ignore[misc]
        made = 0

        def __array_finalize__(self, other: Any) -> None:
            Mine.made += 1

    def work() -> int:
        x = mxnp.arange(4.0).view(Mine)
        Mine.made = 0
        y = mxnp.arange(4.0) + x
        assert type(y) is Mine
        assert type(mxnp.sin(y)) is Mine
        mxnp.ma.array([1.0, 2], mask=[0, 1]) + mxnp.arange(2)
        mxnp.matrix([[1, 2]]) * 2
        return Mine.made

    plain = work()
    with mxnp.verify() as checks:
        assert work() == plain
    assert checks.failure is None
    assert checks.skipped["arguments of other classes"] >= 2


def test_warnings_come_once_at_the_line_and_as_often() -> None:
    def work() -> list[tuple[str, int]]:
        x = mxnp.zeros(4)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(3):
                1 / x
            mxnp.mean(mxnp.array([]))
            mxnp.log(x - 1)
            mxnp.synchronize()
        return sorted((str(each.message), each.lineno) for each in caught)

    plain = work()
    with mxnp.verify() as checks:
        assert work() == plain
    assert len(plain) >= 3
    assert checks.failure is None


def test_filters_are_left_as_they_were() -> None:
    before = list(warnings.filters)  # type: ignore[attr-defined]
    with mxnp.verify():
        mxnp.arange(3) + 1
    assert list(warnings.filters) == before  # type: ignore[attr-defined]


def test_warnings_that_are_errors() -> None:
    with mxnp.verify() as checks, warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            RuntimeWarning, match="divide by zero encountered in divide"
        ):
            1 / mxnp.zeros(4)
    assert checks.failure is None


def test_floating_point_errors_are_compared() -> None:
    with mxnp.verify() as checks, mxnp.errstate(all="raise"):
        with pytest.raises(FloatingPointError, match="divide by zero"):
            1 / mxnp.zeros(4)
        calls = []
        with mxnp.errstate(divide="call", call=lambda *args: calls.append(args)):
            1 / mxnp.zeros(4)
    assert len(calls) == 1
    assert checks.failure is None


def test_an_index_out_of_bounds_that_is_computed() -> None:
    x = mxnp.arange(LARGE)
    with mxnp.verify() as checks:
        index = x * 2
        with pytest.raises(IndexError, match="is out of bounds for axis 0 with size"):
            x[index]
        x[:] = 1  # the program continues
    assert checks.failure is None


def test_fast_mode_gives_up_its_documented_guarantees() -> None:
    x = mxnp.arange(LARGE, dtype=float)
    with mxnp.mode("fast"), mxnp.verify() as checks:
        x.sum()
        x.max() * 2
        x[mxnp.arange(3) * 30000]
    assert checks.failure is None
    assert checks.skipped == {"indices out of bounds in fast mode": 1}


def test_uninitialised_memory_is_not_compared() -> None:
    with mxnp.verify() as checks:
        mxnp.empty(1000)
        mxnp.empty_like(mxnp.arange(1000))
        x = mxnp.arange(1000.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mxnp.add(x, 1, where=x > 500)
    assert checks.failure is None


def test_packages_that_call_numpy_are_verified() -> None:
    x = mxnp.arange(5.0)
    with mxnp.verify() as checks:
        numpy.sin(x)
        numpy.concatenate([x, x])
    assert checks.verified == 2


# -- The switch ------------------------------------------------------------------------


def slots() -> list[Any]:
    return [vars(ndarray).get(name) for name in vars(Array)] + [
        vars(Function)["__call__"]
    ]


def test_hooks_are_removed_with_the_last_watcher() -> None:
    before = slots()
    with mxnp.verify():
        assert slots() != before
        with mxnp.trap_nan():
            pass
        assert slots() != before
    assert slots() == before
    assert "__add__" not in vars(ndarray)


def test_a_part_of_the_operations() -> None:
    def count(fraction: float) -> int:
        x = mxnp.arange(10)
        with mxnp.verify(fraction) as checks:
            for _ in range(400):
                x + 1
        assert checks.verified + checks.skipped["not in the fraction"] == 400
        return checks.verified

    assert count(1) == 400
    assert 20 < count(0.1) < 70
    assert count(0.1) == count(0.1)


@pytest.mark.parametrize("fraction", [0, -1, 1.5, float("nan")])
def test_fractions_that_are_none(fraction: float) -> None:
    with pytest.raises(ValueError, match="fraction must be above 0 and at most 1"):
        mxnp.verify(fraction)


def test_threads_are_watched() -> None:
    x = mxnp.arange(100.0)

    def work() -> None:
        for _ in range(20):
            mxnp.sin(x).sum()

    with mxnp.verify() as checks:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert checks.verified == 4 * 20 * 2
    assert checks.failure is None


def test_calls_of_other_blocks_are_not_counted() -> None:
    x = mxnp.arange(3)
    with mxnp.trap_nan():
        x + 1
    with mxnp.verify() as checks:
        x + 1
    assert checks.verified == 1


def test_str_counts_operations() -> None:
    with mxnp.verify() as checks:
        mxnp.arange(3) + 1
        mxnp.random.random(3)
    assert str(checks) == "2 operations verified, 1 not (random numbers: 1)"


# -- Checks without the watchers -------------------------------------------------------

WRONG = {
    "__add__": ("x + 1", lambda a, b: a + b + 1),
    "__radd__": ("1 + x", lambda a, b: a + b * 2),
    "__rsub__": ("1 - x", lambda a, b: b - a),
    "__iadd__": ("x.__iadd__(1)", lambda a, b: operator.iadd(a, b + 1)),
    "__imul__": ("y[:, ::2].__imul__(3)", lambda a, b: operator.imul(a, -b)),
    "__neg__": ("-x", lambda a: +a),
    "__lt__": ("x < 3", lambda a, b: a <= b),
    "__float__": ("float(x[3:4].reshape(()))", lambda a: float(a) + 1),
    "__bool__": ("bool(x[3:4])", lambda a: False),
    "__getitem__": ("x[2]", lambda a, key: a[key + 1]),
    "__setitem__": ("y.__setitem__((1, slice(None, None, 2)), 5.0)", lambda a, key, value: None),
    "__matmul__": ("x @ x", lambda a, b: a @ b + 1),
    "__contains__": ("3.0 in x", lambda a, b: b not in a),
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the operations for which the watcher is called."""
    names: list[str] = []
    begin = mxnp.verify.begin

    def counted(self: Any, operation: Any) -> Any:
        names.append(operation.name)
        return begin(self, operation)

    monkeypatch.setattr(mxnp.verify, "begin", counted)
    return names


@pytest.mark.parametrize("slot", WRONG)
def test_operators_are_compared(
    slot: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mxnp._verify import hooks

    text, wrong = WRONG[slot]
    name = hooks._SLOTS[slot][0]

    def evaluate() -> Any:
        y = mxnp.arange(24.0).reshape(4, 6)
        names = {"x": mxnp.arange(8.0), "y": y}
        with mxnp.verify():
            return eval(text, names), y.tolist()

    evaluate()
    assert asked == []
    monkeypatch.setitem(hooks._SLOTS, slot, (name, wrong, None))
    if slot not in (
        "__getitem__",
        "__setitem__",
    ):  # for which the watcher compares views
        with pytest.raises(VerificationError, match="differs from NumPy"):
            evaluate()
    else:
        evaluate()
    assert set(asked) == {name}


SMALL = """
for k in range(5):
    x = np.sqrt(x * x + 1) - 0.5 * x
    x += y[1]
    y[:, ::2] *= 1.5
    y[::-1, 1] = x[:4]
    y[0, 1] = 0.5 * (y[1, 0] + y[2, 2])
    y[k % 4] = np.maximum(y[k % 4], x)[::-1]
    total = y.sum(axis=0) + np.dot(x, x) + y.mean() + x[2] + float(x[1])
    order = np.argsort(y, axis=1)
    y.sort(axis=0)
    z = np.where(y > 1, y, -y).T.reshape(3, 8)[:, [1, 2]]
    stacked = np.concatenate([x, z.ravel()]).astype("f4") / np.float32(3)
    x = np.clip(x, 0, 1) + stacked[:6]
"""


def test_small_arrays_do_not_need_the_watchers(asked: list[str]) -> None:
    """A call of a watcher takes 0.1 ms, a hundred times as long as an operation."""

    def outcome(np: Any) -> Any:
        names = {"np": np, "x": np.arange(6.0), "y": np.arange(24.0).reshape(4, 6)}
        exec(SMALL, names)
        return [
            numpy.asarray(names[key]) for key in ("x", "y", "z", "total", "stacked")
        ]

    with mxnp.verify() as checks:
        found = outcome(mxnp)
    assert checks.failure is None
    assert checks.verified > 150
    assert asked == []
    for ours, theirs in zip(found, outcome(numpy), strict=True):
        assert numpy.array_equal(ours, theirs)


def test_calls_that_differ_in_the_last_bits_leave_the_program_as_it_is() -> None:
    """They are computed by NumPy three times, in the arrays of the program themselves."""
    x = mxnp.linspace(0.1, 2, 20_000)
    y = x[::2]
    with mxnp.verify() as checks:
        for _ in range(3):
            mxnp.sin(y, out=y)
            y -= mxnp.cos(y) * x[1::2]
    assert checks.failure is None
    z = mxnp.linspace(0.1, 2, 20_000)
    w = z[::2]
    for _ in range(3):
        mxnp.sin(w, out=w)
        w -= mxnp.cos(w) * z[1::2]
    assert numpy.asarray(x).tobytes() == numpy.asarray(z).tobytes()


def test_the_first_calls_of_each_operation_are_in_every_fraction() -> None:
    x = mxnp.arange(10.0)
    with mxnp.verify(0.01) as checks:
        for _ in range(500):
            x * 2
        mxnp.sqrt(x)
    assert 11 <= checks.verified < 40
    assert checks.verified + checks.skipped["not in the fraction"] == 501
    assert str(checks).endswith(
        "; each of the 2 operations was verified in its first 10 calls and in 1% of the others"
    )


@pytest.mark.slow
def test_a_fraction_in_per_cent() -> None:
    done = run(
        "--verify=1%",
        "-c",
        "import numpy as np\nfor i in range(2000): np.arange(3) + 1",
    )
    assert done.returncode == 0
    assert "operations verified, " in done.stderr
    assert "in its first 10 calls and in 1% of the others" in done.stderr


# -- The command line ------------------------------------------------------------------


def test_a_clean_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import numpy as np\nprint((np.arange(3) + 1).sum())\n")
    done = run("--verify", str(program))
    assert done.returncode == 0
    assert done.stdout == "6\n"
    assert done.stderr == "python -m mxnp: 3 operations verified\n"


@pytest.mark.slow
def test_the_status_of_a_program_stays(tmp_path: Path) -> None:
    done = run("--verify=0.5", "-c", "import numpy, sys; numpy.arange(3); sys.exit(7)")
    assert done.returncode == 7
    assert done.stderr.startswith("python -m mxnp: ")


FAULTY = """
import numpy as np, sys
ours = sys.modules["mxnp"]
ours.clip.implementation = lambda a, *_: a + 1
ours.clip.threshold_factor = 1
x = np.zeros(50)
try:
    y = np.clip(x, 0, 1)
except {caught}:
    print("caught")
"""


@pytest.mark.slow
@pytest.mark.parametrize("caught", ["ValueError", "Exception"])
def test_a_program_that_differs_fails(tmp_path: Path, caught: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(FAULTY.format(caught=caught))
    done = run("--verify", str(program), MXNP_THRESHOLD="0")
    assert done.returncode == 1
    assert f"at {program}:8: y = np.clip(x, 0, 1)" in done.stderr
    assert "clip differs from NumPy" in done.stderr
    assert "_verify.py" not in done.stderr
    assert "verified" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "option", ["--verify=", "--verify=2", "--verify=x", "--verify=0%"]
)
def test_wrong_options_are_refused(option: str) -> None:
    done = run(option, "-c", "pass")
    assert done.returncode == 2
    assert "expected a number above 0, at most 1" in done.stderr


# -- The table -------------------------------------------------------------------------


def test_the_table_of_the_docs() -> None:
    text = (ROOT / "docs" / "metal.md").read_text(encoding="utf-8")
    table = text.partition("<!-- bounds:")[2].partition("<!-- end of bounds -->")[0]
    rows = re.findall(r"^\| (\w+) \| [^|]* \| (\d+)(.*?) \|$", table, re.MULTILINE)
    found = {name: int(bound) for name, bound, _ in rows}
    exact = {name for name, bound in tolerances.GPU.items() if bound == 0}
    known = tolerances.GPU | tolerances.CANCELLING
    degrees = {"deg2rad", "degrees", "rad2deg", "radians"}
    of_doubles = {"float_power"}  # which Metal lacks
    others = exact | degrees | of_doubles
    assert found == {k: v for k, v in known.items() if k not in others}


def test_every_operator_is_watched() -> None:
    from mxnp._verify import hooks

    unwatched = {
        *("__new__", "__repr__", "__str__", "__hash__", "__iter__", "__len__"),
        *("__delitem__", "__ne__", "__doc__", "__module__", "__weakref__"),
        *("__buffer__", "__release_buffer__"),  # in Python 3.12 and later
    }
    operators = {
        name
        for name, member in vars(Array).items()
        if name.startswith("__") and type(member).__name__ == "wrapper_descriptor"
    }
    assert operators - unwatched <= set(hooks._SLOTS)
    assert set(hooks._SLOTS) <= set(vars(Array))


def test_nested_operations_are_not_watched() -> None:
    from mxnp._verify.hooks import Operation, Watcher

    names: list[str] = []

    class Listing(Watcher):
        def begin(self, operation: Operation) -> None:
            names.append(operation.name)

    x = mxnp.arange(100.0)
    with Listing(everywhere=False):
        mxnp.var(x)
        x.at[3].add(2.0)
        thread = threading.Thread(target=mxnp.sin, args=(x,))
        thread.start()
        thread.join()
    assert names[0] == "var"
    assert "sin" not in names  # of another thread
    assert list(itertools.islice(names, 1, 2)) == ["ndarray.copy"]


HAS_VECTORCALL = 1 << 11  # a flag of classes


def test_calls_are_as_fast_after_verification() -> None:
    with mxnp.verify():
        pass
    for each in (Function, _bridge.Method, mxnp.ufunc):
        assert each.__flags__ & HAS_VECTORCALL
    with pytest.raises(TypeError, match="Concatenation operation is not implemented"):
        operator.concat(mxnp.ones(3), mxnp.ones(3))
