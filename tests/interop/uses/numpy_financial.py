"""numpy-financial: interest and payments."""

import numpy as np
import numpy_financial as npf


def payments(x):
    rates = x[:500] * 0.01 + 0.001
    return (
        npf.pmt(rates, 120, 1000.0),
        npf.fv(rates, 12, -100, -100),
        npf.pv(rates, np.arange(rates.size) % 9 + 1, -100.0),
        npf.nper(rates, -20.0, 1000.0),
        npf.ipmt(rates[:5], 3, 12, 1000.0),
        npf.ppmt(0.01, np.arange(1, 9), 12, x[:8] + 1000),
    )


def values(x):
    flows = np.concatenate([[-5.0], x[:20] * 2])
    return npf.npv(0.05, flows), npf.irr(flows), npf.mirr(flows, 0.04, 0.03)


def large_arrays(x):
    y = x * 1.0 + 1
    return npf.fv(0.01, 12, y, -y * 2), npf.npv(0.02, y)


def keeps_its_arguments(x):
    flows = x * 100 - 20
    before = flows + 0
    npf.npv(0.1, flows)
    npf.mirr(flows, 0.1, 0.1)
    return before, flows


def rates(small):
    return npf.rate(10, small[:5] * 0 - 20, 100.0, 50.0)
