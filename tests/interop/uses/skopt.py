"""scikit-optimize: searches for the best parameters."""

import numpy as np
import skopt
from skopt import sampler, space

TOLERANCES = {"trees": 1e-9}


def trees(x):
    target = x[:3] * 1.0 + 1
    found = skopt.forest_minimize(
        lambda p: float(((np.array(p) - target[:2]) ** 2).sum()),
        [(0.0, 3.0)] * 2,
        n_calls=12,
        random_state=1,
    )
    return found.x, found.fun, np.asarray(found.func_vals) * 2


def spaces(x):
    made = space.Space(
        [space.Real(x.min(), x.max() + 1), space.Integer(0, 9), ["a", "b"]]
    )
    points = made.rvs(4, random_state=2)
    return (
        points,
        made.transform(points),
        made.inverse_transform(made.transform(points)),
    )


def bounds(x):
    made = space.Real(0.1, 10, prior="log-uniform")
    return made.transform(x[:9] + 0.5), made.inverse_transform(x[:9] * 0.9)


def samplers():
    return [
        s.generate([(0.0, 1.0), (0, 5)], 4, random_state=1)
        for s in (sampler.Lhs(), sampler.Sobol(), sampler.Halton())
    ]


def asked_and_told(x):
    made = skopt.Optimizer([(0.0, 1.0)], "RF", n_initial_points=4, random_state=3)
    for _ in range(6):
        point = made.ask()
        made.tell(point, x[3] * 2 + point[0])
    return made.Xi, made.yi
