"""Copy the arguments of a call for NumPy. Copies share memory as the arrays do."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import types
from collections.abc import Callable
from typing import Any

import numpy
from numpy.lib.array_utils import byte_bounds

from mxnp._array.ndarray import ndarray, unwrap
from mxnp._bridge import Function, peek

__all__ = ["NotComparable", "Snapshot", "is_writeable"]


class NotComparable(Exception):  # noqa: N818
    """A call that cannot be made twice, or whose results cannot be compared."""


# Classes of Python whose objects can be used twice without an effect.
_PLAIN = {
    type(None), bool, int, float, complex, str, bytes, range, type(...),
    type(NotImplemented), type(numpy._NoValue), numpy.dtype, fractions.Fraction,
    decimal.Decimal, datetime.date, datetime.datetime, datetime.timedelta,
    types.BuiltinFunctionType, memoryview, bytearray,
}  # fmt: skip
_KINDS = (
    *(numpy.generic, numpy.dtype, numpy.ufunc, enum.Enum, type),
    *(types.GenericAlias, Function),
)
_IMMUTABLE = _PLAIN - {types.BuiltinFunctionType, memoryview, bytearray}
_WRITEABLE = 0x400  # NPY_ARRAY_WRITEABLE
_ALIGNED = 64  # bytes; the results of loops may depend on the alignment


class Snapshot:
    """
    Copies of the arrays among arguments, with the same memory layout.

    Parameters
    ----------
    args : tuple
        Positional arguments.
    kwargs : dict
        Keyword arguments.

    Attributes
    ----------
    args, kwargs : tuple, dict
        The arguments with copies in place of arrays.
    pairs : list of (numpy.ndarray, numpy.ndarray)
        The arrays of the call and their copies.

    Raises
    ------
    NotComparable
        If the class of an argument is neither NumPy's nor Python's. Using such an
        object twice might change what the program does.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        arrays: dict[int, Any] = {}
        _each(args, lambda x: _collect(x, arrays))
        _each(kwargs, lambda x: _collect(x, arrays))
        self.pairs: list[tuple[Any, Any]] = []
        self._copies = {
            id(original): self._copied(original, copy)
            for original, copy in _copies(list(arrays.values()))
        }
        self._np_arrays = {key: id(original) for key, original in arrays.items()}
        self.args = self._replaced(args)
        self.kwargs = self._replaced(kwargs)

    def _copied(self, original: Any, copy: Any) -> Any:
        self.pairs.append((original, copy))
        return copy

    def _replaced(self, x: Any) -> Any:
        kind = type(x)
        if kind in (tuple, list):
            return kind(map(self._replaced, x))
        if kind is dict:
            return {key: self._replaced(value) for key, value in x.items()}
        if kind is slice:
            return slice(*map(self._replaced, (x.start, x.stop, x.step)))
        if id(x) in self._np_arrays:
            return self._copies[self._np_arrays[id(x)]]
        return unwrap(x) if isinstance(x, Function) or x is ndarray else x


def _each(x: Any, visit: Callable[[Any], None]) -> None:
    """Visit the items of lists, tuples, dicts and slices at any depth."""
    kind = type(x)
    if kind in (tuple, list):
        for item in x:
            _each(item, visit)
    elif kind is dict:
        for item in x.values():
            _each(item, visit)
    elif kind is slice:
        for item in (x.start, x.stop, x.step):
            _each(item, visit)
    else:
        visit(x)


def _collect(x: Any, arrays: dict[int, Any]) -> None:
    """Collect an array; refuse an object that may not be usable twice."""
    kind = type(x)
    if kind is ndarray:
        arrays[id(x)] = _checked(peek(x))
    elif kind is numpy.ndarray:
        arrays[id(x)] = _checked(x)
    elif kind not in _PLAIN and not isinstance(x, _KINDS):
        raise NotComparable("arguments of other classes")


def _checked(array: Any) -> Any:
    if array.dtype.hasobject and array.dtype.kind == "O":
        for element in array.flat:
            if type(element) not in _IMMUTABLE and not isinstance(
                element, numpy.generic
            ):
                raise NotComparable("elements that are objects of other classes")
    elif array.dtype.names is not None and array.dtype.hasobject:
        raise NotComparable("elements that are objects of other classes")
    return array


def _copies(arrays: list[Any]) -> list[tuple[Any, Any]]:
    """Copy arrays. Arrays that overlap are copied into one block of memory."""
    distinct = list({id(array): array for array in arrays}.values())
    out = [
        (array, _with_flags(array, array.copy(order="K")))
        for array in distinct
        if array.size == 0
    ]
    distinct = [array for array in distinct if array.size]
    bounds = sorted(
        ((*byte_bounds(array), i) for i, array in enumerate(distinct)),
        key=lambda bound: bound[:2],
    )
    at = 0
    while at < len(bounds):
        low, high, _ = bounds[at]
        end = at + 1
        while end < len(bounds) and bounds[end][0] < high:
            high = max(high, bounds[end][1])
            end += 1
        group = [distinct[i] for _, _, i in bounds[at:end]]
        out += _copied_block(group, low, high)
        at = end
    return out


def _copied_block(group: list[Any], low: int, high: int) -> list[tuple[Any, Any]]:
    if any(array.dtype.hasobject for array in group):
        if len(group) > 1:
            raise NotComparable("arrays of objects that share memory")
        return [(group[0], _with_flags(group[0], group[0].copy(order="K")))]
    block = numpy.empty(high - low + 2 * _ALIGNED, "u1")
    start = (low - block.ctypes.data) % _ALIGNED
    out = []
    for array in group:
        offset = start + array.__array_interface__["data"][0] - low
        copy: Any = numpy.ndarray(
            array.shape, array.dtype, block.data, offset, array.strides
        )
        copy[...] = array  # the bytes between the elements stay undefined
        out.append((array, _with_flags(array, copy)))
    return out


def is_writeable(array: Any) -> bool:
    """Check the flag without the warning that some broadcast arrays issue for it."""
    return bool(array.flags.num & _WRITEABLE)


def _with_flags(array: Any, copy: Any) -> Any:
    copy.flags.writeable = is_writeable(array)
    return copy
