"""zstandard: compression."""

import io

import numpy as np
import zstandard


def one_shot(x):
    y = x * 1.0 + 1
    data = zstandard.ZstdCompressor(level=3).compress(y)
    back = zstandard.ZstdDecompressor().decompress(data)
    return (
        len(data),
        np.frombuffer(back) * 2,
        zstandard.compress(y.tobytes()) == zstandard.compress(y),
    )


def streams(x):
    file = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as writer:
        for row in x.reshape(-1, 20) * 2:
            writer.write(row)
    back = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(file.getvalue()))
    return np.frombuffer(back.read()).sum(), len(file.getvalue())


def shared_readinto(x):
    data = zstandard.ZstdCompressor().compress(x + 1)
    before = x * 2
    count = zstandard.ZstdDecompressor().stream_reader(data).readinto(x)
    return count > 0, before, x


def dictionaries(x):
    samples = [row.tobytes() for row in (x[:60] * 9).astype(int).reshape(-1, 5)] * 20
    made = zstandard.ZstdCompressionDict(b"".join(samples[:9]))
    data = zstandard.ZstdCompressor(dict_data=made).compress(x[:5] + 1)
    return np.frombuffer(zstandard.ZstdDecompressor(dict_data=made).decompress(data))


def error_strides(x):
    zstandard.ZstdCompressor().compress(x[::2])
