"""quadprog: quadratic programs."""

import numpy as np
import quadprog


def solve(small):
    g = np.diag(small[:4] + 1)
    return quadprog.solve_qp(g, small[4:8], np.eye(4), np.zeros(4))[:2]


def without_constraints(small):
    return quadprog.solve_qp(np.eye(3), small[:3])[0]
