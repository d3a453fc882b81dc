"""Functions that compute each row of their first argument by itself."""

from __future__ import annotations

from typing import Any

import numpy

from .entries import Entry, can_write, is_plain

# -- Distances -------------------------------------------------------------------------


def _are_pairs(a: Any, b: Any) -> bool:
    is_usual = all(is_plain(x) and x.ndim == 2 for x in (a, b))
    return is_usual and a.shape[1] == b.shape[1] and len(b) > 0


def distances(entry: Entry, a: Any, b: Any, **kwargs: Any) -> Any:
    """Divide the distances of two sets of points along the first set."""
    out = kwargs.pop("out", None)
    doubles = all(numpy.can_cast(x.dtype, numpy.float64) for x in (a, b))
    if not _are_pairs(a, b) or not doubles:
        return NotImplemented
    result = numpy.empty((len(a), len(b))) if out is None else out
    if result.shape != (len(a), len(b)) or result.dtype != numpy.float64:
        return NotImplemented
    if not can_write(result, (a, b, *kwargs.values())):
        return NotImplemented

    def compute(part: slice) -> None:
        entry.function(a[part], b, out=result[part], **kwargs)

    is_divided = entry.run(compute, len(a), result.size * a.shape[1])
    return result if is_divided else NotImplemented


def written_distances(entry: Entry, a: Any, b: Any, out: Any, **kwargs: Any) -> Any:
    """Divide the same where SciPy has allocated the result."""
    if not _are_pairs(a, b) or out.shape != (len(a), len(b)):
        return NotImplemented
    if not out.flags.c_contiguous or not can_write(out, (a, b, *kwargs.values())):
        return NotImplemented

    def compute(part: slice) -> None:
        entry.function(a[part], b, out[part], **kwargs)

    is_divided = entry.run(compute, len(a), out.size * a.shape[1])
    return None if is_divided else NotImplemented


# -- Fourier transforms ----------------------------------------------------------------


def workers(entry: Entry, a: Any, *args: Any) -> Any:
    """Ask SciPy's Fourier transforms for as many threads as there are cores."""
    if not is_plain(a) or args[-1] != 1 or type(args[-1]) is not int:
        return NotImplemented  # the program has chosen their number
    pieces = entry.cut_into(a.size, a.size)
    return entry.function(a, *args[:-1], pieces) if pieces > 1 else NotImplemented
