"""Test arrays on a GPU that does not share the processor's memory."""

from __future__ import annotations

import ctypes
import os
import random
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from support.processes import end_of

import mxnp as np
from mxnp import _bridge
from mxnp._engine import core, devices

STAND_IN = os.environ.get("MXNP_CUDA_STAND_IN")
pytestmark = [
    pytest.mark.skipif(
        "cuda" not in np.devices() or not STAND_IN, reason="needs the stand-in for CUDA"
    ),
    pytest.mark.usefixtures("on_metal"),
]

N = 50_000
NBYTES = 8 * N
PER_FLUSH = 64  # the most status words of these programs, which are copied out


@pytest.fixture
def library() -> Any:
    return ctypes.CDLL(STAND_IN)


def copied() -> tuple[int, int]:
    counts = core.gpu_counts()
    return counts["bytes_in"], counts["bytes_out"]


def test_a_program_that_stays_on_the_device_copies_nothing() -> None:
    x = np.ones(N) * 2.0
    np.synchronize()
    before = copied()
    for _ in range(5):
        x = np.sqrt(x * x + 1.0)
        x += 0.5
        np.synchronize()
    into, out = (after - b for after, b in zip(copied(), before, strict=True))
    assert into == 0
    assert out <= 5 * PER_FLUSH
    assert abs(float(x[0]) - 5.5) < 1


NEW_ARRAYS = {
    "sort": np.sort,
    "mask": lambda x: x[x > 1.0],
    "roll": lambda x: np.roll(x, 5),
    "roll of two axes": lambda x: np.roll(x.reshape(100, -1), (3, 4), (0, 1)),
    "concatenate": lambda x: np.concatenate([x, x]),
    "stack": lambda x: np.stack([x, x], axis=1),
    "repeat": lambda x: np.repeat(x, 3),
    "tile": lambda x: np.tile(x, 3),
    "pad": lambda x: np.pad(x, 10),
    "product of matrices": lambda x: x.reshape(200, -1) @ x.reshape(-1, 200),
}


@pytest.mark.parametrize("name", NEW_ARRAYS)
def test_memory_of_new_arrays_is_not_copied(name: str) -> None:
    x = np.sin(np.arange(N) * 1.0) + 1.0
    np.synchronize()
    before = copied()[0]
    y = NEW_ARRAYS[name](x)
    np.synchronize()
    assert copied()[0] == before
    expected = NEW_ARRAYS[name](numpy.asarray(x))
    numpy.testing.assert_allclose(numpy.asarray(y), expected, rtol=1e-12)


def test_a_cast_without_a_copy_stays_on_the_device() -> None:
    x = np.ones(N) * 2.0
    np.synchronize()
    before = copied()[1]
    assert x.astype("float64", copy=False) is x
    assert x.astype("float64", order="C", copy=False) is x
    turned = x.reshape(100, -1).T
    assert turned.astype("float64", order="C", copy=False).flags.c_contiguous
    y = x.astype("float32", copy=False) + 1
    np.synchronize()
    assert copied()[1] - before <= 5 * PER_FLUSH
    assert y.dtype == "float32"
    assert y[7] == 3.0


def test_small_parts_that_numpy_assigns_are_copied() -> None:
    _bridge.set_threshold(16_384)
    x = np.array(numpy.arange(304 * 305.0).reshape(304, 305))
    for shift, axis in ((-1, 1), (1, 1), (3, 0), (-2, 0)):
        rolled = numpy.asarray(np.roll(x, shift, axis=axis))
        expected = numpy.roll(numpy.asarray(x), shift, axis)
        numpy.testing.assert_array_equal(rolled, expected)


def test_elements_of_an_empty_array_that_the_program_writes_are_copied() -> None:
    x = np.empty(N)
    memory = numpy.asarray(x)
    memory[:] = 3.0
    del memory
    x[: N // 2] = np.ones(N // 2) + 1.0
    assert float(x.sum()) == 2.0 * (N // 2) + 3.0 * (N - N // 2)


def test_without_reports_no_status_words_are_copied() -> None:
    x = np.arange(N, dtype=np.int64) + 1
    np.synchronize()
    before = copied()
    y = x * 3
    np.synchronize()
    assert copied() == before
    assert int(y[5]) == 18


def test_status_words_are_cleared_after_a_report() -> None:
    zeros, ones = np.zeros(N) + 0.0, np.zeros(N) + 1.0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        numpy.asarray(1.0 / zeros)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            before = copied()
            y = 1.0 / ones
            np.synchronize()
    assert copied() == before
    assert y[5] == 1.0


def test_an_array_is_copied_once() -> None:
    x = np.ones(N) * 2.0
    np.synchronize()
    before = copied()
    for _ in range(4):
        assert x[7] == 2.0
        assert float(x.max()) == 2.0
    out = copied()[1] - before[1]
    assert NBYTES <= out <= NBYTES + 4 * (PER_FLUSH + 8)
    assert copied()[0] == before[0]
    x[7] = 3.0  # on the processor: the device's elements are old now
    assert float(x.max()) == 3.0


def test_an_arange_is_computed_in_the_kernel_that_adds_it() -> None:
    x = np.arange(3000.0)
    assert float((x + 1).sum()) == 3000 * 3001 / 2


def test_exported_memory_is_current() -> None:
    x = np.ones(N)
    memory = numpy.asarray(x)
    x += 1.0
    assert memory[5] == 2.0
    memory[5] = 9.0
    y = x + 1.0
    assert y[5] == 10.0
    np.multiply(x, 2.0, out=x)
    assert memory[5] == 18.0
    assert memory[6] == 4.0


def test_values_of_a_closed_iterator_are_current() -> None:
    x = np.ones(N) + 1.0
    with np.nditer(x, flags=["external_loop"]) as iterator:
        values = list(iterator)
    x += 1.0
    assert values[0][-1] == 3.0


def test_views_share_the_memory_of_their_base() -> None:
    x = np.zeros((100, 500))
    row, column = x[3], x[:, 4]
    x += 1.0
    row *= 2.0
    column += 5.0
    assert (x[3, 3], x[3, 4], x[5, 4], x[5, 5]) == (2.0, 7.0, 6.0, 1.0)
    row[:] = 0.0
    x += 1.0
    assert row[4] == 1.0
    assert float(x.sum()) == float(x.__array__().sum())


def run_program(xp: Any, seed: int) -> list[Any]:
    """Run random operations, some of them on the processor, on a few arrays."""
    chance = random.Random(seed)
    n = 1000
    arrays = [xp.arange(n, dtype=float) + i for i in range(5)]
    seen = []
    for _ in range(60):
        i, j = chance.randrange(5), chance.randrange(5)
        at = chance.randrange(n)
        x, y = arrays[i], arrays[j]
        match chance.randrange(10):
            case 0:
                arrays[i] = x * 0.5 + y
            case 1:
                x += 1.0
            case 2:
                seen.append(float(x[at]))
            case 3:
                x[at] = -1.0
            case 4:
                x[: n // 2] = y[n // 2 :]
            case 5:
                seen.append(float(x.max()))
            case 6:
                arrays[i] = xp.where(x > y, x - 1.0, y)
            case 7:
                x[x > at] = 3.0
            case 8:
                seen.append(x.tolist()[at])
            case _:
                arrays[i] = x[::-1].copy()
    return seen + [a.tolist() for a in arrays]


def test_the_range_of_indices_is_found_on_the_device_and_kept() -> None:
    i = (np.arange(N) * 7.0 % 100).astype(np.int64)
    np.synchronize()
    before = copied()
    counts = np.bincount(i)
    table = np.sqrt(np.arange(100.0))
    values = table[i]
    np.synchronize()
    assert not any("check" in group.operations for group in core.last_flush())
    into, out = (after - b for after, b in zip(copied(), before, strict=True))
    assert into <= 800
    assert out <= 2 * PER_FLUSH
    expected = numpy.arange(N) * 7 % 100
    numpy.testing.assert_array_equal(counts, numpy.bincount(expected))
    numpy.testing.assert_array_equal(values, numpy.sqrt(expected))
    i[5] = 100
    with pytest.raises(IndexError, match="index 100 is out of bounds"):
        float(table[i].sum())
    with pytest.raises(ValueError, match="negative"):
        np.bincount(i - 1)


# What is computed, and whether the GPU can compute all of it.
OUTSIDE: dict[str, tuple[Callable[..., Any], bool]] = {
    "in place": (lambda xp, a, b: [xp.add(a, b, a), xp.multiply(a, b, a)], True),
    "two arrays": (lambda xp, a, b: [xp.add(a, b, a), xp.subtract(b, a, b)], True),
    "read and written": (lambda xp, a, b: [xp.add(a, b, a), b.copy(), a * 2], True),
    "a part": (lambda xp, a, b: [xp.add(a[2:], b[2:], a[2:])], True),
    "an odd part": (lambda xp, a, b: [xp.add(a[1:], b[1:], a[1:])], False),
    "parts that overlap": (
        lambda xp, a, b: [xp.add(a[2:], b[2:], a[2:]), xp.add(a[:-2], 1, a[:-2])],
        False,
    ),
    "itself turned": (lambda xp, a, b: [xp.add(a, a[::-1], a)], True),
    "a column": (
        lambda xp, a, b: [xp.add(a.reshape(-1, 3)[:, 2], 1, a.reshape(-1, 3)[:, 2])],
        True,
    ),
}


def small_arrays(xp: Any) -> tuple[Any, Any]:
    """Return arrays in memory of NumPy."""
    before = _bridge.set_threshold(2**20)
    try:
        return xp.arange(300.0), xp.ones(300) * 3
    finally:
        _bridge.set_threshold(before)


@pytest.mark.parametrize("name", OUTSIDE)
def test_memory_outside_the_pool_is_written(name: str) -> None:
    compute, is_taken = OUTSIDE[name]
    a, b = small_arrays(np)
    before = core.gpu_counts()
    results = compute(np, a, b)
    np.synchronize()
    after = core.gpu_counts()
    assert (after["declined"] == before["declined"]) == is_taken
    assert after["groups"] > before["groups"] or not is_taken
    expected = [*small_arrays(numpy)]
    results_of_numpy = compute(numpy, *expected)
    for ours, theirs in zip(
        [a, b, *results], [*expected, *results_of_numpy], strict=True
    ):
        numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


@pytest.mark.parametrize("part", [slice(None), slice(2, None), slice(None, None, -1)])
@pytest.mark.parametrize("name", ["add", "maximum", "set"])
def test_elements_outside_the_pool_are_updated(name: str, part: slice) -> None:
    def update(xp: Any, a: Any) -> None:
        i = (xp.arange(N) * 7.0 % 250).astype(xp.int64)
        if name == "set":
            a[part][i] = xp.arange(float(N))
        else:
            getattr(xp, name).at(a[part], i, xp.arange(float(N)) % 11)

    ours, theirs = small_arrays(np)[0], small_arrays(numpy)[0]
    update(np, ours)
    np.synchronize()
    update(numpy, theirs)
    numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


def test_memory_outside_the_pool_is_copied_once_for_a_flush() -> None:
    a, b = small_arrays(np)
    x = np.ones(300)
    np.synchronize()
    before = core.gpu_counts()
    for _ in range(5):
        a += b
        a[::-1] *= x  # another order, so another kernel
    np.synchronize()
    after = core.gpu_counts()
    assert after["groups"] >= before["groups"] + 5
    assert after["command_buffers"] == before["command_buffers"] + 1
    assert after["bytes_in"] == before["bytes_in"] + a.nbytes + b.nbytes
    assert after["bytes_out"] <= before["bytes_out"] + a.nbytes + PER_FLUSH
    assert a.tolist() == [float(i + 15) for i in range(300)]


def test_memory_outside_the_pool_keeps_its_contents_if_the_device_fails(
    library: Any,
) -> None:
    a, b = small_arrays(np)
    a += b
    np.synchronize()
    library.cuda_standin_refuse(b"cuLaunchKernel", 1, 1, 2)  # OUT_OF_MEMORY
    a += b
    a[::-1] *= np.ones(300)
    np.synchronize()
    assert a.tolist() == [float(i + 6) for i in range(300)]


def test_auto_moves_an_array_when_it_was_used_often() -> None:
    n = 2**18
    with np.device("auto"):
        x = np.array(numpy.arange(float(n)))
        y = np.array(numpy.ones(n))
        groups = [core.gpu_counts()["groups"]]
        for _ in range(8):
            assert float((x + y).max()) == n
            groups.append(core.gpu_counts()["groups"])
        assert groups[1] == groups[0]  # a single use is not worth the copies
        assert groups[8] > groups[7]
        z = np.full(n, 2.0)
        assert float((z * 2.0).sum()) == 4.0 * n
        assert core.gpu_counts()["groups"] > groups[8]  # the device made its elements


@pytest.fixture
def _unopened() -> Iterator[None]:
    """As if nothing had initialized the device, which takes four results."""
    core.use_gpu(devices._sizes, opening=4 * NBYTES)
    yield
    core.use_gpu(devices._sizes)


def new_groups() -> int:
    """Return how many groups the device runs for a large result."""
    before = core.gpu_counts()["groups"]
    x = np.ones(N)
    np.synchronize()
    assert x[-1] == 1.0
    return core.gpu_counts()["groups"] - before


@pytest.mark.usefixtures("_unopened")
def test_auto_initializes_the_device_after_enough_work() -> None:
    with np.device("auto"):
        assert not devices.may_use_gpu()
        assert [new_groups() for _ in range(5)] == [0, 0, 0, 1, 1]
        assert devices.may_use_gpu()


@pytest.mark.usefixtures("_unopened")
def test_auto_uses_a_device_that_something_else_initialized() -> None:
    with np.device("auto"):
        assert new_groups() == 0
    with np.device("cuda"):
        assert new_groups() == 1
    with np.device("auto"):
        assert new_groups() == 1


def rim(x: Any) -> Any:
    x[0, :] = x[-2, :]  # few elements of a large array
    x[:, 0] = 0.0
    return x * 2.0


# What the device computes with "auto", with arrays that it made.
STAYS: dict[str, Callable[[Any], Any]] = {
    "few elements": rim,
    "a sum of few": lambda x: (x[:3] * 2.0).sum(axis=1, keepdims=True),
    "a transform": lambda x: np.fft.rfft(x),
    "a temporary result": lambda x: np.fft.rfft(x * 2.0),
    "a product of matrices": lambda x: x[:, :100] @ x[:100],
    "a mask": lambda x: x[x > 0.5],
    "a sort": np.sort,
    "counts": lambda x: np.bincount((x * 9.0).astype(np.int64).ravel()),
    "random numbers": lambda x: x + np.random.default_rng(1).random(x.shape),
}


@pytest.mark.parametrize("name", STAYS)
def test_auto_leaves_arrays_where_they_are(name: str) -> None:
    with np.device("auto"):
        x = np.sin(np.arange(90_000.0)).reshape(300, 300) + 1.0
        np.synchronize()
        before, declined = copied(), core.gpu_counts()["declined"]
        y = STAYS[name](x)
        np.synchronize()
        assert copied()[0] < before[0] + 1024
        assert copied()[1] < before[1] + 4096  # numbers of elements, and status words
        assert core.gpu_counts()["declined"] <= declined + 1  # of few elements
        assert _bridge.is_on_device(y)


@pytest.mark.parametrize("dtype", ["complex128", "complex64", "int64", "float64"])
def test_auto_updates_an_array_that_waits(dtype: str) -> None:
    """The question of where the array is computed gives it memory."""
    values = numpy.arange(N)[::-1].astype(dtype)
    indices = numpy.arange(N) * 7 % N
    expected = values + values
    numpy.maximum.at(expected, indices, values)
    with np.device("auto"):
        x, places = np.array(values), np.array(indices)
        updated = x + x
        np.maximum.at(updated, places, x)
        assert numpy.array_equal(updated, expected)


def test_auto_copies_few_elements_for_a_large_result() -> None:
    position = np.array(numpy.linspace(0.0, 1.0, 400))
    with np.device("auto"):
        before = core.gpu_counts()["groups"]
        apart = position[:, None] - position
        assert _bridge.is_on_device(apart)
        assert core.gpu_counts()["groups"] == before + 1
        copied_before = copied()[0]
        large = np.array(numpy.ones(160_000))
        assert not _bridge.is_on_device(large + 1.0)
        assert copied()[0] == copied_before


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    assert run_program(np, seed) == run_program(numpy, seed)


def test_arrays_leave_a_full_device(library: Any) -> None:
    before = core.gpu_counts()["evicted"]
    core.lib.mx_memory_trim(0)  # cached memory on the device would fit some arrays
    library.cuda_standin_limit(ctypes.c_long(library.cuda_standin_used() + 5 * NBYTES))
    try:
        arrays = [np.ones(N) * i for i in range(12)]
        np.synchronize()
        for _ in range(2):
            for a in arrays:
                a += 1.0
                np.synchronize()
        assert [float(a[-1]) for a in arrays] == [i + 2.0 for i in range(12)]
    finally:
        library.cuda_standin_limit(ctypes.c_long(-1))
    assert core.gpu_counts()["evicted"] > before


def test_without_memory_on_the_device_the_processor_computes(library: Any) -> None:
    x = np.ones(N) * 3.0
    np.synchronize()
    library.cuda_standin_limit(ctypes.c_long(0))
    try:
        y = np.sqrt(np.ones(2 * N) * 16.0)
        z = x + 1.0
        assert (float(y[1]), float(z[1])) == (4.0, 4.0)
    finally:
        library.cuda_standin_limit(ctypes.c_long(-1))


def test_children_have_all_elements() -> None:
    x = np.ones(N) * 2.0
    np.synchronize()
    y = x + 1.0
    child = os.fork()
    if child == 0:
        is_right = float(y.sum()) == 3.0 * N and float((x * 2).sum()) == 4.0 * N
        os._exit(0 if is_right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert float((x + y).sum()) == 5.0 * N


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_lost_device_takes_only_what_it_alone_had(is_compiled: bool) -> None:
    program = f"""
        import ctypes, os
        import mxnp as np
        from mxnp._engine import core

        library = ctypes.CDLL(os.environ["MXNP_CUDA_STAND_IN"])
        x = np.ones(50_000) * 2.0
        away = x + 1.0
        if {is_compiled}:
            y = x * 3.0
        np.synchronize()
        assert x[3] == 2.0  # the processor has its elements too
        library.cuda_standin_lose(719)
        y = x * 3.0
        print(y[5])
        for use in (lambda: away[5], lambda: float((away + 1.0).sum())):
            try:
                print(use())
            except RuntimeError as error:
                print(error)
        print(float(np.sqrt(np.ones(50_000) * 16.0).sum()), float(x.sum()))
        away[:] = 5.0
        print(float(away.sum()))
        print(core.gpu_counts()["rejected"])
    """
    end = end_of("-c", textwrap.dedent(program), MXNP_DEVICE="cuda", MXNP_THRESHOLD="0")
    lost = "the CUDA device failed: unspecified launch failure"
    assert end.err == ""
    assert end.out.splitlines() == [
        *("6.0", lost, lost, "200000.0 100000.0", "250000.0", "0")
    ]


@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize(
    "function",
    [
        "cuMemAllocAsync",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuLaunchKernel",
        "cuStreamSynchronize",
        "cuEventRecord",
        "cuEventSynchronize",
    ],
)
def test_a_failed_call_never_makes_wrong_elements(function: str, after: int) -> None:
    program = f"""
        import ctypes, os
        import numpy
        import mxnp as np

        library = ctypes.CDLL(os.environ["MXNP_CUDA_STAND_IN"])
        values = numpy.random.default_rng(1).normal(size=20_000)
        x = np.array(values)
        library.cuda_standin_fail(b"{function}", ctypes.c_long({after}), 719)
        y = values
        for i in range(4):
            try:
                if i == 0:
                    z = np.array(values)
                z = z * 0.5 + x
                assert (np.maximum(z, -9.0)[:5].tolist()) == (z[:5].tolist())
            except RuntimeError:
                z = np.array(y * 0.5 + values)
            y = y * 0.5 + values
        assert (z.__array__() == y).all()
        assert (x.__array__() == values).all()
    """
    end = end_of("-c", textwrap.dedent(program), MXNP_DEVICE="cuda", MXNP_THRESHOLD="0")
    assert end.err == ""
    assert end.status == 0
