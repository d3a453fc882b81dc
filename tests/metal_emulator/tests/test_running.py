"""Test how kernels run on the Metal emulator, by thread and by SIMD-group."""

from __future__ import annotations

import numpy as np
import pytest
from support.driver import KERNELS, f4, module, needs_host

pytestmark = [needs_host, pytest.mark.slow]
pytest_plugins = ["support.driver"]


def test_language(driver):
    assert driver.library.driver_test_language() == 0


def test_properties(driver, quiet):
    assert driver.library.driver_test_properties(driver.source) == 0


@pytest.mark.usefixtures("quiet")
class TestRunning:
    @pytest.mark.parametrize("n", [1, 31, 256, 1000, 100_003])
    def test_elementwise(self, driver, n):
        x, y = np.random.default_rng(n).random((2, n)).astype("f4")
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
        x = np.random.default_rng(seed).integers(0, 100, 256 * 9).astype("f4")
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
        count = driver.library.metal_emulator_dispatch_count
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


# -- SIMD groups


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
        x = np.random.default_rng(seed).integers(0, 2000, n).astype("u4")
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

        x = np.random.default_rng(1).integers(0, 100, 96).astype("u4")
        out = driver.zeros(96, "u4")
        assert driver.run("diverged_sum", [driver.buffer(x), out], 96, 96) == 0
        np.testing.assert_array_equal(out.array, model(x, halves))
