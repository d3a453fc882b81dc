"""Members of NumPy's classes, crossed over to classes of ours."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from mxnp._bridge import Function, Method


def crossed(name: str, member: Any, owner: str, adopts: bool = True) -> Any:
    """Give the counterpart of a method or attribute, for the class named `owner`."""
    if callable(member):
        method = Method(member, adopts=adopts)
        method.__name__, method.__doc__ = name, member.__doc__
        method.__qualname__ = f"{owner}.{name}"
        method.is_member = True
        return method
    if not hasattr(member, "__get__"):
        return member
    return attribute(member, adopts=adopts)


def attribute(
    member: Any, get: Callable[..., Any] | None = None, adopts: bool = True
) -> property:
    """Give the counterpart of an attribute, with a getter of our own if given."""
    verbs = [getattr(member, f"__{verb}__", None) for verb in ("get", "set", "delete")]
    accessors = [verb and Function(verb, adopts=adopts) for verb in verbs]
    for each in filter(None, accessors):
        each.is_member = True
    if get is not None:
        accessors[0] = get
    getter, setter, deleter = accessors
    return property(getter, setter, deleter, member.__doc__)


def add_members(
    cls: type, original: type, own: Container[str], plain: Container[str] = ()
) -> None:
    """
    Put the members of a NumPy class on a class of ours.

    What a newer NumPy adds comes along.

    Parameters
    ----------
    cls : type
        The class of ours.
    original : type
        The NumPy class.
    own : container of str
        Names that the class has for itself.
    plain : container of str
        Names of members whose results are handed on as they are.
    """
    for name, member in vars(original).items():
        if name not in own:
            value = crossed(name, member, cls.__name__, adopts=name not in plain)
            setattr(cls, name, value)
