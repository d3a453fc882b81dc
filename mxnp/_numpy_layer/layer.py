"""NumPy's functions that are written in Python, with mxnp's functions in their globals.

About half of NumPy is Python code over ufuncs, sorts, searches and copies. Here is a
second function for each such function. It has NumPy's code object, and globals in which
public functions, ufuncs and array methods are mxnp's. So NumPy's checks, results and
messages are the same, its files and lines are in tracebacks and warnings, and the work
is recorded.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy

from mxnp._array.ndarray import ndarray
from mxnp._bridge import Function
from mxnp._engine.core import loading
from mxnp._namespace.mirror import find_counterpart
from mxnp._namespace.ways import is_recorded

from .divided import (
    Divided,
    divided_correlation,
    divided_elements,
    divided_interpolation,
    divided_product,
)
from .einsum import divided_einsum

# Modules of NumPy whose functions are executed over mxnp's arrays.
_MODULES = {
    "numpy._core._methods",
    "numpy._core.einsumfunc",
    "numpy._core.fromnumeric",
    "numpy._core.function_base",
    "numpy._core.numeric",
    "numpy._core.shape_base",
    "numpy.fft._helper",
    "numpy.fft._pocketfft",
    "numpy.lib._arraypad_impl",
    "numpy.lib._arraysetops_impl",
    "numpy.lib._function_base_impl",
    "numpy.lib._histograms_impl",
    "numpy.lib._index_tricks_impl",
    "numpy.lib._nanfunctions_impl",
    "numpy.lib._polynomial_impl",
    "numpy.lib._scimath_impl",
    "numpy.lib._shape_base_impl",
    "numpy.lib._stride_tricks_impl",
    "numpy.lib._twodim_base_impl",
    "numpy.lib._type_check_impl",
    "numpy.lib._ufunclike_impl",
    "numpy.linalg._linalg",
    "numpy.polynomial.chebyshev",
    "numpy.polynomial.hermite",
    "numpy.polynomial.hermite_e",
    "numpy.polynomial.laguerre",
    "numpy.polynomial.legendre",
    "numpy.polynomial.polynomial",
    "numpy.polynomial.polyutils",
}


def _without_elements(value: Any) -> Any:
    """Return a NumPy array with the shape and dtype of an mxnp array."""
    if type(value) is not ndarray:
        return value
    return numpy.broadcast_to(numpy.zeros((), value.dtype), value.shape)


class _Converter:
    """NumPy's private class `_array_converter`, for arguments that are mxnp arrays."""

    def __new__(cls, *arguments: Any) -> Any:
        if not any(type(each) is ndarray for each in arguments):
            return _numpys_converter(*arguments)
        return object.__new__(cls)

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments
        # It asks for classes and dtypes only, so the elements need not be computed.
        self._converter = _numpys_converter(*map(_without_elements, arguments))

    def __len__(self) -> int:
        return len(self._arguments)

    def __getitem__(self, index: int) -> Any:
        own = self._arguments[index]
        return own if type(own) is ndarray else self._converter[index]

    def as_arrays(self, **kwargs: Any) -> tuple[Any, ...]:
        converted = self._converter.as_arrays(**kwargs)
        pairs = zip(self._arguments, converted, strict=True)
        return tuple(own if type(own) is ndarray else other for own, other in pairs)

    def wrap(self, array: Any, /, to_scalar: Any = None) -> Any:
        if type(array) is ndarray:
            is_scalar = to_scalar and array.ndim == 0
            return array[()] if is_scalar else array  # type: ignore[index]
        return self._converter.wrap(array, to_scalar=to_scalar)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._converter, name)


_compiled: Any = sys.modules["numpy._core._multiarray_umath"]
_nanfunctions: Any = sys.modules["numpy.lib._nanfunctions_impl"]
_numpys_converter = _compiled._array_converter


def _class_of(value: Any) -> type:
    """Return the class that NumPy's code compares with `numpy.ndarray`."""
    kind = type(value)
    return numpy.ndarray if kind is ndarray else kind


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise TypeError("NumPy's function is faster")  # and is called then


def _divide(compiled: Any, divided: Any) -> Any:
    """Return a function that divides its calls, or leaves them to NumPy's function.

    It leaves those that raise an exception, so that warnings have NumPy's places.
    """
    function = Function(compiled)
    function.implementation, function.size_rule = Function(divided), "q"
    return function


# Ufuncs that have rows in the table, for the loops that mxnp lacks.
_DIVIDED: dict[numpy.ufunc, Any] = {
    numpy.matmul: Function(divided_product(numpy.matmul)),
    numpy.power: Function(divided_elements(numpy.power, 2)),
}

# NumPy's object, and what takes its place in the globals.
_REPLACED: dict[Any, Any] = {
    _numpys_converter: _Converter,
    numpy.apply_along_axis: _refuse,  # to many rows
    _nanfunctions._nanmedian_small: _refuse,
    numpy.ravel_multi_index: _divide(
        numpy.ravel_multi_index, divided_elements(numpy.ravel_multi_index, 1)
    ),
    _compiled.c_einsum: _divide(_compiled.c_einsum, divided_einsum(_compiled.c_einsum)),
    **{
        each: _divide(each, divided_interpolation(each))
        for each in (_compiled.interp, _compiled.interp_complex)
    },
    **{
        each: _divide(each, divided_correlation(each))
        for each in (_compiled.correlate, _compiled.correlate2)
    },
}


class _Namespace(types.ModuleType):
    """
    A module of NumPy as functions of the layer see it.

    A program may replace an attribute of the module for some time, as `mock.patch`
    does.
    """

    def __init__(self, original: types.ModuleType) -> None:
        super().__init__(original.__name__)
        self.__dict__["_original"] = original
        self.__dict__["_resolved"] = {}  # by name: NumPy's object, and what replaces it

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._original, name)
        known = self._resolved.get(name)
        if known is None or known[0] is not value:
            known = self._resolved[name] = value, _resolve(value)
        return known[1]


_namespaces: dict[str, _Namespace] = {}
_globals: dict[str, dict[str, Any]] = {}  # by the name of a module
_functions: dict[types.FunctionType, types.FunctionType] = {}
_added: list[tuple[dict[Any, Any], Any]] = []  # their keys, while a layer is made


def _is_numpys(name: str) -> bool:
    return name == "numpy" or name.startswith("numpy.")


def _resolve(value: Any) -> Any:
    """Return what a function of the layer uses in place of an object of NumPy."""
    if isinstance(value, types.ModuleType):
        if not _is_numpys(value.__name__):
            return value
        return _namespaces.setdefault(value.__name__, _Namespace(value))
    if isinstance(value, (dict, list, tuple)) and type(value) in (dict, list, tuple):
        return _resolve_items(value)
    if isinstance(value, numpy.ndarray) or not callable(value):
        return value
    if isinstance(value, numpy.ufunc):
        is_private = getattr(numpy, value.__name__, None) is not value
        if is_private and value.signature is not None:
            return _divide(value, Divided(value))
        return find_counterpart(value)
    if value in _REPLACED:
        return _REPLACED[value]
    layer = find_layer(value)
    if layer is not None and not is_recorded(value):
        return layer
    owner = getattr(value, "__self__", None)
    if isinstance(owner, numpy.ufunc):  # such as numpy.add.reduce
        return getattr(find_counterpart(owner), value.__name__)
    return value if isinstance(value, type) else find_counterpart(value)


def _resolve_items(items: Any) -> Any:
    if type(items) is dict:
        return {key: _resolve(each) for key, each in items.items()}
    return type(items)(map(_resolve, items))


def _copy(function: types.FunctionType) -> types.FunctionType:
    """Return a second function with the same code, and the globals of the layer."""
    known = _functions.get(function)
    if known is not None:
        return known
    original = function.__globals__
    names = _globals_of(original["__name__"])
    copy = _with_globals(function, names)
    _add(_functions, function, copy)
    for name in _names_in(function.__code__):
        if name in original and name not in names:
            _add(names, name, _resolve(original[name]))
    return copy


def _add(table: dict[Any, Any], key: Any, value: Any) -> None:
    _added.append((table, key))
    table[key] = value


def _names_in(code: types.CodeType) -> Iterator[str]:
    """Yield the names in code and in the functions inside."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names_in(inner)


def _with_globals(
    function: types.FunctionType, names: dict[str, Any]
) -> types.FunctionType:
    """Return a second function with the code of another, and other globals."""
    copy = types.FunctionType(
        function.__code__,
        names,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _globals_of(name: str) -> dict[str, Any]:
    """Return the globals of the layer for a module of NumPy.

    Functions add the names that they use.
    """
    if name not in _globals:
        original = vars(sys.modules[name])
        original.setdefault("__warningregistry__", {})  # shared: shown once
        own = {key: value for key, value in original.items() if key.startswith("__")}
        _globals[name] = {**own, "type": _class_of}
    return _globals[name]


def find_layer(original: Any) -> Any:
    """
    Return NumPy's code for a function, over mxnp's arrays.

    For a compiled function it is one whose work is divided among threads.

    Parameters
    ----------
    original : callable
        A function of NumPy.

    Returns
    -------
    callable or None
        None if the function is neither written in Python nor divided.
    """
    if isinstance(original, numpy.ufunc):
        return _DIVIDED.get(original)
    code = getattr(original, "__wrapped__", original)
    if type(code) is not types.FunctionType:
        return None
    if code.__globals__["__name__"] not in _MODULES:
        return None
    with loading:  # the names of a function are complete before it is returned
        before = len(_added)
        try:
            copy = _copy(code)
        except BaseException:  # an interrupt: what was made refers to what is missing
            while len(_added) > before:
                table, key = _added.pop()
                table.pop(key, None)
            raise
        if not before:
            _added.clear()
        return copy


@functools.cache
def find_dispatcher(original: Any) -> types.FunctionType | None:
    """
    Return the function that shows NumPy the arrays of a call, before the call.

    Parameters
    ----------
    original : callable
        A function of NumPy.

    Returns
    -------
    function or None
        The one that has its name or, if there is none, its parameters.
    """
    code = getattr(original, "__wrapped__", None)
    if type(code) is not types.FunctionType:
        return None
    found: dict[str, types.FunctionType] = {
        name: value
        for name, value in code.__globals__.items()
        if name.endswith("_dispatcher")
        and _parameters_of(value) == _parameters_of(code)
    }
    own = found.get(f"_{code.__name__}_dispatcher")
    return own or next(iter(found.values()), None)


def _parameters_of(function: types.FunctionType) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def copy_functions(module: types.ModuleType, **replaced: Any) -> types.SimpleNamespace:
    """
    Return second functions with the code of a module of NumPy, for other arrays.

    Parameters
    ----------
    module : module
        The module of NumPy.
    **replaced
        What takes the place of the module's own globals.

    Returns
    -------
    types.SimpleNamespace
        The functions of the module that are written in Python, without dispatch.
    """
    names = {**vars(module), **replaced}
    functions = {}
    for name, value in vars(module).items():
        code = getattr(value, "__wrapped__", value)
        is_own = type(code) is types.FunctionType and code.__globals__ is vars(module)
        if is_own and name not in replaced:
            functions[name] = _with_globals(code, names)
    names.update(functions)
    return types.SimpleNamespace(**functions)
