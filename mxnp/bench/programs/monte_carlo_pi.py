"""Pi from random points in the unit square."""

from __future__ import annotations

from typing import Any

DTYPE = "float64"


def run(np: Any, size: int) -> Any:
    """Return the estimate and its standard error."""
    rng = np.random.default_rng(7)
    x, y = rng.random(size), rng.random(size)
    inside = np.where(x * x + y * y < 1.0, 4.0, 0.0)
    return inside.mean(), inside.std() / np.sqrt(size)
