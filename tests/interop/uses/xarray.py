"""xarray: labelled arrays."""

import numpy as np
import xarray as xr


def _array(x):
    return xr.DataArray(
        x.reshape(-1, 4),
        dims=("t", "c"),
        coords={"c": list("abcd"), "t": np.arange(x.size // 4)},
    )


def select(x):
    a = _array(x)
    return (
        a.sel(c="b").values,
        a.isel(t=np.array([1, 3])).values,
        a.where(a > 0.5).values,
        a.loc[2, "a"].item(),
    )


def reduce(x):
    a = _array(x)
    return (
        a.mean("t").values,
        a.groupby(a.t % 3).sum().values,
        a.rolling(t=3).mean().values,
        a.std().item(),
    )


def compute(x):
    a = _array(x)
    return (
        np.sqrt(a).values,
        (a * x[:4]).values,
        (x[:4] * a).values,
        xr.apply_ufunc(np.add, a, 1).values,
        (a + a.mean("t")).values,
    )


def datasets(x):
    data = xr.Dataset(
        {"x": ("n", x), "y": ("n", x * 2)}, coords={"n": np.arange(x.size)}
    )
    return (
        data.to_dataframe().to_numpy(),
        data.interp(n=[0.5, 1.5]).x.values,
        data.sum().y.item(),
        xr.concat([data, data], "n").x.values,
    )


def files(x):
    _array(x).to_dataset(name="x").to_netcdf("a.nc")
    with xr.open_dataset("a.nc") as data:
        return data.x.values, data.t.values


def strings(small):
    names = np.array(["ann", "bob", "cid"])[(small * 3).astype(int)]
    a = xr.DataArray(names, dims="t")
    objects = xr.DataArray(np.array(["a", None, "c"], dtype=object), dims="t")
    return (
        a.where(a != "bob", "none").values,
        objects.fillna("b").values,
        a.str.upper().values,
    )


def dates(x):
    days = (x * 100).astype("i8").astype("timedelta64[D]")
    data = xr.Dataset({"d": ("n", days)}, coords={"n": np.arange(x.size)})
    moments = np.array([np.datetime64("2000-01-01T18:00:00"), None], dtype=object)
    return (
        data.interp(n=[0.5, 1.5]).d.values,
        data.d.dtype.str,
        xr.DataArray(days).max().values,
        xr.DataArray(moments).dtype.str,
        repr(xr.DataArray(days[:3]))[:200],
    )


def shared_values(x):
    a = _array(x)
    y = x * 2
    a.values[0, 0] = 7
    a[1, 1] = 5
    return x, y, a.values
