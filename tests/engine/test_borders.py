"""Test the sizes at which the core does something else: one element less, as many, one more.

The sizes come from the constants in the sources. Where elements are processed in parts, the
first and the last element of each part are odd ones, which a wrong border would lose, double
or take twice.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pytest

import mxnp
from mxnp import _bridge

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.any_nan]

Library = types.ModuleType
Array = Any

SOURCES = Path(__file__).parents[2]
LARGE = 50_000  # elements: from here on, fewer sizes
NUMBERS = [
    "bool",
    "i1",
    "u1",
    "i2",
    "u2",
    "i4",
    "u4",
    "i8",
    "u8",
    "f2",
    "f4",
    "f8",
    "c8",
    "c16",
]
REAL = NUMBERS[:-2]
FLOATS = ["f4", "f8"]

# A kind of statements, and the constant with the number of elements, or of bytes, at which
# something changes. Another constant, if there is one, is the length of the parts.
BORDERS = """
sorts csrc/cpu/kernels/sort.c LEAST_RUN
sorts csrc/cpu/kernels/sort.c CHUNK
sorts csrc/cpu/kernels/sort.c PART
sorts csrc/cpu/kernels/sort.c MOST_SAMPLES PART
sorts csrc/cpu/kernels/sort.c LARGE_ROW PART
sorts csrc/cpu/kernels/counting.c WIDE_ROW CHUNK
partitions csrc/cpu/kernels/partition.c SORTED
partitions csrc/cpu/kernels/partition.c COPIED
partitions mxnp/_routines/sorting.py _LONG_ROW
reductions csrc/cpu/kernels/row_kernels.c LEAF
reductions csrc/cpu/plan/order.c NUMPYS_BUFFER
reductions csrc/cpu/plan/blocks.c WIDE_ROW
reductions csrc/cpu/plan/blocks.c MAX_BLOCK
reductions csrc/cpu/plan/argrows.c MOST_COLUMNS
reductions csrc/cpu/plan/reduce.c SEGMENT_ELEMENTS
reductions csrc/base/limits.h MX_CHUNK_ELEMENTS
scans csrc/cpu/plan/scan.c ROW_PIECE
scans csrc/base/limits.h MX_CHUNK_ELEMENTS
searches csrc/cpu/kernels/search_kernels.c FEW
searches csrc/cpu/kernels/search_kernels.c MANY
searches csrc/base/limits.h MX_CHUNK_ELEMENTS
counts csrc/cpu/kernels/index_kernels.c BLOCK
counts csrc/base/limits.h MX_CHUNK_ELEMENTS
copies csrc/cpu/kernels/copies.c TILE
copies csrc/cpu/kernels/half.h MX_HALF_BLOCK
copies csrc/cpu/threads/copy.c PART_BYTES
copies csrc/cpu/threads/copy.c SHARED_FROM PART_BYTES
gathers csrc/cpu/kernels/index_kernels.c TAKE_BLOCK
gathers csrc/cpu/kernels/indices.c CONTIGUOUS_BLOCK
gathers csrc/base/limits.h MX_CHUNK_ELEMENTS
masks csrc/cpu/kernels/compact.c WORD
masks csrc/cpu/kernels/compact.c ROUND
masks csrc/cpu/kernels/compact.c CHUNK_ELEMENTS
scatters csrc/cpu/plan/scatter.c SELECTED_BLOCK
scatters csrc/cpu/kernels/index_kernels.c BLOCK
scatters csrc/base/limits.h MX_CHUNK_ELEMENTS
scatters csrc/cpu/plan/plan.h MX_SHARED_ELEMENTS
draws csrc/draws/streams.c TOGETHER_UNITS
draws csrc/draws/streams.c UNITS
"""

# The names: x of n elements, a shuffled copy y, a matrix of three rows, its transpose t and its
# sevenths, a mask m and places p, whose odd elements stand at the same places, some changes of
# the value in sorted order, and z, in which no element occurs twice. Sums of float16 along the
# first axis have other last bits, which docs/modes-and-errors.md says.
STATEMENTS = {
    "sorts": """
np.sort(x)
np.sort(y, kind="stable")
np.argsort(x, kind="stable")
np.sort(y[::-1])
np.sort(rows, axis=1)
np.sort(t, axis=0)
np.unique(y, return_counts=True)
np.sort(z)
np.sort(z, kind="stable")
""",
    "partitions": """
np.partition(y, n // 2)[n // 2]
np.sort(np.partition(y, n - 1)[: n - 1])
np.sort(np.partition(x, [0, n // 3])[n // 3 :])
np.median(x)
np.percentile(y, [1, 50, 99])
np.partition(y, changes)[changes]
np.partition(z, places)[places]
""",
    "reductions": """
np.sum(x)
np.max(x)
np.min(y)
np.any(x == x[n - 1])
np.argmax(x)
np.argmin(rows[:, ::-1], axis=1)
np.sum(rows, axis=1)
np.max(rows, axis=1)
np.sum(t, axis=0) if d != "f2" else 0
np.max(t, axis=1)
np.argmax(t, axis=0)
np.mean(x.reshape(1, -1), axis=0)
np.sum(x / 7)
np.sum(sevenths, axis=1)
np.var(sevenths, axis=1)
np.count_nonzero(x)
""",
    "scans": """
np.cumsum(x)
np.cumsum(rows, axis=1)
np.cumsum(t, axis=0)
np.maximum.accumulate(x)
np.cumsum(x * 2)
""",
    "searches": """
np.searchsorted(np.sort(x), y)
np.searchsorted(np.sort(x), y, side="right")
np.searchsorted(np.arange(50), x)
np.digitize(x, np.arange(50))
np.searchsorted(np.sort(y), np.arange(7))
""",
    "counts": """
np.bincount(p)
np.bincount(p, minlength=2 * n)
np.bincount(p, weights=x.real)
np.histogram(x, 10)
np.histogram(x, 10, weights=y)
np.histogram(x, [0, 1, 50, 101, 102])
""",
    "copies": """
rows.T.copy()
t.copy("F")
np.concatenate([x, y[::-1], x[:1]])
x.astype("f4")
x.astype("f2").astype("f8")
x.astype("i4")
t.ravel()
np.repeat(x, 2)
np.roll(x, 1)
x.copy()
""",
    "gathers": """
x[p]
x[p - n]
np.take(x, p, mode="clip")
np.take(x, p * 2, mode="wrap")
rows[:, p]
t[p]
rows[1, p[::2]]
x[np.stack([p, p])[:, 1:]]
x[p.astype("i4")]
x[p + 1]
x[p[:-1] - n - 1]
""",
    "masks": """
x[m]
x[~m]
np.nonzero(m)
np.flatnonzero(x == x[0])
np.count_nonzero(m)
t[m]
np.where(m, x, y)
np.compress(m[:-1], x)
""",
    "scatters": """
np.add.at(x, p, y)
np.add.at(x, p, 1)
np.maximum.at(x, p[::-1], y)
x.__setitem__(p, y)
x.__setitem__(p[1:], 3)
x.__setitem__(m, 4)
x.__setitem__(m, y[m])
np.put(x, p, y)
t.__setitem__(p, t[::-1])
np.add.at(x, p * 0, y)
np.putmask(x, m, y[:5])
""",
    "draws": """
rng.random(n, dtype=d)
rng.standard_normal(n, dtype=d)
rng.standard_exponential(n, dtype=d)
rng.integers(0, 1000, n)
rng.integers(0, 100, n, dtype="u1")
rng.normal(1, 2, n)
rng.poisson(3, n)
rng.permutation(n)
rng.random(3)
np.random.Generator(np.random.Philox(n)).random(n)
np.random.RandomState(n).randint(0, 10**10, n)
np.random.RandomState(n).random_sample(n)
""",
}
DTYPES = dict.fromkeys(STATEMENTS, NUMBERS)
DTYPES |= {"counts": REAL, "searches": REAL, "draws": FLOATS, "partitions": REAL}
IN_BYTES = ("PART_BYTES", "SHARED_FROM")


@cache
def constant(path: str, name: str) -> int:
    """Return a constant of a source file, in C or in Python."""
    text = (SOURCES / path).read_text(encoding="utf-8")
    found = re.search(rf"^(?:#define )?{name}(?: =)? +(.+?) *(?:/\*|#|$)", text, re.M)
    assert found, (path, name)
    return int(eval(re.sub(r"\((?:size_t|intptr_t|npy_intp)\)", "", found[1])))


def sizes(border: int) -> Iterator[int]:
    """Yield the sizes at a border, and where a second part begins."""
    yield from (border - 1, border, border + 1)
    if border < LARGE:
        yield from (2 * border - 1, 2 * border, 2 * border + 1)


def names_of(np: Library, n: int, part: int, dtype: str) -> dict[str, Any]:
    """Return the names that statements use."""
    odd = numpy.zeros(n, bool)
    odd[::part] = odd[part - 1 :: part] = odd[n - 1 :] = True
    order = numpy.random.RandomState(n % 1000).permutation(n)
    x, p = order % 97, order.copy()
    x[odd] = 100 + numpy.arange(odd.sum()) % 5
    p[odd] = numpy.flatnonzero(odd)[::-1]  # some places occur twice, and others never
    x = (x % 2 == 0) if dtype == "bool" else x.astype(dtype)
    y = x[order]
    if numpy.dtype(dtype).kind == "c":
        y = y + (1j * (order % 5)).astype(dtype)
    rows = numpy.stack([x, y, x[::-1]])
    arrays = {"x": x, "y": y, "rows": rows, "m": odd | (order % 3 == 0), "p": p}
    arrays["sevenths"] = rows / numpy.float32(7) if dtype == "f4" else rows / 7
    names = {name: np.array(value) for name, value in arrays.items()}
    names["t"] = np.array(numpy.ascontiguousarray(rows.T))
    names["z"] = np.array(order.astype(dtype))
    names["places"] = [*range(0, n, n // 40 + 1)]
    in_order = numpy.sort(y)
    names["changes"] = [*(numpy.flatnonzero(in_order[1:] != in_order[:-1]) + 1)[::25]]
    return names | {"np": np, "n": n, "d": dtype, "rng": np.random.default_rng(n)}


def outcome(statement: str, names: dict[str, Any]) -> Any:
    """Return what a statement returns, or its error, and what it writes."""
    try:
        result = eval(statement, dict(names))
        mxnp.synchronize()
    except (TypeError, ValueError, IndexError) as error:
        result = type(error), str(error)
    return result if result is not None else names["x"].copy(), names["t"][:1].copy()


SETS = [
    pytest.param(line, dtype, id=f"{line.replace('csrc/', '')}-{dtype}")
    for line in BORDERS.strip().splitlines()
    for dtype in DTYPES[line.partition(" ")[0]]
]


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("border", "dtype"), SETS)
def test_one_element_less_as_many_and_one_more(
    xp: Library, border: str, dtype: str
) -> list[Any]:
    kind, path, size, *part = border.split()
    itemsize = numpy.dtype(dtype).itemsize if size in IN_BYTES else 1
    length = constant(path, size) // itemsize
    step = constant(path, part[0]) // itemsize if part else length
    before, threads = _bridge.set_threshold(1), mxnp.get_num_threads()
    found = []
    try:
        for n in sizes(length):
            mxnp.set_num_threads(3 + n % 2)
            names = names_of(xp, n, step, dtype)
            for statement in STATEMENTS[kind].strip().splitlines():
                found.append(outcome(statement, names))
    finally:
        mxnp.set_num_threads(threads)
        _bridge.set_threshold(before)
    return found
