"""The one module that talks to the C core: its tables, memory, queue and devices."""

from __future__ import annotations

import atexit
import os
import sys
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

_ROOT = Path(__file__).parents[2]

try:
    from mxnp._core import ffi, lib
except ModuleNotFoundError as error:
    raise ImportError(
        "the C core of mxnp is not installed for this Python: run `pip install .` "
        f"in {_ROOT} (it needs a C compiler)"
    ) from error
# Programs that ask for `np._core` mean NumPy's, which the package gives without ours.
vars(sys.modules["mxnp"]).pop("_core", None)

from mxnp import _bridge  # noqa: E402  (after the check that there is a core)


def _text(pointer: Any) -> str:
    text: bytes = ffi.string(pointer)
    return text.decode()


def core_version() -> str:
    """Return the version of mxnp that the C core was built with."""
    return _text(lib.mx_version())


def _check_fit() -> None:
    """Refuse a core that was not built from the sources beside this Python code."""
    script = _ROOT / "csrc" / "digest.py"
    if not script.exists():  # installed, and so with its core
        return
    module = ModuleType("digest")
    SourceFileLoader("digest", str(script)).exec_module(module)
    if module.digest(script.parent) != _text(lib.mx_digest()):
        raise ImportError(
            f"the C core of mxnp was built from other sources than {_ROOT}: "
            "run `pip install .` there again"
        )


_check_fit()

_EXCEPTIONS = {
    lib.MX_ERROR_MEMORY: MemoryError,
    lib.MX_ERROR_VALUE: ValueError,
    lib.MX_ERROR_DEVICE: RuntimeError,
}


def check(status: int) -> None:
    """Raise the exception that a status of the core stands for; MX_OK raises none."""
    if status != lib.MX_OK:
        raise _EXCEPTIONS[status](_text(lib.mx_error_message()))


check(lib.mx_start())


# -- Tables ---------------------------------------------------------------------------


class DType(NamedTuple):
    """One row of csrc/ir/dtypes.def."""

    name: str
    c_type: str
    msl_type: str  # empty where Metal has none
    itemsize: int  # bytes
    kind: str


class Op(NamedTuple):
    """One row of csrc/ir/ops.def, which explains the words."""

    name: str
    nin: int
    nout: int
    types: str
    result: str
    identity: str
    expression: str
    summary: str


@cache
def dtypes() -> tuple[DType, ...]:
    """Return the rows of csrc/ir/dtypes.def, in their order."""
    rows = (lib.mx_dtype_get(number) for number in range(lib.mx_dtype_count()))
    return tuple(
        DType(
            _text(row.name),
            _text(row.c_type),
            _text(row.msl_type),
            row.itemsize,
            row.kind.decode(),
        )
        for row in rows
    )


@cache
def ops() -> tuple[Op, ...]:
    """Return the rows of csrc/ir/ops.def, in their order."""
    rows = (lib.mx_op_get(number) for number in range(lib.mx_op_count()))
    return tuple(
        Op(
            _text(row.name),
            row.nin,
            row.nout,
            _text(row.types),
            _text(row.result),
            _text(row.identity),
            _text(row.expression),
            _text(row.summary),
        )
        for row in rows
    )


@cache
def metal_types() -> dict[str, str]:
    """Return the names of the dtypes that Metal has, and what it calls them."""
    return {row.name: row.msl_type for row in dtypes() if row.msl_type}


# -- Memory ---------------------------------------------------------------------------


def memory_info() -> dict[str, int]:
    """
    Return how much memory the pool holds.

    Returns
    -------
    dict
        Bytes, except the last:

        ``in_use``
            in blocks that arrays hold;
        ``cached``
            in blocks kept for the next array of their size;
        ``peak``
            the most that ever was in use;
        ``limit``
            the most that is kept (see `set_memory_limit`);
        ``system_calls``
            number of blocks that the pool did not have and asked of the system.
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
    Set how much unused memory the pool keeps for the next arrays.

    What is kept beyond the limit goes back to the system at once, that which was unused
    for longest first. Arrays are not limited by it.

    Parameters
    ----------
    nbytes : int
        Bytes; 0 keeps nothing. At the start it is a quarter of the memory that the
        process may use, but not more than 8 GiB.

    Returns
    -------
    int
        The limit before, in bytes.

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
    """Give all memory that the pool keeps and no array holds back to the system."""
    lib.mx_memory_trim(0)


def refuse_memory(after: int, count: int) -> int:
    """
    Let the core have no memory, for tests: `count` requests fail after `after` more.

    Return how many have failed since the last call.
    """
    refused: int = lib.mx_alloc_refuse(after, count)
    return refused


# -- The queue ------------------------------------------------------------------------


def _set_threshold() -> None:
    """Take MXNP_THRESHOLD from the environment."""
    text = os.environ.get("MXNP_THRESHOLD", "")
    if text:
        try:
            _bridge.set_threshold(int(text))
        except ValueError:
            raise ImportError(
                f"MXNP_THRESHOLD must be a number of elements, but is {text!r}"
            ) from None


_bridge.start(int(ffi.cast("uintptr_t", lib.mx_recorder_table())))
_set_threshold()
os.register_at_fork(
    before=_bridge.before_fork,
    after_in_parent=_bridge.after_fork,
    after_in_child=_bridge.after_fork,
)


def finish() -> None:
    """
    Run what is recorded at the end; print errors that nobody was told of.

    What programs compute even later, in finalizers for example, is not recorded.
    """
    _bridge.set_threshold(sys.maxsize)
    while True:
        try:
            _bridge.flush("exit")
            _bridge.raise_pending()
        except Exception as error:
            sys.excepthook(type(error), error.with_traceback(None), None)
            if _bridge.pending():
                return  # it cannot run
        else:
            return


atexit.register(finish)


def synchronize() -> None:
    """
    Wait until everything recorded has run.

    Operations on large arrays are recorded and run when their results are needed:
    when elements are printed, tested, converted or handed to other packages. This runs
    them now, and gives their warnings.

    Raises
    ------
    IndexError
        If an index that was computed is out of bounds, once; a note says where the
        operation was recorded.
    MemoryError
        If there is no memory for a result. It is tried again at the next need.
    """
    _bridge.flush()


class Group(NamedTuple):
    """What ran as one pass over memory."""

    operations: tuple[str, ...]
    shape: tuple[int, ...]
    temporaries: int  # results that never were in memory
    bytes_read: int
    bytes_written: int
    threads: int
    seconds: float


def _operation(name: str, kind: int) -> str:
    """Name an operation of a row of the report: a ufunc by its method."""
    method = {1: ".reduce", 2: ".accumulate", 7: ".at"}.get(kind, "")
    return name if name == "put" else name + method


def last_flush() -> list[Group]:
    """Return what the last flush ran, at most 256 groups of it."""
    row = ffi.new("struct mx_group_row *")
    groups: list[Group] = []
    while lib.mx_flush_stats_get(len(groups), row):
        groups.append(
            Group(
                tuple(
                    _operation(_text(row.names[i]), row.kinds[i])
                    for i in range(row.n_operations)
                ),
                tuple(row.shape[0 : row.ndim]),
                row.n_temporaries,
                row.bytes_read,
                row.bytes_written,
                row.n_threads,
                row.nanoseconds / 1e9,
            )
        )
    return groups


def get_num_threads() -> int:
    """
    Return the number of threads that large operations are shared among.

    Returns
    -------
    int
        At the start ``MXNP_NUM_THREADS`` if that is set, else ``OMP_NUM_THREADS``,
        else as many as the process may use: the processors it may run on, and what its
        container grants it. threadpoolctl may limit it later.
    """
    count: int = lib.mx_thread_count()
    return count


def set_num_threads(count: int) -> int:
    """
    Set the number of threads that large operations are shared among.

    Results do not depend on it.

    Parameters
    ----------
    count : int
        Threads, the calling one among them; at most 64 are used.

    Returns
    -------
    int
        The number before.

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

# In the order in which they use each other: Metal has no path for includes at run time.
_KERNELS = ("scalar", "element", "reduce", "scatter")


@cache
def kernel_text(name: str) -> str:
    """Read a file of metal/, from the package or from the checkout."""
    folders = (Path(__file__).parents[1] / "metal", _ROOT / "metal")
    folder = next(folder for folder in folders if folder.is_dir())
    return (folder / f"{name}.metal").read_text()


@cache
def kernel_prelude() -> bytes:
    """Give what every kernel begins with."""
    texts = [kernel_text(name) for name in _KERNELS]
    return "".join([*texts, "/* -- end of prelude -- */\n"]).encode()


_kept: list[Any] = []  # memory that the core uses


def use_metal(threshold: int) -> None:
    """Let groups of so many elements and more run on the Metal device."""
    prelude = ffi.new("char[]", kernel_prelude())
    _kept.append(prelude)
    lib.mx_metal_use(prelude, threshold)


def is_metal_usable() -> bool:
    """Tell whether kernels can run: not in a process that was forked."""
    return bool(lib.mx_metal_usable())


def metal_counts() -> dict[str, int]:
    """Count what ran on the Metal device since the start, and what did not."""
    counts = ffi.new("struct mx_metal_counts *")
    lib.mx_metal_count(counts)
    names = (
        *("groups", "declined", "dispatches"),
        *("command_buffers", "compiled", "rejected"),
    )
    return {name: getattr(counts, name) for name in names}


def set_kernel_limit(limit: int) -> int:
    """Set how many compiled kernels are kept; give the limit before."""
    before: int = lib.mx_metal_set_kernel_limit(limit)
    return before


def metal_text() -> str:
    """Return the text of the last kernel that was written for a group."""
    return _text(lib.mx_metal_text())


def metal_rejection() -> str:
    """Return what the compiler said of the last kernel that it did not take."""
    return _text(lib.mx_metal_rejection())


@cache
def metal_devices() -> tuple[str, ...]:
    """
    Return the names of the Metal devices of this machine.

    Returns
    -------
    tuple of str
        Empty where there is no Metal.
    """
    count = lib.mx_metal_device_count()
    return tuple(_text(lib.mx_metal_device_name(device)) for device in range(count))
