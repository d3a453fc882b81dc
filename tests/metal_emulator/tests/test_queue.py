"""Test the order and timing of command buffers, handlers and threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from support.driver import COMPLETED, f4, needs_host

pytestmark = [needs_host, pytest.mark.slow]
pytest_plugins = ["support.driver"]


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
        driver.library.metal_emulator_run_pending()
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
        driver.library.metal_emulator_run_pending()
        before = driver.library.metal_emulator_live_objects()
        for _ in range(50):
            commands = driver.command_buffer()
            driver.library.driver_count_handler(commands.handle)
            commands.dispatch("add_one", [a, f4(1)], 64, 64)
            commands.finish()
        driver.library.metal_emulator_run_pending()
        assert driver.library.metal_emulator_live_objects() <= before

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
