"""Test every row of csrc/ir/ops.def with large arrays: dtypes, layouts and arguments.

Results must equal NumPy's bit for bit. NumPy's loops may differ in the last bits, and in
the sign of a zero that maximum returns, with negative or wide strides. Any result that
NumPy has for the same numbers is accepted.
"""

from __future__ import annotations

import functools
import itertools
import operator
import types
import weakref
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from support.lanes import ON_GPU
from support.tolerances import NUMPYS, near

import mxnp
from mxnp import _bridge
from mxnp._engine import core
from mxnp._verify.tolerances import PROCESSOR as ULP

# Warnings are tested in tests/engine/test_warnings.py. The bits of NaN may differ.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.any_nan]

Library = types.ModuleType

ROWS, COLUMNS = 130, 131  # more than 2**14 elements
LONG = 20011
OPS = {op.name: op for op in core.ops()}
DTYPES = {row.name: numpy.dtype(row.name) for row in NUMPYS}
BY_CHAR = {dtype.char: name for name, dtype in DTYPES.items()}


def loops(name: str) -> Iterator[tuple[str, ...]]:
    """Return the dtypes of the inputs of each loop of a ufunc over the core's dtypes."""
    ufunc = getattr(numpy, name)
    for signature in dict.fromkeys(each.split("->")[0] for each in ufunc.types):
        if all(char in BY_CHAR for char in signature):
            yield tuple(BY_CHAR[char] for char in signature)


def each_loop(*nin: int) -> Any:
    """Parametrise a test over the operations of some arities and their loops."""
    return pytest.mark.parametrize(
        ("name", "dtypes"),
        [
            pytest.param(name, dtypes, id=f"{name}-{dtypes[0]}")
            for name, op in OPS.items()
            if op.nin in nin
            for dtypes in {each[0]: each for each in loops(name)}.values()
        ],
    )


# -- numbers -------------------------------------------------------------------------


@functools.cache  # all libraries get the same bits
def numbers(dtype: str, n: int, seed: int, small: bool = False) -> numpy.ndarray:
    """Return numbers of a dtype: common ones and special ones."""
    rng = numpy.random.default_rng([seed, zlib.crc32(dtype.encode()), n])
    kind = numpy.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, n).astype(dtype)
    if kind.kind in "iu":
        limits = numpy.iinfo(dtype)
        if small:  # bit counts and exponents
            return rng.integers(0, 7, n).astype(dtype)
        found = rng.integers(limits.min, limits.max, n, dtype, endpoint=True)
        near = rng.random(n) < 0.7
        found[near] = rng.integers(-9 if limits.min else 0, 10, near.sum()).astype(
            dtype
        )
        found[rng.random(n) < 0.02] = limits.min
        found[rng.random(n) < 0.02] = limits.max
        return found
    if kind.kind == "c":
        part = numpy.empty(0, dtype).real.dtype.name
        found = numpy.empty(n, dtype)
        found.real = numbers(part, n, seed + 1)
        found.imag = numbers(part, n, seed + 2)
        return found
    limits = numpy.finfo(dtype)
    found = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)
    special = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1, -1, 0.5, 2, -2, 3]
    if not ON_GPU:  # intermediate results would be subnormal, or overflow earlier
        special += [limits.max, -limits.max, limits.tiny, limits.smallest_subnormal]
    chosen = rng.random(n) < 0.15
    found[chosen] = rng.choice(special, chosen.sum())
    return found.astype(dtype)


class Operands:
    """Creates the operands of an operation in one library."""

    def __init__(self, xp: Library, name: str = "add") -> None:
        self.xp = xp
        self.small = name in {"power", "left_shift", "right_shift"}
        # expm1 follows the Array API standard at its limits, see
        # tests/suites/array_api/test_standard.py.
        self.without_limits = name == "expm1"
        self.seed = 0

    def take(self, dtype: str, *shape: int) -> Any:
        """Return a new array of a shape, in C order."""
        n = int(numpy.prod(shape))
        # The first input has numbers of all magnitudes.
        small = self.small and self.seed > 0
        self.seed += 1
        values = numbers(dtype, n, self.seed % 2, small).reshape(shape)
        if self.without_limits:
            limit = ~numpy.isfinite(values) | (values == 0)
            values = numpy.where(limit, 1, values).astype(dtype)
        return self.xp.array(values)

    def inputs(self, dtypes: tuple[str, ...], layouts: tuple[str, ...]) -> list[Any]:
        """Return one operand for each dtype and layout."""
        self.seed = 0
        return [
            LAYOUTS[layout](self.xp, functools.partial(self.take, dtype))
            for dtype, layout in zip(dtypes, layouts)
        ]


# -- layouts -------------------------------------------------------------------------


def frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array


def unaligned(xp: Library, array: Any) -> Any:
    """Copy an array to an odd address."""
    memory = xp.zeros(array.nbytes + 1, "u1")
    moved = memory[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def windows(xp: Library, take: Callable[..., Any]) -> Any:
    return xp.lib.stride_tricks.sliding_window_view(take(ROWS + COLUMNS - 1), COLUMNS)


LAYOUTS: dict[str, Callable[[Library, Callable[..., Any]], Any]] = {
    "contiguous": lambda xp, take: take(ROWS, COLUMNS),
    "transposed": lambda xp, take: take(COLUMNS, ROWS).T,
    "F order": lambda xp, take: take(ROWS, COLUMNS).copy(order="F"),
    "strided": lambda xp, take: take(2 * ROWS, 3 * COLUMNS)[::2, 1::3],
    "turned": lambda xp, take: take(ROWS, COLUMNS)[::-1, ::-1],
    "rows turned": lambda xp, take: take(ROWS, COLUMNS)[::-1],
    "columns turned": lambda xp, take: take(ROWS, 2 * COLUMNS)[:, ::-2],
    "inner part": lambda xp, take: take(ROWS + 2, COLUMNS + 5)[1:-1, 2:-3],
    "one row": lambda xp, take: take(1, COLUMNS),
    "one column": lambda xp, take: take(ROWS, 1),
    "1-d": lambda xp, take: take(COLUMNS),
    "0-d": lambda xp, take: take(),
    "broadcast rows": lambda xp, take: xp.broadcast_to(take(COLUMNS), (ROWS, COLUMNS)),
    "broadcast columns": lambda xp, take: xp.broadcast_to(
        take(ROWS, 1), (ROWS, COLUMNS)
    ),
    "read-only": lambda xp, take: frozen(take(ROWS, COLUMNS)),
    "unaligned": lambda xp, take: unaligned(xp, take(ROWS, COLUMNS)),
    "swapped": lambda xp, take: swapped(take(ROWS, COLUMNS)),
    "windows": windows,
    "empty": lambda xp, take: take(0, COLUMNS),
    "long": lambda xp, take: take(LONG),
    "long turned": lambda xp, take: take(LONG)[::-1],
    "long strided": lambda xp, take: take(3 * LONG)[2::3],
    "axes moved": lambda xp, take: xp.moveaxis(take(13, 41, 37), 0, 1),
    "one element": lambda xp, take: take(1, 1, 1),
}
FLAT = ("long", "long turned", "long strided")
WHOLE = [each for each in LAYOUTS if each not in {*FLAT, "axes moved", "empty"}]


def swapped(array: Any) -> Any:
    return array.astype(array.dtype.newbyteorder())


PAIRS = [
    *(("contiguous", other) for other in WHOLE),
    *((other, "contiguous") for other in WHOLE if other != "contiguous"),
    *((each, each) for each in WHOLE if each != "contiguous"),
    ("one row", "one column"),
    ("one column", "1-d"),
    ("broadcast rows", "broadcast columns"),
    ("transposed", "F order"),
    ("swapped", "unaligned"),
    ("turned", "rows turned"),
    ("empty", "1-d"),
    ("0-d", "empty"),
    *itertools.product(FLAT, FLAT),
    ("axes moved", "axes moved"),
    ("axes moved", "0-d"),
    ("one element", "axes moved"),
]

# -- comparison ----------------------------------------------------------------------


def describe(result: Any) -> Any:
    """Return the metadata of a result, without its values."""
    if not isinstance(result, mxnp.ndarray):
        return type(result)
    flags = result.flags
    return (
        *(result.dtype, result.shape, result.strides, result.nbytes, result.itemsize),
        *(flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned),
    )


def parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def outcome(action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the results of a call and their metadata, or its error."""
    try:
        results = parts(action(*args, **kwargs))
    except Exception as error:
        return type(error).__name__, str(error)
    return results, [describe(each) for each in results]


def bits(array: Any) -> numpy.ndarray:
    """Return the bits of an array as integers, with one value for every NaN."""
    found = numpy.array(array, order="C").reshape(-1)
    found = found.astype(found.dtype.newbyteorder("="))
    if found.dtype.kind == "c":
        found = found.view(found.real.dtype)
    if found.dtype.kind == "f":
        found[numpy.isnan(found)] = numpy.nan
        found = found.view(f"i{found.itemsize}")
    return found


def distance(ours: numpy.ndarray, theirs: numpy.ndarray) -> numpy.ndarray:
    """Return the distances in units in the last place, from the bits."""
    least = numpy.iinfo(ours.dtype).min
    ours = numpy.where(ours < 0, least - ours, ours)
    theirs = numpy.where(theirs < 0, least - theirs, theirs)
    apart = numpy.maximum(ours, theirs).astype("u8")
    return apart - numpy.minimum(ours, theirs).astype("u8")


def assert_agree(
    ours: Any, theirs: Any, again: Callable[[], Iterator[Any]], ulp: int, where: str
) -> None:
    """Assert that two outcomes agree; `again` yields NumPy's other results."""
    assert isinstance(ours[0], str) == isinstance(theirs[0], str), f"{where}: {ours}"
    if isinstance(ours[0], str):
        assert ours == theirs, where
        return
    assert ours[1] == theirs[1], where
    for number, (mine, numpys) in enumerate(zip(ours[0], theirs[0], strict=True)):
        found, wanted = bits(mine), bits(numpys)
        same = (found == wanted) | near_parts(mine, numpys)
        if same.all():
            continue
        if ulp:
            same |= distance(found, wanted) <= ulp
        for other in itertools.takewhile(lambda _: not same.all(), again()):  # noqa: B023
            same |= found == bits(parts(other)[number])
        assert same.all(), (
            f"{where}: {(~same).sum()} of {same.size} differ, first at "
            f"{same.argmin()}:\n{mine!r}, not\n{numpys!r}"
        )


def near_parts(ours: Any, theirs: Any) -> numpy.ndarray:
    """Return whether each number is near, in the layout of `bits`."""
    theirs = numpy.array(theirs, order="C").reshape(-1)
    ours = numpy.array(ours, order="C").reshape(-1)
    return numpy.repeat(near(ours, theirs), 1 + (theirs.dtype.kind == "c"))


def in_other_loops(function: Callable[..., Any], *inputs: Any) -> Iterator[Any]:
    """Compute in C order, reversed, strided, in a longer array, and one by one."""
    flat = [
        each.astype(each.dtype.newbyteorder("="), order="C").reshape(-1)
        for each in numpy.broadcast_arrays(*inputs)
    ]
    yield function(*flat)
    turned = parts(function(*(each[::-1].copy()[::-1] for each in flat)))
    yield tuple(each.copy() for each in turned)
    yield function(*(numpy.repeat(each, 3)[::3] for each in flat))
    longer = parts(function(*(numpy.resize(each, each.size + 64) for each in flat)))
    yield tuple(each[: flat[0].size] for each in longer)
    single = zip(*(numpy.split(each, each.size) for each in flat))
    columns = zip(*(parts(function(*each)) for each in single))
    yield tuple(map(numpy.concatenate, columns))


def agree(
    name: str, dtypes: tuple[str, ...], layouts: list[tuple[str, ...]], ulp: int = 0
) -> None:
    """Assert that an operation equals NumPy's in each of some layouts."""
    ufunc = getattr(numpy, name)
    ours, theirs, inputs = [], [], []
    for each in layouts:  # all are recorded before the first is read
        given = Operands(mxnp, name).inputs(dtypes, each)
        ours.append(outcome(getattr(mxnp, name), *given))
    for each in layouts:
        inputs.append(Operands(numpy, name).inputs(dtypes, each))
        theirs.append(outcome(ufunc, *inputs[-1]))
    for mine, numpys, given, each in zip(ours, theirs, inputs, layouts):
        again = functools.partial(in_other_loops, ufunc, *given)
        assert_agree(mine, numpys, again, ulp, f"{name}{dtypes} of {each}")


# -- values --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.nin == 1])
def test_one_operand_of_each_layout(name: str, dtype: str) -> None:
    layouts = [(layout,) for layout in LAYOUTS]
    if (dtype,) not in loops(name):
        layouts = layouts[:3]  # a cast to the dtype of another loop, or an error
    # One-byte integers use the loops of float16.
    agree(name, (dtype,), layouts, ULP.get((name, dtype), casted(name, dtype)))


def casted(name: str, dtype: str) -> int:
    """Return the tolerance, in ulp, of the loop that a dtype is cast to."""
    kind = numpy.dtype(dtype)
    try:
        found = getattr(numpy, name).resolve_dtypes((kind, None))[0]
    except TypeError:
        return 0
    return ULP.get((name, found.name), 0)


@pytest.mark.sampled(10)
@each_loop(2)
def test_two_operands_of_each_layout(name: str, dtypes: tuple[str, ...]) -> None:
    agree(name, dtypes, PAIRS)


@pytest.mark.parametrize("n", [1, 2, 10, 131, 5000, 20_000])
@pytest.mark.parametrize("m", [1, 2, 5, 13])
@pytest.mark.parametrize("kind", ["f8", "f4", "i8"])
def test_powers_of_rows_with_an_exponent_each(
    xp: Library, n: int, m: int, kind: str
) -> Any:
    """NumPy's iterator decides whether it computes a square as a product or as a power."""
    bases = numpy.random.default_rng(n).random(n) * 10
    bases[::7] *= -1
    bases[3::11] = -numpy.inf
    exponents = numpy.resize([2, 0.5, -1, 0, 1, 3], m)
    if kind == "i8":
        exponents = numpy.abs(exponents)
    y = xp.array(exponents.astype(kind))
    with numpy.errstate(all="ignore"):
        return [
            x ** y[:, None]
            for x in map(
                xp.array, (bases, bases.astype("f4"), numpy.tile(bases, (m, 1)))
            )
        ]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_products_of_one_complex_number(shape: tuple[int, ...], dtype: str) -> None:
    """NumPy's loops use fused operations for vectors, but not if strides are 0."""
    parts = numpy.random.default_rng(0).standard_normal((200, 2, 2))
    pairs = (parts[..., 0] + 1j * parts[..., 1]).astype(dtype)
    for pair in pairs:
        a, b = (numpy.full(shape, x) for x in pair)
        ours = mxnp.asarray(a), mxnp.asarray(b)
        for operation in (operator.mul, lambda x, y: x**2, lambda x, y: x):
            got = numpy.asarray(operation(*ours) * pair[0])
            expected = numpy.asarray(operation(a, b) * pair[0])
            same = got.tobytes() == expected.tobytes()
            assert same or near(got, expected).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["add", "less", "ldexp", "divmod"])
def test_every_pair_of_layouts(name: str) -> None:
    whole = [each for each in WHOLE if each != "one element"]
    dtypes = ("float32", "int32") if name == "ldexp" else ("float32", "float32")
    agree(name, dtypes, list(itertools.product(whole, whole)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.nin == 2])
def test_every_pair_of_dtypes(name: str) -> None:
    for dtypes in itertools.product(DTYPES, DTYPES):
        agree(name, dtypes, [("contiguous", "inner part")])


SCALARS = [
    *(2, -3, 0, 300, 10**20, True, 0.5, -0.0, float("nan"), 1e300, 2j),
    *(numpy.float32(0.5), numpy.float64(2.5), numpy.int8(-3), numpy.uint64(2)),
    *(numpy.float16(-0.25), numpy.complex64(1j), numpy.bool_(True)),
]


LEFT_OPERATORS = [
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge),
    *(operator.add, operator.sub, operator.mul, operator.truediv),
    *(operator.mod, operator.floordiv, operator.pow),
]


@pytest.mark.parametrize("function", LEFT_OPERATORS)
@pytest.mark.parametrize("scalar", ["float64", "float32", "int64"])
def test_scalars_on_the_left(function: Any, scalar: str, xp: Library) -> Any:
    """NumPy's scalars pass comparisons on as arrays without axes."""
    array = xp.array(numpy.arange(1.0, LONG))
    result = function(numpy.dtype(scalar).type(3), array)
    assert xp is numpy or _bridge.pending() > 0
    return result


@pytest.mark.sampled(17)
@each_loop(2)
def test_scalars(name: str, dtypes: tuple[str, ...]) -> None:
    results: list[list[Any]] = [[], []]
    for found, xp in zip(results, (mxnp, numpy)):
        ufunc = getattr(xp, name)
        first, second = Operands(xp, name).inputs(dtypes, ("long", "inner part"))
        for scalar in SCALARS:
            found.append((ufunc, first, scalar, outcome(ufunc, first, scalar)))
            found.append((ufunc, scalar, second, outcome(ufunc, scalar, second)))
    for (_, _, _, ours), (ufunc, *given, theirs) in zip(*results, strict=True):
        again = functools.partial(given_scalars, ufunc, given)
        assert_agree(ours, theirs, again, 0, f"{name}{tuple(map(type, given))}")


def given_scalars(ufunc: numpy.ufunc, given: list[Any]) -> Iterator[Any]:
    """Compute in other loops, with the scalars cast as the ufunc casts them."""
    dtypes = ufunc.resolve_dtypes(
        tuple(
            each.dtype
            if isinstance(each, numpy.ndarray | numpy.generic)
            else type(each)
            if type(each) is not bool
            else numpy.dtype(bool)
            for each in given
        )
        + (None,) * ufunc.nout
    )
    arrays = [numpy.asarray(each).astype(to) for each, to in zip(given, dtypes)]
    return in_other_loops(ufunc, *arrays)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", [2, 0.5, -1, 0, 3, 1, 2.0, -2, -0.5, True, 2j])
def test_powers(dtype: str, exponent: Any, xp: Library) -> Any:
    a = Operands(xp).take(dtype, LONG)
    b = Operands(xp).take(dtype, COLUMNS, ROWS).T
    results = [outcome(operator.pow, each, exponent) for each in (a, b, a[1:])]
    c = a.copy()
    results.append(outcome(operator.ipow, c, exponent))
    return [*results, c]


def test_negative_exponents_of_integers_raise_immediately() -> None:
    for dtype in ("int8", "int16", "int32", "int64"):
        a = mxnp.ones(LONG, dtype)
        b = mxnp.ones(LONG, dtype)
        b[LONG // 2] = -1
        c = a + b
        with pytest.raises(
            ValueError, match="Integers to negative integer powers are not"
        ):
            a**b
        with pytest.raises(
            ValueError, match="Integers to negative integer powers are not"
        ):
            mxnp.power(a, c - 3)
        with pytest.raises(
            ValueError, match="Integers to negative integer powers are not"
        ):
            a **= b
        with pytest.raises(
            ValueError, match="Integers to negative integer powers are not"
        ):
            c**-1
        assert c.sum() == 2 * LONG - 2
        assert (a == 1).all()


OTHER = ["g", "G", "O", "M8[s]", "m8[s]", "S3", "U3"]


@pytest.mark.parametrize("dtype", OTHER)
def test_dtypes_without_a_row(dtype: str, xp: Library) -> Any:
    """Dtypes without a row run in NumPy, also between recorded operations."""
    a = xp.arange(LONG) % 50
    b = (a * 3 + 1).astype(dtype) if dtype != "G" else (a * 3 + 1j).astype(dtype)
    c = (a[::-1] + 2).astype("m8[s]" if dtype == "M8[s]" else dtype)
    a += 1
    operations = (operator.add, operator.sub, operator.mul, operator.eq, operator.lt)
    found = [outcome(each, b, c) for each in operations]
    b[1:] = b[:-1]
    return [found, b, c, a * 2, b == c, xp.concatenate([b, b])[::3]]


DESCRIBED = {
    "metadata": numpy.dtype("f8", metadata={"unit": "m"}),
    "fields": numpy.dtype(("f8", [("low", "u4"), ("high", "u4")])),
}
KEEPING = """
a + a, a * 2, 2 - a, w + a, a + w, a > 1, -a, abs(a), a[::2] + 1, a * a + a
np.sqrt(a), np.maximum(a, 0), *np.modf(a), np.hypot(a, w), np.where(a > 1, a, w)
a[i], a[a > 1], np.take(a, i), np.compress(a > 1, a), np.choose(i % 2, [a, w])
a.clip(1, 3), np.clip(a, w, None), np.take_along_axis(a, i, 0), np.cumsum(a), a.copy()
np.sort(a), np.roll(a, 1), np.repeat(a, 2), np.tril(a.reshape(4, -1))
np.add(w, w, out=a), np.add.reduce(a.reshape(2, -1)), np.round(a, 1), np.concatenate([a, w])
np.zeros(w.size, a.dtype) + 1, np.full(w.size, 2, a.dtype) * 2, w.astype(a.dtype) * 2
""".strip().splitlines()


@pytest.mark.parametrize("dtype", DESCRIBED)
@pytest.mark.parametrize("expressions", KEEPING)
def test_dtypes_with_a_description(
    expressions: str, dtype: str, xp: Library
) -> list[Any]:
    """Results have the metadata and the fields of the dtype where NumPy's have them."""
    n = LONG + 1  # even
    a = xp.arange(float(n)).astype(DESCRIBED[dtype])
    names = {"np": xp, "a": a, "w": xp.ones(n), "i": xp.arange(n)}
    found = eval(f"[{expressions}]", names)
    return [(x, x.dtype.names, dict(x.dtype.metadata or {})) for x in found]


# -- operators -----------------------------------------------------------------------

BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, divmod, operator.pow, operator.and_, operator.or_, operator.xor),
    *(operator.lshift, operator.rshift, operator.lt, operator.le, operator.eq),
    *(operator.ne, operator.gt, operator.ge),
]
IN_PLACE = [
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv),
    *(operator.ifloordiv, operator.imod, operator.ipow, operator.iand, operator.ior),
    *(operator.ixor, operator.ilshift, operator.irshift),
]
UNARY = [operator.neg, operator.pos, operator.invert, abs]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", BINARY, ids=lambda each: each.__name__)
def test_operators(function: Any, dtype: str, xp: Library) -> Any:
    make = Operands(xp, "power" if function in {operator.pow} else "add")
    a, b = make.inputs((dtype, dtype), ("contiguous", "inner part"))
    host = numpy.array(b.tolist(), dtype) if xp is numpy else b.__array__().copy()
    scalars = [2, True, 0.5, numpy.float32(3), numpy.int16(5), [1] * COLUMNS, (1,)]
    return [
        outcome(function, a, b),
        outcome(function, a, host),
        outcome(function, host, a),
        *(outcome(function, a, each) for each in scalars),
        *(outcome(function, each, b) for each in scalars),
        *(outcome(function, a, each) for each in ("x", None, b[:5])),
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", UNARY, ids=lambda each: each.__name__)
def test_unary_operators(function: Any, dtype: str, xp: Library) -> Any:
    layouts = [each for each in LAYOUTS if "turned" not in each]  # abs of complex
    make = Operands(xp)
    given = [make.inputs((dtype,), (each,))[0] for each in layouts]
    return [outcome(function, each) for each in given]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", IN_PLACE, ids=lambda each: each.__name__)
def test_in_place_operators(function: Any, dtype: str, xp: Library) -> Any:
    results = []
    make = Operands(xp, "power" if function is operator.ipow else "add")
    lefts = ["contiguous", "strided", "transposed", "unaligned", "swapped"]
    if function is operator.ipow and numpy.dtype(dtype).kind == "c":
        lefts = lefts[:1]  # NumPy's strided squares differ in the last bits
    for left in lefts:
        for right in ("contiguous", "F order", "1-d", "one column", "0-d"):
            a, b = make.inputs((dtype, dtype), (left, right))
            same = a
            results += [outcome(function, a, b), a, same is a]
        for scalar in (2, 0.5, True, numpy.float64(3), 1j, 1000):
            a = make.inputs((dtype,), (left,))[0]
            results += [outcome(function, a, scalar), a]
    small = make.take(dtype, COLUMNS)
    results += [outcome(function, small, a), small]  # the left side is not broadcast
    results.append(outcome(function, frozen(make.take(dtype, LONG)), 2))
    return results


def test_in_place_with_another_dtype(xp: Library) -> Any:
    results = []
    for left, right in itertools.product(DTYPES, DTYPES):
        a, b = Operands(xp).inputs((left, right), ("long", "long"))
        results += [outcome(operator.iadd, a, b), a]
    return results


# -- overlap -------------------------------------------------------------------------

OVERLAPS = """
x += x[::-1]
x[::-1] += x
x[1:] += x[:-1]
x[:-1] += x[1:]
x[1:] -= x[:-1] * 2
x[2:] += x[1:-1] + x[:-2]
x[: n // 2 * 2 : 2] += x[1::2]
x[: n // 2] += x[n // 2 : n // 2 * 2]
x[n // 4 : n // 4 * 3] *= x[: n // 4 * 3 - n // 4]
x[:] = x[::-1]
x[1:] = x[:-1]
x[:-1] = x[1:]
x[5:] = x[:-5]
x[600:] = x[:-600]
x[:-513] = x[513:]
x[: n // 2 * 2 : 2] = x[1::2]
x[::-2] = x[::2]
x *= x.sum()
x += x[0]
x -= x[n // 2]
x += x[n - 1 :]
x[:] = x[n // 2]
x[1:] = x[0]
x -= x.max()
x[:5] = x.min()
x[...] = x + x[::-1]
x[1:-1] = x[:-2] + x[2:] - 2 * x[1:-1]
x[1:-1] += x[:-2] + x[2:] - 2 * x[1:-1]
np.add(x, x[::-1], out=x)
np.add(x[:-1], x[1:], out=x[1:])
np.add(x[:-1], x[1:], out=x[:-1])
np.multiply(x[::-1], 2, out=x)
np.negative(x[:-1], out=x[1:])
np.negative(x[1:], out=x[:-1])
np.square(x[::2], out=x[: x[::2].size])
np.subtract(x, x, out=x)
np.maximum(x, x[::-1], out=x[::-1])
np.copyto(x[1:], x[:-1])
np.copyto(x, x[::-1], where=x[::-1] > 0)
np.less(x, x[::-1], out=x.view(bool)[: x.size])
np.add(x[1:], 1, out=x.view("u1")[1 : 1 + x[1:].nbytes].view(x.dtype))
x[x > 3] = 0
x[x < 3] *= 2
x[::3] = x[::3][::-1]
x += x.copy()[::-1]
x[1:] += x[:-1]; x[1:] += x[:-1]; x[:-1] += x[1:]
y = x[::-1]; y += x; x += y
y = x[1:]; z = x[:-1]; y += z; z += y
y = x * 2; x += y; y += x; x[1:] = y[:-1]; y[:-1] = x[1:]
x[: n // 2], x[n - n // 2 :] = x[n - n // 2 :], x[: n // 2]
x[: n // 2], x[n - n // 2 :] = x[n - n // 2 :].copy(), x[: n // 2].copy()
"""
SQUARE_OVERLAPS = """
x[:] = x.T
x += x.T
x.T[...] += x
x[1:, 1:] += x[:-1, :-1]
x[:-1, :-1] = x[1:, 1:]
x[:, 1:] += x[:, :-1]
x[1:] += x[:-1]
x[:, ::-1] += x
x[::-1] = x
x += x[0]
x -= x[:, :1]
x *= x[:, 3, None]
x[:] = x[5]
x[:, :] = x[:, 7:8]
x += x.diagonal()
x[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]
x[::2, ::2] += x[1::2, 1::2]
x[::2] = x[1::2, ::-1]
x.flat[1:] = x.flat[:-1]
x.ravel()[1:] = x.ravel()[:-1]
x.reshape(-1)[::2] += x.reshape(-1)[1::2]
np.add(x, x.T, out=x.T)
np.subtract(x.T, x, out=x)
np.add(x[0], x, out=x)
np.fill_diagonal(x, x[0, 1])
x[:, 0] = x[0]; x[0] = x[:, 1]
x -= x.sum(axis=0); x -= x.sum(axis=1, keepdims=True)
x += np.broadcast_to(x[3], x.shape)
np.multiply(x, x[:, ::-1], out=x[::-1])
y = x.T; y += 1; x *= 2; y[1:] -= x[:-1]
"""


def lines(text: str) -> Any:
    return pytest.mark.parametrize("statement", text.strip().splitlines())


def whole_numbers(xp: Library, dtype: str, n: int) -> Any:
    """Return numbers whose sums are exact in any order."""
    return xp.array((numpy.arange(n) * 7919 % 13 - (dtype[0] != "u") * 6).astype(dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "complex64"])
@lines(OVERLAPS)
def test_overlap(statement: str, dtype: str, xp: Library) -> Any:
    results = []
    for n in (LONG, 32768):
        names = {"np": xp, "x": whole_numbers(xp, dtype, n), "n": n}
        exec(statement, names)
        results += [names["x"], names.get("y"), names.get("z")]
        strided = whole_numbers(xp, dtype, 2 * n)
        names = {"np": xp, "x": strided[::-2], "n": n}
        results += [outcome(exec, statement, names)[-1:], strided]
    return results


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "complex128"])
@lines(SQUARE_OVERLAPS)
def test_overlap_of_squares(statement: str, dtype: str, xp: Library) -> Any:
    n = 144
    x = whole_numbers(xp, dtype, n * n).reshape(n, n)
    names = {"np": xp, "x": x}
    exec(statement, names)
    turned = whole_numbers(xp, dtype, n * n).reshape(n, n).T
    exec(statement, {"np": xp, "x": turned})
    return x, turned


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_out_at_every_distance(dtype: str, xp: Library) -> Any:
    """Overlap by distances near cache lines, blocks and the whole array."""
    results = []
    n = 17000
    for distance in (1, 2, 7, 8, 63, 64, 65, 511, 512, 513, 1024, 4096, 16383, 16384):
        for sign in (1, -1):
            x = whole_numbers(xp, dtype, 2 * n)
            source, target = x[distance : distance + n], x[:n]
            if sign < 0:
                source, target = target, source
            y = xp.add(source, target, out=target)
            y *= 2
            results.append(x)
    return results


# -- arguments -----------------------------------------------------------------------

# isnan is left out: NumPy's is wrong for a strided `out`.
WITH_OUT = ["add", "divide", "less", "sqrt", "absolute", "floor_divide", "logical_not"]


def outs(xp: Library, dtype: str) -> dict[str, Any]:
    """Return outputs of a dtype in many layouts."""

    def new(*shape: int) -> Any:
        return xp.full(shape, 1, dtype)

    return {
        "fresh": new(ROWS, COLUMNS),
        "F order": new(COLUMNS, ROWS).T,
        "strided": new(2 * ROWS, 3 * COLUMNS)[::2, ::3],
        "turned": new(ROWS, COLUMNS)[::-1, ::-1],
        "inner part": new(ROWS + 3, COLUMNS + 3)[2:-1, 2:-1],
        "unaligned": unaligned(xp, new(ROWS, COLUMNS)),
        "swapped": swapped(new(ROWS, COLUMNS)),
        "larger": new(3, ROWS, COLUMNS),
        "too small": new(ROWS, 1),
        "other shape": new(ROWS, COLUMNS + 1),
        "read-only": frozen(new(ROWS, COLUMNS)),
    }


def narrowed(results: Any) -> Any:
    """Return 64-bit numbers as the 32-bit numbers that they were made from."""
    if isinstance(results, list | tuple):
        return type(results)(narrowed(each) for each in results)
    kind = getattr(results, "dtype", numpy.dtype(bool)).kind
    return results.astype({"f": "f4", "c": "F"}[kind]) if kind in "fc" else results


@pytest.mark.parametrize("target", ["?", "u1", "i4", "i8", "f2", "f4", "f8", "F", "D"])
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", WITH_OUT)
def test_out(name: str, dtype: str, target: str, xp: Library) -> Any:
    ufunc = getattr(xp, name)
    layouts = [("contiguous", "transposed"), ("inner part", "1-d")]
    results: list[Any] = []
    for layout in layouts:
        given = Operands(xp).inputs((dtype,) * ufunc.nin, layout)
        for out in outs(xp, target).values():
            found = outcome(ufunc, *given, out=out)
            results += [
                found,
                found[0][0] is out,
                out if out.base is None else out.base,
            ]
    out = xp.zeros((ROWS, COLUMNS), target)
    a = Operands(xp).inputs((dtype,) * ufunc.nin, layouts[0])
    results.append(outcome(ufunc, *a, out, casting="unsafe"))
    results.append(outcome(ufunc, *a, out=(out,), casting="no"))
    is_wider = dtype == "complex64" and target in ("f8", "D")
    return narrowed(results) if ON_GPU and is_wider else results


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "signbit"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_truth_into_elements_that_are_apart(name: str, dtype: str) -> None:
    a = Operands(mxnp).take(dtype, LONG)
    expected = getattr(numpy, name)(numpy.asarray(a))
    for step in (2, 3, 131):
        out = mxnp.zeros(step * LONG, bool)[::step]
        getattr(mxnp, name)(a, out=out)
        assert numpy.array_equal(numpy.asarray(out), expected)


@pytest.mark.parametrize("name", ["divmod", "frexp", "modf"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_two_outputs(name: str, dtype: str, xp: Library) -> Any:
    ufunc = getattr(xp, name)
    given = Operands(xp).inputs((dtype,) * ufunc.nin, ("contiguous", "inner part"))
    results = []
    for first, second in itertools.product(("f4", "f8", "i4"), repeat=2):
        for p, q in zip(outs(xp, first).values(), outs(xp, second).values()):
            results += [outcome(ufunc, *given, out=(p, q)), p, q]
    p = xp.ones((ROWS, COLUMNS), dtype)
    results += [outcome(ufunc, *given, out=(p, None)), p]
    results += [outcome(ufunc, *given, out=(None, given[0])), given[0]]
    a = Operands(xp).inputs((dtype,) * ufunc.nin, ("contiguous", "contiguous"))
    results += [outcome(ufunc, *a, out=(a[0], a[-1])), *a]
    results += [outcome(ufunc, *a, out=(a[0][::-1], a[0])), a[0]]
    return results


def masks(xp: Library) -> list[Any]:
    chosen = (Operands(xp).take("uint8", ROWS, COLUMNS) % 3) > 0
    return [
        chosen,
        chosen[::-1],
        chosen[:, :1],
        chosen[3],
        xp.asfortranarray(chosen),
        True,
        False,
        xp.zeros((ROWS, COLUMNS), bool),
        [True] * COLUMNS,
        chosen.astype(int),  # TypeError
        chosen[:5],  # ValueError
    ]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("name", ["add", "multiply", "equal", "sqrt", "negative"])
def test_where(name: str, dtype: str, xp: Library) -> Any:
    ufunc = getattr(xp, name)
    results = []
    for mask in masks(xp):
        a = Operands(xp).inputs((dtype,) * ufunc.nin, ("contiguous", "F order"))
        for out in outs(xp, dtype).values():
            results += [outcome(ufunc, *a, out=out, where=mask), out]
        results += [outcome(ufunc, *a, out=a[0], where=mask), a[0]]
        results += [outcome(ufunc, *a, out=a[0][::-1], where=mask), a[0]]
    a = Operands(xp).inputs((dtype,) * ufunc.nin, ("contiguous", "strided"))
    chosen = masks(xp)[0]
    some = ufunc(*a, where=chosen)  # unselected elements are undefined
    return [*results, some[chosen], describe(some)]


def test_where_that_is_also_written(xp: Library) -> Any:
    mask = masks(xp)[0]
    a = xp.ones((ROWS, COLUMNS))
    xp.logical_not(mask, out=mask, where=mask)
    xp.add(a, 1, out=a, where=mask)
    mask[:] = mask[::-1]
    xp.add(a, 2, out=a, where=mask)
    xp.less(a, 2, out=mask[::-1], where=mask)
    return a, mask


CALLS = """
np.add(a, b, dtype="f4")
np.add(a, b, dtype="f4", casting="unsafe")
np.add(a, b, dtype="f8")
np.add(a, b, dtype="i4")
np.add(a, b, dtype="i4", casting="unsafe")
np.add(a, b, dtype=complex)
np.add(a, b, dtype=object)[:3]
np.add(a, b, casting="no")
np.add(a, b, casting="equiv")
np.add(a, b, casting="safe")
np.add(a, b, casting="same_kind")
np.add(a, b, casting="x")
np.add(a, b, order="C")
np.add(a, b, order="F")
np.add(a, b, order="A")
np.add(a, b.T.copy().T, order="A")
np.add(a, b, order="K")
np.add(a, b, subok=False)
np.add(a, b, signature="ff->f", casting="unsafe")
np.add(a, b, signature=(None, None, "f8"))
np.add(a, b, sig="dd->d")
np.less(a, b, dtype="f4", casting="unsafe")
np.less(a, b, dtype=bool)
np.less(a, b, out=np.empty(a.shape, "i4"))
np.sqrt(a, dtype="f2", casting="unsafe")
np.sqrt(a, dtype="D")
np.divide(a, b, dtype="i4")
np.floor_divide(a, b, dtype="i8", casting="unsafe")
np.equal(a, b, dtype=object)[:3]
np.add(a, b, c)
np.add(a, b, c, where=a > b)
np.add(a, b, None)
np.add(a, b, out=None)
np.add(a, b, out=())
np.add(a, b, out=(c, c))
np.add(a, b, out=[c])
np.add(a, b, c, out=c)
np.add(a, b, keepdims=True)
np.add(a)
np.add(a, b, c, c)
np.add(a, b[:5])
np.add(a[:, :5], b)
np.add(a, b, out=a[0])
np.add(a, "x")
np.add(a, None)
np.invert(a)
np.left_shift(a, 1)
np.gcd(a, b)
-(a > 0)
(a > 0) - (b > 0)
(a > 0) + (b > 0)
np.negative(a > 0)
np.clip(a, -1, 1)
np.clip(a, b, b + 1)
np.clip(a, None, b)
np.clip(a, -1, None, out=c)
np.clip(a, 1, -1)
np.clip(a, 0, 1, dtype="f4")
a.clip(-1, 1, c)
a.clip(0)
np.where(a > b, a, b)
np.where(a > b, a, 0)
np.where(a, 1, 0)
np.where(a > 0, a, np.float32(0))
np.where(a[0] > 0, a, b)
np.where(a > b)[0][:9]
np.where(a > b, a[:5], b)
np.where(True, a, b)
np.abs(a), np.fabs(a), np.conj(a), a.conj(), a.conjugate()
np.round(a), np.round(a, 2), a.round(1), np.round(a, -2)
np.fix(a), np.around(a)
np.real(a), np.imag(a), np.angle(a)
np.sinc(a), np.i0(a[:9]), np.nan_to_num(a)
np.isclose(a, b), np.allclose(a, b), np.array_equal(a, b), np.array_equal(a, a)
np.isposinf(a), np.isneginf(a), np.iscomplex(a), np.isreal(a)
np.maximum(a, b, c), np.fmax(a, b), np.minimum.outer(a[0], b[0])
np.add.outer(a[:, 0], b[0])
np.subtract.at(c, (0, slice(None)), 1); c
np.diff(a), np.diff(a, axis=0, n=2), np.ediff1d(a)
np.gradient(a)
np.interp(a, [0, 1, 2], [1, 5, 2])
np.select([a > 1, b > 1], [a, b], 7)
np.choose((a > 0).astype(int), [a, b])
np.piecewise(a, [a < 0, a >= 0], [lambda x: -x, lambda x: x * 2])
np.heaviside(a, 0.5), np.unwrap(a), np.trim_zeros(a[0])
np.float32(3) * a, 3.0 * a, a * 3, a * True, np.float64(3) * a, a / np.int64(3)
a + [1] * a.shape[1], (1,) + a
a == None, a != "x", a == b[:5]
a @ b.T, np.dot(a, b.T), np.inner(a, b), np.vdot(a, b)
np.einsum("ij,ij->i", a, b)
"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@lines(CALLS)
def test_calls(statement: str, dtype: str, xp: Library) -> Any:
    rng = numpy.random.default_rng(1)
    values = rng.integers(-50, 50, (3, ROWS, COLUMNS)) / 8
    a, b, c = (xp.array(each, dtype) for each in values)
    b = b.T.copy().T
    names = {"np": xp, "a": a, "b": b, "c": c}
    *before, expression = statement.split("; ")
    try:
        exec(statement.replace(expression, "result = " + expression), names)
    except Exception as error:
        return type(error).__name__, str(error), before
    return names["result"], c


class OwnComplex(complex):
    """A class of the program that derives from a number of Python."""


class OwnFloat(float):
    """The same for a float."""


MIN_ELIDED_BYTES = 256 * 1024  # from which NumPy writes into temporary operands
EXCHANGED = [
    "a * np.conj(a)", "np.conj(a) * a", "a * (a + 1)", "(a + 1) * (a - 1)", "a * (w + 1)",
    "w * (a + 1)", "(a + 1) * (w + 1)", "(1 + 2j) * (a + 1)", "(a + 1) * (1 + 2j)",
    "np.complex64(1 + 2j) * (a + 1)", "np.complex128(1 + 2j) * (a + 1)", "a[0] * (a + 1)",
    "np.asarray(1 + 2j) * (a + 1)", "a * (a + 1)[::-1]", "a[:1] * (a + 1)",
    "a.reshape(1, -1) * (a + 1)", "np.multiply(a, a + 1)", "OwnComplex(1 + 2j) * (a + 1)",
]  # fmt: skip


@pytest.mark.parametrize("more", [-1, 0, 7])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("text", EXCHANGED)
def test_products_that_numpy_writes_into_an_operand(
    xp: Library, text: str, dtype: str, more: int
) -> Any:
    """The order of the operands determines the last bits of products."""
    n = MIN_ELIDED_BYTES // numpy.dtype(dtype).itemsize + more
    numbers = numpy.random.default_rng(n).standard_normal(2 * n).view("complex128")
    a, w = xp.array(numbers.astype(dtype)), xp.array(numbers)
    return eval(text, {"np": xp, "a": a, "w": w, "OwnComplex": OwnComplex})


IN_OPERAND = [
    "f(a) + b", "b + f(a)", "f(a) - b", "b - f(a)", "f(a) * b", "b * f(a)", "f(a) / b",
    "b / f(a)", "f(a) // b", "b // f(a)", "f(a) % b", "f(a) & b", "b & f(a)", "f(a) | b",
    "b | f(a)", "f(a) ^ b", "b ^ f(a)", "f(a) << b", "f(a) >> b", "f(a) ** b", "f(a) < b",
    "-f(a) + b", "f(a) + b + b", "f(a) * f(b)", "f(a) + b[:1]", "f(a)[:, 1:] + b[:, 1:]",
    "f(a) + np.float32(2) * b", "f(a).astype('f4') * b", "np.add(f(a), b)", "c + f(a)",
    "(f(a) + b).sum(1)", "[z := f(a), z + b][1]", "f(a) + b.tolist()", "f(a) @ b.T",
]  # fmt: skip


@pytest.mark.parametrize("more", [-1, 0])
@pytest.mark.parametrize(
    "operator", ["+=", "-=", "*=", "//=", "%=", "&=", "|=", "^=", "<<=", ">>=", "**="]
)
@pytest.mark.parametrize("right", ["g(x)", "g(f(x))", "f(x)", "g(numpy.array(x))"])
def test_in_place_beside_a_temporary_operand(
    xp: Library, right: str, operator: str, more: int
) -> Any:
    """The array stays the same object, with its dtype and its order in memory."""
    n = (numpy.arange(4 * (MIN_ELIDED_BYTES // 32 + more)).reshape(4, -1)) % 3 + 1
    names = {"numpy": numpy, "x": xp.array(n), "a": xp.array(n)}
    names |= {"f": lambda x: x.copy(order="F"), "g": lambda x: x.astype(">i8")}
    before = names["a"]
    exec(f"a {operator} {right}", names)
    return before is names["a"], before.dtype.str, before.copy()


@pytest.mark.parametrize("more", [-1, 0])
@pytest.mark.parametrize("dtype", ["int64", "float64", "complex128"])
@pytest.mark.parametrize("text", IN_OPERAND)
def test_results_that_numpy_writes_into_an_operand(
    xp: Library, text: str, dtype: str, more: int
) -> Any:
    """A large operand that nothing else refers to determines the order in memory."""
    n_columns = MIN_ELIDED_BYTES // numpy.dtype(dtype).itemsize // 4 + more
    a, b = (numpy.arange(8 * n_columns).reshape(2, 4, -1) % 5 + 1).astype(dtype)
    names = {"np": xp, "a": xp.array(a), "b": xp.array(b), "c": xp.array(b.real)}
    try:
        return eval(text, names | {"f": lambda x: x.copy(order="F")})
    except TypeError as error:
        return str(error)


IN_SWAPPED = [
    "g(a) + 1", "1 + g(a)", "g(a) - 1", "1 - g(a)", "g(a) * 2.0", "2.0 * g(a)", "g(a) / 3",
    "g(a) // 2", "g(a) % 2", "divmod(g(a), 2)[0]", "g(a) << 1", "g(a) | 1", "1 | g(a)",
    "g(a) + b", "b + g(a)", "b - g(a)", "g(a) + g(b)", "g(a) + b[::-1]", "g(a) + b[0]",
    "b[0] + g(a)", "g(a) + a[:1]", "g(a) * np.float64(2)", "np.float64(2) * g(a)",
    "g(a) * np.float32(2)", "g(a) + np.int16(2)", "g(a) + True", "g(a) * 2j", "-g(a)",
    "+g(a)", "abs(g(a))", "~g(a)", "g(a) ** 2", "g(a) ** 0.5", "g(a) ** -1", "g(a) ** 1",
    "g(a) ** 2.0", "g(a) ** 3", "g(a) < 1", "np.add(g(a), 1)", "np.negative(g(a))",
    "(g(a) + 1) * 2", "[z := g(a), z + 1][1]", "g(a)[:] + 1", "g(a) + b.tolist()",
    "g(a) * OwnFloat(2.5)", "OwnFloat(2.5) * g(a)", "g(a) + 2**63", "g(a) + 2**70", "g(a) + (-(2**70))", "(g(a) * 1) ** 2 + 1", "g(a) @ b",
    "g(n) + b", "g(n) * b", "b + g(n)",
]  # fmt: skip


@pytest.mark.parametrize("more", [-1, 0])
@pytest.mark.parametrize(
    "dtype", ["int32", "int64", "uint64", "float32", "float64", "complex128"]
)
@pytest.mark.parametrize("text", IN_SWAPPED)
def test_results_in_another_byte_order(
    xp: Library, text: str, dtype: str, more: int
) -> Any:
    """NumPy writes the result into a large temporary operand, also if it is swapped."""
    n = MIN_ELIDED_BYTES // numpy.dtype(dtype).itemsize + more
    a, b = (numpy.arange(2 * n).reshape(2, n) % 5 + 1).astype(dtype)
    names = {"np": xp, "a": xp.array(a), "b": xp.array(b), "OwnFloat": OwnFloat}
    names["n"] = a  # of NumPy
    swapped = numpy.dtype(dtype).newbyteorder()
    try:
        return eval(text, names | {"g": lambda x: x.astype(swapped)})
    except (TypeError, ValueError, OverflowError) as error:
        return str(error)


NUMPYS = {
    "number": "numpy.array(2)",
    "float": "numpy.array(2.0, '>f4')",
    "bool": "numpy.array(True)",
    "objects": "numpy.array(2, dtype=object)",
    "one": "numpy.array([2.0])",
    "rows": "n",
    "columns": "columns",
    "view": "n.T.copy().T",
    "temporary": "n.copy()",
    "swapped": "swapped",
    "swapped temporary": "g(n)",
    "temporary columns": "f(n)",
    "swapped temporary columns": "g(f(n))",
    "result in a temporary": "(f(n) + x)",
    "subclass": "n.view(numpy.matrix)",
}


@pytest.mark.parametrize("more", [-1, 0])
@pytest.mark.parametrize(
    "operator", ["+", "*", "&", "|", "^", "-", "/", "//", "<<", ">>", "%"]
)
@pytest.mark.parametrize("x", ["x", "f(x)", "g(x)", "g(f(x))"])
@pytest.mark.parametrize("left", NUMPYS.values(), ids=NUMPYS)
def test_arrays_of_numpy_on_the_left(
    xp: Library, left: str, x: str, operator: str, more: int
) -> Any:
    """NumPy writes the result into a large temporary operand on the right, too."""
    n_columns = MIN_ELIDED_BYTES // 8 // 4 + more
    found = []
    for dtype in ("int64", "float64", "complex128"):
        n, a = (numpy.arange(8 * n_columns).reshape(2, 4, -1) % 5 + 1).astype(dtype)
        other = n.dtype.newbyteorder()
        names = {"numpy": numpy, "n": n, "x": xp.array(a), "swapped": n.astype(other)}
        names |= {"columns": n.copy(order="F"), "f": lambda x: x.copy(order="F")}
        names["g"] = lambda x, other=other: x.astype(other)
        try:
            found.append(eval(f"{left} {operator} {x}", names))
        except (TypeError, ValueError) as error:
            found.append(str(error))
    return found


def _kept(xp: Library, a: Any, view: Callable[[Any], Any]) -> Any:
    """Return a temporary array whose memory other code uses, and keeps."""
    _kept.others = view(a)  # type: ignore[attr-defined]
    return a


OWNERS: dict[str, Callable[[Library, Any, Any], Any]] = {
    "a buffer": lambda xp, a, memory: xp.ndarray(a.shape, buffer=memory),
    "a buffer that is converted": lambda xp, a, memory: xp.asarray(
        memoryview(memory).cast("d", a.shape)
    ),
    "an array from a buffer": lambda xp, a, memory: xp.frombuffer(memory).reshape(
        a.shape
    ),
    "an array with its strides": lambda xp, a, memory: xp.lib.stride_tricks.as_strided(
        a, a.shape, a.strides
    ),
    "DLPack": lambda xp, a, memory: xp.from_dlpack(a),
    "an interface": lambda xp, a, memory: xp.asarray(
        types.SimpleNamespace(__array_interface__=a.__array_interface__, owner=a)
    ),
    "its memory": lambda xp, a, memory: _kept(xp, a * 1, lambda a: a.data),
    "its export": lambda xp, a, memory: _kept(xp, a * 1, xp.from_dlpack),
    "an array around it": lambda xp, a, memory: _kept(
        xp, a * 1, lambda a: xp.ndarray(a.shape, a.dtype, a)
    ),
    "ctypes": lambda xp, a, memory: _kept(xp, a * 1, xp.ctypeslib.as_ctypes),
    "a weak reference": lambda xp, a, memory: _kept(xp, a * 1, weakref.ref),
}


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("owner", OWNERS)
def test_operands_that_others_use_are_not_written(
    xp: Library, owner: str, is_left: bool
) -> Any:
    a = xp.arange(MIN_ELIDED_BYTES / 8).reshape(128, -1) % 5
    other, memory = a.copy(order="F"), bytearray(MIN_ELIDED_BYTES)
    make = OWNERS[owner]
    waits = a + 1  # so the array is read by an operation that waits
    result = make(xp, a, memory) + other if is_left else other + make(xp, a, memory)
    other += waits
    kept = getattr(_kept, "others", None)
    if isinstance(kept, memoryview | xp.ndarray):
        kept = xp.array(kept)
    else:
        kept = None if isinstance(kept, weakref.ref) or kept is None else [*kept[3]]
    _kept.others = None  # type: ignore[attr-defined]
    return result, a, other, bytes(memory), kept
