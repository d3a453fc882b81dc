"""resampy: resampling of sound."""

import numpy as np
import resampy

TOLERANCES = {"resample": 1e-12, "at_times": 1e-12}


def resample(x):
    return resampy.resample(x, 8000, 4000), resampy.resample(
        x.reshape(2, -1), 100, 150, filter="kaiser_fast"
    )


def at_times(x):
    return resampy.resample_nu(x, 100.0, np.arange(20) / 50)
