"""Counterparts of NumPy's classes that take or return arrays."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from mxnp._array.methods import IteratorType, add_iterator_members, flatiter
from mxnp._array.ndarray import ndarray, unwrap, wrap
from mxnp._array.ufunc import ufunc
from mxnp._bridge import Function, Method, frameless, name_like, pin
from mxnp._engine.frames import frameless_members, prepares

from .mirror import find_counterpart, replace, wrap_function


@frameless_members
class vectorize(numpy.vectorize):  # noqa: N801
    __doc__ = numpy.vectorize.__doc__
    __module__: Any = "mxnp"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function over the broadcast arguments; see `numpy.vectorize`."""
        if not self.excluded:
            return _counted_call(self, *args, **kwargs)

        def given(place: int | str, x: Any) -> Any:
            return x if place in self.excluded else unwrap(x)

        kwargs = {name: given(name, value) for name, value in kwargs.items()}
        positional = [given(place, x) for place, x in enumerate(args)]
        return wrap(super().__call__(*positional, **kwargs))


_counted_call = Function(numpy.vectorize.__call__)
_counted_call.__qualname__ = "vectorize"


def _pin_operands(op: Any) -> None:
    """Note that other code may know where the operands of an iterator are.

    The values of an iterator refer to it and not to its operands, which it releases
    when it is closed.
    """
    for operand in op if isinstance(op, tuple | list) else (op,):
        pin(operand)


class Advance(property):
    """
    The method `__next__` of an iterator, which keeps that of another in `_advance`.

    NumPy warns of casts in it, on the line of the program: no function is in between.
    """

    def __init__(self) -> None:
        super().__init__(operator.attrgetter("_advance"))

    @prepares
    def __call__(self, iterator: Any, /) -> Any:
        if type(iterator) is nditer:
            return (iterator._advance,)
        return numpy.nditer.__next__, iterator


@frameless_members
class nditer(metaclass=IteratorType):  # noqa: N801
    __doc__ = numpy.nditer.__doc__
    _original = numpy.nditer
    __module__ = "mxnp"
    __slots__ = ("_advance", "_arguments", "_iterator")
    _arguments: Any
    _iterator: Any  # numpy.nditer
    __next__: Any = Advance()

    def __new__(cls, *args: Any, **kwargs: Any) -> nditer:
        self = super().__new__(cls)
        object.__setattr__(self, "_iterator", numpy.nditer.__new__(numpy.nditer))
        object.__setattr__(self, "_advance", iter(()).__next__)
        object.__setattr__(self, "_arguments", ())
        return self

    def _begin(self, /, *args: Any, **kwargs: Any) -> Any:
        op = args[0] if args else kwargs.get("op")
        made = map(operator.call, [functools.partial(_nditer, *args, **kwargs)])
        return next, map(functools.partial(self._over, op), made)

    __init__: Any = prepares(_begin)

    def _over(self, op: Any, iterator: Any) -> None:
        """Iterate with an iterator of NumPy's over the operands."""
        object.__setattr__(self, "_iterator", iterator)
        object.__setattr__(self, "_advance", map(wrap, iterator).__next__)
        arguments = op if isinstance(op, tuple | list) else (op,)
        object.__setattr__(self, "_arguments", arguments)
        _pin_operands(op)

    @property
    def operands(self) -> tuple[Any, ...]:
        """The arrays iterated over."""
        known = {id(unwrap(x)): x for x in self._arguments}
        return tuple(known.get(id(x), wrap(x)) for x in self._iterator.operands)

    def __getattr__(self, name: str) -> Any:
        return wrap(getattr(self._iterator, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._iterator, name, unwrap(value))

    def __delattr__(self, name: str) -> None:
        delattr(self._iterator, name)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._iterator)

    @prepares
    def __getitem__(self, index: Any) -> Any:
        return operator.getitem, self._iterator, index

    @prepares
    def __setitem__(self, index: Any, value: Any) -> Any:
        return operator.setitem, self._iterator, index, unwrap(value)

    def __delitem__(self, index: Any) -> None:
        del self._iterator[index]

    def __enter__(self) -> nditer:
        self._iterator.__enter__()
        return self

    @prepares
    def __exit__(self, *exception: Any) -> Any:
        return self._iterator.__exit__, *exception

    def __copy__(self) -> nditer:
        return self.copy()

    def copy(self, /) -> nditer:
        """Return a copy of the iterator in its current state."""
        copy: nditer = object.__new__(nditer)
        copy._over([*self._arguments], self._iterator.copy())
        return copy


def _choose_nested_iters(op: Any, *args: Any, **kwargs: Any) -> Any:
    _pin_operands(op)
    return numpy.nested_iters


find_counterpart(numpy.nested_iters).choose = _choose_nested_iters


add_iterator_members(nditer)
name_like(nditer, numpy.nditer)
_nditer = Function(numpy.nditer, adopts=False)


@frameless_members
class broadcast(metaclass=IteratorType):  # noqa: N801
    __doc__ = numpy.broadcast.__doc__
    _original = numpy.broadcast
    __module__ = "mxnp"
    __slots__ = ("_arguments", "_iterator")
    _arguments: dict[int, Any]
    _iterator: Any  # numpy.broadcast

    def __new__(cls, *args: Any, **kwargs: Any) -> broadcast:
        self = super().__new__(cls)
        self._arguments = {}
        operands: list[Any] = []
        for x in args:
            if type(x) is broadcast:
                self._arguments |= x._arguments
                operands.append(x._iterator)
            else:
                operands.append(unwrap(x))
                self._arguments[id(operands[-1])] = x
        self._iterator = numpy.broadcast(*operands, **kwargs)
        return self

    @property
    def iters(self) -> tuple[flatiter, ...]:
        """The iterators over the operands."""
        iterators = self._iterator.iters
        arrays = (self._arguments.get(id(it.base), it.base) for it in iterators)
        pairs = zip(arrays, iterators, strict=True)
        return tuple(flatiter._over(wrap(array), it) for array, it in pairs)

    def reset(self, /) -> None:
        """Restart the iteration."""
        self._iterator.reset()

    def __iter__(self) -> broadcast:
        return self

    def __next__(self) -> tuple[Any, ...]:
        return next(self._iterator)


add_iterator_members(broadcast)
name_like(broadcast, numpy.broadcast)


def _limits(original: type) -> type:
    """Return the counterpart of `finfo` or `iinfo`: it returns NumPy's objects.

    Unlike NumPy, it takes an array too, as the standard asks.
    """

    def of_array(x: Any) -> Any:
        return original(x.dtype) if type(x) is ndarray else NotImplemented

    call = Function(original, adopts=False)
    call.implementation, call.size_rule = of_array, "q"
    metaclass = type("LimitsType", (IteratorType,), {"__call__": staticmethod(call)})
    members = {"__doc__": original.__doc__, "_original": original, "__module__": "mxnp"}
    counterpart: type = metaclass(original.__name__, (original,), members)
    name_like(counterpart, original)
    return counterpart


finfo, iinfo = _limits(numpy.finfo), _limits(numpy.iinfo)


def frompyfunc(*args: Any, **kwargs: Any) -> ufunc:
    return ufunc(numpy.frompyfunc(*args, **kwargs))


_frompyfunc: Any = numpy.frompyfunc
for _name in ("__doc__", "__text_signature__"):
    setattr(frompyfunc, _name, getattr(_frompyfunc, _name))


@frameless_members
class FunctionWithCallback(Method):
    """A NumPy function that calls its first argument, which receives mxnp arrays."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call NumPy's function."""
        args = (*map(_wrap_callback, args[:1]), *args[1:])
        for name, value in kwargs.items():
            if name.startswith("func"):
                kwargs[name] = _wrap_callback(value)
        return super().__call__(*args, **kwargs)


def _wrap_callback(function: Any) -> Any:
    """Make a program's function receive mxnp arrays from NumPy."""
    if not callable(function):
        return function

    def callback(*args: Any, **kwargs: Any) -> Any:
        return unwrap(function(*wrap(args), **wrap(kwargs)))

    return callback


for _name in ("apply_along_axis", "apply_over_axes", "fromfunction"):
    _function = getattr(numpy, _name)
    replace(_function, wrap_function(_function, "numpy", FunctionWithCallback))


@frameless_members
class NpzFile(numpy.lib.npyio.NpzFile):
    __doc__ = numpy.lib.npyio.NpzFile.__doc__
    __module__ = "mxnp.lib.npyio"

    def __getitem__(self, key: str) -> Any:
        return wrap(super().__getitem__(key))


@functools.wraps(numpy.load)
def load(*args: Any, **kwargs: Any) -> Any:
    """Load arrays from a file; see `numpy.load`."""
    loaded = wrap(numpy.load(*args, **kwargs))
    if type(loaded) is numpy.lib.npyio.NpzFile:
        loaded.__class__ = NpzFile
    return loaded


load.__module__ = "mxnp"
replace(numpy.load, load)
replace(numpy.lib.npyio.NpzFile, NpzFile)


def take_arrays(cls: type, has_text: bool = False) -> None:
    """
    Make the methods of a NumPy subclass of ndarray accept mxnp arrays.

    NumPy requires its own class for ``out``, for the class in ``view``, and for the
    operands of operations on text.

    Parameters
    ----------
    cls : type
        The class, which is changed in place.
    has_text : bool, optional
        Whether all methods receive NumPy arrays. Functions of text would return mxnp
        arrays for mxnp arrays.
    """
    if "view" in vars(cls):  # and not ndarray's, which the boundary changes
        cls.view = Method(cls.view, adopts=False)  # type: ignore[attr-defined]
    for name, method in list(vars(cls).items()):
        if isinstance(method, types.FunctionType):
            code = method.__code__
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if "out" in names or (has_text and not name.startswith("__array")):
                setattr(cls, name, _unwrap_arguments(method))
    for name in _WITH_OUT.split():
        if name not in vars(cls):
            setattr(cls, name, Method(getattr(numpy.ndarray, name), keeps_others=True))


# The methods of ndarray whose C code requires NumPy's class for ``out``.
_WITH_OUT = "argmax argmin choose compress cumprod cumsum dot round take trace"


def _unwrap_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    """Pass NumPy arrays to a method, which may return one of its arguments."""

    @functools.wraps(method)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        unwrapped = {name: unwrap(value) for name, value in kwargs.items()}
        result = method(*map(unwrap, args), **unwrapped)
        for argument in (*args, *kwargs.values()):
            if isinstance(argument, ndarray) and unwrap(argument) is result:
                return argument
        return result

    return frameless(wrapper)


for _cls in (numpy.matrix, numpy.memmap, numpy.recarray):
    take_arrays(_cls)

for _counterpart in (vectorize, nditer, broadcast, flatiter, finfo, iinfo, frompyfunc):
    replace(getattr(numpy, _counterpart.__name__), _counterpart)
