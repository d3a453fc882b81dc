"""Tables of what the processor's instructions make of NumPy's casts of floats to integers."""

from __future__ import annotations

import math

import numpy

NARROW = ("int8", "int16", "uint8", "uint16")
INTEGERS = (*NARROW, "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")

# The integers that NumPy's loops convert to. Narrower results are the lower bits. The columns
# are the casts to narrow signed, narrow unsigned, int32, uint32, int64 and uint64. The wheels
# of NumPy 2.4.6 were run on x86-64 and, with QEMU, on Linux for arm64, and the one for macOS
# was disassembled. The rows of Linux for arm64 are those of NumPy's vectors.
_COLUMNS = {
    "x86-64": {
        "float16": "int32  int32  int32 int64  int64 uint64",
        "float32": "int32  int32  int32 int64  int64 uint64",
        "float64": "int32  int32  int32 int64  int64 uint64",
    },
    "macOS arm64": {
        "float16": "int32  int32  int32 uint32 int64 uint64",
        "float32": "int32  int32  int32 uint32 int64 uint64",
        "float64": "int32  int32  int32 uint32 int64 uint64",
    },
    "arm64": {
        "float16": "int32  uint32 int32 uint32 int64 uint64",
        "float32": "int32  int32  int32 uint32 int64 uint64",
        "float64": "int64  int64  int64 int64  int64 uint64",
    },
}
PROCESSORS = tuple(_COLUMNS)


def converted(processor: str, source: str, target: str) -> str:
    """Return the integer dtype that the processor converts to."""
    signed, unsigned, *wide = _COLUMNS[processor][source].split()
    if target in NARROW:
        return unsigned if target[0] == "u" else signed
    return wide[("int32", "uint32", "int64", "uint64").index(target)]


def cast(number: float, processor: str, source: str, target: str) -> int | None:
    """Return the cast of a number, or None if the loop for x86-64 is not in the table."""
    by = numpy.iinfo(converted(processor, source, target))
    whole = math.trunc(number) if math.isfinite(number) else None
    if processor == "x86-64":
        if target in (
            "uint32",
            "uint64",
        ):  # negative numbers are converted as signed ones
            least = -(2 ** (by.bits - 1)) if target == "uint64" else -(2**31)
            if whole is None or not least <= whole < 2 ** numpy.iinfo(target).bits:
                return None
        elif whole is None or not by.min <= whole <= by.max:
            whole = by.min
    elif whole is None:
        whole = 0 if math.isnan(number) else by.max if number > 0 else by.min
    else:
        whole = min(max(whole, by.min), by.max)
    of = numpy.iinfo(target)
    return (whole - of.min) % 2**of.bits + of.min
