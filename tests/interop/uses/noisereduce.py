"""noisereduce: sounds without noise."""

import noisereduce as nr

TOLERANCES = {"reduced": 1e-06, "channels": 1e-06, "with_noise": 1e-06}


def _sound(large):
    return (large - 0.5) * 2.0


def reduced(large):
    sound = _sound(large)
    before = sound + 0
    found = nr.reduce_noise(sound, 8000, stationary=True)
    return found, before, sound


def channels(large):
    return nr.reduce_noise(_sound(large).reshape(2, -1), 8000)


def with_noise(large):
    sound = _sound(large)
    return nr.reduce_noise(sound, 8000, y_noise=sound[:4000] * 0.5, stationary=True)
