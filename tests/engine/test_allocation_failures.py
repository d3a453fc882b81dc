"""Refuse each memory request of a program: it raises MemoryError and loses nothing."""

from __future__ import annotations

import ctypes
import gc
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy
import pytest
from support.lanes import ON_CUDA, ON_GPU
from support.metal import HOST

import mxnp
from mxnp import _bridge
from mxnp._engine import core

SIZE = 40000
SHAPE = (200, 200)
ALWAYS = 1 << 40
REPEATS = 4

# The most bytes that a GPU with its own memory keeps, once a kernel has reported something.
STATUS_WORDS = 32768 if ON_CUDA else 0

# NumPy's message for an array, and the core's messages for its own memory.
MESSAGES = re.compile(
    r"Unable to allocate \S+ \S+ for an array with shape|Unable to allocate \d+ bytes"
    r"|unable to (begin|compile|count|hold|keep|look|plan|record|reduce|search) |"
    r"Metal cannot use a buffer|$"
)


def numbers(xp: Any, dtype: str = "float32") -> Any:
    """Return numbers whose sums and products are exact, whatever their order."""
    return xp.asarray((numpy.arange(SIZE) * 7 % 23).reshape(SHAPE).astype(dtype))


def indices(xp: Any) -> Any:
    return xp.asarray(numpy.arange(SIZE) * 13 % 200)


@dataclass(frozen=True)
class Program:
    """Two functions: `make` returns operands, and `run` computes a result with them."""

    name: str
    run: Callable[..., Any]
    make: Callable[[Any], tuple[Any, ...]] = lambda xp: (numbers(xp), numbers(xp) + 1)


def masked(xp: Any) -> tuple[Any, ...]:
    x = numbers(xp)
    return x, x > 11


def indexed(xp: Any) -> tuple[Any, ...]:
    return numbers(xp), indices(xp)


def mixed(xp: Any) -> tuple[Any, ...]:
    return numbers(xp, "int32"), numbers(xp, "float64")


def in_place(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return a program that changes and returns its first operand."""

    def run(xp: Any, x: Any, *others: Any) -> Any:
        operation(xp, x, *others)
        return x

    return run


def set_item(key: Any) -> Callable[..., Any]:
    return in_place(lambda xp, x, *others: x.__setitem__(key, 3))


def profiled(xp: Any, x: Any, y: Any) -> Any:
    if xp is numpy:
        return x * y + 1
    with mxnp.profile():
        return (x * y + 1) + 0


def threaded(xp: Any, x: Any, y: Any) -> Any:
    """Compute in two threads, and raise the first error of either."""
    results: list[Any] = [None, None]
    errors: list[BaseException] = []

    def work(i: int) -> None:
        try:
            results[i] = (x * y + i).sum(axis=i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def use_threads(xp: Any, x: Any, y: Any) -> Any:
    """Compute while the workers of the pool have not started, as in a new process."""
    if xp is numpy:
        return xp.sqrt(x * x) + y
    before = mxnp.set_num_threads(3)
    try:
        return xp.sqrt(x * x) + y
    finally:
        mxnp.set_num_threads(before)


PROGRAMS = [
    Program("fused", lambda xp, x, y: (x * y + 1) * 2 - x),
    Program("several results", lambda xp, x, y: (x + y, x * y, (x - y) * 2)),
    Program("two outputs", lambda xp, x, y: xp.divmod(x, y)),
    Program("broadcast", lambda xp, x, y: x + y[:, :1] * y[0]),
    Program("transposed", lambda xp, x, y: x.T * y + x[::-1]),
    Program("promoted", lambda xp, x, y: x * y + 2, mixed),
    Program("cast", lambda xp, x, y: (x.astype("float64") + 1).astype("int16")),
    Program("where", lambda xp, x, y: xp.where(x > y - 3, x, y)),
    Program("clip", lambda xp, x, y: xp.clip(x * 2, 3, 17)),
    Program("scalar", lambda xp, x, y: float((x * y).sum())),
    Program("lent", lambda xp, x, y: [xp.sum(t := x * y), t][1]),
    Program("lent to a mean", lambda xp, x, y: xp.mean((x - y) * 4, axis=1)),
    Program("reduced rows", lambda xp, x, y: (x * y).sum(axis=1)),
    Program("reduced columns", lambda xp, x, y: (x + y).max(axis=0)),
    Program(
        "reduced in segments",
        lambda xp, x: (x * 2).sum(),
        lambda xp: (xp.ones(600000),),
    ),
    Program("variance", lambda xp, x, y: (x > y).any() or xp.var(x) > 0),
    Program("scan", lambda xp, x, y: xp.cumsum(x + y, axis=1)),
    Program("argmax", lambda xp, x, y: (x + y).argmax(axis=1)),
    Program("arange", lambda xp: xp.arange(SIZE) * 2, lambda xp: ()),
    Program("full", lambda xp: xp.full(SHAPE, 3.0) + xp.zeros(SHAPE), lambda xp: ()),
    Program("empty", lambda xp: [xp.empty(SHAPE), None][1], lambda xp: ()),
    Program("copy", lambda xp, x, y: (x.copy(), (y + 1).copy())),
    Program("concatenate", lambda xp, x, y: xp.concatenate([x + 1, y * 2])),
    Program("gather", lambda xp, x, i: x[i] + 1, indexed),
    Program("gather computed", lambda xp, x, i: x[(i * 3) % 200], indexed),
    Program("gather two", lambda xp, x, i: x[i, i[::-1]], indexed),
    Program("take", lambda xp, x, i: xp.take(x, i, axis=1, mode="wrap"), indexed),
    Program(
        "search", lambda xp, x, i: xp.searchsorted(xp.arange(200.0), x.ravel()), indexed
    ),
    Program("mask", lambda xp, x, m: x[m], masked),
    Program("nonzero", lambda xp, x, m: m.ravel().nonzero(), masked),
    Program("compress", lambda xp, x, m: x[m[:, 0]], masked),
    Program(
        "at add",
        lambda xp, x, i: x.at[i].add(1) if xp is mxnp else at_add(x, i),
        indexed,
    ),
    Program("bincount", lambda xp, x, i: xp.bincount(i), indexed),
    Program(
        "add.at", in_place(lambda xp, x, i: xp.add.at(x, (i, 0), x[0, 0] + 1)), indexed
    ),
    Program("maximum.at", in_place(lambda xp, x, i: xp.maximum.at(x, i, 5)), indexed),
    Program("scatter", in_place(lambda xp, x, i: x.__setitem__(i, 4)), indexed),
    Program(
        "scatter own", in_place(lambda xp, x, i: x.__setitem__(i[:200], x)), indexed
    ),
    Program("masked fill", in_place(lambda xp, x, m: x.__setitem__(m, 3)), masked),
    Program(
        "masked values", in_place(lambda xp, x, m: x.__setitem__(m, x[m] * 2)), masked
    ),
    Program("fill", set_item(...)),
    Program("fill a view", set_item((slice(None), slice(0, 100)))),
    Program("assign", in_place(lambda xp, x, y: x.__setitem__(slice(None), y * 2))),
    Program(
        "assign overlap",
        in_place(lambda xp, x, y: x.__setitem__(slice(1, None), x[:-1])),
    ),
    Program("in place", in_place(lambda xp, x, y: x.__iadd__(y))),
    Program(
        "in place cast", in_place(lambda xp, x, y: x.__iadd__(y.astype("float64")))
    ),
    Program(
        "in place overlap", in_place(lambda xp, x, y: xp.add(x[1:], x[:-1], out=x[1:]))
    ),
    Program("out", in_place(lambda xp, x, y: xp.multiply(y, 2, out=x))),
    Program("matmul", lambda xp, x, y: (x + 1) @ y),
    Program("sort", lambda xp, x, y: xp.sort(x + y, axis=1)),
    Program("sort of a row", lambda xp, x, y: xp.sort((x + y).ravel(), kind="stable")),
    Program("sort of columns", in_place(lambda xp, x, y: x.sort(0))),
    Program("lexsort", lambda xp, x, y: xp.lexsort((y.ravel(), x.ravel()))),
    Program("threads", threaded),
    Program("thread pool", use_threads),
    Program("profile", profiled),
    Program("half", lambda xp, x, y: x.astype("float16") + y.astype("float16")),
    Program("complex", lambda xp, x, y: xp.abs(x.astype("complex64") * 1j)),
]


def at_add(x: Any, i: Any) -> Any:
    out = x.copy()
    numpy.add.at(out, i, 1)
    return out


@pytest.fixture(autouse=True)
def everything_is_recorded() -> Iterator[None]:
    before = _bridge.set_threshold(min(_bridge.get_threshold(), 1000))
    limit = mxnp.set_memory_limit(0)  # every block is requested from the system
    mxnp.synchronize()
    gc.collect()
    gc.freeze()  # later collections are fast
    yield
    core.refuse_memory(0, 0)
    mxnp.set_memory_limit(limit)
    _bridge.set_threshold(before)


def read(result: Any) -> Any:
    """Wait for a result and return it as NumPy arrays."""
    if isinstance(result, list | tuple):
        return [read(item) for item in result]
    return numpy.array(result) if isinstance(result, mxnp.ndarray) else result


def assert_equal(ours: Any, numpys: Any) -> None:
    if isinstance(numpys, list | tuple):
        assert len(ours) == len(numpys)
        for mine, theirs in zip(ours, numpys, strict=True):
            assert_equal(mine, theirs)
    elif numpys is not None:
        assert numpy.asarray(ours).dtype == numpy.asarray(numpys).dtype
        numpy.testing.assert_array_equal(ours, numpys)


class Expected:
    """NumPy's result, and the operands before and after."""

    def __init__(self, program: Program) -> None:
        operands = program.make(numpy)
        self.before = [operand.copy() for operand in operands]
        self.result = program.run(numpy, *operands)
        self.after = operands

    def check_operands(self, operands: Any) -> None:
        """Check that each operand is either unchanged or complete."""
        for operand, before, after in zip(
            operands, self.before, self.after, strict=True
        ):
            values = read(operand)
            assert values.dtype == before.dtype
            assert (values == before).all() or (values == after).all()


def fail_at(program: Program, expected: Expected, n: int, count: int) -> int:
    """Run a program with requests refused from the n-th on; return their number."""
    operands = program.make(mxnp)
    mxnp.synchronize()
    holders = [sys.getrefcount(operand) for operand in operands]
    result, message = None, None
    core.refuse_memory(n, count)
    try:
        result = read(program.run(mxnp, *operands))
    except MemoryError as error:
        message = str(error)
    finally:
        refused = core.refuse_memory(0, 0)
    if message is None:
        assert_equal(result, expected.result)
    else:
        assert refused > 0
        assert MESSAGES.match(message), message
    result = None
    gc.collect()
    mxnp.synchronize()  # runs the queue again
    expected.check_operands(operands)
    assert [sys.getrefcount(operand) for operand in operands] == holders
    return refused


class HeapInfo(ctypes.Structure):
    """struct mallinfo2 of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("_1", "_2", "_3", "_4", "mapped", "_5", "_6", "used", "_7", "_8")
    ]


def heap_size() -> int:
    """
    Return the bytes in use by malloc, or 0 if the C library does not report them.

    The Metal emulator defers releases, so its live objects are counted instead.
    """
    if ON_GPU and HOST:
        return 64 * HOST.live_objects
    try:
        read_info = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return 0
    read_info.restype = HeapInfo
    info = read_info()
    return int(info.used + info.mapped)


def growth(program: Program, expected: Expected, n: int) -> int:
    """Return the bytes that repeated failures leave behind.

    A leak grows with each failure, whereas Python's caches grow once.
    """
    mxnp.clear_cache()  # frees the array objects that are kept for later results
    before = heap_size()
    for _ in range(REPEATS):
        fail_at(program, expected, n, ALWAYS)
    mxnp.clear_cache()
    return heap_size() - before


def check_next() -> None:
    x = mxnp.arange(SIZE, dtype="float64")
    assert float((x * 2 + 1)[x > 3].sum()) == float(
        (numpy.arange(4, SIZE) * 2.0 + 1).sum()
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("count", [1, 2, ALWAYS], ids=["once", "twice", "from then on"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_request_is_refused(program: Program, count: int) -> None:
    expected = Expected(program)
    assert_equal(read(program.run(mxnp, *program.make(mxnp))), expected.result)
    check_next()
    gc.collect()
    before = mxnp.memory_info()["in_use"]
    n, refused = 0, 1
    while refused > 0:
        refused = fail_at(program, expected, n, count)
        check_next()
        assert _bridge.pending() == 0
        kept = mxnp.memory_info()["in_use"] - before
        assert 0 <= kept <= STATUS_WORDS, f"after the failure of request {n}"
        n += 1
    assert n > 1, "nothing was asked of the system"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "program",
    # Stacks of threads make the size of the heap vary.
    [program for program in PROGRAMS if program.run is not threaded],
    ids=lambda program: program.name,
)
def test_nothing_leaks(program: Program) -> None:
    expected = Expected(program)
    n = 0
    while fail_at(program, expected, n, ALWAYS) > 0:
        grown = (growth(program, expected, n) for _ in range(3))
        assert any(each < 16 * REPEATS for each in grown), f"after request {n} failed"
        n += 1


def test_memory_error_has_numpys_message() -> None:
    x = mxnp.ones((300, 1000)) + 1
    mxnp.synchronize()
    y = x * 2
    core.refuse_memory(0, ALWAYS)
    with pytest.raises(MemoryError) as refusal:
        float(y[0, 0])
    assert core.refuse_memory(0, 0) > 0
    message = "Unable to allocate 2.29 MiB for an array with shape (300, 1000)"
    assert str(refusal.value) == f"{message} and data type float64"
    assert refusal.type is numpy._core._exceptions._ArrayMemoryError
    assert float(y[0, 0]) == 4
