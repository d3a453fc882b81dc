"""Put divided calls in the place of compiled functions, when packages are imported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._engine import environment
from mxnp._interop.adapters import when_imported

from .entries import Entry, count_threads
from .table import NOT_DIVIDED, ROWS, Row


def _divider(row: Row, entry: Entry) -> Callable[..., Any]:
    """Return what the bridge calls before the function of an entry."""

    def divide(*args: Any, **kwargs: Any) -> Any:
        if count_threads() < 2:
            return NotImplemented
        return row.divide(entry, *args, **kwargs)

    return divide


def _functions_of(row: Row, module: ModuleType) -> Iterator[Any]:
    """Yield those functions of a row that a version of the package has."""
    if row.names == "ufuncs":
        yield from (
            x
            for name, x in vars(module).items()
            if isinstance(x, numpy.ufunc) and name not in NOT_DIVIDED
        )
    else:
        yield from (getattr(module, x) for x in row.names.split() if hasattr(module, x))


def place(module: ModuleType, grain: int = 0) -> None:
    """
    Divide large calls of the functions of a module.

    Parameters
    ----------
    module : module
        A module in the table.
    grain : int, optional
        For tests: the elements of which a thread takes at least as many, in place of
        those of the rows.
    """
    for row in ROWS:
        if row.module != module.__name__:
            continue
        for function in _functions_of(row, module):
            divide = _divider(row, Entry(function, grain or row.grain))
            _bridge.divide_calls(function, divide, min(row.least, grain or row.least))


def load() -> None:
    """Divide the functions of the table, now or as soon as the program imports them."""
    if environment.get("MXNP_SCIPY") == "1":
        for name in {row.module for row in ROWS}:
            when_imported(name, place)
