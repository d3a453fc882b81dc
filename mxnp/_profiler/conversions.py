"""Arrays that were passed to packages: counts by line, and what to do in loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mxnp import _bridge

from .model import Argument, Conversion, Place

_LEAST_CALLS = 10  # of a line in a loop
_MOST = 0.9  # of the calls
_SAVED = 1e-7  # seconds in each call of an array that is a NumPy array already
_LEAST_SHARE = 0.01  # of the time of the program
_SECOND = 1e9  # in nanoseconds
_METHODS = ("__init__", "__new__", "__call__", "__get__")


def function_name(function: Any) -> str:
    """Return the name of a package's function as programs write it."""
    owner = getattr(function, "__objclass__", function)
    module = getattr(owner, "__module__", None) or ""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", "")
    parts = [part for part in str(module).split(".") if not part.startswith("_")]
    parts += [part for part in str(name).split(".") if part not in _METHODS]
    return ".".join(parts)


def conversions(
    counts: Iterable[tuple[Place, int, Any, list[int]]], wall: float
) -> list[Conversion]:
    """
    Return what was passed to packages, the most expensive first.

    Parameters
    ----------
    counts : iterable of (Place, int, callable, list of int)
        The place, the argument's number from the end, or 0 for the call, the function,
        and the counts.
    wall : float
        The time of the program.
    """
    calls: dict[Any, list[int]] = {}
    arguments: dict[Any, list[Argument]] = defaultdict(list)
    for place, number, function, values in counts:
        key = (place, function_name(function))
        if key[1].partition(".")[0] in ("numpy", "mxnp"):
            continue
        if number == 0:
            before = calls.get(key, [0] * len(values))
            calls[key] = [sum(pair) for pair in zip(before, values, strict=True)]
        else:
            n, elements, _, nbytes, arrays, _, *compared = values
            text = place.argument(key[1], number) if n == arrays else ""
            arguments[key].append(
                Argument(text, n, arrays, elements, nbytes, *compared)
            )
    found = []
    for key, values in calls.items():
        n, _, waiting, nbytes, arrays, waits, *_ = values
        place, function = key
        seconds = waiting / _SECOND
        one = Conversion(place, function, n, arrays, nbytes, waits, seconds, "")
        found.append(replace(one, advice=_advice(one, arguments[key], wall)))
    return sorted(found, key=lambda one: (-one.waiting, -one.calls))


def _advice(one: Conversion, arguments: list[Argument], wall: float) -> str:
    """Return what is known about a call in a loop, and what helps."""
    if one.calls < _LEAST_CALLS:
        return ""
    most = _MOST * (one.calls - 1)
    same = [each for each in arguments if each.same >= most]
    parts = [each for each in arguments if each.parts >= most]
    kept = same or parts
    if not kept:
        return "New arrays at each call, so they cannot be converted earlier."
    names = ", ".join(dict.fromkeys(each.expression for each in kept))
    what = "The same array" if same else "Parts of one array"
    known = f"{what} at each call{names and ': '}{names}."
    is_small = all(
        each.elements < _bridge.get_threshold() * each.arrays for each in kept
    )
    is_only_read = all(
        each.unchanged >= most and each.calls == each.arrays for each in arguments
    )
    if is_small and one.calls * _SAVED >= _LEAST_SHARE * wall:
        if same:
            return f"{known} Convert it once, before the loop: {_copies(same, '')}."
        return (
            f"{known} Take them from a NumPy array, which is made once, before the "
            "loop: x_np = x.__array__()."
        )
    if is_only_read and not is_small and one.waits >= most:
        return (
            f"{known} Each call waits for operations that read it. If {one.function} "
            "only reads it too, pass a copy that is made once, before the loop: "
            f"{_copies(same, '.copy()')}."
        )
    return f"{known} To convert it earlier would save little."


def _copies(arguments: list[Argument], copy: str) -> str:
    """Return assignments that make NumPy arrays of the arguments."""
    texts = dict.fromkeys(each.expression or "x" for each in arguments)
    return "; ".join(
        f"{text if text.isidentifier() else 'x'}_np = {text}{copy}.__array__()"
        for text in texts
    )
