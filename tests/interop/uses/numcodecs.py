"""numcodecs: codecs of arrays."""

import numcodecs
import numpy as np


def compressors(x):
    y = x * 1.0 + 1
    codecs = [numcodecs.Blosc(), numcodecs.Zstd(), numcodecs.LZ4(), numcodecs.Zlib()]
    return [np.frombuffer(c.decode(c.encode(y))) * 2 for c in codecs]


def filters(x):
    whole = np.cumsum((x * 9).astype(int))
    return (
        numcodecs.Delta("i8").encode(whole),
        numcodecs.FixedScaleOffset(1, 100, "f8", "u1").encode(x * 2),
        numcodecs.Quantize(2, "f8").encode(x + 1),
        numcodecs.PackBits().encode(x > 0.5),
        numcodecs.AsType("f4", "f8").encode(x + 1),
        numcodecs.Categorize(["a", "b"], "U1").encode(np.array(["b", "a"])),
        numcodecs.BitRound(5).decode(numcodecs.BitRound(5).encode(x * 2)),
    )


def objects(small):
    names = np.array(["a", "bc", "d"], object)
    for codec in (numcodecs.VLenUTF8(), numcodecs.MsgPack(), numcodecs.JSON()):
        back = codec.decode(codec.encode(names))
        assert list(back) == list(names)
    lists = np.empty(2, object)
    lists[0], lists[1] = small[:2] * 2, small[2:5] + 1
    codec = numcodecs.VLenArray("f8")
    return [*codec.decode(codec.encode(lists))]


def shared_out(x):
    y = x + 1
    before = x * 2
    codec = numcodecs.Blosc(shuffle=2)
    codec.decode(codec.encode(y), out=x)
    numcodecs.Delta("f8").decode(numcodecs.Delta("f8").encode(y), out=y)
    return before, x, y


def checksums(x):
    codec = numcodecs.CRC32()
    return np.frombuffer(codec.decode(codec.encode(x * 2))), numcodecs.Shuffle(
        8
    ).encode(x * 2)


def error_out(x):
    codec = numcodecs.Zstd()
    codec.decode(codec.encode(x + 1), out=x[:-1])
