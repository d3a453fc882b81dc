"""mxnp: NumPy's arrays and functions, on every core and on the GPU.

``import mxnp as np`` instead of ``import numpy as np``, or run a program as it is
with ``python -m mxnp program.py``. Every name of NumPy is here.
"""

import pkgutil as _pkgutil
import sys as _sys

# In a source checkout the built core is in the installed package: look there too.
__path__ = _pkgutil.extend_path(__path__, __name__)

import numpy as _numpy

from . import _lib  # first: it says so when the core is missing or of other sources

from . import _classes as _classes  # isort: skip
from . import _boundary, _mirror, _standard
from . import _copies as _copies
from . import _expressions as _expressions
from . import _indexing as _indexing
from . import _metal_functions as _metal_functions
from . import _metal_updates as _metal_updates
from . import _nanfunctions as _nanfunctions
from . import _packages as _packages
from . import _placed as _placed
from . import _reductions as _reductions
from . import _selections as _selections
from . import _statistics as _statistics
from . import _warnings as _warnings
from ._array import ndarray as ndarray
from ._at import At as _At
from ._custom import metal_kernel as metal_kernel
from ._devices import device as device
from ._devices import devices as devices
from ._devices import get_device as get_device
from ._devices import get_float64_policy as get_float64_policy
from ._devices import set_device as set_device
from ._devices import set_float64_policy as set_float64_policy
from ._explain import explain as explain
from ._lib import clear_cache as clear_cache
from ._lib import get_num_threads as get_num_threads
from ._lib import memory_info as memory_info
from ._lib import set_memory_limit as set_memory_limit
from ._lib import set_num_threads as set_num_threads
from ._lib import synchronize as synchronize
from ._modes import get_mode as get_mode
from ._modes import mode as mode
from ._modes import set_mode as set_mode
from ._runner import install as install
from ._runner import uninstall as uninstall
from ._ufunc import ufunc as ufunc


def load_ipython_extension(shell: object) -> None:
    """Register the magics `%mxnp` and `%%mxnp`: what `%load_ext mxnp` calls."""
    from . import _notebook

    _notebook.load(shell)


ndarray.at = property(_At, doc=_At.__doc__)  # type: ignore[attr-defined]
mxnp_version = _lib.core_version()
__version__ = _numpy.__version__
# What few programs use, and takes longer to import than all the rest.
_later = {
    "doctor": "mxnp._doctor",
    "profile": "mxnp._report",
    "trap_nan": "mxnp._trap",
    "NaNError": "mxnp._trap",
    "verify": "mxnp._verify",
    "VerificationError": "mxnp._verify",
}
_mirror.populate(_sys.modules[__name__], _numpy, _later)
_standard.populate(_sys.modules[__name__])
_boundary.load()
# A program's `from numpy import *` gives what it gives with NumPy, and nothing of ours.
__all__ = list(_numpy.__all__)
_packages.adapt_packages()  # mxnp is complete now: some are imported already
