"""h5netcdf: netCDF files on h5py."""

import h5netcdf
import numpy as np


def write_and_read(x):
    with h5netcdf.File("a.nc", "w") as f:
        f.dimensions = {"n": x.size}
        v = f.create_variable("x", ("n",), float)
        v[:] = x
        v[2:4] = np.zeros(2)
        v.attrs["limits"] = x[:2]
        f.create_variable("y", ("n",), data=x * 2)
    with h5netcdf.File("a.nc") as f:
        return (
            f["x"][:],
            f["y"][...].sum(),
            f["x"].attrs["limits"],
            f["x"][np.array([1, 3])],
        )
