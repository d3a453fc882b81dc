"""
Other owners of the memory of arrays: what they do between the operations of a program.

Programs call the functions of this module as ``foreign.NAME``, with NumPy's arrays and with
mxnp's. If a package is not installed, NumPy takes its place, so that a seed determines the
same program everywhere.
"""

from __future__ import annotations

import functools
import gc
import importlib
import os
import pickle
import select
import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from .grammar import Writer

CHILD_SECONDS = 120  # after which a child process counts as hanging


@functools.cache
def package(name: str) -> Any:
    """Return a module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# -- NumPy arrays over the memory of an array -----------------------------------------


class Interface:
    """An object of another package that describes its memory, like torch.Tensor."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner, self.__array_interface__ = owner, interface


def by_asarray(a: Any) -> Any:
    return numpy.asarray(a)


def by_memoryview(a: Any) -> Any:
    return numpy.asarray(memoryview(a))


def by_frombuffer(a: Any) -> Any:
    if not a.flags.c_contiguous:  # NumPy's error has another class for its own arrays.
        return numpy.asarray(a)
    return numpy.frombuffer(a, a.dtype).reshape(a.shape)


def by_constructor(a: Any) -> Any:
    return numpy.ndarray(a.shape, a.dtype, a)


def by_dlpack(a: Any) -> Any:
    return numpy.from_dlpack(a)


def by_interface(a: Any) -> Any:
    return numpy.asarray(Interface(a, a.__array_interface__))


def by_address(a: Any) -> Any:
    interface = {
        "data": (a.ctypes.data, not a.flags.writeable),
        "shape": tuple(a.ctypes.shape),
        "strides": tuple(a.ctypes.strides),
        "typestr": a.dtype.str,
        "version": 3,
    }
    return numpy.asarray(Interface(a, interface))


def by_iterator(a: Any) -> Any:
    access = "readwrite" if a.flags.writeable else "readonly"
    return numpy.nditer(a, ["zerosize_ok"], [[access]]).operands[0]


def by_torch(a: Any) -> Any:
    torch = package("torch")
    return torch.from_numpy(a).numpy() if torch else numpy.asarray(a)


WAYS = [
    *("by_asarray", "by_memoryview", "by_frombuffer", "by_constructor", "by_dlpack"),
    *("by_interface", "by_address", "by_iterator", "by_torch"),
]


def sent(a: Any) -> Any:
    """Return an unpickled array, whose memory was pickled separately and not copied."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(a, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=buffers)


# -- Other packages -------------------------------------------------------------------


def mask(a: Any) -> Any:
    """Return which numbers are positive, as a series of pandas."""
    pandas = package("pandas")
    is_positive = numpy.asarray(a) > 0
    return pandas.Series(is_positive) if pandas else is_positive


def ranks(a: Any) -> Any:
    pandas = package("pandas")
    return pandas.Series(a.ravel()).rank().to_numpy() if pandas else numpy.array(a)


def columns(a: Any) -> Any:
    pandas = package("pandas")
    return pandas.DataFrame(a).T.to_numpy() if pandas else numpy.array(a.T)


def labels(a: Any) -> Any:
    ndimage = package("scipy.ndimage")
    return ndimage.label(a)[0] if ndimage else numpy.array(a)


def sparse(a: Any) -> Any:
    library = package("scipy.sparse")
    return library.csr_array(a).toarray() if library else numpy.array(a)


def expit(a: Any, out: Any) -> None:
    special = package("scipy.special")
    (special.expit if special else numpy.positive)(a, out=out)


@functools.cache
def kernel() -> Any:
    """Return a function of Numba that reverses an array in place."""
    numba = package("numba")

    def reverse(a: Any) -> None:
        for i in range(len(a) // 2):
            swapped = a[i]
            a[i] = a[-1 - i]
            a[-1 - i] = swapped

    return numba.njit(reverse) if numba else lambda a: reverse(numpy.asarray(a))


def reverse(a: Any) -> None:
    kernel()(a)


# -- Threads, signals, processes ------------------------------------------------------

# The functions that they call write to no array that exists, so their order is irrelevant.
Compute = Callable[[], Any]


def beside(compute: Compute, other: Compute) -> tuple[Any, Any]:
    """Call two functions at the same time, the second one in another thread."""
    found: list[Any] = []

    def work() -> None:
        try:
            with numpy.errstate(all="ignore"):
                found.append(other())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        result = compute()
    finally:
        thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return result, found[0]


class Stop(BaseException):
    """The exception of a signal handler."""


def _with_timer(seconds: float, handler: Callable[..., None], compute: Compute) -> Any:
    """Compute something, and call a signal handler after some time."""
    handler_before = signal.signal(signal.SIGALRM, handler)
    timer_before = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return compute()
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer_before)
        signal.signal(signal.SIGALRM, handler_before)


def interrupted(seconds: float, compute: Compute) -> Any:
    """Compute something that the exception of a signal handler ends, and again."""
    is_over = not hasattr(signal, "setitimer")
    if is_over:
        return compute()

    def handler(*_: Any) -> None:
        nonlocal is_over
        if not is_over:
            is_over = True
            raise Stop

    try:
        return _with_timer(seconds, handler, compute)
    except (Stop, Exception):  # NumPy may replace the exception by its own.
        if not is_over:
            raise
    return compute()


def alarmed(seconds: float, compute: Compute, other: Compute) -> tuple[Any, Any]:
    """Compute something, and something else in a signal handler."""
    found: list[Any] = []

    def handler(*_: Any) -> None:
        if not found:
            try:
                found.append(other())
            except Exception as error:
                found.append(error)

    if hasattr(signal, "setitimer"):
        result = _with_timer(seconds, handler, compute)
    else:
        result = compute()
    handler()
    if isinstance(found[0], Exception):
        raise found[0]
    return result, found[0]


def in_child(compute: Compute) -> Any:
    """Return a copy of what a function returns in a forked process."""
    if not hasattr(os, "fork"):
        return numpy.array(compute())
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                answer: Any = numpy.array(compute())
            except Exception as error:
                answer = error
            with os.fdopen(write_end, "wb") as file:
                pickle.dump(answer, file)
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as file:
        if not select.select([file], [], [], CHILD_SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
        data = file.read()
    os.waitpid(child, 0)
    answer = pickle.loads(data) if data else RuntimeError("the child process failed")
    if isinstance(answer, Exception):
        raise answer
    return answer


def collect() -> None:
    gc.collect(1)


# -- Statements -----------------------------------------------------------------------

WRITES = [
    *("[...] = 1", "[:1] = 0", ".fill(2)", ".sort()", "[::2] += 1", "[-1:] *= 2"),
    *("[...] = {view}[::-1]", ".flat[0] = 3"),
]
READS = [".copy()", "[::-1].copy()", " + 1", ".tobytes()", ".tolist()"]
IMPORTS = [
    *("np.asarray({})", "np.array({}, copy=False)", "np.from_dlpack({})"),
    *("np.frombuffer({0}, {0}.dtype)", "np.ndarray({0}.shape, {0}.dtype, {0})"),
]


class Statements:
    """Write the statements of a program in which others use the memory of its arrays."""

    def __init__(self, writer: Writer, has_process: bool) -> None:
        self.writer = writer
        self.owners: dict[str, str] = {}  # of NumPy arrays: whose memory they share
        self.kinds = {
            self.export: 4,
            self.write_exported: 5,
            self.write: 4,
            self.read: 3,
            self.use_exported: 2,
            self.take_over: 2,
            self.call_numpy: 3,
        }
        if has_process:
            self.kinds |= {
                self.call_package: 2,
                self.share_time: 2,
                self.fork: 0.3,
                self.collect: 0.5,
            }

    def statement(self) -> str:
        return self.writer.weighted(self.kinds)

    def view(self, name: str) -> str:
        return f"foreign.{self.writer.one(WAYS)}({name})"

    def written(self, view: str) -> str:
        return str(self.writer.one(WRITES)).format(view=view)

    def exported(self) -> list[str]:
        return self.writer.arrays(letters="n")

    # -- Reads and writes

    def export(self) -> str:
        name = self.writer.array()
        new = self.writer.new("n")
        self.owners[new] = name
        return f"{new} = {self.view(name)}"

    def write_exported(self) -> str:
        """Write to exported memory, often right after an operation that reads it."""
        writer = self.writer
        there = writer.arrays(lambda v: v.flags.writeable, letters="n")
        if not there:
            return self.export()
        name = str(writer.one(there))
        if writer.chance(0.2):
            return f"del {name}"
        return self.after_operation(
            self.owners.get(name), f"{name}{self.written(name)}"
        )

    def write(self) -> str:
        name = self.writer.target()
        view = self.view(name)
        return self.after_operation(name, f"{view}{self.written(view)}")

    def after_operation(self, name: str | None, statement: str) -> str:
        """Add an operation that reads an array before a statement that writes to it."""
        writer = self.writer
        if name not in writer.names or not writer.chance(0.5):
            return statement
        view = writer.one(["[...]", ".T", "[::-1]"])
        return f"{writer.new()} = {name}{view} + 1; {statement}"

    def read(self) -> str:
        name = self.writer.array()
        if self.writer.chance(0.3):
            return f"{self.writer.new()} = foreign.sent({name})"
        return f"{self.writer.new('n')} = {self.a_read(name)}"

    def a_read(self, name: str) -> str:
        return f"{self.view(name)}{self.writer.one(READS)}"

    def use_exported(self) -> str:
        """Use exported memory as an operand, of mxnp and of NumPy."""
        there = self.exported()
        if not there:
            return self.export()
        writer = self.writer
        name, operator = writer.one(there), writer.one("+-")
        if writer.chance(0.3):
            return f"{writer.new('n')} = {name}{writer.one(READS)}"
        return f"{writer.new()} = np.positive({name}) {operator} {name}"

    def take_over(self) -> str:
        """Make an array of memory of others."""
        there = self.exported()
        if not there:
            return self.export()
        text = str(self.writer.one(IMPORTS)).format(self.writer.one(there))
        return f"{self.writer.new()} = {text}"

    # -- Functions of others

    def call_numpy(self) -> str:
        """Call one of NumPy's own functions, whose results are mxnp arrays."""
        writer = self.writer
        text = writer.one([writer.with_out, writer.update])()
        # With scalars only, the result of numpy.where is an array of NumPy.
        text = str(text).replace("np.", "numpy.")
        return text.replace("numpy.where(", "np.where(")

    def call_package(self) -> str:
        writer = self.writer
        kind = writer.one("mmrcsloe")
        if kind in "oe":
            name = writer.array(lambda v: v.ndim == 1 and v.flags.writeable)
            if kind == "o":
                return f"foreign.reverse({name})"
            value = writer.value(name)
            if value is None or value.dtype.char not in "fd":
                return f"foreign.reverse({name})"
            return f"foreign.expit({name}, {name})"
        new = writer.new()
        if kind == "m":
            name = writer.array(lambda v: v.ndim == 1 and v.dtype.kind != "c")
            key = f"{name}[foreign.mask({name})]"
            value = writer.value(name)
            if value is not None and value.flags.writeable and writer.chance(0.5):
                return f"{key} = 2"
            return f"{new} = {key}"
        if kind == "r":
            name = writer.array(lambda v: v.dtype.char in "bhiqfd")
            return f"{writer.new('n')} = foreign.ranks({name})"
        if kind == "l":
            name = writer.array(lambda v: v.dtype.char in "bhiqfd?")
            return f"{writer.new('n')} = foreign.labels({name})"
        name = writer.array(lambda v: v.ndim == 2 and v.dtype.char in "bhiqfd")
        function = "columns" if kind == "c" else "sparse"
        return f"{writer.new('n')} = foreign.{function}({name})"

    # -- Threads, signals, processes

    def share_time(self) -> str:
        """Compute and read in a thread, or in a signal handler, during an operation."""
        writer = self.writer
        operation = f"lambda: {writer.expression()}"
        seconds = f"{10 ** -writer.random.uniform(3, 5.5):.0e}"
        kind = writer.one("tsi")
        if kind == "i":
            return f"{writer.new()} = foreign.interrupted({seconds}, {operation})"
        name = writer.array()
        both = f"{writer.new()}, {writer.new('n')}"
        other = f"lambda: {writer.one([self.a_read(name), writer.expression()])}"
        if kind == "t":
            return f"{both} = foreign.beside({operation}, {other})"
        return f"{both} = foreign.alarmed({seconds}, {operation}, {other})"

    def fork(self) -> str:
        writer = self.writer
        return f"{writer.new('n')} = foreign.in_child(lambda: {writer.expression()})"

    def collect(self) -> str:
        return "foreign.collect()"
