"""lightgbm: gradient boosting."""

import lightgbm as lgb
import numpy as np

SETTINGS = {
    "verbose": -1,
    "num_threads": 1,
    "min_data_in_leaf": 2,
    "deterministic": True,
}


def classifier(x):
    features = x[:4000].reshape(-1, 4)
    model = lgb.LGBMClassifier(
        n_estimators=5, num_leaves=4, verbose=-1, n_jobs=1, min_child_samples=2
    )
    model.fit(features, (features[:, 0] > 0.5).astype(int))
    return model.predict(features), model.predict_proba(features)


def datasets(x):
    features = x[:4000].reshape(-1, 4)
    data = lgb.Dataset(features, label=features[:, 1], weight=features[:, 2])
    booster = lgb.train(SETTINGS, data, num_boost_round=3)
    return booster.predict(features), booster.feature_importance()


def objective(x):
    features = x[:4000].reshape(-1, 4)
    data = lgb.Dataset(features, label=features[:, 1])

    def loss(predicted, data):
        return predicted - data.get_label(), np.ones_like(predicted)

    booster = lgb.train(SETTINGS | {"objective": loss}, data, num_boost_round=3)
    return booster.predict(features)
