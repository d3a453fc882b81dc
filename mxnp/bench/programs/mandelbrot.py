"""The Mandelbrot set: how many steps each point of the plane stays near."""

from __future__ import annotations

import math
from typing import Any

DTYPE = "float64"
STEPS = 20


def run(np: Any, size: int) -> Any:
    """Return the number of steps of each point."""
    n = max(2, math.isqrt(size))
    cx = np.linspace(-2.0, 0.6, n)[None, :]
    cy = np.linspace(-1.3, 1.3, n)[:, None]
    x = np.zeros((n, n))
    y = np.zeros((n, n))
    count = np.zeros((n, n), dtype=np.int64)
    for _ in range(STEPS):
        xx, yy = x * x, y * y
        near = xx + yy < 4.0
        count += near
        # Points that have left stay where they are, so that nothing overflows.
        y = np.where(near, 2.0 * x * y + cy, y)
        x = np.where(near, xx - yy + cx, x)
    return count
