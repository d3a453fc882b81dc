"""Recorded forms of draws from NumPy's Philox and PCG64 generators, on a GPU.

Each element is a function of its own part of the stream, so a kernel computes all
elements in parallel. The generator is left in the state in which NumPy leaves it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy
from numpy.random import PCG64, Philox

from mxnp import _bridge
from mxnp._engine.devices import is_made_on_gpu

from . import kernels
from .functions import can_hold, is_for_device, launch
from .kernels import Draw

_BLOCK = 4  # words of each value of the counter
_FLOATS = {"float32": kernels.SINGLES, "float64": kernels.DOUBLES}
_BITS = {"float64": numpy.uint64, "int32": numpy.uint32, "int64": numpy.uint64}


# -- The stream -----------------------------------------------------------------------


def _left(state: dict[str, Any], draw: Draw) -> list[int]:
    """Return the words or halves that earlier draws left, in order of use."""
    buffer = state.get("buffer", [])  # PCG64 has none
    words = [int(word) for word in buffer[state.get("buffer_pos", 0) :]]
    if not draw.halves:
        return words
    first = [int(state["uinteger"])] if state["has_uint32"] else []
    return first + [half for word in words for half in (word % 2**32, word >> 32)]


def _number(words: Any) -> int:
    return sum(int(word) << 64 * i for i, word in enumerate(words))


def _advance_pcg64(state: dict[str, Any], n: int, is_in_halves: bool) -> None:
    """Advance a state without a left half by n draws of halves or words."""
    words = -(-n // 2) if is_in_halves else n
    inner = state["state"]
    factor, plus = kernels.pcg64_jump(inner["inc"], words)
    inner["state"] = (factor * inner["state"] + plus) % 2**128
    if is_in_halves:
        last: Any = PCG64(0)
        factor, plus = kernels.pcg64_jump(inner["inc"], 2**128 - 1)  # one step back
        before = (factor * inner["state"] + plus) % 2**128
        last.state = state | {"state": inner | {"state": before}}
        state["has_uint32"] = n % 2
        state["uinteger"] = int(last.random_raw()) >> 32


def _advance_philox(state: dict[str, Any], n: int, is_in_halves: bool) -> None:
    """Advance a state without left words by n draws of halves or words."""
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


def _make(kind: type, state: dict[str, Any]) -> Any:
    """Make a bit generator that has a state, which may be a subclass's."""
    made = kind(0)
    made.state = state | {"bit_generator": kind.__name__}
    return made


def _draw(generator: Any, shape: tuple[int, ...], dtype: str, draw: Draw) -> Any:
    """
    Draw an array, or return NotImplemented.

    If a signal handler or a finalizer changes the state in the meantime, the array is
    drawn again, from the new state.
    """
    n = math.prod(shape)
    kind = next((each for each in (PCG64, Philox) if isinstance(generator, each)), None)
    if kind is None or n < max(_bridge.get_threshold(), 1):
        return NotImplemented
    if not (is_for_device() or is_made_on_gpu(n)) or not can_hold(n):
        return NotImplemented
    with generator.lock:
        while True:
            state = generator.state
            before = _make(kind, state)
            out = _draw_from(state, shape, dtype, draw)
            if out is NotImplemented:
                return out
            states = generator, before, _make(kind, state)
            capsules = [each.capsule for each in states]
            if _bridge.replace_state(kind.__name__, *capsules):
                return out


def _draw_from(
    state: dict[str, Any], shape: tuple[int, ...], dtype: str, draw: Draw
) -> Any:
    """Draw an array and advance a state, or return NotImplemented."""
    n, left = math.prod(shape), _left(state, draw)
    if n <= len(left):
        return NotImplemented
    out = _bridge.empty(shape, numpy.dtype(dtype).num)
    if out is NotImplemented:
        return out
    inner = state["state"]
    bits = out.view(_BITS.get(dtype, dtype))
    if "inc" in inner:  # PCG64
        kernels.pcg64(launch, bits, n, draw, inner["state"], inner["inc"], left)
        _advance_pcg64(state, n - len(left), draw.halves)
    else:
        key, counter = ([*map(int, inner[name])] for name in ("key", "counter"))
        kernels.philox(launch, bits, n, draw, key, counter, left)
        _advance_philox(state, n - len(left), draw.halves)
    return out


# -- Calls ----------------------------------------------------------------------------


def _shape(size: Any) -> tuple[int, ...] | None:
    """Return the shape of a draw, or None if NumPy must handle it."""
    shape = size if type(size) is tuple else (size,)
    return shape if all(type(n) is int and n >= 0 for n in shape) else None


def _name(dtype: Any) -> str:
    """Return the name of a native dtype, or "" for any other."""
    found = numpy.dtype(dtype)
    is_usual = found.isnative and found.num == numpy.dtype(found.name).num
    return found.name if is_usual else ""


def _generator_random(
    generator: Any, size: Any = None, dtype: Any = numpy.float64, out: Any = None
) -> Any:
    shape, name = _shape(size), _name(dtype)
    if shape is None or out is not None or name not in _FLOATS:
        return NotImplemented
    return _draw(generator, shape, name, _FLOATS[name])


def _generator_integers(
    generator: Any,
    low: Any,
    high: Any = None,
    size: Any = None,
    dtype: Any = numpy.int64,
    endpoint: Any = False,
) -> Any:
    """Draw integers of a range of 2^n values, for which NumPy rejects no draws."""
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


def _generator_bytes(generator: Any, length: Any) -> Any:
    if type(length) is not int or length < 1:
        return NotImplemented
    words = _generator_integers(generator, 0, 2**32, -(-length // 4), "uint32")
    return words if words is NotImplemented else words.tobytes()[:length]


def _bitgenerator_random_raw(
    generator: Any, size: Any = None, output: Any = True
) -> Any:
    shape = _shape(size)
    if shape is None or not output:
        return NotImplemented
    return _draw(generator, shape, "uint64", kernels.RAW)
