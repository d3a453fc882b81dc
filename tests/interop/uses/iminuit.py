"""iminuit: function minimization."""

import iminuit
import numpy as np
from iminuit.cost import LeastSquares, UnbinnedNLL


def minimize(small):
    m = iminuit.Minuit(lambda v: float(((v - small[:3]) ** 2).sum()), np.ones(3))
    m.migrad()
    return np.array(m.values), np.array(m.covariance), m.fval


def costs(x):
    t = np.arange(x.size) / x.size
    m = iminuit.Minuit(
        LeastSquares(t, x, np.ones(x.size), lambda t, a, b: a * t + b), a=1, b=0
    )
    m.migrad()
    n = iminuit.Minuit(UnbinnedNLL(x, lambda v, s: np.exp(-v / s) / s), s=1)
    n.limits["s"] = (0.1, 5)
    return np.array(m.values), n.migrad().fval
