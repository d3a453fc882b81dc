"""cma: evolution strategies."""

import cma
import numpy as np

TOLERANCES = {"minimum": 1e-08, "asked_and_told": 1e-08, "functions": 1e-08}
OPTIONS = {"seed": 3, "verbose": -9, "maxiter": 15, "verb_log": 0}


def minimum(small):
    found, made = cma.fmin2(
        lambda v: float(np.sum(v**2)), small[:4] * 1.0 + 1, 0.5, OPTIONS
    )
    return found, made.result.fbest


def asked_and_told(x):
    made = cma.CMAEvolutionStrategy(x[:5] * 2, 0.3, OPTIONS)
    for _ in range(5):
        found = made.ask()
        made.tell(found, [np.sum((np.asarray(f) - 1) ** 2) for f in found])
    return made.mean, made.result.xbest, made.sigma


def starts(x):
    start = x[:5] * 1.0 + 1
    made = cma.CMAEvolutionStrategy(start, 0.3, OPTIONS)
    made.tell(*made.ask_and_eval(lambda v: (v * v).sum()))
    return start, made.x0


def functions(x):
    y = x[:9] * 2
    return [cma.ff.sphere(y), cma.ff.elli(y), cma.ff.rosen(y), cma.ff.rastrigin(y)], y


def bounds(small):
    options = {**OPTIONS, "bounds": [(small[:3] * 0).tolist(), small[:3] + 1]}
    made = cma.CMAEvolutionStrategy(small[:3] * 0 + 0.5, 0.2, options)
    found = np.array(made.ask())
    return found.min() >= 0, found.shape
