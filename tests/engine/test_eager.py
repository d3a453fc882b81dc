"""Test operations that are not recorded, because results were needed immediately."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.constants import constant
from support.lanes import ON_CUDA
from support.processes import end_of
from support.same import assert_same
from support.tolerances import near

import mxnp
from mxnp import _bridge

pytestmark = pytest.mark.usefixtures("eager")
SIZE = 20_000
FLUSHES = 8  # that run one operation each, before others are computed immediately
RECORD_EVERY = constant("python/record/queue.c", "RECORD_EVERY")
LEAST = constant("python/record/queue.c", "LEAST_SIZE")
MOST = constant("base/limits.h", "MX_MOST_DIRECT")


@pytest.fixture
def eager() -> Iterator[None]:
    threshold = _bridge.set_threshold(16384)
    mxnp.synchronize()
    before = _bridge.set_eager(True)
    yield
    _bridge.set_eager(before)
    _bridge.set_threshold(threshold)


@pytest.fixture
def a() -> Any:
    return mxnp.array(numpy.random.default_rng(1).random(SIZE) + 0.5)


def run_alone(a: Any, times: int = FLUSHES) -> list[bool]:
    """Run one operation per flush; return whether each was recorded."""
    recorded = []
    for _ in range(times):
        y = a + a
        recorded.append(_bridge.pending() > 0)
        assert y[0] == 2 * a[0]
    return recorded


@pytest.mark.skipif(
    ON_CUDA, reason="a GPU runs operations whether or not they are alone"
)
def test_operations_are_computed_immediately_after_lone_flushes(a: Any) -> None:
    assert run_alone(a) == [True] * FLUSHES
    assert 6 < run_alone(a, 8 * RECORD_EVERY).count(True) < 10


def test_casts_of_operands_are_parts_of_an_operation() -> None:
    x = mxnp.array(numpy.arange(SIZE))
    mxnp.synchronize()
    recorded = []
    for _ in range(2 * FLUSHES):
        y = mxnp.arctan(x)
        recorded.append(_bridge.pending() > 0)
        mxnp.synchronize()
    assert recorded == [True] * FLUSHES + [False] * FLUSHES
    assert (y._np_array == numpy.arctan(x._np_array)).all()


def test_expressions_are_recorded_again(a: Any) -> None:
    run_alone(a)
    for _ in range(4 * RECORD_EVERY):
        y = (a + a) * a - a
        fused = _bridge.pending()
        mxnp.synchronize()
    assert fused == 3
    expected = (a._np_array + a._np_array) * a._np_array - a._np_array
    assert (y._np_array == expected).all()
    y = a + a
    assert _bridge.pending() == 1


LIGHT = {
    "arithmetic": lambda x, y: x * y - x / y,
    "comparisons": lambda x, y: (x > y) & (x < 0.5),
}


@pytest.mark.skipif(ON_CUDA, reason="a GPU runs operations, however small they are")
@pytest.mark.parametrize("name", LIGHT)
@pytest.mark.parametrize(("size", "is_light"), [(LEAST, True), (4 * LEAST, False)])
def test_short_expressions_of_few_bytes(
    eager: None, name: str, size: int, is_light: bool
) -> None:
    """They take longer recorded. Some are recorded nevertheless, also from a later operation on."""
    x = mxnp.array(numpy.random.default_rng(1).random(size, dtype="float32"))
    y = mxnp.array(x._np_array + 0.5)
    recorded = []
    for _ in range(FLUSHES + 4 * RECORD_EVERY):
        z = LIGHT[name](x, y)
        recorded.append(_bridge.pending() > 0)
        mxnp.synchronize()
    assert all(recorded[:FLUSHES])
    assert recorded.count(False) > 100 if is_light else all(recorded)
    numpys = LIGHT[name](x._np_array, y._np_array)
    assert (z._np_array == numpys).all()


def test_longer_expressions_of_few_bytes_are_recorded_again() -> None:
    x = mxnp.array(numpy.random.default_rng(1).random(LEAST, dtype="float32"))
    for _ in range(2 * FLUSHES):
        y = x * x - x
        mxnp.synchronize()
    fused = [0]
    for _ in range(8 * RECORD_EVERY):
        y = (x * x - x) * x + x * x - x / (x + 1)
        fused.append(_bridge.pending())
        mxnp.synchronize()
    assert y.shape == x.shape
    assert fused[-1] == 8


LAYOUTS = {
    "reversed": lambda np, a: a[::-1] * 2,
    "columns": lambda np, a: a.reshape(100, -1)[:, ::-1] / 3,
    "gaps": lambda np, a: a.reshape(100, -1)[:, :180] - 1,
    "row": lambda np, a: a.reshape(100, -1) + a[:200],
    "power": lambda np, a: a**2,
    "own loop": lambda np, a: np.expm1(a.astype("f4")[:LEAST]),
    "pair": lambda np, a: np.frexp(a)[0],
}


@pytest.mark.skipif(
    ON_CUDA, reason="a GPU runs operations whether or not they are alone"
)
@pytest.mark.parametrize("name", LAYOUTS)
def test_any_layout_is_computed_immediately(a: Any, name: str) -> None:
    expected = LAYOUTS[name](numpy, a._np_array)
    run_alone(a)
    recorded = []
    for _ in range(2 * RECORD_EVERY):
        found = LAYOUTS[name](mxnp, a)
        recorded.append(_bridge.pending() > 0)
        mxnp.synchronize()
        assert_same(found, expected)
    assert 1 <= recorded.count(True) <= 6


OPERATIONS = {
    "binary": lambda np, a, c: a / (a - 1),
    "scalar": lambda np, a, c: 2.0 * a - 3,
    "comparison": lambda np, a, c: a > 1.0,
    "unary": lambda np, a, c: -a,
    "ufunc": lambda np, a, c: np.exp(a),
    "dtypes": lambda np, a, c: a + np.arange(a.size, dtype="float32"),
    "in place": lambda np, a, c: c.__iadd__(a),
    "output": lambda np, a, c: np.multiply(a, 3, out=c),
    "overlap": lambda np, a, c: np.add(c[1:], a[1:], out=c[:-1]),
    "assignment": lambda np, a, c: c.__setitem__(slice(None), a) or c,
    "value": lambda np, a, c: c.__setitem__(..., 7) or c,
    "rows": lambda np, a, c: a.reshape(100, -1) + a[:200],
    "transposed": lambda np, a, c: a.reshape(100, -1).T * 2,
    "zeros": lambda np, a, c: np.zeros(a.size),
    "ones": lambda np, a, c: np.ones((100, a.size // 100)),
    "full": lambda np, a, c: np.full(a.size, 3),
    "arange": lambda np, a, c: np.arange(a.size),
    "clip": lambda np, a, c: np.clip(a, 0.7, 1.2),
    "where": lambda np, a, c: np.where(a > 1, a, 0.0),
    "zeros like": lambda np, a, c: np.zeros_like(a),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_results_are_the_same(a: Any, name: str) -> None:
    x = a._np_array.copy()
    expected = OPERATIONS[name](numpy, x, x.copy())
    run_alone(a)
    for _ in range(2 * RECORD_EVERY):
        found = OPERATIONS[name](mxnp, a, a.copy())
        assert type(found) is mxnp.ndarray
        assert found.dtype == expected.dtype
        assert near(found, expected).all() or numpy.array_equal(found, expected)
        assert found.strides == expected.strides


def test_results_can_be_written_and_recorded(a: Any) -> None:
    """Their memory is that of other results."""
    run_alone(a)
    y = a + a
    while _bridge.pending():
        mxnp.synchronize()
        y = a + a
    with mxnp.errstate(all="raise"):  # NumPy itself computes
        y += 1
    z = mxnp.sqrt(y) * y
    del y
    expected = a._np_array + a._np_array + 1
    assert (z._np_array == numpy.sqrt(expected) * expected).all()


def test_warnings_are_numpys(a: Any) -> None:
    run_alone(a)
    a[5] = 0
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y = 1.0 / a
            mxnp.synchronize()
        assert [str(w.message) for w in caught] == [
            "divide by zero encountered in divide"
        ]
        assert caught[0].filename == __file__
        assert y[5] == numpy.inf


def test_loops_with_other_bits_are_always_recorded(a: Any) -> None:
    """They have other last bits."""
    run_alone(a)
    for _ in range(RECORD_EVERY):
        y = mxnp.sin(a)
        assert _bridge.pending() == 1
        mxnp.synchronize()
    del y


@pytest.mark.parametrize("size", [16_000, 140_000])
def test_other_sizes_are_not_affected(a: Any, size: int) -> None:
    run_alone(a)
    b = mxnp.ones(size)
    mxnp.synchronize()
    for _ in range(RECORD_EVERY):
        y = b + b
        assert (_bridge.pending() == 1) == (size > 2**17)
        mxnp.synchronize()
    del y


CALLS: dict[str, Callable[[Any], Any]] = {
    "empty": lambda x: mxnp.empty(x.size),
    "zeros": lambda x: mxnp.zeros(x.size),
    "ones": lambda x: mxnp.ones((x.size, 1)),
    "full": lambda x: mxnp.full(x.size, 0.5),
    "arange": lambda x: mxnp.arange(x.size),
    "clip": lambda x: x.clip(0.7, 1.2),
}


@pytest.mark.skipif(
    ON_CUDA, reason="a GPU runs operations whether or not they are alone"
)
@pytest.mark.parametrize("size", [LEAST, MOST, MOST + 1])
@pytest.mark.parametrize("name", CALLS)
def test_new_arrays_are_made_immediately_after_lone_flushes(
    a: Any, name: str, size: int
) -> None:
    x = mxnp.zeros(size)
    run_alone(a)
    recorded = []
    for _ in range(4 * RECORD_EVERY):
        y = CALLS[name](x)
        recorded.append(_bridge.pending() > 0)
        mxnp.synchronize()
    del y
    if name != "empty" and size > MOST:
        assert all(recorded)
    else:
        assert recorded.count(True) <= 5


def test_fast_mode_has_no_warnings(a: Any) -> None:
    run_alone(a)
    a[5] = 0
    with mxnp.mode("fast"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(RECORD_EVERY):
            y = 1.0 / a
            mxnp.synchronize()
    assert y[5] == numpy.inf


def test_reports_see_every_operation() -> None:
    program = """
import mxnp as np
a = np.ones(20_000)
for _ in range(40):
    y = a + a
    y[0]
"""
    command = ("-m", "mxnp", "--fail-on-fallback", "-c", program)
    end = end_of(*command, MXNP_THRESHOLD="16384")
    assert (end.status, end.err) == (0, "")


@pytest.mark.parametrize(
    "call",
    [
        *("np.outer(b, b)", "np.multiply.outer(b, b)", "np.power.outer(c, c)"),
        *("np.divide.outer(z, z)", "np.remainder.outer(u, u)", "np.var(b * x)"),
        *("np.logspace(0, 400, 70_000)", "np.std(b * x, axis=0)", "np.mean(b * x)"),
        *("np.nanvar(b * x, axis=1)", "np.nanmean(z / z * x, axis=0)"),
        *("np.prod(x * x)", "np.cumsum(b * x)", "np.clip(x, b, c) * b"),
        *("np.average(b * x, axis=0)", "np.linspace(b, c * b, 300)"),
        *("np.round(h, 2)", "h.round(2)", "np.round(h.view(complex), 2)"),
    ],
)
def test_warnings_name_no_file_of_mxnp(call: str, a: Any) -> None:
    c = mxnp.linspace(-2, 2, 300)
    names = {
        "np": mxnp,
        "c": c,
        "b": c * 5e307,
        "z": c - c,
        "u": mxnp.arange(300).astype("u1"),
        "h": mxnp.array(numpy.full(70_000, 1e307)),
        "x": c[:, None] * 1e3 + c,
    }
    code = compile(call, "<program>", "eval")
    run_alone(a, 2 * FLUSHES)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eval(code, names)
        mxnp.synchronize()
    assert caught
    own = str(Path(mxnp.__file__).parent)
    assert not [w for w in caught if w.filename.startswith(own)]


def test_conditions_that_are_ignored_inside_mxnp_do_not_warn(a: Any) -> None:
    h = mxnp.array(numpy.full(70_000, 1e307))
    run_alone(a, 2 * FLUSHES)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with numpy.errstate(over="ignore"):
            mxnp.round(h, 2)
        mxnp.synchronize()
    assert not caught
