"""A histogram of a picture, and the picture with its contrast equalised by it."""

from __future__ import annotations

from typing import Any

DTYPE = "float64"
BINS = 256


def run(np: Any, size: int) -> Any:
    """Return counts and equalised values."""
    t = np.arange(size) * 0.001
    values = np.exp(-0.5 * np.sin(t) ** 2) * (1.0 + 0.2 * np.cos(7.0 * t))
    low, high = values.min(), values.max()
    level = ((values - low) / (high - low) * (BINS - 1)).astype(np.int64)
    counts = np.bincount(level, minlength=BINS)
    share = np.cumsum(counts) / size
    return counts, share[level]
