"""Test reductions and scans of large arrays against NumPy's values and accuracy.

If the numbers are chosen so that every order of summation gives the same sum, results are
compared to the last bit. Otherwise the error against the exact result must be within
NumPy's own or within the bound of pairwise summation.
"""

from __future__ import annotations

import itertools
import math
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.lanes import ON_X86
from support.tolerances import NUMPYS

import mxnp
from mxnp import _bridge

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.any_nan]

Library = types.ModuleType

DTYPES = [row.name for row in NUMPYS]
FLOATING = ["float16", "float32", "float64", "complex64", "complex128"]
SHAPE = (32, 16, 64)  # sizes are powers of 2, so means and variances are exact
LONG = 20011
EDGES = [0, 1, 511, 512, 513, 4095, 8191, 8192, 16383, 16384, LONG - 1]
AXES = [None, 0, 1, 2, -1, -2, (0, 1), (1, 2), (0, 2), (2, 0), (-3, 1), (0, 1, 2), ()]

# -- numbers -------------------------------------------------------------------------


def exact(xp: Library, dtype: str, *shape: int) -> Any:
    """Return numbers with exact sums: small integers of both signs."""
    found = numpy.arange(math.prod(shape)) * 7919 % 7 - 3
    if dtype == "bool":
        found %= 2
    elif dtype.startswith("u"):
        found += 3
    numbers = found.astype(dtype)
    if dtype.startswith("c"):
        numbers.imag = found[::-1]
    return xp.array(numbers.reshape(shape))


def powers(xp: Library, dtype: str, *shape: int) -> Any:
    """Return numbers with exact products: 1, -1, and a few powers of 2 if possible."""
    found = numpy.ones(math.prod(shape))
    found[::3] = 1 if dtype.startswith("u") or dtype == "bool" else -1
    if numpy.dtype(dtype).kind in "fc" and found.size >= 1000:
        found[5 : found.size // 2 : found.size // 20 + 1] = 2
        found[found.size // 2 :: found.size // 20 + 1] = 0.5
    numbers = found.astype(dtype)
    if dtype.startswith("c"):
        numbers[4 : found.size : found.size // 8 + 1] = 1j
    return xp.array(numbers.reshape(shape))


LAYOUTS: dict[str, Callable[[Library, Callable[..., Any]], Any]] = {
    "contiguous": lambda xp, take: take(*SHAPE),
    "transposed": lambda xp, take: take(*SHAPE[::-1]).T,
    "axes moved": lambda xp, take: xp.moveaxis(take(16, 32, 64), 0, 1),
    "F order": lambda xp, take: take(*SHAPE).copy(order="F"),
    "strided": lambda xp, take: take(64, 16, 192)[::2, :, 1::3],
    "turned": lambda xp, take: take(*SHAPE)[::-1, :, ::-1],
    "broadcast": lambda xp, take: xp.broadcast_to(take(16, 1), SHAPE),
    "swapped": lambda xp, take: swapped(take(*SHAPE)),
    "unaligned": lambda xp, take: unaligned(xp, take(*SHAPE)),
    "inner part": lambda xp, take: take(34, 18, 67)[1:-1, 1:-1, 2:-1],
}


def swapped(array: Any) -> Any:
    return array.astype(array.dtype.newbyteorder())


def unaligned(xp: Library, array: Any) -> Any:
    memory = xp.zeros(array.nbytes + 1, "u1")
    moved = memory[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def take(xp: Library, name: str, dtype: str) -> Callable[..., Any]:
    """Return the function that creates numbers for a reduction."""
    make = powers if "prod" in name else exact
    return lambda *shape: make(xp, dtype, *shape)


# -- comparison ----------------------------------------------------------------------


def outcome(action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result of a call, or the class and text of its error."""
    try:
        return action(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)


def error_of(result: Any, true: numpy.ndarray) -> numpy.ndarray:
    """Return the distance from the exact result, or 0 if both are NaN or infinite."""
    found = numpy.asarray(result).astype(true.dtype)
    same = (found == true) | (numpy.isnan(found) & numpy.isnan(true))
    return numpy.where(same, 0, abs(found - true))


def assert_accurate(
    ours: Any, theirs: Any, true: Any, size: Any, n: int, where: str, steps: float = 0
) -> None:
    """
    Assert that an error is within NumPy's, or within that of pairwise summation.

    `size` is the sum of the absolute values of the summed numbers. `steps` is the number of
    roundings of each of them, by default that of pairwise sums over runs of 16.
    """
    assert type(ours) is (
        type(theirs) if isinstance(theirs, numpy.generic) else mxnp.ndarray
    ), where
    mine = ours.__array__()
    numpys = numpy.asarray(theirs)
    assert (mine.dtype, mine.shape, steps_of(mine)) == (
        *(numpys.dtype, numpys.shape),
        steps_of(numpys),
    ), where
    unit = float(numpy.finfo(numpys.dtype).eps) / 2
    steps = steps or math.ceil(math.log2(max(n, 2))) + 16
    true = numpy.asarray(true)
    bound = steps * unit * numpy.asarray(size) + unit * abs(true)
    allowed = numpy.maximum(error_of(numpys, true), bound)
    wrong = error_of(mine, true) > allowed
    assert not wrong.any(), (
        f"{where}: {wrong.sum()} of {wrong.size} differ, one by "
        f"{error_of(mine, true)[wrong].max()}\n{mine!r}, not\n{numpys!r}"
    )


# -- every reduction, dtype, layout and axis -----------------------------------------

WHOLE = [
    "sum",
    "prod",
    "min",
    "max",
    "any",
    "all",
    "mean",
    "var",
    "std",
    "count_nonzero",
    "argmin",
    "argmax",
    "ptp",
    "nansum",
    "nanprod",
    "nanmin",
    "nanmax",
    "nanmean",
    "nanvar",
    "nanstd",
    "nanargmin",
    "nanargmax",
]
INEXACT = {"var", "std", "nanvar", "nanstd"}  # the squares do not fit narrow dtypes


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WHOLE)
def test_each_axis_of_each_layout(name: str, dtype: str) -> None:
    numbered = (name in INEXACT) and dtype in {"float16", "float32", "complex64"}
    keeps = [False, True]
    ours, theirs, given = [], [], []
    for xp, found in ((mxnp, ours), (numpy, theirs)):
        function = getattr(xp, name)
        for make in LAYOUTS.values():
            x = make(xp, take(xp, name, dtype))
            for axis, keepdims in itertools.product(AXES, keeps):
                found.append(outcome(function, x, axis=axis, keepdims=keepdims))
                given.append((x, axis, keepdims))
    for mine, numpys, (x, axis, keepdims) in zip(
        ours, theirs, given[len(given) // 2 :], strict=True
    ):
        where = f"{name}({dtype}, {x.strides}, axis={axis}, keepdims={keepdims})"
        if numbered and not isinstance(numpys, tuple):
            wide = x.astype("G" if dtype.startswith("c") else "g")
            true = getattr(numpy, name)(wide, axis=axis, keepdims=keepdims)
            assert_accurate(mine, numpys, true, true, x.size, where)
        elif "prod" in name and dtype.startswith("c"):
            compare(mine + 0, numpys + 0, where)  # signs of zeros depend on the order
        else:
            compare(mine, numpys, where)


def steps_of(array: Any) -> list[int]:
    """Return the strides of axes with a length other than 1."""
    pairs = zip(array.shape, array.strides, strict=True)
    return [stride for length, stride in pairs if length != 1]


def compare(ours: Any, theirs: Any, where: str) -> None:
    """Compare to the last bit, except that all NaN are equal."""
    if isinstance(theirs, numpy.ndarray):
        assert type(ours) is mxnp.ndarray, where
        assert (ours.dtype, ours.shape, steps_of(ours)) == (
            *(theirs.dtype, theirs.shape),
            steps_of(theirs),
        ), where
        numpy.testing.assert_array_equal(ours.__array__(), theirs, where)
        real = (ours.__array__().real, theirs.real)
        if theirs.dtype.kind in "fc":
            mine, numpys = map(numpy.signbit, real)
            number = ~numpy.isnan(theirs.real)
            numpy.testing.assert_array_equal(mine[number], numpys[number], where)
    else:
        assert type(ours) is type(theirs), where
        assert repr(ours) == repr(theirs), where


METHODS = ["sum", "prod", "min", "max", "any", "all", "mean", "argmin", "argmax"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str, dtype: str, xp: Library) -> Any:
    results = []
    for shape in ((LONG,), (3, 7001), (7001, 3), (2, 2, 2, 2, 2, 1024), (16385, 1)):
        x = take(xp, name, dtype)(*shape)
        results += [getattr(x, name)(), getattr(x[::-1], name)()]
        for axis in range(-1, len(shape)):
            made = x * 1 if name == "prod" else x + x  # products may be infinite
            results += [getattr(x, name)(axis), getattr(made, name)(axis=axis)]
    if name == "prod" and dtype.startswith("c"):  # signs of zeros depend on the order
        results = [result + 0 for result in results]
    results.append(outcome(getattr(x, name), axis=9))
    results.append(outcome(getattr(x, name), axis=(0, 0)))
    results.append(outcome(getattr(x, name), axis="x"))
    return results


# -- arguments -----------------------------------------------------------------------

ARGUMENTS = """
dtype="f4"
dtype="f8"
dtype="i8"
dtype="u1"
dtype="D"
dtype=bool
dtype=object
dtype="S3"
initial=5
initial=-100
initial=0.5
initial=np.inf
initial=None
initial="x"
initial=5, axis=0
where=mask
where=mask, axis=0
where=mask[0], axis=1
where=mask[:, :1], axis=0
where=mask, axis=(0, 1), keepdims=True
where=mask, initial=2
where=mask, initial=2, axis=1
where=False
where=False, initial=3
where=True
where=1.5
where=mask[:5]
out=np.empty(128)
out=np.empty(128), axis=0
out=np.empty(128, "f4"), axis=0
out=np.empty(128, "i8"), axis=0
out=np.empty(128, "u1"), axis=0
out=np.empty(128, "D"), axis=0
out=np.empty(128, bool), axis=0
out=np.empty(256)[::2], axis=0
out=np.empty((1, 128)), axis=0, keepdims=True
out=np.empty((128, 2)).T[1], axis=0, dtype="f4"
out=np.empty(()), axis=None
out=np.empty((), "i8")
out=np.empty(127), axis=0
out=x[0], axis=0
out=x[::2][-1], axis=0
out=x[:128, 3], axis=0
out=[1]
ddof=1
ddof=1, axis=0
ddof=0.5, axis=1
ddof=300, axis=0
correction=1
correction=1, ddof=1
mean=x.mean(axis=0, keepdims=True), axis=0
mean=np.zeros((256, 1)), axis=1
axis=2
axis=(0, 0)
axis=(0, 5)
axis=1.5
axis=[0]
axis=None, keepdims=True
axis=np.int64(1)
keepdims=np.True_
foo=1
"""


@pytest.mark.sampled(20)
@pytest.mark.parametrize("dtype", ["bool", "int16", "uint64", "float32", "float64"])
@pytest.mark.parametrize("arguments", ARGUMENTS.strip().splitlines())
def test_arguments(arguments: str, dtype: str) -> None:
    """Means over selected elements and means of narrow numbers are rounded."""
    for name in WHOLE:
        results = []
        for xp in (mxnp, numpy):
            x = take(xp, name, dtype)(256, 128)
            mask = xp.array(numpy.arange(256 * 128).reshape(256, 128) * 31 % 5 > 1)
            names = {"np": xp, "x": x, "mask": mask, "function": getattr(xp, name)}
            results.append(outcome(eval, f"function(x, {arguments})", names))
            results.append(x)
        ours, x, theirs, expected = results
        where = f"np.{name}(x, {arguments}) of {dtype}"
        if name in {*INEXACT, "mean", "nanmean"} and not isinstance(theirs, tuple):
            mine, numpys = numpy.asarray(ours), numpy.asarray(theirs)
            assert (mine.dtype, mine.shape) == (numpys.dtype, numpys.shape), where
            eps = numpy.finfo(
                "f4" if "f4" in {mine.dtype, dtype[0] + "4"} else "f8"
            ).eps
            if dtype == "float32" or mine.dtype == "f4":
                eps = numpy.finfo("f4").eps
            # With `where`, NumPy adds the selected elements one after the other.
            steps = 64 if "where" not in arguments else 1024
            numpy.testing.assert_allclose(mine, numpys, rtol=steps * eps, err_msg=where)
        else:
            compare(ours, theirs, where)
        if "x[" not in arguments or name not in INEXACT:
            compare(x, expected, where)


@pytest.mark.parametrize("name", WHOLE)
def test_of_nothing(name: str, xp: Library) -> Any:
    function = getattr(xp, name)
    results = []
    for dtype, shape in itertools.product(
        ("f8", "f4", "i4", "?", "D"), ((0,), (0, 5), (5, 0), (0, LONG), (LONG, 0))
    ):
        x = xp.ones(shape, dtype) + xp.ones(shape, dtype)
        for axis, keepdims in itertools.product((None, 0, -1, (0, -1)), (False, True)):
            results.append(outcome(function, x, axis=axis, keepdims=keepdims))
        results.append(outcome(function, x, initial=3))
        results.append(outcome(function, x, where=x > 0))
    return results


# -- special numbers -----------------------------------------------------------------

SPECIAL = [
    *("min", "max", "sum", "mean", "argmin", "argmax", "any", "all", "count_nonzero"),
    *("nanmin", "nanmax", "nansum", "nanargmin", "nanargmax", "prod", "nanprod"),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_one_that_is_not_finite(value: str, dtype: str, xp: Library) -> Any:
    results = []
    for edge in EDGES:
        x = exact(xp, dtype, LONG)
        x[edge] = float(value)
        for name in SPECIAL:
            if "prod" not in name:
                results.append((name, edge, getattr(xp, name)(x)))
        y = xp.ones((137, 146), dtype)
        y.flat[min(edge, y.size - 1)] = float(value)
        for name, axis in itertools.product(SPECIAL, (None, 0, 1)):
            if "prod" in name and dtype.startswith("c"):
                continue  # such products with infinity depend on the order
            results.append((name, edge, axis, getattr(xp, name)(y, axis=axis)))
        x[edge // 2] = -x[edge]
        results += [xp.min(x), xp.max(x), xp.sum(x), xp.nanmax(x), xp.argmax(x)]
    return results


@pytest.mark.parametrize(
    "product", ["x.prod()", "np.prod(x + 0)", "np.multiply.reduce(x)"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(
    "numbers",
    [
        numpy.arange(200_000),
        numpy.arange(200_000)[::-1],
        numpy.full(200_000, 0.5),
        numpy.r_[-1, numpy.full(200_000, 2)],
        numpy.r_[numpy.ones(200_000), numpy.inf, 0],
        numpy.r_[0, numpy.ones(200_000), -3],
    ],
    ids=["from_0", "to_0", "halves", "twos", "inf", "zero"],
)
def test_products_that_are_not_finite(
    numbers: numpy.ndarray, dtype: str, product: str
) -> None:
    """A partial product may overflow although NumPy's product is 0 before it."""
    found = []
    for xp in (numpy, mxnp):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = eval(product, {"np": xp, "x": xp.array(numbers.astype(dtype))})
        found.append((str(result), {str(each.message) for each in told}))
    assert found[0] == found[1]


@pytest.mark.parametrize("total", ["x.sum(where=m)", "np.add.reduce(x + 0, where=m)"])
@pytest.mark.parametrize("numbers", [[1, "nan", "inf", 0, "-inf"], ["inf", 1, "-inf"]])
def test_selected_sums_that_are_nan(numbers: list[Any], total: str) -> None:
    """NumPy warns unless the sum is NaN before."""
    found = []
    for xp in (numpy, mxnp):
        x = xp.resize(xp.array([*map(float, numbers)]), 200_000)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            eval(total, {"np": xp, "x": x, "m": x != 0})
        found.append({str(each.message) for each in told})
    assert found[0] == found[1]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("dtype", DTYPES)
def test_ties(dtype: str, xp: Library) -> Any:
    """Check that the first of equal elements is found across blocks and chunks."""
    results = []
    for first, second in itertools.product(EDGES, repeat=2):
        x = xp.ones(LONG, dtype)
        x[first] = x[second] = 0
        results += [xp.argmin(x), (x * 1).argmin(), xp.argmax(x), xp.all(x)]
        y = ~x if dtype == "bool" else 1 - x
        results += [
            xp.argmax(y),
            y.argmax(),
            y.argmin(),
            xp.any(y),
            xp.count_nonzero(y),
        ]
        results += [y[::-1].argmax(), x[::-1].argmin()]
    x[:] = 1
    return [*results, x.argmin(), x.argmax(), x.all(), (x < 0).any()]


def test_nothing_but_nan(xp: Library) -> Any:
    x = xp.full((130, 131), xp.nan)
    y = x.copy()
    y[:, 5] = 1
    names = ("nanmin", "nanmax", "nansum", "nanprod", "nanmean", "nanvar", "nanstd")
    names += ("nanargmin", "nanargmax", "min", "max", "sum", "argmin", "argmax")
    return [
        outcome(getattr(xp, name), each, axis=axis)
        for each in (x, y, y.T)
        for name in names
        for axis in (None, 0, 1)
    ]


def test_zeros_of_both_signs(xp: Library) -> Any:
    """NumPy leaves the order of the two zeros to the processor."""
    x = xp.zeros(LONG)
    x[::2] *= -1
    results = [xp.max(x) == 0, xp.min(x) == 0, xp.argmax(x), xp.argmin(x)]
    results += [xp.any(x), xp.count_nonzero(x), xp.sum(x), xp.sum(-abs(x)), -x.prod()]
    kept = (-abs(x)).sum(axis=0, keepdims=True)
    return [*results, kept == 0, xp.full(LONG, -0.0).sum() == 0]


# -- other ufuncs --------------------------------------------------------------------

REDUCES = """
np.subtract.reduce(x)
np.subtract.reduce(m, axis=1)
np.divide.reduce(m, axis=0)
np.bitwise_and.reduce(i)
np.bitwise_or.reduce(i.reshape(130, 131), axis=0)
np.bitwise_xor.reduce(i.reshape(130, 131), axis=1)
np.gcd.reduce(i)
np.logaddexp.reduce(m[:, :3], axis=1)
np.hypot.reduce(m[:, :2], axis=1)
np.maximum.reduce(x, initial=100)
np.fmax.reduce(m, axis=0)
np.fmin.reduce(m, axis=(0, 1))
np.minimum.reduce(m, axis=0, where=m > 0, initial=50)
np.logical_xor.reduce(m, axis=1)
np.logical_and.reduce(m)
np.logical_or.reduce(m, axis=None)
np.power.reduce(m[:2], axis=0)
np.less.reduce(x)
np.equal.reduce(i)
np.add.reduce(x, axis=None, dtype=None, out=None)
np.add.reduce(m, 0, "f4")
np.add.reduce(m, (0, 1))
np.add.reduce(m, axis=())
np.subtract.reduce(m, axis=(0, 1))
np.sin.reduce(x)
np.divmod.reduce(x)
np.add.reduceat(x, [0, 5, 512, 16000])
np.add.reduceat(m, [0, 7, 100], axis=1)
np.maximum.reduceat(x, [0, 17000, 3])
np.add.accumulate(x)
np.add.accumulate(m, axis=0)
np.add.accumulate(m, axis=1, dtype="f4")
np.multiply.accumulate(x[:300] / 2)
np.maximum.accumulate(x)
np.minimum.accumulate(m, axis=1)
np.maximum.accumulate(m[:, ::-1].T, axis=1)
np.logical_or.accumulate(x > 2)
np.subtract.accumulate(m, axis=1)
np.bitwise_xor.accumulate(i)
np.add.accumulate(i.astype("u1"))
np.add.accumulate(i > 0, dtype="i4")
np.add.accumulate(x, out=x)
np.add.accumulate(x, out=x[::-1])
np.add.accumulate(x[:-1], out=x[1:])
np.maximum.accumulate(m, axis=1, out=m)
np.add.accumulate(m, axis=0, out=m.T.copy().T)
np.add.accumulate(x, axis=1)
np.less.accumulate(x)
np.add.accumulate(x, out=np.empty(5))
np.add.accumulate(x, out=np.empty(x.size, "i8"))
np.cumsum(x), np.cumsum(m), np.cumsum(m, 0), np.cumsum(m.T, 1), x.cumsum(), m.cumsum(1)
np.cumsum(i.astype("i1")), np.cumsum(i > 0), np.cumsum(i, dtype="i2")
np.cumsum(x, out=x), x
np.cumsum(m, axis=-1, out=m), m
np.cumprod(np.sign(x) + (x == 0)), np.cumprod(i.astype("u1") | 1)
np.nancumsum(np.where(x > 2, np.nan, x)), np.nancumprod(np.sign(m[3]))
np.cumulative_sum(x, include_initial=True) if hasattr(np, "cumulative_sum") else 0
np.diff(np.cumsum(x)), np.cumsum(np.ones(x.size))[-1]
np.sum(m, axis=0, out=m[0]), m
np.add.reduce(m, axis=0, out=m[5]), m
np.max(m, axis=1, out=m[:, 0]), m
np.amax(m, axis=0), np.amin(m, 1, None, True), np.amax(m), np.amin(m, where=m > 2, initial=9)
np.sum(x, out=x[3:4].reshape(())), x
np.any(m > 2, axis=0), np.all(m < 9, axis=1), (m > 2).any(), (m < 9).all(), (m > 9).any()
np.any(x, out=np.empty((), bool)), np.any(m, axis=0, out=np.empty(131))
np.count_nonzero(m, axis=0), np.count_nonzero(m > 0), np.count_nonzero(m, keepdims=True)
np.count_nonzero(i.astype("i1")), np.count_nonzero(m.T[::2])
np.argmax(m, axis=0), np.argmin(m, axis=1), np.argmax(m), np.argmin(m.T), m.argmax(1)
np.argmax(m, axis=0, out=np.empty(131, int)), np.argmax(m, axis=1, keepdims=True)
x.argmin(keepdims=True), np.argmax(m, keepdims=True)
np.argmax(m > 2), np.argmax(m > 9), np.argmin(i.astype("u1")), np.argmax(i.astype("f2"))
np.average(m), np.average(m, axis=0, weights=np.arange(130) % 2 + 1.0)
np.median(m, axis=0), np.percentile(m, [25, 75], axis=1), np.ptp(m, axis=0)
np.linalg.norm(np.ones(16384) * 2), np.trace(m), np.trace(m + 1, 2)
np.dot(x, x), np.vdot(x, x), x @ x, np.inner(x, x), np.einsum("i,i", x, x)
np.einsum("ij->j", m), np.einsum("ij->", m), np.tensordot(m, m)
np.array_equal(m, m + 0), np.allclose(m, m + 1e-12), (m == m).all()
x.sum() + x.max() * x.min(), x[x.argmax()], x - x.sum(), x / x.max(), m - m.max(axis=0)
m - m.sum(axis=1, keepdims=True), (m * 2 + 1).sum(axis=0) + m[0], ((m - 1) ** 2).sum()
(m > 0).sum(), (m > 0).sum(axis=0), (m > 0).mean() * 0, (m[::-1] * m.T[0, 0]).sum()
np.where(m > 0, m, 0).sum(axis=0), abs(m).max(), np.abs(m - m.T[0]).sum(axis=1)
m.sum(axis=0).sum(), m.max(axis=1).argmin(), (m.sum(axis=0) > 0).any(), m.sum(0)[None] + m
x.astype("f4").sum(), x.astype("f2").sum(), x.astype("i1").sum(), (x > 0).sum(dtype="u1")
x.sum(dtype=complex), (x + 1j * x).sum(), (x + 1j * x).prod() * 0, i.prod(), i[:50].sum()
sum(x[:500]), max(x), min(i), sum(m), math.fsum(x), any(x > 5), all(i < 9)
"""


@pytest.mark.parametrize("name", ["max", "amax", "min", "amin"])
@pytest.mark.thread_unsafe(reason="it counts the operations of all threads")
def test_both_names_are_recorded(name: str, xp: Library) -> Any:
    x = exact(xp, "float64", *SHAPE) * 2
    result = getattr(xp, name)(x, axis=0)
    assert xp is numpy or _bridge.pending() == 2
    return result


@pytest.mark.parametrize("expression", REDUCES.strip().splitlines())
def test_expressions(expression: str, xp: Library) -> Any:
    n = 130 * 131
    x = exact(xp, "float64", n)
    names = {"np": xp, "x": x, "m": x.reshape(130, 131)[::-1] * 1, "math": math}
    names["i"] = exact(xp, "int64", n)
    return outcome(eval, expression, names)


@pytest.mark.parametrize("axis", [None, 0])
def test_means_of_float16_in_an_array_overflow(axis: int | None, xp: Library) -> Any:
    """NumPy writes the sum to `out`, too, in which it is rounded to float16."""
    x = xp.ones((300_000, 1), "f2")
    with numpy.errstate(over="ignore"):
        return x.mean(axis=axis, out=xp.zeros((1,) if axis == 0 else (), "f2"))


@pytest.mark.parametrize("rows", [2**11, 2**11 + 1, 2**16])
def test_means_in_float16(rows: int, xp: Library) -> Any:
    """float16 cannot represent an odd count of more than 11 bits, nor 65,536."""
    x = xp.linspace(-1, 3, rows * 70).reshape(70, rows).T.astype("f2")
    with numpy.errstate(over="ignore"):
        results = [x.mean(axis=0, dtype="f2"), (x * 40).mean(axis=0, dtype="f2")]
        return [*results, x.mean(axis=0, dtype="f2", keepdims=True)]


def test_products_of_float16_warn_once(xp: Library) -> Any:
    """One of them overflows float32, and another one only float16."""
    x = xp.ones((256, 1024), "f2")
    x[0], x[1, :2] = 9, 300
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        product = x.prod(axis=1)
        product.tolist()
    return product, [str(each.message) for each in caught]


@pytest.mark.parametrize("dtype", ["float16", *DTYPES])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std"])
def test_outputs_in_another_order(name: str, dtype: str, xp: Library) -> Any:
    """NumPy goes through the operand and the output at once, in a common order."""
    results = []
    for shape, axes in [((96, 24, 130), (2, 1, 0)), ((65, 70, 66), (1, 0, 2))]:
        x = xp.linspace(-1, 3, math.prod(shape)).reshape(shape).transpose(axes)
        x = x.astype(dtype)
        for axis, order, n in itertools.product(range(3), "CF", range(2)):
            kept = x.shape[:axis] + (1,) * n + x.shape[axis + 1 :]
            out = xp.zeros(kept, x.dtype, order)
            function = getattr(xp, name)
            results.append(outcome(function, x, axis, out=out, keepdims=bool(n)))
    return results


@pytest.mark.parametrize("ddof", [0.3, 1.0, 2.5])
def test_degrees_of_freedom_need_not_be_whole(ddof: float, xp: Library) -> Any:
    """NumPy divides by them in float64, also if the array has another precision."""
    x = xp.linspace(-1, 3, 2**18).astype("f4").reshape(-1, 64)
    z = x + 1j * x[::-1]
    return [[a.var(0, ddof=ddof), a.std(0, ddof=ddof)] for a in (x, z)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "maximum", "minimum"])
def test_scans(name: str, dtype: str, xp: Library) -> Any:
    function = getattr(xp, name)
    function = getattr(function, "accumulate", function)
    results = []
    for make in LAYOUTS.values():
        x = make(xp, take(xp, name, dtype))
        for axis in (0, 1, 2, -1):
            results.append(outcome(function, x, axis=axis))
    x = take(xp, name, dtype)(LONG)
    results += [function(x), function(x[::-1]), function(x[::2] * 1), function(x)[::3]]
    for target in (dtype, "float64", "int32"):
        results.append(outcome(function, x, dtype=target))
        results.append(outcome(function, x, out=xp.zeros(LONG, target)))
    return [*results, outcome(function, x, out=x), x]


# -- accuracy ------------------------------------------------------------------------


def hard(kind: str, n: int) -> numpy.ndarray:
    """Return numbers whose sums are rounded."""
    rng = numpy.random.default_rng(7)
    if kind == "normal":
        return rng.normal(size=n)
    if kind == "positive":
        return rng.random(n) / 8
    if kind == "wide":
        return rng.normal(size=n) * 10.0 ** rng.integers(-6, 3, n)
    if kind == "cancelling":
        half = rng.normal(size=n // 2 + 1)
        return rng.permutation(numpy.concatenate([half, -half]))[:n]
    return 0.1 * numpy.ones(n)


# Shapes, and the axes along which they are summed.
ACCURACY = {(130, 131): (None, 0, 1), (9, 2000): (0, 1), (100003,): (None,)}
KINDS = ["normal", "positive", "wide", "cancelling", "equal"]


def sums(
    values: numpy.ndarray, axis: int | None
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return the exact sums along an axis, and the sums of the absolute values."""
    if numpy.iscomplexobj(values):
        real, size = sums(values.real, axis)
        imag, more = sums(values.imag, axis)
        return real + 1j * imag, size + more
    flat = values.astype(float)
    lines = [flat.ravel()] if axis is None else numpy.moveaxis(flat, axis, -1)
    if axis is None:
        return numpy.array(math.fsum(lines[0])), numpy.array(math.fsum(abs(lines[0])))
    return (
        numpy.array([math.fsum(line) for line in lines]),
        numpy.array([math.fsum(abs(line)) for line in lines]),
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_accurate(kind: str, dtype: str) -> None:
    for shape, axes in ACCURACY.items():
        n = math.prod(shape)
        values = hard(kind, n).astype(dtype)
        if dtype.startswith("c"):
            values.imag = hard(kind, n)[::-1]
        values = values.reshape(shape)
        for turn, axis in itertools.product((False, True), axes):
            x = values.T if turn else values
            y = (mxnp.array(values).T if turn else mxnp.array(values)) + 0
            true, size = sums(x, axis)
            count = n if axis is None else x.shape[axis]
            where = f"sum of {kind} {dtype}, {x.shape}, {axis}"
            theirs = numpy.sum(x, axis=axis)
            assert_accurate(y.sum(axis=axis), theirs, true, size, count, where)
            if dtype == "float16":
                continue  # its mean is computed exactly, in float32
            theirs = numpy.mean(x, axis=axis)
            assert_accurate(
                *(y.mean(axis=axis), theirs, true / count, size / count),
                *(count, where.replace("sum", "mean")),
            )
        rows = mxnp.array(values)
        true, size = sums(values.T[::-2], None)
        theirs = numpy.sum(values.T[::-2])
        total = rows.T[::-2].sum()
        assert_accurate(total, theirs, true, size, n, f"strided {kind} {dtype}")
        mask = numpy.arange(n).reshape(shape) % 3 > 0
        true, size = sums(values[mask], None)
        theirs = numpy.sum(values, where=mask)
        assert_accurate(rows.sum(where=mask), theirs, true, size, n, f"where {kind}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_variances_are_accurate(kind: str, dtype: str) -> None:
    values = (hard(kind, 130 * 131).astype(dtype) + 3).reshape(130, 131)
    wide = values.astype("g")
    for name, axis, ddof in itertools.product(("var", "std"), (None, 0, 1), (0, 1)):
        true = getattr(numpy, name)(wide, axis=axis, ddof=ddof)
        theirs = getattr(values, name)(axis=axis, ddof=ddof)
        ours = getattr(mxnp.array(values), name)(axis=axis, ddof=ddof)
        n = values.size if axis is None else values.shape[axis]
        # For equal numbers, only the error of the mean remains.
        steps = (math.log2(n) + 16) * numpy.finfo(dtype).eps
        mean = abs(wide.mean(axis=axis))
        size = true + (mean if name == "std" else steps * mean**2)
        assert_accurate(ours, theirs, true, size, n, f"{name} of {kind} {dtype}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_and_scans_are_accurate(dtype: str) -> None:
    values = numpy.exp(hard("normal", 130 * 131) / 500).astype(dtype).reshape(130, 131)
    x, wide = mxnp.array(values), values.astype("g")
    for axis in (None, 0, 1):
        n = values.size if axis is None else values.shape[axis]
        true = wide.prod(axis=axis)
        where = f"prod of {dtype} along {axis}"
        theirs = values.prod(axis=axis)
        assert_accurate(x.prod(axis=axis), theirs, true, abs(true), n, where, steps=n)
        true, size = wide.cumsum(axis=axis), abs(wide).cumsum(axis=axis)
        theirs = values.cumsum(axis=axis)
        assert_accurate(x.cumsum(axis=axis), theirs, true, size, n, where, steps=n)
        true = wide.cumprod(axis=axis)
        theirs = values.cumprod(axis=axis)
        assert_accurate(x.cumprod(axis=axis), theirs, true, true, n, where, steps=n)


@pytest.mark.thread_unsafe(reason="its last bits depend on what other threads record")
def test_sums_are_the_same_every_time() -> None:
    values = hard("wide", 300007)
    x = mxnp.array(values)
    found = {float((x * 1.1).sum()).hex() for _ in range(20)}
    found |= {float(mxnp.sum(mxnp.array(values) * 1.1)).hex() for _ in range(20)}
    assert len(found) == 1


# -- copies --------------------------------------------------------------------------

COPIES = """
np.concatenate([x, y])
np.concatenate([m, m[:5]], axis=0)
np.concatenate([m, m.T[:, :130].T], axis=0) if 0 else np.concatenate([m, m[:, ::2]], axis=1)
np.concatenate([x, y > 0, x.astype("f4")])
np.concatenate([x, y], out=np.empty(2 * x.size))
np.concatenate([x, y], out=np.empty(2 * x.size, "i4"))
np.concatenate([x, y], dtype="f4"), np.concatenate([m, m], axis=None)
np.concatenate([x, y], dtype="i4", casting="unsafe"), np.concatenate([x, m])
np.stack([m, m * 2]), np.stack([m, m + 1], axis=-1), np.stack([x, y], axis=1)
np.vstack([x, y]), np.hstack([m, m]), np.dstack([m, m]), np.column_stack([x, y])
np.repeat(x, 3), np.repeat(m, 2, axis=0), np.repeat(m, 2, axis=1), np.repeat(x, x.size * [1])
np.repeat(m, np.arange(131) % 3, axis=1), np.repeat(m, [1, 2], axis=0)
np.tile(x, 2), np.tile(m, (2, 3)), np.tile(m, (2, 1, 1)), np.tile(x > 0, 2)
np.roll(x, 5), np.roll(x, -3), np.roll(x, x.size + 1), np.roll(m, 3, axis=0), np.roll(m, (1, -2), (0, 1))
np.roll(m, 7), np.roll(m.T, 2, axis=1), np.roll(m, 0), np.roll(x[::2], 1)
np.pad(x, 3), np.pad(m, 2), np.pad(m, ((1, 2), (3, 4))), np.pad(m, 1, mode="edge")
np.pad(m, 2, mode="reflect"), np.pad(m, 2, mode="wrap"), np.pad(m, 1, constant_values=7)
np.pad(m, 1, mode="edge", constant_values=7)
np.pad(x, 2, mode="linear_ramp"), np.pad(m, 1, mode="mean") * 0, np.pad(m, 1, mode="maximum")
x.astype("f4"), x.astype("i4"), x.astype(bool), x.astype(complex), x.astype("f2"), x.astype("u1")
m.astype("f4"), m.T.astype("f4"), m.T.astype("i2", order="C"), m[::2].astype("f4", order="F")
m.astype(float, copy=False) is m, m.astype("f8", order="F", copy=False), x.astype(">f8")
x.astype("i4", casting="safe")
x.astype("i4", casting="same_kind")
x.astype("S8")[:5], x.astype(str)[:5], x.astype(object)[:5], (x > 0).astype("i1")
x.copy(), m.copy("F"), m.T.copy(), m.T.copy("K"), m.T.copy("A"), m[::2, ::-1].copy("K")
np.copy(m.T), np.array(m.T), np.array(m, order="F"), np.ascontiguousarray(m.T), np.asfortranarray(m)
np.full(20011, 3), np.full((130, 131), 0.5, "f4"), np.full(20011, x[3]), np.full((131, 130), m.T[:, 0])
np.full(20011, -0.0), np.full(20011, np.nan), np.full((5, 4000), [[1], [2], [3], [4], [5]], order="F")
np.full(20011, 300, "u1")
np.full(20011, "x", float)
np.zeros(20011), np.zeros((130, 131), "i2", order="F"), np.ones(20011, "?"), np.zeros(20011, "D")
np.ones(20011, np.dtype("i4", metadata={"of": "mine"})).copy().dtype.metadata, np.zeros(20011, ("i4", "i2,i2")).dtype
x.astype("a3")[:2]
np.zeros_like(m.T), np.ones_like(m[::2], dtype=int), np.full_like(m.T, 3), np.full_like(x, 2.5, dtype=int)
np.empty_like(m.T).strides, np.empty_like(m.T).flags.owndata
np.empty_like(m[:, ::-1]).strides, np.zeros_like(np.broadcast_to(x, (2, x.size))).strides
np.arange(20011), np.arange(20011.0), np.arange(0, 2001.1, 0.1), np.arange(20011, 0, -1), np.arange(5, 20016, dtype="f4")
np.arange(0, 20011, dtype="u1")
np.arange(20011, dtype="i2"), np.arange(40000, dtype="f2")[-3:], np.arange(1e5, 1.2e5, 0.7, "f4"), np.arange(0, 3e5, 10, "D")
np.linspace(0, 1, 20011), np.linspace(1, 1 + 2j, 20011), np.linspace(0, 9, 20011, dtype=int), np.logspace(0, 2, 20011)
np.linspace(m[0], m[1], 200), np.geomspace(1, 100, 20011), np.linspace(0, 1, 20011, endpoint=False, retstep=True)
np.eye(150), np.eye(150, 130, 3), np.identity(140, "f4"), np.tri(150, 140), np.diag(m[0]), np.diagflat(m[0] + 1)
np.indices((100, 200)), np.fromfunction(lambda p, q: p * 2 + q, (130, 131)), np.mgrid[:130, :131], np.ogrid[:20011]
np.meshgrid(m[0], m[:, 0]), np.meshgrid(m[0], m[:, 0], indexing="ij", sparse=True), np.vander(m[0], 130)
np.where(x > 0, x, y), np.where(m > 0, m, -m.T[:, :130].T if 0 else m[0]), np.where(x > 0, 1, y.astype("f4"))
np.where(x > 0, x > 1, y > 1), np.where(m[:, :1] > 0, m, 0), np.where(x.astype(int), x, 1j), np.where([True], x, y)
np.clip(x, -1, 1), np.clip(x, y, None), np.clip(m, m[0], m[1]), np.clip(x, -1, 1, out=y), np.clip(x.astype(int), -1, 1)
np.clip(x.astype("u1"), -1, 300)
np.clip(x, np.nan, 1), np.clip(x.astype("f4"), -0.5, 0.5), x.clip(min=0), x.clip(max=y), np.clip(m.T, 0, 1)
np.clip(x)
np.clip(x, None, None)
np.take(x, [1, -1, 5]), np.take(m, [3, 2], axis=1), np.compress(x > 0, x), np.extract(m > 0, m)
np.flip(m), np.fliplr(m), np.flipud(m), np.rot90(m), np.tril(m), np.triu(m, 2), np.swapaxes(m, 0, 1)
np.broadcast_to(x, (3, x.size)) + 1, np.broadcast_arrays(m, m[0], m[:, :1])[2] + 1, np.atleast_2d(x) + 1
np.choose((x > 0).astype(int), [x, y]), np.select([x > 0, y > 0], [x, y]), np.append(m, m[:1], axis=0)
np.insert(x, 5, 3), np.delete(x, 5), np.resize(x, (3, x.size)), np.block([[m, m], [m, m]]), np.split(m, 5, 0)
np.array([x, y]), np.array([x[0], y[1], 3]), np.asarray([m, m]), np.array(x, ndmin=3), np.array(x, "f4")
np.require(m.T, "f4", "C"), np.copyto(y, x), y, np.copyto(y, x, where=x > 0), np.copyto(m, m[0]), m
np.copyto(y, x.astype("D"))
np.copyto(y, x[:5])
np.ravel(m.T), m.T.ravel("K"), m.flatten("F"), m.T.reshape(-1), m.reshape(131, 130, order="F"), m.T.flatten()
m.flatten("A"), m.flatten("K"), m.T.flatten("A"), m.T.flatten("K"), m.T.flatten("F")
"""


@pytest.mark.parametrize("name", ["ascontiguousarray", "asfortranarray", "require"])
def test_arrays_that_have_the_layout_are_not_copied(name: str, xp: Library) -> Any:
    x = xp.arange(300_000.0) + 1
    return getattr(xp, name)(x) is x


@pytest.mark.parametrize("expression", COPIES.strip().splitlines())
def test_copies(expression: str, xp: Library) -> Any:
    if 'x.astype("u1")' in expression and not ON_X86:
        pytest.skip("NumPy's casts of negative numbers to uint8 depend on the position")
    n = 130 * 131
    x = exact(xp, "float64", n) * 0.5
    y = x[::-1] + 1
    m = x.reshape(130, 131) * 1.5
    found = outcome(eval, expression, {"np": xp, "x": x, "y": y, "m": m})
    x += 1  # changes the array after the copy
    m *= 2
    y[:] = 0
    return found, x, m


def test_complex_numbers_are_rounded_and_counted(xp: Any) -> Any:
    x = xp.array(
        numpy.random.default_rng(0).normal(size=(300, 400, 2)).view("c16")[..., 0]
    )
    x[::3] = 0
    x[1, 1] = complex(numpy.nan, 0)
    y = xp.round(x, 2)
    return (
        y,
        y.flags.owndata,
        x.round(),
        xp.count_nonzero(x),
        xp.count_nonzero(x, axis=0),
    )
