"""blosc2: compressed arrays."""

import blosc2
import numpy as np


def compress(x):
    data = blosc2.pack_tensor(x)
    return blosc2.unpack_tensor(data), np.frombuffer(
        blosc2.decompress2(blosc2.compress2(x))
    )


def arrays(x):
    a = blosc2.asarray(x)
    a[2:5] = np.zeros(3)
    return a[:], a[3:9:2], a.shape, (a + 1)[:]


def shared_out(x):
    data = blosc2.compress2(np.arange(float(x.size)))
    before = x + 1
    blosc2.decompress2(data, dst=x)
    return before, x, x * 2
