"""emcee: Markov chain Monte Carlo."""

import emcee
import numpy as np

# Sums of large arrays add in another order.
TOLERANCES = {"autocorrelation": 1e-12}


def sample(small):
    np.random.seed(3)
    start = small[:24].reshape(8, 3)
    sampler = emcee.EnsembleSampler(8, 3, lambda v: -0.5 * np.sum(v**2))
    sampler.random_state = np.random.RandomState(1).get_state()
    sampler.run_mcmc(start, 5)
    return sampler.get_chain(), sampler.get_log_prob(flat=True)


def autocorrelation(x):
    return emcee.autocorr.function_1d(x), emcee.autocorr.integrated_time(x, quiet=True)
