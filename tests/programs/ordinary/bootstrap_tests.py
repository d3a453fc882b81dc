"""Statistics: the bootstrap, a permutation test and a regression."""

import numpy as np

rng = np.random.default_rng(8)
old = rng.normal(10.0, 2.0, 120)
new = rng.normal(10.7, 2.4, 140)
print("means", old.mean().round(6), new.mean().round(6))

# The confidence interval of the difference of means, by resampling in a loop.
differences = np.empty(4000)
for i in range(differences.size):
    a = rng.choice(old, old.size)
    b = rng.choice(new, new.size)
    differences[i] = b.mean() - a.mean()
print("bootstrap", np.percentile(differences, [2.5, 50, 97.5]).round(6))

# The same for medians, as one array.
rows = rng.integers(0, new.size, (4000, new.size))
medians = np.median(new[rows], axis=1)
print("median", medians.mean().round(6), medians.std(ddof=1).round(6))

observed = new.mean() - old.mean()
pooled = np.concatenate([old, new])
larger = 0
for _ in range(4000):
    shuffled = rng.permutation(pooled)
    if abs(shuffled[old.size :].mean() - shuffled[: old.size].mean()) >= observed:
        larger += 1
print("permutation", (larger + 1) / 4001)

x = rng.uniform(0, 5, 300)
y = 1.5 + 0.8 * x + rng.normal(scale=1.0, size=x.size)
design = np.column_stack([np.ones_like(x), x])
slope, *_ = np.linalg.lstsq(design, y, rcond=None)
slopes = []
for _ in range(1000):
    chosen = rng.integers(0, x.size, x.size)
    fit, *_ = np.linalg.lstsq(design[chosen], y[chosen], rcond=None)
    slopes.append(fit[1])
print("slope", slope[1].round(6), "+-", np.std(slopes).round(6))
print("correlation", np.corrcoef(x, y)[0, 1].round(6))
