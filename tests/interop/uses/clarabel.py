"""clarabel: convex cone problems."""

import clarabel
import numpy as np
import scipy.sparse as sp


def _solver(x, scale=1.0):
    a = x[:24].reshape(8, 3) * 1.0 + 0.1
    rows = sp.csc_matrix(np.vstack([a, -np.eye(3)]))
    right = np.concatenate([a.sum(axis=1) * 2 * scale, np.zeros(3)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    quadratic = sp.csc_matrix(np.diag(x[:3] + 1))
    cones = [clarabel.NonnegativeConeT(11)]
    return clarabel.DefaultSolver(quadratic, -(x[:3] + 5), rows, right, cones, settings)


def solved(x):
    found = _solver(x).solve()
    return np.round(np.array(found.x), 6), np.round(found.z, 5), str(found.status)


def updated(x):
    solver = _solver(x)
    solver.solve()
    solver.update(q=-(x[:3] + 2))
    return np.round(np.array(solver.solve().x), 6)


def scaled(x):
    return np.round(np.array(_solver(x, x[1] + 1).solve().x) * 2, 5)
