"""Filters that compute each line, or each neighbourhood, of an array by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from mxnp._engine.threads import cut, longest

from .entries import Entry, can_write, is_plain, is_same_memory, replaced

_WRAP = (1, 5)  # SciPy's numbers of modes in which a border needs the other one


def lines(*, axis: int, output: int, is_result: bool = False) -> Callable[..., Any]:
    """
    Divide a filter of the lines along one axis, across these lines.

    SciPy copies a line before it writes it, so the output may be the input.

    Parameters
    ----------
    axis, output : int
        The places of these arguments. The first argument is the input.
    is_result : bool, optional
        Whether SciPy returns the output.
    """

    def divide(entry: Entry, *args: Any) -> Any:
        a, out = args[0], args[output]
        own, is_own = args[axis] % a.ndim, is_same_memory(a, out)
        across = longest(a.shape, own)
        if not is_plain(a) or a.ndim < 2 or a.shape[across] != out.shape[across]:
            return NotImplemented
        others = args[1:] if is_own else args
        if not can_write(out, tuple(x for x in others if x is not out)):
            return NotImplemented

        def compute(part: slice) -> None:
            parts = {0: cut(a, across, part), output: cut(out, across, part)}
            entry.function(*replaced(args, parts))

        work = max(a.size, out.size)
        if not entry.run(compute, a.shape[across], work, is_repeatable=not is_own):
            return NotImplemented
        return out if is_result else None

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
        n, work = max(a.shape, default=0), a.size * args[footprint].size
        if (
            entry.cut_into(n, work) < 2
            or not is_plain(a)
            or a.shape != out.shape
            or len(size) != a.ndim
        ):
            return NotImplemented
        if not can_write(out, tuple(x for x in args if x is not out)):
            return NotImplemented
        along = longest(a.shape)
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

        least = 8 * around + 1  # so that little work is done twice
        is_divided = entry.run(compute, n, work, least=least)
        return None if is_divided else NotImplemented

    return divide


def windows(entry: Entry, a: Any, size: Any) -> Any:
    """Divide a median filter of two dimensions, which allocates its result."""
    if not is_plain(a) or a.ndim != 2:
        return NotImplemented
    out = numpy.empty(a.shape, a.dtype.newbyteorder("="))
    around = int(size[0]) // 2

    def compute(part: slice) -> None:
        start, stop = max(0, part.start - around), min(len(a), part.stop + around)
        made = entry.function(a[start:stop], size)
        out[part] = made[part.start - start : part.stop - start]

    work, least = a.size * int(size[0]) * int(size[1]), 8 * around + 1
    return out if entry.run(compute, len(a), work, least=least) else NotImplemented


def coordinates(entry: Entry, *args: Any) -> Any:
    """Divide an interpolation at coordinates that the program has computed."""
    a, at, out = args[0], args[2], args[5]
    if args[1] is not None or not is_plain(a) or not is_plain(at):
        return NotImplemented
    if at.shape[1:] != out.shape or not can_write(out, (a, at)):
        return NotImplemented
    along = longest(out.shape)

    def compute(part: slice) -> None:
        parts = {2: cut(at, along + 1, part), 5: cut(out, along, part)}
        entry.function(*replaced(args, parts))

    is_divided = entry.run(compute, out.shape[along], out.size)
    return None if is_divided else NotImplemented
