"""
The table of calls: ordinary calls of each function, and odd values of its arguments.

A call is a line of Python. In it `np` is NumPy or mxnp, and names such as ``f2`` are
new arrays: a kind of elements, which `ELEMENTS` explains, and the number of axes.
"""

from __future__ import annotations

import ast
import inspect
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy

from mxnp._array.ufunc import OPERATIONS
from mxnp._namespace.functions import ROWS, calls_of

SIZES = {"small": 30, "large": 4000}
SHAPES = {
    "small": ((), (30,), (5, 6), (2, 3, 5)),
    "large": ((), (4000,), (50, 80), (5, 20, 40)),
}
# The values of each kind of elements, which are repeated.
ELEMENTS = {
    "f": ("float64", [1.5, -2.0, 0.25, 7.0, 3.5, 0.0, -1.25]),
    "s": ("float32", [1.5, -2.0, 0.25, 7.0, 3.5, 0.0, -1.25]),
    "h": ("float16", [1.5, -2.0, 0.25, 7.0, 3.5]),
    "n": ("float64", [1.5, numpy.nan, -2.0, numpy.inf, 0.0, -numpy.inf, 3.0]),
    "p": ("float64", [0.5, 0.25, 0.75, 1.0, 0.125]),
    "i": ("int64", [3, -1, 4, 1, -5, 9, 0]),
    "j": ("int32", [3, -1, 4, 1, -5, 9, 0]),
    "u": ("uint8", [3, 200, 4, 1, 0, 9]),
    "q": ("int64", [3, 0, 4, 1, 2]),
    "Q": ("uint64", [3, 0, 4, 1, 2]),
    "b": ("bool", [True, False, True, True, False]),
    "c": ("complex128", [1.5 + 1j, -2j, 0.25, 7.0 - 1j, 3.5]),
    "o": ("object", [1, 2.5, -3, True, 0]),
    "m": ("timedelta64[s]", [1, -2, 5, 0]),
}


def _parts(text: str) -> Iterator[str]:
    for part in re.split(r"[;\n]", text):
        if part.strip():
            yield part.strip()


# -- Ordinary calls --------------------------------------------------------------------

# Calls of functions that are not in the table of `mxnp._namespace.functions`.

_FUNCTIONS = """
np.asfortranarray(f2)
np.eye(20); np.identity(20)
np.histogram_bin_edges(f1)
np.matmul(p2.T, p2)
np.trace(f2); np.diagonal(f2); np.diag(f1[:20])
np.cov(f1[:50], f1[:50]); np.corrcoef(f1[:50], p1[:50])
np.real(c1); np.imag(c1)
np.reshape(f1, (-1, 10)); np.swapaxes(f2, 0, 1); np.moveaxis(f3, 0, 1)
np.expand_dims(f1, 0); np.squeeze(f1[None]); np.broadcast_to(f1, (2, S)); np.broadcast_arrays(f1, 1)
np.atleast_1d(f1); np.atleast_2d(f1); np.flip(f1); np.flip(f2, 0); np.rot90(f2); np.rollaxis(f3, 1)
np.split(f1, 2); np.array_split(f1, 7)
np.packbits(b1)
np.unpackbits(u1); np.result_type(f1, 'f4'); np.can_cast('f4', 'i4'); np.shares_memory(f1, f1)
np.apply_along_axis(np.sum, 0, f2[:5])
np.nested_iters(f2, [[0], [1]])
"""

_METHODS = """
f2.flatten(); f2.swapaxes(0, 1); f2.squeeze()
f2.diagonal(); f2.trace()
f1.tolist(); f1.tobytes(); f1.view('i8'); f1.byteswap(); c1.conj()
f1.resize(10, refcheck=False); f1.setflags(write=False); f1.__getitem__(q1); f1.__getitem__(b1); f2.__getitem__(0)
f1.__setitem__(q1, 2.5); f1.__setitem__(b1, 0); f2.__setitem__(slice(1), f2[:1]); f1.__setitem__(b1, f1[b1])
f1.__add__(f1); f1.__radd__(2); f1.__iadd__(1); i1.__ifloordiv__(3); f1.__truediv__(f1); i1.__pow__(2)
i1.__and__(i1); f1.__eq__(f1); f1.__lt__(1); f1.__matmul__(f1); i1.__lshift__(2); f1.__divmod__(2.0)
f1.__contains__(7.0); b1.__invert__(); f1.__mod__(2)
"""

_UFUNC_METHODS = """
np.add.reduceat(f1, [0, 5, 3]); np.maximum.reduceat(i2, [0, 2], axis=1)
np.divmod(f1, 2.0); np.modf(f1); np.frexp(f1); np.power(i1, 2); np.power(f1, 2); np.ldexp(f1, q1)
np.add(i1, f1); np.add(s1, 1); np.add(f2, f1[:1]); np.true_divide(i1, 2); np.less(u1, 3); np.add(u1, u1)
np.maximum(i1, f1); np.bitwise_and(i1, 3); np.matmul(p2.T, p2); np.vecdot(p1, p1)
"""

# Calls that once differed.
FOUND = [
    *_parts("""
f1.item(2**70); np.arange(S, stop=np.complex64(1j)); np.arange(S, step=np.uint8(255))
np.fill_diagonal(f2, np.complex64(1j)); np.put_along_axis(f2, q2, np.complex64(1j), 1)
np.put_along_axis(f2, q2, c2, 1); np.var(i1, mean=c1); i1.var(mean=h1); f2.var(axis=1, ddof=-2**70)
np.var(f2, dtype='a'); np.add.accumulate(f1, dtype='a'); np.prod(p2, dtype='>i4'); np.fmax.reduce(n1, dtype='i8')
np.nansum(n1, where=b1[None]); np.bincount(q1, weights=f1.astype('g')); f1.fill(j1); f1.fill(1j)
f1.resize(2**63, refcheck=np.array([0, 1], np.uint64), unknown=1); np.take(f2, q1, axis=1, mode=j1)
np.add.at(i1, q1, np.float64); np.logical_or.at(b1, b2, b1); np.multiply.at(f2, q1[:5], n2)
np.add.at(i1, q1, c2); f1.argmax(keepdims=1); np.nanargmin(f2, keepdims=True)
np.multiply.at(read_only(f2), Index(0), o2); np.maximum.at(f1, unaligned(f1), f2.T)
np.maximum.at(u1, Q2, [np.nan]); np.concatenate([f1, f1], casting=b1); np.copy(f2, order=f3)
np.ones_like(i1, 'f4', order=f1[:0]); np.searchsorted(p1.cumsum(), f1, side=u1); np.pad(f2, 2, mode=b2)
np.maximum.reduce(f2, axis=n2); np.maximum.reduce(f2, axis=0, out=(None,)); np.place(f1, b1, f1); np.log10(f3)
np.take(f1[:0], q1, axis=-1, mode='x'); np.take(f2[:0], ['x'], axis=0, mode='wrap')
""")
]

# Parameters that signatures hide behind `**kwargs`, or do not name.
_UFUNC = "out where casting order dtype subok signature"
_MORE = {
    "reduce": "keepdims initial where",
    "sum": "keepdims initial where",
    "prod": "keepdims initial where",
    "max": "keepdims initial where",
    "min": "keepdims initial where",
    "mean": "keepdims where",
    "var": "keepdims where mean correction",
    "std": "keepdims where mean correction",
    "clip": "dtype where casting order subok",
    "pad": "constant_values end_values stat_length reflect_type",
    "outer": "out where casting order dtype subok",
}


def ufunc_calls() -> Iterator[str]:
    """Yield a call of each recorded ufunc with operands for which it has a loop."""
    for ufunc in OPERATIONS:
        if ufunc.signature is None:
            for kind in "fisb":
                operands = ", ".join([f"{kind}1"] * ufunc.nin)
                try:
                    with numpy.errstate(all="ignore"):
                        ufunc(*(ELEMENTS[kind][1][0],) * ufunc.nin)
                except TypeError:
                    continue
                yield f"np.{ufunc.__name__}({operands})"
                break


BASES = [
    *_parts(_FUNCTIONS),
    *_parts(_METHODS),
    *_parts(_UFUNC_METHODS),
    *(call for name in ROWS for call in calls_of(name)),
]


# -- Odd values ------------------------------------------------------------------------

_SCALARS = """
None; True; False; 0; 1; -1; 2; 3; 7; -7; 1.5; 0.0; -0.0; np.nan; np.inf; -np.inf; 1j; 2**31; -2**31
2**63; 2**64; 2**70; -2**70; 'x'; ''; b'x'; 'f'; Ellipsis; slice(2); slice(None); Plain(); {}; {1}
np.float64(1.5); np.float32(2); np.int8(1); np.uint64(1); np.uint8(255); np.bool_(True); np.complex64(1j)
np.float64(np.nan); np.str_('x'); np.datetime64('2020-01-01'); np.timedelta64(1, 's'); np.float64; float; int
Index(1); Index(0); NoTruth(); Fails(); Decimal(1); Fraction(1, 2); range(3); Once()
"""
_SEQUENCES = """
[]; (); [[]]; [1]; (1,); [0, 1]; (0, 1); (0, 0); [0, -1]; [1.5]; [True, False]; ['x']; [None]; [[1, 2], [3]]
[2**70]; [1, 'x']; ((),); [(1, 2)]; (None, None); [1, 2, 3]; [np.nan]; [f1]; (f1, f1); [f1, f2]; [i1, o1]
"""
_ARRAYS = """
f0; i0; np.array(2.5); np.array(1); np.array(True); np.array([]); np.array([], int); np.array([1])
np.array([0, 1], np.uint64); np.array([1.0]); np.array([True]); np.array(None); np.array([None])
np.array(['x']); np.array([2**63], np.uint64); f1; f2; f3; s1; h1; n1; n2; i1; i2; j1; u1; q1; Q1; Q2; b1; b2
c1; c2; o1; o2; m1; f1[::2]; f1[::-1]; f2.T; f2[:, ::2]; f1[:0]; f2[:0]; f2[:, :0]; f1[:1]; f2[:1]; f1[:3]
f2[None]; f1.astype('>f8'); i1.astype('>i4'); f1.astype('g'); f1.astype('U8'); read_only(f1)
read_only(f2); f1.view(Sub); f2.view(Sub); q1.view(Sub); np.ma.array(f1); np.matrix(f2); np.broadcast_to(1.5, f1.shape)
f1.tolist(); i1.tolist(); f2.tolist(); WithArray(f1); np.array([1, 2], object); i1 - 100000; i1 + 100000
unaligned(f1)
"""
_NAMED = {
    "axis": """0; 1; -1; -2; 2; -3; 5; -5; None; (0,); (0, 1); (1, 0); (-1,); (0, 0); (0, -2); (); [0]; [0, 1]
        (5,); (0, 5); 0.0; 1.5; (0.0,); True; np.int64(0); np.uint64(1); np.array(0); np.array([0]); 2**31; 2**32
        2**63; 2**70; -2**70; 'x'; Index(0); np.nan; (None,); ((0,),); range(1)""",
    "dtype": """None; 'f4'; 'f8'; 'f2'; 'i8'; 'i4'; 'u1'; 'i1'; 'u8'; '?'; bool; int; float; complex; object; 'c8'; 'g'
        'O'; 'U5'; 'S3'; 'M8[s]'; 'm8'; '>f8'; '>i4'; 'V4'; 'a'; 'x'; ''; 'i4,i4'; [('x', 'f8')]; 3; np.float64
        np.floating; np.number; np.generic; np.dtype('f4'); np.dtype('f8', metadata={'k': 1}); str; bytes; (int, 2)
        ('f8', (2,)); np.dtypes.Float32DType; f1; f1.dtype; np.nan; []; {'names': ['a'], 'formats': ['i4']}; 'G'; 'e'
        'float32'; 'b'; 'L'""",
    "order": "'C'; 'F'; 'A'; 'K'; 'Z'; 'c'; 'f'; 'k'; ''; 'CF'; None; 0; 1; True; b'C'; []; np.nan; np.str_('F')",
    "casting": "'no'; 'equiv'; 'safe'; 'same_kind'; 'unsafe'; 'same_value'; 'x'; ''; None; 0; True; []; b'safe'",
    "mode": """'raise'; 'wrap'; 'clip'; 'Raise'; 'r'; 'x'; ''; 0; 1; 2; 3; None; True; b'clip'; np.str_('wrap'); []
        'constant'; 'edge'; 'reflect'; 'mean'; 'empty'; 'full'; 'same'; 'valid'; 2**70; np.mean""",
    "kind": "'quicksort'; 'stable'; 'heapsort'; 'mergesort'; 'q'; 's'; 'Stable'; ''; 'x'; None; 0; True; b'stable'; []",
    "side": "'left'; 'right'; 'l'; 'r'; 'Left'; ''; 'x'; None; 0; b'left'; np.str_('right')",
    "keepdims": "True; False; None; 0; 1; 2; -1; 2**31; np.True_; np.int64(1); 1.0; 0.0; 'x'; ''; []; [1]; np.array(True); NoTruth(); Index(1)",
    "subok": "True; False; None; 0; 1; 2; 1.0; 'x'; ''; [1]; np.array(True); NoTruth(); Index(1)",
    "copy": "True; False; None; 0; 1; 2; 1.5; 'x'; []; np.True_; NoTruth()",
    "where": """True; False; None; 0; 1; 2; 1.5; 'x'; []; [True]; np.True_; np.array(True); np.array(False); b1; b2; b3; b0
        b1[:1]; b2[:, :1]; b2[:1]; b1[None]; i1; f1; o1; b2.T; read_only(b2); ~b1; b1.tolist(); b1[:3]""",
    "initial": """None; 0; 1; -1; 2.5; np.nan; np.inf; 2**31; 300; -300; 1j; True; 'x'; np.float32(1); np.int8(1); np.uint64(3)
        np.timedelta64(1, 's'); Plain(); np.array(1); np.array(2.5); Decimal(1)""",
    "like": "None; f1; np.array(1); 1; 'x'; []",
    "device": "None; 'cpu'; 'x'; 0; ''",
    "signature": "None; 'd->d'; 'dd->d'; 'ff->f'; 'll->l'; 'x'; (None, None, 'f4'); ('f4', 'f4', 'f4'); ''; 'O->O'; (None, 'f4')",
    "ddof": "0; 1; -1; 2; 0.5; True; None; np.nan; np.inf; 29; 30; 31; 4000; 2**70; 'x'; []; np.array(1); np.int8(1); np.float32(0.5); [1]; 1j; Fraction(1, 2)",
    "correction": "0; 1; 0.5; None; np.nan; 'x'; np.array(1)",
    "shape": "None; 3; (3,); (2, 3); (); -1; (-1,); 2**70; 'x'; 1.5; (1.5,); [2, 3]; np.array([2, 3]); np.array(3); np.int64(3); f1.shape; True; Index(3); (2, 'x')",
}
_NAMED["sorter"] = (
    "None; q1; i1; np.argsort(f1); f1; []; 0; 'x'; b1; np.argsort(f1).astype('u8')"
)
_NAMED["a"] = _NAMED["x"] = _ARRAYS
# Sizes and shapes: only values that do not ask for much memory.
_COUNTS = {
    "M", "N", "args", "base", "bins", "count", "decimals", "dimensions", "indices_or_sections", "m",
    "minlength", "n", "new_shape", "num", "pad_width", "repeats", "reps", "shape", "size", "start",
    "start_or_stop", "stop", "v",
}  # fmt: skip
_IS_LARGE = re.compile(r"2\*\*3|100000|\.view|tolist|\bo[12]\b")

_OUT = """
np.zeros({shape}, {dtype}); np.zeros({shape}, 'f4'); np.zeros({shape}, 'f8'); np.zeros({shape}, 'i4'); np.zeros({shape}, 'c16')
np.zeros({shape}, '?'); np.zeros({shape}, object); np.zeros({shape}, 'U4'); np.zeros({shape}, 'm8[s]'); np.zeros({shape}, 'u1')
np.zeros(3, {dtype}); np.zeros((), {dtype}); np.zeros((1, *{shape}), {dtype}); np.zeros(0, {dtype}); np.zeros({shape}, {dtype}, 'F')
np.zeros((2, *{shape}), {dtype}).T; np.zeros((2, *{shape}), {dtype})[0]; np.zeros((*{shape}, 2), {dtype})[..., 0]
read_only(np.zeros({shape}, {dtype})); np.zeros({shape}, {dtype}).view(Sub); np.zeros({shape}, np.dtype({dtype}).newbyteorder())
(np.zeros({shape}, {dtype}),); (np.zeros({shape}, {dtype}), np.zeros({shape}, {dtype})); [np.zeros({shape}, {dtype})]; (None,); ()
None; 1.5; 'x'; []; [1.0]; np.float64(1); Plain(); Ellipsis; f1; f2; i1; i2; b1; f1[::-1]; f2.T; f1[1:]; np.ma.array(np.zeros({shape}, {dtype}))
unaligned(np.zeros({shape}, {dtype})); np.broadcast_to(np.zeros((), {dtype}), {shape}); np.zeros({shape}, {dtype}).tolist()
"""

_POOLS = {name: [*_parts(text)] for name, text in _NAMED.items()}
GENERAL = [*_parts(_SCALARS), *_parts(_SEQUENCES), *_parts(_ARRAYS)]
_OUTS = [*_parts(_OUT)]


# -- Calls -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A call of a function, and the size of its arrays."""

    function: str
    arguments: tuple[str, ...]
    keywords: tuple[tuple[str, str], ...]
    size: str

    @property
    def text(self) -> str:
        named = (f"{name}={value}" for name, value in self.keywords)
        return f"{self.function}({', '.join([*self.arguments, *named])})"


def read(text: str, size: str) -> Call:
    """Read a call from its text."""
    node: Any = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call), text
    return Call(
        ast.unparse(node.func),
        tuple(map(ast.unparse, node.args)),
        tuple((str(each.arg), ast.unparse(each.value)) for each in node.keywords),
        size,
    )


@dataclass(frozen=True)
class Base:
    """An ordinary call, and the parameters of its function."""

    call: Call
    positions: tuple[str, ...]  # the parameters that may be passed by position
    names: tuple[str, ...]  # those that may be passed by name
    shape: tuple[int, ...]  # of its result
    dtype: str

    def pool(self, parameter: str) -> list[str]:
        """Return the odd values of a parameter that its name suggests."""
        if parameter == "out":
            return [t.format(shape=self.shape, dtype=self.dtype) for t in _OUTS]
        return _POOLS.get(parameter, GENERAL)

    def parameters(self) -> tuple[str, ...]:
        passed = self.positions[: len(self.call.arguments)]
        return tuple(dict.fromkeys([*passed, *self.names]))

    def change(self, call: Call, parameter: str, value: str) -> Call:
        """Return a call with another argument."""
        n = len(call.arguments)
        place = (
            self.positions.index(parameter) if parameter in self.positions else n + 1
        )
        if place < n or (place == n and parameter not in self.names):
            before, after = call.arguments[:place], call.arguments[place + 1 :]
            return replace(call, arguments=(*before, value, *after))
        keywords = {**dict(call.keywords), parameter: value}
        return replace(call, keywords=tuple(keywords.items()))


def _parameters(function: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the parameters that are passed by position, and those passed by name."""
    if isinstance(function, numpy.ufunc):
        inputs = tuple(f"x{i + 1}" for i in range(function.nin))
        return (*inputs, "out"), tuple(_UFUNC.split())
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except ValueError:  # older versions of NumPy
        parameters = []
    kinds = inspect.Parameter
    positions = [p.name for p in parameters if p.kind <= kinds.VAR_POSITIONAL]
    named = kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY
    names = [p.name for p in parameters if p.kind in named]
    return tuple(positions), (*names, *_MORE.get(function.__name__, "").split())


def bases(evaluate: Callable[[str, str], Any]) -> Iterator[Base]:
    """Yield all ordinary calls; `evaluate` returns NumPy's value of an expression."""
    for text in [*BASES, *ufunc_calls()]:
        for size in SIZES:
            call = read(text, size)
            positions, names = _parameters(evaluate(call.function, size))
            result = evaluate(text, size)
            first = result[0] if type(result) is tuple else result
            shape, dtype = getattr(first, "shape", ()), getattr(first, "dtype", None)
            yield Base(call, positions, names, shape, repr(dtype and dtype.str or "f8"))


def singles(known: list[Base]) -> list[tuple[Base, str, str]]:
    """Return every odd value of every parameter of every ordinary call."""
    return [
        (base, parameter, value)
        for base in known
        for parameter in base.parameters()
        for value in dict.fromkeys([*base.pool(parameter), *GENERAL])
        if not (parameter in _COUNTS and _IS_LARGE.search(value))
    ]


def calls(known: list[Base], seed: int) -> Iterator[Call]:
    """
    Return calls with one odd value each, in random order, and others with several.

    They end when each odd value of each parameter has been passed.
    """
    rng, each = random.Random(seed), singles(known)
    rng.shuffle(each)
    return _changed(known, each, rng)


def _changed(
    known: list[Base], each: list[tuple[Base, str, str]], rng: random.Random
) -> Iterator[Call]:
    for base, parameter, value in each:
        yield base.change(base.call, parameter, value)
        if rng.random() < 0.5:
            yield _combine(rng, rng.choice(known))


def _combine(rng: random.Random, base: Base) -> Call:
    """Return a call with several odd values."""
    call, parameters = base.call, base.parameters()
    for parameter in rng.sample(parameters, min(len(parameters), rng.randint(1, 3))):
        values = base.pool(parameter) if rng.random() < 0.7 else GENERAL
        value = rng.choice(values)
        if not (parameter in _COUNTS and _IS_LARGE.search(value)):
            call = base.change(call, parameter, value)
    form = rng.random()
    if form < 0.02:
        return replace(call, arguments=call.arguments[:-1])
    if form < 0.04:
        return replace(call, arguments=(*call.arguments, rng.choice(GENERAL)))
    if form < 0.06:
        return replace(call, keywords=(*call.keywords, ("unknown", "1")))
    return call
