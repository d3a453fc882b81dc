"""Compare the integer functions of the Metal emulator's library with Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from support.msl import (
    HEAD,
    INTEGER_TYPES,
    NUMPY_TYPES,
    evaluate,
    kernel_of,
    needs_compiler,
)

pytestmark = [needs_compiler, pytest.mark.slow]
pytest_plugins = ["support.msl"]


def wrapped(value, dtype):
    bits = 8 * np.dtype(dtype).itemsize
    value &= (1 << bits) - 1
    if np.issubdtype(dtype, np.signedinteger) and value >> (bits - 1):
        value -= 1 << bits
    return value


def held(value, dtype):
    info = np.iinfo(dtype)
    return min(max(value, int(info.min)), int(info.max))


def width(dtype):
    return 8 * np.dtype(dtype).itemsize


def bits_of(value, dtype):
    return value & ((1 << width(dtype)) - 1)


def extracted(a, dtype):
    field = bits_of(a, dtype) >> 2 & 0b11111
    signed = np.issubdtype(dtype, np.signedinteger)
    return field - 32 if signed and field & 16 else field


INTEGER_1 = {
    "abs": lambda a, t: wrapped(abs(a), t),
    "clz": lambda a, t: width(t) - bits_of(a, t).bit_length(),
    "ctz": lambda a, t: (
        width(t) if a == 0 else (bits_of(a, t) & -bits_of(a, t)).bit_length() - 1
    ),
    "popcount": lambda a, t: bits_of(a, t).bit_count(),
    "reverse_bits": lambda a, t: wrapped(
        int(f"{bits_of(a, t):0{width(t)}b}"[::-1], 2), t
    ),
}
INTEGER_2 = {
    "addsat": lambda a, b, t: held(a + b, t),
    "subsat": lambda a, b, t: held(a - b, t),
    "hadd": lambda a, b, t: (a + b) >> 1,
    "rhadd": lambda a, b, t: (a + b + 1) >> 1,
    "max": lambda a, b, t: max(a, b),
    "min": lambda a, b, t: min(a, b),
    "mulhi": lambda a, b, t: (a * b) >> width(t),
    "rotate": lambda a, b, t: wrapped(
        bits_of(a, t) << (b % width(t)) | bits_of(a, t) >> (width(t) - b % width(t)), t
    ),
}
INTEGER_3 = {
    "clamp": lambda a, b, c, t: max(min(a, max(b, c)), min(b, c)),
    "madhi": lambda a, b, c, t: wrapped(((a * b) >> width(t)) + c, t),
    "madsat": lambda a, b, c, t: held(a * b + c, t),
    "min3": lambda a, b, c, t: min(a, b, c),
    "max3": lambda a, b, c, t: max(a, b, c),
    "median3": lambda a, b, c, t: sorted((a, b, c))[1],
}


def integer_program():
    kernels = []
    for t in INTEGER_TYPES:
        for name in INTEGER_1:
            kernels.append(kernel_of(f"{name}_{t}", t, [t], f"{name}(a)"))
        for name in INTEGER_2:
            kernels.append(kernel_of(f"{name}_{t}", t, [t, t], f"{name}(a, b)"))
        for name in INTEGER_3:
            arguments = "a, min(b, c), max(b, c)" if name == "clamp" else "a, b, c"
            kernels.append(
                kernel_of(f"{name}_{t}", t, [t, t, t], f"{name}({arguments})")
            )
        kernels.append(kernel_of(f"extract_{t}", t, [t], "extract_bits(a, 2u, 5u)"))
        kernels.append(kernel_of(f"insert_{t}", t, [t, t], "insert_bits(a, b, 2u, 5u)"))
        unsigned = "u" + t.removeprefix("u")
        kernels.append(kernel_of(f"absdiff_{t}", unsigned, [t, t], "absdiff(a, b)"))
        vector = f"max(min({t}2(a, 1), {t}2(b, 2)), {t}2(0, 1)).y + popcount({t}3(a)).z"
        kernels.append(kernel_of(f"vector_{t}", t, [t, t], vector))
    return HEAD + "".join(kernels)


@pytest.mark.parametrize("t", INTEGER_TYPES)
def test_integer_functions(t, build):
    library = build(integer_program())
    dtype = NUMPY_TYPES[t]
    info = np.iinfo(dtype)
    values = {0, 1, 2, 3, 5, 100, info.max, info.max - 1, info.max // 2, info.min}
    if info.min < 0:
        values |= {-1, -2, -7, info.min + 1}
    values = sorted(int(v) for v in values)
    pairs = [(a, b) for a in values for b in values]
    triples = [(a, b, c) for a, b in pairs for c in values]

    def compare(name, rows, expected, result=dtype):
        inputs = [np.array(column, dtype) for column in zip(*rows)]
        out = evaluate(library, f"{name}_{t}", result, *inputs)
        assert out.tolist() == [expected(*row) for row in rows], name

    def compare_all(table, rows):
        for name, expected in table.items():
            compare(name, rows, lambda *row, f=expected: wrapped(f(*row, dtype), dtype))

    singles = [(a,) for a in values]
    compare_all(INTEGER_1, singles)
    compare_all(INTEGER_2, pairs)
    compare_all(INTEGER_3, triples)
    compare("extract", singles, lambda a: extracted(a, dtype))
    compare(
        "insert",
        pairs,
        lambda a, b: wrapped(bits_of(a, dtype) & ~0b1111100 | (b & 31) << 2, dtype),
    )
    unsigned = NUMPY_TYPES["u" + t.removeprefix("u")]
    compare("absdiff", pairs, lambda a, b: abs(a - b), unsigned)
    compare("vector", pairs, lambda a, b: 1 + bits_of(a, dtype).bit_count())
