"""Recorded forms of functions that take, put and count elements by index arrays."""

from __future__ import annotations

from typing import Any

import numpy

from mxnp import _bridge
from mxnp._array.ndarray import is_number, ndarray
from mxnp._array.ufunc import named, ufunc
from mxnp._bridge import ASSIGN, CLAMP, IN_BOUNDS, MODULO, NEAREST
from mxnp._engine.core import get_num_threads

from .arguments import (
    find_axis,
    fits,
    is_core_dtype,
    is_index_array,
)

_BOUNDS = {"raise": IN_BOUNDS, "clip": NEAREST, "wrap": MODULO}
_add = named(numpy.add).operation
_SEARCHED = 2**13  # complex numbers, for which a thread searches at least
_LEAST_REPEATED = 2**16  # elements
_MOST_REPEATS = (
    10  # of an item on average; NumPy copies more without a list of positions
)


# -- Taken and put ---------------------------------------------------------------------


def _take(
    a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise"
) -> Any:
    if type(a) is not ndarray or not is_index_array(indices) or out is not None:
        return NotImplemented
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = find_axis(axis, a.ndim)
    if axis < 0 or mode not in _BOUNDS:
        return NotImplemented
    key = (slice(None),) * axis + (indices,)
    return _bridge.take(a, key, _BOUNDS[mode])


def _put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> Any:
    if type(a) is not ndarray or not is_index_array(ind) or mode not in _BOUNDS:
        return NotImplemented
    if not a.flags.c_contiguous:
        return NotImplemented
    if type(v) is ndarray:
        v = v.ravel()
        if v.size != ind.size:
            return NotImplemented
    elif not is_number(v):
        return NotImplemented
    done = _bridge.update(ASSIGN, a.reshape(-1), ind.ravel(), v, _BOUNDS[mode])
    return NotImplemented if done is NotImplemented else None


def _put_method(a: Any, indices: Any, values: Any, mode: Any = "raise") -> Any:
    return _put(a, indices, values, mode)


# -- Updated ---------------------------------------------------------------------------


# Their results are the same if they are computed with more bits, and then rounded again
# to the dtype of floats or wrapped to the dtype of integers.
_SAME_WITH_MORE_BITS = {
    *("add", "subtract", "multiply", "divide", "maximum", "minimum"),
    *("bitwise_and", "bitwise_or", "bitwise_xor"),
}


def _takes_number(op: ufunc, dtype: numpy.dtype[Any], number: Any) -> bool:
    """
    Return whether `at` has NumPy's result if a number takes the dtype of the array.

    NumPy makes an array of the number first, and computes in the dtype of both.
    """
    own = numpy.asarray(number).dtype
    common = numpy.result_type(dtype, own)
    if common == dtype:
        return True
    if dtype.kind != common.kind or op.__name__ not in _SAME_WITH_MORE_BITS:
        return False
    if dtype.kind == "f":
        return fits(number, dtype) and bool(dtype.type(number) == number)
    return dtype.kind == "i" and fits(number, dtype)


def _ufunc_at(op: ufunc, a: Any, indices: Any, b: Any = None, /) -> Any:
    if b is None or op.operation < 0 or type(a) is not ndarray:
        return NotImplemented
    if type(b) in (bool, int, float, complex) and not _takes_number(op, a.dtype, b):
        return NotImplemented
    done = _bridge.update(op.operation, a, indices, b, IN_BOUNDS)
    return NotImplemented if done is NotImplemented else None


def _fill_diagonal(a: Any, val: Any, wrap: Any = False) -> Any:
    if type(a) is not ndarray or a.ndim != 2 or not is_core_dtype(a.dtype):
        return NotImplemented
    if not (a.flags.c_contiguous and a.flags.writeable):
        return NotImplemented
    if not fits(val, a.dtype):
        return NotImplemented
    n = a.shape[1]
    a.reshape(-1)[: None if wrap else n * n : n + 1] = val
    return None


# -- Chosen ----------------------------------------------------------------------------

_MAX_CHOICES = 8  # NumPy's loop over more choices is as fast


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist) or not 0 < len(condlist) <= _MAX_CHOICES:
        return NotImplemented
    choices = [*choicelist, default]
    for each in choices:
        if type(each) is not ndarray and type(each) not in (bool, int, float, complex):
            return NotImplemented
    if any(type(c) is not ndarray or c.dtype != bool for c in condlist):
        return NotImplemented
    if not all(map(_has_lines_in_c_order, (*condlist, *choices))):
        return NotImplemented  # NumPy's result is in C order
    dtype = _common_dtype(choices)
    # NumPy makes arrays of these numbers, but not of the default.
    for each in choicelist:
        if type(each) is not ndarray:
            own = numpy.asarray(each).dtype
            if not numpy.can_cast(own, dtype, "same_kind"):
                return NotImplemented
    return _select_first(condlist, choices, dtype)


def _has_lines_in_c_order(x: Any) -> bool:
    return type(x) is not ndarray or x.ndim < 2 or bool(x.flags.c_contiguous)


def _common_dtype(choices: Any) -> numpy.dtype[Any]:
    return numpy.result_type(*(getattr(c, "dtype", c) for c in choices))


def _select_first(conditions: Any, choices: Any, dtype: numpy.dtype[Any]) -> Any:
    """Return the first choice whose condition is true, or else the last choice."""
    if not is_core_dtype(dtype):
        return NotImplemented
    result = choices[-1]
    if type(result) is not ndarray:
        result = dtype.type(result)
    for condition, choice in zip(conditions[::-1], choices[-2::-1], strict=True):
        result = _bridge.select(condition, choice, result)
        if result is NotImplemented:
            return result
    return result if result.dtype == dtype else result.astype(dtype)


def _choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    if not is_index_array(a) or out is not None or mode not in _BOUNDS:
        return NotImplemented
    if type(choices) not in (list, tuple) or not 0 < len(choices) <= _MAX_CHOICES:
        return NotImplemented
    if any(type(c) is not ndarray for c in choices):
        return NotImplemented
    if not all(map(_has_lines_in_c_order, (a, *choices))):
        return NotImplemented  # NumPy's result is in C order
    n = len(choices)
    if mode == "wrap":
        a = a % n
    elif mode == "raise":
        least, most = _bridge.index_range(a)
        if least < 0 or most >= n:
            return NotImplemented
    conditions = [a <= i for i in range(n - 1)]
    if n < 2:
        return NotImplemented
    return _select_first(conditions, choices, _common_dtype(choices))


def _choose_method(
    a: Any, choices: Any, /, out: Any = None, mode: Any = "raise"
) -> Any:
    return _choose(a, choices, out, mode)


# -- Counted and searched --------------------------------------------------------------


def _bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    if not is_index_array(x) or x.ndim != 1 or x.dtype == numpy.uint64:
        return NotImplemented
    if type(minlength) is not int or minlength < 0:
        return NotImplemented
    if weights is not None and (
        type(weights) is not ndarray or weights.shape != x.shape
    ):
        return NotImplemented
    if weights is not None and not numpy.can_cast(weights.dtype, numpy.float64):
        return NotImplemented
    least, most = _bridge.index_range(x)
    if least < 0:
        return NotImplemented
    counted = numpy.dtype(numpy.intp if weights is None else numpy.float64)
    out = _bridge.fill((max(most + 1, minlength),), counted.num, 0)
    if out is NotImplemented:
        return out
    if weights is not None and weights.dtype != counted:
        weights = weights.astype(counted)
    value = 1 if weights is None else weights
    with numpy.errstate(all="ignore"):  # as in NumPy's loop
        done = _bridge.update(_add, out, x, value, IN_BOUNDS)
    return NotImplemented if done is NotImplemented else out


def repeat_by_counts(a: Any, counts: Any, axis: int) -> Any:
    """Repeat the items along an axis as often as an array says, or NotImplemented."""
    if counts.shape != (a.shape[axis],) or counts.dtype != numpy.intp or a.size == 0:
        return NotImplemented
    if a.size < _LEAST_REPEATED or counts.min() < 0:
        return NotImplemented
    ends = counts.cumsum()
    total = int(ends[-1])
    if not 0 < total <= _MOST_REPEATS * counts.size:
        return NotImplemented
    steps = _bincount(ends[:-1], minlength=total)
    if steps is NotImplemented:
        return steps
    return a.take(steps[:total].cumsum(), axis)


def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    if type(a) is not ndarray or type(v) is not ndarray or sorter is not None:
        return NotImplemented
    if side not in ("left", "right") or a.ndim != 1:
        return NotImplemented
    if not (is_core_dtype(a.dtype) and is_core_dtype(v.dtype)):
        return NotImplemented
    dtype = numpy.result_type(a.dtype, v.dtype)
    a = a if a.dtype == dtype else a.astype(dtype)
    v = v if v.dtype == dtype else v.astype(dtype)
    if dtype.kind == "c":
        return _search_complex(a, v, side)
    return _bridge.search(a, v, side == "right")


def _search_complex(a: Any, v: Any, side: str) -> Any:
    """Let NumPy search for parts of the numbers, on threads."""
    pieces = min(get_num_threads(), v.size // _SEARCHED)
    if pieces < 2 or not v.flags.c_contiguous:
        return NotImplemented
    from mxnp._engine.threads import run_pieces  # few programs need it

    found = _bridge.empty(v.shape, numpy.dtype(numpy.intp).num, False)
    if found is NotImplemented:
        return found
    inside, out, wanted = (
        a._np_array,
        found.reshape(-1)._np_array,
        v.reshape(-1)._np_array,
    )

    def search(part: slice) -> None:
        out[part] = inside.searchsorted(wanted[part], side)

    run_pieces(search, v.size, pieces)
    return found


# Other classes of edges may have their own operators, or __array_ufunc__.
_EDGES = {bool, int, float, ndarray, numpy.ndarray, *numpy.sctypeDict.values()}


def _are_finite(low: Any, high: Any) -> bool:
    """Return whether bounds and their distance are finite numbers."""
    if low.dtype.kind not in "iuf" or high.dtype.kind not in "iuf":
        return False
    with numpy.errstate(all="ignore"):
        return bool(numpy.isfinite(high - low)) and bool(low <= high)


def _bin_edges(a: Any, bins: Any, range: Any) -> Any:
    """Return NumPy's edges of equal bins, or None if NumPy must handle them."""
    if a.size == 0:
        return None
    if range is None:
        range = (a.min(), a.max())
    if type(range) is not tuple or len(range) != 2:
        return None
    if not all(type(edge) in _EDGES for edge in range):
        return None
    outer: Any = tuple(map(_bridge.unwrap, range))
    low, high = map(numpy.asarray, outer)
    if low.ndim > 0 or high.ndim > 0 or not _are_finite(low, high):
        return None
    edges = numpy.histogram_bin_edges(numpy.empty(0, a.dtype), bins, outer)
    return edges if edges.dtype == a.dtype else None


def _histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    if type(a) is not ndarray or a.dtype.char not in "fd" or weights is not None:
        return NotImplemented
    if type(bins) is not int or bins < 1 or density:
        return NotImplemented
    edges = _bin_edges(a, bins, range)
    if edges is None:
        return NotImplemented
    a, table = a.ravel(), _bridge.wrap(edges)
    low, high = edges[0], edges[-1]
    # Rounding may put an element into a bin next to its own. As in NumPy, a comparison
    # with the edges of the bin corrects this.
    # NumPy leaves elements outside of the range out, so that they raise no conditions.
    with numpy.errstate(all="ignore"):
        bin_numbers = ((a - low) / (high - low) * bins).astype(numpy.intp)
    is_inside = (a >= low) & (a <= high) if range is not None else None
    if is_inside is not None:
        # Indices that are out of bounds at random cost a branch that is not foreseen.
        bin_numbers = _bridge.select(is_inside, bin_numbers, 0)
    bin_numbers = bin_numbers - (bin_numbers == bins)
    begins = _bridge.take(table, bin_numbers, CLAMP)
    ends = _bridge.take(table, bin_numbers + 1, CLAMP)
    if begins is NotImplemented or ends is NotImplemented:
        return NotImplemented
    bin_numbers = bin_numbers - (a < begins) + ((a >= ends) & (bin_numbers != bins - 1))
    if is_inside is not None:
        bin_numbers = _bridge.select(is_inside, bin_numbers, bins)
    counts = _bincount(bin_numbers, minlength=bins)
    if counts is NotImplemented:
        return NotImplemented
    return counts if counts.size == bins else counts[:bins].copy(), table


_MAX_SPARSITY = 4  # values of the range counted, for each element
_SAMPLED, _LEAST_SAMPLE, _MOST_SAMPLE = 16, 1024, 16384
_TOGETHER = 8  # elements of a sample, as equal ones may be adjacent


def _repeats(flat: Any) -> bool:
    """Return whether integers repeat so much that a table of their values is small."""
    size = min(max(flat.size // _SAMPLED, _LEAST_SAMPLE), _MOST_SAMPLE)
    rows, most = size // _TOGETHER, 2 if get_num_threads() > 1 else 10
    places = flat[: flat.size // rows * rows].reshape(rows, -1)[:, :_TOGETHER]
    sample = numpy.sort(numpy.asarray(places), axis=None)
    n_equal = numpy.count_nonzero(sample[1:] == sample[:-1])
    return bool(most * n_equal > size)


def _find_values(a: Any) -> Any:
    """
    Return the values of integers by a sort, or NotImplemented if many repeat.

    NumPy has a table of hashes, which takes less time only while it is small.
    """
    flat = a.reshape(-1)
    if flat.size < _LEAST_SAMPLE or _repeats(flat):
        return NotImplemented
    values = flat.copy()
    values.sort()
    is_first = _bridge.wrap(numpy.ones(flat.size, bool))
    is_first[1:] = values[1:] != values[:-1]
    return values[is_first]


def _unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
    sorted: Any = True,
) -> Any:
    if type(ar) is not ndarray or ar.dtype.kind not in "iu" or ar.ndim == 0:
        return NotImplemented
    if return_index or axis is not None or not sorted:
        return NotImplemented
    is_index = numpy.can_cast(ar.dtype, numpy.intp)
    least, most = _bridge.index_range(ar) if is_index else (0, _MAX_SPARSITY * ar.size)
    if most - least >= _MAX_SPARSITY * ar.size:
        is_plain = not (return_inverse or return_counts)
        return _find_values(ar) if is_plain else NotImplemented
    offsets = (ar.astype(numpy.int64) - least).ravel()
    counts = _bincount(offsets)
    if counts is NotImplemented:
        return counts
    is_present = counts > 0
    found = is_present.nonzero()[0]
    results = [(found + least).astype(ar.dtype)]
    if return_inverse:
        ranks = is_present.cumsum() - 1
        results.append(ranks[offsets].reshape(ar.shape))
    if return_counts:
        results.append(counts[found])
    return results[0] if len(results) == 1 else tuple(results)
