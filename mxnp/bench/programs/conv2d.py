"""Convolution of a picture with a 5 x 5 kernel by shifted slices, then a threshold."""

from __future__ import annotations

import math
from typing import Any

DTYPE = "float32"


def run(np: Any, size: int) -> Any:
    """Return the filtered picture."""
    n = max(8, math.isqrt(size))
    x = np.linspace(0.0, 12.0, n, dtype=np.float32)
    picture = np.sin(x[:, None]) * np.cos(2.0 * x[None, :])
    ramp = np.array([1.0, 4.0, 6.0, 4.0, 1.0], dtype=np.float32)
    kernel = np.outer(ramp, ramp) / 256.0
    out = np.zeros((n - 4, n - 4), dtype=np.float32)
    for i in range(5):
        for j in range(5):
            out += kernel[i, j] * picture[i : n - 4 + i, j : n - 4 + j]
    return np.maximum(out - 0.1, 0.0)
