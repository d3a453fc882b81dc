"""Run calls with NumPy and with mxnp, and compare what they do."""

from __future__ import annotations

import decimal
import fractions
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy
from support.lanes import ON_GPU
from support.same import Allowed, assert_same

import mxnp

from .table import ELEMENTS, SHAPES, SIZES, Call

FILE = "<call>"  # in which calls are, for warnings
ALLOWED = Allowed(any_nan=True, any_last_bit=True, steps=1024, on_gpu=ON_GPU)


# -- Names in calls --------------------------------------------------------------------


class Index:
    """An integer of another class."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"Index({self.value})"


class Plain:
    """An object without any meaning."""

    def __repr__(self) -> str:
        return "Plain()"


class Once:
    """Two numbers that can be read once."""

    def __init__(self) -> None:
        self.values = iter([1, 2])

    def __iter__(self) -> Iterator[int]:
        return self.values

    def __repr__(self) -> str:
        return "Once()"


class NoTruth:
    """An object that is neither true nor false."""

    def __bool__(self) -> bool:
        raise ValueError("no truth")

    def __repr__(self) -> str:
        return "NoTruth()"


class Fails:
    """An object that fails as a sequence, an index and a number."""

    def __getattr__(self, name: str) -> Any:
        raise (
            RuntimeError(f"no {name}") if name == "__array__" else AttributeError(name)
        )

    def __index__(self) -> int:
        raise RuntimeError("no index")

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __getitem__(self, item: Any) -> Any:
        raise RuntimeError("no item")

    def __repr__(self) -> str:
        return "Fails()"


class WithArray:
    """An object that only has ``__array__``."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return numpy.array(self.value, dtype)

    def __repr__(self) -> str:
        return "WithArray()"


asked: list[str] = []


def _asking(**answers: Callable[..., Any]) -> type:
    """Return a class of objects that note in `asked` which methods are called."""

    def method(name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
        def ask(_: Any, *args: Any, **kwargs: Any) -> Any:
            asked.append(name)
            return answer(*args, **kwargs)

        return ask

    methods = {f"__{name}__": method(name, answers[name]) for name in answers}
    return type("Asked", (), {**methods, "__repr__": lambda _: "Asked()"})


ASKING = {
    "AskedItems": _asking(
        len=lambda: 2, iter=lambda: iter([0, 1]), getitem=[0, 1].__getitem__
    ),
    "AskedNumber": _asking(index=lambda: 1, float=lambda: 1.0, bool=lambda: True),
    "AskedTruth": _asking(bool=lambda: True),
    "AskedArray": _asking(array=lambda dtype=None, copy=None: numpy.arange(2.0)),
}


def read_only(a: Any) -> Any:
    a.flags.writeable = False
    return a


class Names(dict[str, Any]):
    """The names in a call, of which arrays are made when they are read."""

    def __init__(self, xp: Any, size: str) -> None:
        def unaligned(a: Any) -> Any:
            memory = xp.zeros(a.nbytes + 1, "u1")[1:]
            result = memory.view(a.dtype).reshape(a.shape)
            result[...] = a
            return result

        super().__init__(
            np=xp, S=SIZES[size], T=SHAPES[size][2], Sub=SUBCLASSES[xp],
            Plain=Plain, Once=Once, Index=Index, NoTruth=NoTruth, Fails=Fails, WithArray=WithArray,
            Decimal=decimal.Decimal, Fraction=fractions.Fraction,
            read_only=read_only, unaligned=unaligned, **ASKING,
        )  # fmt: skip
        self.xp, self.size, self.arrays = xp, size, dict[str, Any]()

    def __missing__(self, name: str) -> Any:
        kind, ndim = name[:1], name[1:]
        if kind not in ELEMENTS or ndim not in ("0", "1", "2", "3"):
            raise KeyError(name)
        array = self[name] = self.arrays[name] = self.xp.array(
            _elements(kind, SHAPES[self.size][int(ndim)])
        )
        return array


SUBCLASSES = {xp: type("Sub", (xp.ndarray,), {}) for xp in (numpy, mxnp)}
_made: dict[Any, numpy.ndarray] = {}


def _elements(kind: str, shape: tuple[int, ...]) -> numpy.ndarray:
    key = kind, shape
    if key not in _made:
        dtype, values = ELEMENTS[kind]
        _made[key] = numpy.resize(numpy.array(values, dtype), shape)
    return _made[key]


def evaluate(text: str, size: str) -> Any:
    """Return NumPy's value of an expression."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(text, {}, Names(numpy, size))


# -- Outcomes --------------------------------------------------------------------------


@dataclass
class Outcome:
    """What a call did: its result or exception, its warnings, and its arrays."""

    result: Any
    error: BaseException | None
    warned: list[warnings.WarningMessage]
    asked: list[str]  # methods of the objects in `ASKING`
    names: Names


def run(call: Call, xp: Any) -> Outcome:
    names = Names(xp, call.size)
    code = compile(call.text, FILE, "eval")
    result, error = None, None
    asked.clear()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = eval(code, {}, names)
            mxnp.synchronize()
        except Exception as raised:
            result, error = None, raised.with_traceback(None)
    return Outcome(result, error, [*warned], [*asked], names)


def _text(error: BaseException | None) -> str:
    if error is None:
        return "no error"
    message = re.sub(r" at 0x[0-9a-f]+", "", str(error))
    return f"{type(error).__name__}: {message}"


def _warnings(outcome: Outcome) -> list[tuple[str, str]]:
    return sorted({(w.category.__name__, str(w.message)) for w in outcome.warned})


def _comparable(call: Call, result: Any) -> Any:
    """Return what of a result can be compared, without memory that nothing is written to."""
    if type(result) in (tuple, list):
        return type(result)(_comparable(call, each) for each in result)
    if type(result).__repr__ is object.__repr__:  # it shows an address
        return type(result).__name__
    if isinstance(result, numpy.ndarray | numpy.generic):
        if result.dtype == object:
            return result.dtype, result.shape, result.strides, _objects(result.tolist())
        keywords = dict(call.keywords)
        is_partial = "where" in keywords and keywords.get("out", "None") in _NO_OUT
        if is_partial or "empty" in call.function or keywords.get("mode") == "'empty'":
            return type(result).__name__, result.dtype, result.shape, result.strides
    return result


_NO_OUT = ("None", "(None,)", "()", "Ellipsis", "(...,)")


def _objects(value: Any) -> Any:
    """Return elements of an array of objects. NumPy stores its own arrays there."""
    if type(value) is list:
        return [*map(_objects, value)]
    return mxnp.asarray(value).tolist() if isinstance(value, numpy.ndarray) else value


def compare(call: Call, numpys: Outcome, ours: Outcome) -> tuple[str, str] | None:
    """Return the kind of the first difference and its description, or None."""
    if MemoryError in (type(ours.error), type(numpys.error)):
        return None
    mine, theirs = _text(ours.error), _text(numpys.error)
    if mine != theirs:
        kind = "accepted" if ours.error is None else "refused"
        kind = kind if None in (ours.error, numpys.error) else "error"
        return kind, f"{mine}, not {theirs}"
    for what, a, b in (
        ("result", *(_comparable(call, x.result) for x in (ours, numpys))),
        ("array", ours.names.arrays, numpys.names.arrays),
    ):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # flags of arrays that are repeated
                assert_same(a, b, what, ALLOWED)
        except AssertionError as error:
            return what, str(error)
    if ours.asked != numpys.asked:
        return "asked", f"{ours.asked}, not {numpys.asked}"
    if _warnings(ours) != _warnings(numpys):
        return "warnings", f"{_warnings(ours)}, not {_warnings(numpys)}"
    numpys_files = {w.filename for w in numpys.warned}
    for w in ours.warned:
        if w.filename != FILE and w.filename not in numpys_files:
            return "line", f"{w.message} is at {w.filename}:{w.lineno}"
    return None
