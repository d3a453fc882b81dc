"""The one module that talks to C: the core's tables, memory, stream and devices."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from functools import cache
from importlib.machinery import SourceFileLoader
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy
from numpy._core._exceptions import (  # type: ignore[import-untyped, unused-ignore]
    _ArrayMemoryError,
)

_ROOT = Path(__file__).parents[1]

try:
    from ._core import ffi, lib
except ModuleNotFoundError as error:
    raise ImportError(
        "the C core of mxnp is not installed for this Python: run `pip install .` "
        f"in {_ROOT} (it needs a C compiler)"
    ) from error
# Programs that ask for `np._core` mean NumPy's, which the package gives without ours.
vars(sys.modules[__package__]).pop("_core", None)

Array: TypeAlias = "numpy.ndarray[Any, Any]"
Buffer: TypeAlias = Any  # counted memory of the core: the address of its first byte


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
    """One row of csrc/dtypes.def."""

    name: str
    c_type: str
    msl_type: str  # empty where Metal has none
    itemsize: int  # bytes
    kind: str


class Op(NamedTuple):
    """One row of csrc/ops.def, which explains the words."""

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
    """Return the rows of csrc/dtypes.def, in their order."""
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
    """Return the rows of csrc/ops.def, in their order."""
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


# -- Memory ---------------------------------------------------------------------------


def empty(
    shape: tuple[int, ...],
    dtype: numpy.dtype[Any],
    order: Literal["C", "F"] = "C",
    # Bound once: looking these up costs a tenth of the call.
    _new: Any = lib.mx_memory_new,
    _release: Any = lib.mx_memory_release,
    _gc: Any = ffi.gc,
    _buffer: Any = ffi.buffer,
    _ndarray: Any = numpy.ndarray,
) -> tuple[Array, Buffer]:
    """
    Return a new array over memory of the pool, not cleared, and the memory.

    The memory lives as long as either of the two and goes back to the pool then.

    Parameters
    ----------
    shape : tuple of ints
        Shape of the array.
    dtype : numpy.dtype
        Any dtype without references: not object, not `StringDType`.
    order : {'C', 'F'}, optional
        Whether the last or the first axis is contiguous.

    Returns
    -------
    array : numpy.ndarray
        Of the given shape and dtype, page-aligned.
    buffer : Buffer
        The counted memory under it.

    Raises
    ------
    MemoryError
        If there is no such memory, with NumPy's words.
    TypeError
        If the dtype holds references.
    ValueError
        If a dimension is negative or the size is beyond any memory.
    """
    if dtype.hasobject:
        raise TypeError(f"{dtype!r} holds references, which the pool cannot")
    try:
        nbytes = prod(shape) * dtype.itemsize
        memory = _new(nbytes)
    except OverflowError:
        numpy.empty(shape, dtype, order)  # says what is wrong with the shape
        raise
    if not memory:
        raise _ArrayMemoryError(shape, dtype)
    buffer = _gc(memory, _release)
    return _ndarray(shape, dtype, _buffer(buffer, nbytes), 0, None, order), buffer


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


# -- Stream ---------------------------------------------------------------------------


class Loop(NamedTuple):
    """The inner loop of a NumPy ufunc for one combination of dtypes."""

    pointer: Any  # struct mx_loop *
    nargs: int


_HEAD = object.__basicsize__  # bytes of an object before its own fields
_keep: list[Array] = []  # arrays of recorded instructions whose memory is not counted
_lock = threading.Lock()  # _keep and the stream change together


def _renew_lock() -> None:
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


@cache
def find_loop(ufunc: numpy.ufunc, dtypes: tuple[numpy.dtype[Any], ...]) -> Loop:
    """
    Find NumPy's own inner loop.

    Parameters
    ----------
    ufunc : numpy.ufunc
        With at most 8 operands.
    dtypes : tuple of numpy.dtype
        Of its inputs and outputs, as `ufunc.resolve_dtypes` gives them.

    Returns
    -------
    Loop
        For `record`.

    Raises
    ------
    ValueError
        If the ufunc has no such loop.
    """
    if len(dtypes) != ufunc.nargs:
        raise ValueError(f"{ufunc.nargs} dtypes are needed, but {len(dtypes)} given")
    pointer = ffi.new("struct mx_loop *")
    types = bytes(dtype.num for dtype in dtypes)
    check(
        lib.mx_loop_find(
            pointer, id(ufunc) + _HEAD, ufunc.nin, ufunc.nout, ufunc.ntypes, types
        )
    )
    return Loop(pointer, ufunc.nargs)


def record(
    loop: Loop, arrays: Sequence[Array], buffers: Sequence[Buffer | None]
) -> None:
    """
    Append one instruction to the stream: a loop over the elements of its operands.

    Parameters
    ----------
    loop : Loop
        From `find_loop`.
    arrays : sequence of numpy.ndarray, each of shape (n,) or (1,)
        Inputs, then outputs, of the loop's dtypes and in native byte order; one of
        shape (1,) is used for every element. An output overlaps an input only if it is
        the same elements in the same order.
    buffers : sequence of Buffer or None
        The counted memory that each array points into, if any. An array without is kept
        alive until the flush.
    """
    n = max(array.size for array in arrays)
    operands = ffi.new("struct mx_operand[]", loop.nargs)
    for operand, array, buffer in zip(operands, arrays, buffers, strict=True):
        operand.data = ffi.cast("char *", array.ctypes.data)
        operand.stride = array.strides[0] if array.size == n else 0
        operand.memory = ffi.NULL if buffer is None else buffer
    with _lock:
        check(lib.mx_record(loop.pointer, operands, n))
        _keep.extend(
            array
            for array, buffer in zip(arrays, buffers, strict=True)
            if buffer is None
        )


def flush() -> int:
    """
    Run everything recorded, in the order of recording.

    Returns
    -------
    int
        Floating-point conditions met, in NumPy's numbers: 1 divide by zero, 2 overflow,
        4 underflow, 8 invalid value.
    """
    status = ffi.new("int *")
    with _lock:
        try:
            check(lib.mx_flush(status))
        finally:
            _keep.clear()
    met: int = status[0]
    return met


def pending() -> int:
    """Return the number of instructions recorded and not yet run."""
    count: int = lib.mx_pending()
    return count


# -- Devices --------------------------------------------------------------------------


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
