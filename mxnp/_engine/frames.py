"""Methods that are written in Python, and whose frames no traceback shows."""

from __future__ import annotations

import types
from typing import Any, TypeVar

from mxnp._bridge import frameless

_Class = TypeVar("_Class", bound=type)

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
