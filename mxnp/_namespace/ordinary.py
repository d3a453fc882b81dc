"""The ordinary values of the parameters that recorded forms have.

NumPy checks its arguments in many ways, which recorded forms do not repeat. A call
with any argument that is not ordinary is left to NumPy.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy

from mxnp._array.ndarray import is_number, ndarray
from mxnp._bridge import is_dtype_name

NO_VALUE = numpy._NoValue  # NumPy's default where None is a value

_Form = TypeVar("_Form", bound=Callable[..., Any])


def _is_flag(value: Any) -> bool:
    kind = type(value)
    return kind is bool or (kind is int and value in (0, 1))


def _is_name(value: Any) -> bool:
    return value is None or type(value) is str


def _is_axis(value: Any) -> bool:
    if type(value) is tuple:
        return all(type(each) is int for each in value)
    return value is None or type(value) is int


def _is_dtype(value: Any) -> bool:
    if type(value) is str:
        return is_dtype_name(value)
    return value is None or isinstance(value, (type, numpy.dtype))


def _is_ddof(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 2**31)


def _is_out(value: Any) -> bool:
    if type(value) is tuple and len(value) == 1:
        return type(value[0]) is ndarray
    return value is None or type(value) is ndarray


def _is_list(value: Any) -> bool:
    return type(value) in (list, tuple)


def _is_operand(value: Any) -> bool:
    is_array = type(value) in (ndarray, numpy.ndarray)
    return value is None or is_array or is_number(value)


def _is_mask(value: Any) -> bool:
    return value is True or type(value) is ndarray


_FLAGS = {
    "copy", "density", "endpoint", "equal_nan", "keepdims", "retstep", "return_counts",
    "return_index", "return_inverse", "sorted", "sparse", "subok", "wrap",
}  # fmt: skip
_OPERANDS = {"a_max", "a_min", "max", "min"}
_NAMES = {"casting", "indexing", "mode", "order", "side"}

ORDINARY: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_FLAGS, _is_flag),
    **dict.fromkeys(_NAMES, _is_name),
    **dict.fromkeys(_OPERANDS, _is_operand),
    "axis": _is_axis,
    "choicelist": _is_list,
    "condlist": _is_list,
    "ddof": _is_ddof,
    "copy": lambda value: value is None or _is_flag(value),
    "density": lambda value: value is None or _is_flag(value),
    "dtype": _is_dtype,
    "initial": is_number,
    "device": lambda value: value is None,
    "like": lambda value: value is None,
    "mean": lambda value: value is None or type(value) is ndarray,
    "out": _is_out,
    "where": _is_mask,
}


def _or_no_value(is_ordinary: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is NO_VALUE or is_ordinary(value)


def find_optional(original: Any) -> frozenset[str]:
    """Return the parameters of a function of NumPy for which NO_VALUE is the default.

    NumPy refuses it for the others, as for `keepdims` of methods.
    """
    code = inspect.unwrap(original)
    if not isinstance(code, types.FunctionType):
        return frozenset({"initial"})
    parameters = inspect.signature(code).parameters.values()
    return frozenset(each.name for each in parameters if each.default is NO_VALUE)


def takes_ordinary(form: _Form, optional: frozenset[str]) -> _Form:
    """Return a form that returns NotImplemented unless all arguments are ordinary.

    The parameters in `optional` may be NO_VALUE.
    """
    code = inspect.unwrap(form).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    by_name = {
        name: _or_no_value(ORDINARY[name]) if name in optional else ORDINARY[name]
        for name in names
        if name in ORDINARY
    }
    by_place = [
        (place, by_name[name])
        for place, name in enumerate(names[: code.co_argcount])
        if name in by_name
    ]
    if not by_name:
        return form

    @functools.wraps(form)
    def ordinary(*args: Any, **kwargs: Any) -> Any:
        n = len(args)
        for place, is_ordinary in by_place:
            if place >= n:
                break
            if not is_ordinary(args[place]):
                return NotImplemented
        # Without memory, Python 3.11 crashes where it iterates over items().
        for name in kwargs:  # noqa: PLC0206
            if name in by_name and not by_name[name](kwargs[name]):
                return NotImplemented
        return form(*args, **kwargs)

    return ordinary  # type: ignore[return-value]
