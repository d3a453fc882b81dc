"""Arrays that become elements of arrays of objects, or fields of records."""

from __future__ import annotations

import types
from typing import Any

import numpy
import pytest
from support.constants import constant

import mxnp

Library = types.ModuleType

SIZES = {"small": 3, "large": constant("python/record/queue.c", "LEAST_SIZE")}
RECORD = [("f", object), ("i", int)]

# Each has an array `a`, and changes an array of objects, `o`, or of records, `r`.
STATEMENTS = """
o.fill(a)
xp.ndarray.fill(o, a)
o[:1].reshape(()).fill(a)
o.flat[0] = a
o.flat[:2] = a
o.flat[:2] = [a, a]
o.flat[[0, 1]] = [a, None]
o.flat = [a, None]
o.put(0, a)
o.put([0, 1], [a, 1])
xp.put(o, [0, 1], [a, 1])
numpy.put(o, [0, 1], [a, 1])
xp.place(o, xp.arange(o.size) < 1, a)
xp.place(o, xp.arange(o.size) < 2, [a, 1])
xp.putmask(o, xp.arange(o.size) < 1, [a, 1])
xp.copyto(o, a)
xp.copyto(o[:2], [a, 1])
xp.copyto(o, a, where=xp.arange(o.size) < 1)
xp.choose(xp.zeros(o.size, int), [a], out=o)
o.real = a
o.setfield(a, object)
r.fill((a, 1))
r.flat[0] = (a, 1)
r.flat[:2] = [(a, 1), (a, 2)]
r.put([0], [(a, 1)])
r["f"].fill(a)
r[0]["f"] = a
""".strip().splitlines()

# Each makes an array of objects or records of an array `a`.
EXPRESSIONS = """
xp.array([a, None])
xp.array([a, 1], dtype=object)
xp.array([None, [a]], "O,O")
xp.array([None, [a]], "object")
xp.array([a] * 40, dtype=xp.object_)
xp.asarray([[a, None], [a, None]])
xp.insert(o, 0, [a, 1])
xp.append(o, [a])
xp.resize([a, None], 3)
xp.where(xp.arange(3) < 1, [a, 1, 2], None)
xp.full(3, a, dtype=object)
xp.full_like(o, a)
xp.fromiter([a, a], dtype=object)
xp.fromiter((each for each in [a, a]), object)
xp.object_([a, None])
xp.array([(a, 1)], dtype=RECORD)
xp.array((a, 1), RECORD)
xp.array([([a], 1)], dtype={"names": ["f", "i"], "formats": [object, int]})
xp.array([(a, 1)], dtype="O,i8")
xp.asarray([(a, 1), (a, 2)], dtype=xp.dtype(RECORD))
xp.array([((a, 1), 2)], dtype=[("x", RECORD), ("y", int)])
xp.fromiter([(a, 1)], dtype=RECORD)
xp.rec.fromrecords([(a, 1)], dtype=RECORD)
xp.rec.array([(a, 1)], dtype=RECORD)
xp.void((a, 1), dtype=RECORD)
""".strip().splitlines()

ARRAYS = {
    "number": "xp.array(2.0)",
    "object": "xp.array('x', dtype=object)",
    "vector": "xp.arange(3.0)",
    "matrix": "xp.arange(4).reshape(2, 2)",
    "objects": "xp.array(['x', 1, None], dtype=object)",
}


def described(x: Any, a: Any) -> Any:
    """Describe the objects in x, and say which of them are `a` itself."""
    if x is a:
        return "the array"
    if isinstance(x, numpy.ndarray) and x.dtype.hasobject:
        return [x.shape, *(described(each, a) for each in x.reshape(-1)[:3].tolist())]
    if isinstance(x, numpy.void):
        return described(x.item(), a)
    if isinstance(x, (list, tuple)):
        return [described(each, a) for each in x]
    return type(x).__name__, x


def result_of(run: Any, code: str, xp: Library, array: str, size: int) -> Any:
    """Return what a statement or an expression does with an array."""
    names = {"xp": xp, "numpy": numpy, "RECORD": RECORD}
    names["a"] = a = eval(array, names)
    names["o"] = o = xp.full(size, None, dtype=object)
    names["r"] = r = xp.zeros(size, dtype=RECORD)
    try:
        made = run(code, names)
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    return described([made, o, r], a)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("code", STATEMENTS)
def test_assigned(xp: Library, code: str, array: str, size: int) -> Any:
    return result_of(exec, code, xp, array, size)


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("code", EXPRESSIONS)
def test_made(xp: Library, code: str, array: str) -> Any:
    return result_of(eval, code, xp, array, 3)


def test_an_array_of_numpy_stores_the_array_too() -> None:
    a, o = mxnp.arange(3.0), numpy.full(2, None, dtype=object)
    mxnp.put(o, [0, 1], [a, [a]])
    assert o[0] is a
    assert o[1][0] is a


MOST = constant("python/convert/call_args.h", "MAX_CALL_ARGS")
MANY = """
xp.array([*arrays, None])
xp.array([None, *arrays[::-1], *arrays])
xp.array([(a, None) for a in arrays])
xp.asarray([[a, "x"] for a in arrays])
xp.hstack([xp.array([None]), [*arrays, None]])
xp.where([True] * n + [False], [*arrays, None], 0)
xp.repeat([*arrays, None], 2)
xp.atleast_1d(*[a.reshape(1) for a in arrays])
xp.broadcast_arrays(*arrays)
""".strip().splitlines()


@pytest.mark.parametrize("n", [MOST - 1, MOST, MOST + 1, 4 * MOST], ids=str)
@pytest.mark.parametrize("code", MANY)
def test_many_arrays_in_a_list(xp: Library, code: str, n: int) -> Any:
    arrays = [xp.array(i) for i in range(n)]
    result = eval(code, {"xp": xp, "arrays": arrays, "n": n})
    items = result.reshape(-1).tolist() if hasattr(result, "shape") else result
    return [[i for i, a in enumerate(arrays) if a is item] for item in items]
