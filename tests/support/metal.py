"""Helpers for tests on a Metal device: markers, and functions of the Metal emulator."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from typing import Any

import pytest

import mxnp
from mxnp._engine import core

needs_metal = pytest.mark.skipif(
    "metal" not in mxnp.devices(),
    reason="this build of mxnp has no Metal device (see CONTRIBUTING.md)",
)

needs_gpu = pytest.mark.skipif(
    len(mxnp.devices()) == 1, reason="mxnp has no GPU here (see CONTRIBUTING.md)"
)

lacks_float64 = pytest.mark.skipif(
    "float64" in core.gpu().types, reason="the GPU has float64"
)

# Result and argument types by function name; see metal_emulator.h.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "metal_emulator_report_count": (ctypes.c_int, []),
    "metal_emulator_last_report": (ctypes.c_char_p, []),
    "metal_emulator_configure": (None, [ctypes.c_char_p, ctypes.c_long]),
    "metal_emulator_run_pending": (None, []),
    "metal_emulator_dispatch_count": (ctypes.c_long, [ctypes.c_char_p]),
    "metal_emulator_live_objects": (ctypes.c_long, []),
    "metal_emulator_cost": (ctypes.c_long, [ctypes.c_char_p]),
    "metal_emulator_reset_costs": (None, []),
}


# The counters of tests/metal_emulator/engine/cost.h.
COSTS = [
    "dispatches",
    "threadgroups",
    "threads",
    "loads",
    "load_bytes",
    "stores",
    "store_bytes",
    "atomics",
    "constant_loads",
    "threadgroup_loads",
    "threadgroup_stores",
    "barriers",
    "exchanges",
    "branches",
    "divisions",
    "threadgroup_bytes",
]


class Host:
    """The Metal emulator that mxnp was built with."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments

    @property
    def report_count(self) -> int:
        return self.library.metal_emulator_report_count()

    @property
    def last_report(self) -> str:
        return self.library.metal_emulator_last_report().decode()

    @property
    def live_objects(self) -> int:
        return self.library.metal_emulator_live_objects()

    def dispatch_count(self, kernel: str | None = None) -> int:
        name = kernel.encode() if kernel else None
        return self.library.metal_emulator_dispatch_count(name)

    def configure(self, **settings: int) -> None:
        for key, value in settings.items():
            self.library.metal_emulator_configure(key.encode(), value)

    def run_pending(self) -> None:
        self.library.metal_emulator_run_pending()

    @contextmanager
    def configured(self, **settings: int) -> Iterator[None]:
        """Change settings, and set them to 0 at the end of the block."""
        self.configure(**settings)
        try:
            yield
        finally:
            self.configure(**dict.fromkeys(settings, 0))


@contextmanager
def count_costs() -> Iterator[dict[str, int]]:
    """Yield a dict that has the costs of the block's kernels when the block ends."""
    costs: dict[str, int] = {}
    mxnp.synchronize()
    HOST.library.metal_emulator_reset_costs()
    with HOST.configured(cost=1):
        yield costs
        mxnp.synchronize()
    for counter in COSTS:
        costs[counter] = HOST.library.metal_emulator_cost(counter.encode())


def _find_host() -> Host | None:
    """Return the emulator in mxnp's compiled module, or None with Apple's Metal."""
    spec = PathFinder.find_spec("mxnp._core", mxnp.__path__)
    assert spec
    assert spec.origin
    library = ctypes.CDLL(spec.origin)  # the library that is already loaded
    return Host(library) if hasattr(library, "metal_emulator_configure") else None


HOST = _find_host()

needs_host = pytest.mark.skipif(
    HOST is None,
    reason="this build of mxnp has no Metal emulator (see CONTRIBUTING.md)",
)


@contextmanager
def no_reports() -> Iterator[None]:
    """Assert that the emulator reports nothing."""
    before = HOST.report_count if HOST else 0
    yield
    mxnp.synchronize()
    if HOST:
        assert HOST.report_count == before, HOST.last_report


def run(
    program: str, *, error: str = "", timeout: float = 300, **environment: str | None
) -> str:
    """
    Run a program in a separate process and return its output.

    Environment variables that are None are removed. If `error` is passed, the process
    must fail with this text in its error output. Otherwise it must succeed.
    """
    changed: dict[str, str | None] = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={name: value for name, value in changed.items() if value is not None},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
    if error:
        assert done.returncode != 0, done.stdout
        assert error in done.stderr
    else:
        assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def launches(call: Callable[[], Any]) -> tuple[Any, int]:
    """Return a call's result, and the number of kernels it and pending work ran."""
    before = core.gpu_counts()["dispatches"]
    given = call()
    mxnp.synchronize()
    return given, core.gpu_counts()["dispatches"] - before


def in_threads(count: int, body: Callable[[int], None]) -> None:
    """Run a body in several threads at the same time; raise the first error."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(body, range(count)))
