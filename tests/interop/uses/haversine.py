"""haversine: distances on the Earth."""

import numpy as np
from haversine import (
    Direction,
    Unit,
    haversine,
    haversine_vector,
    inverse_haversine,
    inverse_haversine_vector,
)


def _places(x):
    return np.stack([x[::2] * 80, x[1::2] * 170], axis=1) + 1


def pairs(x):
    places = _places(x)
    return haversine_vector(places, places[::-1]), haversine_vector(
        places, places[::-1], Unit.MILES
    )


def tables(x):
    places = _places(x)[:8]
    return haversine_vector(places, places[:3] * 0.5, comb=True)


def single(x):
    a, b = _places(x)[:2]
    return haversine(a, b), haversine(tuple(a), (x[1], x[2] * 2), unit="m")


def lists(x):
    places = _places(x)[:3]
    return haversine_vector(list(places), [tuple(p) for p in places + 1])


def inverse(x):
    places = _places(x)[:20]
    return inverse_haversine_vector(
        places, x[:20] * 9, [Direction.NORTH] * 20
    ), inverse_haversine(tuple(places[0]), x[3] * 2, Direction.EAST)


def error_range(x):
    haversine_vector(_places(x)[:3] * 100, _places(x)[:3])
