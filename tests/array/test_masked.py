"""Test the names of numpy.ma and numpy.testing: mxnp's results against NumPy's."""

from __future__ import annotations

import inspect
import itertools
import pickle
import types
import warnings

import numpy
import numpy.ma
import numpy.testing
import pytest

import mxnp
import mxnp.ma
import mxnp.testing

FLOATS = numpy.array([[1.0, 2.0, -3.0], [0.0, 5.0, 6.0]])
INTS = numpy.array([[1, 0, 1], [2, 1, 0]])
MASK = [[0, 0, 1], [0, 1, 0]]
# Objects of NumPy that are called, but are neither functions nor classes.
OPERATIONS = sorted(
    name
    for name in numpy.ma.__all__
    if callable(operation := getattr(numpy.ma, name))
    and not isinstance(operation, type | types.FunctionType | numpy.ma.MaskedArray)
    and type(operation).__module__.startswith("numpy.ma.")
)
METHODS = [
    f"{name}.{method}"
    for name in OPERATIONS
    for method in ("reduce", "accumulate", "outer")
    if hasattr(getattr(numpy.ma, name), method)
]


def arguments(xp):
    """Yield arguments of operations: plain, masked, both, scalars."""
    plain = [xp.array(FLOATS), xp.array(INTS)]
    masked = [xp.ma.array(x, mask=MASK) for x in plain]
    for x in (*plain, *masked):
        yield (x,)
        yield (x, 0)
        yield (x[0], 0)
        yield (x, 2.0)
        yield (2, x)
        yield (x, None)
    for x, y in itertools.product((*plain, *masked), repeat=2):
        yield (x, y)
        yield (x[0], y)
    yield (3.0, 2.0)


def describe(x, array):
    """Return what a result is. Arrays of `array` count as plain."""
    if isinstance(x, numpy.ma.MaskedArray):
        mask = numpy.ma.getmaskarray(x)
        assert type(x.data) is numpy.ndarray
        return type(x), x.dtype, x.shape, repr(x.filled(7)), mask.tolist()
    assert not isinstance(x, numpy.ndarray) or type(x) is array
    return "array" if type(x) is array else type(x), repr(x)


def outcomes(xp, call):
    """Return the outcome of each call: the result or error, and the warnings."""
    result = []
    for given in arguments(xp):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                outcome = describe(call(*given), xp.ndarray)
            except Exception as error:
                outcome = type(error), str(error)
            mxnp.synchronize()
        result.append((outcome, {(w.category, str(w.message)) for w in caught}))
        assert all(w.filename == __file__ for w in caught if "future" in str(w.message))
    return result


def of(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


@pytest.mark.parametrize("name", [*OPERATIONS, *METHODS])
def test_operations(name):
    expected = outcomes(numpy, of(numpy.ma, name))
    assert outcomes(mxnp, of(mxnp.ma, name)) == expected


def test_every_operation_is_tested():
    assert {"add", "divide", "exp", "around", "maximum", "minimum"} <= {*OPERATIONS}
    assert len(OPERATIONS) >= 40
    assert {"maximum.reduce", "minimum.reduce", "add.outer"} <= {*METHODS}


def test_extrema():
    x = mxnp.array(FLOATS)
    for name in ("maximum", "minimum"):
        ours, theirs = getattr(mxnp.ma, name), getattr(numpy.ma, name)
        assert type(ours.reduce(x, 0)) is mxnp.ndarray
        assert type(ours.reduce(target=x, axis=0)) is mxnp.ndarray
        assert str(ours) == str(theirs)
        assert ours.__doc__ == theirs.__doc__
        assert inspect.signature(ours.reduce) == inspect.signature(theirs.reduce)
        copy = pickle.loads(pickle.dumps(ours))
        assert copy.reduce(x, 0).tolist() == theirs.reduce(FLOATS, 0).tolist()


def test_parts_of_masked_arrays():
    """Functions return mxnp arrays. The class and its members are NumPy's."""
    m = mxnp.ma.array(mxnp.array(FLOATS), mask=MASK)
    assert type(m) is numpy.ma.MaskedArray
    for part in (
        mxnp.ma.getdata(m),
        mxnp.ma.getmaskarray(m),
        mxnp.ma.filled(m, 0),
        mxnp.ma.compressed(m),
    ):
        assert type(part) is mxnp.ndarray
    assert numpy.shares_memory(mxnp.ma.getdata(m), m.data)
    for part in (m.data, m.mask, m.filled(0), m.compressed()):
        assert type(part) is numpy.ndarray


def test_masked_arrays_are_built_from_recorded_operations():
    x, mask = mxnp.arange(50_000.0), mxnp.arange(50_000) % 7 == 0
    m = mxnp.ma.array(mxnp.sqrt(x * x + 1), mask=mask)
    y = numpy.arange(50_000.0)
    expected = numpy.ma.array(numpy.sqrt(y * y + 1), mask=numpy.arange(50_000) % 7 == 0)
    assert m.sum() == expected.sum()
    assert numpy.array_equal(m.mask, expected.mask)
    data, used = mxnp.ma.getdata(m), ~mxnp.ma.getmaskarray(m)
    assert (data * 2).max(where=used, initial=0) == (expected * 2).max()


# -- numpy.testing ---------------------------------------------------------------------

CALLING = {
    "assert_no_gc_cycles", "assert_no_warnings", "assert_raises", "assert_raises_regex",
    "assert_warns",
}  # fmt: skip


def test_functions_of_testing_that_are_numpys_own_call_the_programs_functions():
    same = {
        name
        for name in numpy.testing.__all__
        if getattr(mxnp.testing, name) is getattr(numpy.testing, name)
        and isinstance(getattr(numpy.testing, name), types.FunctionType)
    }
    assert same == {name for name in CALLING if hasattr(numpy.testing, name)}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_functions_of_testing_pass_arrays_and_results_on():
    x = mxnp.array(FLOATS)
    seen = []

    def twice(a):
        seen.append(a)
        return a + a

    def warns(a):
        warnings.warn("twice", UserWarning, stacklevel=2)
        return twice(a)

    def fails(a):
        seen.append(a)
        raise ValueError("no")

    assert type(mxnp.testing.assert_warns(UserWarning, warns, x)) is mxnp.ndarray
    assert type(mxnp.testing.assert_no_warnings(twice, x)) is mxnp.ndarray
    mxnp.testing.assert_raises(ValueError, fails, x)
    mxnp.testing.assert_raises_regex(ValueError, "^no$", fails, x)
    mxnp.testing.assert_no_gc_cycles(twice, x)
    assert len(seen) == 5
    assert all(each is x for each in seen)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_testing_suppresses_warnings_of_recorded_operations():
    x = -mxnp.ones(20_000)
    with mxnp.testing.suppress_warnings() as suppressed:
        suppressed.filter(RuntimeWarning)
        y = mxnp.sqrt(x)
    assert numpy.isnan(y).all()
    y = mxnp.sqrt(x)
    with pytest.raises(RuntimeWarning), mxnp.testing.suppress_warnings() as suppressed:
        suppressed.filter(RuntimeWarning)


def test_results_of_testing_are_arrays_of_mxnp():
    x = mxnp.array(FLOATS)
    ulps = mxnp.testing.assert_array_max_ulp(x, x)
    assert type(ulps) is mxnp.ndarray
    assert ulps.tolist() == numpy.testing.assert_array_max_ulp(FLOATS, FLOATS).tolist()
