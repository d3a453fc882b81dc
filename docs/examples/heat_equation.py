"""The heat equation on a plate: explicit finite differences, in place.

du/dt = alpha (d2u/dx2 + d2u/dy2) on a square plate whose edges are held at zero, with
three hot bars and a cold disc at the start. The time step keeps the scheme stable:
dt <= h^2 / (4 alpha).

Source: any textbook on finite differences, for example R. J. LeVeque, "Finite Difference
Methods for Ordinary and Partial Differential Equations", SIAM 2007, section 9.
"""

import argparse

try:
    import matplotlib
except ModuleNotFoundError:
    raise SystemExit("the picture needs matplotlib: pip install matplotlib") from None

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def plate(n):
    """Starting temperatures of an (n, n) plate of side 1, in degrees."""
    y, x = np.mgrid[0 : 1 : n * 1j, 0 : 1 : n * 1j]
    u = np.zeros((n, n))
    for left in (0.2, 0.45, 0.7):
        u[(x > left) & (x < left + 0.1) & (y > 0.15) & (y < 0.55)] = 100.0
    u[np.hypot(x - 0.5, y - 0.75) < 0.12] = -60.0
    return u


def step(u, r):
    """Advance the inside of the plate by one time step; r = alpha dt / h^2."""
    inside = u[1:-1, 1:-1]
    inside += r * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inside)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=256, help="points along a side")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--output", default="heat_equation.png")
    options = parser.parse_args()

    u = plate(options.n)
    h, alpha = 1 / (options.n - 1), 1.0
    dt = 0.2 * h * h / alpha
    frames, heat = [], []
    for i in range(options.steps + 1):
        if i % max(options.steps // 3, 1) == 0:
            frames.append((i * dt, u.copy()))
            heat.append(u.sum() * h * h)
            print(f"t = {i * dt:.5f}  mean {u.mean():9.5f}  min {u.min():9.4f}  max {u.max():9.4f}")
        step(u, alpha * dt / h**2)
    print(f"heat left: {heat[-1] / heat[0]:.4%} of the start")

    figure, axes = plt.subplots(
        1, len(frames), figsize=(3.1 * len(frames), 3), layout="constrained"
    )
    for ax, (time, frame) in zip(np.atleast_1d(axes), frames):
        image = ax.imshow(
            frame, cmap="RdBu_r", vmin=-100, vmax=100, origin="lower", extent=(0, 1, 0, 1)
        )
        ax.set_title(f"t = {time:.4f}")
        ax.set_xticks([0, 0.5, 1])
        ax.set_yticks([0, 0.5, 1])
    figure.colorbar(image, ax=axes, label="temperature (degrees)")
    figure.savefig(options.output, dpi=100)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()
