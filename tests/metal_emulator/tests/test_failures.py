"""Test four failures that Metal allows, each with and without mxnp's protection."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.driver import INVALID_RESOURCE, PAGE_FAULT, TIMEOUT, i4, needs_host

pytestmark = [needs_host, pytest.mark.slow]
pytest_plugins = ["support.driver"]


def outcomes(run):
    """Run 20 times; gives what came out, without addresses."""
    return {re.sub(r"0x[0-9a-f]+", "ADDRESS", str(run())) for _ in range(20)}


class TestFailures:
    def multiply(self, driver, kernel):
        out = driver.buffer([1], "f4")
        values = driver.buffer([2, np.nan, 4, 5], "f4")
        driver.renew_queue()
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
