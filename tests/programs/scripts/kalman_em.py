"""Learn the parameters of a linear system with expectation maximisation (pykalman)."""

import numpy as np
from pykalman import KalmanFilter

rng = np.random.RandomState(8)
steps = 400
states = np.cumsum(rng.normal(size=(steps, 2)), axis=0)
observations = states @ np.array([[1.0, 0.5, 0.2], [0.1, 1.0, 0.7]])
observations += rng.normal(size=observations.shape)
model = KalmanFilter(n_dim_state=2, n_dim_obs=3)
model = model.em(observations, n_iter=15)
print(f"{model.loglikelihood(observations):.1f}")
