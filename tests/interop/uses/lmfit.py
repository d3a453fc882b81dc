"""lmfit: fits of models."""

import lmfit
import numpy as np

TOLERANCES = {"model": 1e-8, "minimize": 1e-8}


def model(x):
    t = np.arange(x.size) / x.size
    result = lmfit.Model(lambda t, a, b: a * t + b).fit(x, t=t, a=1.0, b=0.0)
    gauss = lmfit.models.GaussianModel()
    return (
        result.best_fit,
        result.params["a"].value,
        gauss.eval(x=t, amplitude=1.0, center=0.5, sigma=0.1),
    )


def minimize(x):
    p = lmfit.Parameters()
    p.add("a", value=1.0, min=0)
    return (
        lmfit.minimize(lambda p, data: p["a"].value - data, p, args=(x,))
        .params["a"]
        .value
    )
