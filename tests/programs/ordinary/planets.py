"""Planets and asteroids move under gravity, in small steps."""

import numpy as np

G = 4 * np.pi**2  # in astronomical units, years and masses of the Sun
names = ["Sun", "Venus", "Earth", "Mars", "Jupiter", "Saturn"]
mass = np.array([1.0, 2.4e-6, 3.0e-6, 3.2e-7, 9.5e-4, 2.9e-4])
radius = np.array([0.0, 0.723, 1.0, 1.524, 5.203, 9.537])

position = np.zeros((mass.size, 3))
velocity = np.zeros((mass.size, 3))
angle = np.linspace(0, 5, mass.size)
position[:, 0] = radius * np.cos(angle)
position[:, 1] = radius * np.sin(angle)
speed = np.sqrt(G / np.where(radius > 0, radius, np.inf))
velocity[:, 0] = -speed * np.sin(angle)
velocity[:, 1] = speed * np.cos(angle)
velocity -= mass @ velocity / mass.sum()


def acceleration(x):
    """Return the acceleration of each body by all others."""
    offset = x[None, :, :] - x[:, None, :]
    distance = np.sqrt((offset**2).sum(axis=-1))
    np.fill_diagonal(distance, 1.0)
    return G * (offset * (mass / distance**3)[:, :, None]).sum(axis=1)


def energy(x, v):
    """Return the energy of all bodies."""
    kinetic = 0.5 * np.sum(mass * np.linalg.norm(v, axis=1) ** 2)
    i, j = np.triu_indices(mass.size, 1)
    potential = -G * np.sum(mass[i] * mass[j] / np.linalg.norm(x[i] - x[j], axis=1))
    return kinetic + potential


begin, step, path = energy(position, velocity), 0.002, []
force = acceleration(position)
for number in range(6000):
    velocity += 0.5 * step * force
    position += step * velocity
    force = acceleration(position)
    velocity += 0.5 * step * force
    if number % 1500 == 0:
        path.append(position[2].copy())

print("energy", f"{begin:.12f}", f"{energy(position, velocity):.12f}")
for name, place in zip(names, position, strict=True):
    print(f"{name:8}", " ".join(f"{value:12.8f}" for value in place))
print(np.array(path).round(8))
print("distances of the Sun", np.linalg.norm(position - position[0], axis=1).round(6))
