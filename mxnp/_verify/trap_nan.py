"""The first NaN, at the operation that makes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from mxnp._array.ndarray import ndarray
from mxnp._bridge import peek
from mxnp._engine.core import synchronize

from .hooks import End, Operation, Watcher, place

__all__ = ["NaNError", "trap_nan"]


class NaNError(FloatingPointError):
    """
    An operation made a NaN, or an infinity, that none of its operands had.

    It is raised at the line of the program, and says the operation, the line, where in
    the result it is and, of operations on elements, the operands there.
    """

    __module__ = "mxnp"


class trap_nan(Watcher):  # noqa: N801
    """
    Context manager: stop at the operation that makes the first NaN.

    After each operation its floating-point and complex results, and the arrays it
    changed, are looked at. A NaN that none of the operands had raises an error there.
    Of operations on elements, operands are those at the same place; of others, all of
    them. It holds for the thread or task that runs the block.

    Parameters
    ----------
    inf : bool, optional
        Whether infinities are trapped, too: those made of finite operands.
    everywhere : bool, optional
        Whether it holds for all threads, as with ``--trap-nan``.

    Raises
    ------
    NaNError
        A FloatingPointError, at the operation, from the line of the program. What is
        computed stays: of an in-place operation, the array.

    Notes
    -----
    Operations run one at a time while they are looked at, and not fused. What a program
    puts into arrays itself is not trapped: NaN given as an argument, elements assigned,
    files, text, bytes and memory that are read, random numbers, `empty`.

    Examples
    --------
    >>> import mxnp as np
    >>> x = np.array([4.0, -1.0])
    >>> with np.trap_nan(), np.errstate(invalid="ignore"):
    ...     y = np.sqrt(x)
    Traceback (most recent call last):
    mxnp.NaNError: sqrt made the first NaN
      at <...>:2: y = np.sqrt(x)
      result[1] is nan, of operands -1.0
    """

    __module__ = "mxnp"

    def __init__(self, *, inf: bool = False, everywhere: bool = False) -> None:
        super().__init__(everywhere)
        self._inf = inf

    def __enter__(self) -> trap_nan:
        synchronize()
        super().__enter__()
        return self

    def begin(self, operation: Operation) -> End | None:
        """Look at what a call is given; give what looks at its results."""
        if _makes_no_numbers(operation):
            return None
        return _Look(operation, self._inf)


# What moves elements, or makes arrays of what is no array's.
_MOVES = {
    "T", "a[key]", "a[key] = value", "array", "asanyarray", "asarray",
    "ascontiguousarray", "asfortranarray", "bool(a)", "copy", "empty", "empty_like",
    "flat", "float(a)", "from_dlpack", "frombuffer", "fromfile", "fromiter",
    "fromregex", "fromstring", "genfromtxt", "imag", "index(a)", "int(a)", "item",
    "load", "loadtxt", "mT", "ravel", "real", "reshape", "squeeze", "swapaxes",
    "tobytes", "tofile", "tolist", "transpose", "view", "x in a",
}  # fmt: skip


def _makes_no_numbers(operation: Operation) -> bool:
    return operation.verb in _MOVES or operation.module.startswith("numpy.random")


def _flat(x: Any) -> Iterator[Any]:
    """Give what lists, tuples and dicts hold, at any depth."""
    if isinstance(x, tuple | list):
        for item in x:
            yield from _flat(item)
    elif type(x) is dict:
        for item in x.values():
            yield from _flat(item)
    else:
        yield x


def _numbers(x: Any) -> Any:
    """Give a floating-point or complex array or number as a NumPy array; or None."""
    if type(x) is ndarray:
        x = peek(x)
    if isinstance(x, float | complex | numpy.inexact):
        return numpy.asarray(x)
    is_array = isinstance(x, numpy.ndarray) and not isinstance(x, numpy.ma.MaskedArray)
    return x.view(numpy.ndarray) if is_array and x.dtype.kind in "fc" else None


def _hides_numbers(x: Any) -> bool:
    """Tell whether it may hold a NaN, or stand for one, without being a number."""
    if isinstance(x, str | bytes):
        return False
    kind = getattr(getattr(x, "dtype", None), "kind", "")
    return kind in "OSUTVmM" and kind != ""


class _Look:
    """One call: what was wrong before it, and what is wrong after it."""

    def __init__(self, operation: Operation, inf: bool) -> None:
        self._operation, self._inf = operation, inf
        given = list(_flat((operation.args, operation.kwargs)))
        self._excused = any(map(_hides_numbers, given))
        op = operation.ufunc
        self._outs = [x for x in _flat(operation.kwargs.get("out")) if x is not None]
        self._operands: list[Any] = []
        self._by_element = op is not None and op.signature is None
        if op is not None:
            self._outs += operation.args[op.nin :]
            given = list(operation.args[: op.nin])
            self._writes = bool(self._outs) or operation.name.startswith("in-place")
            if operation.name.startswith("in-place"):
                self._outs = [operation.args[0]]
        else:
            self._writes = False
            # Whatever is changed is among the arguments.
            self._outs = [x for x in given if isinstance(x, ndarray | numpy.ndarray)]
        numbers = [_numbers(x) for x in given]
        self._nan = [None if x is None else numpy.isnan(x) for x in numbers]
        self._wild = [None if x is None else ~numpy.isfinite(x) for x in numbers]
        if not self._by_element:
            self._nan = [x if x is None else x.any() for x in self._nan]
            self._wild = [x if x is None else x.any() for x in self._wild]
            return
        for x in given:
            array = peek(x) if type(x) is ndarray else x
            copies = self._writes and isinstance(array, numpy.ndarray)
            self._operands.append(array.copy() if copies else array)

    def __call__(
        self, result: Any, error: BaseException | None
    ) -> BaseException | None:
        if error is not None or result is NotImplemented or self._excused:
            return None
        try:
            synchronize()
        except Exception as late:
            return late
        where = self._operation.kwargs.get("where", True)
        for what, x in self._results(result):
            array = _numbers(x)
            if array is None or array.size == 0:
                continue
            made = self._made(array, where)
            if made.any():
                return self._failure(what, array, made)
        return None

    def _results(self, result: Any) -> Iterator[tuple[str, Any]]:
        several = isinstance(result, tuple | list)
        for number, x in enumerate(_flat(result)):
            yield f"result{f' {number}' if several else ''}", x
        for x in self._outs:
            if not any(x is each for each in _flat(result)):
                yield "the array it changed", x

    def _made(self, array: Any, where: Any) -> Any:
        """Tell where elements are wrong and those they were made of are not."""
        made = numpy.isnan(array) & ~self._had(self._nan, array.shape)
        if self._inf:
            made |= numpy.isinf(array) & ~self._had(self._wild, array.shape)
        if where is not True and self._by_element:
            where = numpy.asarray(peek(where) if type(where) is ndarray else where)
            return made & where if where.dtype == bool else made
        return made

    def _had(self, wrong: list[Any], shape: tuple[int, ...]) -> Any:
        had = numpy.zeros(shape, bool)
        for each in wrong:
            if each is not None:
                had = had | each
        return had

    def _failure(self, what: str, array: Any, made: Any) -> NaNError:
        at = numpy.unravel_index(int(made.argmax()), made.shape)
        index = tuple(int(i) for i in at)
        value = array[index]
        kind = "NaN" if numpy.isnan(value) else "infinity"
        element = f"{what}[{', '.join(map(str, index))}]" if index else what
        text = f"{element} is {value}"
        if self._by_element:
            text += f", of operands {', '.join(self._operands_at(index, made.shape))}"
        name = self._operation.name
        return NaNError(f"{name} made the first {kind}\n  at {place()}\n  {text}")

    def _operands_at(
        self, index: tuple[int, ...], shape: tuple[int, ...]
    ) -> Iterator[str]:
        for x in self._operands:
            if isinstance(x, numpy.ndarray):
                yield str(numpy.broadcast_to(x, shape)[index])
            else:
                yield str(x)
