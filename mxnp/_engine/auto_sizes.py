"""The numbers of elements from which device "auto" uses the GPU: guessed or measured.

``python -m mxnp --check-gpu`` measures them and writes them to a file that belongs to
the user alone. They count for the same GPU and the same version of mxnp.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import Any, NamedTuple

from . import environment

NEVER = 2**62


class Sizes(NamedTuple):
    """The least numbers of elements of operations that run on the GPU."""

    elementwise: int
    reductions: int
    scans: int


def guess(size: int) -> Sizes:
    """Return the sizes of a kind of GPU on which none were measured."""
    return Sizes(size, size, size)


def file() -> str:
    """Return the file of measured sizes, or "" if there is none."""
    return environment.get_path("MXNP_AUTO_SIZES")


def _load() -> dict[str, Any]:
    """Return what the file has, or {} if others than this user can write to it."""
    try:
        descriptor = os.open(file(), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return {}
    import json  # its import takes time, and few users have measured the sizes

    with open(descriptor, encoding="utf-8") as opened:  # noqa: PTH123
        status = os.fstat(descriptor)
        others = stat.S_IWGRP | stat.S_IWOTH
        if status.st_uid != os.geteuid() or status.st_mode & others:
            return {}
        try:
            content = json.load(opened)
        except ValueError:
            return {}
    return content if isinstance(content, dict) else {}


def read(gpu: str, version: str) -> Sizes | None:
    """Return the sizes that were measured with a GPU and a version, or None."""
    row = _load().get(f"{gpu}, mxnp {version}")
    if not isinstance(row, dict):
        return None
    sizes: list[Any] = [row.get(name) for name in Sizes._fields]
    if not all(type(size) is int and 0 <= size <= NEVER for size in sizes):
        return None
    return Sizes(*sizes)


def write(gpu: str, version: str, sizes: Sizes) -> str:
    """Add the sizes of a GPU to the file; return its name, or "" if that fails."""
    import json
    import tempfile

    name = file()
    folder = os.path.dirname(name)  # noqa: PTH120
    rows = {
        key: row for key, row in _load().items() if key.endswith(f", mxnp {version}")
    }
    rows[f"{gpu}, mxnp {version}"] = sizes._asdict()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        descriptor, temporary = tempfile.mkstemp(dir=folder)  # for this user alone
        with open(descriptor, "w", encoding="utf-8") as opened:  # noqa: PTH123
            opened.write(json.dumps(rows, indent=1) + "\n")
        os.replace(temporary, name)  # noqa: PTH105
    except OSError:
        return ""
    return name


def remove() -> None:
    """Delete the file."""
    name = file()
    if name:
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108


def describe(sizes: Sizes) -> str:
    """Return the sizes as text."""
    texts = [
        f"{name} never" if size >= NEVER else f"{name} from {size:,} elements"
        for name, size in sizes._asdict().items()
    ]
    return ", ".join(texts)
