"""Test faults of kernels that the Metal emulator reports, and faults that it injects."""

from __future__ import annotations

import mmap
import os

import numpy as np
import pytest
from support.driver import (
    ACCESS_REVOKED,
    DEVICE_REMOVED,
    KERNELS,
    PAGE_FAULT,
    TIMEOUT,
    i4,
    module,
    needs_host,
)

pytestmark = [needs_host, pytest.mark.slow]
pytest_plugins = ["support.driver"]


# kernel: its arguments, threads, the error, what is reported
FAULTS = {
    "copy": (
        lambda driver: [driver.zeros(3), driver.zeros(4)],
        4,
        PAGE_FAULT,
        "out-of-bounds read of 4 bytes .*kernel copy, thread_position_in_grid 3,0,0",
    ),
    "deep": (
        lambda driver: [driver.zeros(1)],
        1,
        PAGE_FAULT,
        "stack overflow|out-of-bounds",
    ),
    "diverged_barrier": (
        lambda driver: [driver.zeros(8)],
        8,
        1,
        "divergent threadgroup_barrier: 4 threads wait, 4 have returned",
    ),
}


class TestFaults:
    @pytest.mark.parametrize("kernel", FAULTS)
    def test_fault(self, driver, expect, kernel):
        arguments, n, error, text = FAULTS[kernel]
        assert driver.run(kernel, arguments(driver), n, n) == error
        expect(text)

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
    def test_kernels_run_after_a_hang(self, driver, expect, workers):
        driver.configure(workers=workers)
        assert driver.pipeline("forever")
        assert driver.pipeline("add_one")
        driver.library.metal_emulator_run_pending()
        before = driver.library.metal_emulator_live_objects()
        for _ in range(5):
            out = driver.zeros(2, "u4")
            assert driver.run("forever", [out], 128, 32) == TIMEOUT
            expect("GPU hang: .* kernel forever|GPU hang: .*forever")
            out.release()
            a = driver.zeros(1000)
            assert driver.run("add_one", [a], 1000, 64) == ACCESS_REVOKED
            assert "an earlier command buffer of the queue hung" in driver.error
            driver.renew_queue()
            assert driver.run("add_one", [a], 1000, 64) == 0
            assert (a.array == 1).all()
            a.release()
        driver.library.metal_emulator_run_pending()
        assert driver.library.metal_emulator_live_objects() <= before

    def test_later_command_buffers_are_ignored(self, driver, expect):
        a, out = driver.zeros(4), driver.zeros(2, "u4")
        buffers = [driver.command_buffer() for _ in range(3)]
        for commands, kernel, argument in zip(
            buffers, ["add_one", "forever", "add_one"], [a, out, a], strict=True
        ):
            commands.dispatch(kernel, [argument], 4, 4)
        for commands in buffers:
            commands.commit()
        assert [commands.wait() for commands in buffers] == [0, TIMEOUT, ACCESS_REVOKED]
        expect("GPU hang")
        assert (a.array == 1).all()

    @pytest.mark.skipif(os.uname().machine != "x86_64", reason="others have a result")
    def test_integer_division_by_zero(self, driver, expect):
        """Of which the result is undefined in MSL."""
        a = driver.buffer([7], "i4")
        assert driver.run("divide", [a, i4(0)], 1, 1) == 1
        expect("integer division by zero, .*kernel divide")
        assert driver.run("divide", [a, i4(2)], 1, 1) == 0
        assert a.array[0] == 3

    def test_races(self, driver, expect):
        driver.configure(race=1)
        x, out = driver.buffer(np.ones(512), "f4"), driver.zeros(2)
        assert driver.run("tree_sum", [x, out], 512, 256) == 0
        assert driver.run("racy_tree_sum", [x, out], 512, 256) == 1
        expect("data race: write of the byte .* that another GPU thread read")
        assert driver.run("lose_counts", [driver.zeros(1, "u4")], 64, 32) == 1
        expect("data race")
        assert driver.run("count", [driver.zeros(1, "u4")], 64, 32) == 0


# -- Injected faults


@pytest.mark.usefixtures("quiet")
class TestInjectedFaults:
    @pytest.mark.parametrize("code", [1, TIMEOUT, 8, DEVICE_REMOVED])
    def test_command_buffer(self, driver, code):
        a = driver.zeros(4)
        driver.configure(fail_next_command_buffer=code)
        assert driver.run("add_one", [a], 4, 4) == code
        assert (a.array == 0).all()
        driver.renew_queue()
        assert driver.run("add_one", [a], 4, 4) == 0

    def test_allocations(self, driver):
        driver.configure(fail_buffer_allocations=2)
        handles = [driver.library.driver_buffer(64, 0) for _ in range(4)]
        assert [handle is None for handle in handles] == [True, True, False, False]

    def test_library(self, driver):
        driver.configure(fail_next_library=3)
        assert not driver.compile(KERNELS)
        assert driver.compile(KERNELS)

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
