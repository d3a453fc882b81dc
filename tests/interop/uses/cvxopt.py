"""cvxopt: convex optimization."""

import cvxopt
import numpy as np

cvxopt.solvers.options["show_progress"] = False


def matrices(small):
    m = cvxopt.matrix(small.reshape(-1, 4))
    return np.array(m), m.size, np.array(m.T * m), np.asarray(cvxopt.sparse(m).size)


def quadratic_program(small):
    p = cvxopt.matrix(np.diag(small[:3] + 1))
    solution = cvxopt.solvers.qp(
        p,
        cvxopt.matrix(small[3:6]),
        cvxopt.matrix(-np.eye(3)),
        cvxopt.matrix(np.zeros(3)),
    )
    return np.array(solution["x"]), solution["status"]
