"""netCDF4: netCDF files."""

import netCDF4
import numpy as np


def write_and_read(x):
    with netCDF4.Dataset("a.nc", "w") as f:
        f.createDimension("n", x.size)
        v = f.createVariable("x", "f8", ("n",))
        v[:] = x
        v.limits = x[:2]
        v[2:4] = np.zeros(2)
    with netCDF4.Dataset("a.nc") as f:
        return f["x"][:], f["x"][x > 0.9], f["x"].limits


def masked(x):
    with netCDF4.Dataset("b.nc", "w") as f:
        f.createDimension("n", None)
        v = f.createVariable("x", "i2", ("n",), fill_value=-1)
        v.scale_factor = 0.01
        v[:] = np.where(x > 0.5, x, -0.01)
        v[np.array([0, 2])] = x[:2]
        return v[:].filled(0), v[:].mask.sum()


def dates(x):
    hours = np.floor(x * 1000)
    times = netCDF4.num2date(hours, "hours since 2000-01-01")
    return netCDF4.date2num(times, "days since 2000-01-01"), str(times[1])
