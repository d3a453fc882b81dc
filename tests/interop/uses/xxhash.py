"""xxhash: fast hashes of bytes."""

import hashlib
import zlib

import xxhash


def hashes(x):
    y = x * 1.0 + 1
    return (
        xxhash.xxh64(y).hexdigest(),
        xxhash.xxh3_64_intdigest(y),
        xxhash.xxh32_hexdigest(y.reshape(-1, 4)),
        xxhash.xxh128(y.tobytes()).digest(),
        xxhash.xxh64(y.data, seed=3).intdigest(),
    )


def updates(x):
    made = xxhash.xxh3_128()
    made.update(x + 1)
    for row in x.reshape(-1, 20) * 2:
        made.update(row)
    return made.hexdigest(), made.copy().intdigest()


def standard_hashes(x):
    y = x * 2
    return hashlib.sha256(y).hexdigest(), zlib.crc32(y), hashlib.md5(y.data).hexdigest()


def shared_changes(x):
    before = x + 1
    first = xxhash.xxh64(x).intdigest()
    x[0] = 5
    return first, xxhash.xxh64(x).intdigest(), xxhash.xxh64(before).intdigest()


def error_strides(x):
    xxhash.xxh64(x[::2])
