"""nlopt: nonlinear optimization."""

import nlopt
import numpy as np


def minimize(small):
    def objective(v, gradient):
        if gradient.size:
            gradient[:] = 2 * (v - small[:3])
        return float(((v - small[:3]) ** 2).sum())

    optimizer = nlopt.opt(nlopt.LD_LBFGS, 3)
    optimizer.set_min_objective(objective)
    optimizer.set_lower_bounds(np.zeros(3) - 1)
    optimizer.set_ftol_rel(1e-9)
    return optimizer.optimize(np.ones(3)), optimizer.last_optimum_value()


def without_gradient(small):
    optimizer = nlopt.opt(nlopt.LN_COBYLA, 2)
    optimizer.set_min_objective(lambda v, _: float(np.abs(v - small[1:3]).sum()))
    optimizer.set_maxeval(50)
    optimizer.set_initial_step(np.array([0.1, 0.2]))
    return optimizer.optimize(small[:2]), optimizer.get_lower_bounds()
