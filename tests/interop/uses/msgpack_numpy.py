"""msgpack-numpy: arrays in MessagePack."""

import msgpack
import msgpack_numpy
import numpy as np


def pack(x):
    data = msgpack.packb({"x": x, "s": x[1]}, default=msgpack_numpy.encode)
    return msgpack.unpackb(data, object_hook=msgpack_numpy.decode), data


def patched(x):
    msgpack_numpy.patch()
    return msgpack.unpackb(msgpack.packb([x.reshape(-1, 4), np.arange(3)]))
