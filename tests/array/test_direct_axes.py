"""Small arrays that are broadcast or have gaps: loops are called for the longest run."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy
import pytest
from support.lanes import ON_GPU

import mxnp

FUNCTIONS = ["add", "subtract", "multiply", "divide", "maximum", "less", "hypot"]
DTYPES = ["int16", "float32", "float64", "complex64", "complex128"]


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    random = numpy.random.default_rng(seed)
    found = 10 * random.standard_normal(shape) + 1
    if dtype.startswith("i"):
        found = abs(found) + 1
    if dtype.startswith("c"):
        return (found + 1j * random.standard_normal(shape)).astype(dtype)
    return found.astype(dtype)


def views(np: Any, dtype: str) -> dict[str, Any]:
    """Return arrays that broadcast to (5, 7, 20, 3), with all kinds of gaps."""
    x = np.array(numbers((5, 7, 20, 3), dtype, 0))
    wide = np.array(numbers((6, 9, 41, 4), dtype, 1))
    return {
        "all": x,
        "rows": np.array(numbers((20, 3), dtype, 2)),
        "columns": np.array(numbers((5, 7, 20, 1), dtype, 3)),
        "outer": np.array(numbers((5, 1, 1, 3), dtype, 4)),
        "one": np.array(numbers((1, 1, 1, 1), dtype, 5)),
        "inside": wide[1:, 1:8, ::2, 1:][:, :, :20],
        "block": wide[:5, 1:8, :20, :1],
        "middle": np.array(numbers((7, 1, 3), dtype, 6)),
    }


def assert_same_bits(mine: Any, theirs: Any) -> None:
    mine = numpy.asarray(mine)
    assert (mine.dtype, mine.shape, mine.strides) == (
        theirs.dtype,
        theirs.shape,
        theirs.strides,
    )
    assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_pair_of_layouts(name: str, dtype: str) -> None:
    if name == "hypot" and dtype.startswith("c"):
        pytest.skip("NumPy has no loop for complex numbers")
    if name == "hypot" and ON_GPU:
        pytest.skip("a GPU rounds it in another way")
    mine, theirs = views(mxnp, dtype), views(numpy, dtype)
    ours, numpys = getattr(mxnp, name), getattr(numpy, name)
    for a, b in itertools.product(theirs, repeat=2):
        assert_same_bits(ours(mine[a], mine[b]), numpys(theirs[a], theirs[b]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_in_arrays_with_gaps(dtype: str) -> None:
    for a, b in itertools.product(["all", "rows", "columns", "inside"], repeat=2):
        results = []
        for np in (numpy, mxnp):
            given = views(np, dtype)
            to = np.zeros((6, 8, 20, 7), dtype)
            np.multiply(given[a], given[b], out=to[1:, :7, :, ::2][..., :3])
            given["inside"] -= given[b]
            to[:5, 1:, :, 1:4] += given[a]
            results.append([to, given["inside"]])
        for ours, numpys in zip(results[1], results[0], strict=True):
            assert numpy.array_equal(numpy.asarray(ours), numpys)


HALVES = slice(None, None, 2)
ONE: dict[str, tuple[tuple[int, ...], Any]] = {
    "one": ((1,), slice(None)),
    "one of two": ((2,), slice(None, None, -2)),
    "one in rows": ((1, 1), slice(None)),
}
RUNS: dict[str, tuple[tuple[int, ...], Any]] = {
    "row": ((8,), HALVES),
    "rows": ((4, 8), (slice(None), HALVES)),
    "gaps": ((8, 8), (HALVES, HALVES)),
    "many gaps": ((300, 300), (HALVES, HALVES)),
}


@pytest.mark.skipif(ON_GPU, reason="a GPU rounds them in another way")
@pytest.mark.parametrize(
    ("name", "dtype", "view"),
    [
        *itertools.product(["exp", "cbrt"], ["f4", "f8"], ONE),
        *itertools.product(["square", "multiply"], ["f8", "c8", "c16"], ONE | RUNS),
    ],
)
def test_results_over_an_input(name: str, dtype: str, view: str) -> None:
    """NumPy's loops choose their instructions by the strides, and round differently."""
    shape, key = (ONE | RUNS)[view]
    nin = getattr(numpy, name).nin
    for seed in range(20):
        results = []
        for np in (numpy, mxnp):
            given = [np.array(numbers(shape, dtype, 2 * seed + i))[key] for i in (0, 1)]
            to = np.zeros(shape, dtype)[key]
            function = getattr(np, name)
            results.append([function(*given[:nin], out=out) for out in (to, given[0])])
        for ours, numpys in zip(results[1], results[0], strict=True):
            assert_same_bits(ours, numpys)


def test_warnings() -> None:
    found = []
    for np in (numpy, mxnp):
        x = np.array(numbers((9, 40, 3), "float64", 7))
        x[4, 20, 1] = 0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            quotient = x[:, :1, :] / x[:, :21]
        found.append((numpy.asarray(quotient), [str(w.message) for w in caught]))
    assert found[0][1] == found[1][1] != []
    assert numpy.array_equal(found[0][0], found[1][0])


@pytest.mark.parametrize("name", ["isfinite", "isnan", "isinf", "signbit"])
def test_conditions_into_outputs_with_gaps(xp: Any, name: str) -> list[Any]:
    """NumPy's loops write bools with gaps wrongly, unless its iterator has a buffer."""
    x = xp.array(numpy.tile([1, numpy.inf, numpy.nan, -4], (3, 16)))
    found = []
    for dtype, step in itertools.product(("f4", "f8"), (2, 3, -1)):
        out = xp.zeros((3, 200), bool)
        getattr(xp, name)(x.astype(dtype)[:, :60], out=out[:, ::step][:, :60])
        found.append(out)
    return found
