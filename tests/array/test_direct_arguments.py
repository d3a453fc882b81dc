"""Calls of small arrays that reach NumPy's function without a tuple of arguments.

The arguments may be short tuples and lists, in which arrays are replaced by NumPy's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import mxnp
from mxnp import _bridge


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    """Return the result of a call, or its exception."""
    try:
        return call(*args)
    except Exception as error:
        return error


ORDERS = [
    *(order for n in range(1, 5) for order in itertools.permutations(range(n))),
    *((), (0, 0), (1, 1, 0), (0, 2), (-1, -2), (-3, 0, 1), (2, -1, 0), (0, -4, 1)),
    *((True, False), (None, None), (0.0, 1.0), (2**70, 0), (numpy.int64(1), 0)),
    *([1, 0], None, 0, -1, 1, 2**70, "10"),
]


@pytest.mark.parametrize("ndim", range(6))
def test_axes_in_another_order(xp: Any, ndim: int) -> list[Any]:
    shape = (2, 3, 4, 1, 2)[:ndim]
    x = xp.array(numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape) * 0.5)
    found = []
    for order in ORDERS:
        given = order if isinstance(order, tuple) else (order,)
        for call in (x.transpose, lambda *axes: xp.transpose(x, *axes)):
            found += [outcome(call, order), outcome(call, *given)]
    return found


def test_axes_in_another_order_share_memory() -> None:
    x = mxnp.zeros((2, 3, 4))
    x.transpose(2, 0, 1)[3, 1, 2] = 5
    mxnp.transpose(x, (1, 2, 0))[0, 0, 0] = 7
    assert x[1, 2, 3] == 5 and x[0, 0, 0] == 7
    assert x.transpose((2, 1, 0)).base is x


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "a tuple of arrays": lambda np, x: np.stack((x, x), -1),
    "a list of arrays": lambda np, x: np.column_stack([x, x]),
    "lists in a list": lambda np, x: np.block([[x, x], [x, x]]),
    "a list and numbers": lambda np, x: np.percentile(x, [10, 90], axis=0),
    "tuples of numbers": lambda np, x: np.tensordot(x, x, ((0,), (0,))),
    "a tuple as keyword": lambda np, x: np.pad(x, pad_width=(1, 2)),
    "an array of NumPy in a tuple": lambda np, x: np.hstack((x, numpy.ones(2))),
    "a view of an item": lambda np, x: np.broadcast_arrays(x, x[:1])[1].shape,
    "items that are results": lambda np, x: np.atleast_1d(x) is x,
    "arrays as rows": lambda np, x: [
        np.array(rows)
        for other in (x, x[::-1], x[:2], x > 1, x.astype("f4"), x[None], 2.5, [1, 2, 3])
        for rows in ([x, other], (x, other, x))
    ],
    "elements that are objects": lambda np, x: [
        make([x, x[:2]], "O")[0] is x for make in (np.array, np.asarray, np.asanyarray)
    ],
    "a tuple as out": lambda np, x: np.modf(x, out=(np.zeros(3), np.zeros(3))),
    "arrays of NumPy as out": lambda np, x: [
        result is out
        for out in [numpy.zeros(3)]
        for result in [np.add(x, x, out=(out,)), np.modf(x, out=(out, None))[0]]
    ],
    "more items than are looked at": lambda np, x: np.stack([x] * 9, -1),
    "a function in a list": lambda np, x: np.piecewise(x, [x > 1], [lambda a: a + 1]),
    "ragged lists": lambda np, x: np.stack(([x, [x]], x), 1),
    "an unknown keyword": lambda np, x: np.stack((x, x), axes=1),
    "too many arguments": lambda np, x: np.sort(x, 0, None, None, None, None),
    "descending": lambda np, x: np.sort(x, -1, "stable"),
    "numbers of a range": lambda np, x: np.linspace(0, 1, 5),
    "the shape of a grid": lambda np, x: np.indices((2, 3)),
    "a grid": lambda np, x: np.meshgrid(x, x[:2]),
    "a huge number": lambda np, x: np.indices((2**70,)),
    "positions in a tuple": lambda np, x: np.add.at(x, ([0, 0, 1],), x),
    "positions with axes": lambda np, x: np.add.at(x, np.array([[0, 1, 1]]), x),
    "values with axes": lambda np, x: np.add.at(x, np.array([0, 1]), np.ones((1, 2))),
    "values with too many axes": lambda np, x: np.add.at(x, 0, np.ones((1, 2))),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_of_small_calls(xp: Any, name: str) -> list[Any]:
    x = xp.array([1.5, 0.25, 3.0])
    return [outcome(CALLS[name], xp, x), x]


def test_descending_sorts_are_asked_for_by_keyword() -> None:
    x = mxnp.array([1.0, 3.0, 2.0])
    assert mxnp.sort(x, descending=True).tolist() == [3, 2, 1]
    assert mxnp.argsort(x, descending=True).tolist() == [1, 2, 0]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_grids_around_the_threshold(xp: Any, more: int) -> list[Any]:
    """The numbers in tuples, and the sizes of all arrays, say how large a grid is."""
    side = max(2, int(_bridge.get_threshold() ** 0.5)) + more
    line = xp.arange(side) * 0.5
    return [
        xp.indices((side, side)),
        xp.linspace(0, 1, side * side),
        xp.linspace(0, 1, num=side * side),
        *xp.meshgrid(line, line),
    ]
