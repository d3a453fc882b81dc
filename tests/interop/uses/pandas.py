"""pandas: data frames."""

import numpy as np
import pandas as pd


def select_rows(x):
    df = pd.DataFrame({"a": x, "b": np.arange(x.size)})
    return df[x > 0.5].to_numpy(), df.loc[x > 0.5, "b"].to_numpy()


def frame_of_matrix(x):
    df = pd.DataFrame(x.reshape(-1, 4), columns=list("abcd"))
    return df.mean().to_numpy(), df.describe().to_numpy(), df.corr().to_numpy()


def group_by_labels(x):
    labels = (x * 5).astype(int)
    series = pd.Series(x)
    return series.groupby(labels).mean().to_numpy(), series.groupby(
        labels
    ).size().tolist()


def cut(x):
    bins = np.linspace(0, 1, 6)
    return pd.cut(x, bins).codes, pd.cut(pd.Series(x), 4, labels=False).to_numpy()


def isin(x):
    codes = (x * 100).astype(int)
    return pd.Series(codes).isin(np.array([3, 5, 7])).to_numpy(), pd.isna(x)


def assign_column(x):
    df = pd.DataFrame({"a": x})
    df["b"] = x * 2
    df.loc[:, "c"] = np.where(x > 0.5, x, 0)
    df["d"] = np.sqrt(df["a"])
    df.iloc[0, 0] = x[1]
    return df.to_numpy()


def map_values(x):
    return pd.Series(x).map(lambda v: v + 1).to_numpy(), pd.Series(x).apply(
        np.sqrt
    ).to_numpy()


def merge(x):
    left = pd.DataFrame({"key": (x * 10).astype(int), "x": x})
    right = pd.DataFrame({"key": np.arange(10), "y": np.arange(10) * 1.5})
    return left.merge(right, on="key").to_numpy()


def rolling(x):
    return pd.Series(x).rolling(5).mean().to_numpy(), pd.Series(x).ewm(
        span=3
    ).mean().to_numpy()


def dates(x):
    times = np.datetime64("2024-01-01") + np.arange(x.size) * np.timedelta64(1, "h")
    series = pd.Series(x, index=pd.DatetimeIndex(times))
    return series.resample("D").sum().to_numpy(), pd.to_datetime(times).hour.to_numpy()


def index_of_array(x):
    index = pd.Index(x)
    series = pd.Series(np.arange(x.size), index=x)
    return (
        index.get_indexer(x[::3]),
        series.loc[x[3]],
        series.reindex(x[::-1]).to_numpy(),
    )


def factorize(x):
    codes, values = pd.factorize((x * 7).astype(int))
    return (
        codes,
        values,
        pd.unique((x * 7).astype(int)),
        pd.Categorical((x * 7).astype(int)).codes,
    )


def pivot(x):
    df = pd.DataFrame({"r": np.arange(x.size) % 3, "c": np.arange(x.size) % 4, "x": x})
    return df.pivot_table(index="r", columns="c", values="x", aggfunc="sum").to_numpy()


def quantiles(x):
    return pd.qcut(x, 4).codes, pd.Series(x).quantile(np.array([0.1, 0.9])).to_numpy()


def operators_with_array(x):
    df = pd.DataFrame({"a": x, "b": x * 2})
    return (
        (df * x[:, None]).to_numpy(),
        (x + df["a"]).to_numpy(),
        (x[:, None] * df).to_numpy(),
    )


def missing_values(x):
    y = np.where(x > 0.5, np.nan, x)
    df = pd.DataFrame({"a": y})
    return df.fillna(0).to_numpy(), df.dropna().to_numpy(), df.interpolate().to_numpy()


def concat_sort(x):
    df = pd.concat([pd.DataFrame({"a": x}), pd.DataFrame({"a": x + 1})])
    return df.sort_values("a").index.to_numpy(), df["a"].searchsorted(0.5)


def strings(small):
    names = np.array(["ann", "bob", "cid"])[(small * 3).astype(int)]
    return pd.Series(names).str.upper().tolist(), pd.get_dummies(names).to_numpy()


def shared_view(x):
    df = pd.DataFrame(x.reshape(-1, 4), copy=False)
    y = x * 2
    x[0] = 9
    return df.iloc[0, 0], x.sum(), y


def copies_of_extension_arrays(x):
    copied = pd.array(x, dtype=x.dtype)
    shared = pd.array(x, dtype=x.dtype, copy=False)
    x[0] = 5
    return copied.to_numpy(), shared.to_numpy()


def sparse_values(x):
    sparse = pd.arrays.SparseArray(np.where(x > 0.5, x, 0.0), fill_value=0.0)
    return pd.Series(sparse).sum(), sparse.sp_values, np.asarray(sparse)


def masked_values(x):
    values = (x * 5).astype("i8")
    masked = pd.arrays.IntegerArray(values, x > 0.5)
    index = pd.Index(masked)
    return index.get_indexer_for(index[:3]).tolist(), masked.sum(), index.isna()


def views_of_indexes(x):
    dates = pd.to_datetime(np.arange(x.size), unit="D")
    return dates.view(np.ndarray)[:5], pd.Index(x).view(np.ndarray)


def error_length(x):
    return pd.DataFrame({"a": x, "b": x[:-1]})
