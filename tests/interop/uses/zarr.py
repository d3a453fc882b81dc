"""zarr: chunked arrays in files."""

import numpy as np
import zarr


def arrays(x):
    z = zarr.create_array(
        "a.zarr", shape=x.shape, chunks=(50,), dtype="f8", overwrite=True
    )
    z[:] = x
    z[2:5] = np.zeros(3)
    again = zarr.open_array("a.zarr")
    return again[:], again[3:9:2], np.asarray(again)


def groups(x):
    g = zarr.open_group("b.zarr", mode="w")
    a = g.create_array("m", data=x.reshape(-1, 4))
    a.attrs["k"] = [1, 2]
    return g["m"][1:3, 2], g["m"][:].sum(axis=0)


def index_with_arrays(x):
    z = zarr.array(x)
    z.oindex[np.array([1, 3])] = x[:2] + 1
    return (
        z.oindex[np.array([1, 4])],
        z.vindex[np.array([2, 6])],
        z.get_mask_selection(x > 0.9),
    )
