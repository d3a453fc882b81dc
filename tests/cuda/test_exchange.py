"""Test arrays that share memory of the GPU with other packages, on the stand-in."""

from __future__ import annotations

import ctypes
import gc
import os
import textwrap
import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from support.processes import end_of

import mxnp as np
from mxnp import _bridge
from mxnp._engine import core

STAND_IN = os.environ.get("MXNP_CUDA_STAND_IN")
pytestmark = [
    pytest.mark.skipif(
        "cuda" not in np.devices() or not STAND_IN, reason="needs the stand-in for CUDA"
    ),
    pytest.mark.usefixtures("on_metal"),
]

if STAND_IN:
    from support.gpu_exchange import Consumer, Interface, Producer, driver, read, write

SIZES = [5, 50_000]
VERSION = (1, 0)


def consume(x: Any, **kwargs: Any) -> Any:
    return Consumer(x.__dlpack__(stream=1, max_version=VERSION, **kwargs))


@pytest.fixture
def limit() -> Iterator[Any]:
    yield driver().cuda_standin_limit
    driver().cuda_standin_limit(ctypes.c_long(-1))


def collect() -> None:
    """Free what has no reference, and let the main thread release what is borrowed."""
    gc.collect()
    for _ in range(3):
        len(str(_))


# -- Exports --------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("is_versioned", [True, False])
def test_an_export_is_the_memory_of_the_array(n: int, is_versioned: bool) -> None:
    x = np.arange(n) * 0.5
    assert x.__dlpack_device__() == (2, 0)
    version = {"max_version": VERSION} if is_versioned else {}
    taken = Consumer(x.__dlpack__(stream=2, **version))
    assert taken.name == b"dltensor" + b"_versioned" * is_versioned
    assert (taken.place, taken.shape, taken.dtype) == ((2, 0), (n,), x.dtype)
    assert taken.address == x.__cuda_array_interface__["data"][0]
    numpy.testing.assert_array_equal(taken.read(), numpy.arange(n) * 0.5)
    taken.close()


def test_an_export_copies_only_what_the_gpu_lacks() -> None:
    x = np.arange(50_000) * 0.5
    np.synchronize()
    before = core.gpu_counts()
    taken = consume(x)
    counts = core.gpu_counts()
    assert counts["bytes_in"] == before["bytes_in"]
    assert counts["bytes_out"] - before["bytes_out"] < 100
    taken.close()


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u2", "i4", "f2", "f4", "f8", "c8", "c16"]
)
def test_dtypes(dtype: str) -> None:
    x = np.arange(6).astype(dtype)
    taken = consume(x)
    assert taken.dtype == numpy.dtype(dtype)
    numpy.testing.assert_array_equal(taken.read(), numpy.arange(6).astype(dtype))
    taken.close()


VIEWS = {
    "transposed": lambda x: x.T,
    "steps": lambda x: x[1::2, ::3],
    "row": lambda x: x[3],
    "element": lambda x: x[2:3, 4:5],
    "repeated": lambda x: np.broadcast_to(x[0], (3, 200)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    x = np.arange(50_000).reshape(250, 200) * 2.0
    y, expected = VIEWS[name](x), VIEWS[name](numpy.arange(5e4).reshape(250, 200) * 2)
    taken = consume(y)
    assert taken.strides == y.strides
    numpy.testing.assert_array_equal(taken.read(), expected)
    assert y.__cuda_array_interface__["data"][0] == taken.address
    assert taken.flags == (0 if y.flags.writeable else 1)
    taken.close()


# What the program does to an array of which other code has the memory.
CHANGES = {
    "operation": lambda x: x.__iadd__(1),
    "output": lambda x: np.sin(x, out=x),
    "item": lambda x: x.__setitem__(3, 7),
    "slice": lambda x: x.__setitem__(slice(1, 4), [1, 2, 3]),
    "mask": lambda x: x.__setitem__(x > 2, 0),
    "indices": lambda x: x.__setitem__(np.array([0, 2]), 5),
    "power": lambda x: x.__ipow__(2),
    "fill": lambda x: x.fill(3),
    "sort": lambda x: x[::-1].sort(),
    "flat": lambda x: x.flat.__setitem__(2, 9),
    "at": lambda x: np.add.at(x, [1, 1], 1.0),
    "put": lambda x: np.put(x, [1, 2], 8),
    "copyto": lambda x: np.copyto(x, 4),
    "view": lambda x: x[1:3].__imul__(3),
    "many arguments": lambda x: np.choose(
        np.zeros(x.shape, int), [x] * 31, mode="clip", out=x
    ),
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", CHANGES)
def test_the_consumer_sees_what_the_program_writes(name: str, n: int) -> None:
    x, expected = np.arange(n) * 1.0, numpy.arange(n) * 1.0
    taken = consume(x)
    CHANGES[name](x)
    CHANGES[name](expected)
    numpy.testing.assert_allclose(taken.read(), expected, rtol=1e-12)
    numpy.testing.assert_allclose(numpy.asarray(x), expected, rtol=1e-12)
    taken.write(expected + 1)
    numpy.testing.assert_allclose(numpy.asarray(x), expected + 1, rtol=1e-12)
    taken.close()


# What the program reads.
READS = {
    "item": lambda x: float(x[3]),
    "sum": lambda x: float(x.sum()),
    "operation": lambda x: float((x * 2 + 1).sum()),
    "list": lambda x: x.tolist(),
    "iteration": lambda x: list(x[:4]),
    "flat": lambda x: list(x.flat)[:4],
    "text": lambda x: str(x),
    "bytes": lambda x: x.tobytes(),
    "numpy": lambda x: numpy.asarray(x).copy(),
    "function": lambda x: np.percentile(x, 30),
    "in": lambda x: 100.0 in x,
    "comparison": lambda x: (x == 100).any(),
    "view": lambda x: float(x[2:].max()),
    "mask": lambda x: x[x > 2].size,
    "copy": lambda x: x.copy().tolist(),
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", READS)
def test_the_program_sees_what_the_consumer_writes(name: str, n: int) -> None:
    x = np.arange(n) * 1.0
    taken = consume(x)
    for values in (numpy.arange(n) + 98.0, numpy.arange(n) * -1.0):
        taken.write(values)
        expected = READS[name](values)
        assert numpy.array_equal(READS[name](x), expected), name
    taken.close()


def test_reads_leave_what_the_consumer_wrote() -> None:
    x = np.arange(9.0)
    taken = consume(x)
    view = numpy.asarray(x)
    text = x.flat
    taken.write(numpy.full(9, 4.0))
    assert float(x[0]) == 4
    assert text[8] == 4
    assert view[0] == 4  # after the array was read
    numpy.testing.assert_array_equal(taken.read(), numpy.full(9, 4.0))
    taken.close()


@pytest.mark.parametrize("n", SIZES)
def test_an_export_keeps_the_memory_alive(n: int) -> None:
    x = np.arange(n) * 3.0
    taken = consume(x)
    del x
    gc.collect()
    others = [np.full(n, -1.0) + 0 for _ in range(5)]
    np.synchronize()
    numpy.testing.assert_array_equal(taken.read(), numpy.arange(n) * 3.0)
    del others
    taken.close()


def test_a_capsule_that_nobody_takes_ends_its_loan() -> None:
    x = np.arange(9.0)
    capsule = x.__dlpack__(stream=1, max_version=VERSION)
    assert _bridge.is_lent(x)
    del capsule
    assert not _bridge.is_lent(x)


def test_a_loan_may_end_in_any_thread() -> None:
    x = np.arange(50_000) * 1.0
    taken = [consume(x) for _ in range(20)]
    threads = [threading.Thread(target=each.close) for each in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not _bridge.is_lent(x)
    assert float(x.sum()) == 50_000 * 49_999 / 2


def test_a_lent_array_stays_on_the_gpu(limit: Any) -> None:
    x = np.arange(100_000) * 1.0
    taken = consume(x)
    np.synchronize()
    core.lib.mx_memory_trim(0)  # cached memory on the device would fit the others
    used = driver().cuda_standin_used()
    limit(ctypes.c_long(used + 4_000_000))
    before = core.gpu_counts()["evicted"]
    kept = [np.full(100_000, float(i)) + 1 for i in range(12)]
    np.synchronize()
    assert core.gpu_counts()["evicted"] > before
    taken.write(numpy.arange(1e5) * 2)
    assert float(x.sum()) == 100_000 * 99_999
    assert [float(k[-1]) for k in kept] == [i + 1.0 for i in range(12)]
    taken.close()


def test_after_a_loan_the_array_is_as_before() -> None:
    x = np.arange(50_000) * 1.0
    taken = consume(x)
    taken.write(numpy.arange(5e4) + 1)
    assert not numpy.asarray(x).flags.writeable
    taken.close()
    view = numpy.asarray(x)
    view[0] = 12
    assert float(x[0]) == 12
    assert float(x.sum()) == 50_000 * 50_001 / 2 + 11


# -- Consumers on the processor -------------------------------------------------------


def test_numpy_still_imports_the_memory_of_the_processor() -> None:
    x = np.arange(9.0)
    taken = numpy.from_dlpack(x)
    taken[0] = 5
    assert float(x[0]) == 5
    ours = np.from_dlpack(x)
    ours[1] = 6
    assert float(x[1]) == 6
    on_processor = x.__dlpack__(dl_device=(1, 0), max_version=VERSION)
    assert "dltensor" in repr(on_processor)


def test_memory_that_the_processor_shares_is_exported_as_a_copy() -> None:
    x = np.arange(9.0)
    view = numpy.asarray(x)
    taken = consume(x)
    assert taken.flags & 2
    taken.write(numpy.zeros(9))
    assert float(x[3]) == 3 == view[3]
    with pytest.raises(BufferError, match="avoid a copy"):
        consume(x, copy=False)
    with pytest.raises(AttributeError, match="on the processor"):
        _ = x.__cuda_array_interface__
    del view
    taken.close()
    taken = consume(x, copy=False)
    assert not taken.flags & 2
    taken.close()


def test_a_copy_on_request() -> None:
    x = np.arange(9.0)
    taken = consume(x, copy=True)
    taken.write(numpy.zeros(9))
    assert float(x[3]) == 3
    assert not _bridge.is_lent(x)
    taken.close()


def test_a_lent_array_cannot_be_written_behind_its_consumer() -> None:
    x = np.arange(9.0)
    taken = consume(x)
    assert not numpy.asarray(x).flags.writeable
    assert not numpy.from_dlpack(x).flags.writeable
    assert memoryview(x).readonly
    assert x.data.readonly
    assert not x.__array__().flags.writeable
    with pytest.raises(BufferError):
        _ = x.ctypes
    with pytest.raises(ValueError, match="resize"):
        x.resize(20)
    taken.close()


def test_another_device_exports_memory_of_the_processor() -> None:
    for name in ("cpu", "auto"):
        with np.device(name):
            x = np.arange(9.0)
            assert x.__dlpack_device__() == (1, 0)
            assert not hasattr(x, "__cuda_array_interface__")
            with pytest.raises((RuntimeError, ValueError), match="stream"):
                x.__dlpack__(stream=1)  # NumPy's error
            taken = Consumer(x.__dlpack__(dl_device=(2, 0), max_version=VERSION))
            numpy.testing.assert_array_equal(taken.read(), numpy.arange(9.0))
            taken.close()


def test_what_the_gpu_lacks_is_on_the_processor() -> None:
    for x in (np.arange(3).astype(">f8"), np.array(["a"]), np.ones(3, "M8[s]")):
        assert x.__dlpack_device__() == (1, 0)
        assert not hasattr(x, "__cuda_array_interface__")
        with pytest.raises(BufferError):
            x.__dlpack__(dl_device=(2, 0))


def test_refused_exports() -> None:
    x = np.arange(9.0)
    with pytest.raises(BufferError, match=r"\(2, 7\)"):
        x.__dlpack__(dl_device=(2, 7))
    with pytest.raises(ValueError, match="stream"):
        x.__dlpack__(stream=0)
    with pytest.raises(TypeError, match="stream"):
        x.__dlpack__(stream="1")
    x.flags.writeable = False
    with pytest.raises(BufferError, match="readonly"):
        x.__dlpack__(stream=1)
    taken = consume(x)
    assert taken.flags & 1
    taken.close()
    pair = np.zeros(4, [("a", "i4"), ("b", "f8")])
    with pytest.raises(BufferError, match="avoid a copy"):
        consume(pair["b"], copy=False)


def test_empty_arrays() -> None:
    x = np.zeros((0, 3))
    assert x.__cuda_array_interface__["data"][0] == 0
    taken = consume(x)
    assert taken.shape == (0, 3)
    taken.close()
    assert np.from_dlpack(Producer(numpy.zeros((0, 3)))).shape == (0, 3)


def test_an_operation_that_fails_is_reported_by_the_export() -> None:
    x, i = np.arange(50_000) * 1.0, np.full(50_000, 60_000)
    y = x[i + 0]
    with pytest.raises(IndexError):
        consume(y)


# -- CUDA's array interface -----------------------------------------------------------


def test_the_interface_lends_the_array_for_its_life() -> None:
    x = np.arange(12.0).reshape(3, 4)
    interface = x[:, ::2].__cuda_array_interface__
    assert interface["shape"] == (3, 2)
    assert interface["typestr"] == "<f8"
    assert interface["strides"] == (32, 16)
    assert interface["version"] == 3
    address, is_readonly = x.__cuda_array_interface__["data"]
    assert address == interface["data"][0]
    assert not is_readonly
    assert x.__cuda_array_interface__["strides"] is None
    write(address, numpy.full(12, 2.5))
    assert float(x.sum()) == 30
    x += 1
    numpy.testing.assert_array_equal(read(address, (12,), "f8"), numpy.full(12, 3.5))
    assert _bridge.is_lent(x)


# -- Imports --------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("is_versioned", [True, False])
def test_an_import_is_the_memory_of_the_producer(n: int, is_versioned: bool) -> None:
    producer = Producer(numpy.arange(n) * 1.0, is_versioned=is_versioned)
    x = np.from_dlpack(producer)
    assert type(x) is np.ndarray
    assert x.__cuda_array_interface__["data"][0] == producer.address
    assert numpy.array_equal(x, numpy.arange(n))
    x *= 2
    numpy.testing.assert_array_equal(producer.read(), numpy.arange(n) * 2.0)
    x[2] = 50
    assert producer.read()[2] == 50
    producer.write(numpy.ones(n))
    assert float((x + 1).sum()) == 2 * n
    assert producer.n_users == 1
    del x
    collect()
    assert producer.n_users == 0


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[::-1],
        lambda x: x[::2, ::-3],
        lambda x: x[4],
        lambda x: x[1:2, 3:4],
        lambda x: numpy.broadcast_to(x[0], (2, 7)),
    ],
)
@pytest.mark.parametrize("by", ["dlpack", "interface"])
def test_imported_views(view: Any, by: str) -> None:
    producer = Producer(view(numpy.arange(42.0).reshape(6, 7)))
    x = np.from_dlpack(producer) if by == "dlpack" else np.asarray(Interface(producer))
    numpy.testing.assert_array_equal(numpy.asarray(x), producer.values)
    numpy.testing.assert_array_equal(numpy.asarray(x * 2), producer.values * 2)
    if producer.values.flags.writeable:
        x += 1
        y = producer.values
        y += 1
        numpy.testing.assert_array_equal(producer.read(), producer.base)


def test_a_view_keeps_the_producer_alive() -> None:
    producer = Producer(numpy.arange(9.0))
    x = np.from_dlpack(producer)
    y = x[2:4]
    del x
    collect()
    assert producer.n_users == 1
    assert y.tolist() == [2, 3]
    del y
    collect()
    assert producer.n_users == 0


def test_a_recorded_operation_keeps_the_producer_alive() -> None:
    producer = Producer(numpy.arange(50_000.0))
    y = np.from_dlpack(producer) * 2
    collect()
    assert float(y[-1]) == 99_998
    del y
    collect()
    assert producer.n_users == 0


def test_an_import_that_is_read_only() -> None:
    producer = Producer(numpy.arange(9.0))
    producer.flags = 1
    x = np.from_dlpack(producer)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        x += 1
    assert producer.read()[0] == 0


def test_imports_by_the_interface() -> None:
    producer = Producer(numpy.arange(12, dtype="f4").reshape(3, 4))
    for make in (np.asarray, np.asanyarray):
        x = make(Interface(producer))
        assert x.__cuda_array_interface__["data"][0] == producer.address
    x = np.array(Interface(producer))
    x += 1
    assert producer.read()[0] == 0
    assert np.asarray(Interface(producer), dtype="f8").dtype == numpy.float64


def test_a_copy_of_an_import() -> None:
    producer = Producer(numpy.arange(9.0))
    x = np.from_dlpack(producer, copy=True)
    x += 1
    assert producer.read()[0] == 0
    collect()
    assert producer.n_users == 0


def test_refused_imports() -> None:
    producer = Producer(numpy.arange(9.0))
    producer.device = (2, 3)
    with pytest.raises(BufferError, match=r"\(2, 3\)"):
        np.from_dlpack(producer)
    with pytest.raises(BufferError, match="unsupported"):
        np.from_dlpack(Producer(numpy.zeros(3, "g")))
    half = Producer(numpy.zeros(3, "f2"))
    half.code = 3
    with pytest.raises(BufferError, match="unsupported elements"):
        np.from_dlpack(half)
    far = Producer(numpy.arange(9.0)[::-1])
    far.stride = 2**61 - 1  # CuPy exports a negative stride so
    with pytest.raises(BufferError, match="strides"):
        np.from_dlpack(far)
    masked = Interface(Producer(numpy.arange(9.0)))
    masked.__cuda_array_interface__["mask"] = masked
    with pytest.raises(BufferError, match="mask"):
        np.asarray(masked)
    assert producer.n_users == 0


def test_an_export_of_an_import() -> None:
    producer = Producer(numpy.arange(9.0))
    x = np.from_dlpack(producer)
    with np.device("cpu"):
        assert x.__dlpack_device__() == (2, 0)
        taken = consume(x)
        assert taken.address == producer.address
        y = np.from_dlpack(x)
        y += 1
        assert producer.read()[0] == 1 == float(x[0])
        taken.close()


def test_children_of_a_fork_have_the_contents() -> None:
    x = np.arange(50_000) * 1.0
    taken = consume(x)
    taken.write(numpy.arange(5e4) * 2)
    borrowed = np.from_dlpack(Producer(numpy.arange(9.0)))
    child = os.fork()
    if child == 0:
        os._exit(0 if float(x[3]) == 6 and float(borrowed[4]) == 4 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    x += 1
    assert taken.read()[3] == 7
    taken.close()


def test_a_lost_device_is_reported() -> None:
    code = """
        import sys
        sys.path.insert(0, "tests")
        from support.gpu_exchange import Consumer, driver
        import mxnp as np
        x = np.arange(50_000) * 1.0
        taken = Consumer(x.__dlpack__(stream=1))
        driver().cuda_standin_lose(719)
        try:
            x[0]
        except RuntimeError as error:
            assert "unspecified launch failure" in str(error)
            print("reported")
    """
    end = end_of("-c", textwrap.dedent(code), MXNP_DEVICE="cuda", MXNP_THRESHOLD="0")
    assert end.out == "reported\n", end.err
