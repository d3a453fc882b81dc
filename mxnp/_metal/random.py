"""Draws from NumPy's Philox generator that a Metal device makes.

Each element of these is a function of its own part of the stream, so all are made at
once. The generator is left in the state that NumPy's draws leave it in. As in
`copies`, what is not known for certain gives NotImplemented, and NumPy draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
from numpy.random import Philox

from mxnp import _bridge
from mxnp._engine.devices import devices

from . import kernels
from .functions import _is_for_device, _launch
from .kernels import Draw

_BLOCK = 4  # words that a value of the counter gives
_FLOATS = {"float32": kernels.SINGLES, "float64": kernels.DOUBLES}
_BITS = {"float64": numpy.uint64, "int32": numpy.uint32, "int64": numpy.uint64}


# -- The stream -----------------------------------------------------------------------


def _left(state: dict[str, Any], draw: Draw) -> list[int]:
    """Give what is left of earlier draws, in the order in which it is used."""
    words = [int(word) for word in state["buffer"][state["buffer_pos"] :]]
    if not draw.halves:
        return words
    first = [int(state["uinteger"])] if state["has_uint32"] else []
    return first + [half for word in words for half in (word % 2**32, word >> 32)]


def _number(words: Any) -> int:
    return sum(int(word) << 64 * i for i, word in enumerate(words))


def _advance(state: dict[str, Any], n: int, is_in_halves: bool) -> None:
    """Change a state, of which nothing is left, as n draws of halves or words do."""
    words = -(-n // 2) if is_in_halves else n
    blocks = -(-words // _BLOCK)
    inner = state["state"]
    counter = _number(inner["counter"]) + blocks
    before = (counter - 1) % 2**256
    last = Philox(key=_number(inner["key"]), counter=before).random_raw(_BLOCK)
    shifts = range(0, 256, 64)
    inner["counter"] = numpy.array([counter >> i & 2**64 - 1 for i in shifts], "u8")
    state["buffer"], state["buffer_pos"] = last, words - (blocks - 1) * _BLOCK
    if is_in_halves:
        state["has_uint32"] = n % 2
        state["uinteger"] = int(last[state["buffer_pos"] - 1]) >> 32


def _draw(generator: Any, shape: tuple[int, ...], dtype: str, draw: Draw) -> Any:
    """Draw an array of some shape."""
    n = math.prod(shape)
    if n < max(_bridge.get_threshold(), 1) or not _is_for_device():
        return NotImplemented
    with generator.lock:
        state = generator.state
        left = _left(state, draw)
        if n <= len(left):
            return NotImplemented
        out = _bridge.empty(shape, numpy.dtype(dtype).num)
        if out is NotImplemented:
            return out
        inner = state["state"]
        key, counter = ([int(word) for word in inner[k]] for k in ("key", "counter"))
        bits = out.view(_BITS.get(dtype, dtype))
        kernels.philox(_launch, bits, n, draw, key, counter, left)
        _advance(state, n - len(left), draw.halves)
        generator.state = state
    return out


# -- Calls ----------------------------------------------------------------------------


def _shape(size: Any) -> tuple[int, ...] | None:
    """Give the shape that is asked for; None: it is for NumPy to say."""
    shape = size if type(size) is tuple else (size,)
    return shape if all(type(n) is int and n >= 0 for n in shape) else None


def _name(dtype: Any) -> str:
    """Name a dtype of the machine's own, by which NumPy would know it too."""
    found = numpy.dtype(dtype)
    is_own = found.isnative and found.num == numpy.dtype(found.name).num
    return found.name if is_own else ""


def _random(
    generator: Any, size: Any = None, dtype: Any = numpy.float64, out: Any = None
) -> Any:
    shape, name = _shape(size), _name(dtype)
    if shape is None or out is not None or name not in _FLOATS:
        return NotImplemented
    return _draw(generator, shape, name, _FLOATS[name])


def _integers(
    generator: Any,
    low: Any,
    high: Any = None,
    size: Any = None,
    dtype: Any = numpy.int64,
    endpoint: Any = False,
) -> Any:
    """Draw integers, of a number of them that is a power of two: NumPy rejects none."""
    shape, name = _shape(size), _name(dtype)
    least, end = (0, low) if high is None else (low, high)
    if shape is None or type(least) is not int or type(end) is not int:
        return NotImplemented
    if name not in ("int32", "uint32", "int64", "uint64"):
        return NotImplemented
    end += bool(endpoint)
    count, info = end - least, numpy.iinfo(name)
    if count < 2 or count & count - 1 or least < info.min or end > info.max + 1:
        return NotImplemented
    draw = kernels.integers(info.bits // 8, least, count.bit_length() - 1)
    return _draw(generator, shape, name, draw)


def _bytes(generator: Any, length: Any) -> Any:
    if type(length) is not int or length < 1:
        return NotImplemented
    words = _integers(generator, 0, 2**32, -(-length // 4), "uint32")
    return words if words is NotImplemented else words.tobytes()[:length]


def _random_raw(generator: Any, size: Any = None, output: Any = True) -> Any:
    shape = _shape(size)
    if shape is None or not output:
        return NotImplemented
    return _draw(generator, shape, "uint64", kernels.RAW)


# -- Functions -------------------------------------------------------------------------

_DRAWS: dict[str, Callable[..., Any]] = {
    "random": _random,
    "integers": _integers,
    "bytes": _bytes,
}


def queue_draws(function: Any, generator: Any) -> None:
    """Let a method of a Generator be drawn on the device, if that can be."""
    draw = _DRAWS.get(function.__name__)
    if draw and isinstance(generator, Philox) and "metal" in devices():
        function.implementation, function.size_rule = partial(draw, generator), "q"


def queue_raw(method: Any) -> None:
    """Let a class's method random_raw be drawn on the device."""
    if "metal" in devices():
        method.implementation, method.size_rule = _random_raw, "q"
