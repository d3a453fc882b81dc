"""mxnp: NumPy's arrays and functions, with lazy execution on all cores and on the GPU.

Write ``import mxnp as np`` instead of ``import numpy as np``, or run an unchanged
program with ``python -m mxnp program.py``. The package has every name of NumPy.
"""

import _thread
import gc as _gc
import sys as _sys
from importlib.machinery import PathFinder as _PathFinder
from os import path as _path

if _PathFinder.find_spec("mxnp._core", __path__) is None:
    # In a source checkout the compiled modules are in the installed package.
    for _folder in _sys.path:
        _package = _path.abspath(_path.join(_folder, "mxnp"))  # noqa: PTH100, PTH118
        if _package not in __path__ and _path.isdir(_package):  # noqa: PTH112
            __path__.append(_package)

_argv = getattr(_sys, "argv", [])
# Python has found the module to run in the arguments, and looks for it.
_is_command = _argv[:1] == ["-m"] and _sys.orig_argv[-len(_argv) :][:1] == ["mxnp"]

if _argv[:1] == ["-m"] and not _sys.flags.safe_path:
    from ._cli import own_imports as own_imports  # before any other

    del own_imports


def load_ipython_extension(shell: object) -> None:
    """
    Register the magics `%mxnp` and `%%mxnp`, for `%load_ext mxnp`.

    Parameters
    ----------
    shell : InteractiveShell
        The shell of IPython.
    """
    from ._cli import notebook

    notebook.load(shell)


def _divide_calls(scipy: object) -> None:
    """Divide large calls of SciPy among threads."""
    from ._engine import environment

    if environment.get("MXNP_SCIPY") == "1":
        from ._packages import placing  # most programs do not need it

        placing.load()


_MOST_OBJECTS = 10_000  # Python begins with 4,000 to 5,000
_collects = _gc.isenabled()
_objects = [] if _is_command else _gc.get_objects()  # of the program, and of Python
# Python 3.12 begins with 375 frozen objects, and a freeze by the program has thousands.
_can_freeze = (
    len(_objects) < _MOST_OBJECTS  # or it takes longer than it saves
    and _gc.get_freeze_count() < 1000
    and not _thread._count()  # which makes objects meanwhile
)
_gc.disable()  # for the imports, whose many new objects are no garbage
try:
    import numpy as _numpy

    from ._engine import core as _engine_core  # first, to report a missing core

    if not _engine_core.load_once():
        # What mxnp has patched would be patched again, and call itself.
        raise ImportError("cannot load module more than once per process")
    if _engine_core.gpu().models:
        from . import _gpu as _gpu
    from . import _jit as _jit
    from . import _numpy_layer as _numpy_layer
    from . import _routines as _routines
    from . import array_namespace as array_namespace
    from ._array.at import At as _At
    from ._array.at import at as at
    from ._array.ndarray import ndarray as ndarray
    from ._array.ufunc import ufunc as ufunc
    from ._array_api import standard as _standard
    from ._engine.core import clear_cache as clear_cache
    from ._engine.core import get_num_threads as get_num_threads
    from ._engine.core import memory_info as memory_info
    from ._engine.core import set_memory_limit as set_memory_limit
    from ._engine.core import set_num_threads as set_num_threads
    from ._engine.core import synchronize as synchronize
    from ._engine.devices import device as device
    from ._engine.devices import devices as devices
    from ._engine.devices import get_device as get_device
    from ._engine.devices import get_float64_policy as get_float64_policy
    from ._engine.devices import set_device as set_device
    from ._engine.devices import set_float64_policy as set_float64_policy
    from ._engine.settings import get_mode as get_mode
    from ._engine.settings import mode as mode
    from ._engine.settings import set_mode as set_mode
    from ._interop import adapters as _adapters
    from ._interop import boundary as _boundary
    from ._interop import door as _door
    from ._namespace import guards as _guards  # noqa: F401  (calls that NumPy must not get)
    from ._namespace import mirror as _mirror

    ndarray.at = property(_At, doc=_At.__doc__)  # type: ignore[attr-defined]
    mxnp_version = _engine_core.core_version()
    __version__ = _numpy.__version__
    # Few programs use these, so their modules are imported on first use.
    _later = {
        "install": "mxnp._cli.runner",
        "uninstall": "mxnp._cli.runner",
        "explain": "mxnp._engine.explain",
        "gpu_kernel": "mxnp._metal.custom",
        "metal_kernel": "mxnp._metal.custom",  # the same function
        "doctor": "mxnp._doctor.doctor",
        "profile": "mxnp._profiler.report",
        "trap_nan": "mxnp._verify.trap_nan",
        "NaNError": "mxnp._verify.trap_nan",
        "verify": "mxnp._verify.verify",
        "VerificationError": "mxnp._verify.verify",
    }
    _mirror.populate(_sys.modules[__name__], _numpy, _later)
    _standard.populate(_sys.modules[__name__])
    _mirror.keep_modules()
    _boundary.load()
    # `from mxnp import *` imports the names that `from numpy import *` does.
    __all__ = list(_numpy.__all__)
    _adapters.adapt_packages()  # packages that are imported already use mxnp
    _adapters.when_imported("scipy", _divide_calls)
    _door.load()  # last: from here on the calls of the program are seen
    if _is_command:
        _gc.freeze()  # or the first collection would look at all that is loaded
    elif _collects and _can_freeze:
        from ._bridge import track_again as _track_again

        _gc.freeze()
        _track_again(_objects)
except ImportError as _error:
    if _is_command and str(_error.name).startswith("MXNP_"):  # a wrong setting
        _sys.exit(f"python -m mxnp: {_error}")
    raise
finally:
    del _objects
    if _collects:
        _gc.enable()
