"""A compiled function of a package, and the threads that compute its large calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from mxnp import _bridge
from mxnp._engine.core import get_num_threads
from mxnp._engine.threads import cut, run_beside, run_pieces, strict_errstate

_MOST = 2  # grains, which take some milliseconds, until an interrupt is noticed
LONG_PART = 16  # grains of a part that an interrupt does not wait for
_LONG = 32  # grains of a call that is left after an interrupt, which take 5 to 25 ms


class FinalError(Exception):
    """An error that the program gets: the function is not called for whole arrays."""


class Entry(NamedTuple):
    """
    A compiled function whose large calls are divided.

    Attributes
    ----------
    function : callable
        The function. Calls for a piece are left to it.
    grain : int
        The least number of elements, or steps of work, for a thread.
    name : str
        The name for reports.
    """

    function: Callable[..., Any]
    grain: int
    name: str

    def cut_into(self, length: int, elements: int) -> int:
        """Return into how many pieces a range is cut, by the work of the whole call."""
        return min(get_num_threads(), length, elements // self.grain)

    def most(self, length: int, elements: int, least: int) -> int:
        """Return how much of a range is computed before an interrupt is noticed."""
        return max(1, 32 * (least // 8), _MOST * self.grain * length // elements)

    def run(
        self,
        work: Callable[[slice], Any],
        length: int,
        elements: int,
        *,
        least: int = 1,
        is_repeatable: bool = True,
        is_long: bool = False,
    ) -> bool:
        """
        Call a function for each piece of a range, if there are two pieces or more.

        Parameters
        ----------
        work : callable
            Takes the part of the range that a piece has. It may return a function that
            stores what it has computed.
        length : int
            The length of the range.
        elements : int
            The work of the whole call.
        least : int, optional
            The least part of the range that a call of `work` gets.
        is_repeatable : bool, optional
            Whether the call has the same result after a part of it has run.
        is_long : bool, optional
            Whether parts take so long that an interrupt leaves those that have begun.
            Then `work` only writes what it stores.

        Returns
        -------
        bool
            Whether the call was divided.

        Raises
        ------
        FinalError
            If a piece of a call failed that cannot be repeated.
        """
        pieces = self.cut_into(length // least, elements)
        if pieces < 2:
            return False

        def compute(part: slice) -> Any:
            with strict_errstate():
                store = work(part)
            return store if is_long or store is None else store()

        run = run_beside if is_long else run_pieces
        try:
            run(compute, length, pieces, self.most(length, elements, least))
        except Exception as error:
            if is_repeatable:
                raise
            raise FinalError(error.with_traceback(None)) from None
        return True

    def run_writing(
        self,
        write: Callable[..., Any],
        outs: Sequence[Any],
        axis: int,
        elements: int,
        *,
        is_repeatable: bool = True,
    ) -> bool:
        """
        Call a function that writes arrays, for each piece of these along an axis.

        If the least piece is long, the function gets copies, which are stored later.

        Parameters
        ----------
        write : callable
            Takes a part of the axis, and the arrays for it.
        outs : sequence of ndarray
            The arrays.
        axis : int
            The axis along which they are cut.
        elements, is_repeatable
            As for `run`.

        Returns
        -------
        bool
            Whether the call was divided.
        """
        length = outs[0].shape[axis]
        is_long = elements > length * LONG_PART * self.grain

        def compute(part: slice) -> Callable[[], None] | None:
            places = [cut(out, axis, part) for out in outs]
            given = [place.copy() for place in places] if is_long else places
            write(part, *given)

            def store() -> None:
                for place, values in zip(places, given, strict=True):
                    place[...] = values

            return store if is_long else None

        return self.run(
            compute, length, elements, is_repeatable=is_repeatable, is_long=is_long
        )

    def run_whole(self, pieces: int, elements: int, *args: Any, **kwargs: Any) -> Any:
        """
        Call the function, which has its own threads, beside the caller if it is long.

        Parameters
        ----------
        pieces : int
            The number of its threads.
        elements : int
            The work of the call.
        *args, **kwargs
            Its arguments, of which it writes none.

        Returns
        -------
        object
            Its result.
        """
        made: list[Any] = []

        def compute(_: slice) -> Callable[[], None]:
            result = self.function(*args, **kwargs)
            return lambda: made.append(result)

        if elements < pieces * _LONG * self.grain:
            compute(slice(0, 1))()
        else:
            run_beside(compute, 1, 1)
        _bridge.profile_note_threads(pieces)
        return made[0]


# -- Memory ----------------------------------------------------------------------------


def is_plain(x: Any) -> bool:
    """Check whether x is a NumPy array, not of a subclass, without objects."""
    return type(x) is numpy.ndarray and not x.dtype.hasobject


def _has_own_elements(out: Any) -> bool:
    """Check whether each element of an array has memory of its own."""
    if out.flags.c_contiguous:
        return True
    reach = out.itemsize
    for stride, n in sorted(zip(map(abs, out.strides), out.shape, strict=True)):
        if n > 1 and stride < reach:
            return False
        reach = max(reach, stride * n)
    return True


def is_same_memory(a: Any, b: Any) -> bool:
    """Check whether two arrays have the same elements in the same places."""
    if a is b or not numpy.may_share_memory(a, b):
        return a is b
    places = (x.__array_interface__["data"] for x in (a, b))
    kinds = ((x.shape, x.strides, x.dtype) for x in (a, b))
    return len({*places}) == len({*kinds}) == 1


def can_write(out: Any, inputs: tuple[Any, ...]) -> bool:
    """Check whether threads may write parts of an array, and others read the inputs."""
    return (
        is_plain(out)
        and out.flags.writeable
        and _has_own_elements(out)
        and not any(
            numpy.may_share_memory(out, x)
            for x in inputs
            if isinstance(x, numpy.ndarray)
        )
    )


def replaced(args: tuple[Any, ...], others: dict[int, Any]) -> list[Any]:
    """Return arguments, some of which are replaced by others."""
    return [others.get(i, x) for i, x in enumerate(args)]
