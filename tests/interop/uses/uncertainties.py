"""uncertainties: numbers with errors."""

import numpy as np
from uncertainties import correlated_values, ufloat, unumpy


def arrays(small):
    u = unumpy.uarray(small, small / 10)
    return (
        unumpy.nominal_values(u * 2),
        unumpy.std_devs(unumpy.sqrt(u + 1)),
        repr(u[1]),
        u.sum().nominal_value,
    )


def operators(small):
    v = ufloat(2.0, 0.1)
    return [(w.nominal_value, w.std_dev) for w in (small[:4] * v)], [
        w.std_dev for w in (v + small[:4])
    ]


def correlated(small):
    a, b = correlated_values(small[:2], np.array([[0.2, 0.1], [0.1, 0.3]]))
    return (a - b).std_dev, unumpy.umatrix(small[:4].reshape(2, 2), 0.1).nominal_values
