"""The arrays in the calls of the table `mxnp/_namespace/functions.py`."""

from __future__ import annotations

from typing import Any

import numpy

_VALUES = {"f": (-3, 7), "p": (0, 2), "n": (-3, 7), "q": (0, 5), "i": (-5, 9)}


def make(name: str, size: int, dtype: str) -> Any:
    """Return the NumPy array of about so many elements that a name stands for."""
    kind, ndim = name[0], int(name[1])
    rng = numpy.random.default_rng(ord(kind) + ndim)
    shape = (round(size ** (1 / ndim)),) * ndim
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind == "c":
        return rng.random(shape) + 1j * rng.random(shape)
    if kind in "qiu":
        low, high = (0, 200) if kind == "u" else _VALUES[kind]
        return rng.integers(low, high, shape).astype("u1" if kind == "u" else "i8")
    low, high = _VALUES.get(kind, (-3, 7))
    x = (rng.random(shape) * (high - low) + low).astype("f4" if kind == "s" else dtype)
    if kind == "n" and dtype[0] == "f":
        x[rng.random(shape) < 0.1] = numpy.nan
    return x


class Arrays(dict[str, Any]):
    """The names of a call, for NumPy or for mxnp."""

    def __init__(self, xp: Any, size: int, dtype: str) -> None:
        super().__init__(np=xp, S=size, T=(100, size // 100))
        self._arguments = size, dtype

    def __missing__(self, name: str) -> Any:
        if len(name) != 2 or not name[1].isdigit():
            raise KeyError(name)
        self[name] = self["np"].array(make(name, *self._arguments))
        return self[name]
