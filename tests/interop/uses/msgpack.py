"""msgpack: binary messages."""

import msgpack
import numpy as np


def _encode(value):
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.str, "shape": value.shape, "data": value.tobytes()}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(type(value).__name__)


def _decode(value):
    if "data" not in value:
        return value
    return np.frombuffer(value["data"], value["dtype"]).reshape(value["shape"])


def messages(x):
    packed = msgpack.packb(
        {"x": x * 1.0 + 1, "m": x.reshape(-1, 4), "s": [x[1]]}, default=_encode
    )
    return msgpack.unpackb(packed, object_hook=_decode), packed[:50]


def buffers(x):
    y = x + 1
    packed = msgpack.packb(memoryview(y))
    return np.frombuffer(msgpack.unpackb(packed)) * 2, packed == msgpack.packb(y.data)


def lists(x):
    return msgpack.unpackb(msgpack.packb((x * 2).tolist()))[:5]


def streams(x):
    packer = msgpack.Packer(default=_encode, autoreset=False)
    for row in x.reshape(-1, 20) * 2:
        packer.pack(row)
    unpacker = msgpack.Unpacker(object_hook=_decode)
    unpacker.feed(packer.bytes())
    return list(unpacker)


def extensions(x):
    def pack(value):
        return msgpack.ExtType(5, np.asarray(value).tobytes())

    packed = msgpack.packb([x + 1, 3], default=pack)
    return msgpack.unpackb(packed, ext_hook=lambda code, data: np.frombuffer(data) * 2)


def error_without_default(x):
    try:
        msgpack.packb({"x": x * 2})
    except TypeError as error:
        raise TypeError(str(error).split("mxnp.")[-1].split("numpy.")[-1]) from None


def error_scalars(x):
    msgpack.packb([(x * 9).astype(np.int32)[0]])
