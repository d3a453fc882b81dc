"""Fourier transforms of large arrays, whose rows are divided among threads.

NumPy transforms the rows of an array one after the other, on one thread. Here NumPy's
functions run with other ufuncs, which pass pieces of the array to NumPy's ufuncs on
several threads. Each row is transformed by NumPy, so results have NumPy's bits.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import types
from typing import TYPE_CHECKING, Any, Literal

import numpy
import numpy.fft

from mxnp._array.ndarray import ndarray
from mxnp._engine.core import get_num_threads, gpu_has_transforms
from mxnp._engine.devices import GPU, get_device

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_PIECE = 32768  # elements; a thread takes at least as many


@functools.lru_cache(maxsize=1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Return the threads of a process. A forked process needs its own."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads, "mxnp-fft")


class _Divided:
    """A ufunc of NumPy's transforms that divides the rows among threads."""

    def __init__(self, ufunc: Any) -> None:
        self._ufunc = ufunc

    def __call__(self, a: Any, factor: Any, *, axes: Any, out: Any) -> Any:
        ((axis,), _, _) = axes
        across = max(
            (i for i in range(a.ndim) if i != axis),
            key=a.shape.__getitem__,
            default=axis,
        )
        threads = get_num_threads()
        pieces = min(threads, a.shape[across], out.size // _PIECE)
        if across == axis or pieces < 2:
            return self._ufunc(a, factor, axes=axes, out=out)
        conditions: Literal["raise", "ignore"] = "raise"
        if set(numpy.geterr().values()) == {"ignore"}:
            conditions = "ignore"

        def transform(piece: int) -> None:
            n = a.shape[across]
            part = slice(piece * n // pieces, (piece + 1) * n // pieces)
            where = (slice(None),) * across + (part,)
            with numpy.errstate(all=conditions):
                self._ufunc(a[where], factor, axes=axes, out=out[where])

        pool = _pool(os.getpid(), threads)
        for _ in pool.map(transform, range(pieces)):
            pass
        return out


def copy_module(original: types.ModuleType, name: str) -> types.ModuleType:
    """Return a second copy of a module of NumPy, under a name, in the same package."""
    path = original.__file__
    assert path is not None
    spec = importlib.util.spec_from_file_location(
        f"{original.__package__}.{name}", path
    )
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


@functools.cache
def _numpys_functions() -> types.ModuleType:
    """Return a second copy of NumPy's functions, with the ufuncs of this file."""
    copy = copy_module(numpy.fft._pocketfft, "_divided")
    ufuncs = {
        name: _Divided(value)
        for name, value in vars(copy.pfu).items()
        if isinstance(value, numpy.ufunc)
    }
    vars(copy)["pfu"] = types.SimpleNamespace(**ufuncs)
    return copy


def is_large(args: Any, kwargs: Any) -> bool:
    """Return whether a call has rows to divide among several threads.

    A call with `out` could not be repeated if the output is the input. The GPU has its
    own transforms, if there is a library for them.
    """
    return (
        0 < len(args) < 5
        and "out" not in kwargs
        and type(args[0]) is ndarray
        and args[0].ndim > 1
        and args[0].size >= 2 * _PIECE
        and get_num_threads() > 1
        and not (get_device() == GPU and gpu_has_transforms())
    )


def divided(original: Any) -> Any:
    """Return a transform that divides rows among threads. It takes NumPy arrays."""

    @functools.wraps(original)
    def transform(*args: Any, **kwargs: Any) -> Any:
        try:
            return getattr(_numpys_functions(), original.__name__)(*args, **kwargs)
        except Exception:  # NumPy raises it again, or warns
            return original(*args, **kwargs)

    return transform
