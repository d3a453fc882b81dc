"""Deferred warnings where a program says how it wants to hear of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from mxnp import _bridge


def _after_flush(method: Callable[..., Any]) -> Callable[..., Any]:
    """
    Wrap a method of catch_warnings: what is recorded runs first.

    So operations recorded before the block warn as the program had it before, and those
    recorded in it as the block has it.
    """

    def wrapper(self: Any, *args: Any) -> Any:
        if _bridge.pending():
            _bridge.flush("warnings")
        return method(self, *args)

    wrapper.__name__, wrapper.__qualname__ = method.__name__, method.__qualname__
    wrapper.__doc__ = method.__doc__
    return wrapper


for _name in ("__enter__", "__exit__"):
    _method = getattr(warnings.catch_warnings, _name)
    setattr(warnings.catch_warnings, _name, _after_flush(_method))
