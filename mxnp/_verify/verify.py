"""`verify()`: compute each operation with mxnp and with NumPy, and compare."""

from __future__ import annotations

import random
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from mxnp._array.ndarray import ndarray
from mxnp._bridge import FIRST_CALLS, call_whole, is_selected, peek, take_counts
from mxnp._engine import core
from mxnp._engine.core import synchronize
from mxnp._engine.devices import GPU, devices, get_device, get_float64_policy
from mxnp._engine.frames import frameless_members
from mxnp._engine.settings import get_mode

from . import tolerances
from .differences import EXACT, Rule, differences
from .hooks import End, Operation, Verdict, Watcher, only_watcher, place
from .snapshots import NotComparable, Snapshot, is_writeable

__all__ = ["VerificationError", "fraction_of", "verify"]


class VerificationError(AssertionError):
    """
    An operation returned a result that differs from NumPy's.

    It is raised at the line of the program. The message has the operation, the line,
    dtypes and shapes, the first element that differs with both values, their distance
    in ulp with the permitted one, and the number of elements that differ.
    """

    __module__ = "mxnp"


def fraction_of(text: str) -> float:
    """Read a fraction of calls: a number above 0 and at most 1, or a percentage."""
    is_percentage = text.endswith("%")
    fraction = float(text.removesuffix("%")) / (100 if is_percentage else 1)
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must be above 0 and at most 1, not {text}")
    return fraction


@frameless_members
class verify(Watcher):  # noqa: N801
    """
    Context manager that compares each operation of a block with NumPy.

    The arrays are copied before an operation, and NumPy then does the same with the
    copies. Results, changed arrays and exceptions are compared: classes, messages,
    dtypes, shapes, strides and each element, to the last bit or within the bound of the
    operation. The first difference raises an error. Operations of all threads are
    compared until the block ends.

    Parameters
    ----------
    fraction : float, optional
        The fraction of the calls to compare, above 0 and at most 1, the default. The
        first 10 calls of each operation are compared in any case. Each run selects the
        same calls.

    Attributes
    ----------
    failure : VerificationError or None
        The first difference.

    Raises
    ------
    VerificationError
        At the first operation that differs, raised at the line of the program.
    ValueError
        If `fraction` is not above 0 and at most 1.

    See Also
    --------
    trap_nan : Stop at the operation that produces the first NaN.

    Notes
    -----
    In the block, operations run one at a time and are not fused. docs/verify.md lists
    the operations that are not compared.

    The property ``verified`` is the number of operations that were compared, and
    ``skipped`` counts those that were not, by reason.

    Examples
    --------
    >>> import mxnp as np
    >>> with np.verify() as checks:
    ...     y = np.sqrt(np.arange(10.0))
    >>> checks.verified
    2
    """

    __module__ = "mxnp"
    kind = "numpy"

    def __init__(self, fraction: float = 1.0) -> None:
        if not 0 < fraction <= 1:
            raise ValueError(f"fraction must be above 0 and at most 1, not {fraction}")
        super().__init__(everywhere=True)
        self.fraction = fraction
        self._random = random.Random(0)
        self._lock = threading.Lock()
        self._verified = 0
        self._skipped: Counter[str] = Counter()
        self._operations = 0  # that were called, of those that are checked in C
        self.failure: VerificationError | None = None

    @property
    def verified(self) -> int:
        """The number of operations that were compared."""
        self._settle()
        return self._verified

    @property
    def skipped(self) -> Counter[str]:
        """The number of operations that were not compared, by reason."""
        self._settle()
        return self._skipped

    def _settle(self) -> None:
        if only_watcher() is self:
            self.settle()

    def settle(self) -> None:
        """Add what was compared in C to the counts."""
        with self._lock:
            verified, left_out, self._operations = take_counts()
            self._verified += verified
            if left_out:
                self._skipped[_LEFT_OUT] += left_out

    def classify(self, operation: Operation) -> Verdict:
        """Return what is done about the calls of a function."""
        resizes = operation.verb in _RESIZING or " " in operation.name
        is_plain = not resizes and not _reason_to_skip(operation)
        return Verdict.CHECK if is_plain else Verdict.ASK

    def __enter__(self) -> verify:
        synchronize()
        super().__enter__()
        return self

    def __str__(self) -> str:
        noun = "operation" if self.verified == 1 else "operations"
        parts = [f"{self.verified} {noun} verified"]
        if self.skipped:
            reasons = (f"{why}: {n}" for why, n in self.skipped.most_common())
            parts.append(f"{self.skipped.total()} not ({', '.join(reasons)})")
        text = ", ".join(parts)
        return f"{text}; {self._coverage()}" if self.fraction < 1 else text

    def _coverage(self) -> str:
        """Return which operations a fraction of the calls has covered."""
        noun = "operation" if self._operations == 1 else "operations"
        return (
            f"each of the {self._operations} {noun} was verified in its first "
            f"{FIRST_CALLS} calls and in {100 * self.fraction:.3g}% of the others"
        )

    def begin(self, operation: Operation) -> End | None:
        """Copy the arguments of a call; return the comparison of its results."""
        reason = _reason_to_skip(operation)
        if not reason and not self._selects():
            reason = _LEFT_OUT
        try:
            if not reason:
                return _Comparison(self, operation)
        except NotComparable as refusal:
            reason = str(refusal)
        self._count(reason)
        return None

    def _selects(self) -> bool:
        """Check whether a call is in the fraction, unless that was decided in C."""
        is_decided = only_watcher() is self and is_selected()
        return is_decided or self._random.random() < self.fraction

    def _count(self, reason: str = "") -> None:
        """Count an operation as verified, or as skipped for a reason."""
        with self._lock:
            if reason:
                self._skipped[reason] += 1
            else:
                self._verified += 1


_LEFT_OUT = "not in the fraction"

# Operations that change the shape or the dtype of an array itself.
_RESIZING = {"resize", "setfield", "byteswap"}

# -- Operations that are not verified --------------------------------------------------

_EXCLUDED = {
    "files and printing": """
        save savez savez_compressed savetxt load loadtxt genfromtxt fromfile fromregex
        tofile dump dumps open_memmap info show_config show_runtime disp source""",
    "settings": """
        geterr seterr seterrcall setbufsize set_printoptions set_string_function
        setflags __setstate__""",
    "addresses and exports": """
        __array__ __array_interface__ __array_struct__ __dlpack__ __dlpack_device__
        __sizeof__ byte_bounds ctypes data flags from_dlpack""",
    "names in the calling frame": "bmat",
    "undefined orders": "partition argpartition",
}
_REASONS = {
    name: reason for reason, names in _EXCLUDED.items() for name in names.split()
}


def _reason_to_skip(operation: Operation) -> str:
    """Return why a call is not made twice, or "" if it can be."""
    verb = operation.verb
    if operation.module.startswith("numpy.random"):
        return "random numbers"
    if operation.module.startswith("numpy.testing"):
        return "functions of numpy.testing"
    if verb == "__getitem__" and any(isinstance(x, str) for x in operation.args):
        return "names in the calling frame"
    if operation.ufunc is not None and operation.name.endswith("(vectorized)"):
        return "functions of the program"
    may_create = bool(operation.module) and operation.ufunc is None
    if may_create and get_float64_policy() == "float32" and get_device() != "cpu":
        return "functions under the float64 policy float32"
    return _REASONS.get(verb, "")


# -- Calls of NumPy --------------------------------------------------------------------


class _ThreadPattern:
    """The pattern of a warnings filter that matches in the creating thread only."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def match(self, text: str) -> bool:
        return threading.get_ident() == self._thread


@contextmanager
def _without_warnings(raises: bool) -> Iterator[None]:
    """
    Suppress NumPy's warnings, because mxnp has issued them, or raise them.

    The list of filters is changed in place. `warnings.simplefilter` would make Python
    forget which warnings it has shown.
    """
    before = numpy.geterr()
    quiet: Any = {
        kind: action if action == "raise" or raises else "ignore"
        for kind, action in before.items()
    }
    entry: Any = ("error" if raises else "ignore", _ThreadPattern(), Warning, None, 0)
    warnings.filters.insert(0, entry)  # type: ignore[attr-defined]
    try:
        with numpy.errstate(**quiet):
            yield
    finally:
        if entry in warnings.filters:
            warnings.filters.remove(entry)  # type: ignore[attr-defined]


def _call(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    raises: bool = False,
) -> tuple[Any, Exception | None]:
    """Call NumPy and return the result and the exception, one of which is None."""
    try:
        with _without_warnings(raises):
            return call_whole(function, args, kwargs), None
    except Exception as error:
        return None, error


# -- One operation ---------------------------------------------------------------------


def _is_ours(error: BaseException | None) -> bool:
    """Check whether only mxnp, and not NumPy, can raise an exception."""
    if error is None:
        return False
    return (
        not isinstance(error, Exception)
        or isinstance(error, MemoryError)
        or type(error).__module__ == "mxnp"
        or str(error).startswith(f"the {core.gpu().title} device failed")
    )


class _Comparison:
    """The comparison of one call, which copies its arguments first."""

    def __init__(self, owner: verify, operation: Operation) -> None:
        self._owner, self._operation = owner, operation
        self._subscript = None if operation.kwargs else _basic_subscript(operation)
        self._assignment = None
        if self._subscript is None:
            self._assignment = _basic_assignment(operation)
            called = self._assignment or operation
            self._reference = called.reference
            self._snapshot = Snapshot(called.args, called.kwargs)

    def __call__(
        self, result: Any, error: BaseException | None
    ) -> BaseException | None:
        if result is NotImplemented:
            return None  # Python asks the other operand
        try:
            if error is None:
                synchronize()
        except Exception as late:
            error = late
            deferred: BaseException | None = late
        else:
            deferred = None
        if _is_ours(error):
            self._owner._count("mxnp's own exceptions")
            return deferred
        try:
            difference = self._difference(result, error)
        except NotComparable as refusal:
            self._owner._count(str(refusal))
            return deferred
        if difference is None:
            self._owner._count()
            return deferred
        return self._failure(difference)

    def _failure(self, difference: str) -> VerificationError:
        operation = self._operation
        given = ", ".join(filter(None, map(_described, operation.args)))
        lines = [f"{operation.name} differs from NumPy", f"at {place()}"]
        lines += [f"arguments: {given}"] if given else []
        text = "\n  ".join([*lines, *difference.splitlines()])
        failure = VerificationError(text)
        self._owner.failure = self._owner.failure or failure
        return failure

    def _difference(self, result: Any, error: BaseException | None) -> str | None:
        if self._subscript is not None:
            return _difference_of_view(result, error, self._subscript)
        if error is not None and self._assignment is not None:
            # Nothing was written, so the whole array can still be copied.
            self._reference = self._operation.reference
            self._snapshot = Snapshot(self._operation.args, {})
        snapshot = self._snapshot
        rule = _rule(self._operation, snapshot)
        if error is not None and {"call", "log"} & set(numpy.geterr().values()):
            raise NotComparable("errors that np.errstate calls or logs")
        raises = isinstance(error, Warning)
        theirs, numpys = _call(self._reference, snapshot.args, snapshot.kwargs, raises)
        if error is not None or numpys is not None:
            return _difference_of_errors(error, numpys)
        found = differences(result, theirs, rule, "result")
        for number, (ours, copy) in enumerate(snapshot.pairs):
            what = f"array {number} after the call"
            found = found or differences(ours, copy, rule, what)
        return found


def _described(x: Any) -> str:
    if isinstance(x, ndarray | numpy.ndarray | numpy.generic):
        return f"{x.dtype} {x.shape}"
    if isinstance(x, tuple | list) and len(x) <= 4:
        return f"({', '.join(map(_described, x))})"
    return type(x).__name__


def _difference_of_errors(
    ours: BaseException | None, numpys: Exception | None
) -> str | None:
    if ours is None and isinstance(numpys, IndexError) and get_mode() == "fast":
        raise NotComparable("indices out of bounds in fast mode")
    if type(ours) is type(numpys) and str(ours) == str(numpys):
        return None
    return f"mxnp {_outcome(ours)}, and NumPy {_outcome(numpys)}"


def _outcome(error: BaseException | None) -> str:
    return "returned a result" if error is None else f"raised {error!r}"


# -- Views and elements: the array need not be copied ----------------------------------


def _is_basic(key: Any) -> bool:
    items = key if type(key) is tuple else (key,)
    return all(
        type(item) in (int, slice, type(...), type(None))
        or (isinstance(item, numpy.integer))
        for item in items
    )


def _basic_subscript(operation: Operation) -> tuple[Any, Any] | None:
    """Return the np_array and the key of a[key] if the result is a view or element."""
    if operation.name != "a[key]" or not _is_basic(operation.args[1]):
        return None
    return peek(operation.args[0]), operation.args[1]


def _difference_of_view(
    result: Any, error: BaseException | None, subscript: tuple[Any, Any]
) -> str | None:
    np_array, key = subscript
    theirs, numpys = _call(lambda: np_array[key], (), {})
    if error is not None or numpys is not None:
        return _difference_of_errors(error, numpys)
    if type(theirs) is numpy.ndarray and type(result) is ndarray:
        mine = peek(result)
        view = [_address(mine), mine.shape, mine.strides, mine.dtype]
        expected = [_address(theirs), theirs.shape, theirs.strides, theirs.dtype]
        return None if view == expected else "result is not the same view as NumPy's"
    if np_array.dtype.kind == "O":
        return None if result is theirs else "result is not the same object as NumPy's"
    return differences(result, theirs, EXACT, "result")


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _put(view: Any, value: Any) -> None:
    view[...] = value


def _basic_assignment(operation: Operation) -> Operation | None:
    """Return a[key] = value as an assignment to the view, if that is equivalent."""
    if operation.name != "a[key] = value" or not _is_basic(operation.args[1]):
        return None
    array, key, value = operation.args
    np_array = peek(array)
    items = key if type(key) is tuple else (key,)
    if np_array.dtype.kind not in "biufc" or not is_writeable(np_array):
        return None
    try:
        view = np_array[key if ... in items else (*items, ...)]
    except IndexError:
        return None
    is_scalar = type(value) in (bool, int, float, complex) or isinstance(
        value, numpy.number
    )
    if view.ndim == 0 and not is_scalar:
        return None
    return Operation(operation.name, _put, (view, value), {})


# -- Permitted differences -------------------------------------------------------------

_SUMS = {
    *("sum", "nansum", "mean", "nanmean", "cumsum", "cumulative_sum"),
    *("add.reduce", "add.accumulate"),
}
_PRODUCTS = {
    *("prod", "nanprod", "cumprod", "cumulative_prod"),
    *("multiply.reduce", "multiply.accumulate"),
}
_VARIANCES = {"var", "nanvar", "std", "nanstd"}


def _rule(operation: Operation, snapshot: Snapshot) -> Rule:
    """Return the permitted differences. NumPy must not have run the operation yet."""
    verb = operation.verb
    op = operation.ufunc
    rule = Rule(
        name=op.__name__ if op is not None else verb.partition(".")[0],
        on_device=get_device() != "cpu" and GPU in devices(),
        takes_arrays=get_mode() == "fast",
    )
    is_apart = rule.on_device and rule.name in tolerances.LINEAR
    if verb in ("empty", "empty_like") or is_apart:
        rule.is_defined = False
    if op is not None:
        _rule_of_ufunc(rule, op, operation, snapshot)
    elif verb in _SUMS | _PRODUCTS | _VARIANCES:
        rule.exact = _Exact(verb, operation.reference, snapshot, rule.on_device)
    return rule


def _rule_of_ufunc(
    rule: Rule, op: numpy.ufunc, operation: Operation, snapshot: Snapshot
) -> None:
    where = snapshot.kwargs.get("where", True)
    has_out = snapshot.kwargs.get("out") is not None or len(snapshot.args) > op.nin
    arrays = [
        x for x in snapshot.args[: op.nin] if isinstance(x, numpy.ndarray | float | int)
    ]
    if isinstance(where, numpy.ndarray) and not has_out:
        shapes = (numpy.shape(x) for x in (where, *snapshot.args[: op.nin]))
        try:
            shape = numpy.broadcast_shapes(*shapes)
            rule.is_defined = numpy.broadcast_to(where, shape)
        except ValueError:
            rule.is_defined = None  # NumPy raises an error
    if op.nout == 1 and len(arrays) == op.nin and op.signature is None:
        inputs = [x.copy() if isinstance(x, numpy.ndarray) else x for x in arrays]
        if any(isinstance(x, numpy.ndarray) and x.dtype.kind in "fc" for x in inputs):
            rule.alternatives = _OtherLoops(op, inputs)
    dtypes = (x.dtype.name for x in arrays if isinstance(x, numpy.ndarray))
    names = set(dtypes) | {"float64"}  # NumPy converts integers to float64
    rule.ulp = max(tolerances.PROCESSOR.get((op.__name__, name), 0) for name in names)


class _OtherLoops:
    """
    NumPy's results for the same numbers with other strides.

    The last bits of NumPy's loops depend on whether numbers are contiguous and on how
    many there are. Recorded operations run on packed blocks.
    """

    def __init__(self, op: numpy.ufunc, inputs: list[Any]) -> None:
        self._op, self._inputs = op, inputs

    def __call__(self, wrong: Any) -> Iterator[Any]:
        inputs = []
        for x in self._inputs:
            dtype = numpy.result_type(*self._inputs)
            array = x if isinstance(x, numpy.ndarray) else numpy.asarray(x, dtype)
            try:
                each = numpy.broadcast_to(array, wrong.shape)[wrong]
            except ValueError:
                return
            inputs.append(each.astype(each.dtype.newbyteorder("=")))
        op: Any = self._op
        yield op(*(numpy.repeat(x, 16) for x in inputs))[::16]
        yield op(*(numpy.repeat(x, 3)[::3] for x in inputs))
        yield op(*(x[::-1].copy()[::-1] for x in inputs))
        if inputs[0].size <= 1000:
            rows = zip(*(numpy.split(x, x.size) for x in inputs), strict=True)
            yield numpy.concatenate([op(*row) for row in rows])


class _Exact:
    """A sum, product or variance in higher precision, and its permitted error."""

    def __init__(
        self,
        verb: str,
        reference: Callable[..., Any],
        snapshot: Snapshot,
        on_device: bool,
    ) -> None:
        self._verb, self._reference = verb, reference
        out = snapshot.kwargs.get("out")
        if isinstance(out, numpy.ndarray) and any(
            numpy.may_share_memory(out, copy)
            for _, copy in snapshot.pairs
            if copy is not out
        ):
            raise NotComparable("sums into their own operand")
        self._args = snapshot.args
        self._kwargs = {
            name: value
            for name, value in snapshot.kwargs.items()
            if name not in ("out", "dtype")
        }
        self._steps = tolerances.SUM_STEPS["gpu" if on_device else "cpu"]

    def __call__(self) -> tuple[Any, Any]:
        wide = self._of(_widened)
        arrays = [x for x in self._args if isinstance(x, numpy.ndarray)]
        dtype = arrays[0].dtype if arrays else numpy.dtype(float)
        eps = numpy.finfo(dtype if dtype.kind in "fc" else float).eps
        n = max(x.size for x in arrays) if arrays else 1
        if self._verb in _SUMS:
            sizes = self._of(lambda x: abs(_widened(x)))
            return wide, (numpy.log2(n) + self._steps) * eps * sizes
        if self._verb in _PRODUCTS:
            return wide, (n + 2) * eps * abs(wide)
        # The error of x - mean is at most eps times x, and the mean's that of a sum.
        largest = max(abs(_widened(x)).max(initial=0) for x in arrays)
        relative = (numpy.log2(n) + self._steps) * eps
        if self._verb in ("std", "nanstd"):
            return wide, relative * (abs(wide) + largest)
        return wide, relative * (abs(wide) + numpy.sqrt(abs(wide)) * largest) + (
            relative * largest
        ) ** 2

    def _of(self, change: Callable[[Any], Any]) -> Any:
        """Return NumPy's result for changed floating-point arrays."""
        args = tuple(
            change(x) if isinstance(x, numpy.ndarray) and x.dtype.kind in "fc" else x
            for x in self._args
        )
        return numpy.asarray(self._reference(*args, **self._kwargs))


def _widened(x: Any) -> Any:
    return x.astype(numpy.clongdouble if x.dtype.kind == "c" else numpy.longdouble)
