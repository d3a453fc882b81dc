"""mxnp: NumPy's arrays and functions, on every core and on the GPU.

``import mxnp as np`` instead of ``import numpy as np``, or run a program as it is
with ``python -m mxnp program.py``. Every name of NumPy is here.
"""

from __future__ import annotations

import pkgutil
from typing import Any

# In a source checkout the built core is in the installed package: look there too.
__path__ = pkgutil.extend_path(__path__, __name__)

import numpy as _numpy  # noqa: E402

from . import _classes, _methods, _mirror  # noqa: E402
from ._array import ndarray  # noqa: E402
from ._ufunc import ufunc  # noqa: E402

mxnp_version = "0.1.0"
__version__ = _numpy.__version__
__all__ = sorted({*_numpy.__all__} | {"mxnp_version"})  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Give a name of NumPy, crossed over, on its first use."""
    try:
        value = getattr(_numpy, name)
    except AttributeError as error:
        raise AttributeError(*error.args, name=name, obj=None) from None
    if name.startswith("__"):
        return value
    globals()[name] = crossed = _mirror.cross(value)
    return crossed


def __dir__() -> list[str]:
    return sorted({*dir(_numpy), *__all__})
