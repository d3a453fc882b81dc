"""holoviews: plots of data."""

import holoviews as hv
import numpy as np
import pandas as pd


def elements(x):
    made = hv.Curve((np.arange(x.size), x * 1.0 + 1))
    return (
        made.dimension_values(1) * 2,
        made.range("y"),
        made[2:5].dimension_values("x"),
        len(made),
    )


def images(x):
    made = hv.Image(x[:60].reshape(6, 10) * 2, bounds=(0, 0, 1, 1))
    return (
        made.dimension_values(2, flat=False),
        made[0.5, 0.5],
        made.reduce(["x"], np.mean).dimension_values("z"),
        made.range("z"),
    )


def tables(x):
    made = hv.Dataset({"a": x + 1, "k": (x * 3).astype(int)}, ["k"], "a")
    return (
        made.aggregate("k", np.mean).dimension_values("a"),
        made.sort("a").dimension_values("a"),
        made.select(k=1).dimension_values("a"),
        made.dframe().to_numpy(),
    )


def selections(x):
    made = hv.Points(x.reshape(-1, 2) * 2)
    return (
        made.array(),
        made.select(x=(0.5, 1)).array(),
        hv.Points(pd.DataFrame({"x": x, "y": x + 1})).array(),
    )


def overlays(x):
    made = hv.Curve(x * 2) * hv.Scatter(x + 1)
    frames = hv.HoloMap({i: hv.Curve(x * i) for i in range(3)})
    return [e.dimension_values(1)[:5] for e in made], frames.collapse(
        function=np.mean
    ).dimension_values(1)


def histograms(x):
    made = hv.operation.histogram(
        hv.Points(x.reshape(-1, 2) + 1), num_bins=5, dimension="x"
    )
    return made.dimension_values(1), hv.Histogram(
        np.histogram(x * 2, 5)
    ).dimension_values(1)


def error_lengths(x):
    hv.Curve((x, x[:7] * 2))
