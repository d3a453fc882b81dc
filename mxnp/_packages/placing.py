"""Put divided calls in the place of compiled functions, when packages are imported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._engine.threads import count_threads
from mxnp._interop.adapters import when_imported

from .entries import Entry, FinalError
from .table import GRAINS, NOT_DIVIDED, ROWS, Row

_FRAMES = 24  # more than a divided call needs


def call_divider(row: Row, entry: Entry, *args: Any, **kwargs: Any) -> Any:
    """Divide a call. While calls are verified, another function stands for this one."""
    return row.divide(entry, *args, **kwargs)


def _descend(frames: int) -> None:
    """Raise a RecursionError if so many more frames would exceed the limit."""
    if frames:
        _descend(frames - 1)


def _was_raised_in(module: str, error: BaseException) -> bool:
    """Check whether code of a module raised an error. Cython's has frames."""
    entry = error.__traceback__
    # Without calls: few frames may be left.
    while entry and entry.tb_frame.f_globals.get("__name__") != module:
        entry = entry.tb_next
    return entry is not None


def _divider(row: Row, entry: Entry) -> Callable[..., Any]:
    """Return what the bridge calls before the function of an entry."""

    def divided(*args: Any, **kwargs: Any) -> Any:
        if count_threads() < 2:
            return NotImplemented
        _descend(_FRAMES)
        try:
            return call_divider(row, entry, *args, **kwargs)
        except FinalError as failed:
            return failed.args[0]
        except Exception as error:
            if not _was_raised_in(row.module, error):
                raise
            return NotImplemented  # SciPy raises it again, in its own frames

    divided.__name__ = divided.__qualname__ = entry.name
    return divided


def _public_name(row: Row, name: str) -> str:
    """Return the name of a function, without the private modules that it is in."""
    parts = (part for part in row.module.split(".") if part[0] != "_")
    return ".".join((*parts, name))


def _functions_of(row: Row, module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the names and functions that a version of the package has."""
    if row.names == "ufuncs":
        yield from (
            (name, x)
            for name, x in vars(module).items()
            if isinstance(x, numpy.ufunc) and name not in NOT_DIVIDED
        )
    for path in row.names.split():
        owner, _, name = path.rpartition(".")
        holder = getattr(module, owner, None) if owner else module
        if name in getattr(holder, "__dict__", ()):
            yield name, vars(holder)[name]


def place(module: ModuleType, grain: int = 0) -> None:
    """
    Divide large calls of the functions of a module.

    Parameters
    ----------
    module : module
        A module in the table.
    grain : int, optional
        For tests: the least number of elements for a thread, in place of that of each
        row.
    """
    for row in ROWS:
        if row.module != module.__name__:
            continue
        for name, function in _functions_of(row, module):
            own = grain or GRAINS.get(name, row.grain)
            entry = Entry(function, own, _public_name(row, name))
            least = grain or row.least or 2 * own
            _bridge.divide_calls(function, _divider(row, entry), least)


def load() -> None:
    """Divide the functions of the table, now or as soon as the program imports them."""
    for name in {row.module for row in ROWS}:
        when_imported(name, place)
