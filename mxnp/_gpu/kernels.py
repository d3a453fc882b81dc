"""Algorithms of several kernels: sorts, selections, products, random numbers.

The functions only plan: they request memory and append dispatches, which run in order.
Their arrays are contiguous. The caller passes `launch` and `empty`, which use the
device.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import numpy

from mxnp._engine import core

Array = Any  # memory of the device


class Launch(Protocol):
    """Append one dispatch."""

    def __call__(
        self,
        source: str,
        function: str,
        buffers: Sequence[tuple[Array, bool]],
        args: Sequence[int],
        grid: tuple[int, int, int],
        threads: tuple[int, int, int],
        in_threadgroups: bool,
        work: int = 0,
    ) -> None:
        """
        Append a dispatch.

        Parameters
        ----------
        source : str
            Text of the kernel, after the prelude of all kernels.
        function : str
            Name of the kernel.
        buffers : sequence of (Array, bool)
            Buffers from index 0 on, and whether the kernel writes to each.
        args : sequence of int
            Signed 64-bit numbers, bound as ``constant long *`` after the buffers.
        grid : tuple of int
            Number of threads, or of threadgroups if `in_threadgroups` is true.
        threads : tuple of int
            Number of threads of a threadgroup.
        in_threadgroups : bool
            Whether `grid` counts threadgroups.
        work : int, optional
            The estimated work; see csrc/gpu/work.h. If it is positive, the dispatch may
            be cut, and the kernel has the origin of its part as three more arguments.
        """


class Empty(Protocol):
    """Return uninitialized memory of `size` elements of `dtype`."""

    def __call__(self, size: int | tuple[int, ...], dtype: str) -> Array:
        """Return memory."""


_THREADS = 256  # of a threadgroup: MX_THREADS of the prelude

_TYPES = core.gpu().types


def _memory_type(dtype: str) -> str:
    """Return the type of items that are moved as they are: a bool may be any byte."""
    return _TYPES["uint8" if dtype == "bool" else dtype]


@cache
def _source(name: str, operation: str = "", **types: str) -> str:
    """Return the text of a kernel, preceded by its types and its operation."""
    lines = [f"typedef {text} {alias};\n" for alias, text in types.items()]
    return "".join([*lines, operation, core.kernel_text(name)])


def _ceil_divide(a: int, b: int) -> int:
    """Divide and round up."""
    return -(-a // b)


def _groups(n: int, size: int) -> tuple[int, int, int]:
    """Return the number of threadgroups of `size` elements for n elements."""
    return (_ceil_divide(n, size), 1, 1)


_GROUP = (_THREADS, 1, 1)

# Work, in the unit of csrc/gpu/work.h.
_BYTE = 16  # of memory that is read or written
_UPDATE = 2**20  # of an element that waits for the one before it
_SORTING = 256  # of an item in a tile, which is merged eight times
_MERGING = 64  # of an item that is merged once
_DIGIT = 8  # of an item whose digit is counted
_RANDOM = 512  # of four words


# -- Sorting --------------------------------------------------------------------------

_SHARE = 8  # items per thread: MX_SHARE of sort
_TILE = _THREADS * _SHARE


def _sort_grid(rows: int, n: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Return the threadgroups and their threads, fewer for rows shorter than a tile."""
    threads = min(_THREADS, 32 * _ceil_divide(n, 32 * _SHARE))
    return (_ceil_divide(n, _TILE), rows, 1), (threads, 1, 1)


def _run_lengths(n: int) -> list[int]:
    """Return the lengths of the runs that each merge starts with."""
    lengths = []
    length = _TILE
    while length < n:
        lengths.append(length)
        length *= 2
    return lengths


def _sort_source(dtype: str) -> str:
    """Return the text of the kernels that sort items of a dtype."""
    return _source("sort", mx_item=_memory_type(dtype))


def sort(
    launch: Launch, empty: Empty, keys: Array, rows: int, n: int, dtype: str
) -> Array:
    """Return the sorted rows of keys with the shape (rows, n)."""
    if _suits_radix(rows, n, numpy.dtype(dtype).itemsize):
        return _radix_sort(launch, empty, keys, rows, n, dtype)
    result = empty(rows * n, dtype)
    if rows == 0 or n == 0:
        return result
    source, (grid, threads) = _sort_source(dtype), _sort_grid(rows, n)
    lengths = _run_lengths(n)
    other = empty(rows * n, dtype) if lengths else None
    to, spare = (other, result) if len(lengths) % 2 else (result, other)
    moving = 2 * _BYTE * numpy.dtype(dtype).itemsize
    add = partial(launch, source, grid=grid, threads=threads, in_threadgroups=True)
    buffers = [(keys, False), (to, True)]
    add("mx_sort_tiles", buffers, [n], work=rows * n * (moving + _SORTING))
    for length in lengths:
        buffers = [(to, False), (spare, True)]
        work = rows * n * (moving + _MERGING)
        add("mx_sort_merge", buffers, [n, length], work=work)
        to, spare = spare, to
    return result


def sort_with_places(
    launch: Launch, empty: Empty, keys: Array, rows: int, n: int, dtype: str
) -> tuple[Array, Array]:
    """Return the sorted rows, and the position of each item in its row, as int64."""
    if _suits_radix(rows, n, numpy.dtype(dtype).itemsize):
        return _radix_sort_with_places(launch, empty, keys, rows, n, dtype)
    to = (empty(rows * n, dtype), empty(rows * n, "int64"))
    if rows == 0 or n == 0:
        return to
    source, (grid, threads) = _sort_source(dtype), _sort_grid(rows, n)
    lengths = _run_lengths(n)
    moving = 2 * _BYTE * (numpy.dtype(dtype).itemsize + 8)
    add = partial(launch, source, grid=grid, threads=threads, in_threadgroups=True)
    buffers = [(keys, False), (to[0], True), (to[1], True)]
    add("mx_argsort_tiles", buffers, [n], work=rows * n * (moving + _SORTING))
    spare = (empty(rows * n, dtype), empty(rows * n, "int64")) if lengths else to
    for length in lengths:
        buffers = [(array, False) for array in to] + [(array, True) for array in spare]
        work = rows * n * (moving + _MERGING)
        add("mx_argsort_merge", buffers, [n, length], work=work)
        to, spare = spare, to
    return to


_RADIX_GROUPS = 1024  # threadgroups that count, of all rows
_DIGITS = 256  # of a pass


def _radix_tile(itemsize: int) -> int:
    """Return the items of a tile: MX_RADIX_TILE of radix."""
    return _THREADS * (12 if itemsize > 4 else 20)


def _suits_radix(rows: int, n: int, itemsize: int) -> bool:
    """
    Return whether to sort by digits: it is possible, and faster than merges.

    A threadgroup waits for others. There is a pass for each byte of an item.
    """
    tiles = _ceil_divide(n, _radix_tile(itemsize))
    is_small = n < 2**30 and rows * tiles * _DIGITS < 2**31
    is_fast = n > _TILE and len(_run_lengths(n)) + 4 > itemsize
    return core.gpu().makes_progress and is_small and is_fast


class _Radix:
    """A radix sort of rows: its memory, and its kernels except the passes."""

    def __init__(
        self, launch: Launch, empty: Empty, keys: Array, rows: int, n: int, dtype: str
    ) -> None:
        self.size, self.empty = rows * n, empty
        self.passes = numpy.dtype(dtype).itemsize
        self.tiles = _ceil_divide(n, _radix_tile(self.passes))
        source = _source("radix", mx_item=_memory_type(dtype))
        self.launch = partial(launch, source, threads=_GROUP)
        self.args = [n, rows, self.tiles, self.passes]
        states = rows * self.tiles * _DIGITS
        cleared = rows * self.passes * (_DIGITS + 1) + states
        self.words = empty(cleared + states, "uint32")
        words = [(self.words, True)]
        self.launch(
            "mx_radix_clear",
            words,
            [cleared],
            grid=(cleared, 1, 1),
            in_threadgroups=False,
            work=4 * _BYTE * cleared,
        )
        groups = min(_ceil_divide(_RADIX_GROUPS, rows), _ceil_divide(n, _THREADS * 4))
        self.launch(
            "mx_radix_count",
            [(keys, False), *words],
            [*self.args, groups],
            grid=(groups, rows, 1),
            in_threadgroups=True,
            work=self.size * self.passes * (_BYTE + _DIGIT),
        )

    def targets(self, dtype: str, last: Array) -> list[Array]:
        """Return the memory that each pass writes: `last` at the end."""
        other = self.empty(self.size, dtype) if self.passes > 1 else None
        return [(last, other)[(self.passes - 1 - i) % 2] for i in range(self.passes)]

    def move(
        self, function: str, reads: list[Array], writes: list[Array], i: int
    ) -> None:
        """Launch pass i."""
        buffers = [(a, False) for a in reads] + [(a, True) for a in writes]
        moving = 2 * _BYTE * (self.passes + 4 * (len(reads) - 1))
        self.launch(
            function,
            [*buffers, (self.words, True)],
            [*self.args, i],
            grid=(self.tiles, self.args[1], 1),
            in_threadgroups=True,
            work=self.size * (moving + _SORTING),
        )


def _radix_sort(
    launch: Launch, empty: Empty, keys: Array, rows: int, n: int, dtype: str
) -> Array:
    """Do the same as `sort`, by the digits of the keys."""
    radix = _Radix(launch, empty, keys, rows, n, dtype)
    for i, to in enumerate(radix.targets(dtype, empty(rows * n, dtype))):
        radix.move("mx_radix_sort", [keys], [to], i)
        keys = to
    return keys


def _radix_sort_with_places(
    launch: Launch, empty: Empty, keys: Array, rows: int, n: int, dtype: str
) -> tuple[Array, Array]:
    """Do the same as `sort_with_places`, by the digits of the keys."""
    radix = _Radix(launch, empty, keys, rows, n, dtype)
    last, places = empty(rows * n, "int64"), empty(rows * n, "uint32")
    others = radix.targets("uint32", empty(rows * n, "uint32"))
    for i, to in enumerate(radix.targets(dtype, empty(rows * n, dtype))):
        writes = [to, others[i], last]
        radix.move("mx_radix_argsort", [keys, places], writes, i)
        keys, places = to, others[i]
    return keys, last


def argsort(
    launch: Launch, empty: Empty, keys: Array, rows: int, n: int, dtype: str
) -> Array:
    """Return the int64 positions that sort each row. The sort is stable."""
    return sort_with_places(launch, empty, keys, rows, n, dtype)[1]


# -- Selecting ------------------------------------------------------------------------

_MASK_BLOCK = _THREADS * 16 * 4  # elements: MX_MASK_BLOCK of compact


def _compact_source(dtype: str = "bool") -> str:
    """Return the text of the kernels that select positions, or items of a dtype."""
    return _source("compact", mx_item=_memory_type(dtype))


def count_true(
    launch: Launch, empty: Empty, mask: Array, n: int
) -> tuple[Array, Array]:
    """Return the numbers of true elements before each block of a mask, and in all."""
    blocks = _ceil_divide(n, _MASK_BLOCK)
    counts, total = empty(max(1, blocks), "int64"), empty(1, "int64")
    source, buffers = _compact_source(), [(mask, False), (counts, True)]
    if n > 0:
        grid = _groups(n, _MASK_BLOCK)
        work = _BYTE * n
        launch(source, "mx_count_blocks", buffers, [n], grid, _GROUP, True, work)
    buffers = [(counts, True), (total, True)]
    launch(source, "mx_sum_counts", buffers, [blocks], (1, 1, 1), _GROUP, True)
    return counts, total


def nonzero_positions(
    launch: Launch, empty: Empty, mask: Array, n: int, counts: Array, total: int
) -> Array:
    """Return the int64 positions where a mask is true, of which there are `total`."""
    positions = empty(total, "int64")
    if total > 0:
        buffers = [(mask, False), (counts, False), (positions, True)]
        source, grid = _compact_source(), _groups(n, _MASK_BLOCK)
        work = _BYTE * (n + 8 * total)
        launch(source, "mx_write_positions", buffers, [n], grid, _GROUP, True, work)
    return positions


def select_items(
    launch: Launch,
    empty: Empty,
    mask: Array,
    n: int,
    items: Array,
    dtype: str,
    counts: Array,
    total: int,
) -> Array:
    """Return the items where a mask is true, of which there are `total`."""
    result = empty(total, dtype)
    if total > 0:
        buffers = [(mask, False), (counts, False), (items, False), (result, True)]
        source, grid = _compact_source(dtype), _groups(n, _MASK_BLOCK)
        work = _BYTE * (n + 2 * numpy.dtype(dtype).itemsize * n)
        launch(source, "mx_write_items", buffers, [n], grid, _GROUP, True, work)
    return result


# -- Updates in order -----------------------------------------------------------------


def multiply_complex(dtype: str) -> str:
    """
    Return a product that rounds like NumPy's loop over indices.

    mx_multiply rounds like its vector loop.
    """
    return f"{_TYPES[dtype]}(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)"


def _operation(expression: str, dtype: str, value_dtype: str) -> str:
    """Return the struct of an operation, an expression in a and b."""
    item, value = _TYPES[dtype], _TYPES[value_dtype]
    return (
        "struct mx_update_op {\n"
        f"    static MX_INLINE {item} apply({item} a, {value} b)\n"
        f"    {{ return {expression}; }}\n"
        "};\n"
    )


def update_segments(
    launch: Launch,
    empty: Empty,
    target: Array,
    slots: Array,
    values: Array,
    n: int,
    dtype: str,
    expression: str,
    value_dtype: str | None = None,
    is_one_value: bool = False,
    row: int = 1,
) -> None:
    """Update target[slots[i]] by values[i] for each i in order, like numpy.ufunc.at.

    `expression` computes the new element from the old element a and the value b. Slots
    are in bounds; negative slots are skipped. If `row` is not 1, a slot is the first
    element of a row of that length, and each slot has a row of values.
    """
    if n == 0:
        return
    value_dtype = value_dtype or dtype
    source = _source(
        "segments",
        _operation(expression, dtype, value_dtype),
        mx_item=_TYPES[dtype],
        mx_update_value=_TYPES[value_dtype],
    )
    in_order, places = sort_with_places(launch, empty, slots, 1, n, "int64")
    buffers = [(in_order, False), (places, False), (values, False), (target, True)]
    args, grid = [n, int(not is_one_value), row], _groups(n * row, _THREADS)
    work = _UPDATE * n  # one thread may make all updates of a column
    launch(source, "mx_update_segments", buffers, args, grid, _GROUP, True, work)


# -- Random numbers -------------------------------------------------------------------


def _signed(word: int) -> int:
    """Return a 64-bit word as a signed number, as arguments are."""
    return word - 2**64 if word >= 2**63 else word


class Draw(NamedTuple):
    """How a kernel computes elements from the words of a stream."""

    function: str
    halves: bool  # whether an element uses half a word
    least: int = 0  # the least integer
    shift: int = 0  # the unused bits of a word or half


RAW = Draw("mx_random_word_integers", False)
SINGLES = Draw("mx_random_singles", True)
DOUBLES = Draw("mx_random_doubles", False)


def integers(itemsize: int, least: int, bits: int) -> Draw:
    """Return the draw of integers from `least` on with random `bits`, as in NumPy."""
    if bits > 32:
        return Draw("mx_random_word_integers", False, least, 64 - bits)
    function = "mx_random_long_integers" if itemsize == 8 else "mx_random_integers"
    return Draw(function, True, least, 32 - bits)


def philox(
    launch: Launch,
    to: Array,
    n: int,
    draw: Draw,
    key: Sequence[int],
    counter: Sequence[int],
    left: Sequence[int] = (),
) -> None:
    """Fill n elements from the words left by earlier draws, then from the counter on.

    Key and counter are the words of the state of numpy.random.Philox. `left` holds
    fewer than n words, or halves of words.
    """
    args = [*key, *counter, n, draw.least % 2**64, draw.shift, len(left), *left]
    in_block = 8 if draw.halves else 4
    blocks = _ceil_divide(n - len(left), in_block)
    grid, work = _groups(blocks, _THREADS), (_RANDOM + 32 * _BYTE) * blocks
    source, numbers = _source("random"), [*map(_signed, args)]
    launch(source, draw.function, [(to, True)], numbers, grid, _GROUP, True, work)


_FACTOR = 0x2360ED051FC65DA44385DF649FCCF645  # of a step of PCG64
_WORDS = 16  # that a thread computes
_WIDE = 2**128


def pcg64_jump(increment: int, steps: int) -> tuple[int, int]:
    """Return the factor and the constant that make so many steps of PCG64 at once."""
    factor, plus = 1, 0
    step_factor, step_plus = _FACTOR, increment
    while steps:
        if steps & 1:
            factor, plus = factor * step_factor, plus * step_factor + step_plus
        step_plus = (step_factor + 1) * step_plus % _WIDE
        step_factor = step_factor * step_factor % _WIDE
        steps >>= 1
    return factor % _WIDE, plus % _WIDE


def pcg64(
    launch: Launch,
    to: Array,
    n: int,
    draw: Draw,
    state: int,
    increment: int,
    left: Sequence[int] = (),
) -> None:
    """Fill n elements from the half word that an earlier draw left, then from a state.

    State and increment are those of the state of numpy.random.PCG64. Draws of whole
    words have no `left`.
    """
    words = _ceil_divide(n - len(left), 2 if draw.halves else 1)
    threads = _THREADS * _ceil_divide(words, _WORDS * _THREADS)
    jump = pcg64_jump(increment, threads)
    split = [
        word for wide in (state, increment, *jump) for word in divmod(wide, 2**64)[::-1]
    ]
    least = draw.least % 2**64
    args = [
        *split[:4],
        threads,
        len(left),
        n,
        least,
        draw.shift,
        *split[4:],
        *(left or [0]),
    ]
    numbers = [*map(_signed, args)]
    grid, work = _groups(threads, _THREADS), (_RANDOM + 32 * _BYTE) * words
    function = draw.function.replace("random", "pcg64")
    launch(_source("random"), function, [(to, True)], numbers, grid, _GROUP, True, work)


# -- Products of matrices -------------------------------------------------------------

_MATMUL_THREADS = 128  # MX_MATMUL_THREADS of matmul
_MANY_TILES = 32  # enough to keep a GPU busy
ROW_LIMIT = 2**32 // 64  # elements of a row, so that offsets in a tile have 32 bits


def _sum_type(dtype: str) -> str:
    """Return the type in which products are summed."""
    if dtype in ("float16", "float32"):
        return "float"
    if dtype in ("float64", "complex64", "complex128"):
        return _TYPES[dtype]
    return "ulong" if dtype in ("int64", "uint64") else "uint"


class Layout(NamedTuple):
    """Where the matrices of an operand of `matmul` are in memory, in elements."""

    step: int  # from one matrix to the next; 0: there is one
    row: int  # from one row of a matrix in memory to the next
    is_transposed: bool  # memory has the transposed matrix


def _matmul_source(dtype: str, side: int, a: Layout, b: Layout) -> str:
    """Return the text of the kernel for tiles of side 32 or 64."""
    values = {
        "MX_SIDE": side,
        "MX_IS_FLOAT": dtype in ("float16", "float32"),
        "MX_IS_COMPLEX": dtype in ("complex64", "complex128"),
        "MX_A_IS_TRANSPOSED": a.is_transposed,
        "MX_B_IS_TRANSPOSED": b.is_transposed,
    }
    defines = "".join(f"#define {name} {int(n)}u\n" for name, n in values.items())
    return _source("matmul", defines, mx_item=_TYPES[dtype], mx_sum=_sum_type(dtype))


def matmul(
    launch: Launch,
    empty: Empty,
    a: Array,
    b: Array,
    batch: int,
    shape: tuple[int, int, int],
    dtype: str,
    layouts: tuple[Layout, Layout] | None = None,
    out: int | tuple[int, ...] | None = None,
) -> Array:
    """Return the products of matrices a (batch, m, k) and b (batch, k, n).

    The shape is (m, k, n). The result has the shape `out`, or one axis by default. By
    default both have contiguous matrices. m, k, n and the lengths of rows must be less
    than 2**26.
    """
    m, k, n = shape
    of_a, of_b = layouts or (Layout(m * k, k, False), Layout(k * n, n, False))
    assert max(m, k, n, of_a.row, of_b.row) < ROW_LIMIT, shape
    result = empty(batch * m * n if out is None else out, dtype)
    if batch * m * n > 0:
        if k == 0:  # all sums are empty; the kernel needs memory to bind
            a = b = empty(1, dtype)
        has_large_tiles = (
            batch * _ceil_divide(m, 64) * _ceil_divide(n, 64) >= _MANY_TILES
        )
        side = 64 if has_large_tiles and dtype != "complex128" else 32
        source = _matmul_source(dtype, side, of_a, of_b)
        tiles, across = _ceil_divide(m, side), _ceil_divide(n, side)
        buffers = [(a, False), (b, False), (result, True)]
        grid, threads = (across, tiles, batch), (_MATMUL_THREADS, 1, 1)
        work = batch * m * n * max(1, k)
        args = [m, k, n, of_a.step, of_b.step, of_a.row, of_b.row]
        args += [int(of_a.is_transposed), int(of_b.is_transposed), batch]
        launch(source, "mx_matmul", buffers, args, grid, threads, True, work)
    return result
