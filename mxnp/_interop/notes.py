"""Add a note to the exception of a package that may not accept mxnp arrays.

The runner calls this module for uncaught exceptions only, so it costs nothing until a
program fails.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import Any

from mxnp._array.ndarray import ndarray

# Exceptions that packages raise for a type that they do not support.
_REFUSALS = (TypeError, AttributeError, NotImplementedError)
_NUMPY_PACKAGES = {"numpy", "mxnp"}

NOTE = (
    "Argument {name!r} of {function} is an mxnp array. If {package} needs the "
    "numpy.ndarray inside, pass {name}.__array__(), or run with --include {package}."
)


Owner = Callable[[FrameType], str]


def add_note(error: BaseException, owner_of: Owner) -> None:
    """
    Add a note to an exception that a package raised over an mxnp array.

    Parameters
    ----------
    error : BaseException
        An uncaught exception.
    owner_of : callable
        A function that returns whose code a frame runs: "program", "package" or, for
        the standard library, "library".
    """
    if not _is_refusal(error):
        return
    for frame in _package_frames(error.__traceback__, owner_of):
        for name, value in _arguments(frame):
            if type(value) is ndarray:
                _add(error, name, frame)
                return


def _add(error: BaseException, name: str, frame: FrameType) -> None:
    function = frame.f_code.co_qualname
    text = NOTE.format(name=name, function=function, package=_package(frame))
    with contextlib.suppress(TypeError):  # the class uses `__notes__` in another way
        error.add_note(text)


def _is_refusal(error: BaseException) -> bool:
    """Check whether an exception may be about the type of an object."""
    if isinstance(error, _REFUSALS):
        return True
    words = ("type", "ndarray", "instance")
    return isinstance(error, ValueError | AssertionError | RuntimeError) and any(
        word in str(error) for word in words
    )


def _package_frames(
    traceback: TracebackType | None, owner_of: Owner
) -> list[FrameType]:
    """Return the frames of packages after the program's last one, outermost first."""
    frames: list[FrameType] = []
    last = ""
    for frame, _ in walk_tb(traceback):
        owner = owner_of(frame)
        if owner == "program":
            frames.clear()
        elif owner == "package":
            last = _package(frame)
            if last not in _NUMPY_PACKAGES:
                frames.append(frame)
    return [] if last in _NUMPY_PACKAGES else frames


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _arguments(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of the call that a frame runs, with their names."""
    arguments = inspect.getargvalues(frame)
    values = arguments.locals
    for name in arguments.args:
        yield name, values.get(name)
    # The function may have rebound either name, to an object of another type.
    varargs = values.get(arguments.varargs or "")
    keywords = values.get(arguments.keywords or "")
    if isinstance(varargs, tuple):
        yield from ((f"{arguments.varargs}[{i}]", x) for i, x in enumerate(varargs))
    if isinstance(keywords, dict):
        yield from keywords.items()
