"""Test that the Metal emulator reports misuse of Metal's API."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from support.driver import f4, module, needs_host

pytestmark = [needs_host, pytest.mark.slow]
pytest_plugins = ["support.driver"]


# name: kernel, its arguments, threads of a threadgroup, what is reported of 4 threads
RUNS = {
    "missing binding": (
        "copy",
        lambda driver: [driver.zeros(4)],
        4,
        "copy: missing buffer binding at index 1",
    ),
    "binding too small": (
        "saxpy",
        lambda driver: [driver.zeros(4), driver.zeros(4), b"ab"],
        4,
        "saxpy: the buffer binding at index 2 holds 2 bytes, the argument needs 4",
    ),
    "writable bytes": (
        "add_one",
        lambda driver: [f4(1, 2, 3, 4)],
        4,
        "add_one: setBytes is bound to the writable argument at index 0",
    ),
} | {
    f"threadgroup of {group}": (
        "add_one",
        lambda driver: [driver.zeros(4)],
        group,
        r"threadsPerThreadgroup \d+ is not in 1..1024",
    )
    for group in (0, 1025, (32, 32, 2))
}

# name: what an encoder is asked for, what is reported
ENCODINGS = {
    "offset beyond the end": (
        lambda driver, encoder: encoder.bind([(driver.zeros(4), 16)]),
        "setBuffer: offset 16 is not below the buffer's length 16",
    ),
    "offset of nothing": (
        lambda driver, encoder: driver.library.driver_set_offset(encoder.handle, 4, 2),
        "setBufferOffset: there is no buffer at index 2",
    ),
    "index": (
        lambda driver, encoder: driver.library.driver_set_bytes(
            encoder.handle, b"a", 1, 31
        ),
        "setBytes: index 31 is not below 31",
    ),
    "bytes too long": (
        lambda driver, encoder: (
            encoder.bind([bytes(4096)]),
            encoder.bind([bytes(4097)]),
        ),
        "setBytes: length 4097 is not in 1..4096",
    ),
}


class TestValidation:
    @pytest.mark.parametrize("name", RUNS)
    def test_run(self, driver, expect, name):
        kernel, arguments, group, text = RUNS[name]
        driver.run(kernel, arguments(driver), 4, group)
        expect(text)

    @pytest.mark.parametrize("name", ENCODINGS)
    def test_encoding(self, driver, expect, name):
        encode, text = ENCODINGS[name]
        commands = driver.command_buffer()
        with commands.encoder() as encoder:
            encode(driver, encoder)
        expect(text)
        assert commands.finish() == 0

    def test_set_offset(self, driver, quiet):
        a, commands = driver.zeros(8), driver.command_buffer()
        with commands.encoder() as encoder:
            encoder.bind([a])
            driver.library.driver_set_offset(encoder.handle, 16, 0)
            encoder.dispatch("add_one", [], 4, 4)
        assert commands.finish() == 0
        assert a.array.tolist() == [0] * 4 + [1] * 4

    def test_no_pipeline(self, driver, expect):
        commands = driver.command_buffer()
        commands.dispatch(None, [driver.zeros(4)], 4, 4)
        expect("dispatch without a pipeline state")
        commands.finish()

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

    def test_uncommitted_command_buffers(self, driver, expect):
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

    @pytest.mark.parametrize(
        ("case", "text"),
        [
            (
                {"second": ("add_one", 0)},
                "add_one writes a buffer that copy reads, with no memory barrier between",
            ),
            (
                {"second": ("add_one", 1)},
                "add_one writes a buffer that copy writes",
            ),
            ({"second": ("copy", 1)}, "copy reads a buffer that copy writes"),
            ({"barrier": 2, "second": ("add_one", 1)}, "add_one writes"),
        ],
        ids=[
            "write after read",
            "write after write",
            "read after write",
            "wrong barrier",
        ],
    )
    def test_hazard(self, driver, expect, case, text):
        self.encode(driver, **case)
        expect(text)

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
