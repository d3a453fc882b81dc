"""mlxtend: additions to scikit-learn."""

import numpy as np
import pandas as pd
from mlxtend import evaluate, feature_selection, frequent_patterns, math, preprocessing
from mlxtend.classifier import Perceptron
from sklearn.linear_model import LinearRegression


def _table(x):
    return x[:200].reshape(-1, 4) * 1.0 + 1


def patterns(x):
    frame = pd.DataFrame(x[:200].reshape(-1, 4) > 0.4, columns=list("abcd"))
    found = frequent_patterns.apriori(frame, 0.2, use_colnames=True)
    rules = frequent_patterns.association_rules(found, min_threshold=0.3)
    return found["support"].to_numpy(), np.sort(rules["lift"].to_numpy())


def scaled(x):
    table = _table(x)
    before = table + 0
    return (
        preprocessing.standardize(table, columns=[0, 2]),
        preprocessing.minmax_scaling(table, columns=[1, 3]),
        preprocessing.MeanCenterer().fit_transform(table),
        preprocessing.one_hot((x[:9] * 3).astype(int)),
        preprocessing.shuffle_arrays_unison([table, table[:, 0]], random_seed=3),
        before,
        table,
    )


def selected(x):
    table = _table(x)
    made = feature_selection.SequentialFeatureSelector(
        LinearRegression(), 2, cv=0, scoring="r2"
    )
    made.fit(table, table[:, 1] * 2 + table[:, 3])
    return made.k_feature_idx_, made.transform(table)


def scores(x):
    labels, guessed = (x[:60] > 0.4).astype(int), (x[:60] * 1.0 > 0.5).astype(int)
    return (
        evaluate.confusion_matrix(labels, guessed),
        evaluate.mcnemar_table(labels, guessed, guessed[::-1]),
        evaluate.accuracy_score(labels, guessed),
        evaluate.permutation_test(
            x[:20] * 2, x[20:40], num_rounds=50, method="approximate", seed=1
        ),
    )


def classifiers(x):
    table = _table(x)
    made = Perceptron(epochs=5, random_seed=1).fit(
        table, (table[:, 0] > 1.5).astype(int)
    )
    return made.predict(table), made.w_


def vectors(x):
    spaces = math.vectorspace_orthonormalization(x[:9].reshape(3, 3) + np.eye(3))
    return spaces, math.vectorspace_dimensionality(x[:9].reshape(3, 3) * 2)
