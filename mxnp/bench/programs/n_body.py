"""Bodies under gravity, all pairs: leapfrog steps."""

from __future__ import annotations

import math
from typing import Any

DTYPE = "float64"
STEPS = 4
SOFTENING = 0.05


def accelerations(np: Any, position: Any, mass: Any) -> Any:
    """Return the pull of all bodies on each, shape (n, 3)."""
    apart = position[None, :, :] - position[:, None, :]  # (n, n, 3)
    squared = (apart * apart).sum(axis=-1) + SOFTENING**2
    weight = mass / (squared * np.sqrt(squared))
    return (apart * weight[:, :, None]).sum(axis=1)


def run(np: Any, size: int) -> Any:
    """Return positions and velocities; the largest array is (n, n, 3)."""
    n = max(2, math.isqrt(size // 3))
    angle = np.linspace(0.0, 40.0, n)
    radius = np.linspace(0.5, 2.0, n)
    position = np.stack(
        [radius * np.cos(angle), radius * np.sin(angle), 0.1 * np.sin(3.0 * angle)],
        axis=1,
    )
    velocity = np.stack([-position[:, 1], position[:, 0], np.zeros(n)], axis=1)
    mass = np.full(n, 1.0 / n)
    dt = 0.01
    pull = accelerations(np, position, mass)
    for _ in range(STEPS):
        velocity += 0.5 * dt * pull
        position += dt * velocity
        pull = accelerations(np, position, mass)
        velocity += 0.5 * dt * pull
    return position, velocity
