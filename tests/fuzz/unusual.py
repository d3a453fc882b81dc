"""
Unusual arguments: arrays as their own keys, odd numbers, callbacks that write.

Programs call the functions of this module as ``unusual.NAME``, with NumPy's arrays and with
mxnp's. Their parameter `xp` is the module that the program uses as ``np``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from .grammar import Writer

WITHOUT = os.environ.get("MXNP_FUZZ_WITHOUT", "").split(",")  # kinds of statements

# -- Callbacks that write --------------------------------------------------------------


def change(a: Any, xp: Any, how: int) -> None:
    """Write to an array in one of several ways."""
    if how == 0:
        a[...] = 3
    elif how == 1:
        a += 1
    elif how == 2:
        xp.add(a, 1, out=a, casting="unsafe")
    else:
        a[::2] = a[::2][::-1]


class Once:
    """What changes an array the first time that NumPy asks for a value."""

    def __init__(self, a: Any, xp: Any, how: int) -> None:
        self.a, self.xp, self.how = a, xp, how
        self.is_over = False

    def change(self) -> None:
        if not self.is_over:
            self.is_over = True
            change(self.a, self.xp, self.how)


class Values(Once):
    """An object that changes an array when it becomes one."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> numpy.ndarray:
        self.change()
        return numpy.ones(numpy.shape(self.a), dtype or "q")


class Index(Once):
    """An integer that changes an array when it is read."""

    def __index__(self) -> int:
        self.change()
        return 0


class Items(Once):
    """A sequence that changes an array when its length is asked."""

    def __len__(self) -> int:
        self.change()
        return 1

    def __getitem__(self, i: int) -> int:
        if i:
            raise IndexError(i)
        return 2


class Override(Once):
    """An object that NumPy asks to compute, and that computes with an array."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kw: Any) -> Any:
        self.change()
        inputs = tuple(1 if x is self else x for x in inputs)
        return getattr(ufunc, method)(*inputs, **kw)

    def __array_function__(
        self, function: Any, types: Any, args: Any, kwargs: Any
    ) -> Any:
        self.change()
        return function([x for x in args[0] if x is not self])


def row_by_row(a: Any, xp: Any, how: int) -> Any:
    """Return sums of the rows of an array that each row changes."""

    def total(row: Any) -> Any:
        change(a, xp, how)
        return row.sum()

    return xp.apply_along_axis(total, -1, a)


def one_by_one(a: Any, xp: Any, how: int) -> Any:
    """Return numbers from an array that changes after the first one."""
    once = Once(a, xp, how)

    def number(x: Any) -> Any:
        once.change()
        return x

    return xp.frompyfunc(number, 1, 1)(a).astype(a.dtype)


def vectorized(a: Any, xp: Any, how: int) -> Any:
    once = Once(a, xp, how)

    def number(x: Any) -> Any:
        once.change()
        return x

    return xp.vectorize(number, otypes=[a.dtype.char])(a)


def in_pieces(a: Any, xp: Any, how: int) -> Any:
    def piece(x: Any) -> Any:
        change(a, xp, how)
        return x

    return xp.piecewise(a, [a > 1, a <= 1], [piece, piece])


CALLBACKS = [
    "unusual.row_by_row({a}, np, {how})",
    "unusual.one_by_one({a}, np, {how})",
    "unusual.vectorized({a}, np, {how})",
    "unusual.in_pieces({a}, np, {how})",
    "np.add({a}, unusual.Values({a}, np, {how}))",
    "np.where({a} > 1, {a}, unusual.Values({a}, np, {how}))",
    "({a} + unusual.Values({a}, np, {how}))",
    "({a} < unusual.Values({a}, np, {how}))",
    "np.concatenate([{a}, unusual.Values({a}, np, {how})])",
    "np.maximum(unusual.Values({a}, np, {how}), {a})",
    "{a}[unusual.Index({a}, np, {how})] + 0",
    "{a}[unusual.Index({a}, np, {how}):].copy()",
    "{a}.sum(axis=unusual.Index({a}, np, {how}))",
    "np.take({a}, unusual.Index({a}, np, {how}), axis=0) + 0",
    "np.roll({a}, unusual.Index({a}, np, {how}))",
    "np.append({a}, unusual.Items({a}, np, {how}))",
    "np.multiply({a}, unusual.Override({a}, np, {how}))",
    "({a} - unusual.Override({a}, np, {how}))",
    "np.concatenate([{a}, unusual.Override({a}, np, {how})])",
]
WRITES = [
    "{a}[...] = unusual.Values({a}, np, {how})",
    "{a}[unusual.Index({a}, np, {how})] = 1",
    "{a} += unusual.Values({a}, np, {how})",
    "np.copyto({a}, unusual.Values({a}, np, {how}), casting='unsafe')",
    "np.add({a}, unusual.Values({a}, np, {how}), out={a}, casting='unsafe')",
    "{a}[unusual.Items({a}, np, {how})] = 2",
]

# -- Subclasses ------------------------------------------------------------------------


def derived(xp: Any) -> Any:
    """Return a subclass of the class of arrays, whose methods call those of the class."""

    class Derived(xp.ndarray):  # type: ignore[misc]
        def __getitem__(self, key: Any) -> Any:
            return xp.ndarray.__getitem__(self, key)

        def __setitem__(self, key: Any, value: Any) -> None:
            xp.ndarray.__setitem__(self, key, value)

        def __add__(self, other: Any) -> Any:
            return xp.ndarray.__add__(self, other)

        def __array_finalize__(self, other: Any) -> None:
            self.tag = getattr(other, "tag", 0) + 1

        def sum(self, *args: Any, **kwargs: Any) -> Any:
            return xp.ndarray.sum(self, *args, **kwargs)

        def copy(self, order: Any = "C") -> Any:
            return xp.ndarray.copy(self, order)

    return Derived


INHERITED = [
    "np.ndarray.__getitem__({a}, slice(1, None)) + 0",
    "np.ndarray.__add__({a}, 1)",
    "np.ndarray.sum({a}, axis=0)",
    "np.ndarray.copy({a})",
    "np.asarray({a}.view(unusual.derived(np))[1:] + 1)",
    "np.asarray({a}.view(unusual.derived(np)).copy())",
    "np.asarray({a}.view(unusual.derived(np)) + {a})",
    "np.asarray({a}.view(unusual.derived(np)).sum(axis=0))",
    "np.array([{a}.view(unusual.derived(np))])",
    "np.asarray(np.add({a}, {a}.view(unusual.derived(np))))",
]

# -- Tables of statements --------------------------------------------------------------

# {a} is a vector of indices of itself, {n} its length, which is even.
OWN_KEYS = [
    *("{a}[{a}] = 7", "{a}[{a}] = 10**9", "{a}[{a}] = {a}", "{a}[{a}] += 1"),
    *("{a}[{a}[::2]] = {a}[1::2]", "{a}[{a}[::-1]] = {a}", "{a}[{a}] = {a}[::-1]"),
    *("{a}[{a}[: {n} // 2]] = {a}[{n} // 2 :]", "{a}[{a}, ] = 1"),
    *("np.add.at({a}, {a}, 1)", "np.add.at({a}, {a}[::2], {a}[1::2])"),
    *("{a}[:3] = {a}[{a}][:3]", "{a}[{a} > 2] = {a}[{a} > 2][::-1]", "{a}[{a} > 2] = 1"),
    *("np.put({a}, {a}, {a}[::-1])", "np.take({a}, {a}, out={a})", "{a}[::-1] = {a}"),
    *("np.take({a}, {a}[::-1], mode='clip', out={a})", "{a}[1:] = {a}[:-1]"),
    *("{a} += {a}[::-1]", "np.add({a}, {a}[::-1], out={a})", "{a}[:-1] = {a}[1:]"),
    *("np.multiply({a}[1:], 2, out={a}[:-1])", "np.copyto({a}[1:], {a}[:-1])"),
    *("np.copyto({a}, {a}[::-1], where={a} > 3)", "np.subtract(2, {a}[::-1], {a})"),
    *("np.putmask({a}, {a} > 2, {a}[::-1])", "np.place({a}, {a} > 2, {a}[::-1])"),
    *("np.cumsum({a}, out={a})", "np.cumsum({a}[::-1], out={a})", "{a}[{a}.argsort()] = {a}"),
]  # fmt: skip

# {m} is a matrix of indices of its rows and columns.
OWN_INDICES = [
    *("{m}[{m}[0], {m}[1]] = 5", "{m}[{m}[:, 0], {m}[0]] = {m}[1]", "{m}[{m}[0]] = {m}"),
    *("{b} = {m}[{m}[0], {m}[1]]; {m}[0] = 0", "{b} = {m}[{m}[0], {m}[-1]]; {m}[:, -1] = 3"),
    *("{m}[:, -1] = 3; {b} = {m}[{m}[0], {m}[1]]", "{b} = {m}[{m}, {m}.T]; {m} += 1"),
    *("{b} = {m}[:, {m}[0]]; {m}[:, 5:] = 1", "{b} = {m}[{m}[0], ::2]; {m}[-1] = 4"),
    *("np.add.at({m}, ({m}[0], {m}[1]), {m}[2])", "{m}[{m}[0], {m}[1]] += {m}[2]"),
    *("{m}[{m}[0], 1:] = {m}[:, :-1]", "{m}.T[...] = {m}", "{m}[{m} > 3] = {m}[0, 0]"),
    *("{b} = {m}[{m}[0], {m}[1], None]; {m}[2:] = 9", "{m}[::-1, {m}[0]] = {m}"),
]  # fmt: skip

# {b} is a mask, whose true bytes are any, of the first axis of {a}.
BOOLS = [
    *("{a}[{b}].tolist()", "np.where({b}, 5, 2).tolist()", "int(np.count_nonzero({b}))"),
    *("bool(np.any({b}))", "bool({b}.all())", "np.logical_and({b}, True).tolist()"),
    *("np.logical_or({b}, False).tolist()", "np.logical_not({b}).tolist()"),
    *("np.compress({b}, {a}, axis=0).tolist()", "np.flatnonzero({b}).tolist()"),
    "np.where({b}[:, None], [1.5, 2.5], 0.5).tolist()",
]  # fmt: skip

CONTAINERS = [
    *("np.concatenate([{a}, {b}, {a}])", "np.stack(({a}, {b}))", "np.array([{a}, {b}])"),
    *("np.array(({b}, [x for x in {a}]))", "np.vstack([{a}, {b}])", "np.hstack(({a}, {b}))"),
    *("np.block([[{a}, {b}]])", "np.select([{a} > 1, {b} > 1], [{a}, {b}], 0)"),
    *("np.choose(({a} > 1) * 1, [{a}, {b}])", "np.broadcast_arrays({a}, {b})[1] + 0"),
    *("np.concatenate([*np.array_split({a}, 3)])", "np.concatenate(tuple(np.meshgrid({a}[:9][..., 0], {b}[:9][..., 0])))"),
    *("np.asarray(dict(x={a})['x'])", "np.array([[{a}], [{b}]])", "np.column_stack([{a}, {b}])"),
    *("np.einsum({a}, [0, ...], [0, ...])", "np.lexsort(({a}, {b}))", "np.array([{a}[0], {b}[0]])"),
    *("np.concatenate([{a}, {b}], axis=-1, out=np.concatenate([{a}, {b}], axis=-1))",),
]  # fmt: skip

ODD = [
    *("float('nan')", "-7", "10**30", "-(2**63)", "True", "()", "[]", "(0, 0)", "(-1, 0)"),
    *("np.array(0)", "np.array([0])", "1.0", "'0'", "None", "np.int8(-1)", "np.uint64(2**63)"),
    *("np.array([], 'q')", "np.array([True])", "np.array(True)", "float('inf')", "1j"),
    *("[True, False]", "[0, -1]", "slice(None)", "...", "np.float64(1)", "b'1'", "{}"),
]  # fmt: skip
ODD_AXES = [
    *("sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "mean", "cumsum"),
    *(
        "sort",
        "argsort",
        "flip",
        "squeeze",
        "expand_dims",
        "count_nonzero",
        "ptp",
        "median",
    ),
]
ODD_ARGUMENTS = [
    *("np.take({a}, {odd})", "np.take({a}, {odd}, axis=0)", "np.repeat({a}, {odd})"),
    *("np.roll({a}, {odd})", "np.roll({a}, 1, axis={odd})", "np.reshape({a}, {odd})"),
    *("np.add({a}, {odd})", "np.where({a}, {odd}, {a})", "np.clip({a}, {odd}, 3)"),
    *("np.add({a}, 1, out={odd})", "np.sum({a}, out={odd})", "np.sum({a}, initial={odd})"),
    *("np.sum({a}, keepdims={odd})", "np.diff({a}, axis={odd})"),
    *("np.concatenate([{a}, {a}], axis={odd})", "np.stack([{a}, {a}], axis={odd})"),
    *("np.zeros({odd})", "np.full({odd}, 1)", "np.full(3, {odd})", "np.arange({odd})"),
    *("np.transpose({a}, {odd})", "np.swapaxes({a}, 0, {odd})", "np.moveaxis({a}, 0, {odd})"),
    *("np.split({a}, {odd})", "np.tile({a}, {odd})", "np.pad({a}, {odd})"),
    *("np.searchsorted(np.arange(9), {odd})", "np.bincount({odd})", "np.delete({a}, {odd})"),
    *("{a}[{odd}]", "{a}[{odd}, {odd}]", "{a}[..., {odd}]", "{a}[{odd}:]", "{a}[::{odd}]"),
    *("np.dot({a}, {odd})", "np.maximum({odd}, {a})", "{a} == {odd}", "np.power({a}, {odd})"),
]  # fmt: skip
ODD_WRITES = [
    *(
        "{a}[{odd}] = 1",
        "{a}[...] = {odd}",
        "{a}[{odd}] = {a}[{odd}]",
        "{a}.fill({odd})",
    ),
    *("np.put({a}, {odd}, 1)", "np.putmask({a}, {odd}, 1)", "np.copyto({a}, {odd})"),
    *(
        "np.add.at({a}, {odd}, 1)",
        "{a}.sort(axis={odd})",
        "np.place({a}, {a} > 1, {odd})",
    ),
    *("{a} += {odd}", "{a}[{odd}, {odd}] = 1", "{a} |= {odd}", "{a}.put({odd}, {odd})"),
]

# What is done while warnings are errors.
WARNED = [
    *("{b} = 1 / {a}", "{b} = np.log({a})", "{b} = np.sqrt({a}) + 1", "{a} /= 0"),
    *("{b} = {a} % 0", "{b} = {a}.astype('b')", "{b} = np.mean({a}[:0])", "{a}[...] = 1e300"),
    *("{b} = np.float32(1e30) * {a}.astype('f') * 1e20", "{b} = np.divide({a}, {a} - {a})"),
    *("np.divide({a}, 0, out={a}, casting='unsafe')", "{b} = np.arccos({a})"),
]  # fmt: skip


class Statements:
    """Write the statements of a program that have unusual arguments."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        kinds: dict[str, tuple[Callable[[], str], float]] = {
            "keys": (self.own_keys, 4),
            "indices": (self.own_indices, 3),
            "bools": (self.bools, 2),
            "containers": (self.containers, 3),
            "callbacks": (self.callback, 3),
            "subclasses": (self.subclass, 1.5),
            "odd": (self.odd, 4),
            "warnings": (self.warned, 1.5),
        }
        self.kinds = {
            function: weight
            for name, (function, weight) in kinds.items()
            if name not in WITHOUT
        }

    def statement(self) -> str:
        return self.writer.weighted(self.kinds) if self.kinds else "pass"

    def a_seed(self) -> int:
        return int(self.writer.random.integers(10_000))

    def own_keys(self) -> str:
        """Use a vector as its own key, and views of it as keys and values at once."""
        writer = self.writer
        n = int(writer.one([2, 8, 40, 40, 100]))
        a, dtype = writer.new(), writer.one("qqqqqqiIhBQ")
        made = f"{a} = (np.abs(make({self.a_seed()}, ({n},), 'q')) % {n}).astype({dtype!r})"
        return f"{made}; {str(writer.one(OWN_KEYS)).format(a=a, n=n)}"

    def own_indices(self) -> str:
        writer = self.writer
        n = int(writer.one([8, 8, 20]))
        m, b, dtype = writer.new(), writer.new(), writer.one("qqqqih")
        made = f"{m} = (np.abs(make({self.a_seed()}, ({n}, {n}), 'q')) % {n}).astype({dtype!r})"
        return f"{made}; {str(writer.one(OWN_INDICES)).format(m=m, b=b)}"

    def bools(self) -> str:
        writer = self.writer
        a = writer.array(lambda v: v.ndim > 0 and v.shape[0] > 1)
        n = len(writer.value(a)) if writer.value(a) is not None else 7
        b = f"make({self.a_seed()}, ({n},), 'B').view('?')"
        return f"{writer.new('s')} = {str(writer.one(BOOLS)).format(a=a, b=b)}"

    def containers(self) -> str:
        writer = self.writer
        a = writer.array(lambda v: v.ndim > 0)
        value = writer.value(a)
        shape, dtype = ((7,), "d") if value is None else (value.shape, value.dtype.char)
        b = writer.made(shape, str(writer.one([dtype, "d", "i"])))
        return f"{writer.new()} = {str(writer.one(CONTAINERS)).format(a=a, b=b)}"

    def callback(self) -> str:
        """Let NumPy call what writes to an array while NumPy reads or writes the array."""
        writer = self.writer
        a = writer.array(
            lambda v: v.ndim and v.size and v.flags.writeable and v.dtype.kind in "iuf"
        )
        how = int(writer.random.integers(4))
        if writer.chance(0.3):
            return str(writer.one(WRITES)).format(a=a, how=how)
        return f"{writer.new()} = {str(writer.one(CALLBACKS)).format(a=a, how=how)}"

    def subclass(self) -> str:
        writer = self.writer
        a = writer.array(lambda v: v.ndim > 0)
        return f"{writer.new()} = {str(writer.one(INHERITED)).format(a=a)}"

    def odd(self) -> str:
        """Pass what no program passes on purpose."""
        writer = self.writer
        odd = writer.one(ODD)
        if writer.chance(0.3):
            a = writer.target()
            return str(writer.one(ODD_WRITES)).format(a=a, odd=odd)
        a = writer.array(lambda v: v.ndim < 4)
        call = f"np.{writer.one(ODD_AXES)}({a}, axis={odd})"
        if writer.chance(0.6):
            call = str(writer.one(ODD_ARGUMENTS)).format(a=a, odd=odd)
        return f"{writer.new('s')} = np.array({call}).tolist()"

    def warned(self) -> str:
        """Compute while warnings are errors, and go on after one."""
        writer = self.writer
        a = writer.array(lambda v: v.dtype.kind in "iuf" and v.flags.writeable)
        text = str(writer.one(WARNED)).format(a=a, b=writer.new())
        return (
            "try:\n"
            "    with warnings.catch_warnings(), np.errstate(all='warn'):\n"
            "        warnings.simplefilter('error')\n"
            f"        {text}\n"
            "except (Warning, ValueError, TypeError) as error:\n"
            f"    {writer.new('s')} = type(error).__name__"
        )
