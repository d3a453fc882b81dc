"""cvxpy: convex optimization."""

import cvxpy as cp

TOLERANCES = {"least_squares": 1e-7, "portfolio": 1e-7}


def least_squares(small):
    a = small.reshape(-1, 4)
    v = cp.Variable(4)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(a @ v - a[:, 0] * 2)), [v >= 0])
    problem.solve()
    return v.value, problem.value


def portfolio(small):
    w = cp.Variable(5)
    returns = cp.Parameter(5, value=small[:5])
    cp.Problem(cp.Maximize(returns @ w), [cp.sum(w) == 1, w >= 0.1]).solve()
    return w.value, returns.value


def expressions(x):
    c = cp.Constant(x)
    return cp.norm(c, 1).value, (c + x).value, cp.multiply(x, c).shape, (2 * c).value
