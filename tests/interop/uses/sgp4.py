"""sgp4: orbits of satellites."""

import numpy as np
from sgp4.api import Satrec, SatrecArray

LINES = (
    "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
    "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
)


def single():
    made = Satrec.twoline2rv(*LINES)
    return made.sgp4(2458827.362605 + np.float64(1), 0.5), made.sgp4_tsince(
        np.arange(3.0)[2]
    )


def arrays(x):
    made = Satrec.twoline2rv(*LINES)
    days, parts = x * 2.0 + 2458827, x * 0.5
    errors, positions, speeds = made.sgp4_array(days, parts)
    return errors, positions * 2, speeds, np.linalg.norm(positions, axis=1)


def constellations(x):
    made = SatrecArray([Satrec.twoline2rv(*LINES)] * 3)
    errors, positions, _ = made.sgp4(x[:50] + 2458827, x[:50] * 0.1)
    return errors, positions + 1


def error_lengths(x):
    Satrec.twoline2rv(*LINES).sgp4_array(x + 2458827, x[:-1] * 1.0)
