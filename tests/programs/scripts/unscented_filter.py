"""Track a moving object with an unscented Kalman filter (filterpy)."""

import numpy as np
from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter

step = np.array([[1.0, 0.1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1]])


def move(x, dt):
    return step @ x


def measure(x):
    return np.array([np.hypot(x[0], x[2]), np.arctan2(x[2], x[0])])


points = MerweScaledSigmaPoints(4, alpha=0.1, beta=2.0, kappa=-1.0)
tracker = UnscentedKalmanFilter(4, 2, 0.1, measure, move, points)
tracker.x = np.array([10.0, 1.0, 10.0, 0.5])
tracker.R = np.diag([0.1, 0.001])
tracker.Q = 0.001 * np.eye(4)
rng = np.random.RandomState(9)
truth = np.array([10.0, 1.0, 10.0, 0.5])
for _ in range(3000):
    truth = move(truth, 0.1)
    tracker.predict()
    tracker.update(measure(truth) + rng.normal(size=2) * [0.3, 0.03])
print(f"{tracker.x[0]:.2f} {tracker.x[2]:.2f}")
