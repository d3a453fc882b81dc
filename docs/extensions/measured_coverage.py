"""
Measure which of NumPy's functions are recorded, and which run in kernels of the GPU.

This module calls every ufunc with every dtype of its row. It calls every function and
method that has a recorded form with a sample below. The results on the processor are
measured when the pages are built. The results on a GPU are read from
``on_metal.json``, because the pages are built without a GPU. A test compares the file
with the results on a GPU. This command writes the file again:

    MXNP_DEVICE=metal MXNP_THRESHOLD=0 python docs/extensions/measured_coverage.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes  # noqa: F401 - the import registers the name bfloat16
import numpy

import mxnp as np
from mxnp import _bridge
from mxnp._engine import core
from mxnp._engine.devices import GPU
from mxnp._namespace import functions, recorded_forms

ON_GPU = Path(__file__).with_name(f"on_{GPU}.json")
DTYPES = [row.name for row in core.dtypes()]
ROWS = [op.name for op in core.ops()]

# -- Samples ---------------------------------------------------------------------------


def _owned(values: Any) -> Any:
    """Copy numbers to memory that a device can write."""
    out = np.empty(values.shape, values.dtype)
    out[...] = values
    return out


class Samples:
    """Operands of the calls. They are float32, which every GPU supports."""

    def __init__(self) -> None:
        self.x = _owned(numpy.linspace(-2, 2, 2000, dtype="f4").reshape(40, 50))
        self.flat = _owned(numpy.linspace(-2, 2, 2000, dtype="f4"))
        self.mask = _owned(numpy.arange(2000).reshape(40, 50) % 3 == 0)
        self.line = _owned(numpy.arange(2000) % 3 == 0)
        self.other = _owned(numpy.linspace(3, 4, 2000, dtype="f4").reshape(40, 50))
        self.long = _owned(numpy.arange(70_000) * 7 % 70_000)
        self.i = _owned(numpy.arange(2000) * 7 % 40)
        self.choice = _owned(numpy.arange(2000).reshape(40, 50) % 2)
        self.order = _owned(numpy.arange(2000).reshape(40, 50) % 40)
        # NumPy multiplies smaller matrices, even if a GPU is the device.
        self.matrix = _owned(numpy.linspace(-1, 1, 25600, dtype="f4").reshape(160, 160))


_Call = Callable[[Samples], Any]

# One call for each function that has a recorded form. A test fails if one is missing.
FUNCTIONS: dict[str, _Call] = {
    **{
        name: lambda s, name=name: getattr(np, name)(s.x, axis=0)
        for name in (
            *("sum", "prod", "max", "min", "amax", "amin", "mean", "var", "std"),
            *("argmax", "argmin", "cumsum", "cumprod", "count_nonzero"),
            *("nansum", "nanprod", "nanmean", "nanvar", "nanstd"),
        )
    },
    **{
        name: lambda s, name=name: getattr(np, name)(s.mask, axis=0)
        for name in ("all", "any")
    },
    **{
        name: lambda s, name=name: getattr(np, name)((40, 50), np.float32)
        for name in ("zeros", "ones", "empty")
    },
    **{
        name: lambda s, name=name: getattr(np, name)(s.x)
        for name in (
            "zeros_like",
            "ones_like",
            "empty_like",
            "array",
            "around",
            "copy",
            "round",
            "sort",
        )
    },
    **{
        name: lambda s, name=name: getattr(np, name)((s.x, s.x))
        for name in ("concatenate", "stack", "vstack", "hstack")
    },
    "full": lambda s: np.full((40, 50), 2.0, np.float32),
    "full_like": lambda s: np.full_like(s.x, 2.0),
    "arange": lambda s: np.arange(0, 2000, 1, np.float32),
    "argpartition": lambda s: np.argpartition(s.long, 5),
    "argsort": lambda s: np.argsort(s.x, stable=True),
    "asanyarray": lambda s: np.asanyarray(s.x, np.int32),
    "asarray": lambda s: np.asarray(s.x, np.int32),
    "ascontiguousarray": lambda s: np.ascontiguousarray(s.x.T),
    "bincount": lambda s: np.bincount(s.i),
    "choose": lambda s: np.choose(s.choice, [s.x, s.other]),
    "clip": lambda s: np.clip(s.x, -1, 1),
    "compress": lambda s: np.compress(s.line, s.flat),
    "copyto": lambda s: np.copyto(s.x, s.other, where=s.mask),
    "dot": lambda s: np.dot(s.matrix, s.matrix),
    "extract": lambda s: np.extract(s.mask, s.x),
    "fill_diagonal": lambda s: np.fill_diagonal(s.x, 1),
    "histogram": lambda s: np.histogram(s.flat.astype(float), 10, (-1.0, 1.0)),
    "indices": lambda s: np.indices((40, 50)),
    "lexsort": lambda s: np.lexsort((s.x, s.other)),
    "linspace": lambda s: np.linspace(0, 1, 2000, dtype=np.float32),
    "logspace": lambda s: np.logspace(0, 1, 2000),
    "matmul": lambda s: np.matmul(s.matrix, s.matrix),
    "meshgrid": lambda s: np.meshgrid(s.flat, s.x[0]),
    "nonzero": lambda s: np.nonzero(s.mask),
    "outer": lambda s: np.outer(s.flat, s.x[0]),
    "partition": lambda s: np.partition(s.long, 5),
    "pad": lambda s: np.pad(s.x, 2),
    "place": lambda s: np.place(s.x, s.mask, s.flat),
    "put": lambda s: np.put(s.flat, s.i, s.flat),
    "put_along_axis": lambda s: np.put_along_axis(s.x, s.order, s.x, 0),
    "putmask": lambda s: np.putmask(s.x, s.mask, s.other),
    "repeat": lambda s: np.repeat(s.x, 2, axis=0),
    "roll": lambda s: np.roll(s.x, 3, axis=0),
    "searchsorted": lambda s: np.searchsorted(s.flat, s.x),
    "select": lambda s: np.select([s.mask, s.choice > 0], [s.x, s.other]),
    "take": lambda s: np.take(s.x, s.i, axis=0),
    "take_along_axis": lambda s: np.take_along_axis(s.x, s.order, 0),
    "unique": lambda s: np.unique(s.i),
    "where": lambda s: np.where(s.mask, s.x, 0),
}
METHODS: dict[str, _Call] = {
    **{
        name: lambda s, name=name: getattr(s.x, name)(axis=0)
        for name in (
            *("sum", "prod", "max", "min", "mean", "var", "std"),
            *("argmax", "argmin", "cumsum", "cumprod"),
        )
    },
    **{
        name: lambda s, name=name: getattr(s.mask, name)(axis=0)
        for name in ("all", "any")
    },
    "argpartition": lambda s: s.long.argpartition(5),
    "argsort": lambda s: s.x.argsort(stable=True),
    "astype": lambda s: s.x.astype(np.float16),
    "choose": lambda s: s.choice.choose([s.x, s.other]),
    "clip": lambda s: s.x.clip(-1, 1),
    "compress": lambda s: s.flat.compress(s.line),
    "copy": lambda s: s.x.copy(),
    "dot": lambda s: s.matrix.dot(s.matrix),
    "fill": lambda s: s.x.fill(1),
    "nonzero": lambda s: s.mask.nonzero(),
    "partition": lambda s: s.long.partition(5),
    "put": lambda s: s.flat.put(s.i, s.flat),
    "repeat": lambda s: s.x.repeat(2, axis=0),
    "round": lambda s: s.x.round(),
    "searchsorted": lambda s: s.flat.searchsorted(s.x),
    "sort": lambda s: s.x.sort(),
    "take": lambda s: s.x.take(s.i, axis=0),
}
SYNTAX: dict[str, _Call] = {
    "a[i]": lambda s: s.x[s.i],
    "a[i] = v": lambda s: s.x.__setitem__(s.i[:40], s.matrix[0, 0]),
    "a[mask] = v": lambda s: s.x.__setitem__(s.mask, 1.0),
    "a[1:3] = v": lambda s: s.x.__setitem__(slice(1, 30), 1.0),
    "a.at[i].set(v)": lambda s: s.x.at[s.i].set(1.0),
    "a.at[i].add(v)": lambda s: s.x.at[s.i].add(1.0),
    "a @ b": lambda s: s.matrix @ s.matrix,
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
    """

    operations: tuple[str, ...]
    waits: bool
    is_at_once: bool
    on_gpu: bool


@contextmanager
def everything_recorded() -> Iterator[None]:
    """Record all operations that can be recorded, whatever their size."""
    before = _bridge.set_threshold(0)
    try:
        with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
            yield
    finally:
        np.synchronize()
        _bridge.set_threshold(before)


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


def recorded(owner: Any = numpy) -> set[str]:
    """Return the names in a module or class of NumPy that have a recorded form."""
    names = (each.__name__ for each in recorded_forms.forms)
    return {name for name in names if vars(owner).get(name) in recorded_forms.forms}


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


def call_sample(sample: _Call, function: Any = None) -> Outcome:
    """Return how a call of the tables above is computed."""
    s = Samples()
    np.synchronize()
    return outcome(lambda: sample(s), function)


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
            {
                name: call_sample(sample, getattr(np, name))
                for name, sample in FUNCTIONS.items()
            },
            {
                name: call_sample(sample, vars(np.ndarray)[name])
                for name, sample in METHODS.items()
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


@cache
def kept_of_gpu() -> dict[str, Any]:
    """Return the content of the file: what ran in kernels when it was written."""
    read: dict[str, Any] = json.loads(ON_GPU.read_text())
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
    known = set() if module else {*FUNCTIONS, *ROWS}
    names = getattr(theirs, "__all__", None) or dir(theirs)
    return sorted(
        name
        for name in names
        if isinstance(each := getattr(ours, name), _bridge.Function)
        and each.__name__ not in known
        and not each.layer
    )


def layer_names() -> list[str]:
    """Return the names of the functions that run as NumPy's code over mxnp arrays."""
    return [name.removeprefix("numpy.") for name in functions.ROWS]


if __name__ == "__main__":
    if GPU not in np.devices():
        raise SystemExit(f"there is no {core.gpu().title} device")
    with np.device(GPU):
        ran = on_gpu(measure())
    parts = (f'"{part}": {_in_lines(content)}' for part, content in ran.items())
    ON_GPU.write_text("{" + ",\n".join(parts) + "}\n")
