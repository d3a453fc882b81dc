"""osqp: quadratic programs."""

import numpy as np
import osqp
from scipy import sparse

TOLERANCES = {"solve": 1e-9, "update": 1e-9}


def _problem(small):
    solver = osqp.OSQP()
    solver.setup(
        sparse.csc_matrix(np.diag(small[:4] + 1)),
        small[4:8],
        sparse.csc_matrix(np.eye(4)),
        np.zeros(4),
        np.ones(4),
        verbose=False,
    )
    return solver


def solve(small):
    result = _problem(small).solve()
    return result.x, result.info.status


def update(small):
    solver = _problem(small)
    solver.update(q=-small[:4], u=small[:4])
    return solver.solve().x
