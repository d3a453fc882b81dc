"""Matrix products with elementwise work between them: a small network, forward."""

from __future__ import annotations

import math
from typing import Any

DTYPE = "float32"
LAYERS = 3


def run(np: Any, size: int) -> Any:
    """Return the output for a batch; the matrices have n rows and n columns."""
    n = max(2, math.isqrt(size) // 2)
    i = np.arange(n, dtype=np.float32)
    x = np.sin(0.1 * i[:, None] + 0.3 * i[None, :])
    for layer in range(1, LAYERS + 1):
        weight = np.cos(0.05 * layer * i[:, None] * (1.0 + 0.01 * i[None, :])) / n**0.5
        bias = 0.01 * i
        z = x @ weight + bias
        x = z / (1.0 + np.exp(-z)) + 0.1 * x
    return x


TOLERANCE = 1e-3  # the layers amplify the errors of single precision
