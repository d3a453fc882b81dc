"""Functions that compute each row of their first argument by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from mxnp._engine.threads import cut, longest

from .entries import Entry, can_write, is_plain, replaced

# -- Distances -------------------------------------------------------------------------


def _are_pairs(a: Any, b: Any) -> bool:
    """Check for two sets of points, at least one in the second, as numbers."""
    is_usual = all(
        is_plain(x) and x.ndim == 2 and numpy.can_cast(x.dtype, numpy.float64)
        for x in (a, b)
    )
    return is_usual and a.shape[1] == b.shape[1] and len(b) > 0


def distances(entry: Entry, a: Any, b: Any, *given: Any, **kwargs: Any) -> Any:
    """
    Divide the distances of two sets of points along the first set.

    The array for them is given, or ``out``, or the result. SciPy returns 0.0 if it is
    given.
    """
    if entry.cut_into(len(a), a.size * len(b)) < 2 or not _are_pairs(a, b):
        return NotImplemented
    out = given[0] if given else kwargs.pop("out", None)
    is_product = any(numpy.ndim(x) == 2 for x in kwargs.values())  # with a matrix
    work = a.size * len(b) * ((is_product and a.shape[1] // 4) or 1)
    result = numpy.empty((len(a), len(b))) if out is None else out
    if result.shape != (len(a), len(b)) or result.dtype != numpy.float64:
        return NotImplemented
    if not result.flags.c_contiguous or not can_write(result, (a, b, *kwargs.values())):
        return NotImplemented

    def compute(part: slice) -> None:
        if given:
            entry.function(a[part], b, result[part], **kwargs)
        else:
            entry.function(a[part], b, out=result[part], **kwargs)

    if not entry.run(compute, len(a), work):
        return NotImplemented
    return 0.0 if given else result


# -- Fourier transforms ----------------------------------------------------------------


def workers(place: int) -> Callable[..., Any]:
    """
    Ask SciPy's Fourier transforms for as many threads as there are cores.

    Parameters
    ----------
    place : int
        The place of their number in the arguments, counted from the end.
    """

    def divide(entry: Entry, a: Any, *args: Any) -> Any:
        if not is_plain(a) or args[place] != 1 or type(args[place]) is not int:
            return NotImplemented  # the program has chosen their number
        # A number of bytes takes about the same time for all dtypes.
        pieces = entry.cut_into(a.size, a.nbytes // 8)
        if pieces < 2:
            return NotImplemented
        given = replaced(args, {len(args) + place: pieces})
        # An interrupt may leave a call that writes no array of the program.
        work = a.nbytes // 8 if args[place - 1] is None else 0
        return entry.run_whole(pieces, work, a, *given)

    return divide


def _has_finite_distances(tree: Any, x: Any, p: float) -> bool:
    """
    Check that no distance of a point to those of the tree can be infinite or NaN.

    Otherwise SciPy raises an exception, which its threads lose.
    """
    if not numpy.can_cast(x.dtype, float):
        return False  # SciPy warns that it drops a part of the numbers, or refuses them
    reach = max(abs(each).max() for each in (x.astype(float), tree.maxes, tree.mins))
    with numpy.errstate(over="ignore"):
        most = 2 * reach if p == numpy.inf else (2 * reach) ** p * tree.m
    return bool(p >= 1 and most < numpy.inf)


def tree_workers(names: str) -> Callable[..., Any]:
    """
    Ask a tree of points for neighbours on as many threads as there are cores.

    Parameters
    ----------
    names : str
        The parameters of the method after the tree and the points.
    """

    def divide(entry: Entry, tree: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        named = dict(zip(names.split(), args, strict=False))
        if named.keys() & kwargs.keys():
            return NotImplemented
        kwargs |= named
        pieces = entry.cut_into(x.size, x.size)
        if len(args) > len(names.split()) or kwargs.get("workers", 1) != 1:
            return NotImplemented
        if pieces < 2 or not _has_finite_distances(tree, x, kwargs.get("p", 2)):
            return NotImplemented
        return entry.run_whole(pieces, x.size, tree, x, **kwargs | {"workers": pieces})

    return divide


# -- Interpolation ---------------------------------------------------------------------


def linear(entry: Entry, x: Any, xp: Any, fp: Any, *sides: Any) -> Any:
    """
    Divide `numpy.interp` along the places at which it is evaluated.

    If the samples are out of order, the interval of a place depends on the one before.
    """
    if not all(is_plain(each) and each.ndim == 1 for each in (xp, fp)):
        return NotImplemented
    if not is_plain(x) or len(xp) > x.size or not (xp[1:] >= xp[:-1]).all():
        return NotImplemented
    out = numpy.empty(x.shape)
    along = longest(x.shape)

    def compute(part: slice) -> None:
        made = entry.function(cut(x, along, part), xp, fp, *sides)
        cut(out, along, part)[...] = made

    is_divided = entry.run(compute, x.shape[along], x.size)
    return out if is_divided else NotImplemented


# -- Filters of signals ----------------------------------------------------------------


def _are_scaled_once(b: Any, a: Any) -> bool:
    """
    Check for coefficients that do not change when they are scaled a second time.

    For each line, SciPy divides those that it has by the first of the denominator,
    which is one from then on. If it is not finite, or its square is not, or a product
    of its parts is rounded, each line has other coefficients.
    """
    if not a.size or not (numpy.isfinite(b).all() and numpy.isfinite(a).all()):
        return False
    first = a.flat[0]
    return bool(first.imag == 0 and 1e-15 < abs(first.real) < 1e15)


def linear_filter(entry: Entry, b: Any, a: Any, x: Any, axis: int, *state: Any) -> Any:
    """Divide a filter of the lines along an axis, which allocates its results."""
    own = axis % x.ndim
    across = longest(x.shape, own)
    given = (x, *state)
    if x.ndim < 2 or len(state) > 1 or not all(map(is_plain, (b, a, *given))):
        return NotImplemented
    if not _are_scaled_once(b, a):
        return NotImplemented
    if any(each.shape[across] != x.shape[across] for each in given):
        return NotImplemented

    def call(part: slice) -> Any:
        parts = [cut(each, across, part) for each in given]
        result = entry.function(b, a, parts[0], axis, *parts[1:])
        return result if state else (result,)

    # A filter of no lines has the dtypes of the results.
    kinds = [each.dtype for each in call(slice(0, 0))]
    made = [
        numpy.empty(each.shape, kind) for each, kind in zip(given, kinds, strict=True)
    ]

    def write(part: slice, *outs: Any) -> None:
        for out, result in zip(outs, call(part), strict=True):
            out[...] = result

    if not entry.run_writing(write, made, across, x.size):
        return NotImplemented
    return tuple(made) if state else made[0]


def sections(entry: Entry, sos: Any, x: Any, state: Any) -> Any:
    """Divide a filter that overwrites its signals and their states."""
    if not is_plain(sos) or not can_write(x, (sos, state)):
        return NotImplemented
    if len(x) != len(state) or not can_write(state, (sos, x)):
        return NotImplemented

    def write(_: slice, *outs: Any) -> None:
        entry.function(sos, *outs)

    write(slice(0), x[:0], state[:0])  # raises errors of arguments, and writes nothing
    work = x.size * len(sos)
    is_divided = entry.run_writing(write, (x, state), 0, work, is_repeatable=False)
    return None if is_divided else NotImplemented


# -- Sparse matrices -------------------------------------------------------------------


def matrix_rows(entry: Entry, n: int, m: int, *args: Any) -> Any:
    """Divide a product that is added to a result, along the rows of the matrix."""
    *vectors, starts, columns, values, x, y = args
    if not all(map(is_plain, (starts, columns, values, x))) or len(starts) != n + 1:
        return NotImplemented
    if not y.flags.c_contiguous or not can_write(y, (starts, columns, values, x)):
        return NotImplemented
    wide = vectors[0] if vectors else 1

    def compute(part: slice) -> None:
        own = starts[part.start : part.stop + 1]
        to = y[part.start * wide : part.stop * wide]
        entry.function(len(own) - 1, m, *vectors, own, columns, values, x, to)

    work = values.size * wide
    is_divided = entry.run(compute, n, work, is_repeatable=False)
    return None if is_divided else NotImplemented
