"""tensorstore: large arrays in files."""

import numpy as np
import tensorstore as ts


def _store(x, name):
    spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": name}}
    return ts.open(
        spec, create=True, delete_existing=True, dtype=ts.float64, shape=[x.size]
    ).result()


def files(x):
    store = _store(x, "a.zarr/")
    store[...] = x * 1.0 + 1
    store[2:5].write(x[:3] * 2).result()
    return store.read().result() * 2, store[::2].read().result(), store.shape


def indexed(x):
    store = _store(x, "b.zarr/")
    store.write(x + 1).result()
    return (
        store[np.array([3, 1])].read().result(),
        store[x > 0.5].read().result(),
        np.asarray(store[1:9]) + 1,
        store[x.size - 1].read().result(),
    )


def in_memory(x):
    made = ts.array(x.reshape(-1, 4) * 2)
    return np.asarray(made), made[1].read().result() * 2, made.dtype.name, made.T.shape


def shared_arrays(x):
    made = ts.array(x)
    before = x + 1
    made[0] = 5
    x[1] = 7
    return before, made.read().result(), x


def virtual(x):
    y = x * 2

    def read(domain, chunk, _):
        chunk[...] = y[domain.origin[0] : domain.exclusive_max[0]]

    made = ts.virtual_chunked(read, dtype=ts.float64, shape=[x.size])
    return made[3:7].read().result()


def error_shapes(x):
    _store(x, "c.zarr/")[...] = x[:7] * 2
