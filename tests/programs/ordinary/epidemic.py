"""Agents walk on a grid and infect each other."""

import numpy as np

rng = np.random.default_rng(5)
side, people, days = 150, 12_000, 150
STEPS = np.array([[0, 0], [0, 1], [0, -1], [1, 0], [-1, 0]])
HEALTHY, ILL, IMMUNE = 0, 1, 2

place = rng.integers(0, side, (people, 2))
state = np.full(people, HEALTHY)
state[rng.choice(people, 20, replace=False)] = ILL
left = np.where(state == ILL, 14, 0)
history = []

for day in range(days):
    place = (place + STEPS[rng.integers(0, 5, people)]) % side
    cell = place[:, 0] * side + place[:, 1]
    ill = state == ILL
    around = np.bincount(cell[ill], minlength=side * side).reshape(side, side)
    around = around + np.roll(around, 1, axis=0) + np.roll(around, -1, axis=0)
    risk = 1 - 0.85 ** around.ravel()[cell]
    caught = (state == HEALTHY) & (rng.random(people) < risk)
    left[ill] -= 1
    state[ill & (left == 0)] = IMMUNE
    state[caught] = ILL
    left[caught] = rng.integers(10, 18, np.count_nonzero(caught))
    history.append([np.count_nonzero(state == kind) for kind in range(3)])
    if day % 30 == 0:
        print(f"day {day:3}: healthy {history[-1][0]}, ill {history[-1][1]}")

history = np.array(history)
peak = history[:, ILL].argmax()
print(
    "peak on day", peak, "with", history[peak, ILL], "ill; immune", history[-1, IMMUNE]
)
crowd, where = np.unique(cell, return_counts=True)
print("crowded cells", crowd[where.argsort(kind="stable")[-3:]], where.max())
print("growth", np.diff(history[:20, ILL]).tolist())
