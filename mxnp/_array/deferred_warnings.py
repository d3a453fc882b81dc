"""Warnings of recorded operations, issued under the filters that the program set."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from mxnp import _bridge


def _after_flush(method: Callable[..., Any]) -> Callable[..., Any]:
    """
    Make a method of `catch_warnings` or its like flush the queue first.

    The operations recorded before the block then warn under the filters from before it.
    Those recorded in the block warn under the filters of the block.
    """

    def wrapper(self: Any, *args: Any) -> Any:
        if _bridge.pending():
            _bridge.flush("warnings")
        return method(self, *args)

    wrapper.__name__, wrapper.__qualname__ = method.__name__, method.__qualname__
    wrapper.__doc__ = method.__doc__
    return wrapper


def flush_around(cls: type) -> None:
    """Make a context manager that catches warnings flush the queue at both ends."""
    for name in ("__enter__", "__exit__"):
        setattr(cls, name, _after_flush(getattr(cls, name)))


flush_around(warnings.catch_warnings)
