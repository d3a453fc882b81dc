"""shap: explanations of models."""

import numpy as np
import shap
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

# Sums of products in another order.
TOLERANCES = {
    "kernel": 1e-9,
    "linear": 1e-12,
    "permutation": 1e-12,
    "trees": 1e-12,
    "sampling": 1e-9,
}


def _data(x):
    table = x[:200].reshape(-1, 4) * 1.0 + 1
    return table, table @ np.array([1.0, 2.0, -1.0, 0.5])


def kernel(x):
    table, _ = _data(x)
    np.random.seed(0)
    explained = shap.KernelExplainer(lambda t: t[:, 0] * 2 + t[:, 1], table[:5])
    return explained.shap_values(table[:3], silent=True), explained.expected_value


def linear(x):
    table, target = _data(x)
    explained = shap.LinearExplainer(LinearRegression().fit(table, target), table)
    return explained.shap_values(table), explained(table[:4]).values


def trees(x):
    table, target = _data(x)
    forest = RandomForestRegressor(5, random_state=0).fit(table, target)
    explained = shap.TreeExplainer(forest)
    return explained.shap_values(table), explained(table).base_values


def permutation(x):
    table, _ = _data(x)
    explained = shap.Explainer(lambda t: t.sum(axis=1), table, seed=1)
    found = explained(table[:3], silent=True)
    return found.values, found.data, found.base_values


def sampling(x):
    table, _ = _data(x)
    np.random.seed(0)
    explained = shap.SamplingExplainer(lambda t: t[:, 0] * t[:, 1], table)
    return explained.shap_values(table[:2], nsamples=50)


def utilities(x):
    table, _ = _data(x)
    return (
        shap.utils.sample(table, 3, random_state=0),
        shap.kmeans(table, 2).data,
        shap.Explanation(table, data=table * 2)[:, 0].values,
        shap.Explanation(table).abs.mean(0).values,
    )


def maskers(x):
    table, _ = _data(x)
    masker = shap.maskers.Independent(table, max_samples=6)
    masked = masker(np.array([True, False, True, False]), table[0] * 2)
    return masked[0], masker.shape


def error_shape(x):
    table, target = _data(x)
    explained = shap.LinearExplainer(LinearRegression().fit(table, target), table)
    return explained.shap_values(table[:, :2])
