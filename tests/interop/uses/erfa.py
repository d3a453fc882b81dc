"""pyerfa: essential routines for astronomy."""

import erfa
import numpy as np


def times(x):
    return (
        erfa.era00(2460000.5, x),
        erfa.jd2cal(2460000.5, x)[0],
        erfa.utctai(2460000.5, x),
    )


def rotations(x):
    return (
        erfa.rxp(np.eye(3), x[:3]),
        erfa.s2c(x, x),
        erfa.c2s(x[:30].reshape(-1, 3)),
        erfa.anp(x - 1),
    )
