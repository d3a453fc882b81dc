"""pint: quantities with units."""

import numpy as np
import pint

_unit = pint.UnitRegistry()


def quantities(x):
    q = _unit.Quantity(x, "km")
    return (
        q.to("m").magnitude,
        q.mean().magnitude,
        (q * q).magnitude,
        str((q / _unit.second).units),
    )


def units_times_arrays(x):
    return (
        (x * _unit.m).magnitude,
        (_unit.m * x).magnitude,
        np.sqrt(x * _unit.m**2).magnitude,
    )


def functions(x):
    q = x * _unit.s
    return (
        np.concatenate([q, q]).magnitude,
        np.where(x > 0.5, q, 0 * _unit.s).magnitude,
        q[x > 0.5].magnitude,
        np.trapezoid(q, dx=1 * _unit.m).magnitude,
    )


def shared_units(x):
    q = _unit.Quantity(x, "km")
    before = x + 1
    q.ito("m")
    return before, x, q.magnitude
