"""Numbers with units, in three digits."""

from __future__ import annotations


def count(n: int, noun: str) -> str:
    """Return a number and a noun: 1 byte, 2 bytes."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def nbytes(n: int) -> str:
    """Return a number of bytes with its unit, a power of 1000."""
    if n < 1000:
        return count(n, "byte")
    size = n / 1000
    for unit in ("kB", "MB", "GB"):
        if size < 999.5:
            return f"{_three_digits(size)} {unit}"
        size /= 1000
    return f"{_three_digits(size)} TB"


def time(seconds: float) -> str:
    """Return a duration with its unit, from seconds to microseconds."""
    for unit, part in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= part:
            return f"{_three_digits(seconds / part)} {unit}"
    return f"{_three_digits(seconds * 1e6)} µs"


def _three_digits(x: float) -> str:
    return f"{x:.0f}" if x >= 99.95 else f"{x:.1f}" if x >= 9.995 else f"{x:.2f}"
