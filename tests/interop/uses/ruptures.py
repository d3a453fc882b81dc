"""ruptures: changes of signals."""

import numpy as np
import ruptures as rpt
import ruptures.metrics


def _signal(x):
    return np.where(np.arange(60) < 25, x[:60], x[:60] + 3).reshape(-1, 1) * 1.0


def searches(x):
    signal = _signal(x)
    return (
        rpt.Pelt("l2").fit(signal).predict(pen=2),
        rpt.Binseg("l2").fit_predict(signal, n_bkps=1),
        rpt.Window(10, "l2").fit(signal).predict(n_bkps=1),
        rpt.Dynp("l1", jump=5).fit(signal).predict(n_bkps=1),
        rpt.BottomUp("rbf").fit(signal[:, 0]).predict(n_bkps=1),
    )


def kernels(x):
    return rpt.KernelCPD("linear").fit(_signal(x)).predict(n_bkps=1), rpt.KernelCPD(
        "rbf"
    ).fit(_signal(x) * 2).predict(pen=1)


def costs(x):
    made = rpt.costs.CostL2().fit(_signal(x) + 1)
    return made.error(0, 20), made.sum_of_costs([25, 60]), made.signal


def shared_signal(x):
    signal = _signal(x)
    made = rpt.costs.CostL2().fit(signal)
    before = made.error(0, 20)
    signal[5] = 50
    return before, made.error(0, 20), made.signal[5]


def metrics(x):
    found = rpt.Pelt("l2").fit(_signal(x)).predict(pen=2)
    return rpt.metrics.hausdorff(found, [30, 60]), rpt.metrics.randindex(
        found, [30, 60]
    )


def error_empty(x):
    rpt.Pelt("l2").fit(_signal(x)[:, 0]).predict()
