"""Random numbers: NumPy's generators and streams, giving mxnp arrays."""

from __future__ import annotations

import sys as _sys
from typing import Any as _Any

import numpy as _numpy

from . import _mirror
from ._array import host as _host
from ._members import add_members as _add_members

def _private(original: type) -> set[str]:
    return {name for name in vars(original) if name.startswith("_")}


class Generator(_numpy.random.Generator):
    __doc__ = _numpy.random.Generator.__doc__
    __module__ = "mxnp.random"

    def __reduce__(self) -> tuple[_Any, ...]:
        """Pickle with the state of the bit generator."""
        return (Generator, (self.bit_generator,))


class RandomState(_numpy.random.RandomState):
    __doc__ = _numpy.random.RandomState.__doc__
    __module__ = "mxnp.random"

    def __reduce__(self) -> tuple[_Any, ...]:
        """Pickle with the state of the bit generator."""
        _, args, *state = super().__reduce__()
        return (RandomState, args, *state)


for _cls in (Generator, RandomState):
    _add_members(_cls, _cls.__base__, own=_private(_cls.__base__) | {"bit_generator"})


def default_rng(seed: _Any = None) -> _numpy.random.Generator:
    """Make a new `Generator` with the default bit generator: see NumPy's."""
    made = _numpy.random.default_rng(_host(seed))
    return made if made is seed else Generator(made.bit_generator)

for _original, _ours in (
    (_numpy.random.Generator, Generator),
    (_numpy.random.RandomState, RandomState),
    (_numpy.random.default_rng, default_rng),
):
    _mirror.replace(_original, _ours)

__path__: list[str] = []  # a package in NumPy: its modules are mirrored
_mirror.populate(_sys.modules[__name__], _numpy.random)
