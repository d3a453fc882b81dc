"""tables: PyTables, HDF5 tables."""

import numpy as np
import tables


def arrays(x):
    with tables.open_file("a.h5", "w") as f:
        f.create_array("/", "x", x)
        c = f.create_carray("/", "m", obj=x.reshape(-1, 4), filters=tables.Filters(1))
        e = f.create_earray("/", "e", tables.Float64Atom(), (0,))
        e.append(x)
        e.append(x[:3])
        c[1] = np.zeros(4)
        return f.root.x[:], c[:], e[::2], f.root.x[np.array([1, 5])]


def rows(x):
    data = np.zeros(x.size, dtype=[("i", "i4"), ("x", "f8")])
    data["i"] = np.arange(x.size)
    data["x"] = x
    with tables.open_file("b.h5", "w") as f:
        t = f.create_table("/", "t", obj=data)
        t.append(data[:2])
        return t.read_where("x > 0.9"), t.col("x"), t.read_coordinates(np.array([1, 2]))


def shared_out(x):
    with tables.open_file("c.h5", "w") as f:
        a = f.create_array("/", "x", np.arange(float(x.size)))
        before = x + 1
        a.read(out=x)
        return before, x, x * 2
