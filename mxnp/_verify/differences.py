"""Where results differ from NumPy's by more than an operation may."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from mxnp._array.ndarray import ndarray
from mxnp._bridge import peek

from . import tolerances

__all__ = ["Rule", "differences"]


@dataclass
class Rule:
    """
    What an operation may differ by.

    Attributes
    ----------
    ulp : int
        Of floats: how many numbers may lie between.
    on_device : bool
        Whether a Metal device may have computed it.
    name : str
        The operation, for the tables of `tolerances`.
    again : callable or None
        Given a mask of elements that differ, gives NumPy's other results for these,
        from other loops.
    exact : callable or None
        Of what is added up in some order: gives the result in more precision, and by
        how much each element may differ from that.
    is_defined : numpy.ndarray or None
        Where the result has values at all: all of it, or nothing (False), or a mask.
    takes_arrays : bool
        Whether an array may stand for a scalar, as in fast mode.
    """

    name: str = ""
    ulp: int = 0
    on_device: bool = False
    again: Callable[[Any], Iterator[Any]] | None = None
    exact: Callable[[], tuple[Any, Any]] | None = None
    is_defined: Any = None
    takes_arrays: bool = False


EXACT = Rule()


def differences(ours: Any, theirs: Any, rule: Rule, what: str) -> str | None:
    """Tell in words how a result differs from NumPy's, or None."""
    if isinstance(theirs, numpy.ndarray):
        return _of_arrays(ours, theirs, rule, what)
    if isinstance(theirs, numpy.generic) and type(ours) is ndarray and ours.ndim == 0:
        is_array_meant = rule.takes_arrays or ours._is_standard
        ours = peek(ours)[()] if is_array_meant else ours
    if type(ours) is not type(theirs):
        return _of_classes(ours, theirs, what)
    if isinstance(theirs, numpy.generic | float | complex):
        return _of_arrays(numpy.asarray(ours), numpy.asarray(theirs), rule, what)
    if isinstance(theirs, tuple | list | dict):
        return _of_items(ours, theirs, rule, what)
    if type(theirs) in (bool, int, str, bytes) and ours != theirs:
        return f"{what} is {_short(ours)}, and NumPy's is {_short(theirs)}"
    return None


def _of_items(ours: Any, theirs: Any, rule: Rule, what: str) -> str | None:
    if len(ours) != len(theirs):
        return f"{what} has {len(ours)} items, and NumPy's has {len(theirs)}"
    keys: list[Any] = list(theirs if isinstance(theirs, dict) else range(len(theirs)))
    if isinstance(theirs, dict) and list(ours) != keys:
        return f"{what} has the keys {list(ours)}, and NumPy's {keys}"
    for key in keys:
        found = differences(ours[key], theirs[key], rule, f"{what}[{key!r}]")
        if found:
            return found
    return None


def _of_classes(ours: Any, theirs: Any, what: str) -> str:
    return f"{what} is a {_kind(ours)}, and NumPy's is a {_kind(theirs)}"


def _kind(x: Any) -> str:
    cls = ndarray if type(x) is numpy.ndarray else type(x)
    return f"{cls.__module__}.{cls.__qualname__}"


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) < 60 else f"{text[:57]}..."


# -- Arrays ----------------------------------------------------------------------------


def _of_arrays(ours: Any, theirs: Any, rule: Rule, what: str) -> str | None:
    if type(ours) is ndarray:
        ours = peek(ours)
    elif not isinstance(ours, numpy.ndarray):
        return _of_classes(ours, theirs, what)
    for name in ("dtype", "shape"):
        mine, numpys = getattr(ours, name), getattr(theirs, name)
        if mine != numpys:
            return f"{what} has {name} {mine}, and NumPy's has {numpys}"
    if _steps(ours) != _steps(theirs):
        mine, numpys = ours.strides, theirs.strides
        return f"{what} has strides {mine}, and NumPy's has {numpys}"
    if theirs.size == 0 or rule.is_defined is False:
        return None
    with numpy.errstate(all="ignore"):
        same = numpy.asarray(_same(ours, theirs, rule))
        if rule.is_defined is not None and rule.is_defined.shape == same.shape:
            same = same | ~rule.is_defined
        return None if same.all() else _told(ours, theirs, same, rule, what)


def _steps(array: Any) -> list[int]:
    """Give the strides of axes along which there is a step to make."""
    if array.size == 0:
        return []
    pairs = zip(array.shape, array.strides, strict=True)
    return [stride for length, stride in pairs if length != 1]


def _same(ours: Any, theirs: Any, rule: Rule) -> Any:
    """Tell of each element whether it is NumPy's, or as near as the rule allows."""
    same = _equal(ours, theirs)
    if rule.on_device and theirs.dtype.name == "bfloat16":
        return same | tolerances.near(ours, theirs)
    if same.all() or theirs.dtype.kind not in "fc":
        return same
    if rule.again is not None:
        wrong = ~same
        for other in rule.again(wrong):
            if getattr(other, "dtype", None) == theirs.dtype:
                full = theirs.copy()
                full[wrong] = other
                same = same | _equal(ours, full)
            if same.all():
                return same
    if rule.ulp:
        same = same | (distance(ours, theirs) <= rule.ulp)
    if rule.exact is not None:
        same = same | _is_near_exact(ours, theirs, *rule.exact())
    if rule.on_device:
        same = same | _is_near_on_device(ours, theirs, rule.name)
    return same


def _equal(ours: Any, theirs: Any) -> Any:
    """Tell where elements are equal: NaN is NaN, and -0.0 is not 0.0."""
    dtype = theirs.dtype
    if dtype.names is not None:
        found = numpy.ones(theirs.shape, bool)
        for name in dtype.names:
            each = _equal(ours[name], theirs[name])
            found &= each.reshape(*theirs.shape, -1).all(axis=-1)
        return found
    if dtype.kind == "c":
        return _equal(ours.real, theirs.real) & _equal(ours.imag, theirs.imag)
    if dtype.kind == "f":
        signs = numpy.signbit(ours) == numpy.signbit(theirs)
        return ((ours == theirs) & signs) | (numpy.isnan(ours) & numpy.isnan(theirs))
    if dtype.kind in "mM":
        return (ours == theirs) | (numpy.isnat(ours) & numpy.isnat(theirs))
    if dtype.kind == "V" or dtype.hasobject:
        pairs = zip(ours.ravel().tolist(), theirs.ravel().tolist(), strict=True)
        flat = [_are_equal_objects(mine, numpys) for mine, numpys in pairs]
        return numpy.array(flat, bool).reshape(theirs.shape)
    return numpy.asarray(ours == theirs)


def _are_equal_objects(mine: Any, numpys: Any) -> bool:
    if mine is numpys:
        return True
    if isinstance(mine, ndarray | numpy.ndarray):
        return differences(mine, numpys, EXACT, "") is None
    return type(mine) is type(numpys) and (
        bool(mine == numpys) or repr(mine) == repr(numpys)
    )


def distance(ours: Any, theirs: Any) -> Any:
    """Give how many ulp lie between floats: of the longer part, of complex numbers."""
    if theirs.dtype.kind == "c":
        unit = numpy.spacing(numpy.maximum(abs(theirs.real), abs(theirs.imag)))
    else:
        unit = numpy.spacing(abs(theirs))
    return abs(ours - theirs) / unit


def _is_near_exact(ours: Any, theirs: Any, exact: Any, bound: Any) -> Any:
    off = abs(ours - exact)
    unit = numpy.spacing(abs(theirs.real)) + numpy.spacing(abs(theirs.imag))
    return (off <= abs(theirs - exact)) | (off <= bound + unit)


def _is_near_on_device(ours: Any, theirs: Any, name: str) -> Any:
    dtype = theirs.dtype
    if dtype.char not in tolerances.INEXACT:
        return numpy.zeros(theirs.shape, bool)
    if name not in tolerances.METAL and name not in tolerances.CANCELLING:
        return tolerances.near(ours, theirs)
    limits = numpy.finfo(dtype)
    if dtype.kind == "c":
        bound = tolerances.COMPLEX * limits.eps * abs(theirs)
    elif dtype.char == "e":
        bound = numpy.spacing(abs(theirs)).astype("f8") * 1.01
    else:
        steps = tolerances.METAL.get(name) or tolerances.CANCELLING.get(name, 0)
        bound = steps * numpy.spacing(abs(theirs)).astype("f8")
    if name in tolerances.CANCELLING:
        bound = numpy.maximum(bound, tolerances.CANCELLED * limits.eps)
    wide = theirs.astype("c16" if dtype.kind == "c" else "f8")
    return (abs(ours - wide) <= numpy.maximum(bound, limits.tiny)) | (ours == theirs)


def _told(ours: Any, theirs: Any, same: Any, rule: Rule, what: str) -> str:
    wrong = ~same
    at = numpy.unravel_index(int(wrong.argmax()), wrong.shape)
    index = tuple(int(i) for i in at)
    mine, numpys = ours[index], theirs[index]
    place = f"{what}[{', '.join(map(str, index))}]" if index else what
    text = f"{place} is {_short(mine)}, and NumPy's is {_short(numpys)}"
    kind = theirs.dtype.kind
    if kind in "fc" and numpy.isfinite(mine) and numpy.isfinite(numpys):
        apart = distance(numpy.asarray(mine), numpy.asarray(numpys))
        text += f": {float(apart):.3g} ulp apart, {_allowed(rule, theirs.dtype)}"
    count = f"{int(wrong.sum())} of {wrong.size} elements differ"
    return f"{text}\n{count} (dtype {theirs.dtype}, shape {theirs.shape})"


def _allowed(rule: Rule, dtype: Any) -> str:
    if rule.on_device and dtype.char in tolerances.INEXACT:
        known = tolerances.METAL.get(rule.name) or tolerances.CANCELLING.get(rule.name)
        steps = tolerances.OTHERS if known is None else known
        return f"where a device may be {steps} off"
    if rule.exact is not None:
        return "where sums may differ by the order of additions alone"
    return f"{rule.ulp} allowed" if rule.ulp else "none allowed"
