"""
Run kernels of each kind on the GPU, and compare their results with NumPy's.

A tool that watches a GPU's memory can run it::

    MXNP_DEVICE=cuda compute-sanitizer --tool memcheck python tests/support/every_kernel.py

The sizes are just above those of blocks, and each kernel runs once or twice, because such
tools are slow. ``tests/cuda/test_every_kernel.py`` runs the same cases on the stand-in.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

import mxnp

N = 70_001  # elements of a line: it divides into nothing
ROWS, COLUMNS = 301, 257  # of a matrix

REAL = ("float64", "int32")
UPDATED = ("float64", "float32", "int32", "uint8")

Case = Callable[[Any], Any]


def _line(np: Any, dtype: str, seed: int = 0) -> Any:
    numbers = numpy.random.default_rng(seed).integers(-40, 90, N)
    return np.array(numpy.abs(numbers) if dtype[0] == "u" else numbers, dtype)


def _matrix(np: Any, dtype: str, seed: int = 0) -> Any:
    numbers = numpy.random.default_rng(seed).integers(0, 90, (ROWS, COLUMNS))
    return np.array(numbers, dtype)


def _indices(np: Any, below: int) -> Any:
    return np.array(numpy.random.default_rng(9).integers(-below, below, N))


def _changed(np: Any, change: Callable[[Any], Any], like: Any) -> Any:
    target = np.array(like)
    change(target)
    return target


def _updates(dtype: str, operation: str, slots: int) -> Case:
    def update(np: Any) -> Any:
        values = _line(np, dtype)
        if operation == "multiply":
            values = np.where(values > 0, 1, -1).astype(dtype)
        target = np.ones(slots, dtype)
        getattr(np, operation).at(target, _indices(np, slots), values)
        return target

    return update


def _assignment(rows: int, width: int) -> Case:
    def assign(np: Any) -> Any:
        i = _indices(np, rows)
        target = np.zeros((rows, width), "float32")
        target[i] = np.arange(N * width, dtype="float32").reshape(N, width)
        return target

    return assign


def cases() -> dict[str, Case]:
    """Return calls of all kinds, which take NumPy's or mxnp's module, by name."""
    found: dict[str, Case] = {}
    for dtype in REAL:

        def add(name: str, call: Callable[..., Any], dtype: str = dtype) -> None:
            found[f"{name}, {dtype}"] = lambda np: call(np, dtype)

        add("chain", lambda np, d: (_line(np, d) * 3 + _line(np, d, 1)) % 7)
        add("cast", lambda np, d: _line(np, d).astype("float32").astype("int16"))
        add("strided", lambda np, d: _line(np, d)[::-3] + _line(np, d)[::3])
        add("transposed", lambda np, d: _matrix(np, d).T + 1)
        for axis in (None, 0, 1):
            name = f"axis {axis}"
            add(f"sum, {name}", lambda np, d, a=axis: _matrix(np, d).sum(a))
            add(f"max, {name}", lambda np, d, a=axis: _matrix(np, d).max(a))
            add(f"argmin, {name}", lambda np, d, a=axis: _matrix(np, d).argmin(a))
            add(f"any, {name}", lambda np, d, a=axis: (_matrix(np, d) > 88).any(a))
            add(f"cumsum, {name}", lambda np, d, a=axis: _matrix(np, d).cumsum(a))
        add("sort", lambda np, d: np.sort(_line(np, d)))
        add("argsort", lambda np, d: np.argsort(_line(np, d), kind="stable"))
        add("sort of rows", lambda np, d: np.sort(_matrix(np, d), axis=1))
        add("mask", lambda np, d: _line(np, d)[_line(np, d) > 11])
        add("nonzero", lambda np, d: np.nonzero(_line(np, d))[0])
        add("take", lambda np, d: _line(np, d)[_indices(np, N)])
        add("rows", lambda np, d: _matrix(np, d)[_indices(np, ROWS) % 50])
        add("where", lambda np, d: np.where(_line(np, d) > 3, _line(np, d), 5))
        add(
            "search",
            lambda np, d: np.searchsorted(np.sort(_line(np, d, 1)), _line(np, d)),
        )
        add("concatenate", lambda np, d: np.concatenate([_line(np, d)] * 3))
    for dtype in UPDATED:
        for operation, slots in (
            *(("add", 1), ("add", 100), ("add", 30_000)),
            *(("multiply", 100), ("maximum", 100)),
        ):
            name = f"{operation}.at {slots}, {dtype}"
            found[name] = _updates(dtype, operation, slots)
    for dtype in UPDATED[:2]:
        found |= {
            f"functions, {dtype}": lambda np, d=dtype: (
                np.exp(-_line(np, d) / 50) * np.sin(_line(np, d)) + np.sqrt(25.0)
            ),
            f"var, {dtype}": lambda np, d=dtype: _matrix(np, d).var(axis=0),
            f"mean, {dtype}": lambda np, d=dtype: _matrix(np, d).mean(axis=1),
            f"product, {dtype}": lambda np, d=dtype: (
                _matrix(np, d) @ _matrix(np, d, 1).T
            ),
            f"transform, {dtype}": lambda np, d=dtype: np.fft.rfft(_line(np, d)),
            f"updates with NaN, {dtype}": lambda np, d=dtype: _changed(
                np,
                lambda x: np.multiply.at(
                    x, _indices(np, 5), _line(np, d) / _line(np, d)
                ),
                np.ones(5, d),
            ),
        }
    found["bincount"] = lambda np: np.bincount(_indices(np, 300) % 300)
    found["weights"] = lambda np: np.bincount(
        _indices(np, 300) % 300, weights=np.ones(N)
    )
    found["assignment of rows"] = _assignment(1000, 16)
    found["assignment of elements"] = _assignment(5000, 1)
    found["random numbers"] = lambda np: np.random.default_rng(1).random(N)
    found["complex"] = lambda np: (
        (_line(np, "float64") + 1j * _line(np, "float64", 1)) * (2 - 1j)
    )
    return found


def same(got: Any, expected: Any) -> bool:
    """Return whether a result is NumPy's, up to its last bits."""
    got, expected = numpy.asarray(got), numpy.asarray(expected)
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return False
    if expected.dtype.kind not in "fc":
        return bool((got == expected).all())
    sizes = abs(expected.astype("complex128"))
    size = float(sizes[numpy.isfinite(sizes)].max(initial=0.0))
    error = 256 * float(numpy.finfo(expected.dtype).eps) * size
    return numpy.allclose(got, expected, rtol=1e-4, atol=error, equal_nan=True)


def main() -> None:
    """Run all cases, and exit with a message if one differs."""
    with numpy.errstate(all="ignore"), mxnp.errstate(all="ignore"):
        wrong = []
        begin = time.perf_counter()
        for name, call in cases().items():
            if not any(word in name for word in sys.argv[1:] or [""]):
                continue
            if not same(call(mxnp), call(numpy)):
                wrong.append(name)
        taken = time.perf_counter() - begin
        print(f"{len(cases())} cases in {taken:.0f} s, {len(wrong)} differ: {wrong}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
