"""statsmodels: statistical models."""

import numpy as np
import statsmodels.api as sm
from statsmodels.nonparametric.smoothers_lowess import lowess
from statsmodels.tsa.api import ARIMA, SimpleExpSmoothing, acf

TOLERANCES = {"regression": 1e-9, "time_series": 1e-6}


def regression(x):
    y = x[:4000]
    features = sm.add_constant(np.stack([np.arange(y.size) / y.size, y**2], axis=1))
    ols = sm.OLS(y, features).fit()
    logit = sm.Logit((y > 0.5).astype(float), features[:, :2]).fit(disp=0)
    return (
        ols.params,
        ols.bse,
        ols.predict(features[:3]),
        logit.params,
        sm.GLM(y, features).fit().params,
    )


def time_series(small):
    return (
        acf(small),
        SimpleExpSmoothing(small, initialization_method="estimated").fit().level,
        ARIMA(small, order=(1, 0, 0)).fit().params,
    )


def smooth(x):
    y = x[:300]
    return (
        lowess(y, np.arange(float(y.size))),
        sm.nonparametric.KDEUnivariate(y).fit().density,
        sm.stats.durbin_watson(y),
    )
