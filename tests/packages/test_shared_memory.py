"""Test memory that is shared with other packages, which may read and write it.

Random programs mix operations of mxnp with reads and writes of other code. Their results
must equal NumPy's to the last bit. ``MXNP_FUZZ=20000`` sets the number of programs, as in
`.ci/full`.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import itertools
import operator
import os
import random
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from support.lanes import needs_fusion

import mxnp
from mxnp import _bridge
from mxnp._engine import core

PROGRAMS = int(os.environ.get("MXNP_FUZZ", "160"))
SIZE = 2000


@pytest.fixture(autouse=True)
def everything_is_recorded() -> Iterator[None]:
    before = _bridge.set_threshold(min(_bridge.get_threshold(), 100))
    mxnp.synchronize()
    yield
    _bridge.set_threshold(before)


# -- Ways to share ---------------------------------------------------------------------

# Each function returns the array of the library and a NumPy array over the same memory.
Shared = tuple[Any, numpy.ndarray]


def as_array(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    outside = values.copy()
    return np.asarray(outside), outside


def exported(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    a = np.array(values)
    return a, numpy.asarray(a)


def view_of_exported(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    a = np.array(numpy.repeat(values, 2))
    return a[::2], numpy.asarray(a)[::2]


def view_exported(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    a = np.array(values)
    return a, numpy.asarray(a[:])


def buffer_of_array(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    a = np.array(values)
    return a, numpy.frombuffer(memoryview(a))


def from_buffer(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    memory = bytearray(values.tobytes())
    return np.frombuffer(memory), numpy.frombuffer(memory)


def from_ctypes(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    memory = (ctypes.c_double * values.size)(*values)
    return np.ctypeslib.as_array(memory), numpy.ctypeslib.as_array(memory)


def by_address(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    a = np.array(values)
    address = ctypes.cast(a.ctypes.data, ctypes.POINTER(ctypes.c_double))
    return a, numpy.ctypeslib.as_array(address, values.shape)


def iterated(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    a = np.array(values)
    with np.nditer(a, ["external_loop"], [["readwrite"]]) as iterator:
        found = [numpy.asarray(value) for value in iterator]
    return a, found[0]


def iterated_in_rows(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    a = np.array(values)
    rows, columns = np.nested_iters(
        a.reshape(1, -1), [[0], [1]], ["external_loop"], [["readwrite"]]
    )
    found = [numpy.asarray(value) for _ in rows for value in columns]
    rows.close()
    columns.close()
    return a, found[0]


def constructed(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    a = np.array(values)
    return a, numpy.ndarray(values.shape, values.dtype, a)


class Tensor:
    """An object of another package that exports its memory, like torch.Tensor."""

    def __init__(self, values: numpy.ndarray) -> None:
        self.values = values.copy()

    @property
    def __array_interface__(self) -> Any:
        return self.values.__array_interface__


def from_interface(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    tensor = Tensor(values)
    return np.asarray(tensor), tensor.values


def from_dlpack(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    outside = values.copy()
    return np.from_dlpack(outside), outside


def mapped(np: Any, values: numpy.ndarray, path: Path) -> Shared:
    file = path / f"{np.__name__}{random.getrandbits(64)}"
    values.tofile(file)
    outside = numpy.memmap(file, dtype=float, mode="r+")
    return np.memmap(file, dtype=float, mode="r"), outside


WAYS = [
    as_array, exported, view_of_exported, view_exported, buffer_of_array, from_buffer,
    from_ctypes, by_address, from_interface, from_dlpack, mapped,
    iterated, iterated_in_rows, constructed,
]  # fmt: skip


@pytest.mark.parametrize("share", WAYS)
def test_other_code_sees_later_writes(share: Any, xp: Any, tmp_path: Path) -> Any:
    a, outside = share(xp, numpy.arange(float(SIZE)), tmp_path)
    before = outside[7].copy()
    if a.flags.writeable:
        a += 1.0
        a *= 2.0
        assert outside[7] == (before + 1.0) * 2.0
    outside[7] = 50.0
    return (a * 2.0)[7]


# -- Code outside mxnp -----------------------------------------------------------------


class World:
    """The namespace of a program: a library, shared arrays, and code that writes."""

    def __init__(self, np: Any, seed: int, path: Path) -> None:
        rng = random.Random(seed)
        self.pokes = 0
        self.seen: list[Any] = []
        values = numpy.random.default_rng(seed).integers(1, 9, (3, SIZE)).astype(float)
        pairs = [rng.choice(WAYS)(np, each, path) for each in values]
        self.outside = [outside for _, outside in pairs]
        self.names = {f"a{i}": a for i, (a, _) in enumerate(pairs)}
        self.names |= {f"w{i}": w for i, w in enumerate(self.outside)}
        self.names |= {"np": np, "poke": self.poke, "see": self.seen.append}
        self.names |= {
            "writer": Writer(self),
            "table": Table(self),
            "call": operator.call,
        }
        self.names |= {
            "partial": functools.partial,
            "chain": chain,
            "operator": operator,
        }
        self.names["own"] = np.arange(SIZE) % 7 + 0.5

    def poke(self, result: Any = 1.5) -> Any:
        """Write to some element of the shared memory, and return the argument."""
        self.pokes += 1
        w = self.outside[self.pokes % 3]
        if w.flags.writeable:
            w[self.pokes * 37 % SIZE] = self.pokes % 11 + 1
            w[-1 - self.pokes * 11 % SIZE :] -= 1
        return result


class Writer:
    """An object of another package that writes whenever it is used."""

    __array_ufunc__ = None

    def __init__(self, world: World) -> None:
        self.world = world

    def __add__(self, other: Any) -> Any:
        return self.world.poke() + other

    __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __add__

    @property
    def number(self) -> Any:
        return self.world.poke()

    def __index__(self) -> int:
        return int(self.world.poke(0))


class Table(dict[str, Any]):
    def __init__(self, world: World) -> None:
        self.world = world

    def __missing__(self, key: str) -> Any:
        return self.world.poke()


def chain(multiply: Callable[..., Any], w: Any) -> Any:
    """Return an object whose `+` writes and multiplies, without a Python frame."""
    steps = map(operator.iadd, [w, w], [1.0, 1.0])
    add = functools.partial(functools.reduce, multiply, steps)
    return type("Chain", (), {"__add__": staticmethod(add), "__array_ufunc__": None})()


# -- Random programs -------------------------------------------------------------------

ATOMS = ["{a}", "{a}", "own", "2.0", "3", "np.float64(2)"]
INSIDE = [
    "({x} + {y})", "({x} * {y})", "({x} - {y})", "(-{x})", "np.add({x}, {y})", "abs({a})",
    "np.sqrt(np.abs({x}))", "np.where({a} > {y}, {x}, {y})", "np.minimum({x}, {y})",
    "{a}.clip(2, 5)", "({a} * {a}).clip(0, 40)", "np.clip({x}, 1, {y})", "({x} < {y})",
    "{a}.astype(np.float32)", "({a} * {x})[::-1]", "({a} + {x}).reshape(-1)",
    "({a} * 2 + {x}).max()", "({a} * {a} + 1).min()", "np.maximum.reduce({a} + {x})",
    "np.cumsum({a} * 0)", "({a} * {a})[5]", "np.multiply({x}, {y})", "({a} ** 2)",
]  # fmt: skip
OUTSIDE = [
    "poke({x})", "(writer + {x})", "({x} + writer)", "({x} * writer.number)", "{x} * table['k']",
    "np.add({x}, poke())", "(t := {a} * 2)", "({x} if poke() else {y})", "[{x}, poke()][0]",
    "(lambda v: v + poke())({x})", "np.sum({a} + 1, axis=writer)", "({x} and poke())",
    "list(map(call, [partial(np.multiply, {a}, {a}), partial(poke, 1)]))[0]",
    "((chain(np.multiply, {w}) + {a}) + 0.5)", "np.multiply(*({a}, poke()))",
    "np.add({x}, 1, **{{'dtype': float}})", "next(v * 2 for v in ({x}, poke()))",
]  # fmt: skip
STATEMENTS = [
    "y{n} = {x}", "see({x})", "y{n} = {x}; poke()", "{w}[{n}::7] = {n}; y{n} = {x}",
    "see(float({w}[{n}])); y{n} = {x}", "{w} %= 17; y{n} = {x}", "{w} += 1; see({x})",
    "y{n} = {x}; y{n} += {a}; poke()", "try: y{n} = {x} + missing\nexcept NameError: poke()",
    "y{n} = [{x} + k for k in (1, 2)]; poke()", "see({w}.copy()); y{n} = {x}",
    "np.add({a}, {x}, out=own); see(own.copy())", "own += {a}; poke(); own %= 13",
    "try: {a} += 1\nexcept ValueError: pass\nsee({w}[3].item())", "t = {a}; poke(); see(t + 1)",
    "try: np.multiply({a}, 2, out={a}); {a} %= 7\nexcept ValueError: pass\nsee({w}.copy())",
]  # fmt: skip


def expression(rng: random.Random, depth: int) -> str:
    kind = ATOMS if depth == 0 else rng.choices([INSIDE, OUTSIDE], [5, 1])[0]
    fields = {
        "a": f"a{rng.randrange(3)}", "w": f"w{rng.randrange(3)}",
        "x": depth and expression(rng, depth - 1), "y": depth and expression(rng, depth - 1),
    }  # fmt: skip
    return rng.choice(kind).format(**fields)


def program(seed: int) -> str:
    """Return a program whose variables are local or global."""
    rng = random.Random(seed)
    lines = [
        rng.choice(STATEMENTS).format(
            n=n, x=expression(rng, rng.randrange(1, 4)),
            a=f"a{rng.randrange(3)}", w=f"w{rng.randrange(3)}",
        )
        for n in range(6)
    ]  # fmt: skip
    text = "\n".join([*lines, "see(locals().copy())"])
    if rng.random() < 0.3:
        return text
    names = "a0, a1, a2, w0, w1, w2, own"
    return f"def f({names}):\n{textwrap.indent(text, '    ')}\nf({names})"


def as_bytes(x: Any) -> Any:
    """Return an object with bytes in place of arrays, for exact comparison."""
    if isinstance(x, (list, tuple)):
        return [as_bytes(each) for each in x]
    if isinstance(x, dict):
        return {
            key: as_bytes(x[key]) for key in x if key[:1] in "yaw" and key != "writer"
        }
    if isinstance(x, (numpy.ndarray, mxnp.ndarray, numpy.generic)):
        array = numpy.asarray(x)
        return array.dtype.str, array.shape, array.tobytes()
    return type(x).__name__, str(x)


def run(np: Any, text: str, seed: int, path: Path) -> Any:
    world = World(np, seed, path)
    try:
        with numpy.errstate(all="ignore"):
            exec(compile(text, f"program {seed}", "exec"), world.names)
    except Exception as error:
        world.seen.append(str(error))
    return as_bytes([world.seen, world.outside])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(4))
def test_random_programs(part: int, tmp_path: Path) -> None:
    for seed in range(part, PROGRAMS, 4):
        text = program(seed)
        wanted = run(numpy, text, seed, tmp_path)
        assert run(mxnp, text, seed, tmp_path) == wanted, f"seed {seed}:\n{text}"


# -- Waits for shared memory -----------------------------------------------------------


def shared() -> Shared:
    return as_array(mxnp, numpy.arange(SIZE) % 9 + 1.0, Path())


def written() -> int:
    return sum(group.bytes_written for group in core.last_flush())


def root_of_squares(np: Any, a: Any) -> Any:
    return (np.sqrt(a * a + 1) * 2).sum()


@needs_fusion
@pytest.mark.parametrize("way", WAYS)
def test_an_expression_is_one_pass(way: Callable[..., Shared], tmp_path: Path) -> None:
    a, outside = way(mxnp, numpy.arange(SIZE) % 9 + 1.0, tmp_path)
    assert root_of_squares(mxnp, a) == root_of_squares(numpy, outside)
    assert len(core.last_flush()) == 1
    assert written() == 8


# These functions have no assertions: pytest would add `locals` for them, and mxnp does
# not read the variables of such a function.


def straight_line(np: Any, a: Any) -> Any:
    return np.sqrt(a * 2 + 1) - 3


def two_arrays(np: Any, a: Any, b: Any) -> Any:
    return np.maximum(a * a + b * b, 2 * b)


@needs_fusion
def test_intermediate_results_get_no_memory() -> None:
    a, w = shared()
    y = straight_line(mxnp, a)
    assert _bridge.pending() == 0
    assert written() == y.nbytes
    assert numpy.array_equal(y, straight_line(numpy, w))


@needs_fusion
def test_functions_of_two_arrays() -> None:
    (a, v), (b, w) = shared(), shared()
    y = two_arrays(mxnp, a, b)
    assert len(core.last_flush()) == 1
    assert written() == 2 * y.nbytes  # one of the two arguments has memory
    assert numpy.array_equal(y, two_arrays(numpy, v, w))


@needs_fusion
def test_code_of_a_module() -> None:
    a, w = shared()
    names = {"np": mxnp, "a": a}
    exec("y = np.exp(-(a - 1)) + a", names)
    assert written() == a.nbytes
    assert numpy.array_equal(names["y"], numpy.exp(-(w - 1)) + w)


def test_nothing_waits_at_the_end_of_an_expression() -> None:
    a, w = shared()
    y = a + 1
    assert _bridge.pending() == 0
    w[:] = 0
    assert y.sum() == (numpy.arange(SIZE) % 9 + 2.0).sum()


@pytest.mark.parametrize(
    "call",
    [
        *("np.multiply(2.0, 3)", "np.exp(1)", "np.add(s, s)", "np.sum(s)", "s.sum()"),
        *("np.zeros(1)", "np.arange(1)", "np.array([1.0])", "np.asarray(s)", "s.copy()"),
        *("np.clip(s, 0, 1)", "np.concatenate([s, s])[:1]", "np.cumsum(s)", "np.roll(s, 1)"),
    ],
)  # fmt: skip
def test_nothing_waits_for_code_behind_a_call_of_few_elements(call: str) -> None:
    def compute(np: Any, a: Any, w: Any) -> Any:
        def write() -> float:
            w[:] = 0
            return 1.0

        names = {"np": np, "a": a, "s": np.array([2.0]), "write": write}
        return eval(f"np.sqrt(a * a) + np.multiply({call}, write())", names)

    a, w = shared()
    own = w.copy()
    assert numpy.array_equal(compute(mxnp, a, w), compute(numpy, own, own))


# The first elements may only be read, and the mask is false there. A write with their own
# values would end the process.
READ_ONLY = """
import ctypes, mmap
import numpy, mxnp as np
from mxnp import _bridge

_bridge.set_threshold(100)
for statement, dtype in CASES:
    print(statement, dtype, flush=True)  # the last one is that which ends the process
    a = np.zeros(50_000, dtype)
    outside = numpy.asarray(a)  # which other code may write
    begin = outside.ctypes.data + -outside.ctypes.data % mmap.PAGESIZE
    n = (begin + mmap.PAGESIZE - outside.ctypes.data) // outside.itemsize
    a, outside, n = a[3:], outside[3:], n - 3
    m = np.arange(len(a)) % 3 == 0
    m[:n] = False
    v, w = np.ones(int(m.sum()), dtype), np.ones(len(a), dtype)
    np.synchronize()
    page = ctypes.c_void_p(begin), mmap.PAGESIZE
    assert ctypes.CDLL(None).mprotect(*page, 1) == 0
    exec(statement)
    np.synchronize()
    assert ctypes.CDLL(None).mprotect(*page, 3) == 0
    assert (outside == m.__array__()).all()
"""
MASKED = (
    *("a[m] = v", "a[m] = 1", "np.putmask(a, m, w)", "np.copyto(a, w, where=m)"),
    *("np.copyto(a, 1, where=m)", "np.place(a, m, v)", "np.add(a, 1, out=a, where=m)"),
)


@pytest.mark.skipif(sys.platform != "linux", reason="mprotect takes other numbers")
def test_elements_that_a_mask_leaves_out_are_not_written() -> None:
    cases = [*itertools.product(MASKED, ("u1", "f2", "f4", "f8", "c16"))]
    done = subprocess.run(
        [sys.executable, "-c", f"CASES = {cases}\n{READ_ONLY}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == len(cases)


def test_variables_are_not_held() -> None:
    a, _ = shared()

    def compute() -> Any:
        thing = Tensor(numpy.ones(3))
        gone = weakref.ref(thing)
        y = a * 2 + 1
        del thing
        return y, gone() is None

    y, is_gone = compute()
    assert is_gone
    assert y[0] == 3


def test_code_is_not_held() -> None:
    """A program may make functions for as long as it runs."""
    a, _ = shared()
    names: dict[str, Any] = {"a": a}
    exec("def compute(): return a * 2 + 1", names)
    assert names["compute"]()[0] == 3
    gone = weakref.ref(names["compute"].__code__)
    del names["compute"]
    gc.collect()
    assert gone() is None


def test_a_snapshot_of_the_variables_stays() -> None:
    a, _ = shared()

    def compute() -> Any:
        number = 1
        before = locals()
        number = 2
        y = a * number + 1
        return y, before["number"]

    y, number = compute()
    assert (y[0], number) == (3, 1)


def test_operators_that_others_wrote_in_c() -> None:
    a, w = shared()

    def compute(foreign: Any) -> Any:
        return (foreign + a) + 0.5

    y = compute(chain(mxnp.multiply, w))
    w -= 2
    assert numpy.array_equal(y, compute(chain(numpy.multiply, w)))


def test_a_tracer_may_write() -> None:
    a, w = shared()

    def write(frame: Any, event: str, argument: Any) -> Any:
        w[0] = 100
        return write

    def double(a: Any) -> Any:
        return a * (
            2
        ) + (
            a * 0
        )  # fmt: skip

    before = sys.gettrace()
    sys.settrace(write)
    try:
        y = double(a)
    finally:
        sys.settrace(before)
    assert y[0] == 200


def test_an_error_runs_waiting_operations() -> None:
    a, _ = shared()
    out = mxnp.zeros(SIZE)
    outside = numpy.asarray(out)

    def clash() -> Any:
        return mxnp.add(a, 1, out=out) + mxnp.ones(3)

    def misspell() -> Any:
        return mxnp.add(a, 2, out=out) + missing  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ValueError, match="broadcast"):
        clash()
    assert outside[0] == 2
    with pytest.raises(NameError):
        misspell()
    assert outside[0] == 3


def test_a_lent_argument_that_stays() -> None:
    a, w = shared()
    total = functools.partial(mxnp.max, a * a)
    assert total() == 81
    w[:] = 0
    assert total() == 81
    kept = [a + 5]
    assert mxnp.max(kept[0]) == 5
    w[:] = 1
    assert kept[0][0] == 5


# Functions that return their argument, or a view of it.
SAME = {
    "asarray": lambda x: mxnp.asarray(x * 2),
    "asanyarray": lambda x: mxnp.asanyarray(x * 2),
    "array": lambda x: mxnp.array(x * 2, copy=None),
    "astype": lambda x: (x * 2).astype(float, copy=False),
    "ascontiguousarray": lambda x: mxnp.ascontiguousarray(x * 2),
    "require": lambda x: mxnp.require(x * 2),
    "real": lambda x: mxnp.real(x * 2),
    "real_if_close": lambda x: mxnp.real_if_close(x * 2),
    "atleast_1d": lambda x: mxnp.atleast_1d(x * 2),
    "squeeze": lambda x: mxnp.squeeze(x * 2),
    "ravel": lambda x: mxnp.ravel(x * 2),
    "reshape": lambda x: mxnp.reshape(x * 2, (2, -1)),
    "transpose": lambda x: mxnp.transpose(x * 2),
    "swapaxes": lambda x: mxnp.swapaxes((x * 2).reshape(2, -1), 0, 1),
    "moveaxis": lambda x: mxnp.moveaxis((x * 2).reshape(2, -1), 0, 1),
    "flip": lambda x: mxnp.flip(mxnp.flip(x * 2)),
    "split": lambda x: mxnp.split(x * 2, 2)[0],
    "broadcast_to": lambda x: mxnp.broadcast_to(x * 2, (2, SIZE))[0],
    "expand_dims": lambda x: mxnp.expand_dims(x * 2, 0),
    "diagonal": lambda x: mxnp.diagonal((x * 2).reshape(2, -1)),
    "method": lambda x: (x * 2).reshape(-1),
    "attribute": lambda x: (x * 2).T,
    "subscript": lambda x: (x * 2)[:],
    "twice": lambda x: mxnp.asarray(mxnp.asarray(x * 2) + 1) - 1,
}


@pytest.mark.parametrize("function", SAME.values(), ids=SAME)
def test_a_result_that_is_an_operand(function: Any) -> None:
    a, w = shared()
    wanted = w[0] * 2
    y = function(a)
    w[:] = -1
    assert y.flat[0] == wanted
