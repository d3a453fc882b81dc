"""Recorded forms of sorts, whose rows or parts of rows are divided among threads.

They run immediately, in the core, which sorts with NumPy's functions. A sort returns
NotImplemented if its result depends on the order in which NumPy's algorithm leaves
equal elements.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import ndarray
from mxnp._engine.core import get_num_threads
from mxnp._engine.devices import GPU, get_device
from mxnp._engine.features import FEATURES

from .arguments import find_axis

STABLE = 2
_KINDS = {None: 0, "quicksort": 0, "heapsort": 1, "mergesort": STABLE, "stable": STABLE}
_LONG_ROW = 65536  # elements; NumPy partitions shorter rows
# Where NumPy is fast, it keeps rows of fewer elements, alone and times the threads, and
# of more with few threads; and partitions with fewer elements or threads.
_LEAST, _LEAST_BY_THREADS = 2**17, 2**20
_FEW_THREADS, _LEAST_OF_FEW = 3, 2**21
_LEAST_PARTITIONED, _PARTITION_THREADS = 2**19, 8
_POSITION = numpy.dtype(numpy.intp)
# With these features of a processor NumPy sorts integers and floats of so many bytes in
# vectors. NumPy 2.3 has AVX2 in place of X86_V3; later versions know it but do not ask.
_X86 = "X86_V3" if "X86_V3" in FEATURES else "AVX2"
_WIDE = "X86_V4" if "X86_V4" in FEATURES else "AVX512_SKX"  # vectors of 64 bytes
_PACKS_SLOWLY = _bridge.packs_slowly()
_SORTED_IN_VECTORS = {
    2: ("AVX512_ICL", "ASIMDHP"),
    4: (_X86, "ASIMD"),
    8: (_X86, "ASIMD"),
}


def find_kind(kind: Any, stable: Any = None) -> int:
    """Return NumPy's number of the kind of a sort, or -1 if NumPy must handle it."""
    if stable is not None:
        is_known = kind is None and type(stable) is bool
        return stable * STABLE if is_known else -1
    return _KINDS.get(kind, -1) if type(kind) in (str, type(None)) else -1


def _find_own_kind(kind: Any, order: Any, stable: Any) -> int:
    """Return the number of a kind that the core has, or -1."""
    number = find_kind(kind, stable)
    return number if order is None and number in (0, STABLE) else -1


def _is_sorted_here(a: Any) -> bool:
    """Return whether the core may sort an array, on several threads."""
    return type(a) is ndarray and a.dtype.kind in "biufc" and get_num_threads() > 1


def numpy_is_fast(dtype: numpy.dtype[Any], positions: bool = False) -> bool:
    """
    Return whether NumPy sorts, or finds positions, with fast vector instructions here.

    Short rows are not divided then: docs/design/07 has the measurement.
    """
    if FEATURES.get(_WIDE, False) and _PACKS_SLOWLY:
        return False
    names = _SORTED_IN_VECTORS.get(dtype.itemsize, ()) if dtype.kind in "iuf" else ()
    return any(
        FEATURES.get(name, False) for name in names if name == _X86 or not positions
    )


def _pays(a: Any, axis: Any, is_long: bool, *, positions: bool = False) -> bool:
    """Return whether threads share rows, or one row that is long or slow in NumPy."""
    is_row = a.ndim == 1 or axis is None
    return not is_row or is_long or not numpy_is_fast(a.dtype, positions)


def _sort_pays(a: Any, axis: Any, *, positions: bool = False) -> bool:
    threads = get_num_threads()
    least = max(_LEAST, _LEAST_BY_THREADS // threads)
    is_long = a.size >= (_LEAST_OF_FEW if threads <= _FEW_THREADS else least)
    return _pays(a, axis, is_long, positions=positions)


def _partition_pays(a: Any, axis: Any, *, positions: bool = False) -> bool:
    """Return whether a partition at one place pays."""
    is_long = a.size >= _LEAST_PARTITIONED and get_num_threads() >= _PARTITION_THREADS
    return _pays(a, axis, is_long, positions=positions)


def _has_gaps(a: Any) -> bool:
    """Return whether an array is one row with gaps, which threads cannot divide."""
    return bool(a.ndim == 1 and a.strides[0] != a.itemsize)


def sort_in_place(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    number, along = _find_own_kind(kind, order, stable), find_axis(axis, a.ndim)
    if number < 0 or along < 0 or not _is_sorted_here(a):
        return NotImplemented
    if number != STABLE and not _sort_pays(a, axis):
        return NotImplemented
    return _bridge.sort(a, along, number)


def sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    number = _find_own_kind(kind, order, stable)
    if number < 0 or not _is_sorted_here(a) or a.ndim == 0:
        return NotImplemented
    if number != STABLE and not _sort_pays(a, axis):
        return NotImplemented
    out = a.reshape(-1).copy() if axis is None else a.copy("K")
    axis = -1 if axis is None else axis
    done = sort_in_place(out, axis, kind, order, stable=stable)
    return done if done is NotImplemented else out


def _argsort(keys: Sequence[Any], axis: Any, kind: int) -> Any:
    """Return the positions that sort the last key, or for equal elements one before."""
    shape = keys[0].shape
    along = find_axis(axis, len(shape))
    if kind < 0 or along < 0:
        return NotImplemented
    positions = _bridge.empty(shape, _POSITION.num, False)
    for i, key in enumerate(keys):
        if (
            positions is NotImplemented
            or key.shape != shape
            or not _is_sorted_here(key)
        ):
            return NotImplemented
        packed = key.copy() if _has_gaps(key) else key
        done = _bridge.argsort(packed, along, kind, positions, i > 0)
        if done is NotImplemented:
            return done
    return positions


def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    if not _is_sorted_here(a):
        return NotImplemented
    keys = [a.ravel() if axis is None else a]
    number = _find_own_kind(kind, order, stable)
    if number != STABLE and not _sort_pays(a, axis, positions=True):
        return NotImplemented
    return _argsort(keys, -1 if axis is None else axis, number)


def _lexsort(keys: Any, axis: Any = -1) -> Any:
    if type(keys) is ndarray and keys.ndim > 1:
        keys = tuple(keys)
    if type(keys) not in (tuple, list) or not all(type(key) is ndarray for key in keys):
        return NotImplemented
    return _argsort(keys, axis, STABLE) if keys else NotImplemented


# -- Partitions -----------------------------------------------------------------------


def _find_places(kth: Any, n: int) -> tuple[int, ...]:
    """Return places in a row in their order, or nothing if NumPy must handle them."""
    if type(kth) is int:
        kth = (kth,)
    elif (
        type(kth) in (ndarray, numpy.ndarray)
        and kth.ndim == 1
        and kth.dtype.kind == "i"
    ):
        kth = kth.tolist()
    if type(kth) not in (tuple, list) or not all(type(place) is int for place in kth):
        return ()
    is_inside = all(-n <= place < n for place in kth)
    return tuple(sorted({place % n for place in kth})) if is_inside else ()


def _partition_along(
    a: Any, kth: Any, axis: Any, kind: Any, order: Any, positions: Any = None
) -> Any:
    """
    Partition an array in place, or write the positions that do.

    Return None, or NotImplemented if NumPy must handle the call.
    """
    along = find_axis(axis, a.ndim)
    if kind != "introselect" or order is not None or along < 0:
        return NotImplemented
    places = _find_places(kth, a.shape[along])
    is_writable = a.flags.writeable or positions is not None
    if not places or a.size < _LONG_ROW or not is_writable:
        return NotImplemented
    if a.ndim == 1:
        if a.strides[0] != a.itemsize:
            return NotImplemented
        return _bridge.partition(a, places, positions)
    return _partition_rows(a, list(places), along, positions)


def _partition_rows(a: Any, places: list[int], along: int, positions: Any) -> Any:
    """Divide rows among threads, in which NumPy's functions run."""
    from mxnp._engine.threads import cut, longest, run_pieces  # few programs need it

    across = longest(a.shape, along)
    n, pieces = a.shape[across], min(a.shape[across], get_num_threads())
    if pieces < 2 or get_device() == GPU:
        return NotImplemented
    begin = time.monotonic_ns()
    inside = a._np_array
    out = None if positions is None else positions._np_array

    def partition(part: slice) -> None:
        rows = cut(inside, across, part)
        if out is None:
            rows.partition(places, along)
        else:
            cut(out, across, part)[...] = rows.argpartition(places, along)

    run_pieces(partition, n, pieces)
    _bridge.count_partition(a, out is not None, begin)
    return None


def _is_partitioned_here(
    a: Any, kth: Any, axis: Any, *, positions: bool = False
) -> bool:
    """Return whether the core partitions an array, and a row once for all kth."""
    if not _is_sorted_here(a) or a.size < _LONG_ROW:
        return False
    is_one = type(kth) is int or (type(kth) in (tuple, list) and len(kth) == 1)
    return not is_one or _partition_pays(a, axis, positions=positions)


def _partition_in_place(
    a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    if a.ndim != 1 or not a.flags.forc or not _is_partitioned_here(a, kth, axis):
        return NotImplemented  # rows would be partitioned in several steps
    return _partition_along(a, kth, axis, kind, order)


def _partition(
    a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    if not _is_partitioned_here(a, kth, axis):
        return NotImplemented
    out = a.reshape(-1).copy() if axis is None else a.copy("K")
    done = _partition_along(out, kth, -1 if axis is None else axis, kind, order)
    return done if done is NotImplemented else out


def _argpartition(
    a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    if not _is_partitioned_here(a, kth, axis, positions=True):
        return NotImplemented
    if axis is None:
        a, axis = a.ravel(), -1
    positions = _bridge.empty(a.shape, _POSITION.num, False)
    if positions is NotImplemented:
        return positions
    keys = a.copy() if a.ndim == 1 else a  # which are moved too
    done = _partition_along(keys, kth, axis, kind, order, positions)
    return done if done is NotImplemented else positions
