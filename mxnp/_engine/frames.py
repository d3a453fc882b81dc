"""Frames: methods whose frames no traceback shows, and the variables of a frame."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

from mxnp._bridge import frameless

_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])

# Methods that are called often and raise no errors of their own.
QUICK = {
    *("__array_wrap__", "__instancecheck__", "__iter__", "__len__", "__next__"),
    "__subclasscheck__",
}


def frameless_members(cls: _Class) -> _Class:
    """Keep the methods that are written in Python out of tracebacks; a decorator."""
    for name, member in list(vars(cls).items()):
        if name not in QUICK:
            changed = _frameless_member(name, member)
            if changed is not member:
                setattr(cls, name, changed)
    return cls


def prepares(function: _Function) -> _Function:
    """
    Make a method that prepares a call of NumPy; a decorator.

    NumPy's warnings name the line of the innermost frame, which should be the
    program's. So the call is made when the method is over.

    Parameters
    ----------
    function : function
        It returns a tuple of a function and its arguments, or a result of another kind.

    Returns
    -------
    function
        The method, whose frame no traceback shows.
    """
    return frameless(function, False, True)


def _frameless_member(name: str, member: Any) -> Any:
    if type(member) is types.FunctionType:
        function = frameless(member)
        return staticmethod(function) if name == "__new__" else function
    if type(member) in (classmethod, staticmethod):
        return type(member)(frameless(member.__func__))
    if type(member) is property:
        verbs: tuple[Any, ...] = (member.fget, member.fset, member.fdel)
        get, change, delete = (verb and frameless(verb) for verb in verbs)
        return property(get, change, delete, member.__doc__)
    return member


OPTIMIZED = 1  # a flag of code objects whose variables are not in a dict
_ASK_FOR_LOCALS = {"locals", "vars", "dir", "eval", "exec"}
_OWN_REFERENCES = 3  # the frame, a variable and getrefcount refer to the dict


def variables_of(frame: types.FrameType) -> Any:
    """
    Return the variables of a function that runs, by name.

    Before Python 3.13 the frame keeps the dict `f_locals`, and with it all values. So
    the dict is cleared, unless the program itself may hold it.

    Parameters
    ----------
    frame : frame
        A frame of the program.

    Returns
    -------
    mapping or None
        None if the frame runs no function, or its code may ask for the dict.
    """
    code = frame.f_code
    is_function = code.co_flags & OPTIMIZED
    if not is_function or not _ASK_FOR_LOCALS.isdisjoint(code.co_names):
        return None
    if sys.version_info >= (3, 13):
        return frame.f_locals
    f_locals = frame.f_locals
    names = dict(f_locals)
    if sys.getrefcount(f_locals) == _OWN_REFERENCES:
        f_locals.clear()
    return names
