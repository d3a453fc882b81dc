"""casadi: symbolic optimization and control."""

import casadi as ca
import numpy as np


def matrices(small):
    m = ca.DM(small.reshape(-1, 4))
    return (
        np.array(m),
        m.full().sum(),
        np.array(ca.mtimes(m.T, m)),
        (ca.DM(small[:3]) + small[:3]).full(),
    )


def functions(small):
    v = ca.SX.sym("v", 3)
    f = ca.Function("f", [v], [ca.dot(v, v), v * small[:3]])
    return [np.array(r) for r in f(small[:3])], np.array(
        ca.Function("g", [v], [ca.gradient(ca.sumsqr(v), v)])(small[:3])
    )


def operators(small):
    v = ca.MX.sym("v", 3)
    f = ca.Function(
        "f",
        [v],
        [
            v + small[:3],
            small[:9].reshape(3, 3) @ v,
            ca.mtimes(small[:9].reshape(3, 3), v),
        ],
    )
    return [np.array(r) for r in f([1, 2, 3])], ca.vertcat(*small[:3]).full()
