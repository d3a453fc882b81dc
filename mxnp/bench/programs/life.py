"""Conway's game of life on a torus."""

from __future__ import annotations

import math
from typing import Any

DTYPE = "uint8"
STEPS = 10


def run(np: Any, size: int) -> Any:
    """Return the cells after some generations."""
    n = max(3, math.isqrt(size))
    i = np.arange(n * n).reshape(n, n)
    cells = (i * i % 7 < 3).astype(np.uint8)
    for _ in range(STEPS):
        rows = np.roll(cells, 1, axis=0) + cells + np.roll(cells, -1, axis=0)
        around = np.roll(rows, 1, axis=1) + rows + np.roll(rows, -1, axis=1) - cells
        cells = ((around == 3) | ((cells == 1) & (around == 2))).astype(np.uint8)
    return cells
