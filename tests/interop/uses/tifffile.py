"""tifffile: TIFF files."""

import numpy as np
import tifffile


def files(x):
    tifffile.imwrite("a.tif", x.reshape(-1, 4))
    tifffile.imwrite(
        "b.tif", (x * 999).astype(np.uint16).reshape(2, -1, 5), photometric="minisblack"
    )
    return (
        tifffile.imread("a.tif"),
        tifffile.imread("b.tif"),
        tifffile.imread("b.tif", key=1),
    )


def memory_map(x):
    tifffile.imwrite("c.tif", x.reshape(-1, 4))
    m = tifffile.memmap("c.tif")
    m[0] = x[4:8] * 2
    m.flush()
    return tifffile.imread("c.tif")


def shared_out(x):
    tifffile.imwrite("d.tif", np.arange(float(x.size)).reshape(-1, 4))
    before = x + 1
    tifffile.imread("d.tif", out=x.reshape(-1, 4))
    return before, x, x * 2
