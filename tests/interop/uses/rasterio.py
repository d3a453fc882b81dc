"""rasterio: maps as images."""

import numpy as np
from rasterio import features, transform, warp
from rasterio.io import MemoryFile


def files(x):
    m = x.reshape(1, -1, 20)
    with MemoryFile() as memory:
        with memory.open(
            driver="GTiff", height=m.shape[1], width=20, count=1, dtype="float64"
        ) as f:
            f.write(m)
        with memory.open() as f:
            return f.read(1), f.read(), f.read(1, window=((0, 2), (1, 5)))


def shapes(x):
    m = (x.reshape(-1, 20) > 0.5).astype(np.uint8)
    found = list(features.shapes(m))
    return (
        len(found),
        features.rasterize([found[0][0]], out_shape=m.shape),
        features.sieve(m, 3),
    )


def coordinates(x):
    t = transform.from_origin(0, 10, 1, 1)
    return (
        transform.xy(t, np.arange(3), np.arange(3)),
        transform.rowcol(t, x[:3], x[:3] * 5),
        warp.transform("EPSG:4326", "EPSG:3857", x[:3], x[:3]),
    )


def shared_out(x):
    m = x.reshape(-1, 20).astype(np.float32)
    with MemoryFile() as memory:
        with memory.open(
            driver="GTiff", height=m.shape[0], width=20, count=1, dtype="float32"
        ) as f:
            f.write(m * 2, 1)
        before = m + 1
        with memory.open() as f:
            f.read(1, out=m)
        return before, m, m * 2


def shared_reproject(x):
    m = x.reshape(-1, 20)
    out = np.zeros((10, 10))
    before = out + 1
    t = transform.from_origin(0, 10, 1, 1)
    warp.reproject(
        m,
        out,
        src_transform=t,
        src_crs="EPSG:4326",
        dst_transform=t,
        dst_crs="EPSG:4326",
    )
    return before, out, out.sum()
