"""Hash the C sources, so that Python can check which sources a core was built from.

Every import of mxnp from a checkout runs this, so it avoids modules that are slow to
import: pathlib and, because it loads OpenSSL, hashlib.
"""

import os
import sys

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

SUFFIXES = (".c", ".cuh", ".def", ".h", ".m")


def sources(folder: str) -> list[str]:
    """Return the sources in and below a folder, in the same order on every machine."""
    found = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            found += sources(entry.path)
        elif entry.name.endswith(SUFFIXES):
            found.append(entry.path)
    return found


def digest(folder: str) -> str:
    """Hash the names and texts of the sources, ignoring the kind of line ends."""
    total = blake2b(digest_size=8)
    for path in sources(folder):
        total.update(path[len(folder) :].replace(os.sep, "/").encode() + b"\0")
        with open(path, "rb") as file:  # noqa: PTH123
            text = file.read()
        total.update(text.replace(b"\r\n", b"\n") if b"\r" in text else text)
        total.update(b"\0")
    return total.hexdigest()


def state(folder: str) -> str:
    """Hash the full names, sizes and times of the sources, without reading them.

    An editable install keeps this beside the core, so that an import reads the sources
    only if they are others or have been written since.
    """
    folder = os.path.realpath(folder)
    total = blake2b(digest_size=8)
    for path in sources(folder):
        status = os.stat(path)  # noqa: PTH116
        total.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return total.hexdigest()


if __name__ == "__main__":
    header, depfile = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    with open(header, "w") as file:  # noqa: PTH123
        file.write(f'#define MX_DIGEST "{digest(here)}"\n')
    with open(depfile, "w") as file:  # noqa: PTH123
        file.write(f"{header}: {' '.join(sources(here))}\n")
