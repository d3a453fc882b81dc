"""Counterparts of the members of NumPy's classes, for classes of mxnp."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from mxnp._bridge import Function, Method


def make_counterpart(name: str, member: Any, owner: str, adopts: bool = True) -> Any:
    """Make the counterpart of a method or attribute, for the class named `owner`."""
    row = f"{owner}.{name}"
    if callable(member):
        return Method(member, adopts=adopts, is_member=True, row=row)
    if not hasattr(member, "__get__"):
        return member
    get = Function(member.__get__, adopts=adopts, is_member=True, row=row)
    return attribute(member, get, adopts)


def attribute(member: Any, get: Callable[..., Any], adopts: bool = True) -> property:
    """Make the counterpart of an attribute, with a getter."""
    verbs = [getattr(member, f"__{verb}__", None) for verb in ("set", "delete")]
    change, delete = (
        verb and Function(verb, adopts=adopts, is_member=True) for verb in verbs
    )
    return property(get, change, delete, member.__doc__)


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
