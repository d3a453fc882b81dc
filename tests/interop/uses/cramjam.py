"""cramjam: several compressions."""

import cramjam
import numpy as np


def variants(x):
    y = x * 1.0 + 1
    found = []
    for variant in (cramjam.snappy, cramjam.gzip, cramjam.lz4, cramjam.zstd):
        data = variant.compress(y)
        found.append(np.frombuffer(variant.decompress(data)) + 1)
    return found


def buffers(x):
    made = cramjam.Buffer(x * 2)
    made.seek(8)
    return np.frombuffer(made.read(24)), len(made)


def shared_outputs(x):
    data = cramjam.snappy.compress(x + 1)
    before = x * 2
    out = np.zeros(x.size) + 1
    count = cramjam.snappy.decompress_into(data, out)
    cramjam.snappy.decompress_into(data, x)
    return count, out, before, x


def compressed_into(x):
    out = np.zeros(x.nbytes * 2, np.uint8)
    later = out + 1
    count = cramjam.zstd.compress_into(x + 1, out)
    return np.frombuffer(cramjam.zstd.decompress(out[:count])), later.sum()


def error_strides(x):
    cramjam.snappy.compress(x[::2])
