"""A scan of parameters in a pool of spawned processes, and with joblib."""

import multiprocessing

import numpy as np
from joblib import Parallel, delayed


def final_size(rate):
    """Return the share that an epidemic reaches, and its highest level."""
    s, i = 0.999, 0.001
    level = np.empty(2000)
    for step in range(level.size):
        caught = rate * s * i * 0.1
        s, i = s - caught, i + caught - 0.02 * i
        level[step] = i
    return 1 - s, level.max()


def noise(seed):
    """Return the mean of a smoothed random walk."""
    walk = np.random.default_rng(seed).normal(size=200_000).cumsum()
    smooth = np.convolve(walk, np.ones(25) / 25, mode="valid")
    return float(np.abs(smooth).mean())


if __name__ == "__main__":
    rates = np.linspace(0.2, 1.2, 12)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        sizes = np.array(pool.map(final_size, rates))
    for rate, (share, peak) in zip(rates, sizes, strict=True):
        print(f"rate {rate:.3f}: {share:.6f} of all, at most {peak:.6f} at once")
    means = Parallel(n_jobs=2)(delayed(noise)(seed) for seed in range(6))
    print("walks", np.round(means, 8))
