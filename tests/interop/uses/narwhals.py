"""narwhals: data frames of several libraries."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl


def from_arrays(x):
    y = x.reshape(-1, 4) * 1.0 + 1
    return [
        nw.from_numpy(y, list("abcd"), backend=b).to_numpy()
        for b in ("pandas", "polars")
    ]


def series(x):
    found = []
    for backend in ("pandas", "polars", "pyarrow"):
        made = nw.new_series("x", x + 1, backend=backend)
        found.append(
            (made.to_numpy(), made.max(), made.is_in((x[:3] + 1).tolist()).sum())
        )
    return found


def frames(x):
    found = []
    for backend in ("pandas", "polars"):
        frame = nw.from_dict({"a": x * 2, "k": (x * 3).astype(int)}, backend=backend)
        kept = (
            frame.filter(nw.col("a") > 1).group_by("k").agg(nw.col("a").max()).sort("k")
        )
        found.append(kept.to_numpy())
    return found


def wrapped(x):
    pandas = nw.from_native(pd.DataFrame({"a": x + 1}))
    polars = nw.from_native(pl.DataFrame({"a": x + 1}))
    both = [f.with_columns(b=nw.col("a") * 2).to_native() for f in (pandas, polars)]
    return [f.to_numpy() for f in both], np.asarray(pandas["a"]) * 2, pandas["a"][3]


def numpy_functions(x):
    made = nw.from_native(pd.Series(x * 2), series_only=True)
    return (
        np.sqrt(np.asarray(made)),
        made.scatter([0, 1], [5.0, 6.0]).to_numpy(),
        made.to_list()[:3],
    )


def dependencies(x):
    y = x + 1
    return nw.dependencies.is_numpy_array(y), nw.dependencies.is_numpy_scalar(y[0])


def error_dimensions(x):
    try:
        return nw.from_numpy(x * 2, backend="pandas")
    except ValueError as error:
        raise ValueError(str(error)[:30]) from None
