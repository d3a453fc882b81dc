"""lz4: fast compression."""

import lz4.block
import lz4.frame
import numpy as np


def blocks(x):
    y = x * 1.0 + 1
    data = lz4.block.compress(y)
    return np.frombuffer(lz4.block.decompress(data)) * 2, len(data)


def frames(x):
    data = lz4.frame.compress(x.reshape(-1, 4) * 2)
    return np.frombuffer(lz4.frame.decompress(data)).reshape(
        -1, 4
    ), lz4.frame.get_frame_info(data)["content_size"]


def files(x):
    with lz4.frame.open("a.lz4", "wb") as file:
        for row in x.reshape(-1, 20) + 1:
            file.write(row)
    with lz4.frame.open("a.lz4") as file:
        return np.frombuffer(file.read()) * 2


def pieces(x):
    made = lz4.frame.LZ4FrameCompressor()
    data = made.begin() + made.compress(x * 2) + made.flush()
    return np.frombuffer(lz4.frame.decompress(data))


def error_strides(x):
    lz4.block.compress(x[::2])
