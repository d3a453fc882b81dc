"""patsy: design matrices from formulas."""

import numpy as np
import patsy


def formulas(x):
    y, m = patsy.dmatrices("y ~ a * b + np.sqrt(a)", {"y": x, "a": x + 1, "b": x[::-1]})
    return np.asarray(y), np.asarray(m), m.design_info.column_names


def categories(x):
    k = np.array(["u", "v", "w"])[(x * 3).astype(int)]
    return np.asarray(patsy.dmatrix("C(k) + x", {"k": k, "x": x})), np.asarray(
        patsy.dmatrix("bs(x, df=4)", {"x": x})
    )
