"""Read, assign and update with random keys that contain arrays, and compare with NumPy.

``MXNP_FUZZ=20000`` runs 20,000 examples instead of 500, as `.ci/full` does.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mxnp
from mxnp import _bridge

EXAMPLES = int(os.environ.get("MXNP_FUZZ", "500"))
DTYPES = [*"?bBhHiIqQefdFD"]
OPERATIONS = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "maximum",
    "minimum", "fmax", "fmin", "copysign", "bitwise_and", "bitwise_or",
    "bitwise_xor", "left_shift", "logical_and", "logical_or", "equal", "gcd",
]  # fmt: skip
SPECIAL = [0.0, -0.0, 1.0, -2.5, 3.0, numpy.nan, numpy.inf, -numpy.inf, 60000.0]


@pytest.fixture(autouse=True)
def all_recorded() -> Any:
    before = _bridge.set_threshold(0)
    yield
    _bridge.set_threshold(before)


class Case:
    """Arrays, keys and values for NumPy, and the same ones for mxnp."""

    def __init__(self, seed: int) -> None:
        self.random = numpy.random.default_rng(seed)
        self.ours: dict[int, Any] = {}  # mxnp arrays by the identity of NumPy's
        self.kept: list[Any] = []

    def numbers(self, shape: Any, dtype: str) -> Any:
        kind = numpy.dtype(dtype).kind
        if kind in "fc":
            values = self.random.choice(SPECIAL, shape)
            if kind == "c":
                values = values + 1j * self.random.choice(SPECIAL[:5], shape)
        else:
            values = self.random.integers(0, 2 if kind == "b" else 120, shape)
        with numpy.errstate(all="ignore"):
            return numpy.asarray(values).astype(dtype)

    def laid_out(self, a: Any, layout: str) -> Any:
        """Return a copy of `a` with a layout, and store mxnp's array for `cross`."""
        ours = mxnp.array(a)
        if layout == "transposed" and a.ndim > 1:
            order = tuple(reversed(range(a.ndim)))
            a = numpy.ascontiguousarray(a.transpose(order)).transpose(order)
            ours = mxnp.array(a.transpose(order)).transpose(order)
        elif layout == "negative" and a.ndim:
            a, ours = a[::-1].copy()[::-1], mxnp.array(a[::-1].copy())[::-1]
        elif layout == "strided" and a.ndim:
            a, ours = a.repeat(2, -1)[..., ::2], mxnp.array(a.repeat(2, -1))[..., ::2]
        elif layout == "pending":
            ours = mxnp.array(a).copy()
            ours = ours if a.ndim == 0 else ours[...]
        self.kept.append(a)
        self.ours[id(a)] = ours
        return a

    def cross(self, x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(self.cross(each) for each in x)
        return self.ours.get(id(x), x)


LAYOUTS = ["plain", "transposed", "negative", "strided", "pending"]


@st.composite
def cases(draw: Any) -> tuple[Case, Any, Any]:
    """Draw a case, its array and a key for it."""
    case = Case(draw(st.integers(0, 2**32 - 1)))
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    dtype = draw(st.sampled_from(DTYPES))
    a = case.laid_out(case.numbers(shape, dtype), draw(st.sampled_from(LAYOUTS)))
    block = draw(st.sampled_from([(1,), (5,), (40,), (3, 4), (2, 1, 3), (4, 1)]))
    wrong = draw(st.integers(0, 9)) == 0
    items: list[Any] = []
    axis = 0
    while axis < len(shape):
        n = shape[axis]
        kind = draw(st.sampled_from("aaaaismn.l"))
        if kind == "a":
            low, high = (-n - 1, n + 1) if wrong else (-n, n)
            index_dtype = draw(st.sampled_from("bBhHiIqQ"))
            if index_dtype.isupper():
                low = 0
            own = draw(st.sampled_from([block, block[-1:], (1,) * len(block)]))
            i = case.random.integers(low, high, own).astype(index_dtype)
            items.append(case.laid_out(i, draw(st.sampled_from(LAYOUTS))))
        elif kind == "l":
            items.append([int(i) for i in case.random.integers(-n, n, block[-1])])
        elif kind == "i":
            items.append(int(case.random.integers(-n, n)))
        elif kind == "s":
            step = draw(st.sampled_from([1, 2, -1]))
            items.append(slice(None, None, step))
        elif kind == "n":
            items.append(None)
            continue
        elif kind == ".":
            if any(item is ... for item in items):
                continue
            items.append(...)
            axis += draw(st.integers(0, len(shape) - axis)) - 1
        else:
            k = draw(st.integers(1, len(shape) - axis))
            mask = case.random.random(shape[axis : axis + k]) < 0.6
            items.append(case.laid_out(mask, draw(st.sampled_from(LAYOUTS))))
            axis += k - 1
        axis += 1
        if draw(st.integers(0, 4)) == 0:
            break
    return case, a, tuple(items) if len(items) > 1 or draw(st.booleans()) else items[0]


def outcome(call: Any, *args: Any) -> tuple[Any, Any]:
    """Return the result of a call, or the class and text of its error."""
    try:
        with numpy.errstate(all="ignore"):
            return call(*args), None
    except Exception as error:
        return None, (type(error), str(error))


def bits(a: Any) -> Any:
    """Return the dtype, shape and bytes of an array, with all NaN made equal."""
    a = numpy.array(a)
    if a.dtype.kind in "fc":
        a = a.copy()
        parts = a.view(a.real.dtype) if a.ndim else a.reshape(1).view(a.real.dtype)
        parts[numpy.isnan(parts)] = numpy.nan
        a = parts
    return a.dtype, a.shape, a.tobytes()


def assert_updated(ours: Any, a: Any, name: str) -> None:
    """
    Assert that two arrays agree in every bit.

    NumPy multiplies complex numbers with fused instructions or without, by their place
    in a vector of the processor, so products may differ in the last bits. So may powers.
    Of zeros of both signs, it takes the extreme by the place too.
    """
    is_extreme = name in ("maximum", "minimum", "fmax", "fmin")
    if is_extreme and a.dtype.kind in "fc":
        ours, a = numpy.array(ours) + 0.0, a + 0.0  # -0.0 becomes 0.0
    if bits(ours) == bits(a):
        return
    assert name == "power" or (a.dtype.kind == "c" and name in ("multiply", "divide"))
    assert a.dtype.kind in "fc"
    ours = numpy.array(ours)
    assert (ours.dtype, ours.shape) == (a.dtype, a.shape)
    finite = numpy.isfinite(a) & numpy.isfinite(ours)
    assert bits(numpy.where(finite, 0, ours)) == bits(numpy.where(finite, 0, a))
    step = 4 * numpy.finfo(a.dtype).eps
    assert (abs(ours[finite] - a[finite]) <= step * abs(a[finite])).all()


def steps(a: Any) -> list[int]:
    return [s for s, n in zip(a.strides, a.shape, strict=True) if n > 1]


def profile(test: Any) -> Any:
    return settings(
        max_examples=EXAMPLES,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
        ],
        print_blob=True,
    )(test)


@profile
@given(cases())
def test_reading(drawn: Any) -> None:
    case, a, key = drawn
    expected, error = outcome(lambda: a[key])
    ours, our_error = outcome(lambda: case.cross(a)[case.cross(key)])
    if error is None and our_error is None:
        outcome_of_wait = outcome(mxnp.synchronize)[1]
        assert outcome_of_wait is None
        assert bits(ours) == bits(expected)
        if isinstance(expected, numpy.ndarray):
            assert steps(ours) == steps(expected)
        return
    if our_error is None:
        our_error = outcome(mxnp.synchronize)[1]
        assert outcome(lambda: ours.tolist())[1] == our_error
    assert our_error == error


def values_for(case: Case, a: Any, key: Any, kind: str, dtype: str | None) -> Any:
    """Return values of the shape of a[key], or of one that may or may not fit."""
    if dtype is None or (dtype in [*"efdFD"] and a.dtype.kind not in "fc"):
        dtype = a.dtype.char  # C does not define NaN as an integer.
    selected, error = outcome(lambda: a[key])
    shape = () if error else selected.shape
    if kind == "scalar":
        return 3
    if kind == "last":
        shape = shape[-1:]
    elif kind == "wrong":
        shape = (*shape, 7)
    elif kind == "ones":
        shape = tuple(1 for _ in shape)
    return case.laid_out(case.numbers(shape, dtype), "plain")


@pytest.mark.slow
@profile
@given(
    cases(),
    st.sampled_from(["full", "full", "scalar", "last", "wrong", "ones"]),
    st.one_of(st.none(), st.sampled_from(DTYPES)),
)
def test_assignment(drawn: Any, kind: str, dtype: str | None) -> None:
    case, a, key = drawn
    values = values_for(case, a, key, kind, dtype)
    ours, our_key, our_values = case.cross(a), case.cross(key), case.cross(values)
    before = bits(a)
    with mxnp.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = outcome(a.__setitem__, key, values)[1]
        our_error = outcome(ours.__setitem__, our_key, our_values)[1]
        our_error = our_error or outcome(mxnp.synchronize)[1]
    assert our_error == error
    if error is None or bits(a) == before:
        assert bits(ours) == bits(a)


@pytest.mark.slow
@profile
@given(
    cases(),
    st.sampled_from(OPERATIONS),
    st.sampled_from(["full", "full", "scalar", "last", "ones"]),
    st.one_of(st.none(), st.sampled_from(DTYPES)),
)
def test_update(drawn: Any, name: str, kind: str, dtype: str | None) -> None:
    case, a, key = drawn
    values = values_for(case, a, key, kind, dtype)
    ours, our_key, our_values = case.cross(a), case.cross(key), case.cross(values)
    before = bits(a)
    if not isinstance(values, int) and values.ndim == 1:
        # NumPy 2.4 reads beyond shorter values when an index array has more axes.
        selected = outcome(lambda: a[key])[0]
        if selected is not None and selected.ndim > 1:
            values = values.reshape((1,) * (selected.ndim - 1) + values.shape)
    with mxnp.errstate(all="ignore"):
        error = outcome(getattr(numpy, name).at, a, key, values)[1]
        made = None
        if error is None:
            made = ours.at[our_key]
            made, our_error = outcome(getattr(made, name), our_values)
            assert our_error is None
        our_error = outcome(getattr(mxnp, name).at, ours, our_key, our_values)[1]
        our_error = our_error or outcome(mxnp.synchronize)[1]
    assert our_error == error
    if error is None or bits(a) == before:
        assert_updated(ours, a, name)
    if made is not None:
        assert_updated(made, a, name)
