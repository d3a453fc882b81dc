"""Test doors with objects that answer questions in odd ways.

A door must not run code of the program or of packages that NumPy would not run, nor
raise their exceptions.
"""

from __future__ import annotations

import sys
import types

import pytest
from support.doors import installed, needs_doors

import mxnp
from mxnp import _bridge
from mxnp._interop import door

pytestmark = needs_doors


@pytest.fixture
def odd():
    with installed():
        import visited.odd

        yield visited.odd


def run(text, **names):
    """Run text as the code of a program."""
    names |= {"__name__": "__main__", "np": mxnp}
    exec(compile(text, "<stdin>", "exec"), names)
    return names["result"]


@pytest.mark.parametrize(
    "meta", ["NoHash", "EqualToAll", "OtherOrder", "Questions", "ModuleProperty"]
)
def test_odd_metaclasses(odd, meta):
    cls = odd.make(getattr(odd, meta))
    text = """
thing = cls()
x = np.arange(5.0)
thing.write(x), list(map(thing.write, [x]))
result = thing.get(x), str(x[0]), type(thing.write(x)) is np.ndarray
"""
    del odd.asked[:]
    result = run(text, cls=cls)
    assert odd.asked == []
    assert result == ("ndarray", "2.0", True)


@pytest.mark.parametrize(
    "meta", ["NoHash", "EqualToAll", "OtherOrder", "ModuleProperty"]
)
def test_odd_metaclasses_of_the_program(odd, meta):
    text = """
class Own(metaclass=meta):
    __module__ = "__main__"
    def step(self, x):
        assert type(x) is np.ndarray
        return x + 1
del odd.asked[:]
x = np.arange(5.0)
result = odd.step(Own(), x)[0], odd.count(Own(), x), odd.asked
"""
    assert run(text, odd=odd, meta=getattr(odd, meta)) == (1, 2, [])


def test_objects_that_answer_for_others(odd):
    text = """
x = np.arange(5.0)
def call(f, x): return f(x)
a = [call(odd.proxy, x), call(odd.attributes, x), odd.attributes(x), odd.kind(x)]
b = [f(x) for f in [odd.proxy, odd.attributes, odd.partial]]
c = odd.count(odd.proxy, odd.attributes, [odd.proxy], x, key=odd.proxy)
d = odd.WithMember().get(x)
result = a, b, c, d, odd.asked
"""
    a, b, c, d, asked = run(text, odd=odd)
    assert set(a + b) == {"ndarray"}
    assert (c, d) == (4, "ndarray")
    assert asked == []


def test_globals_of_the_program_that_answer_for_others(odd):
    text = """
proxy, attributes, lazy = odd.proxy, odd.attributes, odd.lazy
def work(x, local=odd.proxy):
    values = [proxy, attributes, lazy, local]
    return odd.kind(x), list(map(odd.kind, [x]))
result = work(np.arange(5.0))
"""
    assert run(text, odd=odd) == ("ndarray", ["ndarray"])
    assert odd.asked == []


def test_lazy_modules(odd):
    text = """
lazy = odd.lazy
x = np.arange(5.0)
result = lazy.kind(x), list(map(lazy.kind, [x])), odd.named(x), odd.nameless(x)
"""
    result = run(text, odd=odd)
    assert odd.asked == []
    assert result[:2] == ("ndarray", ["ndarray"])


def test_functions_without_a_module(odd):
    text = """
x = np.arange(5.0)
result = odd.moduleless(x), list(map(odd.moduleless, [x]))
"""
    assert run(text, odd=odd) == ("ndarray", ["ndarray"])


def test_odd_modules(odd):
    """A module may be replaced in sys.modules by any object."""
    sys.modules["visited.odd.equal"] = odd.proxy
    cls = odd.make(type, __module__="visited.odd.equal")
    text = """
x = np.arange(5.0)
result = cls().get(x), cls().write(x)[0]
"""
    del odd.asked[:]
    assert run(text, cls=cls) == ("ndarray", 1)
    assert odd.asked == []


@pytest.mark.parametrize("name", [3, None, "", "no.such.module", "visited.odd.none"])
def test_odd_names_of_modules(odd, name):
    cls = odd.make(type, __module__=name)
    text = """
x = np.arange(5.0)
cls().write(x)
result = cls().get(x), x[0]
"""
    assert run(text, cls=cls)[1] == 1


def test_containers(odd):
    text = """
x = np.arange(5.0)
items = [x]
items.append(items)
named = {"x": x}
named["self"] = named
deep = x
for _ in range(300):
    deep = [deep]
wide = [x] * 5000
many = {i: x for i in range(5000)}
shared = [x]
for _ in range(12):
    shared = [shared, shared]
def first(value): return type(value)
result = [
    visited.apply(lambda a: len(a), each)
    for each in (items, named, wide, many, tuple(wide), [1] * 10**5, range(10))
]
visited.seen.clear()
visited.is_same.__call__(1, 2)
odd.kind(deep), odd.kind(shared)
result = result, items[1] is items, named["self"] is named, wide[0] is x, items[0] is x
"""
    visited = sys.modules["visited"]
    note, visited.note = visited.note, lambda *args: None
    try:
        result = run(text, odd=odd, visited=visited)
    finally:
        visited.note = note
    assert result == ([2, 2, 5000, 5000, 5000, 10**5, 10], True, True, True, True)


def test_containers_that_change_during_a_call(odd):
    text = """
x = np.arange(5.0)
items = [x, 1]
def change(y):
    items.append(y)
    items[0] = None
    return y
visited.apply_all([change], x)
visited.apply(lambda a, b: change(b), items, x)
named = {"a": x}
visited.apply(lambda a: named.clear(), named)
result = len(items), named
"""
    assert run(text, visited=sys.modules["visited"]) == (4, {})


def test_arguments_are_checked_as_before(odd):
    visited = sys.modules["visited"]
    text = """
x = np.arange(5.0)
result = []
for call in [
    lambda: visited.double(), lambda: visited.double(x, x), lambda: visited.double(y=x),
    lambda: visited.double(x, x=x), lambda: visited.double(**{"x": x, "": 1}),
    lambda: visited.with_default(x, y=x), lambda: visited.with_default(x=x),
    lambda: visited.Model.fit(x), lambda: visited.Model(x, x), lambda: visited.Abstract(),
    lambda: visited.Slotted(), lambda: visited.Record(), lambda: visited.Frozen(x, 1),
]:
    try:
        call()
    except TypeError as error:
        result.append(str(error))
"""
    ours = run(text, visited=visited)
    theirs = run(text.replace("np.arange(5.0)", "1"), visited=visited)
    assert ours == theirs
    assert len(ours) == 13


def test_errors_in_the_search_for_an_owner_pass(odd):
    """A signal handler may raise an exception while a door is opened."""

    def find_owner(name, names):
        if name == "unknown":
            raise KeyboardInterrupt
        return door.find_owner(name, names)

    code = (lambda x: x).__code__
    known, unknown = (
        types.FunctionType(code, {"__name__": name})
        for name in (odd.__name__, "unknown")
    )
    unknown.__module__ = odd.__name__
    _bridge.set_owners(find_owner)
    try:
        _bridge.open_door(known)
        with pytest.raises(KeyboardInterrupt):
            _bridge.open_door(unknown)
    finally:
        _bridge.set_owners(door.find_owner)
