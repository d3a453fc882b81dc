"""Random numbers: NumPy's generators and streams, giving mxnp arrays."""

from __future__ import annotations

import sys as _sys
from functools import wraps as _wraps
from types import FunctionType as _FunctionType
from typing import Any as _Any

import numpy as _numpy
from numpy import random as _random

from ._array.ndarray import unwrap as _unwrap
from ._bridge import Function as _Function
from ._bridge import Method as _Method
from ._bridge import name_like as _name_like
from ._metal import random as _metal_random  # noqa: F401  (its recorded forms)
from ._namespace import mirror as _mirror
from ._namespace import recorded_forms as _recorded_forms


class _OwnType(type):
    """The class of NumPy's classes made our own: NumPy's objects are instances too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[1])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__mro__[1])


class _Crossing:
    """A method of NumPy's that takes and gives mxnp arrays, made once asked for."""

    def __init__(self, member: _Any) -> None:
        self.member = member

    def __get__(self, instance: _Any, owner: _Any = None) -> _Any:
        if instance is None:
            return self.member
        # NumPy's methods call each other: they do so on an object all NumPy's.
        name = self.member.__name__
        function = _Function(getattr(instance._original, name))
        function.is_maker = True
        bit_generator = getattr(instance, "bit_generator", None)
        if isinstance(bit_generator, _random.Philox):
            _recorded_forms.attach(function, self.member, bit_generator)
        vars(instance)[name] = function  # which is found first from now on
        return function


def _cross_methods(kind: type) -> None:
    """Make the public methods of NumPy's class cross."""
    for name, member in vars(kind.__mro__[1]).items():
        if callable(member) and not name.startswith("_") and name not in vars(kind):
            setattr(kind, name, _Crossing(member))


class Generator(_random.Generator, metaclass=_OwnType):  # noqa: D101
    __doc__ = _random.Generator.__doc__
    __module__ = "mxnp.random"

    def __init__(self, *args: _Any, **kwargs: _Any) -> None:
        super().__init__(*args, **kwargs)
        self._original = _random.Generator(self.bit_generator)

    def spawn(self, n_children: int) -> list[_random.Generator]:
        """Create new independent child generators: see NumPy's."""
        return [Generator(child) for child in self.bit_generator.spawn(n_children)]

    def __reduce__(self) -> tuple[_Any, ...]:
        """Pickle with the state of the bit generator."""
        return (_generator, (self.bit_generator,), None)


class RandomState(_random.RandomState, metaclass=_OwnType):  # noqa: D101
    __doc__ = _random.RandomState.__doc__
    __module__ = "mxnp.random"

    def __init__(self, seed: _Any = None) -> None:
        super().__init__(_unwrap(seed))
        self._original = _random.RandomState(self._bit_generator)
        # The cached half of a pair of normal deviates is the original's.
        for name in ("__setstate__", "__getstate__"):
            setattr(self, name, getattr(self._original, name))

    def __reduce__(self) -> tuple[_Any, ...]:
        """Pickle with the state of the bit generator."""
        return (_state, (self._bit_generator,), self.__getstate__())


_cross_methods(Generator)
_cross_methods(RandomState)


def _generator(bit_generator: _Any = "MT19937") -> Generator:
    """Make the generator of a pickle."""
    return Generator(_named(bit_generator))


def _state(bit_generator: _Any = "MT19937") -> RandomState:
    """Make the RandomState of a pickle."""
    return RandomState(_named(bit_generator))


def _named(bit_generator: _Any) -> _Any:
    if isinstance(bit_generator, str):
        return getattr(_random, bit_generator)()
    return bit_generator


def default_rng(seed: _Any = None) -> _random.Generator:
    """Make a new `Generator` with the default bit generator: see NumPy's."""
    _adapt(seed)
    made = _random.default_rng(_unwrap(seed))
    return made if made is seed else Generator(made.bit_generator)


def _adapt(seed: _Any) -> None:
    """Let a program's own class of seed sequences give mxnp arrays."""
    generate = getattr(type(seed), "generate_state", None)
    if not isinstance(generate, _FunctionType) or hasattr(generate, "__wrapped__"):
        return

    @_wraps(generate)
    def generate_state(self: _Any, *args: _Any, **kwargs: _Any) -> _Any:
        return _unwrap(generate(self, *args, **kwargs))

    type(seed).generate_state = generate_state  # type: ignore[method-assign]


def _seeded(original: type) -> type:
    """Make a class of NumPy's take seeds in mxnp arrays."""

    def __init__(self: _Any, *args: _Any, **kwargs: _Any) -> None:  # noqa: N807
        for given in (*args, *kwargs.values()):
            _adapt(given)
        kwargs = {name: _unwrap(value) for name, value in kwargs.items()}
        original.__init__(self, *_unwrap(args), **kwargs)  # type: ignore[misc]

    body = {"__init__": __init__, "__doc__": original.__doc__, "__module__": __name__}
    if issubclass(original, _random.BitGenerator):
        body["random_raw"] = raw = _Method(original.random_raw)
        if original is _random.Philox:
            _recorded_forms.attach(raw, original.random_raw)
    made = _OwnType(original.__name__, (original,), body)
    _name_like(made, original)
    return made


for _name in ("SeedSequence", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
    globals()[_name] = _seeded(getattr(_random, _name))
    _mirror.replace(getattr(_random, _name), globals()[_name])
for _original, _ours in (
    (_random.Generator, Generator),
    (_random.RandomState, RandomState),
    (_random.default_rng, default_rng),
):
    _mirror.replace(_original, _ours)
_name_like(Generator, _random.Generator)
_name_like(RandomState, _random.RandomState)

__path__: list[str] = []  # a package in NumPy: its modules are mirrored
_mirror.populate(_sys.modules[__name__], _numpy.random)
for _name in _random.__all__:
    _made = _mirror.cross(getattr(_random, _name), "numpy.random")
    if isinstance(_made, _Function):
        _made.is_maker = True
