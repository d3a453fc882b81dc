"""Functions of NumPy that read foreign memory, or never return, for some arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import is_number, ndarray
from mxnp._array.ufunc import ufunc

from .mirror import find_counterpart


def _choose_take(original: Any) -> Callable[..., Any]:
    """Make a function that returns `original`, unless it would never return."""

    def choose(a: Any, *args: Any, **kwargs: Any) -> Any:
        names = ("indices", "axis", "out", "mode")
        given: dict[str, Any] = {"indices": (), **dict(zip(names, args, strict=False))}
        given |= kwargs
        if given.get("mode", "raise") in ("raise", "clip"):
            return original
        axis, shape = given.get("axis"), list(numpy.shape(a))
        if type(axis) is not int or not -len(shape) <= axis < len(shape):
            return original
        if shape[axis] > 0 or numpy.size(given["indices"]) == 0:
            return original
        shape[axis] = 1
        given["out"] = None

        def take_from_nothing(*args: Any, **kwargs: Any) -> Any:
            """Raise NumPy's errors, and then the one that NumPy 2.4 does not find."""
            numpy.take(numpy.zeros(shape), **given)
            raise IndexError("cannot do a non-empty take from an empty axes.")

        return take_from_nothing

    return choose


for _function, _original in (
    (find_counterpart(numpy.take), numpy.take),
    (vars(ndarray)["take"], numpy.ndarray.take),
):
    _function.choose, _function.choose_from = _choose_take(_original), 4


def _choose_at(*args: Any, **kwargs: Any) -> Any:
    """Return NumPy's method, with values for which it reads no memory outside of them.

    NumPy 2.4 reads beyond the end of values that have fewer axes than the elements, and
    at a null pointer if they have more.
    """
    if len(args) != 4 or kwargs or is_number(args[3]):
        return numpy.ufunc.at
    op, a, indices, b = args
    if op.nin != 2 or op.nout != 1 or op.signature:
        return numpy.ufunc.at  # NumPy refuses it
    if type(b) is not ndarray and _overrides(type(b)):
        return numpy.ufunc.at
    values: Any = b if type(b) is ndarray else numpy.asarray(_bridge.unwrap(b))
    is_one = type(indices) is tuple and len(indices) == 1
    index = indices[0] if is_one else indices
    if values.ndim == 1 and getattr(index, "ndim", 0) > 1 and index.dtype != bool:
        return numpy.ufunc.at, (op, a, indices, values[numpy.newaxis])
    if values.ndim > 1 and not _has_axes(a, index, values.ndim):
        return _refuse_values
    return numpy.ufunc.at, (op, a, indices, values)


def _overrides(cls: type) -> bool:
    """Return whether NumPy asks a class what a ufunc does with its objects."""
    plain = numpy.ndarray.__array_ufunc__
    return getattr(cls, "__array_ufunc__", plain) is not plain


def _refuse_values(op: Any, a: Any, indices: Any, b: Any) -> None:
    """Raise NumPy's error, for values that have more axes than the elements.

    Its error for their dtypes comes first. The indices are valid.
    """
    dtype = numpy.asarray(_bridge.unwrap(b)).dtype
    op.resolve_dtypes((a.dtype, dtype, a.dtype), casting="unsafe")
    raise ValueError("array is not broadcastable to correct shape")


def _has_axes(a: Any, index: Any, n: int) -> bool:
    """Return whether ``a[index]`` has n axes, or NumPy refuses to write it."""
    if not (isinstance(a, numpy.ndarray) and a.flags.writeable):
        return True
    if isinstance(index, numpy.ndarray):
        more = 1 - index.ndim if index.dtype == bool else index.ndim - 1
        if a.ndim + more >= n:
            return True
    try:
        found = numpy.broadcast_to(numpy.True_, a.shape)[_bridge.unwrap(index)]
    except (IndexError, TypeError, ValueError) as error:
        _bridge.raise_handlers(error)
        return True
    return int(found.ndim) >= n


_at = vars(ufunc)["at"]
_at.choose, _at.choose_from, _at.choose_rule = _choose_at, 2, "x"
