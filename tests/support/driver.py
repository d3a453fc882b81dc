"""
Helpers for tests of the Metal emulator: the driver and its reports.

These helpers use the emulator without mxnp. They make plain calls of Apple's API in
driver.m, and run kernels of driver.metal or of a test.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from metal_emulator import driver as module
from support.paths import EMULATOR

# Error codes.
TIMEOUT, PAGE_FAULT, ACCESS_REVOKED, INVALID_RESOURCE, DEVICE_REMOVED = 2, 3, 4, 9, 11
COMPLETED, ERROR = 4, 5  # values of MTLCommandBufferStatus

KERNELS = (EMULATOR / "driver.metal").read_text(encoding="utf-8")


def start() -> str:
    """Return the first lines of a script that uses the driver."""
    return f"""
import os, sys
sys.path.append({str(EMULATOR.parent)!r})
from metal_emulator import driver as module
driver = module.Driver({str(module.build_driver())!r})
"""


def _find_reason_to_skip() -> str:
    if not sys.platform.startswith("linux"):
        return "the Metal emulator is for Linux"
    try:
        module.build.compiler()
    except FileNotFoundError as error:
        return str(error)
    return ""


REASON = _find_reason_to_skip()
needs_host = pytest.mark.skipif(bool(REASON), reason=REASON)


@pytest.fixture(scope="session")
def loaded() -> Any:
    driver = module.Driver(module.build_driver())
    assert driver.compile(KERNELS), driver.error
    return driver


@pytest.fixture
def driver(loaded: Any) -> Any:
    loaded.configure(**module.SETTINGS)
    # Each test has its own queue, so command buffers it leaves open affect no other.
    loaded.queue = loaded.library.driver_queue()
    yield loaded
    loaded.configure(**module.SETTINGS)
    loaded.library.driver_release(loaded.queue)


@pytest.fixture
def expect(driver: Any) -> Any:
    """Return a function that asserts that one new report matches a pattern."""
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


def run_script(body: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", start() + body],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | environment,
    )
