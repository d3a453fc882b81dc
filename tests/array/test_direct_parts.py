"""Parts of small arrays: real and imaginary parts, diagonals, lines with gaps, rolls."""

from __future__ import annotations

import itertools
import types
import warnings
from functools import partial
from typing import Any

import numpy
import pytest
from support.lanes import ON_GPU
from support.same import Allowed, assert_same

import mxnp

ALLOWED = Allowed(on_gpu=ON_GPU)  # which adds in another order
DTYPES = ["bool", "int16", "int64", "float16", "float32", "float64", "complex64"]
DTYPES += ["complex128", ">f8", "M8[s]"]
SHAPES: list[tuple[int, ...]] = [(1,), (9,), (1, 1), (3, 5), (40, 7), (2, 3, 4), (0, 3)]
SHAPES += [(2, 1, 2, 1, 2)]
CALLS = {
    "real": lambda np, x: [x.real, np.real(x)],
    "imag": lambda np, x: [x.imag, np.imag(x)],
    "diagonal": lambda np, x: [x.diagonal(), np.diagonal(x), np.diagonal(x, 1)],
    "trace": lambda np, x: [x.trace(), np.trace(x), np.trace(x, 1), x.T.trace()],
    "copy": lambda np, x: [x.copy(), np.copy(x), np.array(x), x[::2].copy()],
    "count": lambda np, x: [np.count_nonzero(x), np.count_nonzero(x[..., :1])],
    "hstack": lambda np, x: [np.hstack((x, x)), np.hstack([x[:1], x, x[:0]])],
    "vstack": lambda np, x: [np.vstack([x, x]), np.vstack((x.ravel(),)), np.vstack(x)],
    "append": lambda np, x: [np.append(x, x), np.append(x, x.ravel()), np.append(x, 1)],
    "mixed joins": lambda np, x: [np.hstack((x, x.ravel())), np.vstack((x, x[:1]))],
    "vdot": lambda np, x: [np.vdot(x, x), np.vdot(x[::2], x[::2])],
}


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    random = numpy.random.default_rng(len(shape))
    found = random.standard_normal(shape) + 1j * random.standard_normal(shape)
    if numpy.dtype(dtype).kind != "c":
        found = found.real
    return (40 * found).astype("i8" if dtype == "M8[s]" else dtype).astype(dtype)


def outcome(np: types.ModuleType, call: Any, x: Any) -> Any:
    """Return the results, or the exception, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call(np, x)
        except Exception as error:
            found = [type(error), str(error)]
    return found, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_each_layout(name: str, dtype: str) -> None:
    for shape in SHAPES:
        x = numbers(shape, dtype)
        for view in (
            lambda a: a,
            lambda a: a.T,
            lambda a: a[::-1],
            lambda a: a[..., ::2],
        ):
            ours = outcome(mxnp, CALLS[name], view(mxnp.array(x)))
            theirs = outcome(numpy, CALLS[name], view(x))
            assert_same(ours, theirs, f"{shape}", ALLOWED)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_trace_of_a_large_matrix(dtype: str) -> None:
    """It is computed at once, because few elements are read."""
    for shape in ((150, 200), (200, 150), (30, 40, 50)):
        x = numbers(shape, dtype)
        ours = outcome(mxnp, CALLS["trace"], mxnp.array(x))
        assert_same(ours, outcome(numpy, CALLS["trace"], x), f"{shape}")


def test_the_real_part_of_real_numbers_is_the_array() -> None:
    x = mxnp.arange(3.0)
    assert x.real is x
    assert mxnp.real(x) is x
    assert mxnp.imag(x) is not x


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_share_the_memory(dtype: str) -> None:
    x = mxnp.array(numbers((3, 4), dtype))
    assert x.real.base is x
    x[1:].imag[...] = 7
    x.real += x.imag
    expected = numbers((3, 4), dtype)
    expected[1:].imag = 7
    expected.real += expected.imag
    assert_same(x, expected)
    x.setflags(write=False)
    assert not x.imag.flags.writeable


def test_a_diagonal_is_read_only() -> None:
    x = mxnp.array(numbers((4, 6), "f8"))
    diagonal = x.diagonal()
    assert diagonal.base is x
    with pytest.raises(ValueError, match="read-only"):
        diagonal[0] = 1
    x[0, 0] = 3.5
    assert diagonal[0] == 3.5
    del diagonal  # its NumPy array is used again, for a view that may be written
    x[0][0] = 1.5
    x[0, :4][1] = 2.5
    assert x[0, 1] == 2.5


def reduced(name: str, axis: Any, np: Any, x: Any) -> Any:
    return [getattr(np, name)(x, axis=axis), getattr(x, name)()]


def rolled(arguments: tuple[Any, ...], np: Any, x: Any) -> Any:
    return [np.roll(x, *arguments)]


@pytest.mark.parametrize(
    "dtype", ["bool", "int64", "float16", "float32", "float64", "c8"]
)
@pytest.mark.parametrize("name", ["sum", "max", "min", "any", "all", "mean", "var"])
def test_lines_with_gaps_have_numpys_bits(name: str, dtype: str) -> None:
    for n in (1, 2, 9, 130, 1_000, 20_001):
        x = numbers((3 * n,), dtype)
        for key in (slice(None, None, 2), slice(1, None, 3), slice(None, None, -1)):
            for axis in (None, 0):
                call = partial(reduced, name, axis)
                ours = outcome(mxnp, call, mxnp.array(x)[key])
                theirs = outcome(numpy, call, x[key])
                assert_same(ours, theirs, f"{n} {key}", ALLOWED)


def test_a_line_that_overflows_warns() -> None:
    x = numpy.full(20, 1e308)

    def call(np: Any, a: Any) -> Any:
        return [a[::2].sum(), a.reshape(4, 5).trace(), np.trace(a.reshape(5, 4))]

    assert_same(outcome(mxnp, call, mxnp.array(x)), outcome(numpy, call, x))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "shift", [0, 1, -1, 3, 100, -101, 2**70, True, (1, 2), (-4, 100), (3,), (), [1, 2]]
)
def test_rolls(shape: tuple[int, ...], shift: Any) -> None:
    for dtype in DTYPES:
        x = numbers(shape, dtype)
        for axis in (None, 0, 1, -1, 5, (0, 1), (1, 1), (-1, 0), (0,), ()):
            for view in (lambda a: a, lambda a: a.T):
                for arguments in ((shift, axis), (shift,)):
                    call = partial(rolled, arguments)
                    ours = outcome(mxnp, call, view(mxnp.array(x)))
                    assert_same(ours, outcome(numpy, call, view(x)), f"{axis}")


def test_the_memory_of_rolls() -> None:
    x = mxnp.arange(6.0)
    assert mxnp.roll(x, 1).base is not None
    assert mxnp.roll(x, 1, 0).base is None
    mxnp.roll(x, 0, 0)[0] = 5
    assert x[0] == 0


NUMBERS = [2, -3, 0, 300, 10**30, 0.3, -1e300, float("nan"), 1j, True, None]
NUMBERS += [numpy.float32(0.3), numpy.float64(0.3), numpy.int8(2)]
ARGUMENTS = {
    "clip": lambda np, x, n: [np.clip(x, -1, n), x.clip(n, 40)],
    "where": lambda np, x, n: [np.where(x > 1, x, n), np.where(x > 1, n, x)],
    "fill": lambda np, x, n: [x.fill(n), x],
}


@pytest.mark.parametrize("dtype", DTYPES[:-1])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_numbers_as_arguments(name: str, dtype: str) -> None:
    for number in NUMBERS:
        call = partial(lambda np, x, n: ARGUMENTS[name](np, x, n), n=number)
        x = numbers((40,), dtype)
        expected = outcome(numpy, call, x.copy())
        assert_same(outcome(mxnp, call, mxnp.array(x)), expected, f"{number!r}")


@pytest.mark.parametrize("end", [2**63, 2**64, -(2**63) - 1])
def test_long_ranges_with_ends_beyond_int64(xp: Any, end: int) -> Any:
    return xp.arange(0, end, end >> 15)


ENDS = [0, 1, -3, 7, 100, 2**40, -(2**61), 2**61, 2**63 - 1, -(2**63), 2**64, True, 2.5]


def test_ranges() -> None:
    def call(np: Any, arguments: tuple[Any, ...]) -> Any:
        return [np.arange(*arguments)]

    for start, stop, step in itertools.product(ENDS, ENDS, ENDS):
        calls = {(stop,): stop, (start, stop): stop - start}
        calls[start, stop, step] = (stop - start) / step if step else 0
        for arguments, length in calls.items():
            if length < 10_000:
                expected = outcome(numpy, call, arguments)
                assert_same(outcome(mxnp, call, arguments), expected, f"{arguments}")


@pytest.mark.parametrize(
    "text", ["x[2:2]", "x[3:1]", "x[9:]", "x[::-1, 4:2]", "x[1, 3:0]"]
)
def test_where_an_empty_view_begins(xp: types.ModuleType, text: str) -> Any:
    x = xp.arange(20.0).reshape(4, 5)
    view = eval(text, {"x": x})
    begins, begin = (a.__array_interface__["data"][0] for a in (view, x))
    return view, begins - begin
