"""
Parts of the check whose results compilers of GPUs have got wrong.

Each part returns whether results are NumPy's. It is called with a function that returns
the result of a call on the device as a NumPy array.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy

import mxnp
from mxnp._engine import core

from .custom import gpu_kernel

On = Callable[[Callable[[], Any]], Any]

_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_SHAPE = (3, 37, 6, 5)  # four axes, whose positions are decoded


def _pairs(dtype: str) -> tuple[Any, Any]:
    """Return dividends and divisors beside the limits of a dtype, without zero."""
    low, high = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
    near = {low, low + 1, -3, -2, -1, 1, 2, 3, 6, 7, 10, high // 2, high - 1, high}
    near |= {high // 2 + 1, high // 65536 * 6, 65536, 65537}
    numbers = sorted(each for each in near if low <= each <= high and each)
    pairs = numpy.array([*itertools.product(numbers, repeat=2)], dtype)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def divisions(on: On) -> dict[str, Any]:
    """Divide integers by divisors from memory, and decode positions of four axes."""
    results = {}
    for dtype in _INTEGERS:
        a, b = _pairs(dtype)
        ours = mxnp.array(a), mxnp.array(b)
        with numpy.errstate(all="ignore"):
            results[f"// and % of {dtype} are NumPy's"] = all(
                numpy.array_equal(on(lambda: ufunc(*ours)), expected(a, b))  # noqa: B023
                for ufunc, expected in (
                    (mxnp.floor_divide, numpy.floor_divide),
                    (mxnp.remainder, numpy.remainder),
                )
            )
    words = numpy.arange(2**32 - 2**17, 2**32, 7, dtype="u4")
    places = mxnp.array(words)
    results["a quotient's remainder is NumPy's"] = numpy.array_equal(
        on(lambda: places // numpy.uint32(65536) % numpy.uint32(6)),
        words // numpy.uint32(65536) % numpy.uint32(6),
    )
    cube = numpy.arange(numpy.prod(_SHAPE), dtype="i4").reshape(_SHAPE)
    given = mxnp.array(cube)
    results["four axes are decoded"] = numpy.array_equal(
        on(lambda: given[::2, ::2, ::2, ::2] + 1),
        cube[::2, ::2, ::2, ::2] + 1,
    )
    return results


def copies(on: On) -> dict[str, Any]:
    """Update targets that threadgroups copy, up to the largest that they do."""
    rng = numpy.random.default_rng(4)
    results = {}
    for name, dtype, n in (
        ("add", "i4", 4096),
        ("add", "f4", 4096),
        ("add", "i8", 2048),
        ("maximum", "u4", 5),
        ("minimum", "i4", 4095),
        ("multiply", "i4", 3),
        ("bitwise_xor", "u4", 100),
    ):
        places = rng.integers(0, n, 100_000)
        values = rng.integers(1, 9, places.size).astype(dtype)
        expected = numpy.ones(n, dtype)

        def update(start: Any = expected, name: str = name, v: Any = values) -> Any:
            ours = mxnp.array(start)
            getattr(mxnp, name).at(ours, mxnp.array(places), mxnp.array(v))  # noqa: B023
            return ours

        got = on(update)
        getattr(numpy, name).at(expected, places, values)
        key = f"{name}.at of {n} {numpy.dtype(dtype)} is NumPy's"
        results[key] = numpy.array_equal(got, expected)
    return results


def tiles(on: On) -> dict[str, Any]:
    """Multiply small integers, whose products are exact, beside the sizes of tiles."""
    rng = numpy.random.default_rng(5)
    results = {}
    for dtype in ("float32", "float16", "int32"):
        are_right = True
        for m, k, n in ((31, 2300, 33), (129, 65, 640)):
            a, b = (
                rng.integers(-1, 2, size).astype(dtype) for size in ((m, k), (k, n))
            )
            ours = mxnp.array(a), mxnp.array(b)
            got = on(lambda: ours[0] @ ours[1])  # noqa: B023
            exact = a.astype("i4") @ b.astype("i4")
            are_right &= numpy.array_equal(got, exact.astype(dtype))
        results[f"products of {dtype} are exact"] = are_right
    return results


_MATRICES = """
struct matrices { simdgroup_float8x8 of[2][2]; };
HOW void in_array(thread simdgroup_float8x8 (&sums)[2][2], thread simdgroup_float8x8 *a,
                  thread simdgroup_float8x8 *b)
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            simdgroup_multiply_accumulate(sums[i][j], a[i], b[j], sums[i][j]);
}
HOW void in_struct(thread matrices &sums, thread simdgroup_float8x8 *a,
                   thread simdgroup_float8x8 *b)
{
    in_array(sums.of, a, b);
}
"""
_MULTIPLY = """
    matrices sums;
    simdgroup_float8x8 a[2], b[2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            sums.of[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 2; i++) {
            simdgroup_load(a[i], x + i * 128 + k * 8, 16);
            simdgroup_load(b[i], y + k * 128 + i * 8, 16);
        }
        in_struct(sums, a, b);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            simdgroup_store(sums.of[i][j], out + i * 128 + j * 8, 16);
"""


def matrices(on: On) -> dict[str, Any]:
    """Pass arrays of matrices of a SIMD-group to functions, as products do."""
    if core.gpu().name != "metal":
        return {}
    x, y = (numpy.arange(256, dtype="f4").reshape(16, 16) % n for n in (7, 5))
    results: dict[str, Any] = {}
    for how in ("METAL_FUNC", "inline"):
        name = f"mx_matrices_{how.lower()}"
        kernel = gpu_kernel(
            name, ["x", "y"], ["out"], _MULTIPLY, header=_MATRICES.replace("HOW", how)
        )
        (out,) = kernel(
            inputs=[mxnp.array(x), mxnp.array(y)],
            grid=(32, 1, 1), threadgroup=(32, 1, 1),
            output_shapes=[(16, 16)], output_dtypes=["f4"],
        )  # fmt: skip
        differing = int((numpy.asarray(out) != x @ y).sum())
        results[f"elements of matrices that {how} functions lose"] = differing
    # mxnp has none of the second kind, so that it only informs.
    results["arrays of matrices are whole"] = next(iter(results.values())) == 0
    return results


PARTS = (divisions, copies, tiles, matrices)
