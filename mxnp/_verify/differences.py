"""Compare results with NumPy's, within the bounds of the operation."""

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
    The differences from NumPy that an operation may have.

    Attributes
    ----------
    name : str
        The operation, for the tables of `tolerances`.
    ulp : int
        The permitted difference of floats, in units in the last place.
    on_device : bool
        Whether a GPU may have computed the result.
    alternatives : callable or None
        A function of a mask of elements that differ. It yields the results of NumPy's
        other loops for these elements, which are permitted too.
    exact : callable or None
        A function that returns the result in higher precision, and how much each
        element may differ from it. It is for sums, which depend on the order.
    is_defined : numpy.ndarray, bool or None
        The elements that have values: a mask, False for none, or None for all.
    takes_arrays : bool
        Whether an array may replace a scalar, as in fast mode.
    """

    name: str = ""
    ulp: int = 0
    on_device: bool = False
    alternatives: Callable[[Any], Iterator[Any]] | None = None
    exact: Callable[[], tuple[Any, Any]] | None = None
    is_defined: Any = None
    takes_arrays: bool = False


EXACT = Rule()


def differences(ours: Any, theirs: Any, rule: Rule, what: str) -> str | None:
    """
    Compare a result with NumPy's.

    Parameters
    ----------
    ours, theirs : object
        The results of mxnp and of NumPy.
    rule : Rule
        The permitted differences.
    what : str
        The name of the result in messages.

    Returns
    -------
    str or None
        A message about the first difference, or None if there is none.
    """
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
        return None if same.all() else _describe(ours, theirs, same, rule, what)


def _steps(array: Any) -> list[int]:
    """Return the strides of axes that are longer than one element."""
    if array.size == 0:
        return []
    pairs = zip(array.shape, array.strides, strict=True)
    return [stride for length, stride in pairs if length != 1]


def _same(ours: Any, theirs: Any, rule: Rule) -> Any:
    """Return a mask of the elements that are NumPy's, or as near as the rule allows."""
    same = _equal(ours, theirs)
    if rule.on_device and theirs.dtype.name == "bfloat16":
        return same | tolerances.near(ours, theirs)
    if same.all() or theirs.dtype.kind not in "fc":
        return same
    if rule.alternatives is not None:
        wrong = ~same
        for other in rule.alternatives(wrong):
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
    """Return a mask of equal elements: NaN equals NaN, and -0.0 differs from 0.0."""
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
    """Return the distances of floats in ulp; for complex, in ulp of the larger part."""
    if theirs.dtype.kind == "c":
        unit = numpy.spacing(numpy.maximum(abs(theirs.real), abs(theirs.imag)))
    else:
        unit = numpy.spacing(abs(theirs))
    return abs(ours - theirs) / unit


def _is_near_exact(ours: Any, theirs: Any, exact: Any, bound: Any) -> Any:
    error = abs(ours - exact)
    unit = numpy.spacing(abs(theirs.real)) + numpy.spacing(abs(theirs.imag))
    return (error <= abs(theirs - exact)) | (error <= bound + unit)


def _is_near_on_device(ours: Any, theirs: Any, name: str) -> Any:
    dtype = theirs.dtype
    if dtype.char not in tolerances.INEXACT:
        return numpy.zeros(theirs.shape, bool)
    limits = numpy.finfo(dtype)
    if name in tolerances.TRANSFORMS:
        sizes = abs(theirs).astype("f8")
        sizes += numpy.sqrt(numpy.mean(sizes**2))
        return abs(ours - theirs) <= tolerances.TRANSFORM * limits.eps * sizes
    if name not in tolerances.GPU and name not in tolerances.CANCELLING:
        return tolerances.near(ours, theirs)
    if dtype.kind == "c":
        bound = tolerances.COMPLEX * limits.eps * abs(theirs)
    elif dtype.char == "e":
        bound = numpy.spacing(abs(theirs)).astype("f8") * 1.01
    else:
        steps = tolerances.GPU.get(name) or tolerances.CANCELLING.get(name, 0)
        bound = steps * numpy.spacing(abs(theirs)).astype("f8")
    if name in tolerances.CANCELLING:
        bound = numpy.maximum(bound, tolerances.CANCELLED * limits.eps)
    wide = theirs.astype("c16" if dtype.kind == "c" else "f8")
    return (abs(ours - wide) <= numpy.maximum(bound, limits.tiny)) | (ours == theirs)


def _describe(ours: Any, theirs: Any, same: Any, rule: Rule, what: str) -> str:
    """Return a message about the first element that differs."""
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
        known = tolerances.GPU.get(rule.name) or tolerances.CANCELLING.get(rule.name)
        steps = tolerances.OTHERS if known is None else known
        return f"{steps} allowed on a device"
    if rule.exact is not None:
        return "more than the order of additions explains"
    return f"{rule.ulp} allowed" if rule.ulp else "none allowed"
