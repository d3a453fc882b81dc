"""xgboost: gradient boosting."""

import numpy as np
import xgboost as xgb

SETTINGS = {"nthread": 1, "max_depth": 3, "seed": 0}


def classifier(x):
    features = x[:4000].reshape(-1, 4)
    model = xgb.XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1)
    model.fit(features, (features[:, 0] > 0.5).astype(int))
    return model.predict(features), model.predict_proba(features)


def matrices(x):
    features = x[:4000].reshape(-1, 4)
    data = xgb.DMatrix(features, label=features[:, 1], weight=features[:, 2])
    booster = xgb.train(SETTINGS, data, 3)
    return booster.predict(data), data.get_label(), booster.inplace_predict(features)


def objective(x):
    features = x[:4000].reshape(-1, 4)
    data = xgb.QuantileDMatrix(features, label=features[:, 1])

    def loss(predicted, data):
        return predicted - data.get_label(), np.ones_like(predicted)

    return xgb.train(SETTINGS, data, 3, obj=loss).predict(data)
