"""pymoo: optimization with several objectives."""

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.problem import Problem
from pymoo.indicators.hv import HV
from pymoo.optimize import minimize
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting


class _Two(Problem):
    def __init__(self):
        super().__init__(n_var=2, n_obj=2, xl=np.zeros(2), xu=np.ones(2))

    def _evaluate(self, x, out, *args, **kwargs):
        out["F"] = np.column_stack([x[:, 0], 1 - np.sqrt(x[:, 0]) + x[:, 1]])


def evolve(small):
    result = minimize(_Two(), NSGA2(pop_size=10), ("n_gen", 5), seed=1)
    return result.F, result.X


def fronts(small):
    return NonDominatedSorting().do(
        small.reshape(-1, 2), only_non_dominated_front=True
    ), HV(ref_point=np.ones(2) * 2)(small.reshape(-1, 2))
