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
from typing import Any, Generic, TypeVar

from mxnp import _bridge

_T = TypeVar("_T")

_STORE, _EXTENDED = dis.opmap["STORE_ATTR"], dis.opmap["EXTENDED_ARG"]
_LOADS = {dis.opmap[name] for name in dis.opmap if name.startswith("LOAD_FAST")}

_ANY = {"setattr", "__setattr__"}  # a program that names these may set any attribute
_set: set[str] = set()  # attributes that the program's code sets, except of self
named: set[str] = set()  # all names in the program's code


class ClassTable(Generic[_T]):
    """
    Values of classes, which it does not keep alive.

    The address of a class may be reused. References have no callbacks, which would lose
    the exception of a signal handler that runs in them.
    """

    def __init__(self) -> None:
        self._rows: dict[int, tuple[weakref.ref[type], _T]] = {}

    def find(self, cls: type) -> _T | None:
        """Return the value of a class, or None."""
        reference, value = self._rows.get(id(cls), (None, None))
        return value if reference and reference() is cls else None

    def add(self, cls: type, value: _T) -> None:
        """Set the value of a class, which must not refer to the class."""
        if len(self._rows) & (len(self._rows) - 1) == 0:  # a power of 2
            for key, (reference, _) in list(self._rows.items()):
                if reference() is None:
                    self._rows.pop(key, None)
        self._rows[id(cls)] = weakref.ref(cls), value

    def items(self) -> list[tuple[type, _T]]:
        """Return the classes that are alive, and their values."""
        rows = [(reference(), value) for reference, value in list(self._rows.values())]
        return [(cls, value) for cls, value in rows if cls is not None]


_classes = ClassTable[set[str]]()  # that were met, with the names that they read
_last = ClassTable[set[str]]()  # of packages, with the names of the last class derived


def _codes_in(functions: Iterable[Any]) -> list[CodeType]:
    """Return the code of functions, also of functions in them or behind decorators."""
    found: list[Any] = list(functions)
    codes = []
    seen: set[int] = set()  # functions, which may wrap each other
    for each in found:  # grows
        if type(each) is FunctionType and id(each) not in seen:
            seen.add(id(each))
            found += each.__code__, getattr(each, "__wrapped__", None)
        elif type(each) is CodeType:
            codes.append(each)
            if CodeType in map(type, each.co_consts):  # a function in it
                found += each.co_consts
    return codes


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
        for cls, names in _classes.items():
            _watch(cls, names, _set)


def _watch(cls: type, names: set[str], stored: set[str]) -> None:
    if not (names | _ANY).isdisjoint(stored):
        _bridge.watch_attributes(cls)


def is_seen(cls: type) -> bool:
    """Check whether `see_class` was called for a class."""
    return _classes.find(cls) is not None


def see_class(
    cls: type, base: type, names: set[str], members: list[tuple[str, Any]]
) -> None:
    """
    Watch a class, now or when the program's code sets one of its attributes.

    Parameters
    ----------
    cls, base : type
        The class, and the first class of a package in its order of bases.
    names : set of str
        The names in the code of its bases from packages, and of their members.
    members : list of tuple
        Names and functions of the members of its bases from the program.
    """
    if "getattr" in names:  # such as get_params() of scikit-learn
        made = [function for name, function in members if name == "__init__"]
        names.update(name for code in _codes_in(made) for name in code.co_varnames)
    last = _last.find(base)
    if names == last:
        names = last  # a program that makes many classes has one set for all
    else:
        _last.add(base, names)
    stored = set(_set)
    for code in _codes_in(function for _, function in members):
        stored.update(_stores_in(code, self_too=True))
    _classes.add(cls, names)
    _watch(cls, names, stored)


def reads(cls: type) -> set[str]:
    """Return the names in the code of packages in a class and its bases."""
    return _classes.find(cls) or set()


def reads_attribute(cls: type, name: str, mro_of: Callable[[type], Any]) -> bool:
    """Check whether code of packages in a class, or a base, reads an attribute."""
    return any(name in reads(base) for base in mro_of(cls))
