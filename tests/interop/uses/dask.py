"""dask: arrays in blocks, and task graphs."""

import dask
import dask.array as da
import numpy as np

# Sums of large arrays add in another order.
TOLERANCES = {"delayed": 1e-14}

dask.config.set(scheduler="synchronous")


def from_array(x):
    d = da.from_array(x, chunks=30)
    return (
        d.sum().compute(),
        (d + 1).compute(),
        da.sqrt(d).mean().compute(),
        d[d > 0.5].compute(),
    )


def blocks(x):
    d = da.from_array(x.reshape(-1, 4), chunks=(10, 2))
    return (
        d.map_blocks(np.sqrt).compute(),
        (d.T @ d).compute(),
        da.concatenate([d, d]).compute(),
        d.rechunk((5, 4)).std(axis=0).compute(),
    )


def operators(x):
    d = da.ones(x.size, chunks=30)
    return (
        (d * x).compute(),
        (x + d).compute(),
        np.add(x, d).compute(),
        d[(x[:5] * 9).astype(int)].compute(),
    )


def delayed(x):
    return dask.compute(dask.delayed(np.sum)(x), dask.delayed(lambda v: v * 2)(x))


def shared_store(x):
    before = x + 1
    da.store(da.arange(x.size, chunks=30, dtype=float), x, lock=False)
    return before, x, x * 2
