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
