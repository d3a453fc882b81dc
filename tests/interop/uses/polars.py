"""polars: data frames."""

import numpy as np
import polars as pl

# The order in which threads add numbers.
TOLERANCES = {"frames": 1e-12}


def series(x):
    s = pl.Series("x", x)
    return (
        s.to_numpy(),
        s.dtype.__str__(),
        s.sum(),
        (s * 2).to_numpy(),
        pl.Series((x * 9).astype(np.int16)).to_list()[:5],
    )


def frames(x):
    df = pl.DataFrame({"x": x, "k": (x * 5).astype(int)})
    return (
        df.group_by("k").agg(pl.col("x").mean()).sort("k").to_numpy(),
        df.filter(x > 0.5).to_numpy(),
        df.with_columns(y=x * 2)["y"].to_numpy(),
    )


def matrices(x):
    df = pl.DataFrame(x.reshape(-1, 4), schema=["a", "b", "c", "d"])
    return (
        df.to_numpy(),
        df.select(pl.col("a") + pl.col("b")).to_numpy(),
        pl.from_numpy(x.reshape(-1, 4)).shape,
    )


def index_with_arrays(x):
    s = pl.Series(x)
    df = pl.DataFrame({"x": x})
    return (
        s[np.array([1, 3])].to_numpy(),
        df[np.array([0, 2])].to_numpy(),
        s.is_in(x[:3]).to_numpy(),
        s.search_sorted(x[:3]),
    )


def numpy_functions(x):
    s = pl.Series(x)
    return (
        np.sqrt(s).to_numpy(),
        np.asarray(s) + 1,
        (s + x).to_numpy(),
        (x + s.to_numpy()),
        pl.DataFrame({"x": x}).with_columns(pl.lit(x).alias("y")).to_numpy(),
    )
