"""Run code of the program in the middle of a call, as a signal handler or finalizer does."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import mxnp

OWN = mxnp.__path__[0]


def is_own(code: CodeType) -> bool:
    return code.co_filename.startswith(OWN)


def at_each_line(
    call: Callable[[], Any],
    handler: Callable[[], Any],
    is_counted: Callable[[CodeType], bool] = is_own,
) -> Iterator[bool]:
    """
    Call a function again and again, with a handler before another line of mxnp each time.

    Signal handlers and finalizers run between two instructions of Python too. Yield
    whether the handler has run.
    """
    for moment in itertools.count():
        left = moment

        def trace(frame: Any, event: str, argument: Any) -> Any:
            nonlocal left
            if not is_counted(frame.f_code):
                return None
            if event == "line":
                left -= 1
                if left == -1:
                    sys.settrace(None)
                    handler()
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(before)
        has_run = left < 0
        yield has_run
        if not has_run:
            return
