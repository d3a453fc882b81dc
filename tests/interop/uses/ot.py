"""pot: optimal transport."""

import numpy as np
import ot

TOLERANCES = {
    "plans": 1e-09,
    "regularized": 1e-09,
    "barycentres": 1e-09,
    "sliced": 1e-09,
}


def _places(x):
    return x[:60].reshape(-1, 2) * 1.0, x[:60].reshape(-1, 2)[::-1] + 0.5


def plans(x):
    a, b = _places(x)
    costs = ot.dist(a, b)
    weights = ot.unif(len(a))
    before = costs + 0
    return (
        ot.emd(weights, weights, costs),
        ot.emd2(weights, weights, costs),
        before,
        costs,
    )


def regularized(x):
    a, b = _places(x)
    weights = np.ones(len(a)) / len(a)
    return ot.sinkhorn(
        weights, weights, ot.dist(a, b), 0.5
    ), ot.bregman.empirical_sinkhorn2(a, b, 0.5)


def lines(x):
    return ot.wasserstein_1d(x * 1.0, x * 2 + 1), ot.emd2_1d(x[:90] + 1, x[:90] * 2)


def sliced(x):
    a, b = _places(x)
    return ot.sliced_wasserstein_distance(a, b, n_projections=20, seed=1)


def barycentres(x):
    weights = x[:30].reshape(10, 3) + 0.1
    weights = weights / weights.sum(axis=0)
    costs = ot.utils.dist0(10)
    return ot.bregman.barycenter(weights, costs / costs.max(), 0.05)


def adapted(x):
    a, b = _places(x)
    made = ot.da.EMDTransport().fit(Xs=a, Xt=b)
    return made.transform(Xs=a), made.coupling_ * 2


def backends(x):
    a, _ = _places(x)
    return type(ot.backend.get_backend(a)).__name__, ot.solve_sample(a, a + 1).value
