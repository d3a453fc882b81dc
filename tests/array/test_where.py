"""The warning of ufuncs that `where` leaves elements of the result without a value."""

from __future__ import annotations

import functools
import types
import warnings
from typing import Any

import numpy
import pytest
from support.constants import constant

Library = types.ModuleType

SIZES = {"small": 3, "large": constant("python/record/queue.c", "LEAST_SIZE")}

# NumPy calls __array_ufunc__ of mxnp arrays for its own ufuncs, and those of packages.
CALLS = """
xp.sin(x, where=m)
xp.sin(x, where=m, out=None)
numpy.sin(x, where=m)
numpy.sin(x, None, where=m)
numpy.sin(x, where=m, out=None)
numpy.sin(x, out=(None,), where=m)
numpy.sin(x, where=m, out=x)
numpy.sin(x, where=True)
numpy.sin(x[:1], where=m, out=None)
numpy.sin(2.0, where=m, out=None, dtype="f4")
numpy.add(x, 1, where=[True], out=None)
numpy.add([1.0, 2.0][0], x, where=x[0] < 0, out=None)
numpy.divmod(x, 2, where=m)
numpy.divmod(x, 2, where=m, out=(None, None))
numpy.modf(x, out=(x, None), where=m)
numpy.add.reduce(x, where=m, initial=0, out=None)
numpy.add(x, numpy.sin(x, out=None), where=m)
numpy.add(x, numpy.sin(x, where=m), out=None)
from_other(x, where=m, out=None)
partial(numpy.sin, where=m)(numpy.sin(x, out=None))
""".strip().splitlines()


def from_other(*args: Any, where: Any, out: Any) -> Any:
    """Call a ufunc without `out`, in a frame of its own."""
    return numpy.negative(*args, where=where)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("call", CALLS)
def test_where_without_out(xp: Library, call: str, size: int) -> Any:
    x = xp.arange(float(size)) / size
    names = {"xp": xp, "numpy": numpy, "x": x, "m": x < 0.5, "from_other": from_other}
    names["partial"] = functools.partial
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = eval(compile(f"\n{call}", "a program", "eval"), names)
    results = result if isinstance(result, tuple) else [result]
    kinds = [(each.shape, each.dtype) for each in results]
    return kinds, [
        (w.category, str(w.message), w.filename == "a program" and w.lineno)
        for w in caught
    ]
