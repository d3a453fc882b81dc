"""Last bits of recorded operations on views: loops choose their instructions by the strides."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from support.lanes import ON_GPU

from mxnp import _bridge

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(ON_GPU, reason="a GPU rounds in another way"),
]

Library = types.ModuleType

REVERSED = slice(None, None, -1)
HALVES = slice(None, None, 2)
# Views of a few rows, and of many.
KEYS: dict[str, Any] = {
    "all reversed": (REVERSED, REVERSED),
    "rows reversed": (REVERSED, slice(None)),
    "columns reversed": (slice(None), REVERSED),
    "columns with gaps": (slice(None), HALVES),
    "reversed, with gaps": (slice(None, None, -2), slice(None, None, -2)),
    "one column": (slice(None), slice(1, 2)),
    "row reversed": (0, REVERSED),
    "column": (REVERSED, 0),
}
SHAPES = [(6, 10), (150, 300)]
COMPLEX = ["multiply", "square", "absolute", "reciprocal", "divide", "exp", "conjugate"]
REAL = ["exp", "log", "log2", "expm1", "tanh", "arctan", "cbrt", "power", "hypot"]
OWN = ["sin", "cos"]  # of float64; NumPy's for other dtypes
CASES = [
    *((name, dtype) for name in COMPLEX for dtype in ("c8", "c16")),
    *((name, dtype) for name in REAL for dtype in ("f2", "f4", "f8")),
    *((name, dtype) for name in OWN for dtype in ("f2", "f4")),
]


@pytest.fixture(autouse=True, params=[0, 1 << 14])
def threshold(request: pytest.FixtureRequest) -> Iterator[None]:
    """Record all operations, and then only large ones."""
    before = _bridge.set_threshold(request.param)
    yield
    _bridge.set_threshold(before)


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    found = numpy.random.default_rng(seed).uniform(0.1, 4, (2, *shape))
    is_complex = dtype in ("c8", "c16")
    return (found[0] + 1j * found[1] if is_complex else found[0]).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_a_view(
    xp: Library, name: str, dtype: str, key: str, shape: tuple[int, ...]
) -> Any:
    given = [xp.array(numbers(shape, dtype, i)) for i in range(3)]
    views = [given[0][KEYS[key]], given[1][KEYS[key]].copy(), given[2].T[KEYS[key]]]
    function = getattr(xp, name)
    if function.nin == 1:
        return [function(view) for view in views], function(views[0][..., None])
    return (
        function(views[0], views[1]),
        function(views[1], views[0]),
        function(views[0], given[0][KEYS[key]]),
        function(views[0], views[0].ravel()[-1:]),
        function(views[2], views[2]),
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("name", ["multiply", "square", "add"])
def test_a_result_in_a_view(
    xp: Library, name: str, dtype: str, key: str, shape: tuple[int, ...]
) -> Any:
    given = [xp.array(numbers(shape, dtype, i)) for i in range(2)]
    views = [each[KEYS[key]] for each in given]
    to = xp.zeros_like(given[0])
    function = getattr(xp, name)
    function(*views[: function.nin], out=to[KEYS[key]])
    function(*views[::-1][: function.nin], out=views[0])
    return to, given[0]


@pytest.mark.parametrize("shape", [(9,), (300,), (40_000,), (7, 9), (160, 170)])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("name", ["multiply", "square", "absolute", "add"])
def test_a_result_over_other_elements_of_an_operand(
    xp: Library, name: str, dtype: str, shape: tuple[int, ...]
) -> Any:
    """NumPy's loops use other instructions where the operands overlap."""
    x = xp.array(numbers(shape, dtype, 0))
    function = getattr(xp, name)
    if name == "absolute":
        function(x, out=x.imag)
        return x
    ahead = x.copy()
    function(*[ahead[1:]] * function.nin, out=ahead[:-1])
    behind = x.copy()
    function(*[behind[:-1]] * function.nin, out=behind[1:])
    beside = x.copy()
    n = len(x) // 2
    function(*[beside[1::2][:n]] * function.nin, out=beside[::2][:n])
    return ahead, behind, beside


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_running_products(
    xp: Library, dtype: str, shape: tuple[int, ...], axis: int
) -> Any:
    x = xp.array(numbers(shape, dtype, 0) / 4)
    return [x.cumprod(axis), x[REVERSED, REVERSED].cumprod(axis), x.T.cumprod(axis)]


ONES = [(1, 130, 140), (130, 1, 140), (130, 140, 1), (3, 1, 5), (1, 9), (9, 1)]
RESULTS = """
x + 1; np.sqrt(x); x * 1.5; x < 2; np.clip(x, 1, 2); np.where(x > 1, x, 0)
np.cumsum(x, axis=0); np.cumsum(x, axis=1); np.maximum.accumulate(x, axis=-1)
np.sum(x, axis=0); np.max(x, axis=1); np.any(x, axis=-1); np.mean(x, axis=0, keepdims=True)
np.argmax(x, axis=0, keepdims=True); np.argmin(x, axis=-1, keepdims=True)
np.divmod(x, 2); np.add(x, np.asarray(2, 'i1')); np.angle(x); np.average(x, axis=0)
np.count_nonzero(x, axis=1)
"""


@pytest.mark.parametrize("shape", ONES)
@pytest.mark.parametrize("dtype", ["i4", "f8"])
@pytest.mark.parametrize("text", RESULTS.strip().replace("\n", ";").split(";"))
def test_strides_along_axes_of_one_element(
    xp: Library, text: str, dtype: str, shape: tuple[int, ...]
) -> Any:
    """NumPy's iterator sorts such axes in another way than its calls without an iterator."""
    x = xp.array(numbers(shape, "f8", 0)).astype(dtype)
    names = [{"np": xp, "x": y} for y in (x, x.T, x.T[::-1], x.swapaxes(0, -1)[::-1])]
    return [eval(text.strip(), each) for each in names]
