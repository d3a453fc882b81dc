"""Tests of what is known of the classes of packages."""

from __future__ import annotations

import functools
import gc

from mxnp import _bridge
from mxnp._interop.attributes import ClassTable, _codes_in


def outer(first):
    def inner(x):
        return x.inside + first.around

    return inner


@functools.wraps(outer)
def wrapper(*args):
    return wrapper.own(*args)


def circle():
    return circle.one


circle.__wrapped__ = circle


def test_names_in_functions():
    assert _bridge.names_in([]) == set()
    assert _bridge.names_in([None, len, outer]) == {"inside", "around"}
    assert _bridge.names_in([wrapper]) == {"wrapper", "own", "inside", "around"}
    assert _bridge.names_in([circle]) == {"circle", "one"}


def test_code_in_functions():
    names = [code.co_name for code in _codes_in([None, wrapper, circle])]
    assert sorted(names) == ["circle", "inner", "outer", "wrapper"]


def test_a_table_of_classes_keeps_none_alive():
    table = ClassTable[int]()
    kept = [type(f"Kept{i}", (), {}) for i in range(5)]
    for i in range(100):
        table.add(type(f"Lost{i}", (), {}), i)
        gc.collect(0)
    for i, cls in enumerate(kept):
        table.add(cls, i)
    gc.collect()
    assert table.find(int) is None
    assert [table.find(cls) for cls in kept] == [*range(5)]
    assert table.items() == [(cls, i) for i, cls in enumerate(kept)]


def test_an_address_may_be_that_of_another_class():
    table = ClassTable[str]()
    cls = type("First", (), {})
    table.add(cls, "first")
    table._rows[id(int)] = table._rows[id(cls)]
    assert table.find(int) is None
    table.add(int, "second")
    assert (table.find(int), table.find(cls)) == ("second", "first")
