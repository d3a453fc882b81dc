"""N bodies under gravity: a cold disc of stars around a heavy centre, and an intruder.

Leapfrog integration (kick, drift, kick), which keeps the energy of the system; forces
between all pairs by broadcasting, softened at short distance.

Source: W. Dehnen and J. I. Read, "N-body simulations of gravitational dynamics", 2011.
Units: the gravitational constant, the central mass and the disc's radius are 1.
"""

import argparse

try:
    import matplotlib
except ModuleNotFoundError:
    raise SystemExit("the picture needs matplotlib: pip install matplotlib") from None

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

SOFTENING = 0.05


def acceleration(position, mass):
    """Acceleration of every body: (n, 3), (n,) -> (n, 3)."""
    apart = position[None, :, :] - position[:, None, :]  # (n, n, 3)
    square = (apart**2).sum(axis=-1) + SOFTENING**2
    weight = mass[None, :] * square**-1.5
    np.fill_diagonal(weight, 0.0)
    return np.einsum("ij,ijk->ik", weight, apart)


def energy(position, velocity, mass):
    """Kinetic and potential energy of the system."""
    kinetic = 0.5 * (mass * (velocity**2).sum(axis=1)).sum()
    i, j = np.triu_indices(len(mass), k=1)
    distance = np.sqrt(((position[i] - position[j]) ** 2).sum(axis=1) + SOFTENING**2)
    return kinetic, -(mass[i] * mass[j] / distance).sum()


def disc(n, rng):
    """Positions, velocities and masses of a disc in circular motion, and its visitor."""
    radius = np.sqrt(rng.uniform(0.1, 1.0, n))
    angle = rng.uniform(0, 2 * np.pi, n)
    position = np.zeros((n + 2, 3))
    position[2:] = np.stack(
        [radius * np.cos(angle), radius * np.sin(angle), 0.02 * rng.standard_normal(n)], axis=1
    )
    velocity = np.zeros_like(position)
    speed = 1 / np.sqrt(radius)
    velocity[2:, 0], velocity[2:, 1] = -speed * np.sin(angle), speed * np.cos(angle)
    mass = np.full(n + 2, 1e-4)
    mass[0] = 1.0
    position[1], velocity[1], mass[1] = [2.2, -1.2, 0.2], [-0.9, 0.55, -0.1], 0.2
    return position, velocity, mass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=300, help="stars in the disc")
    parser.add_argument("--steps", type=int, default=750, help="up to t = 3")
    parser.add_argument("--output", default="n_body.png")
    options = parser.parse_args()

    position, velocity, mass = disc(options.n, np.random.default_rng(2011))
    dt = 3.0 / options.steps
    kinetic, potential = energy(position, velocity, mass)
    track = np.empty((options.steps + 1, *position.shape))
    track[0] = position
    force = acceleration(position, mass)
    for i in range(options.steps):
        velocity += 0.5 * dt * force
        position += dt * velocity
        force = acceleration(position, mass)
        velocity += 0.5 * dt * force
        track[i + 1] = position
    drift = sum(energy(position, velocity, mass)) - (kinetic + potential)
    spread = np.linalg.norm(position[2:] - position[0], axis=1)
    print(f"{len(mass)} bodies, {options.steps} steps, t = {options.steps * dt:.2f}")
    print(f"kinetic energy {kinetic:.6f}, potential {potential:.6f} at the start")
    print(f"drift of their sum {abs(drift / potential):.2e} of the potential")
    print("distance from the centre, quartiles:", np.percentile(spread, [25, 50, 75]).round(4))
    print(f"stars thrown beyond 2: {np.count_nonzero(spread > 2)}")

    figure, axes = plt.subplots(1, 3, figsize=(12, 4.3), layout="constrained")
    for ax, i in zip(axes, (0, options.steps // 2, options.steps)):
        x, y = track[i, 2:, 0], track[i, 2:, 1]
        past = track[max(i - options.steps // 12, 0) : i + 1]
        ax.plot(past[:, 2:, 0], past[:, 2:, 1], color="tab:blue", lw=0.4, alpha=0.4)
        ax.scatter(x, y, s=3, color="midnightblue")
        ax.plot(track[: i + 1, 1, 0], track[: i + 1, 1, 1], color="tab:red", lw=1)
        ax.scatter(*track[i, :2, :2].T, s=[60, 30], color=["gold", "tab:red"], edgecolor="k")
        ax.set(title=f"t = {i * dt:.2f}", xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), aspect="equal")
    figure.supxlabel("distance, in radii of the disc; red: the intruder", fontsize="medium")
    figure.savefig(options.output, dpi=100)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()
