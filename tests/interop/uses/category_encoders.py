"""category-encoders: categories as numbers."""

import category_encoders as ce
import numpy as np
import pandas as pd


def _data(x):
    kinds = (x[:300] * 3).astype(int)
    return pd.DataFrame({"k": np.array(["a", "b", "c"])[kinds]}), x[:300] * 1.0 + 1


def encoders(x):
    frame, target = _data(x)
    kinds = (
        ce.OrdinalEncoder,
        ce.OneHotEncoder,
        ce.BinaryEncoder,
        ce.SumEncoder,
        ce.CountEncoder,
    )
    return [kind(cols=["k"]).fit_transform(frame).to_numpy() for kind in kinds], target


def encoders_of_targets(x):
    frame, target = _data(x)
    kinds = (
        ce.TargetEncoder,
        ce.LeaveOneOutEncoder,
        ce.JamesSteinEncoder,
        ce.MEstimateEncoder,
    )
    before = target + 0
    return (
        [kind(cols=["k"]).fit_transform(frame, target).to_numpy() for kind in kinds],
        before,
        target,
    )


def arrays(x):
    table = (x[:60] * 4).astype(int).reshape(-1, 3)
    made = ce.OrdinalEncoder(cols=[0, 2], return_df=False)
    return made.fit_transform(table + 1), table


def other_categories(x):
    frame, target = _data(x)
    made = ce.TargetEncoder(cols=["k"]).fit(frame, target)
    return made.transform(pd.DataFrame({"k": ["a", "z"]})).to_numpy()


def error_lengths(x):
    frame, target = _data(x)
    ce.TargetEncoder(cols=["k"]).fit(frame, target[:-1])
