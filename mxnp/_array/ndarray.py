"""The array class, and the base class of programs' subclasses of it.

Operators, indexing and iteration are in the bridge
(``csrc/python/object/array.c``). Methods and attributes are added by ``methods``.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any, cast

import numpy

from mxnp._bridge import Array, Function, raise_handlers, unwrap, wrap
from mxnp._engine.frames import frameless_members, prepares

__all__ = ["described", "is_number", "ndarray", "unwrap", "wrap"]


@frameless_members
class ArrayType(type):
    """
    The metaclass of `ndarray`.

    NumPy's arrays are instances of `ndarray`, so that checks written for NumPy accept
    the arrays that packages return. Classes derived from `ndarray` become subclasses of
    `numpy.ndarray`, to which NumPy's rules for subclasses apply.
    """

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        **kwargs: Any,
    ) -> Any:
        if bases == (Array,):
            return super().__new__(mcls, name, bases, namespace, **kwargs)
        parent = Subclass
        if namespace.get("__array_ufunc__") is not None:
            parent = OverridingSubclass
        bases = tuple(parent if base is ndarray else base for base in bases)
        caller = sys._getframe().f_back
        if caller and "__name__" in caller.f_globals:  # as `type` does
            namespace = {"__module__": caller.f_globals["__name__"]} | namespace
        return types.new_class(name, bases, kwargs, lambda body: body.update(namespace))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, numpy.ndarray) or type(instance) is cls

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, numpy.ndarray)


@frameless_members
class ndarray(Array, metaclass=ArrayType):  # noqa: N801
    """
    N-dimensional array, whose operations are recorded and fused if it is large.

    It has every member of `numpy.ndarray`, with the same names and results. Results
    that are arrays are instances of this class, and scalars are NumPy scalars.

    Parameters
    ----------
    shape : tuple of ints
        Shape of the array.
    dtype : data-type, optional
        Any dtype of NumPy; by default float64.
    buffer : object exposing the buffer interface, optional
        Memory of the array; by default new, uninitialized memory.
    offset : int, optional
        Offset of the array's data in `buffer`, in bytes.
    strides : tuple of ints, optional
        Strides of the data, in bytes.
    order : {'C', 'F'}, optional
        Row-major or column-major order.

    See Also
    --------
    numpy.ndarray

    Notes
    -----
    Unlike NumPy, the class is not `numpy.ndarray`. Its instances are nevertheless
    instances of `numpy.ndarray`, and compiled code of other packages receives the NumPy
    array inside. ``numpy.asarray(a)`` returns that array, which shares the memory.
    """

    __slots__ = ()
    __module__ = "mxnp"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # For subclasses that ArrayType creates, `cls` is the subclass.
        kind = numpy.ndarray if cls is ndarray else cls
        array = numpy.ndarray.__new__(
            cast("type[numpy.ndarray[Any, Any]]", kind),
            *unwrap(args),
            **{name: unwrap(value) for name, value in kwargs.items()},
        )
        return wrap(array)

    @property
    def __numpy_dtype__(self) -> Any:
        # NumPy refuses its own arrays, and would take `dtype` for the answer.
        raise TypeError("Cannot construct a dtype from an array")

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name != "__numpy_dtype__"]

    def __class_getitem__(cls, item: Any) -> Any:
        """Return ``ndarray[shape, dtype]``, for type annotations."""
        numpy.ndarray[item]  # raises NumPy's errors
        return types.GenericAlias(cls, item)


def _has_metadata(dtype: numpy.dtype[Any]) -> bool:
    """Return whether a dtype, or one that it consists of, has metadata."""
    parts = [field[0] for field in (dtype.fields or {}).values()]
    if dtype.subdtype is not None:
        parts.append(dtype.base)
    return bool(dtype.metadata) or any(map(_has_metadata, parts))


def is_number(value: Any) -> bool:
    """Return whether a value is a Python number or a NumPy scalar."""
    return isinstance(value, (bool, int, float, complex, numpy.number))


@functools.cache
def described(dtype: numpy.dtype[Any]) -> bool:
    """Return whether a memoryview of an array of this dtype preserves the dtype."""
    try:
        buffer: Any = numpy.empty(1, dtype)
        back = numpy.asarray(memoryview(buffer)).dtype
    except (TypeError, ValueError, RuntimeError, NotImplementedError) as error:
        raise_handlers(error)
        return False
    is_equal = back == dtype and back.isalignedstruct == dtype.isalignedstruct
    return is_equal and not _has_metadata(dtype)


@frameless_members
class Subclass(numpy.ndarray):
    """
    The base of classes derived from `ndarray`.

    It is a subclass of `numpy.ndarray` that differs in two respects: mxnp arrays take
    part in its operations as NumPy arrays, and where NumPy returns a plain array, it
    returns an instance of `ndarray`.
    """

    __slots__ = ()
    __module__ = "mxnp"

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """Return a view of the memory; see `numpy.ndarray.view`."""
        kwargs = {name: unwrap(value) for name, value in kwargs.items()}
        return wrap(super().view(*unwrap(args), **kwargs))

    def __array_wrap__(self, array: Any, *args: Any) -> Any:
        """Return the result of a function as this class; see `numpy.ndarray`."""
        return wrap(super().__array_wrap__(unwrap(array), *unwrap(args)))

    @prepares
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Call NumPy's function with NumPy arrays in place of mxnp arrays."""
        func = func.__wrapped__ if isinstance(func, Function) else func
        kinds = tuple(numpy.ndarray if kind is ndarray else kind for kind in types)
        kwargs = {name: unwrap(value) for name, value in kwargs.items()}
        call = Function(super().__array_function__, keeps_others=True)
        return call, func, kinds, unwrap(args), kwargs


@frameless_members
class OverridingSubclass(Subclass):
    """The base of derived classes that define ``__array_ufunc__``."""

    __slots__ = ()
    __module__ = "mxnp"

    @prepares
    def __array_ufunc__(
        self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any
    ) -> Any:
        """Call a ufunc with NumPy arrays in place of mxnp arrays."""
        kwargs = {name: unwrap(value) for name, value in kwargs.items()}
        call = functools.partial(super().__array_ufunc__, **kwargs)
        return Function(call), ufunc, method, *inputs


class MixedSubclass(Subclass):
    """The base of derived classes that have a metaclass of their own."""

    __slots__ = ()
    __module__ = "mxnp"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Change the bases of a class that defines ``__array_ufunc__``."""
        super().__init_subclass__(**kwargs)
        if vars(cls).get("__array_ufunc__") is not None:
            cls.__bases__ = tuple(
                OverridingSubclass if base is MixedSubclass else base
                for base in cls.__bases__
            )
