"""Test small operations in threads, with signals, and under reports and verification.

They are computed without NumPy's calls, from a list of arrays that are used again: see
docs/design/14-small-arrays.md.
"""

from __future__ import annotations

import itertools
import json
import pickle
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from conftest import VERIFY
from support.lanes import ON_CUDA
from support.processes import end_of
from support.tolerances import near

import mxnp

needs_timers = pytest.mark.skipif(
    not hasattr(signal, "setitimer") or VERIFY,
    reason="needs interval timers, and operations that are not verified",
)


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Let threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_reshape_to_the_same_shape_keeps_the_strides(xp: Any) -> Any:
    """The stride of an axis of one element may be any number."""
    x = xp.ones((4, 4), "f2")[:, 1:2].copy("K")[:, :1]
    columns = xp.ones((4, 1), order="F"), xp.ones((1, 4)).T, xp.ones((4, 4))[::4]
    return [
        (
            a.reshape(*a.shape).strides,
            a.reshape(a.shape).strides,
            a.reshape(-1, 1).strides,
        )
        for a in (x, *columns)
    ]


# -- Numbers --------------------------------------------------------------------------

KINDS = (
    "bool int8 uint8 int32 int64 uint64 float16 float32 float64 complex64 complex128"
)
NUMBERS = [
    *(getattr(numpy, kind)(v) for kind in KINDS.split() for v in (0, 1, 3)),
    *(numpy.float64(v) for v in (-0.0, 0.3, -2.7, 1e300, numpy.nan, numpy.inf)),
    *(numpy.float32(v) for v in (-0.0, 0.3, -2.7, 1e30, numpy.nan, numpy.inf)),
    *(numpy.complex128(v) for v in (0.13191368791 - 0.94283207275j, -22.6 + 0.353j)),
    *(numpy.complex64(v) for v in (0.2087229 + 0.011081782j, 5.637234 - 9.531998j)),
    *(0, 1, -7, 2**62, 2**63, 2**70, True, 0.7, -0.0, float("inf"), 2 + 3j),
]
PAIRS = [(a, b) for a in NUMBERS for b in NUMBERS]
UFUNCS = [
    name
    for name, x in vars(numpy).items()
    if isinstance(x, numpy.ufunc) and not x.signature and x.nin < 3
]


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """Return the results or the exception of a call, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as error:
            result = type(error), str(error)
    said = [(w.category, str(w.message), w.filename, w.lineno) for w in caught]
    results = result if isinstance(result, tuple) else (result,)
    return [(type(x), repr(x)) for x in results], said


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_of_numbers(name: str) -> None:
    numpys, own = getattr(numpy, name), getattr(mxnp, name)
    calls = [(x,) for x in NUMBERS] if numpys.nin == 1 else PAIRS[:: 1 + len(name) % 3]
    for args in calls:
        is_other = name == "expm1" and isinstance(args[0], (complex, numpy.complex64))
        assert is_other or outcome(own, *args) == outcome(numpys, *args), args


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_of_arrays_without_axes(name: str) -> None:
    numpys, own = getattr(numpy, name), getattr(mxnp, name)
    numbers = [x for x in NUMBERS if isinstance(x, numpy.inexact)]
    for args in itertools.pairwise(numbers):
        one, other = (
            outcome(function, *map(xp.array, args[: numpys.nin]))
            for xp, function in ((numpy, numpys), (mxnp, own))
        )
        assert one == other, args


@pytest.mark.parametrize("kind", [list, tuple])
def test_arrays_of_numbers(kind: Any) -> None:
    for args in ((), *((x,) for x in NUMBERS), *PAIRS, *(p + p for p in PAIRS)):
        own, numpys = mxnp.array(kind(args)), numpy.array(kind(args))
        assert own.dtype == numpys.dtype
        assert own.tobytes() == numpys.tobytes() or own.dtype.hasobject


# -- Threads --------------------------------------------------------------------------

SIZES = (1, 3, 60, 1000)
OPERATIONS: list[Callable[[Any, Any, Any], Any]] = [
    lambda np, a, b: a + b,
    lambda np, a, b: 2.0 * a - b,
    lambda np, a, b: np.sqrt(a) * b,
    lambda np, a, b: a[1:] / b[:-1],
    lambda np, a, b: np.maximum(a, b).sum(),
    lambda np, a, b: a.astype("float32") + np.float32(1),
    lambda np, a, b: np.where(a > b, a, b).copy(),
    lambda np, a, b: list(a[:5]),
    lambda np, a, b: a.reshape(-1, 1) @ b[:1],
    lambda np, a, b: np.zeros(a.size) + a,
]


# Each round waits for the GPU, and threads that switch so often wait for each other.
ROUNDS = 1000 if ON_CUDA else 10_000


def run_threads(*targets: Callable[[], None]) -> None:
    """Run functions in threads until all have returned; raise the first error."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(targets))

    def run(target: Callable[[], None]) -> None:
        start.wait()
        try:
            target()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(each,)) for each in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def operands(seed: int, size: int) -> tuple[Any, Any]:
    rng = numpy.random.default_rng(seed)
    return rng.random(size) + 0.5, rng.random(size) + 0.5


def agree(result: Any, expected: Any) -> bool:
    """Return whether a result has NumPy's bits. A GPU adds in another order."""
    if ON_CUDA:
        return bool(near(result, expected).all())
    return numpy.array_equal(result, expected)


def check_all(rng: random.Random, pairs: list[tuple[Any, Any]], rounds: int) -> None:
    """Compare operations on pairs of mxnp arrays with NumPy's results."""
    inside = [(a._np_array, b._np_array) for a, b in pairs]
    kept: list[tuple[Any, Any]] = []
    for _ in range(rounds):
        number, operation = rng.randrange(len(pairs)), rng.choice(OPERATIONS)
        result = operation(mxnp, *pairs[number])
        kept.append((result, operation(numpy, *inside[number])))
        if len(kept) > 8:
            result, expected = kept.pop(rng.randrange(len(kept)))
            assert agree(result, expected)
    for result, expected in kept:
        assert agree(result, expected)


@pytest.mark.usefixtures("quick_switches")
def test_threads_with_own_arrays() -> None:
    def compute(seed: int) -> None:
        pairs = [operands(seed, size) for size in SIZES]
        own = [(mxnp.array(a), mxnp.array(b)) for a, b in pairs]
        check_all(random.Random(seed), own, ROUNDS)

    run_threads(*(lambda seed=seed: compute(seed) for seed in range(4)))


def export(a: Any, kind: int) -> Any:
    """Return an object through which the memory of a new array can be read."""
    makers = [
        memoryview,
        numpy.asarray,
        numpy.from_dlpack,
        lambda a: numpy.frombuffer(a),
        lambda a: a.__array_interface__ and a,
        lambda a: pickle.loads(pickle.dumps(a, 5)),
        lambda a: a[::2].T,
        lambda a: a.ctypes and a,
    ]
    return makers[kind % len(makers)](a)


@pytest.mark.usefixtures("quick_switches")
def test_threads_with_shared_arrays_while_others_export_results() -> None:
    shared = [tuple(map(mxnp.array, operands(size, size))) for size in SIZES]

    def compute(seed: int) -> None:
        check_all(random.Random(seed), shared, ROUNDS // 2)

    def export_and_free(seed: int) -> None:
        rng = random.Random(seed)
        held: list[tuple[Any, Any]] = []
        for _ in range(ROUNDS // 2):
            a, b = rng.choice(shared)
            kind = rng.randrange(8)
            view = export(a + b, kind)
            expected = a._np_array + b._np_array
            held.append((view, expected[::2] if kind == 6 else expected))
            if len(held) > 6:
                view, expected = held.pop(rng.randrange(len(held)))
                assert numpy.array_equal(numpy.asarray(view), expected)

    def clear() -> None:
        for _ in range(1000):
            mxnp.clear_cache()

    run_threads(
        *(lambda seed=seed: compute(seed) for seed in range(2)),
        *(lambda seed=seed: export_and_free(seed) for seed in range(2)),
        clear,
    )


@pytest.mark.usefixtures("quick_switches")
def test_threads_that_update_rows_of_one_array() -> None:
    c = mxnp.zeros((4, 50))

    def update(row: int) -> None:
        for _ in range(3000):
            c[row] += row + 1.0
            c[row, 0] = c[row, 1]

    run_threads(*(lambda row=row: update(row) for row in range(4)))
    assert c.tolist() == [[3000.0 * (row + 1)] * 50 for row in range(4)]


# -- Signals --------------------------------------------------------------------------


class InterruptionError(Exception):
    pass


@pytest.fixture
def interrupted() -> Iterator[Callable[[float], Any]]:
    """Return a function that starts a timer whose signal raises InterruptionError."""

    def handle(number: int, frame: Any) -> None:
        raise InterruptionError

    before = signal.signal(signal.SIGALRM, handle)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@needs_timers
def test_an_operation_is_done_or_not_begun_after_a_signal(interrupted: Any) -> None:
    rng = random.Random(1)
    a, c = mxnp.ones(60), mxnp.zeros(60)
    for _ in range(60):
        done = 0
        try:
            interrupted(rng.uniform(1e-4, 2e-3))
            while True:
                c += a
                done += 1
                c[:] = mxnp.sqrt(c * c)
                _ = list(c[:3]), c[1:] + c[:-1], c.sum()
        except InterruptionError:
            pass
        assert c.min() == c.max()
        assert done <= c[0] <= done + 1
        c[...] = 0.0
    assert a.tolist() == [1.0] * 60


@needs_timers
def test_a_handler_may_compute(interrupted: Any) -> None:
    a, results = mxnp.arange(60.0), []

    def handle(number: int, frame: Any) -> None:
        results.append((a + a, mxnp.exp(a).sum(), a[1:3] * 2))
        signal.setitimer(signal.ITIMER_REAL, 1e-4)  # no signal comes during the handler

    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 1e-4)
    while len(results) < 50:
        b = a * 3
        assert (b - a - a)._np_array.tolist() == a._np_array.tolist()
    signal.setitimer(signal.ITIMER_REAL, 0)
    x = a._np_array
    for total, exponential, rows in results:
        assert numpy.array_equal(total, x + x)
        assert exponential == numpy.exp(x).sum()
        assert rows.tolist() == [2.0, 4.0]


def test_keyboard_interrupt_ends_a_loop_of_small_operations() -> None:
    program = """
import _thread, signal, threading
import mxnp as np

a = np.ones(60)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may ignore it
threading.Timer(0.2, _thread.interrupt_main).start()
try:
    while True:
        a = a * 1.0 + a[0] - 1.0
except KeyboardInterrupt:
    print(a.tolist() == [1.0] * 60)
"""
    end = end_of("-c", program, seconds=60)
    assert (end.status, end.out.strip()) == (0, "True"), end.err


# -- The lock of the interpreter ------------------------------------------------------


@pytest.mark.parametrize(
    "product", [lambda a, b: a @ b, lambda a, b: a.dot(b), mxnp.dot, mxnp.matmul]
)
def test_large_products_let_other_threads_run(product: Any) -> None:
    """With a long switch interval, another thread runs only if the lock is released."""
    a = mxnp.ones((600, 600))
    is_computing, has_run = threading.Event(), threading.Event()

    def run() -> None:
        is_computing.wait()
        has_run.set()

    before = sys.getswitchinterval()
    thread = threading.Thread(target=run)
    thread.start()
    sys.setswitchinterval(1000)
    try:
        is_computing.set()
        for _ in range(200):  # the system may start the thread late
            result = product(a, a)
            mxnp.synchronize()
            if has_run.is_set():
                break
        seen = has_run.is_set()
    finally:
        sys.setswitchinterval(before)
        thread.join()
    assert seen
    assert result[0, 0] == 600


# -- Reports and verification ---------------------------------------------------------

# Statements, each with the number of operations that verification sees.
STATEMENTS = {
    "a + a": 1,
    "2.0 * a": 1,
    "np.float64(2) * a": 1,
    "a < a": 1,
    "-a": 1,
    "a ** 2": 1,
    "c += 1.0": 1,
    "a @ a": 1,
    "np.sqrt(a)": 1,
    "np.maximum(a, 1.0)": 1,
    "np.add(a, a, out=c)": 1,
    "a.sum()": 1,
    "np.max(a)": 1,
    "p.sum(axis=0)": 1,
    "np.where(m, a, a)": 1,
    "np.concatenate((a, a))": 1,
    "np.zeros(3)": 1,
    "np.array([1.0, 2.0])": 1,
    "a.copy()": 1,
    "a.astype('float32')": 1,
    "a[0]": 1,
    "p[0, 1]": 1,
    "a[1:3]": 1,
    "p[:, 0]": 1,
    "a.T": 1,
    "a.reshape(1, -1)": 1,
    "c[0] = 1.0": 1,
    "c[:] = a": 1,
    "p[0] = a[:3]": 2,
    "[x for x in a]": 6,  # and the end of the iteration
}
NAMES = """
a = np.arange(1.0, 6.0)
c, p, m = np.ones(5), np.ones((3, 3)), a > 2.0
"""


@pytest.mark.parametrize("statement", STATEMENTS)
def test_verification_sees_every_operation(statement: str) -> None:
    names: dict[str, Any] = {"np": mxnp}
    exec(NAMES, names)
    code = compile(statement, "<statement>", "exec")
    for _ in range(3):  # also after results were used again
        exec(code, names)
    with mxnp.verify() as checks:
        exec(code, names)
    assert (checks.verified, dict(checks.skipped)) == (STATEMENTS[statement], {})


def test_reports_count_every_operation(tmp_path: Any) -> None:
    # Views are free, so reports have no rows for them.
    views = {"a[1:3]", "p[:, 0]", "a.T", "a.reshape(1, -1)"}
    statements = [each for each in STATEMENTS if each not in views]
    lines = ["import numpy as np", *NAMES.split("\n"), "for _ in range(10):"]
    first = len(lines) + 1
    lines += [f"    {each}" for each in statements]
    program, report = tmp_path / "program.py", tmp_path / "report.json"
    program.write_text("\n".join(lines))
    command = ("-m", "mxnp", "--report=json", report, program)
    end = end_of(*command, MXNP_THRESHOLD="")
    assert end.status == 0, end.err
    calls: dict[int, int] = {}
    for row in json.loads(report.read_text(encoding="utf-8"))["rows"]:
        calls[row["line"]] = calls.get(row["line"], 0) + row["calls"]
    expected = {first + i: 10 for i in range(len(statements))}
    expected[first + statements.index("[x for x in a]")] = 50
    assert {line: calls.get(line) for line in expected} == expected
