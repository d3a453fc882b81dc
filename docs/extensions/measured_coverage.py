"""
Measure which of NumPy's functions are recorded, and which run in kernels of the GPU.

This module calls every ufunc with every dtype of its row. It calls every function and
method that has a recorded form with a sample below. The results on the processor are
measured when the pages are built. The results on GPUs are read from ``on_metal.json``
and ``on_cuda.json``, because the pages are built without a GPU. A test compares the
file of a GPU with the results there. This command writes that file again:

    MXNP_DEVICE=metal MXNP_THRESHOLD=0 python docs/extensions/measured_coverage.py
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes  # noqa: F401 - the import registers the name bfloat16
import numpy

import mxnp as np
from mxnp import _bridge
from mxnp._engine import core
from mxnp._engine.devices import GPU
from mxnp._namespace import functions

GPUS = core.devices()
DTYPES = [row.name for row in core.dtypes()]
ROWS = [op.name for op in core.ops()]

# -- Samples ---------------------------------------------------------------------------

# NumPy multiplies smaller matrices, even if a GPU is the device.
SHAPES = {"1": (70_000,), "2": (160, 160), "3": (20, 30, 40)}


def _owned(values: Any) -> Any:
    """Copy numbers to memory that a device can write."""
    out = np.empty(values.shape, values.dtype)
    out[...] = values
    return out


def _numbers(letter: str, shape: tuple[int, ...]) -> Any:
    """Return the operand that a letter stands for; its floats are float32."""
    places = numpy.arange(math.prod(shape)).reshape(shape)
    match letter:
        case "b":
            return places % 3 == 0
        case "i" | "j" | "q" | "u":
            return (places * 7 % 5).astype({"j": "i4", "u": "u1"}.get(letter, "i8"))
        case "c":
            return (places % 40 + 1j).astype("c8")
    return (places * 7 % 4001 / 1000 - (letter != "p") * 2).astype("f4")


class Samples(dict[str, Any]):
    """Operands of the calls in the table of functions, by their names there."""

    def __init__(self) -> None:
        super().__init__(np=np, S=2000, T=(40, 50))

    def __missing__(self, name: str) -> Any:
        """Create the operand that a name stands for."""
        if name[1:] not in SHAPES:
            raise KeyError(name)
        value = self[name] = _owned(_numbers(name[0], SHAPES[name[1:]]))
        return value


# The table has only calls whose results are defined.
UNDEFINED = {"empty": "np.empty(T, 'f4')", "empty_like": "np.empty_like(f2)"}
SYNTAX = {
    "a[i]": "f2[q1]",
    "a[i] = v": "f2.__setitem__(q1[:40], f1[0])",
    "a[mask] = v": "f2.__setitem__(b2, 1.0)",
    "a[1:3] = v": "f2.__setitem__(slice(1, 30), 1.0)",
    "a.at[i].set(v)": "f2.at[q1].set(1.0)",
    "a.at[i].add(v)": "f2.at[q1].add(1.0)",
    "a @ b": "f2 @ f2",
}
# Methods of ufuncs with two operands. NumPy runs the methods of all other ufuncs.
UFUNC_METHODS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reduce": lambda op, x, i: op.reduce(x, axis=0),
    "accumulate": lambda op, x, i: op.accumulate(x, axis=0),
    "at": lambda op, x, i: op.at(x, i, x[0]),
    "outer": lambda op, x, i: op.outer(x[0], x[1]),
}

# -- Calls -----------------------------------------------------------------------------


class Outcome(NamedTuple):
    """
    The way in which a call was computed.

    Attributes
    ----------
    operations : tuple of str
        The operations that the call recorded. If the call waits several times, the
        operations before the last wait are missing.
    waits : bool
        Whether the call waited for some of them before it returned.
    is_at_once : bool
        Whether code of mxnp computed a part of the result before the call returned.
    on_gpu : bool
        Whether all of the call was recorded and ran in kernels.
    call : str
        The call, if it is of the table of functions.
    """

    operations: tuple[str, ...]
    waits: bool
    is_at_once: bool
    on_gpu: bool
    call: str = ""

    @property
    def is_recorded(self) -> bool:
        """Whether mxnp computed anything."""
        return bool(self.operations) or self.is_at_once


@contextmanager
def everything_recorded() -> Iterator[None]:
    """Record all operations that can be recorded, whatever their size, on two threads.

    One thread would leave sorts to NumPy.
    """
    before, threads = _bridge.set_threshold(0), np.set_num_threads(2)
    try:
        with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
            yield
    finally:
        np.synchronize()
        _bridge.set_threshold(before)
        np.set_num_threads(threads)


_MARK = (1, 2, 3)


def outcome(call: Callable[[], Any], function: Any = None) -> Outcome:
    """Return how a call of a function with a recorded form is computed."""
    mark = np.empty(_MARK, bool)
    np.logical_not(mark, out=mark)
    np.synchronize()
    before = core.gpu_counts()
    with (
        _watched(function, "implementation") as taken,
        _watched(_bridge, "positions") as found,
    ):
        kept = call()  # Operations whose result is dropped would not run.
    groups = [group for group in core.last_flush() if group.shape != _MARK]
    waits = bool(groups)
    if _bridge.pending():
        np.synchronize()
        groups += core.last_flush()
    del kept
    after = core.gpu_counts()
    ran, declined = (after[n] - before[n] for n in ("dispatches", "declined"))
    at_once = any(found) or (any(taken) and not groups and ran == 0)
    return Outcome(
        tuple(name for group in groups for name in group.operations),
        waits,
        at_once,
        ran > 0 and declined == 0 and not at_once,
    )


@contextmanager
def _watched(owner: Any, name: str) -> Iterator[list[bool]]:
    """Record for each call whether it returns a result or NotImplemented."""
    taken: list[bool] = []
    original = getattr(owner, name, None)
    if not original:
        yield taken
        return

    def watched(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        taken.append(result is not NotImplemented)
        return result

    setattr(owner, name, watched)
    try:
        yield taken
    finally:
        setattr(owner, name, original)


def recorded(owner: str = "") -> list[str]:
    """Return the functions, or methods of a class, that have a recorded form."""
    found = (
        name.removeprefix(owner)
        for name, row in functions.ROWS.items()
        if any(not form.module.startswith("card/") for form in row.forms)
        and name.startswith(owner)
    )
    return [name for name in found if "." not in name]


def _operands(name: str, dtype: str) -> list[Any]:
    op = core.ops()[ROWS.index(name)]
    ones = _owned(numpy.ones((40, 50), dtype))
    second = np.ones((40, 50), np.int32) if op.types == "scaled" else ones
    return [ones, second][: op.nin]


def call_ufunc(name: str, dtype: str) -> Outcome:
    """Return how a ufunc of arrays of a dtype is computed."""
    inputs = _operands(name, dtype)
    np.synchronize()
    return outcome(lambda: getattr(np, name)(*inputs))


def has_loop(name: str, dtype: str) -> bool:
    """Return whether NumPy has a loop of a ufunc whose first operand has a dtype."""
    char = numpy.dtype(dtype).char
    return any(each[0] == char for each in getattr(numpy, name).types)


def call_ufunc_method(name: str, method: str, dtype: str = "float32") -> Outcome | None:
    """Return how a method of a ufunc is computed, or None if NumPy rejects the call."""
    op = getattr(np, name)
    if op.nin != 2 or op.nout != 1:
        return None
    x, i = _owned(numpy.ones((40, 50), dtype)), _owned(numpy.arange(40) // 2)
    np.synchronize()
    try:
        return outcome(lambda: UFUNC_METHODS[method](op, x, i), vars(np.ufunc)[method])
    except (TypeError, ValueError):
        return None


def prepare(call: str) -> Callable[[], Any]:
    """Return a call of the table of functions as a function; its operands are there."""
    code, samples = compile(call, "<sample>", "eval"), Samples()
    for name in code.co_names:
        with suppress(KeyError):
            samples[name]
    np.synchronize()
    return lambda: eval(code, {}, samples)


def call_sample(call: str, function: Any = None) -> Outcome:
    """Return how a call of the table of functions is computed."""
    return outcome(prepare(call), function)._replace(call=call)


def call_row(name: str, function: Any) -> Outcome:
    """Return how the first call of a row is computed that is recorded."""
    calls = [UNDEFINED[name]] if name in UNDEFINED else functions.calls_of(name)
    outcomes = [call_sample(call, function) for call in calls]
    return max(outcomes, key=lambda each: (each.on_gpu, each.is_recorded))


def method_dtype(name: str) -> str:
    """Return the dtype with which the methods of a ufunc are called."""
    types = ("float32", "int32", "bool", "float64")
    return next(dtype for dtype in types if has_loop(name, dtype))


class Coverage(NamedTuple):
    """The outcomes of all calls, by name."""

    ufuncs: dict[str, dict[str, Outcome]]  # by name and dtype
    ufunc_methods: dict[str, dict[str, Outcome | None]]
    functions: dict[str, Outcome]
    methods: dict[str, Outcome]
    syntax: dict[str, Outcome]


def measure() -> Coverage:
    """Make all calls and return their outcomes."""
    with everything_recorded():
        return Coverage(
            {
                name: {d: call_ufunc(name, d) for d in DTYPES if has_loop(name, d)}
                for name in ROWS
            },
            {
                name: {
                    method: call_ufunc_method(name, method, method_dtype(name))
                    for method in UFUNC_METHODS
                }
                for name in ROWS
            },
            {name: call_row(name, getattr(np, name)) for name in recorded()},
            {
                name: call_row(f"ndarray.{name}", vars(np.ndarray)[name])
                for name in recorded("ndarray.")
            },
            {name: call_sample(sample) for name, sample in SYNTAX.items()},
        )


def on_gpu(found: Coverage) -> dict[str, Any]:
    """Return what ran in kernels, in the form of the file."""
    return {
        "ufuncs": {
            name: [dtype for dtype, each in by_dtype.items() if each.on_gpu]
            for name, by_dtype in found.ufuncs.items()
        },
        "ufunc methods": {
            name: [m for m, each in methods.items() if each and each.on_gpu]
            for name, methods in found.ufunc_methods.items()
        },
        **{
            part: [name for name, each in getattr(found, part).items() if each.on_gpu]
            for part in ("functions", "methods", "syntax")
        },
    }


def _file(gpu: str) -> Path:
    return Path(__file__).with_name(f"on_{gpu}.json")


@cache
def kept_of_gpu(gpu: str) -> dict[str, Any]:
    """Return the content of a GPU's file: what ran in kernels when it was written."""
    read: dict[str, Any] = json.loads(_file(gpu).read_text(encoding="utf-8"))
    return read


def _in_lines(content: Any) -> str:
    """Return a part of the file as text, with a line for each ufunc."""
    if isinstance(content, list):
        return json.dumps(content)
    lines = (f'  "{name}": {json.dumps(each)}' for name, each in content.items())
    return "{\n" + ",\n".join(lines) + "}"


# -- Names that NumPy computes ---------------------------------------------------------

MODULES = ("", "linalg", "fft", "random", "strings", "char", "emath", "polynomial")


def numpys_names(module: str) -> list[str]:
    """Return the names of the functions of a module that NumPy computes immediately."""
    ours, theirs = (getattr(n, module) if module else n for n in (np, numpy))
    known = set() if module else {*recorded(), *ROWS}
    names = getattr(theirs, "__all__", None) or dir(theirs)
    return sorted(
        name
        for name in names
        if isinstance(each := getattr(ours, name), _bridge.Function)
        and each.__name__ not in known
        and not each.layer
        and not (module == "random" and each.implementation)
    )


def draw_names() -> dict[str, list[str]]:
    """Return the methods of NumPy's generators whose draws threads compute."""
    names: dict[str, list[str]] = {"Generator": [], "RandomState": []}
    for name, row in functions.ROWS.items():
        if any(form.module.startswith("draws/") for form in row.forms):
            _, owner, method = name.split(".")
            names[owner].append(method)
    return names


def layer_names() -> list[str]:
    """Return the names of the functions that run as NumPy's code over mxnp arrays."""
    return [name for name, row in functions.ROWS.items() if row.layer]


if __name__ == "__main__":
    if GPU not in np.devices():
        raise SystemExit(f"there is no {core.gpu().title} device")
    with np.device(GPU):
        ran = on_gpu(measure())
    parts = (f'"{part}": {_in_lines(content)}' for part, content in ran.items())
    _file(GPU).write_text("{" + ",\n".join(parts) + "}\n")
