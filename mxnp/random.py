"""Random numbers: NumPy's generators, which return mxnp arrays."""

from __future__ import annotations

import sys as _sys
from functools import partial as _partial
from functools import wraps as _wraps
from types import FunctionType as _FunctionType
from typing import Any as _Any
from weakref import ref as _ref

import numpy as _numpy
from numpy import random as _random

from ._array.ndarray import unwrap as _unwrap
from ._array.ndarray import wrap as _wrap
from ._bridge import Function as _Function
from ._bridge import Method as _Method
from ._bridge import bind_function as _bind_function
from ._bridge import frameless as _frameless
from ._bridge import name_like as _name_like
from ._bridge import set_generators as _set_generators
from ._bridge import set_reduction as _set_reduction
from ._engine.frames import frameless_members as _frameless_members
from ._namespace import mirror as _mirror
from ._namespace import ways as _ways


class _DerivedType(type):
    """The metaclass of classes derived from NumPy's: NumPy's objects are instances."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[1])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__mro__[1])


def _mark(function: _Any, name: str) -> None:
    """Note what holds for a function of NumPy that draws random numbers."""
    function.is_maker = True
    if name == "shuffle":
        function.depth = 0  # it changes the program's own list


class _WrappedMethod:
    """A method of NumPy that takes and returns mxnp arrays, wrapped on first use."""

    def __init__(self, member: _Any, owner: type) -> None:
        self.member = member
        self.owner = owner
        self.name = member.__name__
        # From the first use on, without and with methods that a program overrides.
        self.templates: list[_Any] = [None, None]
        self.unbound = self._make_unbound()

    def _make_unbound(self) -> _Any:
        """Return the function that the class has, which a class may alias."""

        @_wraps(self.member)
        def call(instance: _Any, /, *args: _Any, **kwargs: _Any) -> _Any:
            is_own = self.owner in type(instance).__mro__
            method = self.__get__(instance) if is_own else self.member.__get__(instance)
            return method(*args, **kwargs)

        call.__module__ = __name__
        return _frameless(call)

    def _make_template(self, has_ways: bool) -> _Any:
        """Return what the methods of all generators have in common."""
        function = _Function(self.member)
        vars(function).update(__doc__=self.member.__doc__, __module__=__name__)
        _mark(function, self.name)
        if has_ways:
            _ways.attach(function, f"random.{self.member.__qualname__}", ())
        return function

    def __get__(self, instance: _Any, owner: _Any = None) -> _Any:
        if instance is None:
            return self.unbound
        is_changed = _is_changed(instance, self.owner)
        template = self.templates[is_changed]
        if template is None:
            template = self.templates[is_changed] = self._make_template(not is_changed)
        # NumPy's methods call each other, so they are called on an object of NumPy.
        original = instance._original
        method = self.member.__get__(original)
        drawn = getattr(original, "bit_generator", original)
        function = _bind_function(template, method, drawn, instance)
        if type(instance) is self.owner:
            instance.__dict__[self.name] = function  # later lookups find it first
        else:  # a class of the program, which may override the method later
            vars(function)["_owner"] = instance
        return function


def _is_changed(generator: _Any, owner: type) -> bool:
    """Check whether a program overrides methods, which NumPy's methods may call."""
    kind = type(generator)
    if kind is owner:
        return False
    own = vars(generator)
    classes, size, is_changed = own.get("_overrides", ((), -1, False))
    if sum(map(len, map(vars, classes))) != size:  # a class has other members now
        classes = kind.__mro__[: kind.__mro__.index(owner)]
        is_changed = any(not _drawn_names[owner].isdisjoint(vars(c)) for c in classes)
        own["_overrides"] = classes, sum(map(len, map(vars, classes))), is_changed
    return is_changed or not _drawn_names[owner].isdisjoint(own)


def _reduce_method(generator: _ref[_Any], method: _Any) -> tuple[_Any, ...]:
    """Pickle a method as NumPy's is, by its generator and its name."""
    owner, original = generator(), method.__self__
    if owner is None and isinstance(original, _random.RandomState):
        owner = _state(original._bit_generator)
        owner.__setstate__(original.__getstate__())
    return getattr, (owner or Generator(original.bit_generator), method.__name__)


_set_reduction(_reduce_method)


def _wrap_members(kind: type) -> None:
    """Wrap the public methods of the NumPy class from which a class is derived.

    Its instances have a dict, unlike NumPy's, which refuse to set most names.
    """

    def change(method: _Any) -> _Any:
        def changed(self: _Any, *args: _Any) -> None:
            if type(self) is kind:  # not a class of the program
                method(self._original, *args)
            method(self, *args)

        return _frameless(_wraps(method)(changed))

    kind.__setattr__ = change(object.__setattr__)  # type: ignore[method-assign]
    kind.__delattr__ = change(object.__delattr__)  # type: ignore[method-assign]
    original = kind.__mro__[1]
    inner = type(original.__name__, (original,), {"__slots__": ("_outer",)})
    _inner_kinds[kind] = inner
    for name, member in vars(original).items():
        if callable(member) and not name.startswith("_") and name not in vars(kind):
            setattr(kind, name, _WrappedMethod(member, kind))
            setattr(inner, name, _outer_method(member))
    _drawn_names[kind] = frozenset(name for name in vars(inner) if name[0] != "_")


_inner_kinds: dict[type, type] = {}  # the classes of what is inside derived classes
_drawn_names: dict[type, frozenset[str]] = {}  # the methods of each


def _outer_method(member: _Any) -> _Any:
    """Make NumPy's methods call those that a class of the program overrides."""

    @_wraps(member)
    def call(self: _Any, *args: _Any, **kwargs: _Any) -> _Any:
        outer = self._outer()
        if outer is None:  # a package still holds what was inside
            return member(self, *args, **kwargs)
        kwargs = {name: _wrap(value) for name, value in kwargs.items()}
        return _unwrap(getattr(outer, member.__name__)(*_wrap(args), **kwargs))

    return _frameless(call)


def _inside(outer: _Any, kind: type) -> _Any:
    """Return NumPy's generator inside one of a class, or of a class derived from it."""
    bits = outer._bit_generator
    if type(outer) is kind:
        return kind.__mro__[1](bits)  # type: ignore[call-arg]
    inner = _inner_kinds[kind](bits)
    inner._outer = _ref(outer)
    return inner


@_frameless_members
class Generator(_random.Generator, metaclass=_DerivedType):  # noqa: D101
    __doc__ = _random.Generator.__doc__
    __module__ = "mxnp.random"

    def __init__(self, *args: _Any, **kwargs: _Any) -> None:
        super().__init__(*args, **kwargs)
        vars(self)["_original"] = _inside(self, Generator)

    def spawn(self, n_children: int) -> list[_random.Generator]:
        """
        Create independent child generators.

        Parameters
        ----------
        n_children : int
            Number of generators.

        Returns
        -------
        list of Generator
            The generators.

        See Also
        --------
        numpy.random.Generator.spawn
        """
        return [type(self)(child) for child in self.bit_generator.spawn(n_children)]

    def __reduce__(self) -> tuple[_Any, ...]:
        """Pickle with the state of the bit generator."""
        return (_generator, (self.bit_generator,), None)


@_frameless_members
class RandomState(_random.RandomState, metaclass=_DerivedType):  # noqa: D101
    __doc__ = _random.RandomState.__doc__
    __module__ = "mxnp.random"

    def __init__(self, seed: _Any = None) -> None:
        super().__init__(_unwrap(seed))
        names = vars(self)
        names["_original"] = original = _inside(self, RandomState)
        # The original holds the cached half of a pair of normal deviates.
        for name in ("__setstate__", "__getstate__"):
            names[name] = getattr(original, name)

    def __reduce__(self) -> tuple[_Any, ...]:
        """Pickle with the state of the bit generator."""
        return (_state, (self._bit_generator,), self.__getstate__())


_wrap_members(Generator)
_wrap_members(RandomState)
_set_generators(Generator, RandomState)  # compiled code receives NumPy's


def _generator(bit_generator: _Any = "MT19937") -> Generator:
    """Create the Generator of a pickle."""
    return Generator(_named(bit_generator))


def _state(bit_generator: _Any = "MT19937") -> RandomState:
    """Create the RandomState of a pickle."""
    return RandomState(_named(bit_generator))


def _named(bit_generator: _Any) -> _Any:
    if isinstance(bit_generator, str):
        return getattr(_random, bit_generator)()
    return bit_generator


def default_rng(seed: _Any = None) -> _random.Generator:
    """
    Create a `Generator` with the default bit generator.

    Parameters
    ----------
    seed : int, array_like or SeedSequence, optional
        The seed. It may also be a BitGenerator, Generator or RandomState.

    Returns
    -------
    Generator
        A new generator, or `seed` if it is a Generator.

    See Also
    --------
    numpy.random.default_rng
    """
    if type(seed) is int:  # the usual seed
        return _around(_random.default_rng(seed))
    _unwrap_states(seed)
    theirs = _unwrap(seed)  # that of a Generator is NumPy's inside
    generator = _random.default_rng(theirs)
    return seed if generator is theirs else _around(generator)


def _around(original: _random.Generator) -> Generator:
    """Return a Generator around a new one of NumPy."""
    made = Generator.__new__(Generator)
    _random.Generator.__init__(made, original.bit_generator)
    vars(made)["_original"] = original
    return made


def _unwrap_states(seed: _Any) -> None:
    """Make a program's class of seed sequences return NumPy arrays to NumPy."""
    generate = getattr(type(seed), "generate_state", None)
    if not isinstance(generate, _FunctionType) or hasattr(generate, "__wrapped__"):
        return

    @_wraps(generate)
    def generate_state(self: _Any, *args: _Any, **kwargs: _Any) -> _Any:
        return _unwrap(generate(self, *args, **kwargs))

    type(seed).generate_state = generate_state  # type: ignore[method-assign]


def _accept_array_seeds(original: type) -> type:
    """Derive a class from one of NumPy that accepts mxnp arrays as seeds."""

    def __init__(self: _Any, *args: _Any, **kwargs: _Any) -> None:  # noqa: N807
        for seed in (*args, *kwargs.values()):
            _unwrap_states(seed)
        kwargs = {name: _unwrap(value) for name, value in kwargs.items()}
        original.__init__(self, *_unwrap(args), **kwargs)  # type: ignore[misc]

    body = {"__init__": _frameless(__init__), "__doc__": original.__doc__}
    body |= {"__module__": __name__, "__slots__": ()}  # no dict, as in NumPy
    if issubclass(original, _random.BitGenerator):
        body["random_raw"] = raw = _Method(original.random_raw)
        if original in (_random.PCG64, _random.Philox):
            _ways.attach(raw, "random.BitGenerator.random_raw")
    derived = _DerivedType(original.__name__, (original,), body)
    _name_like(derived, original)
    return derived


for _name in ("SeedSequence", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
    globals()[_name] = _accept_array_seeds(getattr(_random, _name))
    _mirror.replace(getattr(_random, _name), globals()[_name])
for _original, _counterpart in (
    (_random.Generator, Generator),
    (_random.RandomState, RandomState),
    (_random.default_rng, default_rng),
):
    _mirror.replace(_original, _counterpart)
_name_like(Generator, _random.Generator)
_name_like(RandomState, _random.RandomState)

__path__: list[str] = []  # a package in NumPy, whose modules are mirrored
_mirror.populate(_sys.modules[__name__], _numpy.random)


def _prepare(name: str, function: _Any) -> None:
    """Add its ways to a function of the module when it is first used."""
    _mark(function, name)
    state = getattr(function.__wrapped__, "__self__", None)
    if isinstance(state, _random.RandomState):
        _ways.attach(function, f"random.RandomState.{name}", (state,))


for _name in _random.__all__:
    _mirror.preparations[getattr(_random, _name)] = _partial(_prepare, _name)
