"""
Compute with bools whose bytes are neither 0 nor 1, and compare the bytes with NumPy's.

``x.view(bool)`` makes such bools, and so do compiled packages. Any byte but 0 is true. A
kernel that counts with the bytes, or finds one of two values by them, accesses memory of
others.
"""

from __future__ import annotations

import functools
import re
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from conftest import assert_same
from support.lanes import ON_GPU

import mxnp

BYTES = numpy.array([0, 1, 2, 127, 128, 255], "u1")
SIZES = [30, 20_000, 100_001]

# How the bools lie in memory, made from their bytes.
LAYOUTS: dict[str, Callable[[types.ModuleType, Any], Any]] = {
    "contiguous": lambda xp, x: xp.array(x).view(bool),
    "strided": lambda xp, x: xp.array(x.repeat(2)).view(bool)[::2],
    "reversed": lambda xp, x: xp.array(x[::-1]).view(bool)[::-1],
    "shifted": lambda xp, x: xp.array(numpy.append(x[:1], x)).view(bool)[1:],
    "recorded": lambda xp, x: (xp.array(x) ^ xp.uint8(0)).view(bool),
}

DTYPES = "?bHiqefdF"
BINARY = [
    "logical_and", "logical_or", "logical_xor", "equal", "not_equal", "less",
    "less_equal", "greater", "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor",
    "add", "multiply", "maximum", "minimum", "fmax", "fmin",
]  # fmt: skip
UNARY = [
    "logical_not", "invert", "absolute", "floor", "ceil", "trunc", "isnan", "isinf",
    "isfinite", "sqrt", "exp",
]  # fmt: skip
METHODS = [
    "any", "all", "sum", "prod", "mean", "std", "var", "max", "min", "argmax", "argmin",
    "cumsum",
]  # fmt: skip

# m and k are bools, x and y are numbers of the same size, and i are indices.
ELEMENTWISE = [
    *(f"np.{name}(m, k)" for name in BINARY),
    *(f"np.{name}(m, True)" for name in BINARY),
    *(f"np.{name}(m, x)" for name in BINARY[:9]),
    *(
        f"np.{name}(m)"
        for name in UNARY
    ),
    *(f"m.astype({dtype!r})" for dtype in DTYPES),
    *(f"m + np.ones(m.size, {dtype!r})" for dtype in DTYPES),
    *(f"m * np.full(m.size, 3, {dtype!r})" for dtype in DTYPES),
    *(f"np.where(m, x.astype({dtype!r}), y.astype({dtype!r}))" for dtype in DTYPES),
    *(f"np.where(m, x.astype({dtype!r}), 1)" for dtype in DTYPES),
    "np.where(m, k, ~k)", "np.where(x > 10, m, k)", "np.where(m, k, k[1])",
    "np.where(m, True, k)", "np.where(m, 1, 0)", "np.where(m)", "np.clip(m, False, True)",
    "np.clip(m, k, True)", "m.copy()", "+x * m", "m - x", "m / 2", "m // 2", "m % 2",
    "m ** 2", "divmod(m, 2)", "m << k", "np.arctan2(m, k)", "np.ldexp(m, 1)",
    "np.hypot(m, k)", "np.select([m, k], [x, y])", "np.piecewise(x, [m], [1, 2])",
    "np.nan_to_num(m)", "np.add(x, y, where=m, out=y.copy())", "np.add(x, y, out=y, where=m)",
    "np.multiply(x, y, where=m, out=np.zeros(m.size))", "np.less(x, y, out=m)",
    "np.logical_and(m, k, out=m)", "np.add(m, k, out=y)", "np.negative(x, out=y, where=~m)",
    # Several operations, which are fused and compiled
    "np.where(m & k, x, y * 2) + m", "((m | k) ^ (m == k)) + x", "~(m & ~k) & (x > 3)",
    "np.where(m.copy(), k.copy(), m ^ k).view('u1') + 1", "(m.view('i1') < 0) & m",
    "np.where(m.view('u1'), k, m).astype('i2') * 3", "np.floor(m).copy() + x",
]  # fmt: skip

REDUCTIONS = [
    *(f"np.{name}.reduce(m, dtype=bool)" for name in BINARY),
    *(f"np.{name}.accumulate(m, dtype=bool)" for name in BINARY),
    *(f"np.{name}.reduceat(m, i[:9])" for name in BINARY),
    *(f"m.sum(dtype={dtype!r})" for dtype in DTYPES),
    # A GPU adds in another order, which float16 rounds to other sums.
    *(f"m.cumsum(dtype={dtype!r})" for dtype in DTYPES if dtype != "e" or not ON_GPU),
    "m[:1000].cumsum(dtype='e')",
    *(f"np.sum(x.astype({dtype!r}), where=m)" for dtype in DTYPES),
    *(
        f"m.{name}()"
        for name in METHODS
    ),
    "np.count_nonzero(m)", "np.count_nonzero(m & k)", "(m & k).sum()", "(m * x).sum()",
    "np.where(m, x, 0).sum()", "(~m).sum()", "(m == k).sum(dtype='f8')", "m.copy().sum()",
    "(x[m] > 3).sum()", "np.any(m, where=k)", "np.all(m, where=k)", "np.sum(m, where=k)",
    "np.max(x, where=m, initial=0)", "np.mean(x, where=m)", "np.prod(m.astype('i2') + 1)",
    "np.median(m.astype(float))", "np.average(x, weights=m)", "np.ptp(m.astype('i2'))",
    "np.cov(m, k)", "np.trapezoid(m)", "np.trace(m[:9].reshape(3, 3))", "np.nanmax(m)",
    "np.nansum(m)", "np.cumprod(m)", "np.linalg.norm(m)", "np.logical_or.outer(m[:9], k[:9])",
    # Reductions of matrices, along each axis
    *(
        f"m[: m.size // 10 * 10].reshape({shape}){order}.{name}(axis={axis})"
        for name in ("any", "all", "sum", "max", "argmax", "cumsum", "mean")
        for shape in ("10, -1", "-1, 10")
        for order in ("", ".T")
        for axis in (0, 1)
    ),
]  # fmt: skip

SELECTIONS = [
    *(f"x.astype({dtype!r})[m]" for dtype in DTYPES),
    "k[m]", "x[~m]", "x[m & k]", "m[m]", "np.nonzero(m)", "m.nonzero()",
    "np.flatnonzero(m)", "np.argwhere(m)", "np.ix_(m)", "np.compress(m, x)", "x.compress(m)",
    "np.extract(m, x)", "np.delete(x, m)", "m[i]", "m[i[m]]", "np.take(m, i)", "m.take(i)",
    "np.take(x, m)", "x[m.astype(int)]", "np.choose(m, [x, y])", "np.repeat(x, m)",
    "m.repeat(2)", "np.take_along_axis(m, i, 0)", "np.argwhere(m[:30].reshape(5, 6))",
    "x[:30].reshape(5, 6)[m[:30].reshape(5, 6)]", "x[:30].reshape(5, 6)[m[:5]]",
    "x[:30].reshape(5, 6)[:, m[:6]]", "x[:30].reshape(5, 6)[m[:5], 2]",
    "np.stack([x, y], 1)[m]", "np.stack([x, y])[:, m]", "np.stack([x, y], 1)[m, 1]",
    "np.stack([x, y], 1)[np.stack([m, k], 1)]", "m.reshape(-1, 1)[i, 0]",
    "np.stack([m, k], 1)[i]", "np.stack([m, k])[:, i]", "m[::-1][i]", "m[m.size // 2:]",
    "np.lib.stride_tricks.sliding_window_view(m, 3)[m[2:]]", "m[3]", "m[-1]", "m[2:9]",
    "np.broadcast_to(m[2], 99)[:7]", "x[:9][np.broadcast_to(m[2], 9)]", "m[[3, 4, 5, 6]]",
    "x[m[2]]", "x[m[3]]", "x[m.reshape(-1)[2:3].reshape(())]", "np.where(m[2:3].reshape(()), x, y)",
    "m[:1].reshape(()) + x", "m[2:3].reshape(()) | k", "m[2:3].reshape(()).sum()",
]  # fmt: skip

# The last of them is the result.
ASSIGNMENTS = [
    *(f"a = np.zeros(m.size, {dtype!r}); a[m] = 1; a" for dtype in DTYPES),
    *(f"a = np.zeros(m.size, {dtype!r}); a[m] = x[m].astype({dtype!r}); a" for dtype in DTYPES),
    *(f"a = np.zeros(m.size, {dtype!r}); a[...] = m; a" for dtype in DTYPES),
    *(f"a = np.zeros(m.size, {dtype!r}); np.copyto(a, 1, where=m); a" for dtype in DTYPES),
    *(
        f"a = np.zeros(m.size, {dtype!r}); np.copyto(a, x.astype({dtype!r}), where=m); a"
        for dtype in DTYPES
    ),
    *(
        f"a = np.zeros(m.size, {dtype!r}); np.putmask(a, m, x.astype({dtype!r})); a"
        for dtype in DTYPES
    ),
    "x[m] += 1; x", "x[m] = y[m]; x", "x[m] = 2.5; x", "x[~m] *= y[~m]; x", "x[m] = m[m]; x",
    "np.place(x, m, [1.0, 2.0]); x", "np.put(x, m, 5); x", "np.put(m, i[:9], k[:9]); m",
    "x[m.size // 2:][m[m.size // 2:]] = 7; x", "m[m] = False; m", "m[k] = True; m",
    "m[i] = k; m", "m[i[:9]] = True; m", "m[::2] = k[::2]; m", "m[...] = k[::-1]; m",
    "m[2:9] = k[1:8]; m", "m[3] = k[2]; m", "m &= k; m", "m |= x > 3; m", "m ^= True; m",
    "m.fill(True); m", "m[i] ^= k; m", "x[:30].reshape(5, 6)[m[:5]] = 3; x",
    "x[:30].reshape(5, 6)[:, m[:6]] = 3; x", "x[:30].reshape(5, 6)[m[:30].reshape(5, 6)] = 3; x",
    "np.add.at(x, m, 1); x", "np.add.at(x, i, m); x", "np.add.at(x, m.astype(int), 1); x",
    "np.add.at(x, i[m], 1); x", "np.add.at(x, np.nonzero(m)[0], y[m]); x",
    *(f"np.{name}.at(m, i, k); m" for name in BINARY),
    *(f"np.{name}.at(m, i[:9], True); m" for name in BINARY),
    "np.logical_not.at(m, i); m", "np.maximum.at(x, i, m); x", "np.multiply.at(x, i, m); x",
    "np.fill_diagonal(m[:9].reshape(3, 3), True); m", "x.put(i, m); x",
]  # fmt: skip

# mxnp's own method, and what it does in NumPy's words
UPDATES = {
    f"{array}.at[{key}].{name}({value})": (
        f"a = {array}.copy(); np.{name}.at(a, {key}, {value}); a"
    )
    for array, value in (("m", "k"), ("m", "True"), ("x", "m"))
    for key in ("i", "slice(None)")
    for name in ("add", "multiply", "maximum", "logical_or", "logical_xor")
    if array == "m" or not name.startswith("logical")
}

OTHERS = [
    "np.sort(m)", "np.sort(m, kind='stable')", "np.argsort(m, kind='stable')",
    "np.sort(m & k)", "np.lexsort((m, k))", "np.unique(m)",
    "np.unique(m, return_counts=True)", "np.unique(m, return_inverse=True)[1]",
    "np.packbits(m)", "np.packbits(m, bitorder='little')", "np.packbits(m & k)",
    "np.bincount(m)", "np.bincount(i % 3, m)", "np.histogram(m)", "np.histogram(m, 2)",
    "np.histogram(x, 3, weights=m)", "np.diff(m)", "np.isin(m, [True])", "np.isin(m, k)",
    "np.searchsorted([False, True], m)", "np.searchsorted(np.sort(m), m)",
    "np.searchsorted(np.sort(m), m, side='right')", "np.digitize(m, [0, 1])",
    "np.dot(m, k)", "np.vdot(m, k)", "np.inner(m, k)", "m[:9] @ k[:9]",
    "np.outer(m[:9], k[:9])", "m[:30].reshape(5, 6) @ k[:30].reshape(6, 5)",
    "m[:30].reshape(5, 6) @ np.ones((6, 5))", "np.dot(m, x)", "np.einsum('i,i', m, k)",
    "np.einsum('i->', m)", "np.tensordot(m[:9], k[:9], 1)", "np.kron(m[:4], k[:4])",
    "np.convolve(m, k[:3])", "np.correlate(m, k[:3])", "np.polyval([1, 2], m)",
    "np.interp(m, [0, 1], [0, 5])", "np.roll(m, 1)", "np.concatenate([m, k])",
    "np.stack([m, k])", "np.tile(m, 2)", "np.pad(m, 2)", "np.flip(m)", "np.array_equal(m, k)",
    "np.array_equal(m, m.view('u1') != 0)", "np.union1d(m, k)", "np.intersect1d(m, k)",
    "np.setdiff1d(m, k)", "np.triu(m[:9].reshape(3, 3))", "np.insert(x, [1], m[0])",
    "np.append(m, k)", "np.bitwise_or.reduce(m)", "m.tolist()", "[m[j] for j in range(30)]",
    "[m.item(j) for j in range(30)]", "str(m)", "repr(m)", "list(m)[:30]", "m.tobytes()",
    "bytes(m)", "[bool(e) for e in m[:30]]", "[int(e) for e in m[:30]]",
    "[float(m[j : j + 1].sum()) for j in range(30)]", "np.full(5, m[2])", "np.array(m, 'O')",
    "np.array(m, 'U5')", "np.array(m, 'S5')", "np.frombuffer(m.tobytes(), bool)",
    "np.fromiter(m, bool)", "np.fromiter(m, int)", "np.array(list(m))", "m.byteswap()",
    "np.ma.array(x, mask=m).sum()", "np.ma.array(x, mask=m).count()", "np.fft.fft(m[:30])",
    "m.astype('M8[s]')", "m.astype('m8[s]')", "m.astype('U3')", "m.astype(object)",
    "np.float_power(m, k)", "np.asarray(m, float)", "np.array(m, dtype='>f4')",
    "m.astype('>i4')", "np.linalg.norm(m.astype('f4'))", "m.view('u1')", "m.view('i1').max()",
    "bool(m[2:3])", "int(m[2:3].sum())", "m[2:3].item()", "1 if m[2] else 2",
    "'%s' % m[2]", "f'{m[2]}'", "{True: 1, False: 0}[m[2].item()]", "hash(m[2])",
    "[1, 2][m[2].item()]", "divmod(m[2].item(), 2)",
]  # fmt: skip


@functools.cache
def numbers(name: str, size: int) -> Any:
    """Return the bytes or numbers of a variable of the programs."""
    rng = numpy.random.default_rng([size, ord(name)])
    if name in "mk":
        return BYTES[rng.integers(0, 6, size)]
    return (
        rng.integers(0, size, size) if name == "i" else rng.integers(0, 100, size) * 1.0
    )


def names(xp: types.ModuleType, layout: str, size: int, program: str) -> dict[str, Any]:
    """Return the variables that a program reads."""
    found: dict[str, Any] = {"np": xp}
    for name in set(re.findall(r"\b[mkxyi]\b", program)):
        make = LAYOUTS[layout] if name in "mk" else lambda xp, x: xp.array(x)
        found[name] = make(xp, numbers(name, size))
    return found


def run(program: str, xp: types.ModuleType, layout: str, size: int) -> Any:
    """Return the value of the last expression of a program, or the class of its error."""
    variables = names(xp, layout, size, program)
    *statements, last = program.split("; ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec("\n".join(statements), variables)
            result = eval(last, variables)
            mxnp.synchronize()
        except (TypeError, ValueError, IndexError) as error:
            return type(error)
    return result


PROGRAMS = [*ELEMENTWISE, *REDUCTIONS, *SELECTIONS, *ASSIGNMENTS, *OTHERS]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(xp: types.ModuleType, program: str, size: int) -> dict[str, Any]:
    return {layout: run(program, xp, layout, size) for layout in LAYOUTS}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("update", UPDATES)
def test_updates_of_copies(update: str, size: int) -> None:
    for layout in LAYOUTS:
        ours = run(update, mxnp, layout, size)
        assert_same(ours, run(UPDATES[update], numpy, layout, size), layout)
