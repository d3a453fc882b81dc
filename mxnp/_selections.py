"""Elements and places that a condition selects, found by the core.

How many there are is known only once the condition is computed, so nothing of it is
recorded. As in `_copies`, each function gives NotImplemented for all that it does not
know for certain.
"""

from __future__ import annotations

from typing import Any

import numpy

from . import _bridge
from ._array import ndarray
from ._copies import _queue, _where

# As in `_copies`; NumPy takes about 2 ns for an element.
_WORTH = 1


def _truth(a: Any) -> Any:
    """Give where the elements are not zero."""
    return a if a.dtype == bool else a != 0


def _flat_places(a: Any) -> Any:
    if type(a) is not ndarray or a.dtype.kind not in "biufc":
        return NotImplemented
    return _bridge.places(_truth(a))


def _nonzero(a: Any) -> Any:
    if type(a) is not ndarray or a.ndim != 1:
        return NotImplemented
    places = _flat_places(a)
    return NotImplemented if places is NotImplemented else (places,)


def _extract(condition: Any, arr: Any) -> Any:
    if type(condition) is not ndarray or type(arr) is not ndarray:
        return NotImplemented
    if condition.size != arr.size or condition.dtype.kind not in "biufc":
        return NotImplemented
    return arr.ravel()[_truth(condition.ravel())]


def _compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    if axis is not None or out is not None or type(condition) is not ndarray:
        return NotImplemented
    return _extract(condition, a) if condition.ndim == 1 else NotImplemented


def _compress_method(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return _compress(condition, a, axis, out)


def _where_or_nonzero(condition: Any, *choices: Any) -> Any:
    return _where(condition, *choices) if choices else _nonzero(condition)


_queue(_where_or_nonzero, numpy.where, worth=_WORTH)
_queue(_nonzero, numpy.nonzero, method="nonzero", worth=_WORTH)
_queue(_flat_places, numpy.flatnonzero, worth=_WORTH)
_queue(_extract, numpy.extract, worth=_WORTH)
_queue(_compress, numpy.compress, worth=_WORTH)
_queue(_compress_method, method="compress", worth=_WORTH)
