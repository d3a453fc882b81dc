"""The ways in which mxnp's functions and methods compute, from the table of functions.

The recorded form of a function is called before NumPy's function, with the arguments
of the program, if the call is large and its arguments are ordinary. It records
operations, or it returns NotImplemented for every case that it does not handle exactly
as NumPy does, or it raises an exception. NumPy's function is called then: its rules,
its warnings and its errors apply. The module of a form is imported by the first call.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._bridge import Function, has_samplers
from mxnp._engine import core
from mxnp._engine.devices import GPU, devices

from .functions import ROWS, Row, Way, find_row
from .ordinary import find_optional, takes_ordinary

_HAS_GPU = GPU in devices()
# The kinds of modules that not every machine uses, and their packages.
_KINDS = {
    "gpu": (_HAS_GPU, "mxnp._gpu"),
    "card": (_HAS_GPU and core.gpu_has_own_memory(), "mxnp._gpu"),
    "draws": (has_samplers(numpy.__version__), "mxnp._routines"),
    "": (True, "mxnp._routines"),
}


def find_forms(row: Row) -> tuple[Way, ...]:
    """Return the recorded forms that this machine has of a function."""
    return tuple(way for way in row.forms if _KINDS[way.module.rpartition("/")[0]][0])


def _is_for_gpu(way: Way) -> bool:
    return way.module.rpartition("/")[0] in ("gpu", "card")


@cache  # for methods of generators, of which programs make many
def _find_ways(name: str) -> tuple[Row | None, tuple[Way, ...]]:
    """Return the row of a name, if there is one, and its forms."""
    row = ROWS.get(name)
    return row, find_forms(row) if row else ()


def is_recorded(original: Any) -> bool:
    """Return whether a function of NumPy has a recorded form for the processor."""
    row = find_row(original.__module__, original.__name__)
    return row is not None and any("/" not in way.module for way in row.forms)


@cache
def load_form(way: Way, optional: frozenset[str]) -> Callable[..., Any]:
    """Import the module of a recorded form, and return the form.

    The parameters in `optional` may be NumPy's NO_VALUE.
    """
    kind, _, module = way.module.rpartition("/")
    package = _KINDS[kind][1]
    with core.loading:
        found = importlib.import_module(f"{package}.{module}")
    form: Callable[..., Any] = getattr(found, way.function)
    return takes_ordinary(form, optional)


@cache
def load_forms(ways: tuple[Way, ...], optional: frozenset[str]) -> Callable[..., Any]:
    """Return a recorded form that calls others in turn until one takes the call."""
    if len(ways) == 1:
        return load_form(ways[0], optional)

    def form(*args: Any, **kwargs: Any) -> Any:
        for way in ways:
            result = load_form(way, optional)(*args, **kwargs)
            if result is not NotImplemented:
                break
        return result

    return form


def _load_and_call(
    counterpart: Function, place: str, ways: tuple[Way, ...], *args: Any, **kwargs: Any
) -> Any:
    """Call a recorded form, which later calls find loaded in an attribute."""
    form = load_forms(ways, find_optional(counterpart.__wrapped__))
    setattr(counterpart, place, form)
    return form(*args, **kwargs)


def _call(ways: tuple[Way, ...], *args: Any, **kwargs: Any) -> Any:
    """Call a recorded form, which the first call loads."""
    return load_forms(ways, frozenset())(*args, **kwargs)


def attach(
    counterpart: Function, name: str, bound: tuple[Any, ...] | None = None
) -> None:
    """
    Attach the ways of a row to a function or method of mxnp.

    Parameters
    ----------
    counterpart : Function
        The function or method of mxnp.
    name : str
        The name of the row; there may be none.
    bound : tuple, optional
        The first arguments of the recorded form of a function that is not kept. Others
        find their form loaded after the first call.
    """
    row, forms = _find_ways(name)
    if row is None:
        return
    if row.direct:
        counterpart.direct = row.direct
    if row.layer is not None:
        counterpart.layer, counterpart.layer_factor = True, row.layer.threshold_factor

    def load(place: str, forms: tuple[Way, ...]) -> Any:
        if not forms:
            return None
        if bound is not None:
            return partial(_call, forms, *bound)
        return partial(_load_and_call, counterpart, place, forms)

    processors = tuple(way for way in forms if not _is_for_gpu(way))
    first = next(iter(processors), None)
    counterpart.implementation = load("implementation", processors)
    if first is not None:
        counterpart.threshold_factor = first.threshold_factor
    if way := first or row.layer:
        counterpart.size_rule, counterpart.size_place = way.size_rule, way.size_place
    if processors != forms:
        form, way = load("gpu_implementation", forms), forms[0]
        sizes = way.threshold_factor, way.size_rule, way.size_place
        _bridge.set_gpu_way(counterpart, form, *sizes)
