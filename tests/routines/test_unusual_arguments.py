"""Test that calls with unusual arguments have NumPy's results, errors and warnings."""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy
import pytest
from support.lanes import ON_GPU

import mxnp
from mxnp import _bridge

pytestmark = pytest.mark.thread_unsafe(reason="warnings are those of all threads")

N = 300_000  # recorded, also by reductions


def outcome(xp: ModuleType, expression: str, **names: Any) -> Any:
    """Return the result of an expression or its error, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = eval(expression, {"np": xp, "nan": xp.nan, "inf": xp.inf, **names})
        except Exception as error:
            result = type(error).__name__, str(error)
        getattr(xp, "synchronize", lambda: None)()
    return result, sorted(str(each.message) for each in caught)


# -- Methods of ufuncs -----------------------------------------------------------------

UFUNCS = [
    "add",
    "matmul",
    "vecdot",
    "clip",
    "divmod",
    "modf",
    "frexp",
    "isnan",
    "signbit",
    "logical_not",
    "ldexp",
    "spacing",
    "power",
    "maximum",
    "logical_and",
    "floor_divide",
    "remainder",
    "heaviside",
]
CALLS = """
reduce(a)
reduce(m, 1)
reduce(m, axis=None)
reduce(a, axis=())
reduce(a, initial=1)
accumulate(a)
accumulate(m, 1)
reduceat(a, [0, 2])
outer(a[:5], a[:5])
outer(a)
at(a, i, 1.0)
at(a, i)
at(a, i, 1)
at(a, i, 1, 2)
at(a, i, a[:3])
at(a, (i,), a[1:4])
at(k, i, 1)
at(k, i)
at(a, i, 'x')
at(1, 2, 3)
at(a, i, b=3)
""".strip().splitlines()


@pytest.mark.parametrize("size", [8, 40_000])
@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.any_nan
def test_methods_of_ufuncs(xp: ModuleType, name: str, size: int) -> Any:
    results = []
    for call in CALLS:
        a, k = xp.arange(float(size)) + 1, xp.arange(size) + 1
        names = {"a": a, "k": k, "m": a.reshape(2, -1), "i": xp.array([1, 1, 3])}
        results.append(outcome(xp, f"np.{name}.{call}", **names))
        results.append((a, k))
    return results


def test_updates_with_two_outputs_are_refused() -> None:
    a = mxnp.arange(N * 1.0)
    with pytest.raises(ValueError, match="Only single output ufuncs"):
        mxnp.divmod.at(a, mxnp.array([1, 1, 3]), 2.0)


@pytest.mark.sampled(4)
@pytest.mark.skipif(ON_GPU, reason="updates on a GPU raise no conditions")
@pytest.mark.parametrize("name", ["divide", "floor_divide", "remainder", "power"])
@pytest.mark.parametrize("value", ["zeros", "0", "0.0", "zeros.astype('f4')"])
def test_warnings_of_at_name_what_numpys_name(
    xp: ModuleType, name: str, value: str
) -> Any:
    results = []
    for dtype in ("f4", "f8"):
        for shape in ((N,), (2, N // 2)):
            a = xp.zeros(shape, dtype)
            key = xp.arange(N) if a.ndim == 1 else (xp.arange(N) % 2, xp.arange(N) // 2)
            at = f"np.{name}.at(a, key, {value})"
            results.append(
                outcome(xp, at, a=a - 1.0, key=key, zeros=xp.zeros(N, dtype))
            )
    return [warned for _, warned in results]


VALUES_OF_OTHER_SHAPES = """
(2, 3, 3, 3, 4)
(1, 1, 2, 1)
(2, 1)
(1, 2, 1)
(5, 0)
(3,)
(1,)
()
""".strip().splitlines()
KEYS = """
(slice(-7, 7, -1), np.array([True, False]), [-1])
(slice(None), np.array([True, False]), [-1])
(slice(None), [0, 1])
[0, 1]
np.array([[0, 1], [1, 1]])
(np.array([0, 1]), slice(None))
slice(0, 2)
np.array([True, False, True, False])
0
(0, 0)
([9], [0])
None
(Ellipsis, [0])
""".strip().splitlines()


@pytest.mark.parametrize("key", KEYS)
def test_shapes_of_values_are_checked_before_an_update(key: str) -> None:
    ends = (
        "array is not broadcastable to correct shape",
        "operands could not be broadcast",
        "index 9 is out of bounds",
        "shape mismatch",
        "non-broadcastable output operand",
    )
    for shape in VALUES_OF_OTHER_SHAPES:
        a = mxnp.zeros((4, 2, 1), "i4")
        values = mxnp.zeros(eval(shape), "u1")
        index = eval(key, {"np": mxnp})
        for update in (
            lambda a=a, i=index, b=values: mxnp.add.at(a, i, b),
            lambda a=a, i=index, b=values: a.at[i].add(b),
        ):
            error = refusal(update)
            assert error is None or any(end in error for end in ends), error


UPDATED = ["f8", "f2", "i4", "u1", "bool", "U1", "O", ">f8"]
INDICES = """
[1, 2, 1]
[1, 9]
[1.0]
np.ones(7, bool)
11
slice(0, 3)
'x'
([1], [1])
([1, 2], [0, 1, 1])
""".strip().splitlines()
UPDATING = """
2
np.ones(4)
np.ones((5, 3))
np.ones((5, 3)) * 1j
np.ones(3) * 1j
'x'
2**70
None
65536
1e300
np.array(['a', 'b', 'c'])
""".strip().splitlines()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["add", "maximum", "bitwise_or", "less"])
@pytest.mark.parametrize("value", UPDATING)
def test_the_first_of_two_errors_of_an_update(
    xp: ModuleType, name: str, value: str
) -> Any:
    """A dtype, the indices and the values may each be refused."""
    results = []
    for dtype in UPDATED:
        for indices in INDICES:
            a = xp.ones(max(_bridge.get_threshold(), 6)).astype(dtype)
            call = f"np.{name}.at(a, {indices}, {value})"
            results.append((outcome(xp, call, a=a), a[:12]))
    return results


def refusal(update: Any) -> str | None:
    """Return the text of the error with which an update is refused, or None."""
    try:
        update()
    except (ValueError, IndexError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0,)])
@pytest.mark.parametrize("mode", ["wrap", "clip", "raise"])
def test_take_from_nothing(shape: tuple[int, ...], mode: str) -> None:
    """NumPy 2.4 does not return from some of these calls."""
    a = mxnp.zeros(shape)
    for indices in ([0, -1, 1], mxnp.arange(20_000) % 3, [], 0):
        for axis in range(len(shape)):
            takes = (
                lambda a=a, i=indices, x=axis: mxnp.take(a, i, axis=x, mode=mode),
                lambda a=a, i=indices, x=axis: mxnp.take(a, i, x, None, mode),
                lambda a=a, i=indices, x=axis: a.take(i, x, mode=mode),
            )
            is_refused = shape[axis] == 0 and numpy.size(indices) > 0
            for take in takes:
                if is_refused and mode == "wrap":
                    with pytest.raises(IndexError, match="cannot do a non-empty take"):
                        take()
                elif not is_refused:
                    i = numpy.asarray(indices, int)
                    expected = numpy.take(numpy.zeros(shape), i, axis, mode=mode)
                    assert take().shape == expected.shape


# -- Reductions ------------------------------------------------------------------------

INITIAL = """
np.ones((4, 5))
[1, 2]
np.array(3)
np.array([3])
2**70
-1
1.5
nan
inf
'x'
None
True
0
1
np.float32(2.5)
1j
""".strip().splitlines()


@pytest.mark.sampled(19)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "bool"])
@pytest.mark.parametrize("initial", INITIAL)
@pytest.mark.any_last_bit
def test_initial_values(xp: ModuleType, initial: str, dtype: str) -> Any:
    results = []
    for size in (6, N):
        a = (xp.arange(size) % 3).astype(dtype)
        names = {"a": a, "m": a.reshape(2, -1), "w": a > 1}
        for name in ("sum", "prod", "max", "min"):
            results.append(outcome(xp, f"np.{name}(a, initial={initial})", **names))
            results.append(outcome(xp, f"a.{name}(initial={initial})", **names))
        for name in ("add", "multiply", "maximum", "logical_and", "bitwise_or", "fmin"):
            for rest in ("m, 1", "a, where=w"):
                call = f"np.{name}.reduce({rest}, initial={initial})"
                results.append(outcome(xp, call, **names))
    return results


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_initial_values_come_first(xp: ModuleType, axis: Any) -> Any:
    a = xp.full((3, N), 1e200)
    b = xp.full((30, N // 30), 0.1)
    return [
        outcome(xp, f"{call}, axis={axis})", a=a, b=b)
        for call in (
            "np.prod(a, initial=0",
            "np.prod(a, initial=1e-300",
            "np.sum(a * 1e108, initial=-1e308",
            "np.sum(a * inf, initial=-inf",
            "np.sum(b, initial=0.3",
            "np.multiply.reduce(b + 1, initial=0.3",
            "np.sum(-b * 0, initial=-0.0",
        )
    ]


REDUCTIONS = [
    "sum",
    "prod",
    "max",
    "min",
    "any",
    "all",
    "mean",
    "var",
    "std",
    "argmax",
    "cumsum",
    "ptp",
    "nansum",
    "nanmean",
]
KEYWORDS = """
keepdims=2**70
keepdims=[]
keepdims=None
keepdims='a'
keepdims=1
keepdims=np.True_
out=1.5
out=[]
out=()
out=(1,)
out=np.zeros(3)
out=np.zeros(1, 'i1')
axis=[0]
axis=(0, 0)
axis=2
axis=1.0
axis=True
axis=2**70
axis=(0, None)
dtype=1.5
dtype='zz'
dtype=np.zeros(2)
dtype='f4'
where=[]
where=1
where=np.zeros(3, bool)
where=False
ddof='a'
mean=5
subok=[]
""".strip().splitlines()


@pytest.mark.parametrize("keyword", KEYWORDS)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.any_last_bit
@pytest.mark.any_nan
def test_keywords_of_reductions(xp: ModuleType, name: str, keyword: str) -> Any:
    if name == "cumsum" and "out=np" in keyword:
        return None  # NumPy 2.4 may crash
    results = []
    for size in (4, N):
        # Large calls that are refused raise no conditions of elements.
        for a in (xp.ones(size), xp.full(size, 1e308) if "=[]" in keyword else None):
            if a is not None:
                results.append(outcome(xp, f"np.{name}(a, {keyword})", a=a))
    return results


DEFAULTS = """
keepdims=no
keepdims=no, initial=0
keepdims=no, where=a > 1
initial=no
initial=no, where=no
where=no
where=no, keepdims=True
mean=no
correction=no
ddof=no
axis=no
dtype=no
out=no
""".strip().splitlines()
REDUCING = [
    *("sum", "prod", "max", "min", "any", "all", "mean", "std", "var", "ptp"),
    *("cumsum", "cumprod", "argmax", "argmin", "count_nonzero", "median"),
    *("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanstd", "nanvar"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("keywords", DEFAULTS)
@pytest.mark.any_last_bit
def test_defaults_that_are_passed(xp: ModuleType, keywords: str) -> Any:
    """Functions take `_NoValue` where it is the default; methods refuse it."""
    calls = [f"np.{name}(a, {keywords})" for name in REDUCING]
    calls += [f"a.{name}({keywords})" for name in REDUCING if hasattr(xp.ndarray, name)]
    for name in ("add", "maximum", "logical_or", "fmin", "bitwise_and"):
        calls += [f"np.{name}.{how}(a, {keywords})" for how in ("reduce", "accumulate")]
    return [
        outcome(xp, call, a=xp.arange(size) % 3 + 1, no=numpy._NoValue)
        for call in calls
        for size in (4, N)
    ]


@pytest.mark.parametrize(
    "keyword", ["out=1.5", "out=np.zeros(3)", "out=np.zeros((), 'i4')"]
)
def test_refused_calls_compute_nothing(xp: ModuleType, keyword: str) -> Any:
    a = xp.full(N, 1e308)
    return [
        outcome(xp, f"np.{name}(a, {keyword})", a=a) for name in ("sum", "mean", "std")
    ]


# -- Copies and new arrays -------------------------------------------------------------

COPIES = """
a.astype('f4', subok=[])
a.astype('f4', subok=2**70)
a.astype('f4', copy=[])
a.astype('f4', order=np.array(['C', 'K']))
a.astype('f4', order=None)
a.astype('i4', casting='safe')
a.astype(a)
np.copy(a, subok=[])
np.copy(a, order=[])
np.zeros_like(a, subok=[])
np.empty_like(a.astype('>f8')).dtype.str
np.empty_like(a.astype('>f8'), order='C').dtype.str
np.empty_like(a.astype(np.dtype('f8', metadata={'a': 1}))).dtype.metadata
np.negative.outer(np.array(2.0), a)
np.modf.outer(np.array(2.0), a)
np.full_like(a, 2**70, bool)
np.full_like(a, 3, subok=2**70)
np.full(40_000, 2**70, bool)
np.full(40_000, -(2**70), '?')
np.full(40_000, 300, 'u1')
np.full(40_000, True, bool)
np.zeros(40_000, dtype=a)
np.sum(a, dtype=a)
np.linspace(0, 1, 40_000, endpoint=[])
np.meshgrid(a[:200], a[:200], sparse=[])
np.pad(a.astype('u1'), 2, constant_values=300)
np.pad(np.zeros(()), (-1, 0)), np.pad(np.zeros(()), 2)
np.pad(a.astype('i8'), 2, constant_values=2.5)
np.unique(a.astype(int) % 7, sorted=False)
np.roll(a, [])
np.roll(a, ())
np.roll(a, 1, ())
np.roll(a, [], 0)
np.roll(a, [1, 2], [])
np.roll(a, np.array([]))
""".strip().splitlines()


@pytest.mark.parametrize("size", [6, 80_000])
@pytest.mark.parametrize("call", COPIES)
def test_copies_and_new_arrays(xp: ModuleType, call: str, size: int) -> Any:
    return outcome(xp, call, a=xp.arange(float(size)))


@pytest.mark.parametrize("dtype", ["object", "'O'", "np.dtype(object)", "'f4'", "5"])
@pytest.mark.parametrize("name", ["concatenate", "stack", "vstack", "hstack"])
def test_dtypes_of_joined_arrays(xp: ModuleType, name: str, dtype: str) -> Any:
    results = []
    for size in (4, 40_000) if "obj" in dtype else (4, 40_000, 400_000):
        names = {"x": xp.arange(float(size)), "y": xp.arange(size)}
        joined = outcome(xp, f"np.{name}([x, y], dtype={dtype})", **names)
        is_object = getattr(joined[0], "dtype", None) == "O"
        results.append(joined[0][..., :9] if is_object else joined)
    return results


# -- Values that are written -----------------------------------------------------------

WRITES = """
np.place(a, m, v)
np.putmask(a, m, v)
np.choose(c, [a, v])
np.choose(c, [a, v], mode='wrap')
np.put(a, i, v)
np.copyto(a, v, where=m)
""".strip().splitlines()
WRITTEN = """
np.array([300])
np.array([1.5])
np.array([-1])
np.arange(a.size)
np.arange(a.size) * 1.5
np.arange(a.size)[::-1].astype('u2')
np.array(['abc'])
[300]
300
2**70
1.5
""".strip().splitlines()


@pytest.mark.sampled(15)
@pytest.mark.parametrize("dtype", ["u1", "i8", "f4", "bool", "c16", "S3"])
@pytest.mark.parametrize("value", WRITTEN)
def test_values_are_cast_as_numpy_casts_them(
    xp: ModuleType, value: str, dtype: str
) -> Any:
    results = []
    for size in (6, 40_000):
        for call in WRITES:
            a = (xp.arange(size) % 100).astype(dtype)
            i = xp.arange(size)
            names = {"a": a, "m": i % 3 == 0, "c": i % 2, "i": i}
            v = eval(value, {"np": xp, "a": a})
            results.append((outcome(xp, call, v=v, **names), a))
    return results


INDEXED = """
np.put(a, i, 1)
a.put(i, 1)
np.take(a, i)
a.take(i)
np.take(a, i, mode='wrap')
np.choose(i % 2, [a, a])
np.bincount(i)
np.take_along_axis(a, i, 0)
np.add.at(a, i, 1)
a[i]
""".strip().splitlines()


@pytest.mark.parametrize("size", [6, 40_000])
@pytest.mark.parametrize("dtype", ["u8", "u4", "f8", "O", "?", ">i8"])
@pytest.mark.parametrize("call", INDEXED)
def test_dtypes_of_indices(xp: ModuleType, call: str, dtype: str, size: int) -> Any:
    a = xp.arange(float(size))
    return outcome(xp, call, a=a, i=xp.arange(size).astype(dtype)), a


VALUES = """
np.array([[1, 2, 3, 4]])
np.array([1, 2])
np.array(5)
np.zeros(0)
np.ones((2, 3))
[np.array([1, 2]), np.array([3])]
np.arange(3)
""".strip().splitlines()
OBJECT_KEYS = [
    "[0]",
    "0",
    "[0, 1]",
    "slice(0, 2)",
    "...",
    "np.array([0])",
    "np.array(0)",
    "True",
    "[]",
    "(0,)",
    "None",
]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("key", OBJECT_KEYS)
def test_arrays_assigned_to_objects(xp: ModuleType, key: str, value: str) -> Any:
    objects = xp.zeros(3, object)
    i, v = eval(key, {"np": xp}), eval(value, {"np": xp})
    done = outcome(xp, "objects.__setitem__(i, v)", objects=objects, i=i, v=v)
    elements = [each.tolist() if hasattr(each, "tolist") else each for each in objects]
    return done, elements


# -- Histograms ------------------------------------------------------------------------

DATA = {
    "numbers": lambda xp: xp.arange(40_000.0),
    "nan": lambda xp: xp.where(xp.arange(40_000) % 7 == 0, xp.nan, xp.arange(40_000.0)),
    "inf": lambda xp: xp.where(xp.arange(40_000) % 7 == 0, xp.inf, xp.arange(40_000.0)),
    "empty": lambda xp: xp.array([]),
    "far": lambda xp: xp.full(40_000, 1e308) * xp.where(xp.arange(40_000) % 2, 1, -1),
    "float32": lambda xp: xp.arange(40_000).astype("f4") * xp.float32(1e32),
}
HISTOGRAMS = """
np.histogram(a)
np.histogram(a, range=(0, 5))
np.histogram(a, range=(5, 1))
np.histogram(a, range=(nan, 1))
np.histogram(a, range=(-1e308, 1e308))
np.histogram(a, range=(inf, inf))
np.histogram(a, range=('a', 'b'))
np.histogram(a, range=(0j, 1))
np.histogram(a, density=np.ones(2))
np.histogram(a, bins=0)
""".strip().splitlines()


@pytest.mark.parametrize("threshold", [0, 16_384])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("call", HISTOGRAMS)
def test_histograms(xp: ModuleType, call: str, data: str, threshold: int) -> Any:
    before = mxnp._bridge.set_threshold(threshold)
    try:
        return outcome(xp, call, a=DATA[data](xp))
    finally:
        mxnp._bridge.set_threshold(before)


asked: list[str] = []


class Asked(float):
    """A number that notes the ufuncs that it is asked about."""

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any
    ) -> Any:
        asked.append(ufunc.__name__)
        inputs = tuple(float(x) if type(x) is Asked else x for x in inputs)
        return getattr(ufunc, method)(*inputs, **kwargs)


class Refusing(float):
    """A number that refuses ufuncs."""

    __array_ufunc__ = None


class Convertible:
    """An edge that has a value only as an array, and the operators of the program."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return numpy.array(9.0)

    def __lt__(self, other: Any) -> bool:
        raise ArithmeticError

    __gt__ = __lt__


@pytest.mark.parametrize("threshold", [0, 16_384])
@pytest.mark.parametrize(
    "kind", [Asked, Refusing, Fraction, Decimal, float, numpy.float32, numpy.float16]
)
def test_edges_of_a_histogram(xp: ModuleType, kind: Any, threshold: int) -> Any:
    before = mxnp._bridge.set_threshold(threshold)
    asked.clear()
    try:
        a = DATA["numbers"](xp)
        calls = "np.histogram(a, 4, (b(0), b(9)))", "np.histogram(a, 4, (0, b(9.3)))"
        found = [outcome(xp, call, a=a, b=kind) for call in calls]
        other = outcome(xp, "np.histogram(a, 4, (0, b))", a=a, b=Convertible())
        return found, other, list(asked)
    finally:
        mxnp._bridge.set_threshold(before)


def test_unusual_positional_arguments(xp: ModuleType) -> Any:
    a = xp.arange(float(N))
    return [
        outcome(xp, call, a=a)
        for call in (
            "a.astype('f4', 'K', 'unsafe', [])",
            "np.zeros_like(a, None, 'K', [])",
            "np.copy(a, 'K', [])",
            "np.sum(a, None, None, 1.5)",
            "np.sum(a, 0, None, None, 2**70)",
        )
    ]


@pytest.mark.parametrize("copy", [1, 0, None, numpy.True_])
def test_copies_of_flags_that_are_numbers(xp: Any, copy: Any) -> Any:
    a = xp.arange(300_000.0)
    b = xp.array(a, copy=copy)
    b[0] = 99
    return a[0]


@pytest.mark.parametrize(
    "parts",
    [
        [numpy.zeros(150_000), numpy.full(150_000, 2**53 + 1)],
        [numpy.zeros((300, 500)).T, numpy.ones((300, 500)).T],
        [numpy.zeros(300_000, ">f8")],
        [numpy.zeros(300_000, "longlong")],
    ],
    ids=["dtypes", "Fortran order", "byte order", "longlong"],
)
@pytest.mark.parametrize("dtype", [None, "i8"])
def test_lists_of_arrays(xp: Any, parts: Any, dtype: Any) -> Any:
    return xp.array([xp.array(part) for part in parts], dtype=dtype)


def test_running_results_that_do_not_fit_are_not_computed(xp: Any) -> Any:
    out = xp.zeros(300_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return xp.add.accumulate(xp.full(300_000, 6e4, "f2"), out=out)


SWAPPED_AND_VIEWS = """
np.round(f, 1)
np.round(f)
f.round(-1)
np.around(c, 2)
c.round()
np.round(f[::2], 3)
np.nonzero(f)
f.nonzero()
np.where(f > 3)
np.flatnonzero(f)
np.nonzero(f.reshape(2, -1))
np.histogram(n)
np.histogram(n, 5, (0, 9))
np.histogram(n, 7, (0, 99))
"""


@pytest.mark.parametrize("call", SWAPPED_AND_VIEWS.strip().splitlines())
def test_byte_order_and_owner_of_large_results(call: str) -> None:
    """The dtype has NumPy's byte order, and a result is a view if NumPy's is one."""
    found = []
    for xp in (numpy, mxnp):
        n = xp.arange(200_000) % 50 / 4
        f, c = n.astype(">f8"), n.astype(">c16")
        result = eval(call, {"np": xp, "n": n, "f": f, "c": c})
        arrays = result if isinstance(result, tuple) else (result,)
        found.append([(x.dtype.str, x.flags.owndata, x.tobytes()) for x in arrays])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: np.round(x, 2),
        lambda np, x: x.round(-1),
        lambda np, x: np.select([x > 9], [x], 0),
        lambda np, x: np.select([x > 9], [2], x),
        lambda np, x: np.select([x > 9], [2], 3),
        lambda np, x: np.select([x[0] > 9, x > 3], [x[:1], x]),
    ],
)
def test_orders_of_large_results(xp: Any, call: Any) -> list[Any]:
    """Some functions of NumPy allocate their result in C order, whatever the array's."""
    x = xp.arange(30 * 40 * 50).reshape(30, 40, 50) / 7
    views = x, x.T, x.transpose(0, 2, 1), x[::-1], x[..., ::2], x.reshape(300, 200).T
    return [call(xp, view) for view in views]
