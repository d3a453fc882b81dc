"""NumPy's private ufuncs over matrices and rows, whose batches threads divide.

NumPy factors the matrices of a stack, and transforms the rows of an array, one after
the other on one thread. Here NumPy's ufunc gets pieces of the stack on several threads.
Each matrix is factored by NumPy, so results have NumPy's bits.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._engine.core import get_num_threads
from mxnp._engine.features import FEATURES
from mxnp._engine.threads import cut, longest, run_pieces, strict_errstate

# Of which NumPy computes a result in the same order for a part of the operands.
DTYPES = {numpy.dtype(name) for name in ("f4", "f8", "c8", "c16", "i4", "i8")}
_PIECE = 65536  # elements; a thread takes at least as many
_SHORT = 4  # of v: a pass over memory, which takes one thread as long
_PRODUCTS = 2**21  # of a correlation, of which a thread computes at least as many

# The most threads for a stack, by the ufunc: for matrices of few rows, whose solution
# takes about as long as OpenBLAS's lock of each, for others, and for large ones, which
# OpenBLAS divides among its own threads. docs/design/17 has the measurement.
_MOST_THREADS = {
    "eigvalsh": (2, 2, 4),
    "eigh": (4, 4, 1),
    "svd": (16, 16, 1),
    "eig": (16, 16, 4),
    "eigvals": (16, 16, 4),
    "qr": (8, 8, 4),
    "inv": (1, 2, 1),
    "solve": (1, 2, 1),
    "solve1": (1, 2, 1),
}
_LEAST_SOLVED, _LEAST_LARGE = 16, 64  # rows of a matrix


def empty(shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> Any:
    """Return an mxnp array over memory that is not written, or raise an exception."""
    out = _bridge.empty(shape, dtype.num, False)
    if out is NotImplemented:
        raise TypeError("NumPy allocates")  # and is called then
    return out


def _count_core_axes(signature: str) -> tuple[list[int], list[int]]:
    """Return the number of core axes of each input and output of a ufunc."""

    def read(part: str) -> list[int]:
        groups = part[1:-1].split("),(")
        return [len(group.split(",")) if group else 0 for group in groups]

    inputs, outputs = signature.split("->")
    return read(inputs), read(outputs)


class Divided:
    """
    A ufunc over matrices or rows that takes NumPy arrays.

    Parameters
    ----------
    ufunc : numpy.ufunc
        A ufunc with a signature, such as those of ``numpy.linalg._umath_linalg``.
    """

    def __init__(self, ufunc: numpy.ufunc) -> None:
        self._ufunc = ufunc
        self.__name__ = ufunc.__name__  # for reports
        kind = ufunc.__name__.partition("_")[0]
        self._most_threads = _MOST_THREADS.get(kind, (sys.maxsize,) * 3)
        assert ufunc.signature is not None
        self._inputs, self._outputs = _count_core_axes(ufunc.signature)

    def __call__(self, *operands: Any, **kwargs: Any) -> Any:
        if kwargs.get("axes") is not None:
            return self._transform(*operands, **kwargs)
        return self._factor(operands, kwargs)

    def _count_pieces(self, length: int, elements: int) -> int:
        return min(get_num_threads(), length, elements // _PIECE)

    # -- Stacks of matrices --------------------------------------------------------

    def _factor(self, operands: Sequence[Any], kwargs: Any) -> Any:
        """Call the ufunc for pieces along the first axis of a stack of matrices."""
        stacks = [
            numpy.shape(x)[: numpy.ndim(x) - n]
            for x, n in zip(operands, self._inputs, strict=True)
        ]
        batch = numpy.broadcast_shapes(*stacks)
        size = max(map(numpy.size, operands))
        # The work for a matrix grows faster than its size.
        side = max((numpy.shape(operands[0]) or (1,))[-1], 1)
        pieces = self._count_pieces(batch[0], size * side) if batch else 1
        size = (side >= _LEAST_SOLVED) + (side >= _LEAST_LARGE)
        pieces = min(pieces, self._most_threads[size])
        if pieces < 2:
            return NotImplemented

        def factor(part: slice) -> Any:
            parts = (
                x[part] if len(stack) == len(batch) and stack[0] > 1 else x
                for x, stack in zip(operands, stacks, strict=True)
            )
            with strict_errstate():
                return self._ufunc(*parts, **kwargs)

        results = run_pieces(factor, batch[0], pieces)
        if len(self._outputs) == 1:
            return numpy.concatenate(results)
        return tuple(map(numpy.concatenate, zip(*results, strict=True)))

    # -- Rows ------------------------------------------------------------------------

    def _transform(self, a: Any, factor: Any, *, axes: Any, out: Any) -> Any:
        """Call the ufunc for pieces of an array along one of its other axes."""
        ((axis,), _, _) = axes
        across = longest(a.shape, axis % a.ndim)
        pieces = self._count_pieces(a.shape[across], out.size) if across >= 0 else 1
        if pieces < 2:
            return NotImplemented

        def transform(part: slice) -> None:
            into = cut(out, across, part)
            with strict_errstate():
                self._ufunc(cut(a, across, part), factor, axes=axes, out=into)

        run_pieces(transform, a.shape[across], pieces)
        return out


# -- Elements --------------------------------------------------------------------------


def divided_elements(compiled: Callable[..., Any], nin: int) -> Callable[..., Any]:
    """
    Make a function that calls one of NumPy's for pieces of its first arguments.

    Parameters
    ----------
    compiled : callable
        A function whose results depend on one element of each of these arguments.
    nin : int
        The number of these arguments, which are arrays or tuples of arrays.
    """
    is_ufunc = isinstance(compiled, numpy.ufunc)

    def compute(*args: Any) -> Any:
        if is_ufunc and len(args) != nin:
            return NotImplemented  # NumPy writes `out`
        arrays = [
            x for each in args[:nin] for x in (each if type(each) is tuple else (each,))
        ]
        shape = numpy.shape(arrays[0])
        pieces = min(get_num_threads(), math.prod(shape) // _PIECE)
        is_usual = all(
            type(x) is numpy.ndarray and x.shape == shape and x.flags.c_contiguous
            for x in arrays
        )
        if pieces < 2 or not is_usual:
            return NotImplemented

        def part_of(x: Any, part: slice) -> Any:
            if type(x) is tuple:
                return tuple(part_of(each, part) for each in x)
            return x.reshape(-1)[part]

        def compute_part(part: slice) -> Any:
            with strict_errstate():
                return compiled(*(part_of(x, part) for x in args[:nin]), *args[nin:])

        results = run_pieces(compute_part, math.prod(shape), pieces)
        result = numpy.empty(shape, results[0].dtype)
        numpy.concatenate(results, out=result.reshape(-1))
        return result

    return compute


# -- Products of stacks of matrices ----------------------------------------------------

# Numbers that are multiplied for one product of two matrices.
_MOST_PRODUCTS = 2**17  # BLAS divides larger products among threads
_MOST_SMALL = 2**6
_LEAST_REAL = 2**16
_LEAST_COMPLEX, _MOST_COMPLEX = 2**13, 2**16


def _most_threads(dtype: numpy.dtype[Any], products: int) -> int:
    """
    Return how many threads multiply the matrices of a stack faster than fewer do.

    OpenBLAS takes a lock for each product of two matrices, so threads wait for each
    other where the matrices are small. It takes none for the smallest real matrices on
    processors with AVX-512, and divides large complex ones itself. NumPy's own loop for
    integers takes none. docs/design/17 has the measurement. The core's kernels compute
    the products of most real matrices of up to eight rows and columns.
    """
    if dtype.kind == "c":
        return sys.maxsize if _LEAST_COMPLEX <= products <= _MOST_COMPLEX else 1
    if dtype.kind == "i" or products >= _LEAST_REAL:
        return sys.maxsize
    is_small = products <= _MOST_SMALL and FEATURES.get("AVX512_SKX", False)
    return sys.maxsize if is_small else 1


def divided_product(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that calls NumPy's `matmul` for pieces of a stack of matrices."""

    def matmul(a: Any, b: Any, /) -> Any:
        out = _bridge.multiply_stacks(a, b)
        if out is not NotImplemented:
            return out
        pieces = 1
        if _are_stacks(a, b):
            products = math.prod(a.shape[1:]) * b.shape[-1]
            most = _most_threads(a.dtype, products)
            pieces = min(get_num_threads(), most, len(a) * products // _PIECE)
        if pieces < 2:
            return NotImplemented
        out = empty((*a.shape[:-1], b.shape[-1]), a.dtype)
        inside = out._np_array

        def multiply(part: slice) -> None:
            with strict_errstate():
                compiled(a[part], b[part], out=inside[part])

        run_pieces(multiply, len(a), pieces)
        return out

    return matmul


def _are_stacks(a: Any, b: Any) -> bool:
    """Return whether two operands are stacks of as many small matrices."""
    return (
        a.ndim == b.ndim == 3
        and a.dtype == b.dtype
        and a.dtype in DTYPES
        and a.flags.c_contiguous
        and b.flags.c_contiguous
        and (len(a), a.shape[2]) == b.shape[:2]
        and a.shape[1] * a.shape[2] * b.shape[2] <= _MOST_PRODUCTS
    )


# -- Interpolation ---------------------------------------------------------------------


_NUMBERS = {type(None), int, float, numpy.float64}


def divided_interpolation(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that calls NumPy's compiled `interp` for pieces of x."""

    def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
        if any(type(each) not in _NUMBERS for each in (left, right)):
            return NotImplemented  # NumPy may warn
        if not numpy.can_cast(numpy.asarray(x).dtype, numpy.float64):
            return NotImplemented
        x = numpy.asarray(x, numpy.float64)
        pieces = min(get_num_threads(), x.size // _PIECE)
        # NumPy computes slopes beforehand if x has as many elements.
        if pieces < 2 or x.size // pieces < numpy.size(xp):
            return NotImplemented
        result = numpy.empty(x.shape, numpy.result_type(fp, numpy.float64))
        flat, out = x.reshape(-1), result.reshape(-1)

        def compute(part: slice) -> None:
            out[part] = compiled(flat[part], xp, fp, left, right)

        run_pieces(compute, x.size, pieces)
        return result

    return interp


# -- Correlation -----------------------------------------------------------------------

# Results before those that use all of the short array, by its length.
_BEFORE: dict[str, Callable[[int], int]] = {
    "valid": lambda n: 0,
    "same": lambda n: n // 2,
    "full": lambda n: n - 1,
}
_AFTER: dict[str, Callable[[int], int]] = {
    **_BEFORE,
    "same": lambda n: n - n // 2 - 1,
}


def _are_divisible(a: Any, v: Any, mode: Any) -> bool:
    """Return whether NumPy computes each result from a part of a long array."""
    return (
        type(mode) is str
        and mode in _BEFORE
        and all(type(x) is numpy.ndarray and x.ndim == 1 for x in (a, v))
        and a.dtype == v.dtype
        and a.dtype in DTYPES
        and _SHORT < v.size < a.size / 16
        and a.size * v.size >= 2 * _PRODUCTS
    )


def divided_correlation(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that calls NumPy's compiled `correlate` for parts of an array."""

    def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
        if not _are_divisible(a, v, mode) or get_num_threads() < 2:
            return NotImplemented
        n = v.size
        before, after = _BEFORE[mode](n), _AFTER[mode](n)
        whole = a.size - n + 1  # results that use all of v
        memory: Any = empty((before + whole + after,), a.dtype)
        result = memory._np_array
        # The results at both ends are those of shorter arrays.
        result[:before] = compiled(a[: 2 * n], v, mode)[:before]
        ending = compiled(a[-2 * n :], v, mode)
        result[before + whole :] = ending[ending.size - after :]
        pieces = min(get_num_threads(), a.size * n // _PRODUCTS)

        def compute(part: slice) -> None:
            needed = a[part.start : part.stop + n - 1]
            result[before:][part] = compiled(needed, v, "valid")

        run_pieces(compute, whole, pieces)
        return memory

    return correlate
