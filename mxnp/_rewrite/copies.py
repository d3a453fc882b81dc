"""Copy the values that a loop uses, and measure how much two values differ."""

from __future__ import annotations

import copy
import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from mxnp._doctor.syntax import PURE

_PLAIN = (int, float, complex, bool, str, bytes, types.NoneType, range, slice)
_PLAIN_MODULES = {"builtins", "numpy", "mxnp", "math", "cmath"}
_CALLED = PURE - {"print"} | {"sum", "any", "all", "sorted", "reversed", "map"}
_CONTAINERS = (list, tuple, dict)


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
    left : int
        How many bytes the copies may need.
    """

    def __init__(self, left: int) -> None:
        self.left = left
        self._copies: dict[int, Any] = {}

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
        if type(value) in _PLAIN or isinstance(value, numpy.dtype) or _is_fixed(value):
            return value
        if id(value) not in self._copies:
            self._copies[id(value)] = self._copy(value, parts)
        return self._copies[id(value)]

    def _copy(self, value: Any, parts: Iterable[str]) -> Any:
        kind = type(value)
        if kind in _CONTAINERS:
            self._take(8 * len(value))
            items = value.items() if kind is dict else value
            copies = [self.copied(item) for item in items]
            first = next((each for each in copies if isinstance(each, Unknown)), None)
            return first or kind(copies)
        if is_array(value) and not value.dtype.hasobject:
            self._take(value.nbytes)
            return value.copy("K")
        if isinstance(value, (numpy.random.Generator, numpy.random.RandomState)):
            return copy.deepcopy(value)
        unknown = Unknown(kind.__name__, callable(value))
        places = [members(value), *map(vars, kind.__mro__)]
        found = {
            name: next((each[name] for each in places if name in each), self)
            for name in parts
        }
        values = {name: self.copied(part) for name, part in found.items()}
        if not values or any(isinstance(part, Unknown) for part in values.values()):
            return unknown
        return types.SimpleNamespace(**values)

    def _take(self, n: int) -> None:
        self.left -= n
        if self.left < 0:
            raise TooLargeError


def members(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, if it is not a module and they are known."""
    try:
        found = value.__dict__
    except Exception:  # a proxy of an object that does not exist
        return {}
    is_known = isinstance(found, dict) and not isinstance(value, types.ModuleType)
    return found if is_known else {}


def is_array(value: Any) -> bool:
    """Check whether a value is an array, and not an instance of a subclass."""
    kind = type(value)
    return kind.__name__ == "ndarray" and kind.__module__ in ("numpy", "mxnp")


def _is_fixed(value: Any) -> bool:
    """Check whether a value is a number, or a function or module without effects."""
    if isinstance(value, numpy.generic):
        return not isinstance(value, (numpy.void, numpy.object_))
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] in _PLAIN_MODULES
    module = str(getattr(value, "__module__", "")).partition(".")[0]
    if module == "builtins" and not isinstance(value, type):
        return getattr(value, "__name__", "") in _CALLED
    return callable(value) and module in _PLAIN_MODULES


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
