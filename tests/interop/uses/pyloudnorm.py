"""pyloudnorm: loudness of sounds."""

import pyloudnorm

# Filters of SciPy, and sums in another order.
TOLERANCES = {"loudness": 1e-09, "normalized": 1e-09}


def _sound(large):
    return (large.reshape(-1, 2) - 0.5) * 1.5


def loudness(large):
    sound = _sound(large)
    before = sound + 0
    made = pyloudnorm.Meter(8000)
    return (
        made.integrated_loudness(sound),
        made.integrated_loudness(sound[:, 0] * 2),
        before,
        sound,
    )


def normalized(large):
    sound = _sound(large)
    before = sound + 0
    return (
        pyloudnorm.normalize.peak(sound, -1.0),
        pyloudnorm.normalize.loudness(sound, -20.0, -15.0),
        before,
        sound,
    )


def error_short(small):
    pyloudnorm.Meter(8000).integrated_loudness(small * 2)
