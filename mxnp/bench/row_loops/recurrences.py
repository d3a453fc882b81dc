"""Recurrences, whose steps need the results of the steps before them."""

from __future__ import annotations

from typing import Any

Array = Any


def durbin(np: Any, r: Array) -> Array:
    """Solve the Yule-Walker equations by Durbin's recursion."""
    y = np.zeros_like(r)
    y[0] = alpha = -r[0]
    beta = 1.0
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(r[:k][::-1], y[:k])) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y


def tridiagonal_solve(
    np: Any, lower: Array, diagonal: Array, upper: Array, right: Array
) -> Array:
    """Solve a tridiagonal system for each column, by Thomas's algorithm."""
    n = len(diagonal)
    ratio, x = np.empty(diagonal.shape), np.empty(diagonal.shape)
    ratio[0] = upper[0] / diagonal[0]
    x[0] = right[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * ratio[i - 1]
        ratio[i] = upper[i] / pivot
        x[i] = (right[i] - lower[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] -= ratio[i] * x[i + 1]
    return x


def n_body(
    np: Any, position: Array, velocity: Array, mass: Array
) -> tuple[Array, Array]:
    """Return positions and velocities after 50 steps, a loop over the bodies each."""
    position, velocity = position.copy(), velocity.copy()
    dt, softening = 0.01, 0.05
    for _ in range(50):
        for i in range(len(mass)):
            apart = position - position[i]
            squared = (apart**2).sum(axis=1) + softening
            velocity[i] += dt * ((mass / (squared * np.sqrt(squared))) @ apart)
        position += dt * velocity
    return position, velocity


def neural_network(
    np: Any, x: Array, y: Array, first: Array, second: Array
) -> tuple[Array, Array]:
    """Return the weights of a network with one hidden layer after 3000 steps."""
    first, second = first.copy(), second.copy()
    rate = 0.1 / len(x)
    for _ in range(3000):
        hidden = np.tanh(x @ first)
        error = hidden @ second - y
        back = (error @ second.T) * (1.0 - hidden * hidden)
        second -= rate * (hidden.T @ error)
        first -= rate * (x.T @ back)
    return first, second
