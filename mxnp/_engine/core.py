"""Access to the C core: its tables, memory, queue, threads and devices."""

import atexit
import os
import sys
from _thread import RLock  # which is loaded already
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.machinery import SourceFileLoader
from os import path
from types import ModuleType, SimpleNamespace
from typing import Any

# Not with pathlib, whose import takes 3 ms.
_PACKAGE = path.dirname(path.dirname(path.abspath(__file__)))  # noqa: PTH100, PTH120
_ROOT = path.dirname(_PACKAGE)  # noqa: PTH120

try:
    from mxnp._core import ffi, lib
except ModuleNotFoundError as error:
    if error.name == "_cffi_backend":
        raise ImportError(
            "mxnp needs the module _cffi_backend: run `pip install cffi`"
        ) from error
    raise ImportError(
        "the C core of mxnp is not installed for this Python: run `pip install .` "
        f"in {_ROOT} (it needs a C compiler)"
    ) from error
# A program that uses `np._core` means NumPy's module, which is found without this one.
vars(sys.modules["mxnp"]).pop("_core", None)

from mxnp import _bridge  # noqa: E402  (after the check that the core exists)

from . import environment  # noqa: E402


def _text(pointer: Any) -> str:
    text: bytes = ffi.string(pointer)
    return text.decode()


def core_version() -> str:
    """Return the version of mxnp that the C core was built with."""
    return _text(lib.mx_version())


def _check_fit() -> None:
    """Raise an ImportError if the core was built from other sources than these."""
    folder = path.join(_ROOT, "csrc")  # noqa: PTH118
    script = path.join(folder, "digest.py")  # noqa: PTH118
    if not path.exists(script):  # noqa: PTH110  (an installed package has its own core)
        return
    module = ModuleType("digest")
    SourceFileLoader("digest", script).exec_module(module)
    # Only an editable install has this file, which names the checkout and its times.
    core = path.dirname(sys.modules["mxnp._core"].__file__ or "")  # noqa: PTH120
    state = path.join(core, "_core.state")  # noqa: PTH118
    with suppress(OSError), open(state) as file:  # noqa: PTH123
        if file.read() == module.state(folder):
            return
    if module.digest(folder) != _text(lib.mx_digest()):
        raise ImportError(
            f"the C core of mxnp was built from other sources than {_ROOT}: "
            "run `pip install --no-build-isolation --no-deps -e .` there "
            "(`pip install .` if it is not installed in editable form)"
        )


_check_fit()

_EXCEPTIONS = {
    lib.MX_ERROR_MEMORY: MemoryError,
    lib.MX_ERROR_VALUE: ValueError,
    lib.MX_ERROR_DEVICE: RuntimeError,
}


def check(status: int) -> None:
    """Raise the exception of a status of the core, unless it is MX_OK."""
    if status != lib.MX_OK:
        raise _EXCEPTIONS[status](_text(lib.mx_error_message()))


_used_by_core: list[Any] = []  # memory that must not be freed


def set_in_core(name: str, value: int | str) -> None:
    """Set a field of struct mx_settings in csrc/mxnp.h."""
    own = ffi.new("char[]", os.fsencode(value)) if isinstance(value, str) else value
    _used_by_core.append(own)
    setattr(lib.mx_settings, name, own)


def _start() -> None:
    """Start the core and the bridge with the settings of the environment."""
    environment.check()
    for name, value in environment.get_core_settings().items():
        set_in_core(name, value)
    set_in_core(
        "package_folders", ":".join(each for each in sys.path if isinstance(each, str))
    )
    check(lib.mx_start())
    _bridge.start(int(ffi.cast("uintptr_t", lib.mx_recorder_table())))
    threshold = int(environment.get("MXNP_THRESHOLD"))
    _bridge.set_threshold(min(threshold, sys.maxsize))
    _bridge.show_own_frames(environment.get("MXNP_TRACEBACKS") == "full")


_start()
load_once = _bridge.load_once


# -- Tables ---------------------------------------------------------------------------


class DType:
    """A row of csrc/ir/dtypes.def."""

    def __init__(self, number: int) -> None:
        row = lib.mx_dtype_get(number)
        self.name, self.c_type = _text(row.name), _text(row.c_type)
        self.itemsize: int = row.itemsize  # bytes
        self.kind: str = row.kind.decode()


class Op:
    """A row of csrc/ir/ops.def, which explains the columns."""

    def __init__(self, number: int) -> None:
        row = lib.mx_op_get(number)
        self.nin: int = row.nin
        self.nout: int = row.nout
        self.name, self.types = _text(row.name), _text(row.types)
        self.result, self.identity = _text(row.result), _text(row.identity)
        self.expression, self.summary = _text(row.expression), _text(row.summary)


@cache
def dtypes() -> tuple[DType, ...]:
    """Return the rows of csrc/ir/dtypes.def, in their order."""
    return tuple(map(DType, range(lib.mx_dtype_count())))


@cache
def op_names() -> tuple[str, ...]:
    """Return the names of the rows of csrc/ir/ops.def, in their order."""
    return tuple(_text(lib.mx_op_get(row).name) for row in range(lib.mx_op_count()))


@cache
def ops() -> tuple[Op, ...]:
    """Return the rows of csrc/ir/ops.def, in their order."""
    return tuple(map(Op, range(lib.mx_op_count())))


# -- Memory ---------------------------------------------------------------------------


def memory_info() -> dict[str, int]:
    """
    Return how much memory the pool holds.

    Returns
    -------
    dict of str to int
        ``in_use``
            Bytes of blocks that arrays hold.
        ``cached``
            Bytes of blocks that are cached for later arrays of their size.
        ``peak``
            The largest value of ``in_use`` so far, in bytes.
        ``limit``
            The limit of ``cached``, in bytes (see `set_memory_limit`).
        ``system_calls``
            The number of blocks that the cache lacked and that were requested from the
            system.

    See Also
    --------
    clear_cache : Return the cached memory to the system.

    Examples
    --------
    >>> import mxnp as np
    >>> sorted(np.memory_info())
    ['cached', 'in_use', 'limit', 'peak', 'system_calls']
    """
    info = ffi.new("struct mx_memory_info *")
    lib.mx_memory_info(info)
    return {
        "in_use": info.in_use,
        "cached": info.cached,
        "peak": info.peak,
        "limit": info.limit,
        "system_calls": info.n_system_calls,
    }


def set_memory_limit(nbytes: int) -> int:
    """
    Set how much unused memory the pool caches for later arrays.

    Cached memory above the limit is returned to the system immediately, starting with
    the block that has been unused longest. The limit does not apply to arrays.

    Parameters
    ----------
    nbytes : int
        Limit in bytes; 0 disables the cache. The initial limit is a quarter of the
        memory that the process may use, and at most 8 GiB.

    Returns
    -------
    int
        The previous limit, in bytes.

    Raises
    ------
    ValueError
        If `nbytes` is negative.
    """
    if nbytes < 0:
        raise ValueError(f"memory limit must not be negative, but {nbytes} was given")
    before = memory_info()["limit"]
    lib.mx_memory_set_limit(min(nbytes, 2 ** (8 * ffi.sizeof("size_t")) - 1))
    return before


def clear_cache() -> None:
    """
    Return the cached memory to the system, and delete what is kept on disk.

    What C's malloc keeps is returned too. On disk there are compiled kernels, and the
    sizes that ``--check-gpu`` has measured.

    See Also
    --------
    memory_info : Return how much memory is cached.
    set_memory_limit : Limit the cache.
    """
    from . import auto_sizes

    _bridge.clear_recycled()
    lib.mx_memory_trim(0)
    lib.mx_gpu_clear_cache()
    auto_sizes.remove()
    lib.mx_compiled_clear()


def refuse_memory(after: int, count: int) -> int:
    """
    Let `count` memory requests of the core fail after `after` more, for tests.

    Return how many have failed since the last call.
    """
    refused: int = lib.mx_alloc_refuse(after, count)
    return refused


# -- The queue ------------------------------------------------------------------------


os.register_at_fork(
    before=_bridge.before_fork,
    after_in_parent=_bridge.after_fork,
    after_in_child=_bridge.after_fork,
)
# A fork waits until no thread is loading, which would hold locks of modules.
loading = RLock()
os.register_at_fork(
    before=loading.acquire,
    after_in_parent=loading.release,
    after_in_child=loading.release,
)


def finish() -> None:
    """
    Run the recorded operations at exit, and print their errors.

    Operations that run even later, in finalizers for example, are not recorded.
    """
    _bridge.set_threshold(sys.maxsize)
    while True:
        try:
            _bridge.flush("exit")
            _bridge.raise_pending()
        except Exception as error:
            sys.excepthook(type(error), error.with_traceback(None), None)
            if _bridge.pending():
                return  # the queue cannot run
        else:
            return


atexit.register(finish)


def synchronize() -> None:
    """
    Run all recorded operations and wait for their results.

    Operations on large arrays are recorded. They run when their results are needed, for
    example when elements are printed, tested, converted or passed to other packages.
    This function runs them immediately, and issues their warnings.

    Raises
    ------
    IndexError
        If an index of a recorded operation is out of bounds. A note on the exception
        says where the operation was recorded. The error is raised once.
    MemoryError
        If there is no memory for a result. The operation runs again when its result is
        needed next.
    """
    _bridge.flush()


# -- The compiler of hot groups --------------------------------------------------------


class CompiledStats:
    """What the compiler of hot groups has done in this process until now."""

    def __init__(self) -> None:
        stats = ffi.new("struct mx_compiled_stats *")
        lib.mx_compiled_stats(stats)
        self.groups: int = stats.n_keys
        self.kernels: int = stats.n_kernels
        self.failures: int = stats.n_failures  # groups for which the compiler failed
        self.seconds: float = stats.nanoseconds / 1e9


def wait_for_compiler() -> None:
    """Wait until all groups that were hot are compiled."""
    lib.mx_compiled_wait()


def read_code(key: bytes) -> bytes | None:
    """Return compiled code from the disk, or None if there is none for this key."""
    size = ffi.new("size_t *")
    code = lib.mx_compiled_read(key, len(key), size)
    if code == ffi.NULL:
        return None
    copy: bytes = ffi.buffer(code, size[0])[:]
    lib.mx_compiled_free(code)
    return copy


def write_code(key: bytes, code: bytes) -> None:
    """Keep compiled code on disk, if the user has a folder for it."""
    lib.mx_compiled_write(key, len(key), code, len(code))


# -- Groups of the last flush ----------------------------------------------------------


class Group(SimpleNamespace):
    """A group of operations, which ran as one pass over memory."""

    operations: tuple[str, ...]
    shape: tuple[int, ...]
    temporaries: int  # elided results
    bytes_read: int
    bytes_written: int
    threads: int
    compiled: int  # operations that compiled kernels computed
    seconds: float


BOUNDS_CHECK: int = lib.MX_BOUNDS_CHECK
_METHODS: dict[int, str] = {
    lib.MX_REDUCE: ".reduce",
    lib.MX_SCAN: ".accumulate",
    lib.MX_SCATTER: ".at",
}


def operation_name(name: str, kind: int) -> str:
    """Return the name of an operation, with the ufunc method of its kind."""
    return name if name == "put" else name + _METHODS.get(kind, "")


def last_flush() -> list[Group]:
    """Return the groups that the last flush ran, at most 256 of them."""
    row = ffi.new("struct mx_group_row *")
    groups: list[Group] = []
    while lib.mx_flush_stats_get(len(groups), row):
        groups.append(
            Group(
                operations=tuple(
                    operation_name(_text(row.names[i]), row.kinds[i])
                    for i in range(row.n_operations)
                ),
                shape=tuple(row.shape[0 : row.ndim]),
                temporaries=row.n_temporaries,
                bytes_read=row.bytes_read,
                bytes_written=row.bytes_written,
                threads=row.n_threads,
                compiled=row.n_compiled,
                seconds=row.nanoseconds / 1e9,
            )
        )
    return groups


# -- Threads ---------------------------------------------------------------------------


def usable_threads() -> int:
    """Return how many threads the affinity and the container allow to run at once."""
    count: int = lib.mx_usable_thread_count()
    return count


def get_num_threads() -> int:
    """
    Return the number of threads that large operations use.

    Returns
    -------
    int
        Number of threads, including the calling thread. The initial number is
        ``MXNP_NUM_THREADS`` if it is set, or else ``OMP_NUM_THREADS``, or else the
        number of processors that the affinity and the container of the process allow.
        threadpoolctl may change it.

    See Also
    --------
    set_num_threads
    """
    count: int = lib.mx_thread_count()
    return count


def set_num_threads(count: int) -> int:
    """
    Set the number of threads that large operations use.

    Results do not depend on the number of threads.

    Parameters
    ----------
    count : int
        Number of threads, including the calling thread. At most 64 are used.

    Returns
    -------
    int
        The previous number.

    Raises
    ------
    ValueError
        If `count` is less than 1.
    """
    if count < 1:
        raise ValueError(f"number of threads must be positive, but {count} was given")
    before = get_num_threads()
    lib.mx_set_thread_count(min(count, 64))
    return before


# -- Devices --------------------------------------------------------------------------


class Device:
    """A row of csrc/gpu/devices.def: a kind of GPU."""

    def __init__(self, number: int) -> None:
        row = lib.mx_device_get(number)
        self.number = number
        self.name = _text(row.name)  # in programs
        self.title = _text(row.title)  # in messages
        self.kernels = _text(row.kernels)  # folder of its kernel sources
        self.suffix = _text(row.suffix)  # of its kernel sources
        self.argument_bytes: int = row.argument_bytes  # of the numbers of a kernel
        # Elements from which "auto" uses it, unless they are measured.
        self.auto_size: int = row.auto_size
        # Bytes of computed arrays after which "auto" initializes it.
        self.opening: int = row.opening << 20
        # Whether threadgroups may wait for others that have begun.
        self.makes_progress = bool(row.makes_progress)
        # The dtypes that it supports: their names in its language.
        self.types = {
            dtype.name: text
            for code, dtype in enumerate(dtypes())
            if (text := _text(lib.mx_device_type_name(number, code)))
        }
        # GPUs of this kind; empty if this build cannot use them.
        self.models = tuple(
            _text(lib.mx_device_gpu_name(number, gpu))
            for gpu in range(lib.mx_device_gpu_count(number))
        )


@cache
def devices() -> tuple[Device, ...]:
    """Return the rows of csrc/gpu/devices.def, in their order."""
    return tuple(map(Device, range(lib.mx_device_count())))


def has_choice() -> bool:
    """Return whether the process can use another GPU than the default one."""
    return bool(lib.mx_device_has_choice(gpu().number))


def choose_gpu(number: int) -> None:
    """Set which GPU the process uses. Raise a ValueError if it uses another one."""
    check(lib.mx_device_choose(gpu().number, number))


def chosen_gpu() -> int:
    """Return the number of the GPU that the process uses, once it needs one."""
    number: int = lib.mx_device_chosen(gpu().number)
    return number


def device_problem(device: Device) -> str:
    """Return why a device cannot run kernels, and the cure, or "". Initializes it."""
    return _text(lib.mx_device_problem(device.number))


def device_libraries(device: Device) -> str:
    """Return which libraries a device computes with, and which are missing, or ""."""
    return _text(lib.mx_device_libraries(device.number))


@cache
def gpu() -> Device:
    """
    Return the device that this process uses.

    Returns
    -------
    Device
        The first row of which there is a GPU, or the first row. If there are GPUs of
        several kinds, ``MXNP_DEVICE`` selects one.
    """
    name = environment.get("MXNP_DEVICE").partition(":")[0]
    return max(devices(), key=lambda row: (bool(row.models), row.name == name))


# Each file uses those before it: kernels are compiled at run time, without includes. A
# kernel compiles only the files of its kind. The order is that of enum mx_prelude.
_PRELUDES = {
    "map": ("scalar", "element"),
    "reduce": ("scalar", "element", "reduce"),
    "scatter": ("scalar", "element", "scatter"),
}


@cache
def kernel_text(name: str) -> str:
    """Return a file of kernels of the device, from the package or from the checkout."""
    device = gpu()
    folders = [path.join(each, device.kernels) for each in (_PACKAGE, _ROOT)]  # noqa: PTH118
    folder = next(filter(path.isdir, folders))
    with open(f"{folder}/{name}.{device.suffix}", encoding="utf-8") as file:  # noqa: PTH123
        return file.read()


@cache
def processor() -> str:
    """
    Return "x86-64", "macOS arm64" or "arm64".

    NumPy casts floats to integers, and compares 0 with -0, by instructions with other
    results on each of these processors.
    """
    import platform

    if platform.machine() in {"x86_64", "AMD64"}:
        return "x86-64"
    return "macOS arm64" if sys.platform == "darwin" else "arm64"


@cache
def kernel_prelude(kind: str = "reduce") -> bytes:
    """Return the text that kernels of a kind begin with."""
    host = "#define MX_X86 /* the processor */\n" if processor() == "x86-64" else ""
    texts = [kernel_text(name) for name in _PRELUDES[kind]]
    return "".join([host, *texts, "/* -- end of prelude -- */\n"]).encode()


def use_gpu(sizes: Sequence[int], opening: int = 0) -> None:
    """
    Let operations from these numbers of elements on run on the GPU.

    Parameters
    ----------
    sizes : sequence of int
        The numbers of `auto_sizes.Sizes`.
    opening : int, optional
        Device "auto" initializes the GPU when such operations have computed over so
        many bytes: the elements, of the largest size among the operands.
    """
    texts = [ffi.from_buffer("char[]", kernel_prelude(kind)) for kind in _PRELUDES]
    _used_by_core.extend(texts)
    preludes = ffi.new("const char *[]", texts)
    lib.mx_gpu_use(gpu().number, preludes, list(sizes), opening)


def is_gpu_wanted() -> bool:
    """Return whether device "auto" has had enough work to initialize the GPU."""
    return bool(lib.mx_gpu_is_wanted())


def is_gpu_usable() -> bool:
    """Return whether kernels can run, which a forked process cannot do."""
    return bool(lib.mx_gpu_is_usable())


# What a library of the device may compute in place of a kernel: enum mx_library_call.
NO_CALL, MULTIPLY, TRANSFORM, LINEAR = range(lib.MX_LINEAR + 1)


def gpu_has_own_memory() -> bool:
    """Return whether arrays are copied to the GPU, which has its own memory."""
    return bool(lib.mx_gpu_has_own_memory())


def gpu_max_bytes() -> int:
    """Return the most bytes of an array that kernels can use."""
    return int(lib.mx_gpu_max_bytes())


@cache
def gpu_has_transforms() -> bool:
    """Return whether a library of the device computes Fourier transforms."""
    n = 16
    return prepare_call(TRANSFORM, [0, 0, n, 1, n, n, 1]) is not None


def prepare_call(call: int, numbers: Sequence[int]) -> int | None:
    """
    Return the scratch memory that a library of the device needs for a call.

    The numbers are those of struct mx_transform or mx_linear in csrc/gpu/device.h.
    None: no library of the device can compute it.
    """
    scratch = lib.mx_gpu_prepare(call, list(numbers), len(numbers))
    return None if scratch < 0 else scratch


def gpu_counts() -> dict[str, int]:
    """Return the counts of groups, dispatches, kernels and copied bytes on the GPU."""
    counts = ffi.new("struct mx_gpu_counts *")
    lib.mx_gpu_count(counts)
    names = (
        *("groups", "declined", "dispatches"),
        *("command_buffers", "compiled", "rejected", "work"),
        *("bytes_in", "bytes_out", "evicted"),
    )
    return {name: getattr(counts, name) for name in names}


def set_kernel_limit(limit: int) -> int:
    """Set how many compiled kernels are cached; return the previous limit."""
    before: int = lib.mx_gpu_set_kernel_limit(limit)
    return before


def set_work_limit(limit: int) -> int:
    """Set the most work of one launch, or 0 for the device's; return the previous."""
    before: int = lib.mx_gpu_set_work_limit(limit)
    return before


def gpu_text() -> str:
    """Return the text of the last kernel that was generated for a group."""
    return _text(lib.mx_gpu_text())


def gpu_rejection() -> str:
    """Return the compiler's message about the last kernel that it rejected, or ""."""
    return _text(lib.mx_gpu_rejection())
