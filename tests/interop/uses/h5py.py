"""h5py: HDF5 files."""

import h5py
import numpy as np


def write_and_read(x):
    with h5py.File("a.h5", "w") as f:
        f["x"] = x
        f.create_dataset("m", data=x.reshape(-1, 4), chunks=True, compression="gzip")
        f.attrs["v"] = x[:3]
    with h5py.File("a.h5") as f:
        return f["x"][:], f["m"][2:5, 1], f["m"][...].sum(), f.attrs["v"]


def assign_slices(x):
    with h5py.File("b.h5", "w") as f:
        d = f.create_dataset("x", (x.size,), "f8")
        d[:] = x
        d[::2] = x[::2] * 2
        d[3:6] = np.zeros(3)
        return d[...], np.asarray(d), d[()]


def index_with_arrays(x):
    with h5py.File("c.h5", "w") as f:
        d = f.create_dataset("x", data=x)
        d[np.array([1, 3])] = x[:2]
        return d[np.array([1, 4, 7])], d[x > 0.9]


def resize_and_strings(x):
    with h5py.File("d.h5", "w") as f:
        d = f.create_dataset("x", data=x, maxshape=(None,), dtype="f4")
        d.resize(x.size + 5, axis=0)
        d[-5:] = x[:5]
        f["names"] = np.array([b"ab", b"c"])
        return d[:], f["names"][:]


def shared_read_direct(x):
    with h5py.File("e.h5", "w") as f:
        f["x"] = np.arange(float(x.size))
        before = x * 2
        f["x"].read_direct(x, np.s_[: x.size // 2], np.s_[: x.size // 2])
        after = x + 1
        f["x"].write_direct(np.ascontiguousarray(after))
        return before, x, after, f["x"][:]


def error_shape(x):
    with h5py.File("f.h5", "w") as f:
        f.create_dataset("x", (3,))[:] = x
