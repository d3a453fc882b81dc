"""Filters that compute each line, or each neighbourhood, of an array by itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy

from mxnp._engine.threads import cut, longest

from .entries import LONG_PART, Entry, can_write, is_plain, is_same_memory, replaced

_TAPS = 64  # elements of a neighbourhood that take the time for which grains are
_WRAP = (1, 5)  # SciPy's numbers of modes in which a border needs the other one
_MOST = 32  # grains of a tile, which take 5 to 65 ms


def lines(
    *,
    axis: int,
    output: int,
    is_result: bool = False,
    taps: Callable[[Any], int] = lambda args: 1,
) -> Callable[..., Any]:
    """
    Divide a filter of the lines along one axis, across these lines.

    SciPy copies a line before it writes it, so the output may be the input.

    Parameters
    ----------
    axis, output : int
        The places of these arguments. The first argument is the input.
    is_result : bool, optional
        Whether SciPy returns the output.
    taps : callable, optional
        Takes the arguments, and returns how many products are added for an element.
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

        def write(part: slice, made: Any) -> None:
            parts = {0: made if is_own else cut(a, across, part), output: made}
            entry.function(*replaced(args, parts))

        work = max(a.size, out.size) * (taps(args) // _TAPS or 1)
        if not entry.run_writing(write, [out], across, work, is_repeatable=not is_own):
            return NotImplemented
        return out if is_result else None

    return divide


class Places(NamedTuple):
    """
    The places of arguments of a filter that computes each element from those around it.

    Attributes
    ----------
    footprint, output, origins : int
        The places. The first argument is the input.
    """

    footprint: int
    output: int
    origins: int


def _sections(
    shape: tuple[int, ...], along: int, borders: tuple[int, ...], count: int
) -> list[tuple[slice, ...]]:
    """
    Cut all axes but one into so many blocks in all, or fewer.

    A block is sixteen times as long as its border.
    """
    cuts = [[slice(0, n)] for n in shape]
    for axis in sorted(range(len(shape)), key=lambda i: -shape[i]):
        if axis != along:
            n, least = shape[axis], 16 * borders[axis] + 2
            blocks = max(1, min(count, n // least))
            edges = [i * n // blocks for i in range(blocks + 1)]
            cuts[axis] = [slice(*ends) for ends in pairwise(edges)]
            count = -(-count // blocks)
    return [*product(*cuts)]


def _around(own: slice, border: int, size: int) -> slice:
    """
    Return a part with the elements around it.

    It is as long as the filter, because SciPy writes behind shorter arrays.
    """
    start = max(0, min(own.start, size - border - 1) - border)
    return slice(start, min(size, max(own.stop, border + 1) + border))


def _divide_tiles(
    entry: Entry,
    shape: tuple[int, ...],
    borders: tuple[int, ...],
    steps: int,
    compute: Callable[[Any, Any, Any], Callable[[], None]],
) -> bool:
    """
    Divide a filter that computes each element from those around it, if it can be.

    A tile gets the elements around it too, and what it computes for these is dropped.

    Parameters
    ----------
    entry : Entry
        The filter.
    shape : tuple of int
        The shape of the input.
    borders : tuple of int
        How many elements along each axis a result depends on, on either side.
    steps : int
        The steps of work for an element.
    compute : callable
        Takes slices: of a tile, of what it is computed from, and of the tile in that.
        It returns a function that stores the tile.
    """
    along = longest(shape)
    n, work = max(shape, default=0), math.prod(shape) * steps
    least = 8 * borders[along] + 1  # so that little work is done twice
    if entry.cut_into(n // least, work) < 2:
        return False
    steps_of_part = entry.most(n, work, least) * work // n
    count = -(-steps_of_part // (_MOST * entry.grain))
    sections = _sections(shape, along, borders, count)
    is_long = steps_of_part > len(sections) * LONG_PART * entry.grain

    def compute_part(part: slice) -> Callable[[], None]:
        stores = []
        for i in range(part.start // n, -(-part.stop // n)):
            rows = slice(max(0, part.start - i * n), min(n, part.stop - i * n))
            tile = (*sections[i][:along], rows, *sections[i][along + 1 :])
            given = tuple(map(_around, tile, borders, shape))
            place = tuple(
                slice(own.start - around.start, own.stop - around.start)
                for own, around in zip(tile, given, strict=True)
            )
            stores.append(compute(tile, given, place))
            if not is_long:
                stores.pop()()

        def store() -> None:
            for each in stores:
                each()

        return store

    n_rows = n * len(sections)
    return entry.run(compute_part, n_rows, work, least=least, is_long=is_long)


def _divide_around(
    entry: Entry,
    args: tuple[Any, ...],
    inputs: tuple[int, ...],
    places: Places,
    note: Callable[[Any, Any], None] | None = None,
) -> bool:
    """
    Divide a filter that writes an output, if it can be.

    Parameters
    ----------
    entry : Entry
        The filter.
    args : tuple
        Its arguments.
    inputs : tuple of int
        The places of the arguments that are cut as the input is.
    places : Places
        The places of other arguments.
    note : callable, optional
        Takes the input and the output of each tile.
    """
    a, footprint, out = args[0], args[places.footprint], args[places.output]
    if (
        entry.cut_into(max(a.shape, default=0), a.size * footprint.size) < 2
        or not all(is_plain(args[i]) and args[i].shape == out.shape for i in inputs)
        or footprint.ndim != a.ndim
        or not can_write(out, tuple(x for x in args if x is not out))
    ):
        return False
    origins = (int(each) for each in args[places.origins])
    borders = tuple(
        size // 2 + abs(origin)
        for size, origin in zip(footprint.shape, origins, strict=True)
    )

    def compute(tile: Any, given: Any, place: Any) -> Callable[[], None]:
        parts = {i: args[i][given] for i in inputs}
        made = numpy.empty(parts[0].shape, out.dtype)
        entry.function(*replaced(args, {**parts, places.output: made}))

        def store() -> None:
            out[tile] = made[place]
            if note:
                note(a[tile], out[tile])

        return store

    return _divide_tiles(entry, a.shape, borders, footprint.size, compute)


def neighbourhoods(places: Places, mode: int) -> Callable[..., Any]:
    """
    Divide a filter that computes each element from those around it.

    Parameters
    ----------
    places : Places
        The places of arguments.
    mode : int
        The place of SciPy's number of a mode.
    """

    def divide(entry: Entry, *args: Any) -> Any:
        is_divided = args[mode] not in _WRAP and _divide_around(
            entry, args, (0,), places
        )
        return None if is_divided else NotImplemented

    return divide


def erosion(entry: Entry, *args: Any) -> Any:
    """Divide an erosion, which returns whether it has changed an element."""
    mask, asks_for_places = args[2], args[8]
    changed: list[bool] = []

    def note(before: Any, after: Any) -> None:
        if not changed and ((before != 0) != (after != 0)).any():
            changed.append(True)

    places = Places(footprint=1, output=3, origins=5)
    inputs = (0,) if mask is None else (0, 2)
    if asks_for_places or not _divide_around(entry, args, inputs, places, note):
        return NotImplemented
    return int(bool(changed))


def windows(entry: Entry, a: Any, size: Any) -> Any:
    """Divide a median filter of two dimensions, which allocates its result."""
    if not is_plain(a) or a.ndim != 2:
        return NotImplemented
    out = numpy.empty(a.shape, a.dtype.newbyteorder("="))
    height, width = int(size[0]), int(size[1])

    def compute(tile: Any, given: Any, place: Any) -> Callable[[], None]:
        made = entry.function(a[given], size)[place]
        return lambda: out.__setitem__(tile, made)

    borders = (height // 2, width // 2)
    is_divided = _divide_tiles(entry, a.shape, borders, height * width, compute)
    return out if is_divided else NotImplemented


# -- Interpolation ---------------------------------------------------------------------


def _affine_places(
    matrix: Any, offset: Any, shape: tuple[int, ...], part: Any, is_last: bool
) -> Any:
    """
    Return the coordinates that SciPy computes from a matrix, in its order of steps.

    Parameters
    ----------
    matrix, offset : ndarray
        The affine transform.
    shape : tuple of int
        The shape of the output.
    part : tuple of slice
        The part of the output.
    is_last : bool
        Whether the offset is added last, not first.
    """
    wholes = (numpy.arange(n, dtype=float) for n in shape)
    indices = [each[own] for each, own in zip(wholes, part, strict=True)]
    places = numpy.empty((len(matrix), *map(len, indices)))
    first, *others = numpy.ix_(*indices)
    for i, (row, shift) in enumerate(zip(matrix, offset, strict=True)):
        places[i] = (0.0 if is_last else shift) + first * row[0]
        for factor, index in zip(row[1:], others, strict=True):
            places[i] += index * factor
        if is_last:
            places[i] += shift
    return places


@cache
def _adds_offset_last(transform: Callable[..., Any]) -> bool | None:
    """
    Return whether SciPy adds the offset last, not first, or None if it does neither.

    The order depends on the version, and compilers for some processors fuse a product
    and a sum. Then some of these results on a ramp differ in the last bit.
    """
    shape, part = (64, 64), (slice(None), slice(None))
    matrix, offset = numpy.array([[1 / 300, 1 / 371]]), numpy.array([0.5])
    ramp, results = numpy.array([0.0, 1.0]), numpy.empty((2, *shape))
    last = (1, 0, 0.0, 0, None, None)  # order, mode and others
    transform(ramp, None, None, matrix, offset, results[0], *last)
    for is_last in (False, True):
        at = _affine_places(matrix, offset, shape, part, is_last)
        transform(ramp, None, at, None, None, results[1], *last)
        if (results[0] == results[1]).all():
            return is_last
    return None


def _work(a: Any, out: Any, order: int) -> int:
    """Return the work of a spline of an order, for each element of an output."""
    return int(out.size * ((order + 1) ** a.ndim // _TAPS or 1))


def transform(entry: Entry, *args: Any) -> Any:
    """Divide an interpolation at coordinates, given or computed from a matrix."""
    a, mapping, at, matrix, offset, out = args[:6]
    if mapping is not None or not is_plain(a) or not can_write(out, (a, at)):
        return NotImplemented
    along = longest(out.shape)
    if matrix is None and is_plain(at) and at.shape[1:] == out.shape:

        def places(part: slice) -> Any:
            return cut(at, along + 1, part)
    elif (
        at is None
        and is_plain(matrix)
        and is_plain(offset)
        and matrix.dtype == offset.dtype == float
        and matrix.shape == (*offset.shape, out.ndim)
        and offset.shape == (a.ndim,)
        and (is_last := _adds_offset_last(entry.function)) is not None
    ):

        def places(part: slice) -> Any:
            own = tuple(part if i == along else slice(None) for i in range(out.ndim))
            return _affine_places(matrix, offset, out.shape, own, is_last)
    else:
        return NotImplemented

    def compute(part: slice) -> None:
        parts = {2: places(part), 3: None, 4: None, 5: cut(out, along, part)}
        entry.function(*replaced(args, parts))

    is_divided = entry.run(compute, out.shape[along], _work(a, out, args[6]))
    return None if is_divided else NotImplemented


def zoom(entry: Entry, *args: Any) -> Any:
    """
    Divide an interpolation at coordinates that are multiples of the index.

    SciPy adds the shift to the index before it multiplies. The begin of a piece is
    added to the shift, which is exact if the shift has few digits.
    """
    a, factors, shift, out = args[:4]
    shift = numpy.zeros(a.ndim) if shift is None else shift
    along = longest(out.shape)
    if not is_plain(a) or not is_plain(shift) or shift.shape != (out.ndim,):
        return NotImplemented
    is_exact = abs(shift[along]) < 2**31 and float(shift[along] * 2**20).is_integer()
    if out.ndim != a.ndim or not is_exact or not can_write(out, (a, factors)):
        return NotImplemented

    def compute(part: slice) -> None:
        moved = shift.astype(float)
        moved[along] += part.start
        entry.function(*replaced(args, {2: moved, 3: cut(out, along, part)}))

    is_divided = entry.run(compute, out.shape[along], _work(a, out, args[4]))
    return None if is_divided else NotImplemented
