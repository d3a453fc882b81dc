"""mpmath: functions of any precision."""

import mpmath
import numpy as np


def matrices(x):
    made = mpmath.matrix(x[:9].reshape(3, 3) * 1.0 + np.eye(3))
    right = mpmath.matrix(x[:3] + 1)
    return (
        np.array(mpmath.lu_solve(made, right).tolist(), dtype=float),
        float(mpmath.det(made)),
        np.array((made * made).tolist(), dtype=float),
    )


def functions(x):
    gamma = np.frompyfunc(mpmath.gamma, 1, 1)
    return gamma(x[:5] + 1).astype(float), [float(mpmath.zeta(v)) for v in x[:3] + 2]


def numbers(x):
    y = x * 2
    return (
        str(mpmath.mpf(y[1])),
        str(mpmath.mpc(y[1], y[2])),
        str(mpmath.fsum(y[:9])),
        str(mpmath.fdot(y[:3], y[3:6])),
    )


def polynomials(x):
    y = x[:4] + 1
    return str(mpmath.polyval(y.tolist(), 2)), [
        str(r) for r in mpmath.polyroots(list(y[:3]))
    ]


def integrals(x):
    return str(mpmath.quad(lambda t: t * x[1], [0, x[2] * 2])), str(
        mpmath.diff(lambda t: t**2, x[3] + 1)
    )


def vectorized(x):
    sine = np.vectorize(mpmath.sin, otypes=[float])
    return sine(x[:200] * 2)


def operators(x):
    made = x[:4] * mpmath.mpf(2)
    return [str(v) for v in made], made.dtype, [str(v) for v in mpmath.mpf(3) + x[:2]]
