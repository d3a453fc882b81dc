"""Compare the kernels of metal/ with NumPy, on the Metal emulator."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from metal_emulator import driver as host
from support.driver import needs_host
from support.paths import EMULATOR

from mxnp._engine import core
from mxnp._gpu import kernels

PRELUDE = core.kernel_prelude().decode()


pytestmark = [needs_host, pytest.mark.slow]


class Device:
    """The interface that drivers of kernels need, on the Metal emulator."""

    def __init__(self) -> None:
        self.driver = host.Driver(host.build_driver())
        self.pipelines: dict[tuple[str, str], int] = {}
        self.libraries: dict[str, int] = {}
        self.buffers: list[Any] = []
        self.launches = 0
        self.most = (2**32, 2**32, 2**32)  # items of a part of a grid

    def pipeline(self, source: str, function: str) -> int:
        key = source, function
        if key not in self.pipelines:
            library = self.driver.library
            if source not in self.libraries:
                text = (PRELUDE + source).encode()
                self.libraries[source] = library.driver_library(
                    text, 0, -1, (3 << 16) + 1
                )
            assert self.libraries[source], self.driver.error
            made = library.driver_pipeline(self.libraries[source], function.encode())
            assert made, self.driver.error
            self.pipelines[key] = made
        return self.pipelines[key]

    def launch(
        self, source, function, buffers, args, grid, threads, in_threadgroups, work=0
    ) -> None:
        """Run a kernel on a whole grid, or on its parts if it can be cut."""
        assert np.prod(threads) <= 256
        given = source, function, buffers
        if not work:
            self.run(*given, args, grid, threads, in_threadgroups)
            return
        starts = (range(0, n, most) for n, most in zip(grid, self.most))
        for origin in itertools.product(*starts):
            part = tuple(map(min, np.subtract(grid, origin).tolist(), self.most))
            self.run(*given, [*args, *origin], part, threads, in_threadgroups)

    def run(
        self, source, function, buffers, args, grid, threads, in_threadgroups
    ) -> None:
        library = self.driver.library
        commands = self.driver.command_buffer()
        with commands.encoder() as encoder:
            library.driver_set_pipeline(encoder.handle, self.pipeline(source, function))
            encoder.bind([*(buffer for buffer, _ in buffers), np.array(args, "i8")])
            dispatch = (
                library.driver_dispatch_threadgroups
                if in_threadgroups
                else library.driver_dispatch_threads
            )
            dispatch(encoder.handle, host.sides(grid), host.sides(threads))
        before = [buffer.array.copy() for buffer, written in buffers if not written]
        assert commands.finish() == 0, self.driver.error
        for kept, (buffer, _) in zip(before, [b for b in buffers if not b[1]]):
            assert buffer.array.tobytes() == kept.tobytes(), "written, but not said"
        self.launches += 1

    def array(self, values: np.ndarray) -> Any:
        """Copy an array to memory of the device, with at least one byte."""
        values = np.ascontiguousarray(values).reshape(-1)
        buffer = self.driver.buffer(values if values.size else values.dtype.type([0]))
        buffer.shape = values.shape
        self.buffers.append(buffer)
        return buffer

    def empty(self, size: int, dtype: str) -> Any:
        """Return memory with arbitrary values."""
        poison = np.full(size * np.dtype(dtype).itemsize, 0xA5, "u1")
        return self.array(poison.view(dtype))

    def release(self) -> None:
        while self.buffers:
            self.buffers.pop().release()


@pytest.fixture(scope="module")
def loaded() -> Device:
    return Device()


@pytest.fixture
def device(loaded: Device) -> Any:
    """Yield the device, and assert that it reports nothing."""
    loaded.driver.configure(**host.SETTINGS)
    loaded.driver.configure(branches=20_000_000)
    before = loaded.driver.report_count
    loaded.launches = 0
    loaded.most = (2**32, 2**32, 2**32)
    yield loaded
    loaded.release()
    assert loaded.driver.report_count == before, loaded.driver.last_report


def assert_same_bits(got: np.ndarray, expected: np.ndarray) -> None:
    """Compare values and signs of zeros; all NaN are equal."""
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    if got.dtype.kind in "fc":
        for a, b in (got.real, expected.real), (got.imag, expected.imag):
            known = ~np.isnan(b)
            np.testing.assert_array_equal(np.signbit(a[known]), np.signbit(b[known]))


SIZES = [0, 1, 2, 31, 32, 33, 255, 256, 257, 1000, 2048, 2049, 20_000]
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]
DTYPES += ["uint64", "float16", "float32"]


def sample(kind: str, n: int, dtype: str, seed: int = 0) -> np.ndarray:
    """Return values of a kind, including special values of the dtype."""
    rng = np.random.default_rng(seed)
    type_ = np.dtype(dtype)
    if kind == "equal":
        return np.ones(n, dtype)
    if type_.kind == "f":
        bits = rng.integers(0, 2 ** (8 * type_.itemsize), n, f"u{type_.itemsize}")
        values = bits.view(dtype).copy() if kind != "few" else np.empty(n, dtype)
        special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0, -0.0, 1, 1e-7, -1e-7])
        special = np.append(special.astype(dtype), np.finfo(dtype).smallest_subnormal)
    elif type_.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    else:
        info = np.iinfo(dtype)
        values = rng.integers(info.min, info.max, n, dtype, endpoint=True)
        special = np.array([info.min, info.min + 1, 0, 1, info.max], dtype)
    places = slice(None) if kind == "few" else slice(0, n // 4)
    values[places] = rng.choice(special, values[places].size)
    rng.shuffle(values)
    if kind == "sorted":
        return np.sort(values, kind="stable")
    if kind == "reversed":
        return np.sort(values, kind="stable")[::-1].copy()
    return values


# -- Sorting ---------------------------------------------------------------------------


class TestSort:
    def check(self, device: Device, keys: np.ndarray) -> None:
        rows, n = keys.shape
        given = device.array(keys), rows, n, str(keys.dtype)
        got = kernels.sort(device.launch, device.empty, *given).array.reshape(
            keys.shape
        )
        assert_same_bits(got, np.sort(keys, kind="stable"))
        got = kernels.argsort(device.launch, device.empty, *given).array
        np.testing.assert_array_equal(
            got.reshape(keys.shape), np.argsort(keys, kind="stable")
        )

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("n", SIZES)
    def test_sizes(self, device, dtype, n):
        self.check(device, sample("any", n, dtype).reshape(1, n))

    @pytest.mark.parametrize("dtype", ["int32", "uint64", "float16", "float32"])
    @pytest.mark.parametrize("kind", ["few", "equal", "sorted", "reversed"])
    @pytest.mark.parametrize("n", [1000, 5000])
    def test_kinds(self, device, dtype, kind, n):
        self.check(device, sample(kind, n, dtype).reshape(1, n))

    @pytest.mark.parametrize("dtype", ["int8", "float32"])
    @pytest.mark.parametrize("shape", [(0, 5), (5, 0), (100, 3), (7, 300), (3, 4097)])
    def test_rows(self, device, dtype, shape):
        self.check(device, sample("any", shape[0] * shape[1], dtype).reshape(shape))

    def test_parts(self, device):
        device.most = (1, 2, 1)
        self.check(device, sample("any", 3 * 4100, "int16").reshape(3, 4100))

    def test_launches(self, device, monkeypatch):
        monkeypatch.setattr(kernels, "_suits_radix", lambda *_: False)
        for n, launches in (2048, 1), (2049, 2), (4096, 2), (4097, 3), (20_000, 5):
            device.launches = 0
            keys = device.array(sample("any", n, "int32"))
            kernels.sort(device.launch, device.empty, keys, 1, n, "int32")
            assert device.launches == launches


# -- Selecting -------------------------------------------------------------------------


class TestSelect:
    def select(self, device: Device, mask: np.ndarray) -> tuple[Any, int]:
        given = device.array(mask)
        counts, count = kernels.count_true(
            device.launch, device.empty, given, mask.size
        )
        total = int(count.array[0])
        positions = kernels.nonzero_positions(
            device.launch, device.empty, given, mask.size, counts, total
        )
        np.testing.assert_array_equal(positions.array, np.flatnonzero(mask))
        return positions, total

    @pytest.mark.parametrize("n", [*SIZES, 4095, 4096, 4097, 16384, 16385])
    @pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
    def test_positions(self, device, n, share):
        mask = np.random.default_rng(n).random(n) < share
        self.select(device, mask)

    def test_parts(self, device):
        device.most = (2, 1, 1)
        self.test_positions(device, 5 * 16384 + 3, 0.5)
        self.test_items(device, "float32", 5 * 16384)

    def test_many_blocks(self, device):
        """Select from more blocks than a threadgroup counts in one step."""
        mask = np.random.default_rng(1).random(16384 * 4100 + 5) < 0.001
        device.driver.configure(plain=1)
        self.select(device, mask)

    @pytest.mark.parametrize("dtype", [*DTYPES, "complex64"])
    @pytest.mark.parametrize("n", [0, 1, 257, 5000])
    def test_items(self, device, dtype, n):
        rng = np.random.default_rng(n)
        mask = rng.random(n) < 0.4
        real = "float32" if dtype == "complex64" else dtype
        items = sample(
            "any", n * np.dtype(dtype).itemsize // np.dtype(real).itemsize, real
        )
        items = items.view(dtype)
        got = self.items(device, mask, items)
        assert got.array.tobytes() == items[mask].tobytes()

    def items(self, device: Device, mask: np.ndarray, items: np.ndarray) -> Any:
        given, n = device.array(mask), mask.size
        counts, count = kernels.count_true(device.launch, device.empty, given, n)
        return kernels.select_items(
            device.launch,
            device.empty,
            given,
            n,
            device.array(items),
            str(items.dtype),
            counts,
            int(count.array[0]),
        )

    def test_launches(self, device):
        self.select(device, np.ones(10_000, bool))
        assert device.launches == 3
        self.items(device, np.ones(10_000, bool), np.zeros(10_000, "f4"))
        assert device.launches == 6


# -- Updates in order ------------------------------------------------------------------


UPDATES = {
    "add": "mx_add(a, b)",
    "subtract": "mx_subtract(a, b)",
    "multiply": "mx_multiply(a, b)",
    "minimum": "mx_minimum(a, b)",
    "maximum": "mx_maximum(a, b)",
    "fmax": "mx_fmax(a, b)",
    "bitwise_xor": "a ^ b",
    "floor_divide": "mx_floor_divide(a, b)",
    "right_shift": "mx_right_shift(a, b)",
}
OF_INTEGERS = {"bitwise_xor", "floor_divide", "right_shift"}
UPDATED = [
    (dtype, name)
    for dtype in ("int64", "uint64", "float16", "float32", "complex64")
    for name in UPDATES
    if np.dtype(dtype).kind in "iu" or name not in OF_INTEGERS
]


def update_values(dtype: str, n: int, name: str) -> np.ndarray:
    """Return values whose updates depend on the order."""
    rng = np.random.default_rng(n)
    if np.dtype(dtype).kind in "iu":
        values = sample("any", n, dtype)
        values[values == 0] = 3  # division by zero warns
        return values if name != "right_shift" else np.abs(values) % 3
    values = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)
    if name == "multiply":
        values = 1 + values / 1e4
    values = values.astype(dtype)
    if dtype == "complex64":
        values += 1j * rng.normal(size=n).astype("f4")
    values[: n // 50] = np.nan if name != "add" else np.inf
    rng.shuffle(values)
    return values


class TestUpdates:
    def check(self, device, dtype, name, slots, values, size, **more) -> None:
        start = update_values(dtype, size, name)
        target = device.array(start)
        is_complex = (dtype, name) == ("complex64", "multiply")
        expression = kernels.multiply_complex(dtype) if is_complex else UPDATES[name]
        kernels.update_segments(
            device.launch,
            device.empty,
            target,
            device.array(slots),
            device.array(values),
            slots.size,
            dtype,
            expression,
            **more,
        )
        expected, kept = start.copy(), slots >= 0
        with np.errstate(all="ignore"):
            given = values if values.size == 1 else values[kept]
            getattr(np, name).at(expected, slots[kept], given)
        assert_same_bits(target.array, expected)

    @pytest.mark.parametrize(("dtype", "name"), UPDATED)
    @pytest.mark.parametrize(("n", "size"), [(1, 1), (1000, 7), (3000, 2000), (300, 1)])
    def test_operations(self, device, dtype, name, n, size):
        slots = np.random.default_rng(n).integers(0, size, n)
        values = update_values(dtype, n, name)
        self.check(device, dtype, name, slots, values, size)

    @pytest.mark.parametrize("dtype", ["int64", "float32"])
    def test_one_value(self, device, dtype):
        slots = np.random.default_rng(0).integers(0, 5, 600)
        value = np.array([3], dtype)
        self.check(device, dtype, "add", slots, value, 5, is_one_value=True)

    @pytest.mark.parametrize("most", [1, 2, 3])
    def test_long_segments_are_split(self, device, most):
        device.most = (most, 1, 1)
        slots = np.random.default_rng(0).integers(-1, 3, 1100)
        values = update_values("float32", 1100, "subtract")
        self.check(device, "float32", "subtract", slots, values, 3)

    @pytest.mark.parametrize("row", [3, 100, 300])
    def test_rows_are_split(self, device, row):
        """A part of the grid may begin and end inside a row."""
        device.most = (1, 1, 1)
        rng = np.random.default_rng(row)
        slots = rng.integers(-1, 3, 60) * row
        values = rng.normal(size=(60, row)).astype("f4")
        start = rng.normal(size=(3, row)).astype("f4")
        target = device.array(start)
        given = (device.array(slots), device.array(values), 60, "float32")
        kernels.update_segments(
            device.launch, device.empty, target, *given, "mx_subtract(a, b)", row=row
        )
        kept = slots >= 0
        np.subtract.at(start, slots[kept] // row, values[kept])
        assert_same_bits(target.array, start.reshape(-1))

    def test_negative_slots_lead_nowhere(self, device):
        slots = np.random.default_rng(0).integers(-3, 5, 600)
        values = update_values("int64", 600, "add")
        self.check(device, "int64", "add", slots, values, 5)

    def test_other_type_of_values(self, device):
        slots = np.random.default_rng(0).integers(0, 5, 600)
        values = update_values("float32", 600, "subtract")
        start = update_values("complex64", 5, "subtract")
        target = device.array(start)
        kernels.update_segments(
            device.launch,
            device.empty,
            target,
            device.array(slots),
            device.array(values),
            600,
            "complex64",
            "mx_subtract(a, mx_cast<float2>(b))",
            value_dtype="float32",
        )
        np.subtract.at(start, slots, values)
        assert_same_bits(target.array, start)

    def test_none(self, device):
        self.check(device, "int64", "add", np.empty(0, "i8"), np.empty(0, "i8"), 5)
        assert device.launches == 0

    def test_launches(self, device):
        slots = np.zeros(5000, "i8")
        self.check(device, "int64", "add", slots, np.arange(5000), 1)
        assert device.launches == 4


# -- Random numbers --------------------------------------------------------------------


KEYS = [(0, 0), (1, 2), (2**64 - 1, 2**63), (0x123456789ABCDEF0, 0xFEDCBA9876543210)]
M = 2**64 - 1
COUNTERS = [
    (0, 0, 0, 0),
    (M, 0, 0, 0),
    (M - 5, M, 7, 0),
    (M - 1, M, M, M),
    (5, 6, 7, M),
]


def as_number(words: tuple[int, ...]) -> int:
    return sum(word << 64 * i for i, word in enumerate(words))


class TestRandom:
    def philox(self, key: tuple[int, ...], counter: tuple[int, ...]) -> Any:
        return np.random.Philox(key=as_number(key), counter=as_number(counter))

    def fill(self, device, dtype, n, *given) -> np.ndarray:
        to = device.empty(n, dtype)
        kernels.philox(device.launch, to, n, *given)
        return to.array

    @pytest.mark.parametrize("key", KEYS)
    @pytest.mark.parametrize("counter", COUNTERS)
    @pytest.mark.parametrize("n", [1, 3, 4, 5, 100])
    def test_raw(self, device, key, counter, n):
        got = self.fill(device, "uint64", n, kernels.RAW, key, counter)
        assert_same_bits(got, self.philox(key, counter).random_raw(n))

    @pytest.mark.parametrize("n", SIZES[1:])
    def test_floats(self, device, n):
        given = KEYS[3], COUNTERS[2]
        for draw, dtype, bits in (
            (kernels.SINGLES, "float32", "uint32"),
            (kernels.DOUBLES, "float64", "uint64"),
        ):
            generator = np.random.Generator(self.philox(*given))
            got = self.fill(device, bits, n, draw, *given)
            assert_same_bits(got.view(dtype), generator.random(n, dtype))
        assert device.launches == 2

    @pytest.mark.parametrize(
        "word", [0, 1 << 10, 1 << 11, 3 << 11, 1 << 62, 1 << 63, M, M >> 1, M - 2**11]
    )
    def test_doubles_from_integers(self, device, word):
        given = kernels.DOUBLES, KEYS[0], COUNTERS[0]
        got = self.fill(device, "uint64", 2, *given, [word]).view("f8")[0]
        assert got == (word >> 11) * 2.0**-53

    @pytest.mark.parametrize(
        ("itemsize", "bits"),
        [
            *((4, n) for n in (1, 10, 31, 32)),
            *((8, n) for n in (1, 10, 32, 33, 63, 64)),
        ],
    )
    @pytest.mark.parametrize("is_signed", [False, True])
    def test_integers(self, device, itemsize, bits, is_signed):
        dtype = f"{'i' if is_signed else 'u'}{itemsize}"
        least = np.iinfo(dtype).min if bits > 8 * itemsize - 2 else 5
        given = KEYS[3], COUNTERS[1]
        draw = kernels.integers(itemsize, least, bits)
        got = self.fill(device, f"u{itemsize}", 300, draw, *given).view(dtype)
        generator = np.random.Generator(self.philox(*given))
        expected = generator.integers(least, least + 2**bits, 300, dtype)
        assert_same_bits(got, expected)

    @pytest.mark.parametrize("n_left", [1, 2, 4, 9])
    @pytest.mark.parametrize("n", [10, 3000])
    def test_leftover_integers_come_first(self, device, n_left, n):
        left, given = [M - i for i in range(n_left)], (KEYS[1], COUNTERS[3])
        got = self.fill(device, "uint64", n, kernels.RAW, *given, left)
        expected = self.philox(*given).random_raw(n - n_left)
        assert_same_bits(got, np.concatenate([np.array(left, "u8"), expected]))
        halves = [word >> 32 for word in left]
        got = self.fill(device, "float32", n, kernels.SINGLES, *given, halves)
        generator = np.random.Generator(self.philox(*given))
        first = ((np.array(halves, "u8") >> np.uint64(8)) * 2.0**-24).astype("f4")
        rest = generator.random(n - n_left, "f4")
        assert_same_bits(got, np.concatenate([first, rest]))


# -- Products of matrices --------------------------------------------------------------


SHAPES = [(1, 1, 1), (1, 7, 1), (31, 32, 33), (32, 32, 32), (33, 1, 65), (64, 100, 17)]
SHAPES += [(5, 0, 3), (0, 3, 4), (4, 3, 0), (70, 300, 90)]


class TestMatmul:
    def multiply(self, device, a, b, **more) -> np.ndarray:
        batch = max(a.shape[0], b.shape[0])
        shape = (a.shape[1], a.shape[2], b.shape[2])
        given = device.array(a), device.array(b), batch, shape, str(a.dtype)
        got = kernels.matmul(device.launch, device.empty, *given, **more).array
        return got.reshape(batch, shape[0], shape[2])

    def check(self, device, a, b, **more) -> None:
        got = self.multiply(device, a, b, **more)
        if a.dtype.kind in "iub":
            assert_same_bits(got, a @ b)
            return
        # n * eps: Higham, Accuracy and Stability of Numerical Algorithms, 3.5. Results
        # of dtype half are rounded in addition.
        exact = a.astype("f8") @ b.astype("f8")
        sizes = np.abs(a.astype("f8")) @ np.abs(b.astype("f8"))
        bound = a.shape[2] * 2.0**-24 * 1.01 * sizes
        if a.dtype == np.float16:
            bound += 2.0**-11 * (np.abs(exact) + bound) + 2.0**-25
        assert (np.abs(got - exact) <= bound).all()

    @pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("batch", [1, 3])
    def test_shapes(self, device, dtype, shape, batch):
        m, k, n = shape
        rng = np.random.default_rng(m + k + n)
        a, b = (
            sample("any", batch * size, dtype).reshape(batch, *sides)
            if dtype == "int32"
            else rng.normal(size=(batch, *sides)).astype(dtype)
            for size, sides in ((m * k, (m, k)), (k * n, (k, n)))
        )
        device.launches = 0
        self.check(device, a, b)
        assert device.launches == (batch * m * n > 0)

    @pytest.mark.parametrize("dtype", ["int64", "uint64", "int8", "uint16", "bool"])
    def test_other_integers(self, device, dtype):
        a, b = (
            sample("any", 40 * 40, dtype, seed).reshape(1, 40, 40) for seed in (0, 1)
        )
        self.check(device, a, b)

    def test_one_matrix_for_all(self, device):
        a, b = (
            sample("any", 3 * 35 * 35, "int32", s).reshape(3, 35, 35) for s in (0, 1)
        )
        layouts = [kernels.Layout(x[0].size, x.shape[2], False) for x in (a, b)]
        one_a, one_b = (each._replace(step=0) for each in layouts)
        self.check(device, a[:1], b, layouts=(one_a, layouts[1]))
        self.check(device, a, b[:1], layouts=(layouts[0], one_b))

    @pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
    @pytest.mark.parametrize("turned", [(True, False), (False, True), (True, True)])
    @pytest.mark.parametrize("shape", [(70, 300, 90), (5, 3, 40), (300, 30, 500)])
    def test_transposed_matrices(self, device, dtype, turned, shape):
        m, k, n = shape
        values = np.arange(2 * m * k) % 5, np.arange(2 * k * n) % 7
        a, b = (
            x.reshape(2, *sides).astype(dtype)
            for x, sides in zip(values, ((m, k), (k, n)), strict=True)
        )
        if dtype == "complex64":
            a, b = a + 1j * a[:, ::-1], b - 2j
        memory, layouts = [], []
        for x, is_turned in zip((a, b), turned, strict=True):
            row = x.shape[1] if is_turned else x.shape[2]
            layouts.append(kernels.Layout(x[0].size, row, is_turned))
            memory.append(
                np.ascontiguousarray(x.swapaxes(1, 2) if is_turned else x).reshape(-1)
            )
        given = [device.array(x) for x in memory]
        more = {"layouts": tuple(layouts)}
        got = kernels.matmul(
            device.launch, device.empty, *given, 2, shape, str(a.dtype), **more
        )
        np.testing.assert_array_equal(got.array.reshape(2, m, n), a @ b)

    @pytest.mark.parametrize("dtype", ["float32", "float16"])
    def test_special_values(self, device, dtype):
        """Values that are not finite affect only their own row and column."""
        a, b = np.ones((2, 1, 35, 35), dtype)
        a[0, 3, 5], a[0, 34, 34], b[0, 7, 33] = np.inf, np.nan, -np.inf
        with np.errstate(invalid="ignore"):
            expected = a.astype("f4") @ b.astype("f4")
        np.testing.assert_array_equal(self.multiply(device, a, b), expected)

    @pytest.mark.parametrize("dtype", ["float32", "float16", "uint32"])
    @pytest.mark.parametrize("shape", [(64, 64, 64), (63, 17, 65), (130, 40, 70)])
    def test_large_tiles(self, device, monkeypatch, dtype, shape):
        monkeypatch.setattr(kernels, "_MANY_TILES", 0)
        m, k, n = shape
        rng = np.random.default_rng(m)
        a, b = (
            rng.integers(0, 9, (1, *sides)).astype(dtype) for sides in ((m, k), (k, n))
        )
        np.testing.assert_array_equal(self.multiply(device, a, b), a @ b)

    @pytest.mark.parametrize("most", [(1, 1, 1), (2, 3, 1), (2, 4, 2)])
    def test_parts(self, device, most):
        device.most = most
        rng = np.random.default_rng(0)
        a = rng.integers(-9, 9, (5, 100, 20)).astype("i4")
        b = rng.integers(-9, 9, (5, 20, 33)).astype("i4")
        self.check(device, a, b)

    def test_half_is_summed_in_float(self, device):
        a, b = np.full((1, 1, 4000), 1, "f2"), np.full((1, 4000, 1), 1, "f2")
        assert self.multiply(device, a, b)[0, 0, 0] == 4000


# -- Races and invalid MSL -------------------------------------------------------------


class TestRaces:
    @pytest.fixture(
        params=[{"race": 1}, {"race": 1, "seed": 3}, {"seed": 7, "chaos": 1}]
    )
    def settings(self, device, request):
        device.driver.configure(**request.param)

    @pytest.mark.usefixtures("settings")
    def test_no_races(self, device):
        TestSort().check(device, sample("any", 2 * 2100, "float32").reshape(2, 2100))
        TestSort().check(device, sample("few", 3 * 70, "int64").reshape(3, 70))
        TestSelect().test_positions(device, 5000, 0.5)
        TestSelect().test_items(device, "int16", 500)
        TestUpdates().test_operations(device, "int64", "add", 300, 20)
        TestRandom().test_leftover_integers_come_first(device, 9, 3000)
        TestMatmul().test_shapes(device, "float32", (33, 40, 35), 2)


@pytest.mark.parametrize("dtype", ["float16", "uint64"])
@pytest.mark.parametrize(
    "name", ["sort", "radix", "compact", "segments", "random", "matmul"]
)
def test_no_more_than_metal_has(tmp_path, name, dtype):
    """Check for C++ that the emulator's compiler accepts and Apple's does not."""
    item = kernels._TYPES[dtype]
    source = kernels._source(
        name,
        "#define MX_SIDE 64u\n#define MX_IS_FLOAT 0\n#define MX_IS_COMPLEX 0\n"
        "#define MX_A_IS_TRANSPOSED 0\n#define MX_B_IS_TRANSPOSED 1\n"
        + kernels._operation("mx_add(a, b)", dtype, dtype),
        mx_item=item,
        mx_update_value=item,
        mx_sum=kernels._sum_type(dtype),
    )
    path = tmp_path / "program.metal"
    path.write_text(PRELUDE + source)
    command = [
        sys.executable,
        str(EMULATOR / "msl" / "compile.py"),
        "--check",
        str(path),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
