"""Test warnings and errors of recorded operations: texts, order and lines are NumPy's.

A warning may come as late as the next wait for results. An error of the program itself
is raised immediately.
"""

from __future__ import annotations

import re
import sys
import traceback
import types
import unittest
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import pytest
from support.lanes import ON_CUDA, ON_GPU, ON_X86

import mxnp
from mxnp import _bridge
from mxnp._engine import core

Library = types.ModuleType
synchronize = getattr(mxnp, "synchronize", lambda: None)

# The namespace of the programs. The arrays are large enough to be recorded.
GIVEN = """
import io, warnings
n = 20011
z = np.zeros(n)
a = np.arange(1.0, n + 1)
h = np.full(n, 1e300)
f = np.full(n, 3e38, "f4")
t = np.full(n, 1e-300)
q = np.full(n, np.nan)
i = np.arange(n)
m = np.ones((130, 131))
"""

# Programs that warn, separated by empty lines. The first line has number 1.
WARNINGS = """
b = 1 / z

b = z / z

b = (i % 3 - 1) / z

b = a // 0
c = a % 0
d = np.divmod(a, 0)
e = np.fmod(a, 0)

b = i // 0
c = i % 0
d = np.divmod(i, z.astype(int))
e = np.full(n, -(2**63)) // -1

b = np.log(z)
c = np.log(z - 1)
d = np.log10(-a), np.log2(z), np.log1p(z - 1), np.log1p(z - 2)

b = np.sqrt(-a)
c = np.sqrt(-a.astype("f4"))
d = np.sqrt(-a.astype("f2"))

b = np.arcsin(a + 1)
c = np.arccos(a + 1)
d = np.arctanh(a), np.arccosh(z)

b = np.exp(a)
c = np.exp(-a)
d = np.expm1(a), np.exp2(a), np.sinh(a), np.cosh(a)

b = h * h
c = h + h.max() * 1.7e8
d = f * f
e = f * 10
g = np.square(f)

b = np.power(a, 1000.0)
c = a**999
d = z**-1.0
e = (-a) ** 0.5

b = np.reciprocal(z)
c = np.reciprocal(i)
d = np.float_power(z, -1)

b = h.astype("f4")
c = q.astype(int)
d = (z + np.inf).astype("i4")
e = f.astype("f2")
i[:] = q
f[:] = h
f += h

b = np.sin(z + np.inf)
c = np.cos(z - np.inf)
d = np.tan(z + np.inf)
e = np.sin((z + np.inf).astype("f4"))

b = np.ldexp(a, 5000)
c = np.nextafter(z + 1.7976931348623157e308, np.inf)
d = np.spacing(z + np.inf)
e = np.logaddexp(z + np.inf, z - np.inf)

b = 1 / z
c = np.log(z - 1)
d = b - b
e = b * 0
g = d + e

x = (
    1 / z
    + np.log(z)
    + z / z
)
y = [
    np.sqrt(z - j)
    for j in range(3)
]

def one(x):
    return 1 / x
def two(x):
    y = np.log(x)
    return one(x) + y
class Three:
    four = two(z)
five = (lambda x: np.sqrt(
    -x - 1))(z)

for j in range(3):
    b = a / z
    c = np.log(-a)

1 / z
np.log(z)
(z / z)[5]
del z
b = a * 2

z /= z
a /= 0
np.divide(i, 0, out=a)
np.log(z, out=z)
z += np.inf
z -= z
a[1:] /= a[:-1] * 0
a[::2] = 1 / np.zeros(n)[::2]

np.divide(1, z, where=z > 0)
np.divide(1, z, out=a, where=z == 0)
np.divide(1, z, out=a, where=i == 16389)
np.log(z, where=i < 5, out=a)
b = np.where(z > 0, 1 / z, 0)

b = h.sum() + np.inf - np.inf
c = np.full(n, 1e305).sum()
d = f.sum()
e = f.sum(dtype=float)
g = h.prod()
k = (z + np.inf).sum() + (i % 2 * np.inf).sum()

c = np.where(i % 2, np.inf, -np.inf).sum()
d = np.full(n, 1e305).mean()
e = (m * 1e307).sum(axis=0)
g = (m * 1e305).cumsum()
k = np.cumprod(m * 2, axis=1)
l = np.full(n, 60000, "f2").sum()

c = np.add.reduce(h * 1e7)
d = np.multiply.reduce(h)
e = np.add.accumulate(h * 1e6)
g = np.divide.reduce(m - 1, axis=1)

b = 1 / z
c = b[::2] - b[1::2][: b[::2].size - 1].max()
b[:] = 1
d = 1 / b

b = np.float32(1e38) * f
c = f * np.float32(1e38)
d = f * 1e38
e = np.float64(1e300) * h
g = a / np.float64(0)
k = a / 0
l = 0 / z

b = (a + 1j * a) / 0
c = (h + 1j * h) * (h + 1j * h)
d = abs(h * 1e8 + 1j * h * 1e8)
e = np.exp(a + 1j * a)

b = a.astype(complex).astype(float)
c = a + 0j
a[:] = c
np.add(c, c, out=a, casting="unsafe")
d = np.multiply(a, 1e200, out=f.copy())
e = np.power(a, 300, out=f.copy())
g = f.copy()
g *= np.arange(1, g.size + 1) * 1e300
k = np.add(a, 1e5, out=a.astype("f2"))

with np.errstate(divide="ignore"):
    b = 1 / z
    c = z / z
d = 1 / z

b = 1 / z
with np.errstate(all="ignore"):
    c = 1 / z
    s = str(c), float(c[0])
d = 1 / z

with np.errstate(all="ignore"):
    b = 1 / z
c = b * 0
s = str(c)
d = c + 1

with np.errstate(under="warn"):
    b = t * t
    c = np.exp(-a)
d = t * t

old = np.seterr(all="ignore")
b = 1 / z
np.seterr(**old)
c = np.sqrt(z - 1)
np.seterr(invalid="ignore")
d = np.sqrt(z - 1)

with np.errstate(over="ignore", divide="warn", invalid="ignore"):
    b = h * h
    c = b - b
    d = 1 / z

@np.errstate(divide="ignore")
def quiet(x):
    return 1 / x, x / x
b = quiet(z)
c = 1 / z

heard = []
with np.errstate(all="call", call=lambda *what: heard.append(what)):
    b = 1 / z
    c = z / z
    d = h * h
e = 1 / z
said = str(heard)

class Log:
    text = ""
    def write(self, text):
        self.text += text
log = Log()
with np.errstate(all="log", call=log):
    b = 1 / z
    c = np.log(z - 1)
d = 1 / z
said = log.text

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "divide by zero")
    b = 1 / z
    c = z / z
d = 1 / z

b = np.var(h)
c = 1 / z

b = np.mean(z[:0])
c = 1 / z
d = np.nanmean(q)
e = np.nanmax(q)

b = np.linalg.norm(h)
c = np.dot(h, h)
d = m.T @ (m * np.inf - m)

b = np.gradient(a, 0)
c = np.arange(20011) / np.zeros(20011)
d = np.linspace(0, 1, 20011) / 0
e = np.full(20011, 2.0) / np.zeros_like(a)
g = np.ones(20011, "f4") * f * 2

b = np.concatenate([a, q]).astype(int)
c = np.stack([h, h]).astype("f4")
d = np.clip(q, 0, 1).astype("u1")

s = np.zeros(5, "i4")
s.flat = q[:5]
s.flat[:] = q[:5]
s.flat[[0, 1]] = np.array([2j])

with np.nditer(a[:9] * 1j, ["buffered"], op_dtypes=["f8"], casting="unsafe") as b:
    c = b.value

for b in np.nditer(a[:9000] * 1j, ["buffered"], op_dtypes=["f8"], casting="unsafe"):
    c = b[()]

s = np.zeros(9000)
with np.nditer(s, ["buffered"], ["readwrite"], ["c16"], casting="unsafe") as b:
    b[0] = 7j
    for c in b:
        c[...] = 1j

b = np.vectorize(np.log)(z[:3])
c = np.vectorize(lambda x: x and np.sqrt(-x))(a[:2])
d = np.frompyfunc(lambda x: np.divide(x, z[0]), 1, 1)(a[:2]).astype(float)
e = np.frompyfunc(lambda x: (np.log(z[0]), x + 1)[1], 1, 1)(a[:2]).astype(float)
"""

# Programs that do not warn, separated by empty lines.
QUIET = """
b = a * 2 + 1
c = np.sqrt(a) / a
d = np.log(a) - 1 / a

b = q > 1
c = q == q
d = np.maximum(q, a), np.minimum(q, 1), np.fmax(q, a), np.sign(q), abs(q)
e = np.isnan(q), np.isfinite(q), np.floor(q), np.rint(q), q + 1, q * q, -q
g = q.max(), q.argmin(), np.nanmax(q[:0], initial=1), q.any(), q.sum()

b = q * np.inf
c = (z + np.inf) + 1
d = (z + np.inf) * 2 > a
e = np.exp(z - np.inf), np.log(z + np.inf), np.arctan(z + np.inf), np.tanh(z + np.inf)

b = i * i * i * i * i * i
c = i.astype("i1")
d = np.full(n, 200, "u1") + np.full(n, 100, "u1")
e = -np.full(n, -128, "i1"), abs(np.full(n, -128, "i1"))
g = i << 70, i >> 70

b = t * t
c = np.exp(-a)
d = a.astype("f4") * np.float32(1e-44)
e = t.astype("f4")

b = np.where(z > 0, z, 1) / np.where(z > 0, z, 1)
c = np.divide(1, z, out=a, where=z > 0)
d = np.log(z, out=a, where=z > 0)
e = np.sqrt(-a - 1, out=a, where=False)

b = a[:-1] / a[1:]
c = a[::-1][:16389] / a[:16389]
d = np.broadcast_to(a[:1], n) / a
e = (m / m[::-1]).T / m[:, :1].T
g = np.sqrt(m[:, 3:100]) / m[:, ::-1][:, 3:100]

b = 1 / a.astype("f4")
c = 1 / a.astype("f2")[:2000].repeat(20)
d = (a + 1j) / (a - 1j)
e = np.log(a + 0j), np.sqrt(-a + 0j)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    b = 1 / z
    c = np.sqrt(b - b)
d = c + 1

with np.errstate(all="raise"):
    b = a * 2 + 1
    c = np.sqrt(b) / b
    s = str(c)
d = c + b
"""


def programs(text: str) -> Any:
    """Parametrise a test over programs that are separated by empty lines."""
    sources = re.split("\n\n", text.strip("\n"))
    names = [f"{j}: {source.splitlines()[0]}" for j, source in enumerate(sources)]
    return pytest.mark.parametrize("source", sources, ids=names)


class Outcome(NamedTuple):
    """The result of a program: its error and line, its warnings, and its names."""

    error: tuple[str, str, int] | None
    warnings: list[tuple[type, str, str, int]]
    names: dict[str, Any]


def run(
    xp: Library,
    source: str,
    action: Any = "always",
    read: bool = False,
    given: str = GIVEN,
) -> Outcome:
    """Run a program and wait for its results, by reading them or with synchronize()."""
    names: dict[str, Any] = {"np": xp, "__name__": "__main__"}
    exec(given, names)
    given = set(names)
    error = None
    state, handler = xp.geterr(), xp.geterrcall()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        try:
            exec(compile(source, "<program>", "exec"), names)
        except Exception as raised:
            frames = traceback.extract_tb(raised.__traceback__)
            line = [each.lineno for each in frames if each.filename == "<program>"][-1]
            error = type(raised).__name__, str(raised), line or 0
        finally:
            xp.seterr(**state)
            xp.seterrcall(handler)
        for value in list(names.values()) if read else ():
            if isinstance(value, mxnp.ndarray):
                value.tolist()
        synchronize()
    return Outcome(
        error,
        [
            (each.category, str(each.message), each.filename, each.lineno)
            for each in caught
        ],
        {
            name: value
            for name, value in list(names.items())
            if isinstance(value, mxnp.ndarray | numpy.generic | str | tuple | float)
            and (name not in given or isinstance(value, mxnp.ndarray))
            and name != "old"
        },
    )


# The first lines of programs whose warnings differ with CUDA, and why.
OTHER_WITH_CUDA = {
    "b = np.var(h)": "the mean of equal numbers has no error there, so no square overflows",
    "b = np.linalg.norm(h)": "products issue no warnings there",
    'b = h.astype("f4")': "casts return the nearest integer there",
}


def skip_others(source: str) -> None:
    """Skip a program whose warnings differ."""
    first = source.splitlines()[0]
    if ON_CUDA and first in OTHER_WITH_CUDA:
        pytest.skip(OTHER_WITH_CUDA[first])


@pytest.mark.parametrize("read", [False, True], ids=["asked", "read"])
@programs(WARNINGS)
def test_warnings(source: str, read: bool) -> None:
    skip_others(source)
    expected = run(numpy, source)
    assert expected.error is None
    assert expected.warnings, "NumPy warns of nothing"
    ours = run(mxnp, source, read=read)
    assert ours.error == expected.error
    assert_warnings(ours.warnings, expected.warnings)
    if ON_X86 or "np.inf).astype" not in source:
        assert_values(ours, expected)


def assert_warnings(ours: list[Any], expected: list[Any]) -> None:
    """
    Assert that the same warnings were issued, for lines of the program.

    NumPy names one of its own lines for calls from its Python functions, and mxnp names the
    program's line. Operations that are not recorded may warn before those that are.
    """
    assert sorted(each[:2] for each in map(named, ours)) == sorted(
        each[:2] for each in map(named, expected)
    )
    assert not [file for _, _, file, _ in ours if "/mxnp/_" in file]
    missing = [each for each in expected if each not in ours]
    assert all("numpy" in file for _, _, file, _ in missing), missing


def named(warning: tuple[type, str, str, int]) -> tuple[str, str]:
    return warning[0].__name__, warning[1]


def assert_values(ours: Outcome, expected: Outcome) -> None:
    """Assert that the values of all names agree, within a tolerance."""
    assert list(ours.names) == list(expected.names)
    for name, value in list(expected.names.items()):
        if name == "said" or isinstance(value, str):
            assert ours.names[name] == value, name
            continue
        mine = ours.names[name] if isinstance(value, tuple) else (ours.names[name],)
        theirs = value if isinstance(value, tuple) else (value,)
        for one, other in zip(mine, theirs, strict=True):
            if isinstance(other, str):
                assert one == other, name
            else:
                for part in (numpy.real, numpy.imag):
                    numpy.testing.assert_allclose(
                        part(numpy.asarray(one)),
                        part(numpy.asarray(other)),
                        rtol=1e-6,
                        atol=5e-324 if ON_CUDA else 0,  # exp(-745.0) is 0 there
                        err_msg=name,
                    )


@pytest.mark.parametrize("read", [False, True], ids=["asked", "read"])
@programs(QUIET)
def test_quiet(source: str, read: bool) -> None:
    expected = run(numpy, source)
    assert (expected.error, expected.warnings) == (None, [])
    ours = run(mxnp, source, read=read)
    assert ours[:2] == expected[:2]
    assert_values(ours, expected)


# Statistics of complex numbers, of which NumPy's own code warns. The first are numbers.
STATISTICS = """
b = np.mean(c)

b = c.mean()

b = np.mean(m, axis=(0, 1))

b = np.var(c)

b = np.std(m, ddof=1)

b = np.average(c)

b = np.mean(c, where=i % 2 == 1)

b = np.mean(c, out=np.zeros((), c.dtype))

b = np.mean(m, axis=1)

b = np.mean(c, keepdims=True)

b = np.var(m, axis=0)

b = np.var(c, where=i % 2 == 0)

b = np.std(c, keepdims=True)

b = np.nanmean(c)

b = np.nanmean(m, axis=1)

b = np.nanvar(abs(m), axis=1)

b = np.var(m * (1 + 1j), axis=0)
"""
ARRAYS_OF_STATISTICS = 9  # of the programs, after those of numbers


@pytest.mark.skipif(ON_GPU, reason="kernels report fewer conditions")
@pytest.mark.parametrize("value", ["np.inf", "np.inf * (1 + 1j)", "np.nan", "1e200"])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@programs(STATISTICS)
def test_statistics_of_complex_numbers(source: str, dtype: str, value: str) -> None:
    number = value if dtype == "c16" else value.replace("200", "30")
    given = f"""
c = np.full(300000, 1 + 2j, "{dtype}")
c[1] = {number}
m = c.reshape(300, 1000)
i = np.arange(300000)
"""
    expected, ours = run(numpy, source, given=given), run(mxnp, source, given=given)
    is_array = source in re.split("\n\n", STATISTICS.strip())[-ARRAYS_OF_STATISTICS:]
    if not is_array:
        assert ours.warnings == expected.warnings
    else:
        assert_warnings(ours.warnings, expected.warnings)
    assert_values(ours, expected)


LOOP = """
for j in range(4):
    b = 1 / z
    c = np.log(z - j)
    d = 1 / z
for j in range(3):
    e = 1 / z; g = z / z
"""


@pytest.mark.parametrize("action", ["default", "always", "once", "module", "ignore"])
def test_repeated_warnings(action: str) -> None:
    assert run(mxnp, LOOP, action)[:2] == run(numpy, LOOP, action)[:2]


def test_filters_by_module() -> None:
    """The module is that of the recording line, not that of the waiting line."""
    found = []
    for xp in (numpy, mxnp):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", module="hushed")
            z = xp.zeros(20011)
            for module in ("hushed", "heard"):
                names = {"np": xp, "z": z, "__name__": module}
                exec(compile("b = 1 / z\nc = z / z", module, "exec"), names)
            found.append([names["b"].tolist(), names["c"][0]])
            synchronize()
        found[-1] = [(str(each.message), each.filename, each.lineno) for each in caught]
    assert found[0] == found[1]


def small(source: str) -> str:
    """Change a program so that its arrays are too small to be recorded."""
    return re.sub("20011|16389|16400", "7", source).replace("130, 131", "3, 4")


@pytest.mark.parametrize("size", ["large", "small"])
@pytest.mark.sampled(30)
@programs(WARNINGS)
def test_warnings_as_errors(source: str, size: str) -> None:
    """They are raised on the line that recorded the operation."""
    skip_others(source)
    convert = small if size == "small" else str
    expected = run(numpy, convert(source), "error", given=convert(GIVEN))
    ours = run(mxnp, convert(source), "error", given=convert(GIVEN))
    assert ours[:2] == expected[:2]
    if ON_X86 or "np.inf).astype" not in source:
        assert_values(ours, expected)


FILTERS = """
warnings.filterwarnings("error")

warnings.simplefilter("error", RuntimeWarning)

warnings.filterwarnings("error", message="divide by zero")

warnings.filterwarnings("error", "divide", RuntimeWarning, "__main__")

warnings.filterwarnings("error", module="__main__")

warnings.filterwarnings("error", lineno=7)

warnings.resetwarnings(); warnings.filterwarnings("error", category=Warning)

warnings.filters.insert(0, ("error", None, RuntimeWarning, None, 0))

warnings.filters[0] = ("error", None, Warning, None, 0)

warnings.filters = [("error", None, RuntimeWarning, None, 0)]

warnings.simplefilter("error"); warnings.filterwarnings("ignore", "invalid")

warnings.simplefilter("error"); warnings.filterwarnings("ignore", lineno=5)

warnings.filters[:] = [("ignore", None, DeprecationWarning, None, 0)] * 2
y = a / 3
warnings.filters[-1] = ("error", None, Warning, None, 0)
"""

CATCHING = """
x = a + a
FILTER
caught = "nothing"
try:
    for j in range(2):
        b = 1 / z; c = z / z
except RuntimeWarning as error:
    caught = str(error)
x = a * 2 + 1
"""


@programs(FILTERS)
def test_programs_catch_warnings_as_errors(source: str) -> None:
    """Every way to set a filter takes effect at the next operation."""
    source = CATCHING.replace("FILTER", source)
    expected, ours = run(numpy, source), run(mxnp, source)
    assert expected.names["caught"] == "divide by zero encountered in divide"
    assert ours[:2] == expected[:2]
    assert_values(ours, expected)


UNAFFECTED = """
warnings.simplefilter("error", DeprecationWarning)

warnings.filterwarnings("error", append=True)

warnings.simplefilter("error"); warnings.simplefilter("ignore", RuntimeWarning)
"""


@programs(UNAFFECTED)
def test_errors_for_other_warnings(source: str) -> None:
    """Operations are recorded if no filter can turn their warnings into errors."""
    z = mxnp.zeros(_MANY)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(source)
        b = 1 / z
        assert _bridge.pending() > 0
    assert len(caught) == ("ignore" not in source)
    del b


def test_filters_apply_to_later_operations() -> None:
    """Operations that wait when a filter changes warn under the filters from before."""
    found = []
    for xp in (numpy, mxnp):
        z = xp.zeros(_MANY)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            first = 1 / z
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning):
                first = z / z
            warnings.simplefilter("always")
            second = 1 / z
            warnings.resetwarnings()
            warnings.simplefilter("ignore")
            third = xp.log(z)
            warnings.filterwarnings("always")
            found.append([str(each.message) for each in caught])
            del first, second, third
    assert found[0] == found[1] == ["divide by zero encountered in divide"] * 2


def test_results_before_an_error_are_computed() -> None:
    z = mxnp.zeros(20011)
    a = z + 1
    b = a * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            RuntimeWarning, match=r"^divide by zero encountered in divide$"
        ):
            a / z
        with pytest.raises(
            RuntimeWarning, match=r"^invalid value encountered in sqrt$"
        ):
            mxnp.sqrt(z - a)
        c = b + 1
        a += c
    assert a.tolist() == [4.0] * 20011
    assert b.tolist() == [2.0] * 20011
    assert c.tolist() == [3.0] * 20011


RAISING = """
with np.errstate(all="raise"):
    b = a * 2
    c = b / z
    d = a * 3

with np.errstate(divide="raise"):
    b = z / z
    c = 1 / z

b = 1 / z
with np.errstate(all="raise"):
    c = b * 2
    d = c - b

np.seterr(all="raise")
b = a * 2
np.log(-a)

with np.errstate(invalid="raise"):
    a[:] = np.sqrt(-a)

with np.errstate(over="raise"):
    b = a + 1
    f *= f

with np.errstate(all="raise"):
    b = np.where(z > 0, a, 1)
    c = b.sum()
    d = (h * 1e5).sum()
    e = (h * 1e5).sum() * h

with np.errstate(all="raise"):
    i //= 0

with np.errstate(all="raise"):
    b = h.astype("f4")

with np.errstate(all="raise"):
    b = q.astype(int)

with np.errstate(under="raise"):
    b = t * t

def handler(kind, flag):
    raise KeyError(kind)
with np.errstate(all="call", call=handler):
    b = 1 / z

with np.errstate(all="call"):
    b = 1 / z

with np.errstate(all="log"):
    b = 1 / z

with np.errstate(divide="raise"):
    b = np.divide(1, z, out=a, where=z > 0)
    c = np.divide(1, z, out=a, where=i > 16400)
"""


@programs(RAISING)
def test_floating_point_errors_are_raised_immediately(source: str) -> None:
    expected, ours = run(numpy, source), run(mxnp, source)
    assert expected.error is not None
    assert ours[:2] == expected[:2]
    assert_values(ours, expected)


def test_printed(capfd: pytest.CaptureFixture[str]) -> None:
    texts = []
    for xp in (numpy, mxnp):
        z = xp.zeros(20011)
        with xp.errstate(all="print"):
            b = 1 / z
            xp.sqrt(b - 2 * b)
            (z / z).sum()
        sys.stdout.flush()
        captured = capfd.readouterr()
        texts.append((captured.out, captured.err))
    assert texts[0] == texts[1]
    assert "divide by zero encountered in divide" in "".join(texts[0])


def test_handlers_may_compute() -> None:
    """A handler, or `showwarning`, may itself record operations and wait for them."""
    results = []
    for xp in (numpy, mxnp):
        z = xp.zeros(20011)
        a = z + 3
        seen = []

        def handler(
            kind: str, flag: int, xp: Any = xp, a: Any = a, seen: Any = seen
        ) -> None:
            seen.append((kind, flag, float((a * 2).sum()), (a - 1)[5]))
            with xp.errstate(all="ignore"):
                seen.append(str(a / 0))

        def show(message: Any, *args: Any, a: Any = a, seen: Any = seen) -> None:
            seen.append((str(message), float((a * 2).max()), (a + 1).tolist()[:3]))

        with xp.errstate(all="call", call=handler):
            b = a / z
            c = z / z
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            d = a / z
            e = xp.sqrt(z - a)
            synchronize()
            a += 1
        results.append([seen, b[0], c[0], d[0], str(e), a[0]])
    assert repr(results[0]) == repr(results[1])


@pytest.mark.slow
def test_each_operation_warns_as_numpy_does() -> None:
    """Check zeros, infinities, NaN, and large and small numbers."""
    special = [0, -0.0, 1, -1, 0.5, 2, numpy.inf, -numpy.inf, numpy.nan, 750, -750]
    special += [1e30, -1e30]
    ours, theirs = [], []
    for xp, found in ((numpy, theirs), (mxnp, ours)):
        for op in core.ops():
            function = getattr(xp, op.name)
            for dtype in ("float32", "float64", "int32"):
                for value in special:
                    if dtype == "int32" and (value % 1 or abs(value) > 1000):
                        continue
                    x = xp.full(20011, value, dtype)
                    y = (xp.arange(20011) % 5 - 2).astype(dtype)
                    if op.name == "ldexp" or "shift" in op.name:
                        y = abs(y.astype("i4")) * 300
                    if op.name == "power" and dtype == "int32":
                        y = abs(y)
                    given = (x, y)[: op.nin]
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        try:
                            function(*given)
                            synchronize()
                        except TypeError:
                            continue
                    said = [str(each.message) for each in caught]
                    found.append((op.name, dtype, value, said))
    different = [each for each in zip(ours, theirs) if repr(each[0]) != repr(each[1])]
    assert not different
    assert any(said for *_, said in theirs)


# -- errors --------------------------------------------------------------------------

ERRORS = """
b = a * 2
c = b + np.ones(5)

b = a * 2
b[:] = np.ones(5)

b = i * 2
b += 0.5

b = a * 2
b @= m

b = (i * 2).astype("u1")
c = b + 1
d = c + 300

b = (i * 2).astype("i1") + 1
b += 128

b = a * 2
c = b & 1

b = ~(a * 2)

b = -(a > 0)

b = (a > 0) - (z > 0)

b = a * 2
c = np.add(b, 1, out=np.empty(5))

b = np.add(a, 1, out=np.empty(n, "i4"))

b = np.add(a * 2, 1, dtype="i4")

b = np.add(a * 2, 1, casting="no", dtype="f4")

b = a * 2
b.flags.writeable = False
c = b + 1
b += 1

b = np.broadcast_to(a * 2, (3, n))
c = b + 1
b += 1

b = a * 2
c = b.reshape(7, 3)

b = a * 2
b.shape = 7, 3

b = a * 2
c = b[n]

b = a * 2
c = b[0, 0]

b = a * 2
c = b[m > 0]

b = a * 2
c = b[np.array([1, n])]

b = a * 2
b[np.array([1, n])] = 0

b = a * 2
c = b["x"]

b = a * 2
c = b[1.5]

b = a * 2
if b:
    c = 1

b = a * 2
c = float(b)

b = a * 2
c = hash(b)

b = a * 2
c = [1, 2, 3][b[:3]]

b = a * 2
c = b.x

b = a * 2
c = np.sin(b, b, b)

b = a * 2
c = b.sum(axis=1)

b = (a * 2)[:0]
c = b.max()

b = m * 2
c = b @ np.ones(5)

b = m * 2
c = np.concatenate([b, a])

b = i * 2
c = b ** -1

b = i * 2
c = np.power(b, -(i % 2))

b = i * 2
c = np.where(b > 1, b, np.ones(5))

b = a * 2
c = np.clip(b, np.ones(5), 1)

b = a * 2
c = b + "x"

b = a * 2
c = b + None

b = a * 2
c = b + object()

b = a * 2
c = np.sqrt("x") + b

b = a.astype("i8")
c = b + np.uint64(5)
d = np.left_shift(c, 1)

b = i.astype("u8")
b += i

b = np.empty((n, n, n, n))

b = np.ones(10**14) + a

b = np.broadcast_to(a, (10**10, n)) * 2

b = a * 2
c = np.add.reduce(b, axis=3)

b = a * 2
c = np.cumsum(b, out=np.empty(5))

b = a * 2
c = b.view("i3")

b = (a * 2)[::2]
c = b.view("i4")

b = (a * 2).astype("S8") * 2

b = a * 2
a[1:][n:] = b

x, y = a * 2

b = a * 2
del b
c = b
"""


@programs(ERRORS)
def test_errors_come_on_their_line(source: str) -> None:
    expected, ours = run(numpy, source), run(mxnp, source)
    assert expected.error is not None
    assert ours[:2] == expected[:2]
    assert_values(ours, expected)


# -- Reading caught warnings -----------------------------------------------------------

_MANY = 200_003  # more than are ever computed immediately


def _divide() -> Any:
    return 1 / mxnp.zeros(_MANY)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (len, 1),
        (bool, True),
        (lambda caught: caught[0].category, RuntimeWarning),
        (lambda caught: [each.category for each in caught], [RuntimeWarning]),
        (lambda caught: list(map(type, caught)), [warnings.WarningMessage]),
        (lambda caught: caught.pop().category, RuntimeWarning),
        (lambda caught: (caught.clear(), len(caught))[1], 0),
        (lambda caught: caught == [], False),
        (lambda caught: len([*caught]), 1),
        (lambda caught: "WarningMessage" in repr(caught), True),
    ],
)
def test_a_list_of_caught_warnings_is_complete(
    read: Callable[[Any], Any], expected: Any
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        unused = _divide()
        assert isinstance(caught, list)
        assert read(caught) == expected
    del unused


def test_nested_lists_of_caught_warnings() -> None:
    with warnings.catch_warnings(record=True) as outer:
        warnings.simplefilter("always")
        first = _divide()
        with warnings.catch_warnings(record=True) as inner:
            warnings.simplefilter("always")
            second = _divide()
            assert (len(inner), len(outer)) == (1, 1)
        third = _divide()
        assert (len(inner), len(outer)) == (1, 2)
    with warnings.catch_warnings() as nothing:
        assert nothing is None
    del first, second, third


def test_fixture_recwarn(recwarn: pytest.WarningsRecorder) -> None:
    unused = _divide()
    assert len(recwarn) == 1
    assert recwarn.pop(RuntimeWarning).category is RuntimeWarning
    unused = _divide()
    recwarn.clear()
    assert not recwarn.list
    del unused


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("as_context", [True, False])
def test_assertions_about_warnings(as_context: bool) -> None:
    """Those of NumPy, pytest and unittest see warnings of recorded operations."""

    def check(assertion: Any, *args: Any) -> None:
        if as_context:
            with assertion(*args):
                _divide()
        else:
            assertion(*args, _divide)

    case = unittest.TestCase()
    check(case.assertWarns, RuntimeWarning)
    check(pytest.warns, RuntimeWarning)
    check(mxnp.testing.assert_warns, RuntimeWarning)
    with pytest.raises(AssertionError):
        check(mxnp.testing.assert_warns, UserWarning)
    with pytest.raises(AssertionError, match="Got warnings"):
        check(mxnp.testing.assert_no_warnings)
