"""formulaic: formulas of models."""

import formulaic
import numpy as np
import pandas as pd


def matrices(x):
    frame = pd.DataFrame({"y": x * 2, "a": x + 1, "k": np.arange(x.size) % 3})
    y, design = formulaic.model_matrix("y ~ a + C(k) + np.log(a)", frame)
    return np.asarray(y), np.asarray(design), list(design.columns)


def dictionaries(x):
    data = {"a": x * 1.0 + 1, "b": x * x}
    return np.asarray(formulaic.model_matrix("a + b + a:b", pd.DataFrame(data)))


def context(x):
    weights = x * 3
    shift = weights[2]
    frame = pd.DataFrame({"a": x + 1})
    design = formulaic.model_matrix("0 + a + I(a * shift) + weights", frame, context=0)
    return np.asarray(design), design.model_spec.column_names


def splines(x):
    frame = pd.DataFrame({"a": x[:100] * 1.0})
    made = formulaic.model_matrix("bs(a, df=4) + poly(a, 2) + scale(a)", frame)
    again = made.model_spec.get_model_matrix(pd.DataFrame({"a": x[:100] * 0.5 + 0.2}))
    return np.asarray(made), np.asarray(again)


def outputs(x):
    frame = pd.DataFrame({"a": x + 1, "k": np.arange(x.size) % 2})
    dense = formulaic.model_matrix("a + C(k)", frame, output="numpy")
    sparse = formulaic.model_matrix("a + C(k)", frame, output="sparse")
    return np.asarray(dense) * 2, sparse.toarray()
