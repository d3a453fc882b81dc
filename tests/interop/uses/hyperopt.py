"""hyperopt: searches for the best parameters."""

import hyperopt
import numpy as np
from hyperopt import hp
from hyperopt.pyll import stochastic


def _best(objective, space, **options):
    return hyperopt.fmin(
        objective,
        space,
        algo=hyperopt.tpe.suggest,
        max_evals=12,
        rstate=np.random.default_rng(1),
        show_progressbar=False,
        **options,
    )


def objectives(x):
    target = x[:50] * 1.0 + 1
    trials = hyperopt.Trials()
    best = _best(
        lambda v: ((target - v) ** 2).mean(), hp.uniform("v", 0, 3), trials=trials
    )
    return best, trials.losses()


def spaces(x):
    y = x * 2
    space = {
        "a": hp.uniform("a", y.min(), y.max()),
        "b": hp.choice("b", [1, 2, 3]),
        "c": hp.quniform("c", 0, 10, 2),
    }
    best = _best(lambda p: p["a"] + p["b"] * y[3] + p["c"], space)
    return best, hyperopt.space_eval(space, best)


def samples(x):
    space = {"a": hp.normal("a", x[1] * 2, 1), "b": hp.randint("b", 5)}
    return stochastic.sample(space, rng=np.random.default_rng(3))


def results(x):
    trials = hyperopt.Trials()
    _best(
        lambda v: {
            "loss": (x[:5] * v).sum(),
            "status": hyperopt.STATUS_OK,
            "rows": x[:5] * v,
        },
        hp.uniform("v", 1, 2),
        trials=trials,
    )
    return (
        trials.results[0]["loss"],
        trials.results[0]["rows"],
        trials.best_trial["result"]["rows"],
    )
