"""Decide whose code it is: the program's, a package's, or neither's.

The file of a module decides, or the module's name, if the user has named it.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from mxnp import _bridge

from .program_files import is_in_folder, is_in_package, is_in_standard_library

__all__ = [
    "ImportFilter",
    "belongs_to_package",
    "belongs_to_program",
    "get_rules",
    "is_excluded",
    "is_from_package",
    "owner_of_frame",
    "set_rules",
]


class ImportFilter:
    """The modules that get mxnp, or keep NumPy, whatever folder they are in."""

    def __init__(
        self, include: Iterable[str] = (), exclude: Iterable[str] = ()
    ) -> None:
        self.include, self.exclude = tuple(include), tuple(exclude)


_rules: ImportFilter | None = None  # None: imports of NumPy are not replaced
_in_package: WeakKeyDictionary[type, dict[str, bool]] = WeakKeyDictionary()


def get_rules() -> ImportFilter | None:
    """Return the modules that the user has named, or None if mxnp is not installed."""
    return _rules


def set_rules(rules: ImportFilter | None) -> None:
    """Set the modules that the user has named."""
    global _rules  # noqa: PLW0603
    _rules = rules
    _in_package.clear()
    _bridge.forget_owners()


def _matches(prefixes: Iterable[str], name: str, file: str | None) -> bool:
    """Check whether a module is one of the prefixes, or inside, by name or by path."""
    for prefix in prefixes:
        if "/" in prefix or os.sep in prefix:
            if file is not None and is_in_folder(file, prefix):
                return True
        elif name == prefix or name.startswith(prefix + "."):
            return True
    return False


def is_excluded(name: str) -> bool:
    """Check whether the user has named a package, or one around it, to keep NumPy."""
    return _rules is not None and _matches(_rules.exclude, name, None)


def belongs_to_program(names: dict[str, Any], source: str) -> bool:
    """
    Check whether code belongs to the program, so that its imports get mxnp.

    Parameters
    ----------
    names : dict
        The globals of the code.
    source : str
        The file name in its code object.
    """
    rules = _rules or ImportFilter()
    spec = names.get("__spec__")
    name = getattr(spec, "name", None) or names.get("__name__") or ""
    file = names.get("__file__") or getattr(spec, "origin", None)
    if not isinstance(file, str):
        file = None
    if _matches(rules.exclude, name, file):
        return False
    if _matches(rules.include, name, file) or names.get("__name__") == "__main__":
        return True
    if file is None:
        return True  # a notebook's cell, or code passed to exec
    if file in ("built-in", "frozen") or is_in_standard_library(file):
        # The standard library does not import NumPy itself. It runs code that the
        # program passed as a string, as timeit does.
        return source.startswith("<") and not source.startswith("<frozen")
    return not is_in_package(file)


def belongs_to_package(names: dict[str, Any]) -> bool:
    """Check whether a package, which expects NumPy's arrays, has these globals."""
    file = names.get("__file__")
    if not isinstance(file, str) or is_in_standard_library(file):
        return False
    return not belongs_to_program(names, "")


def owner_of_frame(frame: types.FrameType) -> str:
    """Return whose code a frame runs: "program", "package" or "library"."""
    if belongs_to_package(frame.f_globals):
        return "package"
    is_own = belongs_to_program(frame.f_globals, frame.f_code.co_filename)
    return "program" if is_own else "library"


def _finds_in_package(cls: type, method: str) -> bool:
    if method == "__ne__" and vars(object)[method] is getattr(cls, method):
        method = "__eq__"  # object.__ne__ calls it
    for each in cls.__mro__:
        if method in vars(each):
            module = sys.modules.get(each.__module__)
            return module is not None and belongs_to_package(vars(module))
    return False


def is_from_package(cls: type, method: str) -> bool:
    """Check whether an installed package defines a method of a class. Cached."""
    answers = _in_package.setdefault(cls, {})
    if method not in answers:
        answers[method] = _finds_in_package(cls, method)
    return answers[method]


_bridge.set_package_test(is_from_package)
