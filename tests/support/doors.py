"""The package ``visited``, in a folder of installed packages, for tests of doors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy
import pytest

import mxnp

FOLDER = str(Path(__file__).parents[1] / "packages" / "site-packages")

needs_doors = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="interpreters before Python 3.12 have no doors"
)


def forget() -> None:
    """Forget the package, so that it is imported anew, without doors."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "visited"]:
        del sys.modules[name]


@contextmanager
def installed() -> Iterator[None]:
    """Let programs import the package, anew, in a block."""
    sys.path.insert(0, FOLDER)
    forget()
    yield
    sys.path.remove(FOLDER)
    forget()


def plain(x: Any) -> Any:
    """Return an object with bytes in place of arrays of both kinds."""
    if isinstance(x, (list, tuple)):
        return [plain(each) for each in x]
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, (numpy.ndarray, mxnp.ndarray, numpy.generic)):
        return x.dtype.str, x.shape, x.tobytes()
    return x
