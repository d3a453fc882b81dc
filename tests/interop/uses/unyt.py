"""unyt: arrays with units."""

import numpy as np
import unyt


def quantities(x):
    lengths = unyt.unyt_array(x, "km")
    return (
        lengths.to("m").value,
        (lengths * 2).value,
        str((lengths / (2 * unyt.s)).units),
        lengths.sum().value,
    )


def units_times_arrays(x):
    return (
        (x * unyt.m).value,
        (unyt.kg * x).value,
        np.sqrt(x * unyt.m**2).to_ndarray(),
        (unyt.unyt_array(x, "m") + x * unyt.cm).value,
    )


def functions(x):
    a = unyt.unyt_array(x, "s")
    return (
        np.concatenate([a, a]).value,
        np.max(a).value,
        a[x > 0.5].value,
        unyt.unyt_quantity(x[1], "g").value,
    )
