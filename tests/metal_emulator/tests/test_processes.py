"""Test compiled libraries in several processes, and forks."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from support.driver import (
    DEVICE_REMOVED,
    KERNELS,
    TIMEOUT,
    module,
    needs_host,
    run_script,
    start,
)
from support.paths import EMULATOR

pytestmark = [needs_host, pytest.mark.slow]
pytest_plugins = ["support.driver"]


class TestLibraries:
    def test_names(self, driver):
        count = driver.library.driver_function_count(driver.source)
        assert count == KERNELS.count("kernel void")
        assert driver.library.driver_pipeline(driver.source, b"missing") is None

    def test_diagnostics(self, driver):
        wrong = "#include <metal_stdlib>\nkernel void f(device float* a [[buffer(0)]]) { b = 1; }"
        assert not driver.compile(wrong)
        assert "program_source" in driver.error
        assert "'b'" in driver.error
        assert driver.compile(KERNELS)

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

    def test_processes_compile_one_source_concurrently(self, driver, tmp_path):
        source = "#include <metal_stdlib>\nkernel void f(device float* a [[buffer(0)]]) { a[0] = 5.0f; }"
        script = f"""{start()}
assert driver.compile({source!r}), driver.error
a = driver.zeros(1)
assert driver.run("f", [a], 1, 1) == 0, driver.error
assert a.array[0] == 5
"""
        environment = os.environ | {"METAL_EMULATOR_CACHE": str(tmp_path / "cache")}
        running = [
            subprocess.Popen([sys.executable, "-c", script], env=environment)
            for _ in range(3)
        ]
        assert [process.wait(300) for process in running] == [0, 0, 0]
        left = [
            p.name for p in (tmp_path / "cache").iterdir() if not p.name.startswith(".")
        ]
        assert len([name for name in left if name.endswith(".so")]) == 1
        assert not [name for name in left if name.startswith("compile.")]
        assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


# name: program, environment, whether it is ended, what it says
PROGRAMS = {
    "message to the dead": (
        "driver.library.driver_message_the_dead()",
        {},
        True,
        "-[HostBuffer length]: message sent to deallocated instance",
    ),
    "abort at a report": (
        "driver.library.driver_buffer(0, 0)",
        {"METAL_EMULATOR_ABORT": "1"},
        True,
        "Metal emulator: newBuffer: length 0",
    ),
    "verbose": (
        "driver.library.driver_buffer(0, 0)",
        {"METAL_EMULATOR_VERBOSE": "1"},
        False,
        "Metal emulator: newBuffer: length 0",
    ),
    "stale pointer": (
        "a = driver.zeros(4); view = a.array; a.release(); print(view[0])",
        {},
        True,
        "memory of a deallocated MTLBuffer",
    ),
}


class TestProcesses:
    @pytest.mark.parametrize("name", PROGRAMS)
    def test_program(self, name):
        body, environment, is_ended, text = PROGRAMS[name]
        done = run_script(body, **environment)
        assert done.returncode < 0 if is_ended else done.returncode == 0
        assert text in done.stderr

    def test_settings_of_the_environment(self, driver):
        body = f"""
assert driver.compile({KERNELS!r})
assert driver.run("forever", [driver.zeros(2, "u4")], 1, 1) == {TIMEOUT}
print(driver.last_report)
"""
        done = run_script(
            body, METAL_EMULATOR_BRANCHES="3000", METAL_EMULATOR_WORKERS="1"
        )
        assert "GPU hang: 3072 branches" in done.stdout, done.stderr

    @pytest.mark.parametrize("target", ["aarch64-macos", "x86_64-macos"])
    def test_headers_compile_for_macos(self, tmp_path, target):
        """Apple's own ABI, which zig can compile for; it cannot be run here."""
        build = module.build
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
            str(EMULATOR),
            "-c",
            str(EMULATOR / "driver.m"),
        ]
        done = subprocess.run(
            [*command, "-o", str(tmp_path / "driver.o")], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

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
