"""mxnp._lib: the binding to the core, seen from Python."""

import gc
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy
import pytest

from mxnp import _lib
from mxnp._core import lib

ROOT = Path(__file__).parents[1]
FLOAT64 = numpy.dtype("float64")
MIB = 2**20


@pytest.fixture
def pool():
    """Start with nothing cached, and put the limit back at the end."""
    gc.collect()
    limit = _lib.memory_info()["limit"]
    _lib.clear_cache()
    yield _lib
    _lib.set_memory_limit(limit)


# -- Fit ------------------------------------------------------------------------------


def test_core_was_built_from_these_sources():
    spec = importlib.util.spec_from_file_location("digest", ROOT / "csrc" / "digest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    built = _lib.ffi.string(lib.mx_digest()).decode()
    assert built == module.digest(ROOT / "csrc"), "the installed core is not of today"


def import_copy(folder, *, with_core):
    """Import mxnp._lib from a copy of the checkout; give exit status and stderr."""
    package = folder / "mxnp"
    package.mkdir(parents=True)
    text = "import pkgutil\n__path__ = pkgutil.extend_path(__path__, __name__)\n"
    (package / "__init__.py").write_text(text if with_core else "")
    (package / "_lib.py").write_bytes((ROOT / "mxnp" / "_lib.py").read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", "import mxnp._lib"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr.strip().splitlines()[-1:]


def test_missing_core_says_what_to_do(tmp_path):
    status, (last,) = import_copy(tmp_path, with_core=False)
    assert status == 1
    assert last == (
        "ImportError: the C core of mxnp is not installed for this Python: "
        f"run `pip install .` in {tmp_path} (it needs a C compiler)"
    )


def test_core_of_other_sources_is_refused(tmp_path):
    sources = tmp_path / "csrc"
    sources.mkdir()
    (sources / "digest.py").write_bytes((ROOT / "csrc" / "digest.py").read_bytes())
    (sources / "changed.c").write_text("int changed;\n")
    status, (last,) = import_copy(tmp_path, with_core=True)
    assert status == 1
    assert last == (
        "ImportError: the C core of mxnp was built from other sources than "
        f"{tmp_path}: run `pip install .` there again"
    )


def test_core_fits_its_package(tmp_path):
    assert import_copy(tmp_path, with_core=True) == (0, [])


# -- Status ---------------------------------------------------------------------------


def test_check_translates_each_status():
    assert _lib.check(lib.MX_OK) is None
    for status, exception in [
        (lib.MX_ERROR_MEMORY, MemoryError),
        (lib.MX_ERROR_VALUE, ValueError),
        (lib.MX_ERROR_DEVICE, RuntimeError),
    ]:
        with pytest.raises(exception):
            _lib.check(status)


def test_version_is_the_installed_one():
    assert _lib.core_version() == importlib.metadata.version("mxnp")


# -- Memory ---------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (5,), (40, 30, 20)])
@pytest.mark.parametrize("dtype", ["?", "i1", "<f4", ">f8", "c16", "g", "S3", "M8[s]"])
def test_empty_is_like_numpys(shape, dtype, order):
    dtype = numpy.dtype(dtype)
    array, buffer = _lib.empty(shape, dtype, order)
    expected = numpy.empty(shape, dtype, order)
    assert type(array) is numpy.ndarray
    assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
    if array.size > 0:
        assert array.strides == expected.strides
    assert array.flags.writeable
    assert array.flags.aligned
    assert array.ctypes.data % os.sysconf("SC_PAGESIZE") == 0
    assert lib.mx_memory_nbytes(buffer) == array.nbytes
    array[...] = numpy.ones(shape, dtype)
    assert (array == numpy.ones(shape, dtype)).all()


def test_structured_dtypes_are_kept():
    dtype = numpy.dtype([("a", "i4"), ("b", "f8", (2,))])
    array, _ = _lib.empty((3,), dtype)
    array["b"] = 2.5
    assert array.dtype == dtype
    assert array["b"].sum() == 15.0


@pytest.mark.parametrize("first", ["array", "buffer"])
def test_memory_lives_as_long_as_array_or_buffer(pool, first):
    before = pool.memory_info()["in_use"]
    array, buffer = pool.empty((MIB,), numpy.dtype("u1"))
    assert pool.memory_info()["in_use"] >= before + MIB
    array[:] = 7
    view = array[::2]
    if first == "array":
        del array, view
    else:
        del buffer, array
        assert (view == 7).all()
    assert pool.memory_info()["in_use"] >= before + MIB
    buffer = view = None
    assert pool.memory_info()["in_use"] == before
    assert pool.memory_info()["cached"] >= MIB


def test_memory_is_used_again(pool):
    array, buffer = pool.empty((1000, 1000), FLOAT64)
    address = array.ctypes.data
    calls = pool.memory_info()["system_calls"]
    del array, buffer
    array, _ = pool.empty((1000000,), FLOAT64)
    assert array.ctypes.data == address
    assert pool.memory_info()["system_calls"] == calls


def test_peak_is_the_most_in_use(pool):
    arrays = [pool.empty((MIB,), numpy.dtype("u1")) for _ in range(8)]
    peak = pool.memory_info()["peak"]
    assert peak >= pool.memory_info()["in_use"] >= 8 * MIB
    del arrays
    assert pool.memory_info()["peak"] == peak


def test_clear_cache(pool):
    del [pool.empty((MIB,), FLOAT64)][:]
    assert pool.memory_info()["cached"] >= 8 * MIB
    assert pool.clear_cache() is None
    assert pool.memory_info()["cached"] == 0


def test_limit_holds(pool):
    before = pool.memory_info()["limit"]
    assert pool.set_memory_limit(3 * MIB) == before
    del [pool.empty((MIB,), numpy.dtype("u1")) for _ in range(8)][:]
    assert MIB < pool.memory_info()["cached"] <= 3 * MIB
    assert pool.set_memory_limit(0) == 3 * MIB
    assert pool.memory_info()["cached"] == 0
    del [pool.empty((MIB,), numpy.dtype("u1"))][:]
    assert pool.memory_info()["cached"] == 0


def test_limit_may_be_beyond_any_memory(pool):
    pool.set_memory_limit(2**100)
    assert pool.memory_info()["limit"] == sys.maxsize * 2 + 1


def test_limit_is_not_negative(pool):
    before = pool.memory_info()["limit"]
    with pytest.raises(ValueError, match="must not be negative, but -1 was given"):
        pool.set_memory_limit(-1)
    assert pool.memory_info()["limit"] == before


def test_default_limit_is_at_most_a_quarter_of_memory():
    code = "from mxnp import _lib; print(_lib.memory_info()['limit'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    assert 0 < int(done.stdout) <= min(memory // 4, 8 * 2**30)


def message_of(function, *args):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - compared by the caller
        function(*args)
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((10**14,), "f8"),
        ((10**7, 10**7), "c16"),
        ((-1,), "f8"),
        ((3, -2), "f8"),
        ((2**62, 4), "f8"),
        ((2**80,), "f8"),
        ((0, 2**62, 2**60), "f8"),
        ((1,) * 65, "f8"),
    ],
)
def test_errors_are_numpys(pool, shape, dtype):
    dtype = numpy.dtype(dtype)
    before = pool.memory_info()["in_use"]
    assert message_of(pool.empty, shape, dtype) == message_of(numpy.empty, shape, dtype)
    gc.collect()  # the traceback
    assert pool.memory_info()["in_use"] == before


@pytest.mark.parametrize("dtype", ["O", "T", [("a", "O")]])
def test_references_are_refused(dtype):
    with pytest.raises(TypeError, match="holds references, which the pool cannot"):
        _lib.empty((3,), numpy.dtype(dtype))


def test_pool_in_many_threads(pool):
    before = pool.memory_info()["in_use"]
    wrong = []

    def work(mark):
        rng = numpy.random.default_rng(mark)
        kept = []
        for _ in range(300):
            array, _buffer = pool.empty((int(rng.integers(1, 50000)),), FLOAT64)
            array[:] = mark
            kept.append(array)
            if len(kept) > 5:
                wrong.extend(a for a in kept if (a != mark).any())
                del kept[:3]

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    del threads
    gc.collect()
    assert pool.memory_info()["in_use"] == before


# -- Stream ---------------------------------------------------------------------------


def sample(dtype, n):
    """Give n values of a dtype, with the special ones."""
    rng = numpy.random.default_rng(0)
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        values = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        values[:4] = 0, 1, info.min, info.max
        values[n // 2 :] %= 20
        return values
    values = rng.normal(scale=3, size=n)
    values[:6] = 0.0, -0.0, 1.0, numpy.inf, -numpy.inf, numpy.nan
    values = values.astype(dtype)
    if dtype.kind == "c":
        values.imag = rng.permutation(values.real)
    return values


def status_of(call):
    """Call, and give the floating-point conditions NumPy met, in its numbers."""
    numbers = {"divide by zero": 1, "overflow": 2, "underflow": 4, "invalid value": 8}
    met = []
    with numpy.errstate(all="call", call=lambda kind, _: met.append(kind)):
        call()
    return sum(numbers[kind] for kind in set(met))


def loops_of(op):
    """Give the dtypes of each loop that NumPy has over the core's dtypes."""
    known = {numpy.dtype(row.name).char for row in _lib.dtypes()}
    signatures = {types.replace("->", "") for types in getattr(numpy, op.name).types}
    return [tuple(map(numpy.dtype, s)) for s in sorted(signatures) if known >= set(s)]


@pytest.mark.parametrize("op", _lib.ops(), ids=lambda op: op.name)
def test_loops_give_numpys_bits(op):
    ufunc = getattr(numpy, op.name)
    n = 3000  # more than two blocks
    for dtypes in loops_of(op):
        inputs = [sample(dtype, n) for dtype in dtypes[: op.nin]]
        if op.nin == 2:
            inputs[1] = inputs[1][::-1].copy()
        if op.name == "power" and dtypes[0].kind in "iu":
            inputs[1] = abs(inputs[1] % 20)
        outputs = [_lib.empty((n,), dtype) for dtype in dtypes[op.nin :]]
        expected = [numpy.empty(n, dtype) for dtype in dtypes[op.nin :]]
        run = partial(ufunc, *inputs, out=tuple(expected), signature=dtypes)
        met = status_of(run)

        loop = _lib.find_loop(ufunc, dtypes)
        arrays = [*inputs, *(array for array, _ in outputs)]
        buffers = [*[None] * op.nin, *(buffer for _, buffer in outputs)]
        _lib.record(loop, arrays, buffers)
        assert _lib.flush() == met, dtypes
        for (array, _), want in zip(outputs, expected, strict=True):
            assert array.tobytes() == want.tobytes(), dtypes


def add(a, b, out, buffers=(None, None, None)):
    _lib.record(_lib.find_loop(numpy.add, (FLOAT64,) * 3), (a, b, out), buffers)


def test_nothing_runs_before_the_flush():
    x, out = numpy.arange(5.0), numpy.zeros(5)
    add(x, x, out)
    assert _lib.pending() == 1
    assert not out.any()
    assert _lib.flush() == 0
    assert _lib.pending() == 0
    assert (out == 2 * x).all()


def test_program_order_and_strides():
    grid = numpy.arange(24.0).reshape(6, 4)
    column, row = grid[:, 1], grid[::-1, 2]
    out, buffer = _lib.empty((6,), FLOAT64)
    expected = column + row + numpy.float64(0.5)
    add(column, row, out, (None, None, buffer))
    add(out, numpy.array([0.5]), out, (buffer, None, buffer))
    _lib.flush()
    assert (out == expected).all()


def test_operands_live_until_the_flush(pool):
    before = pool.memory_info()["in_use"]
    array, buffer = pool.empty((MIB,), FLOAT64)
    out = numpy.zeros(MIB)
    array[:] = 1.0
    add(array, numpy.ones(MIB), out, (buffer, None, None))
    del array, buffer  # the stream holds the one, mxnp._lib the other
    gc.collect()
    assert pool.memory_info()["in_use"] > before
    pool.flush()
    assert (out == 2.0).all()
    assert pool.memory_info()["in_use"] == before


def test_loop_not_there():
    with pytest.raises(ValueError, match="ufunc 'sqrt' has no loop for these types"):
        _lib.find_loop(numpy.sqrt, (FLOAT64, numpy.dtype("int64")))
    with pytest.raises(ValueError, match="3 dtypes are needed, but 1 given"):
        _lib.find_loop(numpy.add, (FLOAT64,))
    many = numpy.frompyfunc(lambda *args: args[0], 12, 1)
    with pytest.raises(ValueError, match="more than 8 operands"):
        _lib.find_loop(many, (numpy.dtype("O"),) * 13)


def test_refused_record_leaves_the_stream_alone():
    x = numpy.ones(3)
    loop = _lib.find_loop(numpy.add, (FLOAT64,) * 3)
    with pytest.raises(ValueError, match="zip"):
        _lib.record(loop, (x, x, x), (None,))
    assert _lib.pending() == 0


def test_stream_in_many_threads():
    wrong = []

    def work(value):
        for _ in range(100):
            out, buffer = _lib.empty((2000,), FLOAT64)
            out[:] = 0.0
            for _ in range(5):
                add(out, numpy.full(2000, value), out, (buffer, None, buffer))
            _lib.flush()
            wrong.extend(out[out != 5 * value])

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# -- Fork and devices -----------------------------------------------------------------

FORK = """
import os, sys, threading, numpy
from mxnp import _lib

F = numpy.dtype("float64")
loop = _lib.find_loop(numpy.add, (F, F, F))
stop = False

def busy():  # so that some fork finds the locks held
    while not stop:
        out, buffer = _lib.empty((3000,), F)
        _lib.record(loop, (out, out, out), (buffer, buffer, buffer))
        _lib.flush()

def child():
    out, buffer = _lib.empty((100000,), F)
    out[:] = 1.0
    _lib.flush()  # what other threads of the parent had recorded
    _lib.record(loop, (out, out, out), (buffer, buffer, buffer))
    _lib.flush()
    info = _lib.memory_info()
    return bool((out == 2.0).all()) and info["in_use"] > 0

threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads:
    thread.start()
failed = 0
for _ in range(40):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if child() else 1)
    failed += os.waitpid(pid, 0)[1] != 0
stop = True
for thread in threads:
    thread.join()
sys.exit(failed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_child_of_fork_is_usable():
    # Python 3.12 and later warn of a fork with threads, which is what is tested.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK]
    assert subprocess.run(command, timeout=120, check=False).returncode == 0


def test_metal_devices():
    names = _lib.metal_devices()
    assert all(isinstance(name, str) and name for name in names)
    if sys.platform != "darwin":
        assert names == ()
