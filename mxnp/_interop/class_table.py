"""A table of what is known of classes."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

_T = TypeVar("_T")


class ClassTable(Generic[_T]):
    """
    Values of classes, which it does not keep alive.

    The address of a class may be reused. References have no callbacks, which would lose
    the exception of a signal handler that runs in them.
    """

    def __init__(self) -> None:
        self._rows: dict[int, tuple[weakref.ref[type], _T]] = {}

    def find(self, cls: type) -> _T | None:
        """Return the value of a class, or None."""
        reference, value = self._rows.get(id(cls), (None, None))
        return value if reference and reference() is cls else None

    def add(self, cls: type, value: _T) -> None:
        """Set the value of a class, which must not refer to the class."""
        if len(self._rows) & (len(self._rows) - 1) == 0:  # a power of 2
            for key, (reference, _) in list(self._rows.items()):
                if reference() is None:
                    self._rows.pop(key, None)
        self._rows[id(cls)] = weakref.ref(cls), value

    def items(self) -> list[tuple[type, _T]]:
        """Return the classes that are alive, and their values."""
        rows = [(reference(), value) for reference, value in list(self._rows.values())]
        return [(cls, value) for cls, value in rows if cls is not None]
