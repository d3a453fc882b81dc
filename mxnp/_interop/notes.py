"""A note on an exception of a package that may not take mxnp arrays.

Only the runner adds it, to an exception that nobody caught: nothing is done before.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import Any

from mxnp._array.ndarray import ndarray

# What packages raise when they do not know a type.
_REFUSALS = (TypeError, AttributeError, NotImplementedError)
_NUMPYS = {"numpy", "mxnp"}

NOTE = (
    "Argument {name!r} of {function} is an mxnp array. If {package} needs the "
    "numpy.ndarray inside, pass {name}.__array__(), or run with --include {package}."
)


Whose = Callable[[FrameType], str]


def add_note(error: BaseException, whose: Whose) -> None:
    """
    Add a note to an exception that a package raised over an mxnp array.

    Parameters
    ----------
    error : BaseException
        An exception that nobody caught.
    whose : callable
        Whose code a frame runs: "program", "package" or "library", for Python's own.
    """
    if not _is_refusal(error):
        return
    for frame in _package_frames(error.__traceback__, whose):
        for name, value in _arguments(frame):
            if type(value) is ndarray:
                _add(error, name, frame)
                return


def _add(error: BaseException, name: str, frame: FrameType) -> None:
    function = frame.f_code.co_qualname
    text = NOTE.format(name=name, function=function, package=_package(frame))
    with contextlib.suppress(TypeError):  # the class has notes of another kind
        error.add_note(text)


def _is_refusal(error: BaseException) -> bool:
    """Say whether an exception may be about the type of an object."""
    if isinstance(error, _REFUSALS):
        return True
    words = ("type", "ndarray", "instance")
    return isinstance(error, ValueError | AssertionError | RuntimeError) and any(
        word in str(error) for word in words
    )


def _package_frames(traceback: TracebackType | None, whose: Whose) -> list[FrameType]:
    """Return the frames of packages after the program's last one, outermost first."""
    frames: list[FrameType] = []
    last = ""
    for frame, _ in walk_tb(traceback):
        owner = whose(frame)
        if owner == "program":
            frames.clear()
        elif owner == "package":
            last = _package(frame)
            if last not in _NUMPYS:
                frames.append(frame)
    return [] if last in _NUMPYS else frames


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _arguments(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of the call that a frame runs, with their names."""
    arguments = inspect.getargvalues(frame)
    values = arguments.locals
    for name in arguments.args:
        yield name, values.get(name)
    several = values.get(arguments.varargs or "")
    named = values.get(arguments.keywords or "")
    if isinstance(several, tuple):  # unless the function has bound the name anew
        yield from ((f"{arguments.varargs}[{i}]", x) for i, x in enumerate(several))
    if isinstance(named, dict):
        yield from named.items()
