"""mxnp: NumPy's arrays and functions, on every core and on the GPU.

``import mxnp as np`` instead of ``import numpy as np``, or run a program as it is
with ``python -m mxnp program.py``. Every name of NumPy is here.
"""

from __future__ import annotations

import pkgutil as _pkgutil
import sys as _sys

# In a source checkout the built core is in the installed package: look there too.
__path__ = _pkgutil.extend_path(__path__, __name__)

import numpy as _numpy  # noqa: E402

from . import _classes, _methods, _mirror  # noqa: E402
from ._array import ndarray  # noqa: E402
from ._runner import install, uninstall  # noqa: E402
from ._ufunc import ufunc  # noqa: E402

mxnp_version = "0.1.0"
__version__ = _numpy.__version__
_mirror.populate(_sys.modules[__name__], _numpy)
__all__ += ["mxnp_version"]  # noqa: F821 - NumPy's list, by populate
