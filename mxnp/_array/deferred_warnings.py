"""Warnings of recorded operations, issued under the filters that the program set."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from mxnp import _bridge
from mxnp._bridge import frameless


def _flush() -> None:
    if _bridge.pending():
        _bridge.flush("warnings")


def flush_around(cls: type) -> None:
    """
    Make `catch_warnings` or a class like it flush the queue at both ends.

    The operations recorded before the block then warn under the filters from before it.
    Those recorded in the block warn under the filters of the block.
    """
    for name in ("__enter__", "__exit__"):
        setattr(cls, name, frameless(getattr(cls, name), True))


def flush_inside(context: Callable[..., Any]) -> Callable[..., Any]:
    """Return a context manager that flushes the queue before the other one ends."""

    @functools.wraps(context)
    @contextlib.contextmanager
    def wrapper(*args: Any, **kwargs: Any) -> Iterator[Any]:
        __tracebackhide__ = True
        with context(*args, **kwargs) as value:
            yield value
            _flush()

    return wrapper


class _Caught(list[warnings.WarningMessage]):
    """The list of `catch_warnings`, which contains what recorded operations warn of."""


for _name in (
    *("__add__", "__contains__", "__delitem__", "__eq__", "__getitem__", "__iadd__"),
    *("__imul__", "__iter__", "__len__", "__mul__", "__ne__", "__repr__"),
    *("__reversed__", "__rmul__", "__setitem__", "clear", "copy", "count", "index"),
    *("insert", "pop", "remove", "reverse", "sort"),
):
    setattr(_Caught, _name, frameless(getattr(list, _name), True))


def _return_caught(enter: Callable[..., Any]) -> Callable[..., Any]:
    """Make ``__enter__`` of `catch_warnings` return a list that flushes when read."""

    @functools.wraps(enter, assigned=("__name__", "__qualname__", "__doc__"))
    def wrapper(self: warnings.catch_warnings[Any]) -> Any:
        log = enter(self)
        module: Any = self._module  # type: ignore[attr-defined]
        show = getattr(module, "_showwarnmsg_impl", None)
        if log is None or getattr(show, "__self__", None) is not log:
            return log
        caught = _Caught()
        module._showwarnmsg_impl = caught.append
        return caught

    return frameless(wrapper)


# `filterwarnings` and `simplefilter` call `_add_filter`. The operations recorded before
# the filters change warn under the filters from before.
for _name in ("_add_filter", "resetwarnings"):
    setattr(warnings, _name, frameless(getattr(warnings, _name), True))
flush_around(warnings.catch_warnings)
warnings.catch_warnings.__enter__ = _return_caught(  # type: ignore[method-assign]
    warnings.catch_warnings.__enter__
)
