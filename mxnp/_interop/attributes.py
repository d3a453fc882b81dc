"""Find classes of packages whose attributes the program sets.

The interpreter sets an attribute without a call. An object of a package should get
NumPy arrays nevertheless, if code of its class reads the attribute. Others are
the program's own. A class gets a slot of its own for this, which makes all its stores
slower. So only those classes get one that read an attribute which the program's code
sets. See csrc/python/packages/attributes.c.
"""

from __future__ import annotations

import dis
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

from mxnp import _bridge

_STORE, _EXTENDED = dis.opmap["STORE_ATTR"], dis.opmap["EXTENDED_ARG"]
_LOADS = {dis.opmap[name] for name in dis.opmap if name.startswith("LOAD_FAST")}

_ANY = {"setattr", "__setattr__"}  # a program that names these may set any attribute
_set: set[str] = set()  # attributes that the program's code sets, except of self
named: set[str] = set()  # all names in the program's code

# Names by the address of a class, which may be reused. References have no callbacks,
# which would lose the exception of a signal handler that runs in them.
_Table = dict[int, tuple[weakref.ref[type], set[str]]]
_classes: _Table = {}  # that were met, with the names that they read
_bases: _Table = {}
_last: _Table = {}  # classes of packages, with the names of the last class derived


def _find(table: _Table, cls: type) -> set[str] | None:
    reference, names = table.get(id(cls), (None, None))
    return names if reference and reference() is cls else None


def _add(table: _Table, cls: type, names: set[str]) -> None:
    if len(table) & (len(table) - 1) == 0:  # a power of 2
        for key, (reference, _) in list(table.items()):
            if reference() is None:
                table.pop(key, None)
    table[id(cls)] = weakref.ref(cls), names


def _codes_in(functions: Iterable[Any]) -> Iterator[CodeType]:
    """Yield the code of functions, also of functions in them or behind decorators."""
    found: list[Any] = list(functions)
    for each in found:  # grows
        if type(each) is FunctionType:
            found += [each.__code__, vars(each).get("__wrapped__")]
        elif type(each) is CodeType:
            found += each.co_consts
            yield each


def _stores_in(code: CodeType, *, self_too: bool) -> Iterator[str]:
    """Yield the attributes that code sets."""
    operations, arguments = code.co_code[::2], code.co_code[1::2]
    has_self = not self_too and code.co_varnames[:1] == ("self",)
    at = operations.find(_STORE)
    while at >= 0:
        index, before = arguments[at], at - 1
        if operations[before] == _EXTENDED:
            index |= arguments[before] << 8
            before -= 1
        # the last variable of an instruction that loads one or two is in its low bits
        is_self = operations[before] in _LOADS and arguments[before] & 15 == 0
        if not (has_self and is_self):
            yield code.co_names[index]
        at = operations.find(_STORE, at + 1)


def see_stores(code: CodeType) -> None:
    """See code of the program, and of the functions in it, before it runs."""
    before = len(_set)
    for each in _codes_in([code]):
        named.update(each.co_names)
        _set.update(_stores_in(each, self_too=False))
        _set.update(_ANY.intersection(each.co_names))
    if len(_set) > before:
        for reference, names in list(_classes.values()):
            _watch(reference(), names, _set)


def _watch(cls: type | None, names: set[str], stored: set[str]) -> None:
    if cls is not None and not (names | _ANY).isdisjoint(stored):
        _bridge.watch_attributes(cls)


_Members = Callable[[type], Iterator[tuple[str, Any]]]


def _names_in(cls: type, members_of: _Members) -> set[str]:
    """Return the names in the code of a class of a package, and its members'."""
    names = _find(_bases, cls)
    if names is None:
        members = list(members_of(cls))
        names = {name for name, _ in members}
        for code in _codes_in(function for _, function in members):
            names.update(code.co_names)
        _add(_bases, cls, names)
    return names


def see_class(
    cls: type, packages: list[type], own: list[type], members_of: _Members
) -> None:
    """
    Watch a class, now or when the program's code sets one of its attributes.

    Parameters
    ----------
    cls : type
        The class, which is or derives from a package's.
    packages, own : list of type
        Its bases that are classes of packages, and its bases of the program.
    members_of : callable
        Yields the names and functions of the members of a class.
    """
    if _find(_classes, cls) is not None:
        return
    others = [each for base in own for each in members_of(base)]
    names = set().union(*(_names_in(base, members_of) for base in packages))
    if "getattr" in names:  # such as get_params() of scikit-learn
        made = [function for name, function in others if name == "__init__"]
        names.update(name for code in _codes_in(made) for name in code.co_varnames)
    names = {name for name in names if not name.startswith("__")}
    last = _find(_last, packages[0])
    if names == last:
        names = last  # a program that makes many classes has one set for all
    else:
        _add(_last, packages[0], names)
    stored = set(_set)
    for code in _codes_in(function for _, function in others):
        stored.update(_stores_in(code, self_too=True))
    _add(_classes, cls, names)
    _watch(cls, names, stored)


def reads(cls: type) -> set[str]:
    """Return the names in the code of packages in a class and its bases."""
    return _find(_classes, cls) or set()


def reads_attribute(cls: type, name: str, mro_of: Callable[[type], Any]) -> bool:
    """Check whether code of packages in a class, or a base, reads an attribute."""
    return any(name in reads(base) for base in mro_of(cls))
