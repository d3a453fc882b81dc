"""The classes of iterators: members that are called on the class, and subclasses."""

from __future__ import annotations

import types
import warnings
from typing import Any

import pytest

Library = types.ModuleType

CALLS = """
np.nditer.reset(it), it.value
np.nditer.iternext(it), it.value
np.nditer.__next__(it), it.value
np.nditer.copy(it).value
np.nditer.value.__get__(it)
np.nditer.operands.__get__(it)
np.nditer.itviews.__get__(it)
np.nditer.multi_index.__set__(it, (1, 1)), it.value
np.nditer.multi_index.__set__(it, (5, 1))
np.nditer.multi_index.__delete__(it)
np.nditer.shape.__set__(it, 3)
np.nditer.shape.__doc__
np.nditer.remove_axis(it, 0), it.shape
np.nditer.remove_multi_index(it), it.has_multi_index
np.nditer.close(it), it.value
np.nditer.reset(3)
np.nditer.value.__get__(3)
np.nditer.__next__(3)
np.nditer.reset(it, 3)
np.nditer.reset.__name__, np.nditer.reset.__doc__
np.nditer.foo
it.foo
np.nditer.__new__(np.nditer).value
np.nditer.__new__(np.nditer).foo
np.nditer.__new__(np.nditer).copy()
next(np.nditer.__new__(np.nditer))
[name for name in dir(np.nditer) if not name.startswith("_")]
[name for name in dir(np.broadcast) if not name.startswith("_")]
[name for name in dir(np.flatiter) if not name.startswith("_")]
np.flatiter.index.__get__(a.flat)
np.flatiter.coords.__get__(a.flat)
np.flatiter.index.__set__(a.flat, 2)
np.broadcast.shape.__get__(np.broadcast(a, 1))
np.broadcast.shape.__get__(a)
type("Own", (np.nditer,), {})
type("Own", (np.broadcast,), {})
type("Own", (np.flatiter,), {})
issubclass(type("Own", (np.finfo,), {}), np.finfo)
""".strip().splitlines()


@pytest.mark.parametrize("call", CALLS)
def test_members_of_the_class(xp: Library, call: str) -> Any:
    a = xp.arange(6.0).reshape(2, 3)
    names = {"np": xp, "a": a, "it": xp.nditer(a, flags=["multi_index"])}
    try:
        return eval(call, names)
    except Exception as error:
        return type(error), str(error)


def test_a_method_warns_on_the_line_of_the_program(xp: Library) -> Any:
    a = xp.array([1.0 + 1j, 2.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        iterator = xp.nditer(
            a, ["buffered"], op_dtypes=["f8"], casting="unsafe", buffersize=1
        )
        values = [xp.nditer.__next__(iterator).copy(), xp.nditer.iternext(iterator)]
        xp.nditer.reset(iterator)
    return values, [(w.filename, w.lineno, str(w.message)) for w in caught]
