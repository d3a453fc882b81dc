"""Ufuncs of SciPy, each of whose results depends on one element of each argument."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from mxnp._engine.threads import cut, longest

from .entries import Entry, can_write, is_plain, is_same_memory

_NUMBERS = (bool, int, float, complex)  # and NumPy's scalars


def _is_silent() -> bool:
    """Check whether `scipy.special.errstate` ignores what its ufuncs meet."""
    reports: dict[str, str] = sys.modules["scipy.special._ufuncs"].geterr()
    return all(how == "ignore" for kind, how in reports.items() if kind != "memory")


def _allocate(arrays: Sequence[Any], dtype: Any) -> Any:
    """Return memory in the order that NumPy chooses for the result of a ufunc."""
    flags: list[Any] = [*[["readonly"]] * len(arrays), ["writeonly", "allocate"]]
    return numpy.nditer(
        [*arrays, None],
        op_flags=flags,
        op_dtypes=[None] * len(arrays) + [dtype],
    ).operands[-1]


def _can_write(outs: Sequence[Any], shape: Any, dtypes: Any, arrays: Any) -> bool:
    """Check for an array like the result, which may be an input but overlap none."""
    if len(outs) != 1 or len(dtypes) != 1 or not is_plain(outs[0]):
        return False
    others = tuple(x for x in arrays if not is_same_memory(x, outs[0]))
    is_usual = outs[0].shape == shape and outs[0].dtype == dtypes[0]
    return is_usual and can_write(outs[0], others)


@contextmanager
def _restoring(outs: Sequence[Any], arrays: Sequence[Any]) -> Iterator[None]:
    """Restore an array that is an input too, after an exception."""
    saved = [
        (out, out.copy()) for out in outs if any(is_same_memory(x, out) for x in arrays)
    ]
    try:
        yield
    except BaseException:
        for out, values in saved:
            out[...] = values
        raise


def divide(entry: Entry, *operands: Any, out: Any = None) -> Any:
    """Divide a call of a ufunc of `scipy.special`."""
    ufunc: Any = entry.function
    args, outs = operands[: ufunc.nin], operands[ufunc.nin :]
    arrays = [x for x in args if type(x) is numpy.ndarray]
    others = [x for x in args if type(x) is not numpy.ndarray]
    is_usual = all(isinstance(x, numpy.generic) or type(x) in _NUMBERS for x in others)
    if ufunc.signature or len(args) != ufunc.nin or (outs and out is not None):
        return NotImplemented
    if out is not None:
        outs = out if type(out) is tuple else (out,)
    if not is_usual or not all(map(is_plain, arrays)):
        return NotImplemented
    shape = numpy.broadcast_shapes(*(x.shape for x in arrays))
    is_whole = all(x.shape == shape and x.flags.c_contiguous for x in arrays)
    if (1 in shape and not is_whole) or not _is_silent():
        return NotImplemented
    kinds = (x.dtype if hasattr(x, "dtype") else type(x) for x in args)
    dtypes = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))[ufunc.nin :]
    if outs and not _can_write(outs, shape, dtypes, arrays):
        return NotImplemented
    outs = outs or tuple(
        numpy.empty(shape, dtype) if is_whole else _allocate(arrays, dtype)
        for dtype in dtypes
    )
    along = longest(shape)

    def part_of(x: Any, part: slice) -> Any:
        if type(x) is not numpy.ndarray or x.ndim == 0:
            return x
        axis = along - len(shape) + x.ndim
        return x if axis < 0 or x.shape[axis] == 1 else cut(x, axis, part)

    def compute(part: slice) -> None:
        parts = (part_of(x, part) for x in args)
        ufunc(*parts, out=tuple(cut(out, along, part) for out in outs))

    with _restoring(outs, arrays):
        is_divided = entry.run(compute, shape[along], math.prod(shape))
    result = outs[0] if len(outs) == 1 else outs
    return result if is_divided else NotImplemented
