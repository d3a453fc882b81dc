"""contourpy: contours."""

import contourpy
import numpy as np


def lines(x):
    grid = contourpy.contour_generator(z=x.reshape(-1, 20))
    return grid.lines(0.5)[:20], grid.filled(0.2, 0.4)[0][:5]


def coordinates(x):
    z = x[:400].reshape(-1, 20)
    gx, gy = np.meshgrid(np.arange(20.0), np.arange(len(z)) * 2.0)
    return contourpy.contour_generator(gx, gy, z, name="serial").lines(0.3)[:5]
