"""scikit-learn: machine learning."""

import numpy as np
from sklearn import (
    cluster,
    decomposition,
    ensemble,
    linear_model,
    manifold,
    metrics,
    model_selection,
    neighbors,
    pipeline,
    preprocessing,
    svm,
    tree,
)

TOLERANCES = {"regression": 1e-9, "decompose": 1e-9, "trees": 1e-12}


def _data(x):
    features = x[:4000].reshape(-1, 4)
    return features, (features[:, 0] + features[:, 1] > 1).astype(int)


def regression(x):
    features, labels = _data(x)
    line = linear_model.LinearRegression().fit(features, features @ np.arange(4.0))
    classes = linear_model.LogisticRegression().fit(features, labels)
    return (
        line.coef_,
        classes.predict(features),
        classes.predict_proba(features[:5]),
        linear_model.Ridge().fit(features, labels).coef_,
        linear_model.Lasso(0.01).fit(features, labels).coef_,
    )


def trees(x):
    features, labels = _data(x)
    forest = ensemble.RandomForestClassifier(5, random_state=0).fit(features, labels)
    one = tree.DecisionTreeRegressor(max_depth=3).fit(features, features[:, 2])
    boost = ensemble.HistGradientBoostingClassifier(max_iter=5).fit(features, labels)
    return (
        forest.predict_proba(features),
        one.predict(features),
        boost.predict(features),
        forest.feature_importances_,
    )


def clusters(x):
    features, _ = _data(x)
    means = cluster.KMeans(3, n_init=2, random_state=0).fit(features)
    return (
        means.labels_,
        cluster.DBSCAN(0.3).fit(features).labels_,
        means.transform(features[:3]),
    )


def neighbours(x):
    features, labels = _data(x)
    near = neighbors.NearestNeighbors(n_neighbors=3).fit(features)
    return near.kneighbors(features[:9])[1], neighbors.KNeighborsClassifier().fit(
        features, labels
    ).predict(features)


def preprocess(x):
    features, labels = _data(x)
    hot = preprocessing.OneHotEncoder().fit_transform(labels[:, None])
    return (
        preprocessing.StandardScaler().fit_transform(features),
        preprocessing.PolynomialFeatures(2).fit_transform(features),
        hot.toarray(),
        preprocessing.LabelEncoder().fit_transform(labels),
        preprocessing.KBinsDiscretizer(3, encode="ordinal").fit_transform(features),
    )


def split_and_score(x):
    features, labels = _data(x)
    parts = model_selection.train_test_split(features, labels, random_state=0)
    scores = model_selection.cross_val_score(
        tree.DecisionTreeClassifier(random_state=0), features, labels, cv=3
    )
    folds = [
        test for _, test in model_selection.StratifiedKFold(3).split(features, labels)
    ]
    return parts, scores, folds


def scores(x):
    features, labels = _data(x)
    guess = (features[:, 0] > 0.5).astype(int)
    return (
        metrics.accuracy_score(labels, guess),
        metrics.roc_auc_score(labels, features[:, 0]),
        metrics.confusion_matrix(labels, guess),
        metrics.mean_squared_error(features[:, 0], features[:, 1]),
        metrics.pairwise_distances(features[:5]),
    )


def decompose(x):
    features, _ = _data(x)
    return np.abs(
        decomposition.PCA(2, svd_solver="full").fit_transform(features)
    ), decomposition.NMF(2, init="nndsvda", random_state=0).fit_transform(features)


def support_vectors(small):
    features, labels = _data(small)
    machine = svm.SVC().fit(features, labels)
    return (
        machine.predict(features),
        machine.support_vectors_,
        svm.LinearSVC(random_state=0).fit(features, labels).coef_,
    )


def pipelines(x):
    features, labels = _data(x)
    steps = pipeline.make_pipeline(
        preprocessing.MinMaxScaler(), tree.DecisionTreeClassifier(random_state=0)
    )
    search = model_selection.GridSearchCV(
        steps, {"decisiontreeclassifier__max_depth": [1, 2]}, cv=2
    )
    return search.fit(features, labels).predict(features), search.best_score_


def embed(small):
    return manifold.trustworthiness(
        small.reshape(-1, 4), small.reshape(-1, 4)[:, :2], n_neighbors=3
    )


def shared_without_copy(x):
    features, _ = _data(x)
    before = features + 1
    preprocessing.StandardScaler(copy=False).fit_transform(features)
    return before, features, features + 1


def error_nan(x):
    linear_model.LinearRegression().fit(np.log(x.reshape(-1, 4) - 0.5), x[::4])
