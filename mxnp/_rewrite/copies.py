"""Copy the values that a loop uses, and measure how much two values differ."""

from __future__ import annotations

import copy
import math
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from mxnp._bridge import raise_handlers
from mxnp._doctor.syntax import PURE

_PLAIN = (int, float, complex, bool, str, bytes, types.NoneType, range, slice)
_PLAIN_MODULES = {"builtins", "numpy", "mxnp", "math", "cmath"}
_CALLED = PURE - {"print"} | {"sum", "any", "all", "sorted", "reversed", "map"}
_CONTAINERS = (list, tuple, dict)
_EACH = 4096  # bytes that an object costs besides its own, as copying it takes time
_MOST_OBJECTS = 1 << 16  # of a copy


class TooLargeError(Exception):
    """Values that need more memory than is left for copies."""


@dataclass(frozen=True)
class Unknown:
    """A value that is not copied, such as a file or a function of the program."""

    kind: str
    is_called: bool = False

    def __str__(self) -> str:
        if self.is_called:
            return "called, and may have effects"
        return f"of type {self.kind}, which cannot be copied"


class Copier:
    """
    Copy values that may change: arrays, lists, random generators and the like.

    Arrays and lists that are one object under two names are so in the copies.

    Parameters
    ----------
    most : int
        How many bytes the copies may need.

    Attributes
    ----------
    taken : int
        How many bytes the copies need.
    """

    def __init__(self, most: int) -> None:
        self.taken = 0
        self._most = most
        self._copies: dict[int, tuple[Any, Any]] = {}  # with the values: ids are unique

    def copied(self, value: Any, parts: Iterable[str] = ()) -> Any:
        """
        Return a copy of a value, or Unknown.

        Parameters
        ----------
        value : object
            The value.
        parts : iterable of str, optional
            The attributes to copy if the value is an object of a class of the program.

        Raises
        ------
        TooLargeError
            If the copies need more memory than is left.
        """
        if _is_plain(type(value)) or _is_fixed(value):
            return value
        if id(value) not in self._copies:
            self._copies[id(value)] = value, self._copy(value, parts)
        return self._copies[id(value)][1]

    def _copy(self, value: Any, parts: Iterable[str]) -> Any:
        kind = type(value)
        if kind in _CONTAINERS:
            self._take(sys.getsizeof(value))
            return self._copy_items(value)
        if is_array(value) and not value.dtype.hasobject:
            self._take(value.nbytes)
            return value.copy("K")
        self._take(0)
        if issubclass(kind, (numpy.random.Generator, numpy.random.RandomState)):
            return copy.deepcopy(value)
        unknown = Unknown(kind.__name__, callable(value))
        places = [members(value), *map(vars, kind.__mro__)]
        found = {
            name: next((each[name] for each in places if name in each), self)
            for name in parts
        }
        values = {name: self.copied(part) for name, part in found.items()}
        if not values or any(type(part) is Unknown for part in values.values()):
            return unknown
        return types.SimpleNamespace(**values)

    def _copy_items(self, value: Any) -> Any:
        """Return a copy of a list, tuple or dict, or the first Unknown of its items."""
        kind = type(value)
        items = [*value, *value.values()] if kind is dict else value
        if all(map(_is_plain, set(map(type, items)))):
            return kind(value)
        copies = []
        for item in items:
            copies.append(self.copied(item))
            if type(copies[-1]) is Unknown:
                return copies[-1]
        n = len(copies) // 2
        pairs = zip(copies[:n], copies[n:], strict=True) if kind is dict else copies
        return kind(pairs)

    def _take(self, n: int) -> None:
        self.taken += n + _EACH
        if self.taken > self._most or len(self._copies) > _MOST_OBJECTS:
            raise TooLargeError


def members(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, if it is not a module and they are known."""
    if issubclass(type(value), types.ModuleType):
        return {}
    try:
        found = value.__dict__
    except Exception as error:  # a proxy of an object that does not exist
        raise_handlers(error)
        return {}
    return found if type(found) is dict else {}


def is_array(value: Any) -> bool:
    """Check whether a value is an array, and not an instance of a subclass."""
    kind = type(value)
    return kind.__name__ == "ndarray" and kind.__module__ in ("numpy", "mxnp")


def _is_plain(kind: type) -> bool:
    """Check whether the values of a type are numbers, texts and the like."""
    if issubclass(kind, numpy.generic):
        return not issubclass(kind, (numpy.void, numpy.object_))
    return kind in _PLAIN or issubclass(kind, numpy.dtype)


def _is_fixed(value: Any) -> bool:
    """Check whether a value is a function or module without effects."""
    kind = type(value)
    if issubclass(kind, types.ModuleType):
        return value.__name__.partition(".")[0] in _PLAIN_MODULES
    if not callable(value) or _package(kind) not in _PLAIN_MODULES:
        return False
    package = _package(value)
    if package == "builtins" and not issubclass(kind, type):
        return getattr(value, "__name__", "") in _CALLED
    return package in _PLAIN_MODULES


def _package(value: Any) -> str:
    return str(getattr(value, "__module__", "")).partition(".")[0]


def random_state() -> Any:
    """Return the state of NumPy's functions that draw random numbers."""
    return numpy.random.get_state()  # noqa: NPY002


def set_random_state(state: Any) -> None:
    """Set the state of NumPy's functions that draw random numbers."""
    numpy.random.set_state(state)  # noqa: NPY002


# -- Differences -----------------------------------------------------------------------


def difference(one: Any, other: Any) -> float:
    """
    Return the largest relative difference of two values: 0 if they are the same.

    Numbers that differ by more than rounding, other values and other types are
    infinitely different.

    Parameters
    ----------
    one, other : object
        Copies of a `Copier`.
    """
    if type(one) is not type(other):
        return math.inf
    if is_array(one) or isinstance(one, (numpy.generic, float, complex)):
        return _of_arrays(numpy.asarray(one), numpy.asarray(other))
    if isinstance(one, (list, tuple)):
        same = len(one) == len(other)
        return _largest(zip(one, other, strict=True)) if same else math.inf
    if isinstance(one, types.SimpleNamespace):
        return difference(vars(one), vars(other))
    if isinstance(one, Mapping):
        same = list(one) == list(other)
        return _largest((one[key], other[key]) for key in one) if same else math.inf
    if isinstance(one, numpy.random.Generator):
        states = [each.bit_generator.state for each in (one, other)]
        return difference(*states)
    if isinstance(one, numpy.random.RandomState):
        return difference(one.get_state(legacy=False), other.get_state(legacy=False))
    return 0.0 if one is other or one == other else math.inf


def _largest(pairs: Iterable[tuple[Any, Any]]) -> float:
    return max((difference(*pair) for pair in pairs), default=0.0)


def _of_arrays(one: numpy.ndarray, other: numpy.ndarray) -> float:
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return math.inf
    if one.tobytes() == other.tobytes():
        return 0.0
    if one.dtype.kind not in "fc":
        return math.inf
    if one.dtype.kind == "c":
        return max(_of_arrays(one.real, other.real), _of_arrays(one.imag, other.imag))
    with numpy.errstate(all="ignore"):
        apart = numpy.abs(one - other) / numpy.maximum(abs(one), abs(other))
    is_same = (one == other) & (numpy.signbit(one) == numpy.signbit(other))
    is_same |= numpy.isnan(one) & numpy.isnan(other)
    largest = float(numpy.where(is_same, 0, apart).max())  # NaN for two zeros
    # Long sums of a loop are exact to half of the digits or more.
    return largest if largest <= numpy.finfo(one.dtype).eps ** 0.5 else math.inf
