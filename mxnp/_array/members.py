"""Counterparts of the members of NumPy's classes, for classes of mxnp."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from mxnp._bridge import Function, Method


def make_counterpart(name: str, member: Any, owner: str, adopts: bool = True) -> Any:
    """Make the counterpart of a method or attribute, for the class named `owner`."""
    if callable(member):
        method = Method(member, adopts=adopts)
        method.__name__, method.__doc__ = name, member.__doc__
        method.__qualname__, method.__module__ = f"{owner}.{name}", "mxnp"
        method.is_member = True
        return method
    if not hasattr(member, "__get__"):
        return member
    return attribute(member, adopts=adopts)


def attribute(
    member: Any, get: Callable[..., Any] | None = None, adopts: bool = True
) -> property:
    """Make the counterpart of an attribute. If `get` is given, it is the getter."""
    verbs = [getattr(member, f"__{verb}__", None) for verb in ("get", "set", "delete")]
    accessors = [verb and Function(verb, adopts=adopts) for verb in verbs]
    for each in filter(None, accessors):
        each.is_member = True
    if get is not None:
        accessors[0] = get
    getter, setter, deleter = accessors
    return property(getter, setter, deleter, member.__doc__)


def add_members(
    cls: type,
    original: type,
    excluded: Container[str],
    not_adopted: Container[str] = (),
) -> None:
    """
    Add counterparts of the members of a NumPy class to a class of mxnp.

    Members that a later version of NumPy adds are included.

    Parameters
    ----------
    cls : type
        The class of mxnp.
    original : type
        The class of NumPy.
    excluded : container of str
        Names of members that are not added.
    not_adopted : container of str
        Names of members whose results are returned unchanged.
    """
    for name, member in vars(original).items():
        if name not in excluded:
            adopts = name not in not_adopted
            counterpart = make_counterpart(name, member, cls.__name__, adopts)
            setattr(cls, name, counterpart)
