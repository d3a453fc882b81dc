"""Sample a Gaussian in 20 dimensions with 400 walkers (emcee)."""

import emcee
import numpy as np

rng = np.random.RandomState(1)
dimensions, walkers = 20, 400
factors = rng.normal(size=(dimensions, dimensions))
precision = np.linalg.inv(factors @ factors.T + np.eye(dimensions))


def log_probability(x):
    return -0.5 * np.einsum("wi,ij,wj->w", x, precision, x)


sampler = emcee.EnsembleSampler(walkers, dimensions, log_probability, vectorize=True)
sampler.random_state = np.random.RandomState(2).get_state()
sampler.run_mcmc(rng.normal(size=(walkers, dimensions)), 1800)
chain = sampler.get_chain(discard=200, flat=True)
print(f"{sampler.acceptance_fraction.mean():.3f} {chain.std():.3f}")
