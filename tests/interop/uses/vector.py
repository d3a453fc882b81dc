"""vector: vectors of physics."""

import awkward as ak
import numpy as np
import vector

# Sines and cosines.
TOLERANCES = {"arrays": 1e-12, "polar": 1e-12, "jagged": 1e-12, "objects": 1e-12}


def arrays(x):
    made = vector.array({"x": x * 1.0 + 1, "y": x * 2, "z": x[::-1]})
    return made.rho, made.theta, made.dot(made), made.cross(made).x, (made * 2).y


def polar(x):
    made = vector.array({"pt": x + 1, "phi": x * 3, "eta": x - 0.5, "M": x * 0.1})
    return made.px, made.E, (made + made).mass, made.deltaR(made[::-1]), made[1].pt


def objects(x):
    a, b = vector.obj(x=x[1], y=x[2] * 2), vector.obj(rho=x[3] + 1, phi=x[4])
    return (a + b).x, a.deltaphi(b), a.rotateZ(x[5] * 2).y


def jagged(x):
    vector.register_awkward()
    made = vector.zip(
        {
            "pt": ak.unflatten((x[:12] + 1).tolist(), [3, 4, 5]),
            "phi": ak.unflatten((x[:12] * 3).tolist(), [3, 4, 5]),
        }
    )
    return ak.to_list(made.px), ak.to_list(ak.sum(made.py, axis=1))


def shared_fields(x):
    table = np.zeros(x.size, [("x", float), ("y", float)])
    table["x"] = x * 2
    made = table.view(vector.VectorNumpy2D)
    before = made.rho + 1
    table["y"][0] = 5
    made["x"][1] = 7
    return before, made.rho, table["x"]


def error_names(x):
    vector.array({"x": x, "q": x * 2})
