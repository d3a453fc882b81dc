"""`trap_nan()`: stop at the operation that produces the first NaN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from mxnp._array.ndarray import ndarray
from mxnp._bridge import peek
from mxnp._engine.core import synchronize
from mxnp._engine.frames import frameless_members

from .hooks import End, Operation, Verdict, Watcher, place

__all__ = ["NaNError", "trap_nan"]


class NaNError(FloatingPointError):
    """
    An operation produced a NaN, or an infinity, that none of its operands had.

    It is raised at the line of the program. The message names the operation, the line
    and the position in the result. For elementwise operations it also has the operands
    at that position.
    """

    __module__ = "mxnp"


@frameless_members
class trap_nan(Watcher):  # noqa: N801
    """
    Context manager that stops at the operation that produces the first NaN.

    After each operation, its floating-point and complex results and the arrays that it
    changed are checked. A NaN that none of the operands had raises an error. For
    elementwise operations, only the operands at the same position count. The thread or
    task that runs the block is checked.

    Parameters
    ----------
    inf : bool, optional
        Whether to trap infinities too, if all operands were finite.
    everywhere : bool, optional
        Whether to check all threads, as ``--trap-nan`` does.

    Raises
    ------
    NaNError
        A FloatingPointError, raised at the line of the program. Results that were
        written remain, such as the array of an in-place operation.

    See Also
    --------
    verify : Compare each operation with NumPy.

    Notes
    -----
    In the block, operations run one at a time and are not fused. NaNs that the program
    puts into arrays itself are not trapped: those in arguments, in assigned elements,
    in files, text, bytes and memory that are read, in random numbers and in `empty`.

    Examples
    --------
    >>> import mxnp as np
    >>> x = np.array([4.0, -1.0])
    >>> with np.trap_nan(), np.errstate(invalid="ignore"):
    ...     y = np.sqrt(x)
    Traceback (most recent call last):
    mxnp.NaNError: sqrt produced the first NaN
      at <...>:2: y = np.sqrt(x)
      result[1] is nan, operands: -1.0
    """

    __module__ = "mxnp"

    def __init__(self, *, inf: bool = False, everywhere: bool = False) -> None:
        super().__init__(everywhere)
        self._inf = inf
        self.kind = "finite" if inf else "nan"

    def classify(self, operation: Operation) -> Verdict:
        """Return what is done about the calls of a function."""
        return Verdict.SKIP if _computes_nothing(operation) else Verdict.CHECK

    def __enter__(self) -> trap_nan:
        synchronize()
        super().__enter__()
        return self

    def begin(self, operation: Operation) -> End | None:
        """Check the operands of a call; return the check of its results."""
        if _computes_nothing(operation):
            return None
        return _NaNCheck(operation, self._inf)


# Operations that move elements, or that create arrays from other objects.
_MOVES = {
    "T", "a[key]", "a[key] = value", "array", "asanyarray", "asarray",
    "ascontiguousarray", "asfortranarray", "bool(a)", "copy", "empty", "empty_like",
    "flat", "float(a)", "from_dlpack", "frombuffer", "fromfile", "fromiter",
    "fromregex", "fromstring", "genfromtxt", "imag", "index(a)", "int(a)", "item",
    "load", "loadtxt", "mT", "ravel", "real", "reshape", "squeeze", "swapaxes",
    "tobytes", "tofile", "tolist", "transpose", "view", "x in a",
}  # fmt: skip


def _computes_nothing(operation: Operation) -> bool:
    return operation.verb in _MOVES or operation.module.startswith("numpy.random")


def _flat(x: Any) -> Iterator[Any]:
    """Yield the items of lists, tuples and dicts at any depth."""
    if isinstance(x, tuple | list):
        for item in x:
            yield from _flat(item)
    elif type(x) is dict:
        for item in x.values():
            yield from _flat(item)
    else:
        yield x


def _numbers(x: Any) -> Any:
    """Return a floating-point or complex array or number as a NumPy array, or None."""
    if type(x) is ndarray:
        x = peek(x)
    if isinstance(x, float | complex | numpy.inexact):
        return numpy.asarray(x)
    is_array = isinstance(x, numpy.ndarray) and not isinstance(x, numpy.ma.MaskedArray)
    return x.view(numpy.ndarray) if is_array and x.dtype.kind in "fc" else None


def _hides_numbers(x: Any) -> bool:
    """Check whether an object of another dtype may contain or represent a NaN."""
    if isinstance(x, str | bytes):
        return False
    kind = getattr(getattr(x, "dtype", None), "kind", "")
    return kind in "OSUTVmM" and kind != ""


class _NaNCheck:
    """The check of one call: the NaNs of its operands, and those of its results."""

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
            # The arrays that the operation changes are among its arguments.
            self._outs = [x for x in given if isinstance(x, ndarray | numpy.ndarray)]
        numbers = [_numbers(x) for x in given]
        self._nan = [None if x is None else numpy.isnan(x) for x in numbers]
        self._not_finite = [None if x is None else ~numpy.isfinite(x) for x in numbers]
        if not self._by_element:
            self._nan = [x if x is None else x.any() for x in self._nan]
            self._not_finite = [x if x is None else x.any() for x in self._not_finite]
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
            produced = self._produced(array, where)
            if produced.any():
                return self._failure(what, array, produced)
        return None

    def _results(self, result: Any) -> Iterator[tuple[str, Any]]:
        several = isinstance(result, tuple | list)
        for number, x in enumerate(_flat(result)):
            yield f"result{f' {number}' if several else ''}", x
        for x in self._outs:
            if not any(x is each for each in _flat(result)):
                yield "the changed array", x

    def _produced(self, array: Any, where: Any) -> Any:
        """Return a mask of the NaNs in a result that the operands did not have."""
        produced = numpy.isnan(array) & ~_any(self._nan, array.shape)
        if self._inf:
            produced |= numpy.isinf(array) & ~_any(self._not_finite, array.shape)
        if where is not True and self._by_element:
            where = numpy.asarray(peek(where) if type(where) is ndarray else where)
            return produced & where if where.dtype == bool else produced
        return produced

    def _failure(self, what: str, array: Any, produced: Any) -> NaNError:
        at = numpy.unravel_index(int(produced.argmax()), produced.shape)
        index = tuple(int(i) for i in at)
        value = array[index]
        kind = "NaN" if numpy.isnan(value) else "infinity"
        element = f"{what}[{', '.join(map(str, index))}]" if index else what
        text = f"{element} is {value}"
        if self._by_element:
            text += f", operands: {', '.join(self._operands_at(index, produced.shape))}"
        name = self._operation.name
        return NaNError(f"{name} produced the first {kind}\n  at {place()}\n  {text}")

    def _operands_at(
        self, index: tuple[int, ...], shape: tuple[int, ...]
    ) -> Iterator[str]:
        for x in self._operands:
            if isinstance(x, numpy.ndarray):
                yield str(numpy.broadcast_to(x, shape)[index])
            else:
                yield str(x)


def _any(masks: list[Any], shape: tuple[int, ...]) -> Any:
    """Return the union of masks that broadcast to a shape. None is an empty mask."""
    union = numpy.zeros(shape, bool)
    for mask in masks:
        if mask is not None:
            union = union | mask
    return union
