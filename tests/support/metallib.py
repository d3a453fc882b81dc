"""The functions of a ``.metallib``, which Apple's compiler makes, as LLVM bitcode."""

from __future__ import annotations

import struct
import zipfile

MAGIC = b"MTLB\x01\x80"
CHUNK = 1 << 24


def functions(library: bytes) -> dict[str, bytes]:
    """Return the bitcode of each function by name."""
    fields = struct.unpack_from("<9Q", library, 16)
    names, codes = fields[1], fields[7]
    (count,) = struct.unpack_from("<I", library, names)
    at, found = names + 4, {}
    for _ in range(count):
        (size,) = struct.unpack_from("<I", library, at)
        tags = _read_tags(library[at + 4 : at + size])
        begin = codes + struct.unpack("<3Q", tags[b"OFFT"])[2]
        (length,) = struct.unpack("<Q", tags[b"MDSZ"])
        found[tags[b"NAME"].rstrip(b"\0").decode()] = library[begin : begin + length]
        at += size
    return found


def _read_tags(record: bytes) -> dict[bytes, bytes]:
    """Return the values of a record by their tags."""
    tags, at = {}, 0
    while record[at : at + 4] != b"ENDT":
        (length,) = struct.unpack_from("<H", record, at + 4)
        tags[record[at : at + 4]] = record[at + 6 : at + 6 + length]
        at += 6 + length
    return tags


def embedded(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the first ``.metallib`` that a file of an archive contains."""
    with archive.open(name) as file:
        read = b""
        while (at := read.find(MAGIC)) < 0:
            chunk = file.read(CHUNK)
            if not chunk:
                raise ValueError(f"{name} contains no .metallib")
            read = read[-len(MAGIC) :] + chunk
        read = read[at:] + file.read(24)
        (size,) = struct.unpack_from("<Q", read, 16)
        return read + file.read(size - len(read))
