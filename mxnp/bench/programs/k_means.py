"""Groups of points in the plane: Lloyd's iteration with a fixed number of steps."""

from __future__ import annotations

from typing import Any

DTYPE = "float64"
GROUPS = 8
STEPS = 5


def run(np: Any, size: int) -> Any:
    """Return centres and the group of each point; the largest array is (n, 8, 2)."""
    n = max(GROUPS, size // (2 * GROUPS))
    t = np.arange(n) * 0.618033988749895
    points = np.stack([np.sin(9.0 * t) + 0.3 * t % 1.0, np.cos(5.0 * t)], axis=1)
    centres = points[:: n // GROUPS][:GROUPS].copy()
    nearest = np.zeros(n, dtype=np.int64)
    for _ in range(STEPS):
        apart = points[:, None, :] - centres[None, :, :]
        nearest = (apart * apart).sum(axis=2).argmin(axis=1)
        count = np.bincount(nearest, minlength=GROUPS)
        for axis in range(2):
            total = np.bincount(nearest, weights=points[:, axis], minlength=GROUPS)
            centres[:, axis] = np.where(
                count > 0, total / np.maximum(count, 1), centres[:, axis]
            )
    return centres, nearest
