"""catboost: gradient boosting."""

import catboost
import numpy as np

SETTINGS = {
    "iterations": 3,
    "depth": 2,
    "verbose": 0,
    "thread_count": 1,
    "allow_writing_files": False,
}


def classifier(x):
    features = x[:4000].reshape(-1, 4)
    model = catboost.CatBoostClassifier(**SETTINGS).fit(
        features, (features[:, 0] > 0.5).astype(int)
    )
    return (
        model.predict(features),
        model.predict_proba(features),
        model.get_feature_importance(),
    )


def pool(x):
    features = x[:4000].reshape(-1, 4)
    data = catboost.Pool(features, label=features[:, 1], weight=features[:, 2])
    return (
        catboost.CatBoostRegressor(**SETTINGS).fit(data).predict(features),
        np.array(data.get_label()),
        data.get_features(),
    )
