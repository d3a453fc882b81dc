"""The Metal host: what it runs, and what it reports.

It is test equipment (tests/metal_host), and these are the tests of the equipment: plain
calls of Apple's API in driver.m, and kernels written here.
"""

from __future__ import annotations

import importlib.util
import mmap
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parent / "metal_host"

TIMEOUT, PAGE_FAULT, INVALID_RESOURCE, DEVICE_REMOVED = 2, 3, 9, 11  # errors
COMPLETED, ERROR = 4, 5  # of MTLCommandBufferStatus

KERNELS = (FOLDER / "driver.metal").read_text()


def load_driver_module() -> Any:
    spec = importlib.util.spec_from_file_location(
        "metal_host_driver", FOLDER / "driver.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


module = load_driver_module()


def start() -> str:
    """Give what a script begins with that has the driver."""
    return f"""
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("driver", {str(FOLDER / "driver.py")!r})
module = importlib.util.module_from_spec(spec)
sys.modules["driver"] = module
spec.loader.exec_module(module)
driver = module.Driver({str(module.build_driver())!r})
"""


def reason_to_skip() -> str:
    if not sys.platform.startswith("linux"):
        return "the Metal host is for Linux"
    try:
        module.load_build().compiler()
    except FileNotFoundError as error:
        return str(error)
    return ""


REASON = reason_to_skip()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)


@pytest.fixture(scope="session")
def loaded() -> Any:
    driver = module.Driver(module.build_driver())
    assert driver.compile(KERNELS), driver.error
    return driver


@pytest.fixture
def driver(loaded: Any) -> Any:
    loaded.configure(**module.SETTINGS)
    loaded.queue = loaded.library.driver_queue()  # what a test leaves open is its own
    yield loaded
    loaded.configure(**module.SETTINGS)
    loaded.library.driver_release(loaded.queue)


@pytest.fixture
def expect(driver: Any) -> Any:
    """Give a function that asserts that there is one new report, with such a text."""
    before = driver.report_count

    def check(pattern: str) -> None:
        nonlocal before
        assert driver.report_count == before + 1, driver.last_report
        assert re.search(pattern, driver.last_report), driver.last_report
        before += 1

    yield check
    assert driver.report_count == before, driver.last_report


@pytest.fixture
def quiet(driver: Any) -> Any:
    """Assert that nothing is reported."""
    before = driver.report_count
    yield
    assert driver.report_count == before, driver.last_report


def i4(*values: int) -> bytes:
    return np.array(values, "i4").tobytes()


def f4(*values: float) -> bytes:
    return np.array(values, "f4").tobytes()


# -- What runs ---------------------------------------------------------------------------


def test_language(driver):
    assert driver.library.driver_test_language() == 0


def test_properties(driver, quiet):
    assert driver.library.driver_test_properties(driver.source) == 0


@pytest.mark.usefixtures("quiet")
class TestRunning:
    @pytest.mark.parametrize("n", [1, 31, 256, 1000, 100_003])
    def test_elementwise(self, driver, n):
        x, y = np.random.rand(2, n).astype("f4")
        a, b = driver.buffer(x), driver.buffer(y)
        assert driver.run("saxpy", [a, b, f4(3)], n, 256) == 0
        np.testing.assert_allclose(b.array, 3 * x + y, rtol=1e-6)

    def test_plain(self, driver):
        driver.configure(plain=1)
        assert driver.compile(KERNELS)
        a = driver.zeros(1000)
        assert driver.run("add_one", [a], 1000, 64) == 0
        assert (a.array == 1).all()
        driver.configure(plain=0)
        assert driver.compile(KERNELS)

    def test_constants_and_offsets(self, driver):
        a = driver.zeros(12)
        assert driver.run("look_up", [(a, 16)], 8, 8) == 0
        assert a.array.tolist() == [0] * 4 + [1, 2, 4, 8] * 2

    def test_commands_in_order(self, driver):
        a, b = driver.zeros(64), driver.zeros(64)
        commands = driver.command_buffer()
        with commands.encoder() as encoder:
            for _ in range(5):
                encoder.dispatch("add_one", [a], 64, 32)
            encoder.dispatch("copy", [a, b], 64, 32)
        commands.dispatch("add_one", [a], 64, 64)
        assert commands.finish() == 0
        assert (a.array == 6).all()
        assert (b.array == 5).all()

    def test_empty_grid(self, driver):
        assert driver.run("add_one", [driver.zeros(1)], 0, 32) == 0

    @pytest.mark.parametrize("group", [(8, 4, 2), (5, 3, 1), (33, 1, 1), (1, 1, 64)])
    def test_positions(self, driver, group):
        size = np.array((19, 7, 5))
        out = driver.zeros((*size[::-1], 16), "u4")
        assert driver.run("positions", [out], tuple(size), group) == 0
        z, y, x = np.indices(size[::-1])
        grid = np.stack([x, y, z], -1)
        got = out.array
        np.testing.assert_array_equal(got[..., 0:3], grid // group)
        np.testing.assert_array_equal(got[..., 3:6], grid % group)
        here = np.minimum(size - grid // group * group, group)
        np.testing.assert_array_equal(got[..., 6:9], here)
        np.testing.assert_array_equal(
            got[..., 9:12], np.broadcast_to(-(-size // group), grid.shape)
        )
        inner = grid % group
        index = inner[..., 0] + here[..., 0] * (
            inner[..., 1] + here[..., 1] * inner[..., 2]
        )
        np.testing.assert_array_equal(got[..., 12], index)
        np.testing.assert_array_equal(got[..., 13], index % 32)
        np.testing.assert_array_equal(got[..., 14], index // 32)

    def test_threadgroups(self, driver):
        a, commands = driver.zeros(96), driver.command_buffer()
        with commands.encoder() as encoder:
            driver.library.driver_set_pipeline(
                encoder.handle, driver.pipeline("add_one")
            )
            encoder.bind([a])
            driver.library.driver_dispatch_threadgroups(
                encoder.handle, module.sides(3), module.sides(32)
            )
        assert commands.finish() == 0
        assert (a.array == 1).all()

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_barriers(self, driver, seed):
        driver.configure(seed=seed)
        x = np.random.randint(0, 100, 256 * 9).astype("f4")
        out = driver.zeros(9)
        assert driver.run("tree_sum", [driver.buffer(x), out], x.size, 256) == 0
        assert (out.array == x.reshape(9, 256).sum(1)).all()

    def test_threadgroup_argument(self, driver):
        a, commands = driver.buffer(range(100), "u4"), driver.command_buffer()
        with commands.encoder() as encoder:
            driver.library.driver_set_threadgroup_memory(encoder.handle, 400, 0)
            encoder.dispatch("reverse", [a], 100, 100)
        assert commands.finish() == 0
        assert a.array.tolist() == list(range(99, -1, -1))

    def test_threadgroup_memory_is_poisoned(self, driver):
        out = driver.zeros(64, "u4")
        assert driver.run("unset", [out], 64, 64) == 0
        assert (out.array == 0xFBFBFBFB).all()

    def test_blits(self, driver):
        a, b = driver.zeros(8, "u1"), driver.zeros(8, "u1")
        commands = driver.command_buffer()
        driver.library.driver_blit(commands.handle, None, a.handle, 6, 7)
        driver.library.driver_blit(commands.handle, a.handle, b.handle, 7, 0)
        assert commands.finish() == 0
        assert b.array.tolist() == [7] * 6 + [0, 0]

    def test_denormals_are_flushed(self, driver):
        a = driver.buffer([1e-40, 2e-38, 4.0], "f4")
        assert driver.run("flush", [a], 3, 3) == 0
        assert a.array.tolist() == [0, 0, 2]
        assert np.float32(1e-40) * np.float32(0.5) != 0  # but not here

    @pytest.mark.parametrize("workers", [1, 4, 8])
    def test_contention(self, driver, workers):
        driver.configure(workers=workers, chaos=1)
        out = driver.zeros(1, "u4")
        assert driver.run("count", [out], 20_000, 64) == 0
        assert out.array[0] == 20_000

    def test_dispatch_count(self, driver):
        count = driver.library.metal_host_dispatch_count
        before, every = count(b"add_one"), count(None)
        driver.run("add_one", [driver.zeros(4)], 4, 4)
        driver.run("count", [driver.zeros(1, "u4")], 4, 4)
        assert count(b"add_one") == before + 1
        assert count(None) == every + 2

    def test_times(self, driver):
        commands = driver.command_buffer()
        commands.dispatch("add_one", [driver.zeros(1 << 16)], 1 << 16, 256)
        commands.commit()
        commands.wait()
        assert 0 < driver.library.driver_gpu_time(commands.handle) < 10


# -- SIMD groups -------------------------------------------------------------------------


def model(values, function):
    """Apply function to each SIMD group's values."""
    groups = [values[i : i + 32] for i in range(0, len(values), 32)]
    return np.concatenate([function(g) for g in groups])


@pytest.mark.usefixtures("quiet")
class TestSimdgroups:
    @pytest.mark.parametrize("n", [32, 40, 256, 1000])
    @pytest.mark.parametrize("seed", [0, 5])
    def test_functions(self, driver, n, seed):
        driver.configure(seed=seed)
        x = np.random.randint(0, 2000, n).astype("u4")
        x[3] = 5
        out = driver.zeros((n, 8), "u4")
        assert driver.run("simd_functions", [driver.buffer(x), out], n, n) == 0
        models = {
            0: lambda g: np.full(g.size, g.sum()),
            1: lambda g: np.full(g.size, g.max()),
            2: lambda g: np.full(g.size, g.min()),
            3: lambda g: g[np.arange(g.size) ^ 1],
            4: lambda g: np.full(g.size, g[3]),
            5: np.cumsum,
            6: lambda g: np.full(g.size, (g == 5).any()),
            7: lambda g: np.full(g.size, (g < 1000).all()),
        }
        for column, function in models.items():
            np.testing.assert_array_equal(
                out.array[:, column], model(x, function), err_msg=f"function {column}"
            )

    def test_diverged(self, driver):
        def halves(group):
            return np.repeat([group[:10].sum(), group[10:].sum()], [10, 22])

        x = np.random.randint(0, 100, 96).astype("u4")
        out = driver.zeros(96, "u4")
        assert driver.run("diverged_sum", [driver.buffer(x), out], 96, 96) == 0
        np.testing.assert_array_equal(out.array, model(x, halves))


# -- The four failures, each without its guard and with it -------------------------------


def outcomes(run):
    """Run 20 times; gives what came out, without addresses."""
    return {re.sub(r"0x[0-9a-f]+", "ADDRESS", str(run())) for _ in range(20)}


class TestFailures:
    def multiply(self, driver, kernel):
        out = driver.buffer([1], "f4")
        values = driver.buffer([2, np.nan, 4, 5], "f4")
        code = driver.run(kernel, [out, values], 4, 4)
        text, result = driver.error, out.array[0]
        out.release()
        values.release()
        return code, result, text

    def test_exchange_loop_with_nan(self, driver):
        (outcome,) = outcomes(lambda: self.multiply(driver, "multiply"))
        assert outcome.startswith(f"({TIMEOUT}, ")
        assert "GPU hang" in outcome
        assert "kernel multiply, thread_position_in_grid 2,0,0" in outcome

    def test_exchange_loop_over_bits(self, driver, quiet):
        (outcome,) = outcomes(lambda: self.multiply(driver, "multiply_bits"))
        assert outcome.startswith("(0, ")
        assert "nan" in outcome

    def release_in_flight(self, driver, guarded):
        driver.configure(deferred=1)
        a = driver.zeros(64)
        commands = driver.command_buffer(unretained=True)
        commands.dispatch("add_one", [a], 64, 64)
        if guarded:
            driver.library.driver_releasing_handler(commands.handle, a.handle)
        commands.commit()
        if not guarded:
            a.release()
        code = commands.wait()
        driver.library.driver_release(commands.handle)
        return code, driver.error

    def test_buffer_released_in_flight(self, driver):
        (outcome,) = outcomes(lambda: self.release_in_flight(driver, guarded=False))
        assert outcome.startswith(f"({INVALID_RESOURCE}, ")
        assert "references deallocated object: MTLBuffer" in outcome
        assert "at index 0 (at execution)" in outcome

    def test_buffer_released_by_a_handler(self, driver, quiet):
        allocated = driver.library.driver_allocated()
        assert outcomes(lambda: self.release_in_flight(driver, guarded=True)) == {
            "(0, '')"
        }
        assert driver.library.driver_allocated() == allocated

    def release_pipeline(self, driver, guarded):
        a = driver.zeros(64)
        pipeline = driver.library.driver_pipeline(driver.source, b"add_one")
        commands = driver.command_buffer(unretained=not guarded)
        commands.dispatch(pipeline, [a], 64, 64)
        driver.library.driver_release(pipeline)
        code = commands.finish()
        a.release()
        return code, driver.error

    def test_pipeline_released_before_commit(self, driver):
        (outcome,) = outcomes(lambda: self.release_pipeline(driver, guarded=False))
        assert outcome.startswith(f"({INVALID_RESOURCE}, ")
        assert "deallocated object: MTLComputePipelineState" in outcome
        assert "(at commit)" in outcome

    def test_pipeline_retained(self, driver, quiet):
        assert outcomes(lambda: self.release_pipeline(driver, guarded=True)) == {
            "(0, '')"
        }

    def store(self, driver, kernel, shift):
        a = driver.zeros(64)
        code = driver.run(kernel, [a, i4(shift), i4(64)], 64, 64)
        text, total = driver.error, float(a.array.sum())
        a.release()
        return code, total, text

    @pytest.mark.parametrize("shift", [1, 4000, 10**8, -1])
    def test_out_of_bounds_write(self, driver, shift):
        def run():  # without how far it is from which buffer, which addresses tell
            code, total, text = self.store(driver, "store_at", shift)
            return code, total, re.sub(r" at 0x.*\(", " (", text)

        (outcome,) = outcomes(run)
        assert outcome.startswith(f"({PAGE_FAULT}, ")
        assert "out-of-bounds write of 4 bytes" in outcome
        assert "kernel store_at" in outcome

    def test_guarded_write(self, driver, quiet):
        (outcome,) = outcomes(lambda: self.store(driver, "store_at_guarded", 60))
        assert outcome == "(0, 28.0, '')"


# -- Faults of kernels -------------------------------------------------------------------


class TestFaults:
    def test_access_does_not_happen(self, driver, expect):
        """Not even inside the pages of a buffer over the program's memory."""
        pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
        array = np.frombuffer(pages, "f4")
        half = driver.library.driver_buffer_over(array.ctypes.data, mmap.PAGESIZE)
        buffer = module.Buffer.__new__(module.Buffer)
        buffer.handle = half
        n = mmap.PAGESIZE // 4
        code = driver.run("store_at", [buffer, i4(n - 1)], 2, 2)
        assert code == PAGE_FAULT
        expect(
            "out-of-bounds write of 4 bytes .* index 0, has 4096 bytes and this is byte 4096"
        )
        assert array[n - 1] == 7
        assert array[n] == 0
        driver.library.driver_release(half)

    def test_out_of_bounds_read(self, driver, expect):
        code = driver.run("copy", [driver.zeros(3), driver.zeros(4)], 4, 4)
        assert code == PAGE_FAULT
        expect(
            "out-of-bounds read of 4 bytes .*kernel copy, thread_position_in_grid 3,0,0"
        )

    def test_buffer_that_is_not_bound(self, driver, expect):
        a, b = driver.zeros(1), driver.zeros(1)
        shift = (b.array.ctypes.data - a.array.ctypes.data) // 4
        assert abs(shift) < 2**31
        assert driver.run("store_at", [a, i4(shift)], 1, 1) == PAGE_FAULT
        expect("out-of-bounds write")
        assert b.array[0] == 0

    def test_before_the_offset(self, driver, quiet):
        """As on a GPU, where a binding's offset is no bound."""
        a = driver.zeros(8)
        assert driver.run("store_at", [(a, 16), i4(-4)], 8, 8) == 0

    def test_threadgroup_memory(self, driver, expect):
        commands = driver.command_buffer()
        with commands.encoder() as encoder:
            driver.library.driver_set_threadgroup_memory(encoder.handle, 16, 0)
            encoder.dispatch("beyond_memory", [driver.zeros(8, "u4")], 8, 8)
        assert commands.finish() == PAGE_FAULT
        expect("out-of-bounds write .*thread_position_in_grid 4,0,0")

    def test_stack_overflow(self, driver, expect):
        assert driver.run("deep", [driver.zeros(1)], 1, 1) == PAGE_FAULT
        expect("stack overflow|out-of-bounds")

    def test_unmapped_memory(self, driver, expect):
        pages = mmap.mmap(-1, mmap.PAGESIZE)
        address = np.frombuffer(pages, "u1").ctypes.data
        handle = driver.library.driver_buffer_over(address, mmap.PAGESIZE)
        pages.close()
        buffer = module.Buffer.__new__(module.Buffer)
        buffer.handle = handle
        assert driver.run("add_one", [buffer], 8, 8) == PAGE_FAULT
        expect("page fault at 0x")
        driver.library.driver_release(handle)

    @pytest.mark.parametrize("workers", [1, 4])
    def test_hang_and_what_comes_next(self, driver, expect, workers):
        driver.configure(workers=workers)
        assert driver.pipeline("forever")
        assert driver.pipeline("add_one")
        driver.library.metal_host_run_pending()
        before = driver.library.metal_host_live_objects()
        for _ in range(5):
            out = driver.zeros(2, "u4")
            assert driver.run("forever", [out], 128, 32) == TIMEOUT
            expect("GPU hang: .* kernel forever|GPU hang: .*forever")
            out.release()
            a = driver.zeros(1000)
            assert driver.run("add_one", [a], 1000, 64) == 0
            assert (a.array == 1).all()
            a.release()
        driver.library.metal_host_run_pending()
        assert driver.library.metal_host_live_objects() <= before

    def test_later_command_buffers_run(self, driver, expect):
        a, out = driver.zeros(4), driver.zeros(2, "u4")
        buffers = [driver.command_buffer() for _ in range(3)]
        for commands, kernel, argument in zip(
            buffers, ["add_one", "forever", "add_one"], [a, out, a], strict=True
        ):
            commands.dispatch(kernel, [argument], 4, 4)
        for commands in buffers:
            commands.commit()
        assert [commands.wait() for commands in buffers] == [0, TIMEOUT, 0]
        expect("GPU hang")
        assert (a.array == 2).all()

    @pytest.mark.skipif(os.uname().machine != "x86_64", reason="others have a result")
    def test_integer_division_by_zero(self, driver, expect):
        """Of which the result is undefined in MSL."""
        a = driver.buffer([7], "i4")
        assert driver.run("divide", [a, i4(0)], 1, 1) == 1
        expect("integer division by zero, .*kernel divide")
        assert driver.run("divide", [a, i4(2)], 1, 1) == 0
        assert a.array[0] == 3

    def test_diverged_barrier(self, driver, expect):
        assert driver.run("diverged_barrier", [driver.zeros(8)], 8, 8) == 1
        expect("divergent threadgroup_barrier: 4 threads wait, 4 have returned")

    def test_races(self, driver, expect):
        driver.configure(race=1)
        x, out = driver.buffer(np.ones(512), "f4"), driver.zeros(2)
        assert driver.run("tree_sum", [x, out], 512, 256) == 0
        assert driver.run("racy_tree_sum", [x, out], 512, 256) == 1
        expect("data race: write of the byte .* that another GPU thread read")
        assert driver.run("lose_counts", [driver.zeros(1, "u4")], 64, 32) == 1
        expect("data race")
        assert driver.run("count", [driver.zeros(1, "u4")], 64, 32) == 0


# -- Misuse ------------------------------------------------------------------------------


class TestValidation:
    def test_missing_binding(self, driver, expect):
        driver.run("copy", [driver.zeros(4)], 4, 4)
        expect("copy: missing buffer binding at index 1")

    def test_binding_too_small(self, driver, expect):
        driver.run("saxpy", [driver.zeros(4), driver.zeros(4), b"ab"], 4, 4)
        expect(
            "saxpy: the buffer binding at index 2 holds 2 bytes, the argument needs 4"
        )

    def test_offset_beyond_the_end(self, driver, expect):
        commands = driver.command_buffer()
        with commands.encoder() as encoder:
            encoder.bind([(driver.zeros(4), 16)])
        expect("setBuffer: offset 16 is not below the buffer's length 16")
        assert commands.finish() == 0

    def test_offset_of_nothing(self, driver, expect):
        commands = driver.command_buffer()
        with commands.encoder() as encoder:
            driver.library.driver_set_offset(encoder.handle, 4, 2)
        expect("setBufferOffset: there is no buffer at index 2")
        commands.finish()

    def test_set_offset(self, driver, quiet):
        a, commands = driver.zeros(8), driver.command_buffer()
        with commands.encoder() as encoder:
            encoder.bind([a])
            driver.library.driver_set_offset(encoder.handle, 16, 0)
            encoder.dispatch("add_one", [], 4, 4)
        assert commands.finish() == 0
        assert a.array.tolist() == [0] * 4 + [1] * 4

    def test_index(self, driver, expect):
        commands = driver.command_buffer()
        with commands.encoder() as encoder:
            driver.library.driver_set_bytes(encoder.handle, b"a", 1, 31)
        expect("setBytes: index 31 is not below 31")
        commands.finish()

    def test_bytes_too_long(self, driver, expect):
        commands = driver.command_buffer()
        with commands.encoder() as encoder:
            encoder.bind([bytes(4096)])
            encoder.bind([bytes(4097)])
        expect("setBytes: length 4097 is not in 1..4096")
        commands.finish()

    def test_writable_bytes(self, driver, expect):
        driver.run("add_one", [f4(1, 2, 3, 4)], 4, 4)
        expect("add_one: setBytes is bound to the writable argument at index 0")

    def test_no_pipeline(self, driver, expect):
        commands = driver.command_buffer()
        commands.dispatch(None, [driver.zeros(4)], 4, 4)
        expect("dispatch without a pipeline state")
        commands.finish()

    @pytest.mark.parametrize("group", [0, 1025, (32, 32, 2)])
    def test_group_size(self, driver, expect, group):
        driver.run("add_one", [driver.zeros(4)], 4, group)
        expect(r"threadsPerThreadgroup \d+ is not in 1..1024")

    def test_encode_after_commit(self, driver, expect):
        commands = driver.command_buffer()
        commands.commit()
        assert driver.library.driver_encoder(commands.handle, 0) is None
        expect("encoding into a command buffer that is committed")
        assert commands.wait() == 0

    def test_encode_after_end(self, driver, expect):
        commands = driver.command_buffer()
        handle = driver.library.driver_encoder(commands.handle, 0)
        driver.library.driver_end(handle)
        driver.library.driver_set_bytes(handle, b"a", 1, 0)
        expect("setBytes after endEncoding")
        driver.library.driver_end(handle)
        expect("endEncoding twice")
        driver.library.driver_release(handle)
        commands.finish()

    def test_two_encoders(self, driver, expect):
        commands = driver.command_buffer()
        with commands.encoder():
            assert driver.library.driver_encoder(commands.handle, 0) is None
            expect("a command encoder is already encoding")
        commands.finish()

    def test_commit_twice(self, driver, expect):
        commands = driver.command_buffer()
        commands.commit()
        commands.commit()
        expect("commit twice")
        assert commands.wait() == 0

    def test_commit_with_an_open_encoder(self, driver, expect):
        commands = driver.command_buffer()
        with commands.encoder():
            commands.commit()
            expect("commit with an open encoder")
        assert commands.finish() == 0

    def test_encoder_without_end(self, driver, expect):
        commands = driver.command_buffer()
        handle = driver.library.driver_encoder(commands.handle, 0)
        driver.library.driver_release(handle)
        expect("command encoder released without endEncoding")
        assert commands.finish() == 0

    def test_wait_before_commit(self, driver, expect):
        commands = driver.command_buffer()
        commands.wait()
        expect("waiting for a command buffer that is not committed")

    def test_threadgroup_memory(self, driver, expect):
        a = driver.zeros(8, "u4")
        for length, text in (
            (24, "setThreadgroupMemoryLength: 24 is not a multiple of 16"),
            (32784, "32784 bytes of threadgroup memory, the limit is 32768"),
        ):
            commands = driver.command_buffer()
            with commands.encoder() as encoder:
                driver.library.driver_set_threadgroup_memory(encoder.handle, length, 0)
                encoder.dispatch("reverse", [a], 4, 4)
            expect(text)
            assert commands.finish() == 0
        driver.run("reverse", [a], 4, 4)
        expect("reverse: threadgroup memory at index 0 has no length")

    def test_one_buffer_twice(self, driver, expect):
        a = driver.zeros(8)
        driver.run("copy", [a, a], 4, 4)
        expect("copy: one buffer is bound at indices 0 and 1, and written")
        driver.run("copy", [a, (a, 16)], 4, 4)
        expect("arguments must not alias")

    def test_two_buffers_over_the_same_pages(self, driver, expect):
        pages = mmap.mmap(-1, mmap.PAGESIZE)
        address = np.frombuffer(pages, "u1").ctypes.data
        buffers = []
        for _ in range(2):
            buffer = module.Buffer.__new__(module.Buffer)
            buffer.handle = driver.library.driver_buffer_over(address, mmap.PAGESIZE)
            buffers.append(buffer)
        driver.run("copy", buffers, 4, 4)
        expect("arguments must not alias")
        for buffer in buffers:
            driver.library.driver_release(buffer.handle)

    def test_pages(self, driver, expect):
        pages = mmap.mmap(-1, mmap.PAGESIZE)
        address = np.frombuffer(pages, "u1").ctypes.data
        before = driver.library.driver_deallocations()
        assert driver.library.driver_buffer_over(address + 64, mmap.PAGESIZE) is None
        expect("newBufferWithBytesNoCopy: pointer .* multiples of the page size")
        assert driver.library.driver_buffer_over(address, 64) is None
        expect("length 64 have to be multiples")
        handle = driver.library.driver_buffer_over(address, mmap.PAGESIZE)
        assert driver.library.driver_contents(handle) == address
        driver.library.driver_release(handle)
        assert driver.library.driver_deallocations() == before + 1

    def test_command_buffers_that_nobody_commits(self, driver, expect):
        buffers = [driver.command_buffer() for _ in range(64)]
        buffers.append(driver.command_buffer())
        expect("all 64 that the queue may have are not committed")
        for commands in buffers:
            driver.library.driver_release(commands.handle)

    def test_empty_buffer(self, driver, expect):
        assert driver.library.driver_buffer(0, 0) is None
        expect("newBuffer: length 0")


class TestHazards:
    def encode(self, driver, barrier=None, second=("add_one", 0), concurrent=True):
        a, b, c = (driver.zeros(64) for _ in range(3))
        commands = driver.command_buffer()
        with commands.encoder(concurrent) as encoder:
            encoder.dispatch("copy", [a, b], 64, 64)
            if barrier == "scope":
                driver.library.driver_barrier(encoder.handle)
            elif barrier is not None:
                driver.library.driver_barrier_of(
                    encoder.handle, (a, b, c)[barrier].handle
                )
            kernel, which = second
            used = (a, b, c)[which]
            encoder.dispatch(kernel, [used, c][: 1 + (kernel == "copy")], 64, 64)
        return commands.finish()

    def test_write_after_read(self, driver, expect):
        self.encode(driver, second=("add_one", 0))
        expect(
            "add_one writes a buffer that copy reads, with no memory barrier between"
        )

    def test_write_after_write(self, driver, expect):
        self.encode(driver, second=("add_one", 1))
        expect("add_one writes a buffer that copy writes")

    def test_read_after_write(self, driver, expect):
        self.encode(driver, second=("copy", 1))
        expect("copy reads a buffer that copy writes")

    def test_wrong_barrier(self, driver, expect):
        self.encode(driver, barrier=2, second=("add_one", 1))
        expect("add_one writes")

    @pytest.mark.parametrize(
        "case",
        [
            {"second": ("copy", 0)},
            {"second": ("add_one", 2)},
            {"barrier": "scope", "second": ("add_one", 1)},
            {"barrier": 1, "second": ("add_one", 1)},
            {"concurrent": False, "second": ("add_one", 1)},
        ],
    )
    def test_no_hazard(self, driver, quiet, case):
        assert self.encode(driver, **case) == 0


# -- Time --------------------------------------------------------------------------------


@pytest.mark.usefixtures("quiet")
class TestQueue:
    def test_handlers_run_elsewhere(self, driver):
        library = driver.library
        before = library.driver_handled(), library.driver_handled_elsewhere()
        for deferred in (0, 1):
            driver.configure(deferred=deferred)
            commands = driver.command_buffer()
            library.driver_count_handler(commands.handle)
            library.driver_count_handler(commands.handle)
            commands.finish()
        after = library.driver_handled(), library.driver_handled_elsewhere()
        assert after == (before[0] + 4, before[1] + 4)

    @pytest.mark.parametrize("deferred", [0, 1])
    def test_waiting_in_a_handler(self, driver, deferred):
        """For an earlier command buffer and, deferred, for a later one."""
        driver.configure(deferred=deferred)
        buffers = [driver.command_buffer() for _ in range(3)]
        a = driver.zeros(64)
        for commands in buffers:
            commands.dispatch("add_one", [a], 64, 64)
        driver.library.driver_waiting_handler(buffers[1].handle, buffers[0].handle)
        driver.library.driver_waiting_handler(buffers[1].handle, buffers[2].handle)
        for i in (0, 1, 2) if deferred else (0, 2, 1):
            buffers[i].commit()
        assert buffers[1].wait() == 0
        assert (a.array == 3).all()

    @pytest.mark.parametrize("first", ["signal", "wait"])
    def test_semaphore_between_handlers(self, driver, first):
        one, two = driver.command_buffer(), driver.command_buffer()
        signal, wait = (one, two) if first == "signal" else (two, one)
        driver.library.driver_signalling_handler(signal.handle)
        driver.library.driver_signalled_handler(wait.handle)
        one.commit()
        two.commit()
        assert one.wait() == two.wait() == 0

    def test_waiting_threads(self, driver):
        a, commands = driver.zeros(1 << 16), driver.command_buffer()
        for _ in range(5):
            commands.dispatch("add_one", [a], 1 << 16, 256)
        codes = []
        commands.commit()
        threads = [
            threading.Thread(target=lambda: codes.append(commands.wait()))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert codes == [0] * 6

    def test_deferred(self, driver):
        driver.configure(deferred=1)
        a = driver.zeros(64)
        buffers = [driver.command_buffer() for _ in range(3)]
        for commands in buffers:
            commands.dispatch("add_one", [a], 64, 64)
            commands.commit()
        assert (a.array == 0).all()
        buffers[1].wait()
        assert (a.array == 2).all()
        assert driver.library.driver_status(buffers[2].handle) < COMPLETED
        driver.library.metal_host_run_pending()
        assert (a.array == 3).all()
        assert driver.library.driver_status(buffers[2].handle) == COMPLETED

    def test_enqueued_order(self, driver):
        a, first, second = (
            driver.zeros(4),
            driver.command_buffer(),
            driver.command_buffer(),
        )
        first.dispatch("look_up", [a], 4, 4)
        second.dispatch("add_one", [a], 4, 4)
        driver.library.driver_enqueue(first.handle)
        driver.library.driver_enqueue(second.handle)
        second.commit()
        first.commit()
        assert second.wait() == 0
        assert a.array.tolist() == [2, 3, 5, 9]

    def test_place_in_the_queue(self, driver):
        """The 65th command buffer waits for one of those that are committed."""
        driver.configure(deferred=1)
        a = driver.zeros(4)
        buffers = [driver.command_buffer() for _ in range(64)]
        for commands in buffers:
            commands.dispatch("add_one", [a], 4, 4)
            commands.commit()
        assert driver.command_buffer().finish() == 0
        assert (a.array == 64).all()
        for commands in buffers:
            driver.library.driver_release(commands.handle)

    def test_wait_until_scheduled(self, driver):
        commands = driver.command_buffer()
        commands.commit()
        driver.library.driver_wait_scheduled(commands.handle)
        assert commands.wait() == 0

    def test_objects_die(self, driver):
        a = driver.zeros(64)
        driver.run("add_one", [a], 64, 64)
        driver.library.metal_host_run_pending()
        before = driver.library.metal_host_live_objects()
        for _ in range(50):
            commands = driver.command_buffer()
            driver.library.driver_count_handler(commands.handle)
            commands.dispatch("add_one", [a, f4(1)], 64, 64)
            commands.finish()
        driver.library.metal_host_run_pending()
        assert driver.library.metal_host_live_objects() <= before

    def test_stress(self, driver):
        """1,000 dispatches from 4 threads, which yield at atomics."""
        driver.configure(chaos=1, workers=8)
        pipelines = [driver.pipeline(name) for name in ("add_one", "tree_sum", "count")]
        assert all(pipelines)
        wrong = []

        def work(seed):
            random = np.random.default_rng(seed)
            for i in range(250):
                n = int(random.integers(1, 3000))
                kind = i % 3
                if kind == 0:
                    a = driver.zeros(n)
                    ok = driver.run("add_one", [a], n, 64) == 0 and (a.array == 1).all()
                elif kind == 1:
                    x = random.integers(0, 9, 512).astype("f4")
                    b, a = driver.buffer(x), driver.zeros(2)
                    ok = driver.run("tree_sum", [b, a], 512, 256) == 0
                    ok = ok and (a.array == x.reshape(2, 256).sum(1)).all()
                    b.release()
                else:
                    a = driver.zeros(1, "u4")
                    ok = driver.run("count", [a], n, 32) == 0 and a.array[0] == n
                a.release()
                if not ok:
                    wrong.append((seed, i))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


def test_waiting_for_oneself(driver, expect):
    commands = driver.command_buffer()
    driver.library.driver_waiting_handler(commands.handle, None)
    assert commands.finish() == 0
    expect("waiting for a command buffer in a handler of its own")


# -- Injected faults ---------------------------------------------------------------------


@pytest.mark.usefixtures("quiet")
class TestInjectedFaults:
    @pytest.mark.parametrize("code", [1, TIMEOUT, 8, DEVICE_REMOVED])
    def test_command_buffer(self, driver, code):
        a = driver.zeros(4)
        driver.configure(fail_next_command_buffer=code)
        assert driver.run("add_one", [a], 4, 4) == code
        assert (a.array == 0).all()
        assert driver.run("add_one", [a], 4, 4) == 0

    def test_allocations(self, driver):
        driver.configure(fail_buffer_allocations=2)
        handles = [driver.library.driver_buffer(64, 0) for _ in range(4)]
        assert [handle is None for handle in handles] == [True, True, False, False]

    def test_library(self, driver):
        driver.configure(fail_next_library=3)
        assert driver.library.driver_library(KERNELS.encode(), 0) is None
        assert driver.library.driver_library(KERNELS.encode(), 0)

    def test_device_lost(self, driver):
        a = driver.zeros(4)
        driver.configure(device_lost=1)
        assert driver.run("add_one", [a], 4, 4) == DEVICE_REMOVED
        assert driver.library.driver_buffer(64, 0) is None
        driver.configure(device_lost=0)
        assert driver.run("add_one", [a], 4, 4) == 0

    def test_no_device(self, driver):
        assert driver.library.driver_device_count() == 1
        driver.configure(no_device=1)
        assert driver.library.driver_device_count() == 0
        assert not driver.library.driver_has_default_device()


# -- Libraries ---------------------------------------------------------------------------


class TestLibraries:
    def test_names(self, driver):
        count = driver.library.driver_function_count(driver.source)
        assert count == KERNELS.count("kernel void")
        assert driver.library.driver_pipeline(driver.source, b"missing") is None

    def test_diagnostics(self, driver):
        wrong = "#include <metal_stdlib>\nkernel void f(device float* a [[buffer(0)]]) { b = 1; }"
        assert driver.library.driver_library(wrong.encode(), 0) is None
        assert "program_source" in driver.error
        assert "'b'" in driver.error

    def test_fast_math(self, driver):
        """With which a compiler takes it that nothing is NaN."""
        source = """#include <metal_stdlib>
            using namespace metal;
            kernel void is_fast(device const float* x [[buffer(0)]],
                                device uint* out [[buffer(1)]]) {
              out[0] = isnan(x[0]) ? 2u : 1u;
            }"""
        x, out = driver.buffer([np.nan], "f4"), driver.zeros(1, "u4")
        for is_fast in (True, False):
            assert driver.compile(source, fast_math=is_fast), driver.error
            assert driver.run("is_fast", [x, out], 1, 1) == 0
            assert out.array[0] == (1 if is_fast else 2)
        assert driver.compile(KERNELS)

    def test_processes_compile_one_source_at_once(self, driver, tmp_path):
        source = "#include <metal_stdlib>\nkernel void f(device float* a [[buffer(0)]]) { a[0] = 5.0f; }"
        script = f"""{start()}
assert driver.compile({source!r}), driver.error
a = driver.zeros(1)
assert driver.run("f", [a], 1, 1) == 0, driver.error
assert a.array[0] == 5
"""
        environment = os.environ | {"METAL_HOST_CACHE": str(tmp_path / "cache")}
        running = [
            subprocess.Popen([sys.executable, "-c", script], env=environment)
            for _ in range(3)
        ]
        assert [process.wait(60) for process in running] == [0, 0, 0]
        left = [
            p.name for p in (tmp_path / "cache").iterdir() if not p.name.startswith(".")
        ]
        assert len([name for name in left if name.endswith(".so")]) == 1
        assert not [name for name in left if name.startswith("compile.")]
        assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


# -- Processes ---------------------------------------------------------------------------


def run_script(body: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", start() + body],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | environment,
    )


class TestProcesses:
    def test_message_to_the_dead(self):
        done = run_script("driver.library.driver_message_the_dead()")
        assert done.returncode < 0
        assert (
            "-[HostBuffer length]: message sent to deallocated instance" in done.stderr
        )

    def test_abort_at_a_report(self):
        done = run_script("driver.library.driver_buffer(0, 0)", METAL_HOST_ABORT="1")
        assert done.returncode < 0
        assert "Metal host: newBuffer: length 0" in done.stderr

    def test_verbose(self):
        done = run_script("driver.library.driver_buffer(0, 0)", METAL_HOST_VERBOSE="1")
        assert done.returncode == 0
        assert "Metal host: newBuffer: length 0" in done.stderr

    def test_settings_of_the_environment(self, driver):
        body = f"""
assert driver.compile({KERNELS!r})
assert driver.run("forever", [driver.zeros(2, "u4")], 1, 1) == {TIMEOUT}
print(driver.last_report)
"""
        done = run_script(body, METAL_HOST_BRANCHES="3000", METAL_HOST_WORKERS="1")
        assert "GPU hang: 3072 branches" in done.stdout, done.stderr

    @pytest.mark.parametrize("target", ["aarch64-macos", "x86_64-macos"])
    def test_headers_compile_for_macos(self, tmp_path, target):
        """Apple's own ABI, which zig can compile for; it cannot be run here."""
        build = module.load_build()
        if not build.is_zig():
            pytest.skip("another clang has no C headers for macOS")
        command = [
            *build.compiler(),
            "-target",
            target,
            "-x",
            "objective-c",
            "-fobjc-arc",
        ]
        command += [
            "-fblocks",
            "-Werror",
            "-I",
            str(FOLDER),
            "-c",
            str(FOLDER / "driver.m"),
        ]
        done = subprocess.run(
            [*command, "-o", str(tmp_path / "driver.o")], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    def test_stale_pointer(self):
        done = run_script(
            "a = driver.zeros(4); view = a.array; a.release(); print(view[0])"
        )
        assert done.returncode < 0
        assert "memory of a deallocated MTLBuffer" in done.stderr

    def test_fork(self, driver):
        """A child has no GPU, does not hang, and ends; the parent goes on."""
        body = f"""
assert driver.compile({KERNELS!r})
a = driver.zeros(4)
assert driver.run("add_one", [a], 4, 4) == 0
child = os.fork()
code = driver.run("add_one", [a], 4, 4)
if child == 0:
    assert not driver.library.driver_has_default_device()
    sys.exit(0 if code == {DEVICE_REMOVED} and a.array[0] == 1 else 1)
assert os.waitpid(child, 0)[1] == 0
assert code == 0 and a.array[0] == 2
"""
        done = run_script(body)
        assert done.returncode == 0, done.stderr
