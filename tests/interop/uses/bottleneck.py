"""bottleneck: reductions of arrays with NaN."""

import bottleneck as bn
import numpy as np


def reductions(x):
    y = np.where(x > 0.9, np.nan, x)
    return (
        bn.nanmean(y),
        bn.nansum(y.reshape(-1, 4), axis=0),
        bn.nanmax(y),
        bn.median(x),
        bn.nanargmin(y),
    )


def moving(x):
    return (
        bn.move_mean(x, 3),
        bn.move_max(x.reshape(-1, 4), 2, axis=0),
        bn.rankdata(x),
        bn.push(np.where(x > 0.5, np.nan, x)),
    )


def select(x):
    return np.sort(bn.partition(x, 5)[:5]), bn.anynan(x), bn.ss(x)


def shared_replace(x):
    x[1] = np.nan
    before = x + 1
    bn.replace(x, np.nan, 0.5)
    return before, x, x + 1
