"""NumPy's classes that take or give arrays, in mxnp's terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from ._array import host, wrap
from ._bridge import Function
from ._members import add_members
from ._methods import flatiter
from ._mirror import override, replace
from ._ufunc import named, ufunc


class vectorize(numpy.vectorize):  # noqa: N801
    __doc__ = numpy.vectorize.__doc__
    __module__ = "mxnp"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function over the broadcast arguments: see `numpy.vectorize`."""
        kwargs = {name: host(value) for name, value in kwargs.items()}
        return wrap(super().__call__(*host(args), **kwargs))


class NditerType(type):
    """The class of `nditer`: NumPy's own iterators are instances of it too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, numpy.nditer) or type(instance) is cls


class nditer(metaclass=NditerType):  # noqa: N801
    __doc__ = numpy.nditer.__doc__
    __module__ = "mxnp"
    __slots__ = ("_iterator",)
    _iterator: numpy.nditer

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        object.__setattr__(self, "_iterator", _nditer(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        return wrap(getattr(self._iterator, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._iterator, name, host(value))

    def __delattr__(self, name: str) -> None:
        delattr(self._iterator, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._iterator)

    def __next__(self) -> Any:
        return next(self._iterator)

    def __len__(self) -> int:
        return len(self._iterator)

    def __getitem__(self, index: Any) -> Any:
        return wrap(self._iterator[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._iterator[index] = host(value)

    def __enter__(self) -> nditer:
        self._iterator.__enter__()
        return self

    def __exit__(self, *exception: Any) -> Any:
        return self._iterator.__exit__(*exception)

    def __copy__(self) -> nditer:
        return self.copy()

    def copy(self) -> nditer:
        """Get a copy of the iterator in its current state."""
        made = object.__new__(nditer)
        object.__setattr__(made, "_iterator", self._iterator.copy())
        return made


_nditer = Function(numpy.nditer, adopts=False, depth=1)


def frompyfunc(*args: Any, **kwargs: Any) -> ufunc:
    """Make a ufunc of any Python function: see `numpy.frompyfunc`."""
    return named(numpy.frompyfunc(*args, **kwargs))


def _private(original: type) -> set[str]:
    return {name for name in vars(original) if name.startswith("_")}


class Generator(numpy.random.Generator):
    __doc__ = numpy.random.Generator.__doc__
    __module__ = "mxnp.random"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the state of the bit generator."""
        return (Generator, (self.bit_generator,))


class RandomState(numpy.random.RandomState):
    __doc__ = numpy.random.RandomState.__doc__
    __module__ = "mxnp.random"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the state of the bit generator."""
        _, args, *state = super().__reduce__()
        return (RandomState, args, *state)


for _cls in (Generator, RandomState):
    add_members(_cls, _cls.__base__, own=_private(_cls.__base__) | {"bit_generator"})


def default_rng(seed: Any = None) -> numpy.random.Generator:
    """Make a new `Generator` with the default bit generator: see NumPy's."""
    made = numpy.random.default_rng(host(seed))
    return made if made is seed else Generator(made.bit_generator)


for _original, _ours in (
    (numpy.vectorize, vectorize),
    (numpy.nditer, nditer),
    (numpy.flatiter, flatiter),
    (numpy.frompyfunc, frompyfunc),
    (numpy.random.Generator, Generator),
    (numpy.random.RandomState, RandomState),
    (numpy.random.default_rng, default_rng),
):
    replace(_original, _ours)

# Helpers of numpy.testing that call what they are given keep the arguments as they are.
override(
    "mxnp.testing",
    **{
        name: getattr(numpy.testing, name)
        for name in (
            "assert_no_gc_cycles",
            "assert_no_warnings",
            "assert_raises",
            "assert_raises_regex",
            "assert_warns",
        )
        if hasattr(numpy.testing, name)
    },
)
