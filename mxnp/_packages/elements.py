"""Ufuncs of SciPy, each of whose results depends on one element of each argument."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy

from mxnp._engine.threads import cut, longest

from .entries import Entry, is_plain

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


def divide(entry: Entry, *args: Any) -> Any:
    """Divide a call of a ufunc of `scipy.special`."""
    ufunc: Any = entry.function
    arrays = [x for x in args if type(x) is numpy.ndarray]
    others = [x for x in args if type(x) is not numpy.ndarray]
    is_usual = all(isinstance(x, numpy.generic) or type(x) in _NUMBERS for x in others)
    if ufunc.signature or len(args) != ufunc.nin:
        return NotImplemented
    if not is_usual or not all(map(is_plain, arrays)):
        return NotImplemented
    shape = numpy.broadcast_shapes(*(x.shape for x in arrays))
    is_whole = all(x.shape == shape and x.flags.c_contiguous for x in arrays)
    if (1 in shape and not is_whole) or not _is_silent():
        return NotImplemented
    kinds = (x.dtype if hasattr(x, "dtype") else type(x) for x in args)
    dtypes = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))[ufunc.nin :]
    outs = [
        numpy.empty(shape, dtype) if is_whole else _allocate(arrays, dtype)
        for dtype in dtypes
    ]
    along = longest(shape)

    def part_of(x: Any, part: slice) -> Any:
        if type(x) is not numpy.ndarray or x.ndim == 0:
            return x
        axis = along - len(shape) + x.ndim
        return x if axis < 0 or x.shape[axis] == 1 else cut(x, axis, part)

    def compute(part: slice) -> None:
        parts = (part_of(x, part) for x in args)
        ufunc(*parts, out=tuple(cut(out, along, part) for out in outs))

    if not entry.run(compute, shape[along], math.prod(shape)):
        return NotImplemented
    return outs[0] if len(outs) == 1 else tuple(outs)
