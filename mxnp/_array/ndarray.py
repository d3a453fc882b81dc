"""The array class: a NumPy view over a block of memory, and nothing else.

Operators, indexing and iteration are in the core (``csrc/python/object/array.c``);
methods and attributes are put on the class from above, by ``methods``.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, cast

import numpy

from mxnp._bridge import Array, unwrap, wrap

__all__ = ["described", "ndarray", "unwrap", "wrap"]


class ArrayType(type):
    """
    The class of `ndarray`.

    It makes NumPy's arrays instances of `ndarray`, so that a check written for
    NumPy holds for what packages hand back, and makes classes derived from
    `ndarray` subclasses of NumPy's: these use NumPy's own subclass rules.
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
            namespace["__array_ufunc__"] = _asked(namespace["__array_ufunc__"])
        bases = tuple(parent if base is ndarray else base for base in bases)
        return types.new_class(name, bases, kwargs, lambda body: body.update(namespace))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, numpy.ndarray) or type(instance) is cls

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, numpy.ndarray)


class ndarray(Array, metaclass=ArrayType):  # noqa: N801
    """
    An array: NumPy's shape, strides, dtype and views over a block of memory.

    Everything `numpy.ndarray` has is here, under the same names and with the same
    results. Results that are arrays are of this class, scalars are NumPy scalars.

    Parameters
    ----------
    shape : tuple of ints
        Shape of the array.
    dtype : data-type, optional
        Any NumPy dtype; float64 by default.
    buffer : object exposing the buffer interface, optional
        Memory to use; by default new memory, not initialised.
    offset : int, optional
        Offset of the array's data in `buffer`, in bytes.
    strides : tuple of ints, optional
        Strides of the data, in bytes.
    order : {'C', 'F'}, optional
        Row-major or column-major order.

    Notes
    -----
    Unlike NumPy, the class is not `numpy.ndarray`. Instances of it are instances of
    `numpy.ndarray` all the same, and compiled code of other packages gets the NumPy
    array inside. ``numpy.asarray(a)`` gives that array, which shares the memory.

    See Also
    --------
    numpy.ndarray
    """

    __slots__ = ()
    __module__ = "mxnp"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # A subclass made by ArrayType calls here with itself as the class.
        kind = numpy.ndarray if cls is ndarray else cls
        made = numpy.ndarray.__new__(
            cast("type[numpy.ndarray[Any, Any]]", kind),
            *unwrap(args),
            **{name: unwrap(value) for name, value in kwargs.items()},
        )
        return wrap(made)

    def __class_getitem__(cls, item: Any) -> Any:
        """Give ``ndarray[shape, dtype]``, for type annotations."""
        numpy.ndarray[item]  # the same errors as NumPy
        return types.GenericAlias(cls, item)


def _asked(override: Callable[..., Any]) -> Callable[..., Any]:
    """Let a program's ``__array_ufunc__`` see mxnp's ufuncs and arrays."""

    @functools.wraps(override)
    def __array_ufunc__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        return override(self, *wrap(args), **wrap(kwargs))

    return __array_ufunc__


@functools.cache
def described(dtype: numpy.dtype[Any]) -> bool:
    """Tell whether an array of this dtype comes back from a memoryview as it was."""
    try:
        buffer: Any = numpy.empty(1, dtype)
        back = numpy.asarray(memoryview(buffer)).dtype
    except (TypeError, ValueError, RuntimeError, NotImplementedError):
        return False
    return back == dtype and back.isalignedstruct == dtype.isalignedstruct


class Subclass(numpy.ndarray):
    """
    NumPy's array as the base of a class derived from `ndarray`.

    Such a class is NumPy's in all but two things: arrays of `ndarray` take part in its
    operations as NumPy arrays, and where a program asks for the base class it gets
    `ndarray`.
    """

    __module__ = "mxnp"

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """View the memory as another dtype or class: see `numpy.ndarray.view`."""
        kwargs = {name: unwrap(value) for name, value in kwargs.items()}
        return wrap(super().view(*unwrap(args), **kwargs))

    def __array_wrap__(self, array: Any, *args: Any) -> Any:
        """Give the result of a function this class: see `numpy.ndarray`."""
        return wrap(super().__array_wrap__(unwrap(array), *unwrap(args)))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Call a function with NumPy arrays in the place of mxnp arrays."""
        kinds = tuple(numpy.ndarray if kind is ndarray else kind for kind in types)
        kwargs = {name: unwrap(value) for name, value in kwargs.items()}
        return super().__array_function__(func, kinds, unwrap(args), kwargs)


class OverridingSubclass(Subclass):
    """The base of a class with an ``__array_ufunc__``: what its ``super()`` finds."""

    __module__ = "mxnp"

    def __array_ufunc__(
        self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any
    ) -> Any:
        """Call a ufunc with NumPy arrays in the place of mxnp arrays."""
        kwargs = {name: unwrap(value) for name, value in kwargs.items()}
        call = super().__array_ufunc__
        return wrap(call(unwrap(ufunc), method, *unwrap(inputs), **kwargs))
