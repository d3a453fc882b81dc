"""Test programs and their arrays after faults of a Metal device."""

from __future__ import annotations

import gc
import os
import signal
import textwrap
import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy
import pytest
from support.metal import HOST, in_threads, needs_host, needs_metal, no_reports, run

import mxnp as np
from mxnp import _bridge
from mxnp._engine import core as _lib

pytestmark = [needs_metal, needs_host]

N = 20_000

PAGE_FAULT = 3  # of MTLCommandBufferError
COMPILE_FAILURE = 3  # of MTLLibraryError


@pytest.fixture(autouse=True)
def on_metal() -> Any:
    """Run all recorded operations on the device; assert that it reports nothing."""
    threshold = _bridge.set_threshold(0)
    device = np.set_device("metal")
    with no_reports():
        yield
        np.synchronize()
    np.set_device(device)
    _bridge.set_threshold(threshold)


@contextmanager
def nothing_compiled() -> Any:
    """Drop the compiled kernels, and do not cache any in the block."""
    before = _lib.set_kernel_limit(0)
    yield
    _lib.set_kernel_limit(0)
    _lib.set_kernel_limit(before)


def counts() -> dict[str, int]:
    return _lib.gpu_counts()


double = np.metal_kernel(
    "double_it",
    ["x"],
    ["out"],
    "uint i = thread_position_in_grid.x; out[i] = x[i] + x[i];",
)


def launch(x: Any) -> Any:
    (out,) = double(
        inputs=[x],
        grid=(x.size, 1, 1),
        threadgroup=(64, 1, 1),
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
    )
    return out


def works() -> None:
    """Assert that the device is in use and computes correctly."""
    before = counts()["dispatches"]
    x = np.arange(N, dtype="f4")
    y = x * 2 + 1
    numpy.testing.assert_array_equal(y, numpy.arange(N) * 2 + 1)
    numpy.testing.assert_array_equal(launch(y), numpy.arange(N) * 4 + 2)
    assert counts()["dispatches"] >= before + 2


# -- The GPU ---------------------------------------------------------------------------


def test_a_gpu_with_its_own_memory_is_refused() -> None:
    assert HOST
    program = """
        import ctypes, os
        host = ctypes.CDLL(os.environ["CORE"])
        host.metal_emulator_configure(b"discrete", ctypes.c_long(1))
        import mxnp as np

        assert np.devices() == ("cpu",)
        try:
            np.set_device("metal")
        except ValueError as error:
            print(error)
    """
    assert run(program, MXNP_DEVICE=None, CORE=HOST.library._name) == (
        "device 'metal' is not available: Metal emulator (CPU) does not share the "
        "processor's memory, as GPUs of Apple silicon do"
    )


def test_kernels_get_the_threads_that_they_need() -> None:
    """A GPU may offer fewer threads to kernels that use many registers."""
    assert HOST
    with HOST.configured(pipeline_threads=192), nothing_compiled():
        before = counts()
        x = np.arange(N, dtype="f4")
        numpy.testing.assert_array_equal(np.sort(x[::-1] + 1), numpy.arange(N) + 1)
        assert float((x + 1).sum()) == (numpy.arange(N) + 1.0).sum()
        np.synchronize()
        assert counts()["declined"] == before["declined"]
        assert counts()["dispatches"] > before["dispatches"]


# -- Command buffers -------------------------------------------------------------------


@pytest.mark.parametrize("code", [1, 2, PAGE_FAULT, 8, 9, 11])
def test_a_command_buffer_fails(code: int) -> None:
    assert HOST
    np.synchronize()
    HOST.configure(fail_next_command_buffer=code)
    x = np.ones(N, "f4") + 1
    with pytest.raises(RuntimeError) as caught:
        np.synchronize()
    assert str(caught.value) == "the Metal device failed: injected fault"
    np.synchronize()
    del x
    works()


def test_reading_raises_the_error_of_the_device() -> None:
    assert HOST
    for read in (lambda x: x.tolist(), lambda x: float(x[3]), bytes, repr):
        x = np.ones(N, "f4") + 1
        HOST.configure(fail_next_command_buffer=PAGE_FAULT)
        with pytest.raises(RuntimeError, match="injected fault"):
            read(x)
        works()


def test_results_that_were_never_written_raise() -> None:
    assert HOST
    x = np.arange(N, dtype="f4")
    np.synchronize()
    y, z = x + 1, x * 2
    HOST.configure(fail_next_command_buffer=PAGE_FAULT)
    for never_written in (y, z, y):
        with pytest.raises(RuntimeError, match="injected fault"):
            never_written.tolist()


def test_numpy_does_not_see_unwritten_results() -> None:
    assert HOST
    x = np.ones(N, "f4") + 1
    HOST.configure(fail_next_command_buffer=PAGE_FAULT)
    with pytest.raises(RuntimeError, match="injected fault"):
        numpy.asarray(x)


@pytest.mark.parametrize(
    "use", [launch, lambda x: x.reshape(40, -1) @ x.reshape(-1, 40)]
)
def test_passing_an_unwritten_result_to_a_kernel_raises(
    use: Callable[[Any], Any],
) -> None:
    assert HOST
    x = np.ones(N, "f4")
    np.synchronize()
    y = x + 1
    HOST.configure(fail_next_command_buffer=PAGE_FAULT)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="injected fault"):
            use(y).tolist()
    works()


def test_a_kernels_command_buffer_fails() -> None:
    assert HOST
    x = np.ones(N, "f4")
    np.synchronize()
    out = launch(x)
    HOST.configure(fail_next_command_buffer=PAGE_FAULT)
    with pytest.raises(RuntimeError, match="injected fault"):
        out.tolist()
    works()


def test_one_of_many_command_buffers_fails() -> None:
    assert HOST
    with np.device("metal"):
        x = [np.full(100 + i, i, "f4") for i in range(120)]
        np.synchronize()
        HOST.configure(fail_next_command_buffer=PAGE_FAULT)
        before = counts()["command_buffers"]
        y = [launch(each) for each in x]
        with pytest.raises(RuntimeError, match="injected fault"):
            np.synchronize()
        assert counts()["command_buffers"] >= before + 3
        np.synchronize()
        del y
    for i, each in enumerate(x):
        assert (each == i).all()
    works()


def test_other_threads_go_on() -> None:
    assert HOST
    errors, wrong = [], []

    def body(number: int) -> None:
        for turn in range(10):
            if number == 0 and turn == 5:
                HOST.configure(fail_next_command_buffer=PAGE_FAULT)
            try:
                x = np.full(500, number, "f4") + turn
                found = x.tolist()
            except RuntimeError as error:  # in the thread that waits
                errors.append(str(error))
            else:
                if found != [number + turn] * 500:
                    wrong.append((number, turn))

    in_threads(4, body)
    assert not wrong
    np.synchronize()
    # Every thread with a lost result gets an error.
    assert 1 <= len(errors) <= 4
    assert set(errors) == {"the Metal device failed: injected fault"}
    works()


def test_a_device_that_is_lost() -> None:
    assert HOST
    x = np.arange(N, dtype="f4")
    (x + 1).tolist()  # the next results get this memory, which the device knows
    with HOST.configured(device_lost=1):
        for _ in range(3):
            y = x + 1
            with pytest.raises(RuntimeError, match="the device is lost"):
                y.tolist()
        with np.device("cpu"):
            assert (x + 1).sum(dtype="f8") == N * (N + 1) / 2
    works()


# -- Libraries and pipelines -----------------------------------------------------------


@pytest.mark.parametrize("fault", ["fail_next_library", "fail_next_pipeline"])
def test_operations_whose_kernel_does_not_compile_run_on_the_processor(
    fault: str,
) -> None:
    assert HOST
    x = np.arange(N, dtype="f4")
    np.synchronize()
    before = counts()
    with nothing_compiled():
        HOST.configure(**{fault: COMPILE_FAILURE})
        y = x * 3 - 1
        numpy.testing.assert_array_equal(y, numpy.arange(N) * 3 - 1)
    assert counts()["rejected"] == before["rejected"] + 1
    assert counts()["dispatches"] == before["dispatches"]
    assert "injected fault" in _lib.gpu_rejection()
    y = x * 3 - 1
    numpy.testing.assert_array_equal(y, numpy.arange(N) * 3 - 1)
    assert counts()["dispatches"] > before["dispatches"]
    works()


@pytest.mark.parametrize("fault", ["fail_next_library", "fail_next_pipeline"])
@pytest.mark.parametrize("operation", ["sum", "cumsum", "take", "put", "add.at", "max"])
def test_every_kind_of_operation_falls_back(fault: str, operation: str) -> None:
    assert HOST

    def compute(xp: Any) -> Any:
        x = xp.array(numpy.arange(6000, dtype="i4").reshape(60, 100) % 97)
        i = xp.array(numpy.arange(60) // 2)
        if operation == "sum":
            return x.sum(axis=1)
        if operation == "max":
            return x.max(axis=0)
        if operation == "cumsum":
            return x.cumsum(axis=1)
        if operation == "take":
            return x[i]
        if operation == "put":
            x[i] = 5
        else:
            xp.add.at(x, i, 2)
        return x

    expected = compute(numpy)
    for _ in range(2):
        with nothing_compiled():
            HOST.configure(**{fault: COMPILE_FAILURE})
            found = compute(np)
            np.synchronize()
            HOST.configure(**{fault: 0})
        numpy.testing.assert_array_equal(found, expected)
        numpy.testing.assert_array_equal(compute(np), expected)


@pytest.mark.parametrize("fault", ["fail_next_library", "fail_next_pipeline"])
def test_a_kernel_that_does_not_compile_raises(fault: str) -> None:
    assert HOST
    x = np.arange(N, dtype="f4")
    np.synchronize()
    with nothing_compiled():
        HOST.configure(**{fault: COMPILE_FAILURE})
        with pytest.raises(ValueError, match="injected fault"):
            launch(x)
    numpy.testing.assert_array_equal(launch(x), numpy.arange(N) * 2)
    works()


@pytest.mark.parametrize("fault", ["fail_next_library", "fail_next_pipeline"])
def test_a_kernel_that_does_not_compile_is_compiled_once(fault: str) -> None:
    assert HOST
    x = np.arange(N, dtype="f4")
    np.synchronize()
    with nothing_compiled():
        HOST.configure(**{fault: COMPILE_FAILURE})
        for _ in range(2):
            with pytest.raises(ValueError, match="injected fault"):
                launch(x)


@pytest.mark.parametrize("fault", ["fail_next_library", "fail_next_pipeline"])
def test_a_kernel_that_compiles_no_more_fails_once(fault: str) -> None:
    """The pipeline is dropped between the call and the run."""
    assert HOST
    x = np.arange(N, dtype="f4")
    np.synchronize()
    with nothing_compiled():
        out = launch(x)
        y = launch(x.astype("i4"))  # replaces the first kernel in the cache
        HOST.configure(**{fault: COMPILE_FAILURE})
        with pytest.raises(RuntimeError, match="injected fault"):
            np.synchronize()
        np.synchronize()
    numpy.testing.assert_array_equal(y, numpy.arange(N) * 2)
    del out
    works()


# -- Memory ----------------------------------------------------------------------------


def fresh() -> Any:
    """Return an array whose memory has not been passed to the device."""
    np.clear_cache()
    return np.array(numpy.arange(N, dtype="f4"))


def synchronize_or_fail() -> None:
    try:
        np.synchronize()
    except MemoryError as error:
        message = str(error)
    else:
        return
    assert "Metal cannot use a buffer" in message


def test_one_allocation_fails() -> None:
    assert HOST
    x = fresh()
    np.synchronize()
    HOST.configure(fail_buffer_allocations=1)
    y = x + 1
    synchronize_or_fail()
    HOST.configure(fail_buffer_allocations=0)
    numpy.testing.assert_array_equal(y, numpy.arange(N) + 1)
    works()


REFUSED = """
import sys
import numpy
import mxnp as np
from mxnp import _bridge
from mxnp._engine import core as _lib
_bridge.set_threshold(0)
np.set_device("metal")
x = np.array(numpy.arange(20000, dtype="f4"))
y = x + 1
_lib.refuse_memory(int(sys.argv[1]), 1)
try:
    np.synchronize()
except MemoryError:
    pass
assert _lib.refuse_memory(0, 0) == 1
assert float(y[3]) == 4
before = _lib.gpu_counts()["groups"]
z = x * 3
assert float(z[3]) == 9
print(_lib.gpu_counts()["groups"] - before)
"""


def test_memory_is_refused_before_the_first_kernel() -> None:
    """The device stays in use, even if there was no memory for the kernel's source."""
    for request in range(8):
        assert run(f"import sys; sys.argv = ['', {request}]\n{REFUSED}") == "1", request


def test_all_allocations_fail() -> None:
    assert HOST
    x = fresh()
    np.synchronize()
    y = x + 1
    with HOST.configured(fail_buffer_allocations=-1):
        for _ in range(3):
            synchronize_or_fail()
    numpy.testing.assert_array_equal(y, numpy.arange(N) + 1)
    works()


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_allocations_of_a_kernel_fail(failures: int) -> None:
    assert HOST
    x = fresh()
    np.synchronize()
    out = launch(x)
    HOST.configure(fail_buffer_allocations=failures)
    for _ in range(failures):
        synchronize_or_fail()
    HOST.configure(fail_buffer_allocations=0)
    numpy.testing.assert_array_equal(out, numpy.arange(N) * 2)
    works()


LARGE: dict[str, Callable[[Any, Any], Any]] = {
    "map": lambda xp, x: x * 2 + 1,
    "reduction": lambda xp, x: x.sum(keepdims=True),
    "scan": lambda xp, x: xp.cumsum(x),
    "gather": lambda xp, x: x[xp.arange(N) * 20],
    "assignment": lambda xp, x: xp.put(x, xp.arange(N) * 20, 3) or x,
    "update": lambda xp, x: xp.add.at(x, xp.arange(N) % 7, 1) or x,
    "sort": lambda xp, x: xp.sort(x[::-1]),
    "argsort": lambda xp, x: xp.argsort(x[::-1], kind="stable"),
    "mask": lambda xp, x: x[x % 3 == 0],
    "nonzero": lambda xp, x: xp.flatnonzero(x),
    "product": lambda xp, x: x[:N, None] @ x[None, :40],
    "view": lambda xp, x: xp.sort(x[5000:0:-1]),
    "draw": lambda xp, x: xp.random.default_rng(7).random(400_000, "f4"),
}


@pytest.mark.parametrize("name", LARGE)
def test_arrays_larger_than_the_largest_buffer(name: str) -> None:
    """The processor computes with them. Smaller arrays stay on the device."""
    assert HOST
    values = numpy.arange(400_000, dtype="i4") % 1000
    x = np.array(values)
    np.synchronize()
    np.clear_cache()
    with HOST.configured(max_buffer=1 << 20):
        got = LARGE[name](np, x)
        np.synchronize()
        expected = LARGE[name](numpy, values)
        numpy.testing.assert_array_equal(got, expected)
        assert got.dtype == expected.dtype
        works()


def test_temporaries_larger_than_the_largest_buffer() -> None:
    """Numbers of the last values, for elements of a byte."""
    assert HOST
    x = np.zeros(400_000, "u1")
    i = np.arange(N) * 20 % 400_000
    np.synchronize()
    before = counts()
    with HOST.configured(max_buffer=1 << 20):
        x[i] = np.arange(N).astype("u1")
        np.synchronize()
    assert counts()["declined"] > before["declined"]
    expected = numpy.zeros(400_000, "u1")
    expected[numpy.arange(N) * 20] = numpy.arange(N).astype("u1")
    numpy.testing.assert_array_equal(x, expected)


def test_a_program_kernel_with_too_large_an_array() -> None:
    assert HOST
    x = np.zeros(400_000, "f4")
    np.synchronize()
    np.clear_cache()
    with HOST.configured(max_buffer=1 << 20):
        out = launch(x)
        with pytest.raises(RuntimeError, match="cannot use a buffer of"):
            out.tolist()
        works()


def test_allocations_between_passes_fail() -> None:
    assert HOST
    values = numpy.arange(400_000, dtype="i4") % 1000
    for failures in range(1, 6):
        np.clear_cache()
        x = np.array(values)
        np.synchronize()
        total = x.sum(axis=0, keepdims=True)
        y = x + 1
        HOST.configure(fail_buffer_allocations=failures)
        for _ in range(failures):
            synchronize_or_fail()
        HOST.configure(fail_buffer_allocations=0)
        assert total.tolist() == [values.sum()]
        numpy.testing.assert_array_equal(y, values + 1)
    works()


# -- No device, and forks --------------------------------------------------------------


def test_no_device_at_the_start() -> None:
    assert HOST
    core = HOST.library._name
    program = """
        import ctypes
        import os

        host = ctypes.CDLL(os.environ["CORE"])
        host.metal_emulator_configure(b"no_device", ctypes.c_long(1))
        import mxnp as np

        assert np.devices() == ("cpu",)
        assert np.get_device() == "auto"
        x = np.arange(1_000_000, dtype="f4") + 1
        assert x.tolist()[-1] == 1_000_000
        assert not any(np._engine.core.gpu_counts().values())
        try:
            np.metal_kernel("k", ["x"], ["y"], "")(
                inputs=[x], grid=(1, 1, 1), threadgroup=(1, 1, 1),
                output_shapes=[(1,)], output_dtypes=["f4"])
        except RuntimeError as error:
            print(str(error)[:18])
    """
    assert run(program, MXNP_DEVICE=None, CORE=core) == "kernels need a GPU"
    message = "MXNP_DEVICE is 'metal': device 'metal' is not available"
    run(program, MXNP_DEVICE="metal", CORE=core, error=message)


FORK = """
    import os, sys
    import numpy
    import mxnp as np

    exp = np.metal_kernel("k", ["x"], ["y"],
                          "uint i = thread_position_in_grid.x; y[i] = x[i] * 2;")

    def launch(x):
        return exp(inputs=[x], grid=(x.size, 1, 1), threadgroup=(64, 1, 1),
                   output_shapes=[x.shape], output_dtypes=["f4"])[0]

    def check(x, what):
        assert (numpy.asarray(x) == numpy.asarray(what)).all(), (x, what)

    numbers = numpy.arange(30_000, dtype="f4")
    x = np.arange(30_000, dtype="f4")
    y = x + 1
    check(y, numbers + 1)
    check(launch(y), 2 * numbers + 2)
    z = y * 3  # recorded, not run
    before = np._engine.core.gpu_counts()["dispatches"]
    child = os.fork()
"""


def run_fork(program: str) -> str:
    """Run a program whose child must exit successfully and soon."""
    end = """
    if child == 0:
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    check(z, (numbers + 1) * 3)
    check(launch(z), (numbers + 1) * 6)
    check((z + x).cumsum() * 0, numbers * 0)
    assert np._engine.core.gpu_counts()["dispatches"] > before
    print("parent")
    """
    text = "import signal; signal.alarm(500)\n" + textwrap.dedent(FORK)
    text += textwrap.dedent(program) + textwrap.dedent(end)
    return run(text, MXNP_DEVICE="metal", MXNP_THRESHOLD="0", METAL_EMULATOR_ABORT="1")


fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


@fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_computes_on_the_processor() -> None:
    program = """
    if child == 0:
        signal.alarm(300)
        check(y, numbers + 1)
        check(x + 1, numbers + 1)  # a kernel that is compiled
        check(z, (numbers + 1) * 3)
        z += x
        check(z[z > 5].sum(dtype="f8") + 0, ((numbers + 1) * 3 + numbers).sum(dtype="f8")
              - 3)
        check(np.sort(x[::-1]), numbers)
        assert np._engine.core.gpu_counts()["dispatches"] == before
        del x, y, z
        np.clear_cache()
        print("child")
    """
    assert run_fork(program).split() == ["child", "parent"]


@fork
def test_a_kernel_of_a_child_is_an_error() -> None:
    program = """
    if child == 0:
        signal.alarm(300)
        for _ in range(2):
            try:
                launch(x).tolist()
            except RuntimeError as error:
                print(error, flush=True)
        check(z, (numbers + 1) * 3)
    """
    text = run_fork(program)
    assert text.endswith("parent")
    assert text.count("there is no Metal device") == 2
    assert "it is that of the process that forked" in text


@fork
def test_a_child_of_recorded_launches() -> None:
    program = FORK.replace("z = y * 3", "out = launch(y); z = y * 3")
    child = """
    if child == 0:
        signal.alarm(300)
        try:
            print(out.tolist()[:3], flush=True)
        except RuntimeError as error:
            print(error, flush=True)
        check(z, (numbers + 1) * 3)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    check(out, 2 * numbers + 2)
    check(z, (numbers + 1) * 3)
    print("parent")
    """
    text = "import signal; signal.alarm(500)\n"
    text += textwrap.dedent(program) + textwrap.dedent(child)
    printed = run(
        text, MXNP_DEVICE="metal", MXNP_THRESHOLD="0", METAL_EMULATOR_ABORT="1"
    )
    message = "there is no Metal device, or it is that of the process that forked"
    assert printed.splitlines() == [message, "parent"]


# -- Lifetimes -------------------------------------------------------------------------


def test_many_launches_leave_nothing_behind() -> None:
    assert HOST

    def turn(n: int) -> None:
        for i in range(n):
            x = np.full(1000, i, "f4")
            assert float((launch(x) + 1)[5]) == 2 * i + 1

    turn(50)
    gc.collect()
    np.synchronize()
    objects, memory = HOST.live_objects, np.memory_info()["in_use"]
    before = counts()["command_buffers"]
    turn(300)
    gc.collect()
    np.synchronize()
    assert counts()["command_buffers"] >= before + 300
    assert HOST.live_objects <= objects + 4
    assert np.memory_info()["in_use"] == memory


def test_errors_leave_nothing_behind() -> None:
    assert HOST

    def turn(n: int) -> None:
        for _ in range(n):
            x = np.ones(1000, "f4") + 1
            HOST.configure(fail_next_command_buffer=PAGE_FAULT)
            with pytest.raises(RuntimeError):
                np.synchronize()
            del x

    turn(5)
    gc.collect()
    objects, memory = HOST.live_objects, np.memory_info()["in_use"]
    turn(30)
    gc.collect()
    assert HOST.live_objects <= objects + 4
    assert np.memory_info()["in_use"] == memory


def test_memory_given_back_leaves_no_buffers_behind() -> None:
    assert HOST
    launch(np.ones(1000, "f4")).tolist()
    np.clear_cache()
    objects = HOST.live_objects
    for n in range(1000, 1030):
        launch(np.ones(n * 100, "f4")).tolist()
        np.clear_cache()
    assert HOST.live_objects <= objects + 4


@contextmanager
def deferred() -> Any:
    """Defer the work of the device to another thread."""
    assert HOST
    np.synchronize()
    is_over = threading.Event()

    def pump() -> None:
        while not is_over.wait(0.01):
            HOST.run_pending()
        HOST.run_pending()

    thread = threading.Thread(target=pump)
    HOST.configure(deferred=1)
    thread.start()
    try:
        yield
        np.synchronize()
    finally:
        is_over.set()
        thread.join()
        HOST.configure(deferred=0)


def test_arrays_dropped_before_the_device_runs() -> None:
    with deferred():
        kept = []
        for i in range(200):
            x = np.full(500 + i, i, "f4")
            y = launch(x) + launch(x * 2)
            if i % 20 == 0:
                kept.append((i, y))
            del x, y
        np.clear_cache()
        np.synchronize()
        for i, y in kept:
            assert y.tolist() == [6 * i] * (500 + i)


def test_pipelines_dropped_before_the_device_runs() -> None:
    with deferred(), nothing_compiled():
        outs = []
        for i in range(60):
            x = np.full(300, i, ("f4", "i4", "u1")[i % 3])
            outs.append(launch(x) + 1)
        np.synchronize()
        for i, out in enumerate(outs):
            assert out.tolist() == [2 * i + 1] * 300


def test_threads_drop_arrays_while_the_device_waits() -> None:
    def body(number: int) -> None:
        for turn in range(15):
            x = np.full(400, number, "f4")
            y = launch(x) + turn
            del x
            assert y.tolist() == [2 * number + turn] * 400
            del y
            np.clear_cache()

    with deferred():
        in_threads(8, body)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_signals_while_the_device_waits() -> None:
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        with deferred():
            for i in range(20):
                x = np.full(400, i, "f4")
                assert (launch(x) * 2).tolist() == [4 * i] * 400
        while not calls:
            signal.pause()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls


# -- Indices out of bounds -------------------------------------------------------------


def test_a_computed_index_is_out_of_bounds() -> None:
    x, untouched = np.arange(N, dtype="f4"), np.arange(N, dtype="f4")
    np.synchronize()
    i = np.arange(N) * 2 - 5
    before = counts()["dispatches"]
    y = x[i]
    untouched += 1  # recorded later in this thread: it does not run
    z = y + 1
    out = launch(untouched)
    with pytest.raises(IndexError) as caught:
        np.synchronize()
    assert counts()["dispatches"] > before
    with pytest.raises(IndexError) as numpys:
        numpy.arange(N)[numpy.arange(N) * 2 - 5]
    assert str(caught.value) == str(numpys.value)
    np.synchronize()  # the error is raised once
    numpy.testing.assert_array_equal(x, numpy.arange(N))
    numpy.testing.assert_array_equal(untouched, numpy.arange(N))
    for never_written in (y, z, out):
        with pytest.raises(IndexError):
            never_written.tolist()
    works()
    untouched += 1
    numpy.testing.assert_array_equal(untouched, numpy.arange(N) + 1)


@pytest.mark.parametrize("value", [N, -N - 1, 2**31, -(2**31), 2**40])
def test_an_update_out_of_bounds_writes_nothing(value: int) -> None:
    x = np.arange(N, dtype="f4")
    np.synchronize()
    steps = np.zeros(N, "i8")
    steps[7] = value
    np.synchronize()
    i = steps + 0
    x[i] = -1.0
    x *= 2
    with pytest.raises(IndexError, match=f"index {value} is out of bounds for axis 0"):
        np.synchronize()
    numpy.testing.assert_array_equal(x, numpy.arange(N))
    x *= 2
    numpy.testing.assert_array_equal(x, numpy.arange(N) * 2)
    works()


def test_checks_of_other_threads() -> None:
    """Operations after a failed check do not run, except those of other threads."""

    def body(number: int) -> None:
        for turn in range(10):
            x = np.full(1000, number, "f4")
            i = np.arange(1000) + (500 if number % 2 else 0)
            y = x[i]
            z = launch(x) + turn
            if number % 2:
                with pytest.raises(IndexError, match="index 1000 is out of bounds"):
                    y.tolist()
            else:
                assert y.tolist() == [number] * 1000
                assert z.tolist() == [2 * number + turn] * 1000

    in_threads(6, body)
