"""The methods and attributes of ndarray, and flatiter."""

from __future__ import annotations

import functools
import inspect
import operator
import os
import pickle
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy

from mxnp._bridge import (
    Array,
    Function,
    edit,
    end_edit,
    exact_interface,
    frameless,
    is_lent,
    name_like,
    peek,
    pin,
    standard,
)
from mxnp._engine.frames import frameless_members, prepares

from .members import add_members, attribute
from .ndarray import Subclass, ndarray, unwrap, wrap
from .pickles import reduced

# Members that return Python objects, bytes or the NumPy array inside.
_NOT_ADOPTED = {
    "__array__", "__array_interface__", "__array_priority__", "__array_struct__",
    "__dlpack__", "__dlpack_device__", "__format__", "__complex__", "__setstate__",
    "__sizeof__", "ctypes", "data", "dtype", "flags", "item", "itemsize",
    "nbytes", "ndim", "shape", "size", "strides", "tobytes", "tofile", "tolist",
}  # fmt: skip

# Members that return views of the array whenever they need no copy.
_VIEWS = {
    "T", "mT", "diagonal", "imag", "ravel", "real", "reshape", "squeeze", "swapaxes",
    "transpose", "view",
}  # fmt: skip

# Members that are not taken from numpy.ndarray.
_EXCLUDED = {
    "__array_namespace__",
    "__class_getitem__",
    "__doc__",
    "__hash__",
    "__new__",
}


def _or_numpys(
    function: Callable[..., Any], numpys: Callable[..., Any], owner: type = ndarray
) -> Callable[..., Any]:
    """Make a method of a class leave other objects to a function of NumPy."""
    others = Function(numpys)

    @functools.wraps(function)
    def chosen(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        call = function if type(self) is owner else others
        return call(self, *args, **kwargs)

    return frameless(chosen)


def member(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add a method to ndarray, with the docstring and signature of NumPy's method."""
    name = function.__name__
    original = getattr(numpy.ndarray, name)
    method = _or_numpys(function, original)
    method.__doc__ = original.__doc__
    method.__qualname__ = f"ndarray.{name}"
    vars(method)["__wrapped__"] = original
    setattr(ndarray, name, method)
    return method


def _add_attribute(name: str, get: Callable[..., Any]) -> None:
    """Add an attribute to ndarray that differs from NumPy's in its getter."""
    original = vars(numpy.ndarray)[name]
    getter = _or_numpys(get, original.__get__)
    setattr(ndarray, name, attribute(original, get=getter))


add_members(
    ndarray,
    numpy.ndarray,
    excluded=_EXCLUDED | set(vars(Array)),
    not_adopted=_NOT_ADOPTED,
)
for _name in _VIEWS:
    _view = vars(ndarray)[_name]
    getattr(_view, "fget", _view).is_view = True
vars(ndarray)["fill"].depth = 0
vars(ndarray)["fill"].stores = True
add_members(
    Subclass,
    numpy.ndarray,
    excluded={name for name in vars(numpy.ndarray) if name.startswith("__")}
    | set(vars(Subclass))
    | _NOT_ADOPTED
    | {"resize"},  # which counts references
)
name_like(Array, numpy.ndarray)
name_like(ndarray, numpy.ndarray)


@member
def __reduce_ex__(self: ndarray, protocol: int, /) -> tuple[Any, ...]:  # noqa: N807
    return (
        (standard, (self._np_array,)) if self._is_standard else reduced(self, protocol)
    )


@member
def __reduce__(self: ndarray, /) -> tuple[Any, ...]:  # noqa: N807
    return (standard, (self._np_array,)) if self._is_standard else reduced(self, 0)


@member
def dumps(self: ndarray, /, protocol: int = 2) -> bytes:
    return pickle.dumps(self, protocol)


@member
def dump(
    self: ndarray, /, file: str | os.PathLike[str] | BinaryIO, protocol: int = 2
) -> None:
    if hasattr(file, "write"):
        file.write(dumps(self, protocol))
    else:
        with open(os.fspath(file), "wb") as opened:  # noqa: PTH123
            opened.write(dumps(self, protocol))


@member
def resize(self: ndarray, /, *new_shape: Any, **kwargs: Any) -> None:
    # NumPy counts the references to the NumPy array inside, two of which are mxnp's. So
    # the program's references to this array, and those of views and exported memory to
    # the one inside, are counted here. NumPy refuses to resize an array that has a weak
    # reference.
    if is_lent(self):
        raise ValueError("cannot resize an array that other code uses on the GPU")
    inside = self._np_array
    if not kwargs.keys() <= {"refcheck"}:
        inside.resize(*unwrap(new_shape), **kwargs)  # raises NumPy's error
    _weak = weakref.ref(inside) if weakref.getweakrefcount(self) else None
    if kwargs:
        kwargs["refcheck"] = operator.index(kwargs["refcheck"])
    if kwargs.get("refcheck", True):
        counted = sys.getrefcount(self) + sys.getrefcount(inside)
        others = counted - _OWN_REFERENCES[bool(kwargs)]
        if others > 0 and inside.flags.owndata:
            # NumPy raises its error for a similar array with as many references. The
            # call below holds a reference too, which Python 3.14 and later borrow.
            like = numpy.empty_like(inside)
            _references = [like] * (others - (sys.version_info >= (3, 14)))
            like.resize(*unwrap(new_shape), **kwargs)
        kwargs["refcheck"] = False
    inside.resize(*unwrap(new_shape), **kwargs)


def _count_own_references(**kwargs: Any) -> int:
    """Return the references to an object and to one inside, in a method."""
    counts = []

    def count(self: Any, *_: Any, **__: Any) -> None:
        inside = self._np_array
        counts.append(sys.getrefcount(self) + sys.getrefcount(inside))

    class Probe:
        def __init__(self) -> None:
            self._np_array = object()

        resize: Any

    Probe.resize = _or_numpys(count, numpy.ndarray.resize, Probe)
    probe = Probe()
    probe.resize(1, **kwargs)
    return counts[0]


# Without and with keywords.
_OWN_REFERENCES = (_count_own_references(), _count_own_references(refcheck=True))


def _base(self: ndarray) -> Any:
    base, parent = self._np_array.base, self._base
    return parent if parent is not None and parent._np_array is base else wrap(base)


_add_attribute("base", _base)


def _ctypes(self: ndarray) -> Any:
    if is_lent(self):
        raise BufferError("the array is used on the GPU too, and has no address here")
    pin(self)
    found = self._np_array.ctypes
    # Pointers that are made from the result keep this array alive.
    found._arr = self  # type: ignore[attr-defined]
    return found


_add_attribute("ctypes", _ctypes)


def _interface(name: str, kinds: str, get: Callable[..., Any]) -> None:
    """Add an interface of NumPy, for the kinds of dtypes that it describes exactly."""

    def interface(self: ndarray) -> Any:
        # After an AttributeError NumPy calls __array__, which returns the array inside.
        dtype = self.dtype
        if is_lent(self):
            raise AttributeError(f"{name}: the array is used on the GPU too")
        is_exact = dtype.kind in kinds and isinstance(dtype, _DESCRIBED)
        if not is_exact or (dtype.kind in "mM" and dtype.metadata):
            raise AttributeError(f"{name} does not describe {dtype} exactly")
        pin(self)
        return get(self._np_array)

    _add_attribute(name, interface)


# A dtype that a program defines may have any kind.
_DESCRIBED = tuple(type(numpy.dtype(code)) for code in numpy.typecodes["All"])

# NumPy looks these two up in this order.
_interface("__array_struct__", "biufcSUOV", exact_interface)
_interface(
    "__array_interface__", "biufcSUOVmM", operator.attrgetter("__array_interface__")
)


class IteratorType(type):
    """The metaclass of iterators: NumPy's iterators are instances of the class too."""

    _original: type

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: Any) -> None:
        for base in bases:
            if type(base) is IteratorType:
                kind = f"numpy.{base.__name__}"
                raise TypeError(f"type '{kind}' is not an acceptable base type")
        super().__init__(name, bases, namespace)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls._original) or type(instance) is cls

    @property
    def __signature__(cls) -> inspect.Signature:
        return inspect.signature(cls._original)


def add_iterator_members(cls: IteratorType) -> None:
    """Add the public members of NumPy's class that a class of iterators lacks."""
    for name, member in vars(cls._original).items():
        if not name.startswith("_") and name not in vars(cls):
            make = _make_iterator_method if callable(member) else _make_attribute
            setattr(cls, name, make(member))


def _inside(x: Any) -> Any:
    """Return the iterator of NumPy inside one of mxnp, or the object itself."""
    return getattr(x, "_iterator", x)


def _make_iterator_method(member: Any) -> Any:
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return functools.partial(member, _inside(self), **kwargs), *args

    call.__name__, call.__doc__ = member.__name__, member.__doc__
    call.__qualname__ = member.__qualname__
    return prepares(call)


def _make_attribute(member: Any) -> property:
    def get(self: Any) -> Any:
        return wrap(member.__get__(_inside(self)))

    def change(self: Any, value: Any) -> None:
        member.__set__(_inside(self), unwrap(value))

    def delete(self: Any) -> None:
        member.__delete__(_inside(self))

    return property(
        frameless(get), frameless(change), frameless(delete), member.__doc__
    )


@frameless_members
class flatiter(metaclass=IteratorType):  # noqa: N801
    __doc__ = numpy.flatiter.__doc__
    _original = numpy.flatiter
    __module__ = "mxnp"
    __slots__ = ("_array", "_iterator")
    _array: ndarray
    _iterator: Any
    __hash__ = None  # type: ignore[assignment]

    def __new__(cls, *args: Any) -> flatiter:
        raise TypeError("cannot create 'numpy.flatiter' instances")

    @classmethod
    def _over(cls, array: Any, iterator: Any) -> flatiter:
        self = object.__new__(cls)
        object.__setattr__(self, "_array", array)
        object.__setattr__(self, "_iterator", iterator)
        return self

    def __getattr__(self, name: str) -> Any:
        return wrap(getattr(self._iterator, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._iterator, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._iterator, name)

    @property
    def base(self) -> Any:
        """The array that is iterated over."""
        return self._array

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._refresh()
        return next(self._iterator)

    def __len__(self) -> int:
        return len(self._iterator)

    def _refresh(self) -> None:
        if is_lent(self._array):  # other code may have written it on the GPU
            peek(self._array)

    @prepares
    def __getitem__(self, index: Any) -> Any:
        self._refresh()
        return operator.getitem, self._iterator, unwrap(index)

    @prepares
    def __setitem__(self, index: Any, value: Any) -> Any:
        index = unwrap(index)
        if not self._array.dtype.hasobject:  # a list or tuple has elements otherwise
            value = unwrap(value)
        if not is_lent(self._array):
            return operator.setitem, self._iterator, index, value
        edit(self._array)
        try:
            self._iterator[index] = value
        finally:
            end_edit()
        return None

    def __delitem__(self, index: Any) -> None:
        del self._iterator[index]

    def __array__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._iterator.__array__(*args, **kwargs)

    def copy(self, /) -> Any:
        """Get a copy of the elements as a 1-D array."""
        return wrap(self._iterator.copy())


for _operator in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):

    def _compare(self: flatiter, other: Any, operator: str = _operator) -> Any:
        return wrap(getattr(self._iterator, operator)(unwrap(other)))

    setattr(flatiter, _operator, frameless(_compare))


def _get_flat(self: ndarray) -> flatiter:
    return flatiter._over(self, self._np_array.flat)


_add_attribute("flat", _get_flat)
add_iterator_members(flatiter)
name_like(flatiter, numpy.flatiter)
