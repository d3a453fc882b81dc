"""scs: convex cone problems."""

import numpy as np
import scipy.sparse as sp
import scs


def _problem(x):
    a = x[:24].reshape(8, 3) * 1.0 + 0.1
    data = {"A": sp.csc_matrix(np.vstack([a, -np.eye(3)])), "c": -(x[:3] + 1)}
    data["b"] = np.concatenate([a.sum(axis=1) * 2, np.zeros(3)])
    return data, {"l": 11}


def solved(x):
    data, cone = _problem(x)
    found = scs.solve(data, cone, verbose=False)
    return np.round(found["x"], 3), found["info"]["status"], np.round(found["y"], 3) * 2


def shared_updates(x):
    data, cone = _problem(x)
    solver = scs.SCS(data, cone, verbose=False)
    first = solver.solve()
    before = first["x"] + 1
    solver.update(b=data["b"] * 2)
    second = solver.solve(warm_start=True)
    return np.round(before, 3), np.round(second["x"], 3), data["c"]


def quadratic(x):
    data, cone = _problem(x)
    data["P"] = sp.csc_matrix(np.diag(x[:3] + 1))
    return np.round(scs.solve(data, cone, verbose=False)["x"], 3)


def error_shapes(x):
    data, cone = _problem(x)
    scs.SCS({**data, "b": data["b"][:-1] * 1.0}, cone, verbose=False)
