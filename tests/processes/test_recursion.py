"""Test recursion up to the limit: RecursionError as in NumPy, and nothing is lost."""

from __future__ import annotations

import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from support.processes import End, end_of

import mxnp
from mxnp import _bridge

N = 3000
FRAMES = 90  # frames below the limit; no operation needs more


@pytest.fixture(autouse=True)
def all_recorded() -> Iterator[None]:
    before = _bridge.set_threshold(0)
    limit = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(limit)
    _bridge.set_threshold(before)


def depth() -> int:
    frame, n = sys._getframe(1), 0
    while frame:
        frame, n = frame.f_back, n + 1  # type: ignore[assignment]
    return n


def with_frames_left(n: int, call: Callable[[], Any]) -> Any:
    """Call with about n frames below the limit; errors propagate."""

    def down(frames: int) -> Any:
        return down(frames - 1) if frames else call()

    limit = depth() + FRAMES + 60
    sys.setrecursionlimit(limit)
    try:
        return down(limit - depth() - n)
    finally:
        sys.setrecursionlimit(limit + 1000)


def given(xp: Any) -> tuple[Any, Any, Any]:
    x = xp.linspace(1, 2, N).reshape(30, 100) + 1
    i = (xp.arange(20) * 7) % 30
    return x, xp.zeros((30, 100)) + x, i


def inplace(x: Any, z: Any, i: Any) -> Any:
    z += x
    return z


def assign(x: Any, z: Any, i: Any) -> Any:
    z[i] = x[:20] * 2
    return z


def fill(x: Any, z: Any, i: Any) -> Any:
    z[z > 2.5] = 0
    return z


# Operations that may call Python code, take several steps, or run in NumPy first.
BODIES: dict[str, Callable[..., Any]] = {
    "operator": lambda xp, x, z, i: x + z * 2,
    "in place": lambda xp, x, z, i: inplace(x, z, i),
    "assigned": lambda xp, x, z, i: assign(x, z, i),
    "masked": lambda xp, x, z, i: fill(x, z, i),
    "taken": lambda xp, x, z, i: x[i] + 1,
    "chosen": lambda xp, x, z, i: x[x > 2.2] * 2,
    "at": lambda xp, x, z, i: (xp.add.at(z, i, 1.0), z)[1],
    "out": lambda xp, x, z, i: xp.sqrt(x, out=z),
    "where": lambda xp, x, z, i: xp.where(x > 2, x, z),
    "sum": lambda xp, x, z, i: x.sum(axis=0),
    "number": lambda xp, x, z, i: float((x * 2).max()),
    "element": lambda xp, x, z, i: (x * 3)[4, 5],
    "mean": lambda xp, x, z, i: xp.mean(x * 2, axis=1),
    "nanmax": lambda xp, x, z, i: xp.nanmax(x, axis=0),
    "concatenate": lambda xp, x, z, i: xp.concatenate([x, z * 2]),
    "broadcast_to": lambda xp, x, z, i: xp.broadcast_to(x * 2, (2, 30, 100)),
    "sort": lambda xp, x, z, i: xp.sort(x * -1, axis=1),
    "pad": lambda xp, x, z, i: xp.pad(x + 1, 2),
    "cumsum": lambda xp, x, z, i: xp.cumsum(x, axis=1),
    "astype": lambda xp, x, z, i: (x + 1).astype("i4"),
    "copy": lambda xp, x, z, i: __import__("copy").deepcopy([x, z + 1])[1],
    "text": lambda xp, x, z, i: str(x * 2),
    "repr": lambda xp, x, z, i: repr(x * 2).replace("mxnp", "numpy"),
    "list": lambda xp, x, z, i: [row.sum() for row in (x * 2)],
    "memory": lambda xp, x, z, i: numpy.asarray(memoryview(x * 2)).tolist(),
    "numpy": lambda xp, x, z, i: numpy.asarray(x * 2).tolist(),
    "numpys ufunc": lambda xp, x, z, i: numpy.add(x, z) * 2,
    "numpys function": lambda xp, x, z, i: numpy.stack([x, z + 1]),
    "errstate": lambda xp, x, z, i: silent(xp, x),
    "random": lambda xp, x, z, i: xp.random.default_rng(3).random(N) + 1,
    "unique": lambda xp, x, z, i: xp.unique(i * 2),
    "linalg": lambda xp, x, z, i: xp.linalg.norm(x * 2, axis=1),
}  # fmt: skip


def silent(xp: Any, x: Any) -> Any:
    with xp.errstate(divide="ignore"):
        return 1 / (x - x)


def values(result: Any) -> Any:
    return result.tolist() if hasattr(result, "tolist") else result


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", BODIES)
def test_each_depth_below_the_limit(name: str) -> None:
    body = BODIES[name]
    before = values(given(numpy)[1])
    theirs = given(numpy)
    expected = values(body(numpy, *theirs))
    after = values(theirs[1])
    errors = []
    for n in range(FRAMES):
        x, z, i = given(mxnp)
        try:
            result = with_frames_left(n, lambda x=x, z=z, i=i: body(mxnp, x, z, i))
        except RecursionError:
            errors.append(n)
            assert values(z) in (before, after)
        else:
            assert values(z) == after
            assert near(values(result), expected)
        assert float((x + 1).max()) == 4.0  # the queue still works
        assert _bridge.pending() == 0 or mxnp.synchronize() is None
    assert errors
    assert FRAMES - 1 not in errors  # the limit was met only with few frames left


def near(ours: Any, numpys: Any) -> bool:
    if isinstance(numpys, str):
        return bool(ours == numpys)
    return numpy.allclose(ours, numpys, rtol=1e-12, equal_nan=True)


def test_waiting_work_is_run_at_each_depth() -> None:
    """Flush below the limit, where a warning needs frames as well."""
    ends = set()
    for n in range(FRAMES):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x = mxnp.zeros(N) + 0
            y, z = 1 / x, x + 5
            try:
                with_frames_left(n, z.tolist)
            except RecursionError:
                ends.add("refused")
            else:
                ends.add(str(caught[0].message))
            assert z.tolist() == [5.0] * N
            assert numpy.isinf(numpy.asarray(y)).all()
    assert ends == {"refused", "divide by zero encountered in divide"}


# -- Overrides that call each other -----------------------------------------------------


class Ufunc:
    def __init__(self, a: Any) -> None:
        self.a = a

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kw: Any) -> Any:
        return getattr(ufunc, method)(self.a + 1, *inputs[1:], **kw) + self


class Function:
    def __init__(self, a: Any) -> None:
        self.a = a

    def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return f([self.a * 2, *args[0]], **kwargs)


class Low:
    __array_priority__ = 5.0
    __array_ufunc__ = None

    def __init__(self, a: Any) -> None:
        self.a = a

    def __add__(self, other: Any) -> Any:
        return High(self.a * 2) + other

    __radd__ = __add__


class High(Low):
    __array_priority__ = 50.0

    def __add__(self, other: Any) -> Any:
        return other + Low(self.a + 1)

    __radd__ = __add__


class Shown:
    def __init__(self, a: Any) -> None:
        self.a = a

    def __repr__(self) -> str:
        return repr(self.a)

    def __eq__(self, other: object) -> Any:
        return (self.a == other).all()

    def __lt__(self, other: object) -> Any:
        return bool((self.a < self).any())

    __hash__ = None  # type: ignore[assignment]


def shown(xp: Any) -> Any:
    """Return an object array with elements that print the array."""
    a = xp.empty(3, dtype=object)
    a[:] = [Shown(a), Shown(a), 1]
    return a


def method_of(a: Any, name: str) -> Any:
    class Made(type(a)):  # type: ignore[misc]
        pass

    def again(self: Any, *args: Any) -> Any:
        return getattr(a.view(Made), name)(*args)

    setattr(Made, name, again)
    return again(None)


CYCLES: dict[str, Callable[[Any, Any], Any]] = {
    "ufunc": lambda xp, a: xp.add(Ufunc(a), 1),
    "ufunc, operator": lambda xp, a: a + Ufunc(a),
    "ufunc, in place": lambda xp, a: a.__iadd__(Ufunc(a)),
    "ufunc.reduce": lambda xp, a: xp.add.reduce(Ufunc(a)),
    "function": lambda xp, a: xp.concatenate([Function(a), a]),
    "function of a package": lambda xp, a: numpy.concatenate([Function(a), a]),
    "priority": lambda xp, a: a + Low(a),
    "priority, reflected": lambda xp, a: High(a) + a,
    "repr": lambda xp, a: repr(shown(xp)),
    "str": lambda xp, a: str(shown(xp)),
    "==": lambda xp, a: shown(xp) == shown(xp),
    "sort": lambda xp, a: xp.sort(shown(xp)),
    "max": lambda xp, a: shown(xp)[:2].min(),
    "array_equal": lambda xp, a: xp.array_equal(shown(xp), shown(xp)),
    "sum of a subclass": lambda xp, a: method_of(a, "sum"),
    "repr of a subclass": lambda xp, a: method_of(a, "__repr__"),
}


@pytest.mark.parametrize("name", CYCLES)
def test_cycles(name: str) -> None:
    """Each cycle ends as with NumPy, every time, and the next operation is correct."""
    ends: list[set[Any]] = []
    for xp in (numpy, mxnp):
        found = set()
        for _ in range(3):
            a = xp.arange(2000.0) * 2
            waits = a * 3
            try:
                with_frames_left(FRAMES, lambda xp=xp, a=a: CYCLES[name](xp, a))
            except (RecursionError, TypeError) as error:
                found.add(type(error))
            else:
                found.add(None)
            assert float(waits[-1]) == 3 * 3998.0
            assert (a[:5] + 1).tolist()[-1] in {9.0, 17.0}
        ends.append(found)
    assert ends[0] == ends[1]


@pytest.mark.slow
def test_operations_are_recorded_after_it() -> None:
    """Check in a separate process, which has not seen the dtypes of the operation."""
    program = """
        import sys
        import mxnp as np
        from mxnp._bridge import pending, set_threshold

        def down(frames):
            return down(frames - 1) if frames else x * 2

        set_threshold(0)
        x = np.ones(3000)
        failed = 0
        for frames in range(sys.getrecursionlimit()):
            try:
                down(frames)
            except RecursionError:
                failed += 1
        np.synchronize()
        y = x * 2
        print(failed > 0, pending())
    """
    assert end_of("-c", textwrap.dedent(program)) == End(0, "True 1\n", "")


OPERATIONS = [
    *("a + a", "-a", "operator.iadd(a, a)", "a @ a", "a == a", "a < a", "a in a"),
    *("a.sum()", "a.max()", "a.sort()", "a.clip(0, 1)"),
]


# Near Python's limit NumPy's loop of conjugate raises a TypeError with this cause.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("operation", "limit"),
    [
        *((operation, limit) for operation in OPERATIONS for limit in (1000, 100_000)),
        ("np.conjugate(a)", 100_000),
    ],
)
def test_an_object_array_in_itself(operation: str, limit: int) -> None:
    """NumPy exceeds the C stack here, and the process crashes."""
    program = f"""
        import operator
        import sys
        import mxnp as np

        sys.setrecursionlimit({limit})
        a = np.empty(3, dtype=object)
        for i in range(3):
            a[i] = a
        try:
            {operation}
        except RecursionError as error:
            print(error)
        print((np.arange(3.0) + 1).tolist())
    """
    end = end_of("-c", textwrap.dedent(program))
    assert (end.status, end.err) == (0, "")
    first, second = end.out.splitlines()
    assert first.startswith("maximum recursion depth exceeded")
    assert second == "[1.0, 2.0, 3.0]"
