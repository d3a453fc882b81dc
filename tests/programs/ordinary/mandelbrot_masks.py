"""The Mandelbrot set, with masks of the points that are still near."""

import numpy as np

width, height, limit = 480, 320, 80
x = np.linspace(-2.2, 0.9, width)
y = np.linspace(-1.1, 1.1, height)
c = x + 1j * y[:, np.newaxis]

z = np.zeros_like(c)
steps = np.zeros(c.shape, dtype=int)
near = np.ones(c.shape, dtype=bool)
for _ in range(limit):
    z[near] = z[near] ** 2 + c[near]
    near &= np.abs(z) <= 2
    steps[near] += 1

inside = steps == limit
print("area", round(inside.mean() * 3.1 * 2.2, 6), "of", inside.sum(), "points")
print("escaped", np.bincount(steps[~inside], minlength=limit)[:12])
with np.errstate(divide="ignore", invalid="ignore"):
    smooth = np.where(inside, 0, steps + 1 - np.log2(np.log(np.abs(z))))
print("smooth", np.nanmean(smooth).round(6), smooth[::80, ::120].round(3).tolist())
picture = np.zeros((height, width, 3), dtype=np.uint8)
picture[..., 0] = np.interp(smooth, [0, 4, 20], [0, 200, 255])
picture[..., 2] = np.where(inside, 0, 255 - np.clip(smooth * 12, 0, 255))
print("colours", picture.reshape(-1, 3).sum(axis=0), np.unique(picture[..., 0]).size)
for line in steps[::16, ::6]:
    print("".join(" .,:;+*%#@"[min(9, s // 8)] for s in line))
