"""Filters that compute each line, or each neighbourhood, of an array by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .entries import (
    Entry,
    can_write,
    cut,
    is_plain,
    is_same_memory,
    longest,
    replaced,
)

_WRAP = (1, 5)  # SciPy's numbers of modes in which a border needs the other one


def lines(*, axis: int, output: int) -> Callable[..., Any]:
    """
    Divide a filter of the lines along one axis, across these lines.

    SciPy copies a line before it writes it, so the output may be the input.

    Parameters
    ----------
    axis, output : int
        The places of these arguments. The first argument is the input.
    """

    def divide(entry: Entry, *args: Any) -> Any:
        a, out = args[0], args[output]
        if not is_plain(a) or a.shape != out.shape or a.ndim < 2:
            return NotImplemented
        others = args[1:] if is_same_memory(a, out) else args
        if not can_write(out, tuple(x for x in others if x is not out)):
            return NotImplemented
        across = longest(a.shape, args[axis] % a.ndim)

        def compute(part: slice) -> None:
            parts = {0: cut(a, across, part), output: cut(out, across, part)}
            entry.function(*replaced(args, parts))

        return None if entry.run(compute, a.shape[across], a.size) else NotImplemented

    return divide


def neighbourhoods(
    *, footprint: int, output: int, mode: int, origins: int
) -> Callable[..., Any]:
    """
    Divide a filter that computes each element from those around it.

    A piece gets the elements around it too, and what it computes for these is dropped.

    Parameters
    ----------
    footprint, output, mode, origins : int
        The places of these arguments. The first argument is the input.
    """

    def divide(entry: Entry, *args: Any) -> Any:
        a, out, size = args[0], args[output], args[footprint].shape
        if not is_plain(a) or a.shape != out.shape or len(size) != a.ndim:
            return NotImplemented
        if not can_write(out, tuple(x for x in args if x is not out)):
            return NotImplemented
        along = longest(a.shape)
        n = a.shape[along]
        around = size[along] // 2 + abs(int(args[origins][along]))
        if args[mode] in _WRAP:
            return NotImplemented

        def compute(part: slice) -> None:
            start, stop = max(0, part.start - around), min(n, part.stop + around)
            given = cut(a, along, slice(start, stop))
            made = numpy.empty(given.shape, out.dtype)
            entry.function(*replaced(args, {0: given, output: made}))
            own = slice(part.start - start, part.stop - start)
            cut(out, along, part)[...] = cut(made, along, own)

        pieces = n // (8 * around + 1)  # so that little work is done twice
        work = a.size * args[footprint].size
        is_divided = entry.run(compute, n, min(work, pieces * entry.grain))
        return None if is_divided else NotImplemented

    return divide
