"""Call the functions of driver.m from Python."""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from . import build, toolchain

FOLDER = Path(__file__).resolve().parent

POINTER, SIZE, INT, TEXT = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_char_p,
)

# Result and argument types by function name.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "driver_last_error": (TEXT, []),
    "driver_release": (None, [POINTER]),
    "driver_device_count": (INT, []),
    "driver_has_default_device": (INT, []),
    "driver_allocated": (SIZE, []),
    "driver_supports": (INT, [ctypes.c_long]),
    "driver_queue": (POINTER, []),
    "driver_buffer": (POINTER, [SIZE, ctypes.c_ulong]),
    "driver_buffer_over": (POINTER, [POINTER, SIZE]),
    "driver_deallocations": (INT, []),
    "driver_contents": (POINTER, [POINTER]),
    "driver_length": (SIZE, [POINTER]),
    "driver_library": (POINTER, [TEXT, INT, INT, ctypes.c_ulong]),
    "driver_function_count": (INT, [POINTER]),
    "driver_pipeline": (POINTER, [POINTER, TEXT]),
    "driver_pipeline_threads": (SIZE, [POINTER]),
    "driver_pipeline_memory": (SIZE, [POINTER]),
    "driver_command_buffer": (POINTER, [POINTER, INT]),
    "driver_enqueue": (None, [POINTER]),
    "driver_commit": (None, [POINTER]),
    "driver_wait": (None, [POINTER]),
    "driver_wait_scheduled": (None, [POINTER]),
    "driver_status": (INT, [POINTER]),
    "driver_error": (INT, [POINTER]),
    "driver_gpu_time": (ctypes.c_double, [POINTER]),
    "driver_handled": (INT, []),
    "driver_handled_elsewhere": (INT, []),
    "driver_count_handler": (None, [POINTER]),
    "driver_waiting_handler": (None, [POINTER, POINTER]),
    "driver_signalling_handler": (None, [POINTER]),
    "driver_signalled_handler": (None, [POINTER]),
    "driver_releasing_handler": (None, [POINTER, POINTER]),
    "driver_encoder": (POINTER, [POINTER, INT]),
    "driver_set_pipeline": (None, [POINTER, POINTER]),
    "driver_set_buffer": (None, [POINTER, POINTER, SIZE, ctypes.c_uint]),
    "driver_set_offset": (None, [POINTER, SIZE, ctypes.c_uint]),
    "driver_set_bytes": (None, [POINTER, POINTER, SIZE, ctypes.c_uint]),
    "driver_set_threadgroup_memory": (None, [POINTER, SIZE, ctypes.c_uint]),
    "driver_dispatch_threads": (None, [POINTER, POINTER, POINTER]),
    "driver_dispatch_threadgroups": (None, [POINTER, POINTER, POINTER]),
    "driver_barrier": (None, [POINTER]),
    "driver_barrier_of": (None, [POINTER, POINTER]),
    "driver_end": (None, [POINTER]),
    "driver_blit": (None, [POINTER, POINTER, POINTER, SIZE, INT]),
    "driver_run": (
        INT,
        [POINTER, POINTER, POINTER, INT, POINTER, SIZE, SIZE, SIZE],
    ),
    "driver_test_language": (INT, []),
    "driver_test_properties": (INT, [POINTER]),
    "driver_message_the_dead": (None, []),
    "metal_emulator_report_count": (INT, []),
    "metal_emulator_last_report": (TEXT, []),
    "metal_emulator_configure": (None, [TEXT, ctypes.c_long]),
    "metal_emulator_run_pending": (None, []),
    "metal_emulator_dispatch_count": (ctypes.c_long, [TEXT]),
    "metal_emulator_live_objects": (ctypes.c_long, []),
    "metal_emulator_cost": (ctypes.c_long, [TEXT]),
    "metal_emulator_reset_costs": (None, []),
}

# The defaults, which environment variables can change.
SETTINGS = {
    "workers": 4,
    "branches": 1_000_000,
    "seed": 0,
    "race": 0,
    "chaos": 0,
    "cost": 0,
    "deferred": 0,
    "plain": 0,
    "macos": 15,
    "max_buffer": 0,
    "pipeline_threads": 0,
    "fail_next_command_buffer": 0,
    "fail_next_library": 0,
    "fail_next_pipeline": 0,
    "fail_buffer_allocations": 0,
    "device_lost": 0,
    "no_device": 0,
    "discrete": 0,
}


def build_driver() -> Path:
    """Return the shared library of driver.m and the emulator; build it if necessary."""
    digest = hashlib.sha256(repr((build.compiler(), sys.executable)).encode())
    for path in [*build.files(), FOLDER / "build.py"]:
        digest.update(f"{path}\n".encode() + path.read_bytes())
    folder = Path(toolchain.cache_folder())
    library = folder / f"driver-{digest.hexdigest()[:32]}.so"
    if not _is_whole(library):
        archive, made = (
            library.with_suffix(f".{os.getpid()}.{e}") for e in ("a", "so")
        )
        build.build(archive, product=[FOLDER / "driver.m"])
        build.link(archive, made)
        made.write_bytes(_sealed(made.read_bytes()))
        made.rename(library)
        archive.unlink()
    return library


def _sealed(content: bytes) -> bytes:
    """Return the content followed by its digest, which shows if a file is truncated."""
    return content + hashlib.sha256(content).digest()


def _is_whole(library: Path) -> bool:
    if not library.exists():
        return False
    kept = library.read_bytes()
    return kept == _sealed(kept[: -hashlib.sha256().digest_size])


def load(path: Path) -> ctypes.CDLL:
    """Load the driver and declare its functions."""
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def sides(size: int | Sequence[int]) -> Any:
    """Return a size with up to three dimensions as an MTLSize."""
    given = (size,) if isinstance(size, int) else tuple(size)
    return (SIZE * 3)(*given, *[1] * (3 - len(given)))


class Buffer:
    """A buffer with an array's contents."""

    def __init__(self, driver: Driver, array: np.ndarray, options: int = 0) -> None:
        self.driver, self.dtype, self.shape = driver, array.dtype, array.shape
        self.handle = driver.library.driver_buffer(array.nbytes, options)
        assert self.handle
        self.array[...] = array

    @property
    def array(self) -> np.ndarray:
        """The contents, as an array that shares their memory."""
        address = self.driver.library.driver_contents(self.handle)
        size = int(np.prod(self.shape)) * self.dtype.itemsize
        data = (ctypes.c_uint8 * size).from_address(address)
        return np.frombuffer(data, self.dtype).reshape(self.shape)

    def release(self) -> None:
        """Release the reference of this object."""
        self.driver.library.driver_release(self.handle)


class Encoder:
    """A compute command encoder."""

    def __init__(self, driver: Driver, handle: int | None) -> None:
        self.driver, self.handle, self.library = driver, handle, driver.library

    def bind(self, arguments: Sequence[Any]) -> None:
        """Set arguments: Buffer, (Buffer, offset), bytes, or None to set nothing."""
        for index, given in enumerate(arguments):
            if isinstance(given, Buffer):
                self.library.driver_set_buffer(self.handle, given.handle, 0, index)
            elif isinstance(given, tuple):
                buffer, offset = given
                self.library.driver_set_buffer(
                    self.handle, buffer.handle, offset, index
                )
            elif given is not None:
                data = bytes(given)
                self.library.driver_set_bytes(self.handle, data, len(data), index)

    def dispatch(
        self, kernel: str | int | None, arguments: Sequence[Any], grid: Any, group: Any
    ) -> None:
        """Set the pipeline and the arguments, and dispatch threads."""
        handle = self.driver.pipeline(kernel) if isinstance(kernel, str) else kernel
        if handle:
            self.library.driver_set_pipeline(self.handle, handle)
        self.bind(arguments)
        self.library.driver_dispatch_threads(self.handle, sides(grid), sides(group))


class CommandBuffer:
    """A command buffer."""

    def __init__(self, driver: Driver, unretained: bool) -> None:
        self.driver, self.library = driver, driver.library
        self.handle = self.library.driver_command_buffer(driver.queue, unretained)

    @contextmanager
    def encoder(self, concurrent: bool = False) -> Iterator[Encoder]:
        """Return an encoder for the block, and end it afterwards."""
        handle = self.library.driver_encoder(self.handle, concurrent)
        yield Encoder(self.driver, handle)
        self.library.driver_end(handle)
        self.library.driver_release(handle)

    def dispatch(
        self, kernel: Any, arguments: Sequence[Any], grid: Any, group: Any
    ) -> None:
        """Encode one dispatch."""
        with self.encoder() as encoder:
            encoder.dispatch(kernel, arguments, grid, group)

    def commit(self) -> None:
        """Commit the command buffer."""
        self.library.driver_commit(self.handle)

    def wait(self) -> int:
        """Wait for completion and return the error code."""
        self.library.driver_wait(self.handle)
        return self.library.driver_error(self.handle)

    def finish(self) -> int:
        """Commit, wait, release the reference and return the error code."""
        self.commit()
        code = self.wait()
        self.library.driver_release(self.handle)
        return code


class Driver:
    """The device with a queue and the pipelines of a library."""

    def __init__(self, path: Path) -> None:
        self.library = load(path)
        self.pipelines: dict[str, int] = {}
        self.queue = self.library.driver_queue()
        self.source: int | None = None

    def renew_queue(self) -> None:
        """Replace the queue, which ignores what follows a hang."""
        self.library.driver_release(self.queue)
        self.queue = self.library.driver_queue()

    def compile(
        self,
        source: str,
        fast_math: bool = False,
        functions: int = -1,
        version: int = 310,
    ) -> bool:
        """Compile the library for pipelines; return whether it compiled."""
        code = (version // 100 << 16) + version % 100 // 10
        text = source.encode()
        self.source = self.library.driver_library(text, fast_math, functions, code)
        self.pipelines.clear()
        return self.source is not None

    def pipeline(self, name: str) -> int:
        """Return the pipeline of a kernel."""
        if name not in self.pipelines:
            handle = self.library.driver_pipeline(self.source, name.encode())
            assert handle, self.error
            self.pipelines[name] = handle
        return self.pipelines[name]

    def buffer(self, values: Any, dtype: Any = None, options: int = 0) -> Buffer:
        """Return a buffer with the values of an array."""
        return Buffer(self, np.asarray(values, dtype), options)

    def zeros(self, shape: Any, dtype: Any = "f4") -> Buffer:
        """Return a buffer of zeros."""
        return self.buffer(np.zeros(shape, dtype))

    def command_buffer(self, unretained: bool = False) -> CommandBuffer:
        """Return a new command buffer."""
        return CommandBuffer(self, unretained)

    def run(self, kernel: str, arguments: Sequence[Any], grid: Any, group: Any) -> int:
        """Run one dispatch and return the error code."""
        commands = self.command_buffer()
        commands.dispatch(kernel, arguments, grid, group)
        return commands.finish()

    def configure(self, **settings: int) -> None:
        """Change settings."""
        for key, value in settings.items():
            self.library.metal_emulator_configure(key.encode(), value)

    def cost(self, counter: str) -> int:
        """Return a count of engine/cost.h since the last reset."""
        count = self.library.metal_emulator_cost(counter.encode())
        assert count >= 0, counter
        return count

    @property
    def error(self) -> str:
        """The message of the last error."""
        return self.library.driver_last_error().decode()

    @property
    def report_count(self) -> int:
        """The number of reports."""
        return self.library.metal_emulator_report_count()

    @property
    def last_report(self) -> str:
        """The text of the last report."""
        return self.library.metal_emulator_last_report().decode()
