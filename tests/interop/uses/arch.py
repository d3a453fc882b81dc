"""arch: volatility of time series."""

import arch
import arch.bootstrap
import arch.unitroot
import numpy as np

TOLERANCES = {"models": 1e-05, "forecasts": 1e-05, "roots": 1e-05}


def _returns(x):
    return (x[:600] - 0.5) * 2.0


def models(x):
    series = _returns(x)
    before = series + 0
    found = arch.arch_model(series, mean="Constant", rescale=False).fit(disp="off")
    return (
        np.round(found.loglikelihood, 4),
        found.conditional_volatility.shape,
        before,
        series,
    )


def forecasts(x):
    found = arch.arch_model(
        _returns(x), vol="Constant", mean="AR", lags=1, rescale=False
    ).fit(disp="off")
    return found.forecast(horizon=3).mean.to_numpy()


def bootstraps(x):
    made = arch.bootstrap.IIDBootstrap(_returns(x), seed=3)
    blocks = arch.bootstrap.StationaryBootstrap(
        5, _returns(x), seed=np.random.default_rng(2)
    )
    return (
        made.conf_int(np.mean, 50, method="percentile"),
        made.var(lambda v: v.std(), 20),
        [data[0][:3] for data, _ in blocks.bootstrap(2)],
    )


def roots(x):
    walk = np.cumsum(_returns(x))
    return arch.unitroot.ADF(walk, lags=2).stat, arch.unitroot.KPSS(walk, lags=3).stat


def error_dimensions(x):
    arch.arch_model(x.reshape(-1, 4) * 2).fit(disp="off")
