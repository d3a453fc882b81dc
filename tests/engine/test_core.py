"""Test the core's Python interface: tables, memory, queue and threads."""

import gc
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import threading

import numpy
import pytest
from support.lanes import ON_CUDA, needs_fusion
from support.paths import ROOT
from support.tolerances import near

import mxnp
from mxnp import _bridge
from mxnp._core import lib
from mxnp._engine import core

MIB = 2**20

needs_own_memory = pytest.mark.skipif(ON_CUDA, reason="the memory is on the GPU")


@pytest.fixture
def pool():
    """Start with an empty queue and an empty pool, and restore the limit at the end."""
    mxnp.synchronize()
    gc.collect()
    limit = core.memory_info()["limit"]
    core.clear_cache()
    yield core
    core.set_memory_limit(limit)


@pytest.fixture
def idle():
    """Start with an empty queue."""
    mxnp.synchronize()
    assert _bridge.pending() == 0


def computed(nbytes):
    """Return a computed array of so many bytes in the pool's memory."""
    array = mxnp.arange(nbytes).astype("u1") + 1
    mxnp.synchronize()
    return array


def run_python(code, **environment):
    """Run a program in a separate process; return its output, or its last error."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


# -- Compiled modules -----------------------------------------------------------------


@pytest.fixture(scope="module")
def digest():
    spec = importlib.util.spec_from_file_location("digest", ROOT / "csrc" / "digest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_core_was_built_from_these_sources(digest):
    built = core.ffi.string(lib.mx_digest()).decode()
    assert built == digest.digest(str(ROOT / "csrc")), (
        "the installed core is not of today"
    )


def import_copy(folder, *, with_core):
    """Import the core from a copy of the checkout; return exit status and stderr."""
    package = folder / "mxnp"
    (package / "_engine").mkdir(parents=True, exist_ok=True)
    (package / "_engine" / "__init__.py").touch()
    text = "import pkgutil\n__path__ = pkgutil.extend_path(__path__, __name__)\n"
    (package / "__init__.py").write_text(text if with_core else "")
    for name in ("_engine/core.py", "_engine/environment.py"):
        (package / name).write_bytes((ROOT / "mxnp" / name).read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", "import mxnp._engine.core"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr.strip().splitlines()[-1:]


def test_a_missing_core_is_an_error_with_advice(tmp_path):
    status, (last,) = import_copy(tmp_path, with_core=False)
    assert status == 1
    assert last == (
        "ImportError: the C core of mxnp is not installed for this Python: "
        f"run `pip install .` in {tmp_path} (it needs a C compiler)"
    )


def test_a_missing_package_is_an_error_with_advice(tmp_path):
    (tmp_path / "_cffi_backend.py").write_text(
        "raise ModuleNotFoundError('No module named cffi', name='_cffi_backend')"
    )
    status, (last,) = import_copy(tmp_path, with_core=True)
    assert status == 1
    assert last == (
        "ImportError: mxnp needs the module _cffi_backend: run `pip install cffi`"
    )


@pytest.mark.slow
def test_core_of_other_sources_is_refused(tmp_path):
    sources = tmp_path / "csrc"
    sources.mkdir()
    (sources / "digest.py").write_bytes((ROOT / "csrc" / "digest.py").read_bytes())
    (sources / "changed.c").write_text("int changed;\n")
    status, (last,) = import_copy(tmp_path, with_core=True)
    assert status == 1
    assert last == (
        "ImportError: the C core of mxnp was built from other sources than "
        f"{tmp_path}: run `pip install --no-build-isolation --no-deps -e .` there "
        "(`pip install .` if it is not installed in editable form)"
    )


@pytest.mark.slow
def test_sources_are_read_if_one_has_changed_since_the_build(tmp_path, digest):
    """These sources are others than the core's, which only their texts show."""
    sources = tmp_path / "csrc"
    sources.mkdir()
    shutil.copy(ROOT / "csrc" / "digest.py", sources)
    source = sources / "changed.c"
    source.write_text("int changed;\n")
    times = source.stat().st_atime_ns, source.stat().st_mtime_ns
    package = tmp_path / "mxnp"
    package.mkdir()
    for module in (_bridge, sys.modules["mxnp._core"]):
        shutil.copy(module.__file__, package)
    (package / "_core.state").write_text(digest.state(str(sources)))

    def is_refused():
        status, lines = import_copy(tmp_path, with_core=False)
        assert "built from other sources" in "".join(lines) if status else not lines
        return bool(status)

    assert not is_refused()
    os.utime(source, ns=(times[0], times[1] - 10**9))
    assert is_refused()
    os.utime(source, ns=times)
    assert not is_refused()
    (sources / "added.h").touch()
    assert is_refused()


def test_state_of_sources_has_their_names_sizes_and_times(tmp_path, digest):
    def state(folder="first"):
        return digest.state(str(tmp_path / folder))

    source = tmp_path / "first" / "inner" / "a.c"
    source.parent.mkdir(parents=True)
    source.write_text("int a;\n")
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    times = source.stat().st_atime_ns, source.stat().st_mtime_ns
    before = state()
    (tmp_path / "first" / "notes.txt").touch()
    assert state("first/") == before != state("second")
    source.write_text("int aa;\n")
    os.utime(source, ns=times)
    assert state() != before
    source.write_text("int b;\n")
    os.utime(source, ns=times)
    assert state() == before
    os.utime(source, ns=(times[0], times[1] + 1))
    assert state() != before
    os.utime(source, ns=times)
    source.rename(source.with_name("b.c"))
    assert state() != before


def test_core_fits_its_package(tmp_path):
    assert import_copy(tmp_path, with_core=True) == (0, [])


# -- Status ---------------------------------------------------------------------------


SECOND_IMPORT = """
import sys, mxnp
import mxnp as np
x = np.arange(100_000.0) + 1
for name in [name for name in sys.modules if {condition}]:
    del sys.modules[name]
try:
    import mxnp
except ImportError as error:
    print(error)
print(x.sum(), np.median(x))
assert "mxnp" not in sys.modules
sys.modules["mxnp"] = None
np.kron(x[:2], x[:2])
assert sys.modules["mxnp"] is None
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "condition", ["name == 'mxnp'", "name.partition('.')[0] == 'mxnp'"]
)
def test_second_import_is_refused(condition):
    """NumPy says the same if its modules are removed and imported again."""
    done = subprocess.run(
        [sys.executable, "-c", SECOND_IMPORT.format(condition=condition)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    expected = "cannot load module more than once per process\n5000050000.0 50000.5\n"
    assert done.stdout == expected


def test_check_translates_each_status():
    assert core.check(lib.MX_OK) is None
    for status, exception in [
        (lib.MX_ERROR_MEMORY, MemoryError),
        (lib.MX_ERROR_VALUE, ValueError),
        (lib.MX_ERROR_DEVICE, RuntimeError),
    ]:
        with pytest.raises(exception):
            core.check(status)


def test_version_is_the_installed_one():
    assert core.core_version() == importlib.metadata.version("mxnp")


# -- Memory ---------------------------------------------------------------------------


@pytest.mark.slow
def test_memory_is_whole_pages(pool):
    before = pool.memory_info()["in_use"]
    array = computed(MIB)
    address = numpy.asarray(array).ctypes.data
    assert address % os.sysconf("SC_PAGESIZE") == 0
    assert MIB < pool.memory_info()["in_use"] - before <= MIB * 9 / 8


@needs_own_memory
@pytest.mark.slow
def test_memory_is_not_taken_before_it_is_computed(pool):
    x = computed(MIB)
    before = pool.memory_info()
    y = x + 1
    assert pool.memory_info() == before
    mxnp.synchronize()
    assert pool.memory_info()["in_use"] >= before["in_use"] + MIB
    assert y[-1] == x[-1] + 1


@needs_own_memory
@pytest.mark.slow
@pytest.mark.parametrize("last", ["array", "view", "export"])
def test_memory_lives_as_long_as_its_views(pool, last):
    before = pool.memory_info()["in_use"]
    array = computed(MIB)
    expected = numpy.arange(MIB).astype("u1") + numpy.uint8(1)
    view = array[::2] if last == "view" else None
    export = numpy.asarray(array) if last == "export" else None
    if last != "array":
        del array
    assert pool.memory_info()["in_use"] >= before + MIB
    if last == "view":
        assert (view == expected[::2]).all()
    elif last == "export":
        assert (export == expected).all()
    array = view = export = None
    mxnp.synchronize()
    assert pool.memory_info()["in_use"] == before
    assert pool.memory_info()["cached"] >= MIB


@pytest.mark.slow
def test_memory_is_used_again(pool):
    x = computed(MIB)
    y = x + 1
    address = numpy.asarray(y).ctypes.data
    calls = pool.memory_info()["system_calls"]
    del y
    y = x + 2
    assert numpy.asarray(y).ctypes.data == address
    assert pool.memory_info()["system_calls"] == calls


@needs_own_memory
def test_memory_of_arrays_that_shrink_is_used_again(pool):
    x = computed(4 * MIB)
    calls = pool.memory_info()["system_calls"]
    while x.nbytes > MIB:  # one block for the next array, and others after each half
        x = x[: x.nbytes * 31 // 32] + 1
        mxnp.synchronize()
    assert pool.memory_info()["system_calls"] <= calls + 8


@needs_own_memory
def test_peak_is_the_most_in_use(pool):
    arrays = [computed(MIB) for _ in range(8)]
    peak = pool.memory_info()["peak"]
    assert peak >= pool.memory_info()["in_use"] >= 8 * MIB
    del arrays
    assert pool.memory_info()["peak"] == peak


@needs_own_memory
@pytest.mark.slow
def test_clear_cache(pool):
    computed(8 * MIB)
    assert pool.memory_info()["cached"] >= 8 * MIB
    assert pool.clear_cache() is None
    assert pool.memory_info()["cached"] == 0


@needs_own_memory
@pytest.mark.slow
def test_limit_holds(pool):
    before = pool.memory_info()["limit"]
    assert pool.set_memory_limit(3 * MIB) == before
    del [computed(MIB) for _ in range(8)][:]
    assert MIB < pool.memory_info()["cached"] <= 3 * MIB
    assert pool.set_memory_limit(0) == 3 * MIB
    assert pool.memory_info()["cached"] == 0
    computed(MIB)
    assert pool.memory_info()["cached"] == 0


@pytest.mark.slow
def test_limit_may_be_beyond_any_memory(pool):
    pool.set_memory_limit(2**100)
    assert pool.memory_info()["limit"] == sys.maxsize * 2 + 1


@pytest.mark.slow
def test_limit_is_not_negative(pool):
    before = pool.memory_info()["limit"]
    with pytest.raises(ValueError, match="must not be negative, but -1 was given"):
        pool.set_memory_limit(-1)
    assert pool.memory_info()["limit"] == before


@pytest.mark.slow
def test_default_limit_is_at_most_a_quarter_of_memory():
    limit = int(run_python("import mxnp; print(mxnp.memory_info()['limit'])"))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    assert 0 < limit <= min(memory // 4, 8 * 2**30)


@pytest.mark.slow
def test_pool_in_many_threads(pool):
    before = pool.memory_info()["in_use"]
    wrong = []

    def work(mark):
        rng = numpy.random.default_rng(mark)
        kept = []
        for _ in range(100):
            kept.append(mxnp.zeros(int(rng.integers(1, 50000))) + mark)
            if len(kept) > 5:
                wrong.extend(a for a in kept if (a != mark).any())
                del kept[:3]

    in_threads(work, range(4))
    assert not wrong
    gc.collect()
    mxnp.synchronize()
    assert pool.memory_info()["in_use"] == before


def in_threads(work, arguments):
    """Call `work` with each argument in a separate thread, and wait for all of them."""
    threads = [threading.Thread(target=work, args=(each,)) for each in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


TOO_LITTLE = """
import resource, mxnp as np
x = np.arange(5e6).reshape(2, -1)
np.synchronize()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (used + (60 << 20), hard))
kept = [x + 1, x + 2, x + 3]
try:
    np.synchronize()
    print("enough?")
except MemoryError as error:
    print(type(error).__name__, error)
later = kept[0] * 2
del kept[0]
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
print([float((a - x * k).max()) for a, k in zip([later, *kept], (2, 1, 1))])
"""


@needs_own_memory
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory cannot be limited here")
def test_too_little_memory_is_tried_again():
    said, values = run_python(TOO_LITTLE).splitlines()
    message = "Unable to allocate 38.1 MiB for an array with shape (2, 2500000)"
    assert said == f"MemoryError {message} and data type float64"
    assert values == "[2.0, 2.0, 3.0]"


# -- The queue ------------------------------------------------------------------------


def test_nothing_runs_before_it_is_needed(idle):
    x = mxnp.arange(50000.0)
    y = x + x
    assert _bridge.pending() > 0
    assert float(y[-1]) == 99998.0
    assert _bridge.pending() == 0
    assert mxnp.synchronize() is None


def test_small_arrays_are_not_recorded(idle):
    threshold = _bridge.set_threshold(101)
    try:
        x = mxnp.arange(100.0)
        y = x + x
        assert _bridge.pending() == 0
        assert float(y[-1]) == 198.0
    finally:
        _bridge.set_threshold(threshold)


OUTER_OPERATIONS = {
    "operator": lambda x: x[:, None] + x,
    "comparison": lambda x: x[:, None] < x,
    "function of mxnp": lambda x: mxnp.hypot(x[:, None], x),
    "function": lambda x: numpy.hypot(x[:, None], x),
    "three axes": lambda x: x[:30, None] - x[:30, None, None],
}


@pytest.mark.parametrize("name", OUTER_OPERATIONS)
def test_large_results_of_small_arrays_are_recorded(idle, name):
    threshold = _bridge.set_threshold(101)
    try:
        x, plain = mxnp.arange(100.0) / 64, numpy.arange(100.0) / 64
        y = OUTER_OPERATIONS[name](x)
        assert _bridge.pending() == 1
        expected = OUTER_OPERATIONS[name](plain)
        if ON_CUDA and name != "comparison":
            assert near(y, expected).all()
        else:
            numpy.testing.assert_array_equal(numpy.asarray(y), expected)
        assert _bridge.pending() == 0
        assert (x[:15, None] + x[:15]).shape == (15, 15)
        assert _bridge.pending() == 0
    finally:
        _bridge.set_threshold(threshold)


def test_arrays_that_cannot_be_broadcast_raise_numpys_error(idle):
    x = mxnp.ones((300, 2)), mxnp.ones((300, 3))
    with pytest.raises(ValueError, match=r"shapes \(300,2\) \(300,3\)"):
        x[0] + x[1]


@needs_own_memory
@pytest.mark.slow
def test_operands_live_until_they_are_used(pool):
    before = pool.memory_info()["in_use"]
    x = computed(MIB)
    y = x * 2
    del x
    assert pool.memory_info()["in_use"] >= before + MIB
    expected = (numpy.arange(MIB).astype("u1") + numpy.uint8(1)) * numpy.uint8(2)
    assert (numpy.asarray(y) == expected).all()
    del y
    gc.collect()
    assert pool.memory_info()["in_use"] == before


@needs_fusion
def test_last_flush_describes_its_groups():
    x, size = mxnp.arange(60000.0).reshape(200, 300), 480000
    mxnp.synchronize()
    y = mxnp.sqrt(x * 2 + 1)
    mxnp.synchronize()
    (group,) = core.last_flush()
    assert group.operations == ("multiply", "add", "sqrt")
    assert group.shape == (200, 300)
    assert group.temporaries == 2
    assert (group.bytes_read, group.bytes_written) == (size, size)
    assert (0 if ON_CUDA else 1) <= group.threads <= mxnp.get_num_threads()
    assert group.seconds > 0
    assert float(y[0, 0]) == 1.0
    assert core.last_flush() == [group]  # reading did not flush


@needs_fusion
def test_last_flush_names_reductions_and_scans():
    x = mxnp.arange(60000.0)
    mxnp.synchronize()
    y = x * 1
    total, running = y.sum(keepdims=True), y.cumsum()
    mxnp.synchronize()
    groups = [group.operations for group in core.last_flush()]
    assert groups == [("multiply", "add.reduce"), ("add.accumulate",)]
    assert float(total[0]) == float(running[-1])


@needs_fusion
def test_arrays_dropped_before_the_last_flush_force_none():
    x = mxnp.zeros(4 * MIB)
    mxnp.synchronize()
    for _ in range(10):
        y = x * 2 + 1
        mxnp.synchronize()
        (group,) = core.last_flush()
        assert group.operations == ("multiply", "add")
        z = y * 2
        del y  # the queue holds its 32 MiB until the flush
        assert float(z[-1]) == 2.0


CHAIN = """
import mxnp as np
from mxnp._engine import core
x = np.arange({n}, dtype="f8")
np.synchronize()
y = x * 2 + 1
np.synchronize()
print([group.operations for group in core.last_flush()], float(y[-1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", "[('multiply', 'add')] 99999.0"),
        ("1", "[('multiply', 'add')] 99999.0"),
        ("0", "[('multiply',), ('add',)] 99999.0"),
    ],
)
def test_mxnp_fuse(value, expected):
    assert run_python(CHAIN.format(n=50000), MXNP_FUSE=value) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", "[] 199.0"),
        ("0", "[('multiply', 'add')] 199.0"),
        ("100", "[('multiply', 'add')] 199.0"),
        ("101", "[] 199.0"),
        ("many", "ImportError: MXNP_THRESHOLD must be a number of elements, but is "),
    ],
)
def test_mxnp_threshold(value, expected):
    if value == "many":
        expected += "'many'"
    found = run_python(CHAIN.format(n=100), MXNP_THRESHOLD=value, MXNP_FUSE="1")
    assert found == expected


def test_queue_in_many_threads():
    shared = mxnp.arange(20000.0)
    wrong = []

    def work(value):
        for _ in range(50):
            out = shared * 0
            for _ in range(5):
                out += value
            result = out + shared
            if not (numpy.asarray(result) == numpy.arange(20000.0) + 5 * value).all():
                wrong.append(value)

    in_threads(work, range(4))
    assert not wrong


# -- Threads --------------------------------------------------------------------------


@pytest.fixture
def threads():
    """Restore the number of threads at the end."""
    before = mxnp.get_num_threads()
    yield
    mxnp.set_num_threads(before)


def test_number_of_threads(threads):
    before = mxnp.get_num_threads()
    assert mxnp.set_num_threads(3) == before
    assert mxnp.get_num_threads() == 3
    assert mxnp.set_num_threads(1000) == 3
    assert mxnp.get_num_threads() == 64
    for count in (0, -1):
        with pytest.raises(
            ValueError, match=f"must be positive, but {count} was given"
        ):
            mxnp.set_num_threads(count)
    assert mxnp.get_num_threads() == 64


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_usable_threads_follow_the_affinity():
    code = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]);"
    code += "from mxnp._engine import core; print(core.usable_threads())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "1\n"
    assert 1 <= core.usable_threads() <= len(os.sched_getaffinity(0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "expected"), [("3", "3"), ("1", "1"), ("1000", "64")]
)
def test_mxnp_num_threads(value, expected):
    code = "import mxnp; print(mxnp.get_num_threads())"
    assert run_python(code, MXNP_NUM_THREADS=value) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("openmp", "own", "expected"),
    [("3", "", "3"), ("3,2", "", "3"), ("3", "2", "2"), ("3,x", "", "3")],
)
def test_omp_num_threads(openmp, own, expected):
    code = "import mxnp; print(mxnp.get_num_threads())"
    variables = {"OMP_NUM_THREADS": openmp, "MXNP_NUM_THREADS": own}
    assert run_python(code, **variables) == expected


@pytest.mark.slow
@pytest.mark.parametrize("value", ["0", "-1", "many", "2x", "2;1"])
def test_invalid_omp_num_threads(value):
    code = "import mxnp; print(mxnp.get_num_threads())"
    default = run_python(code, OMP_NUM_THREADS="", MXNP_NUM_THREADS="")
    assert run_python(code, OMP_NUM_THREADS=value, MXNP_NUM_THREADS="") == default


@pytest.mark.needs("threadpoolctl")
@pytest.mark.slow
@pytest.mark.parametrize("first", ["mxnp", "threadpoolctl"])
def test_threadpoolctl(first):
    code = f"""import {first}, mxnp, threadpoolctl
def threads():
    return mxnp.get_num_threads()
own = [each for each in threadpoolctl.threadpool_info() if each["user_api"] == "mxnp"]
print([(each["num_threads"], each["version"] == mxnp.mxnp_version) for each in own], end=" ")
for limits in (1, {{"mxnp": 3}}, {{"blas": 1}}):
    with threadpoolctl.threadpool_limits(limits):
        print(threads(), end=" ")
print(threads())
"""
    assert run_python(code, MXNP_NUM_THREADS="4") == "[(4, True)] 1 3 4 4"


def test_results_do_not_depend_on_threads(threads):
    x = mxnp.asarray(numpy.random.default_rng(0).normal(size=(700, 900)))
    results = set()
    for count in (1, 2, 3, 8):
        mxnp.set_num_threads(count)
        y = mxnp.sqrt(x * x + 1) - x
        reduced = [
            y,
            y.sum(keepdims=True),
            y.sum(axis=0),
            y.sum(axis=1),
            y.cumsum(axis=0),
        ]
        results.add(tuple(numpy.asarray(each).tobytes() for each in reduced))
    assert len(results) == 1


# -- Fork and devices -----------------------------------------------------------------

FORK = """
import os, sys, threading, mxnp as np

stop = False
np.set_num_threads(3)
shared = np.arange(100000.0)

def busy():  # so that some fork finds the stream taken and the locks held
    while not stop:
        x = shared
        for _ in range(5):
            x = x + shared
        np.synchronize()

def child():
    kept = waiting + 1  # recorded by the parent
    x = np.sqrt(np.arange(300000.0)) * 2
    total = float((x * x).sum())
    right = abs(total / (4 * 299999 * 150000) - 1) < 1e-12
    return right and float(kept[-1]) == 200000.0 and np.memory_info()["in_use"] > 0

threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads:
    thread.start()
failed = 0
for _ in range(40):
    waiting = shared + 100000
    pid = os.fork()
    if pid == 0:
        os._exit(0 if child() else 1)
    failed += os.waitpid(pid, 0)[1] != 0
    failed += float(waiting[-1]) != 199999.0
stop = True
for thread in threads:
    thread.join()
sys.exit(failed)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_child_of_fork_is_usable():
    # Python 3.12 and later warn about a fork with threads, which this test needs.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK]
    assert subprocess.run(command, timeout=120, check=False).returncode == 0


def test_metal_devices():
    names = core.gpu().models
    assert all(isinstance(name, str) and name for name in names)
    host = ("Metal emulator (CPU)",)  # in a build with -Dmetal=emulator
    if sys.platform != "darwin" and not ON_CUDA:
        assert names in ((), host)
