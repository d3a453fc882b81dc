"""datashader: images of many points."""

import datashader as ds
import numpy as np
import pandas as pd
import xarray as xr
from datashader import transfer_functions as tf


def points(x):
    df = pd.DataFrame({"x": x, "y": x[::-1], "v": x * 2})
    canvas = ds.Canvas(20, 10)
    counts = canvas.points(df, "x", "y")
    return (
        counts.values,
        canvas.points(df, "x", "y", ds.mean("v")).values,
        np.asarray(tf.shade(counts).values),
    )


def lines(x):
    df = pd.DataFrame({"x": np.arange(x.size), "y": x})
    grid = xr.DataArray(
        x.reshape(-1, 20),
        coords={"y": np.arange(x.size // 20.0), "x": np.arange(20.0)},
        dims=("y", "x"),
    )
    return ds.Canvas(20, 10).line(df, "x", "y").values, ds.Canvas(10, 2).raster(
        grid
    ).values
