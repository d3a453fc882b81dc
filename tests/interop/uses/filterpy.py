"""filterpy: Kalman filters."""

import numpy as np
from filterpy.kalman import KalmanFilter


def kalman(small):
    k = KalmanFilter(2, 1)
    k.F = np.array([[1.0, 1.0], [0.0, 1.0]])
    k.H = np.array([[1.0, 0.0]])
    k.P *= 10
    means = []
    for z in small[:10]:
        k.predict()
        k.update(z)
        means.append(k.x.copy())
    return means, k.P, k.batch_filter(small[:5])[0]
