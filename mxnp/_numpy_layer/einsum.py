"""NumPy's compiled `einsum`, with an index of the result that threads divide."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from mxnp._engine.core import get_num_threads
from mxnp._engine.threads import cut, run_pieces

from .divided import DTYPES, empty

_PRODUCTS = 2**19  # of elements; a thread computes at least as many


def _read(
    subscripts: Any, operands: tuple[Any, ...]
) -> tuple[list[str], str, dict[str, int]] | None:
    """
    Return a sum that threads may divide, or None.

    It is the terms, the result, whose first index is divided, and the sizes.
    """
    if type(subscripts) is not str:
        return None
    inputs, _, result = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not result or len(terms) != len(operands) or len(terms) < 2:
        return None  # NumPy may return a view of one operand
    sizes: dict[str, int] = {}
    for term, x in zip(terms, operands, strict=True):
        if type(x) is not numpy.ndarray or x.ndim != len(term):
            return None
        for label, n in zip(term, x.shape, strict=True):
            if sizes.setdefault(label, n) != n:
                return None
    if math.prod(sizes.values()) < 2 * _PRODUCTS:
        return None
    dtype = operands[0].dtype
    if dtype not in DTYPES or not _are_plain([*terms, result]):
        return None
    for x in operands:
        if x.dtype != dtype or not x.flags.aligned or min(x.strides, default=0) < 0:
            return None
    if not _is_outermost(result[0], terms, operands):
        return None
    return terms, result, sizes


def _are_plain(terms: list[str]) -> bool:
    """Return whether terms consist of letters, none of which is repeated in a term."""
    return all(
        (not term or (term.isalpha() and term.isascii())) and len({*term}) == len(term)
        for term in terms
    )


def _is_outermost(label: str, terms: list[str], operands: tuple[Any, ...]) -> bool:
    """
    Return whether an index has the largest step in each operand that has it.

    It has it in the result too. Then NumPy's loops over the other indices do not depend
    on it, and the bits do not either.
    """
    found = [(t, x) for t, x in zip(terms, operands, strict=True) if label in t]
    return bool(found) and all(
        x.strides[t.index(label)] > max(_without(t.index(label), x.strides), default=0)
        for t, x in found
    )


def _without(i: int, items: tuple[Any, ...]) -> tuple[Any, ...]:
    return items[:i] + items[i + 1 :]


def divided_einsum(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that calls NumPy's compiled `einsum` for parts of an index."""

    def c_einsum(subscripts: Any, *operands: Any, **kwargs: Any) -> Any:
        found = None if kwargs else _read(subscripts, operands)
        if found is None:
            return NotImplemented
        terms, output, sizes = found
        label, n = output[0], sizes[output[0]]
        pieces = min(get_num_threads(), n // 2, math.prod(sizes.values()) // _PRODUCTS)

        def part_of(term: str, x: Any, part: slice) -> Any:
            return cut(x, term.index(label), part) if label in term else x

        few = compiled(subscripts, *(x[(slice(2),) * x.ndim] for x in operands))
        if pieces < 2 or not few.flags.c_contiguous:  # NumPy chooses the order of axes
            return NotImplemented
        result = empty(tuple(sizes[each] for each in output), few.dtype)
        out = result._np_array

        def multiply(part: slice) -> None:
            parts = [part_of(t, x, part) for t, x in zip(terms, operands, strict=True)]
            compiled(subscripts, *parts, out=part_of(output, out, part))

        run_pieces(multiply, n, pieces)
        return result

    return c_einsum
