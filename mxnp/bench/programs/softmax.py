"""A softmax over rows with the loss and its gradient, as in training a classifier."""

from __future__ import annotations

from typing import Any

DTYPE = "float32"
CLASSES = 100


def run(np: Any, size: int) -> Any:
    """Return loss and gradient of logits of shape (n, 100)."""
    n = max(1, size // CLASSES)
    ramp = np.arange(n * CLASSES, dtype=np.float32).reshape(n, CLASSES)
    logits = 3.0 * np.sin(0.37 * ramp % 6.25)
    labels = np.arange(n) * 7 % CLASSES
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    total = exponentials.sum(axis=1, keepdims=True)
    probability = exponentials / total
    row = np.arange(n)
    loss = (np.log(total[:, 0]) - shifted[row, labels]).mean()
    gradient = probability.copy()
    gradient[row, labels] -= 1.0
    gradient /= n
    return loss, gradient
