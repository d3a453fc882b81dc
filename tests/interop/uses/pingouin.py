"""pingouin: statistics."""

import numpy as np
import pandas as pd
import pingouin as pg

TOLERANCES = {
    "tests_of_means": 1e-09,
    "correlations": 1e-09,
    "regressions": 1e-09,
    "variances": 1e-09,
}


def tests_of_means(x):
    a, b = x[:200] * 1.0 + 1, x[:200][::-1] * 1.2
    found = pg.ttest(a, b)
    return (
        found.select_dtypes("number").to_numpy(),
        pg.mwu(a, b).select_dtypes("number").to_numpy(),
        a,
    )


def correlations(x):
    a, b = x[:200] * 2, np.sqrt(x[:200]) + x[:200][::-1]
    frame = pd.DataFrame({"a": a, "b": b, "c": a * b})
    return pg.corr(a, b).select_dtypes("number").to_numpy(), pg.partial_corr(
        frame, "a", "b", "c"
    ).select_dtypes("number").to_numpy()


def regressions(x):
    table = x[:200].reshape(-1, 4) + 1
    found = pg.linear_regression(table[:, :3], table[:, 3] * 2)
    return found.select_dtypes("number").to_numpy(), pg.logistic_regression(
        table[:, 0], table[:, 1] > 1.5
    )["coef"].to_numpy().shape


def variances(x):
    frame = pd.DataFrame({"v": x[:60] * 2, "k": np.arange(60) % 3})
    return pg.anova(frame, "v", "k").select_dtypes(
        "number"
    ).to_numpy(), pg.homoscedasticity(frame, "v", "k")["W"].to_numpy()


def effects(x):
    a, b = x[:90] + 1, x[:90] * 2
    return (
        pg.compute_effsize(a, b),
        pg.mad(a),
        pg.madmedianrule(a),
        pg.circ_mean(a),
        pg.normality(a)["W"].to_numpy(),
    )


def keeps_its_arguments(x):
    a = np.where(x > 0.9, np.nan, x * 1.0)
    pg.ttest(a, 0.5)
    pg.remove_na(a, paired=False)
    return a, pg.remove_na(a)
