"""Select the extension modules of other packages whose calls receive NumPy arrays.

Compiled code that was built against NumPy reads the struct of `numpy.ndarray`. After
the import of such a module, its functions and types are changed in place, so that mxnp
arrays among the arguments are replaced by the NumPy arrays inside.
See csrc/python/packages/patching.c and docs/design/12-packages.md.
"""

from __future__ import annotations

import builtins
import functools
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Any

import numpy

from mxnp._array.ndarray import MixedSubclass
from mxnp._array.ufunc import is_numpys
from mxnp._bridge import (
    Function,
    hook_extensions,
    mentions_arrays,
    patch_array_classes,
    patch_conversions,
    patch_method,
    patch_module,
)
from mxnp._engine import core
from mxnp._namespace.mirror import find_counterpart

from .program_files import is_standard

# mxnp calls NumPy with NumPy arrays, its own modules know both kinds of arrays, and the
# module of cffi, which mxnp always loads, knows none. A package calls NumPy's random
# generators with arrays of the program.
_OWN = {"numpy", "mxnp", "_cffi_backend"}
_RANDOM = "numpy.random."

# They find arrays in the memory of the GPU, by the protocols of mxnp arrays.
_ON_GPU = {"cupy", "cupyx", "cupy_backends"}

# Packages that replaced their extension module in sys.modules by a module of the same
# name with copies of its functions.
_COPIES = {"cv2"}

# They have no arrays, and return what they get from functions of Python.
_PASSING = {"uarray._uarray"}

# A smaller file only loads another library, as torch's does. Searching a larger file
# costs more than changing its functions.
_SMALLEST, _LARGEST = 1 << 16, 1 << 24

_SUFFIXES = tuple(EXTENSION_SUFFIXES)

# Methods of `numpy.ndarray` to which packages pass on what they got: a class, as in
# Index.view(ndarray) of pandas, or arrays, as in super().__array_ufunc__().
_PASSED_ON = ("view", "__array_function__", "__array_ufunc__")


def _file_of(module: ModuleType) -> str | None:
    """Return the path of a module's file, without running a module's `__getattr__`."""
    path = getattr(module, "__dict__", {}).get("__file__")
    return path if isinstance(path, str) else None


def takes_arrays(module: ModuleType) -> bool:
    """Check whether the compiled functions of a module may require NumPy arrays."""
    package = module.__name__.partition(".")[0]
    if module.__name__.startswith(_RANDOM):
        return True
    if package in _OWN or (package in _ON_GPU and core.gpu_has_own_memory()):
        return False
    path = _file_of(module)
    if path is None or module.__name__ in _PASSING:  # or nobody knows what it requires
        return True
    return _may_take_arrays(path)


@functools.cache
def _may_take_arrays(path: str) -> bool:
    if is_standard(path):
        return False
    try:
        size = os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return False
    return not _SMALLEST < size < _LARGEST or mentions_arrays(path)


def _imported(module: ModuleType) -> None:
    if takes_arrays(module):
        patch_module(module)


def _function_of_mxnp(function: Any) -> Any:
    """Return mxnp's function for one of NumPy that NumPy passes to an override."""
    if isinstance(function, Function):
        return function
    if isinstance(function, numpy.ufunc):
        is_found = is_numpys(function)
    else:
        module = str(getattr(function, "__module__", ""))
        is_found = module.partition(".")[0] == "numpy"
    return find_counterpart(function) if is_found else function


def load() -> None:
    """Change extension modules and classes, present and future."""
    for name in _PASSED_ON:
        patch_method(numpy.ndarray, name)
    patch_array_classes()
    for kind in dict.fromkeys(numpy.sctypeDict.values()):
        patch_method(kind, "__new__")  # of an array it returns one
    builtins.__build_class__ = patch_conversions(
        builtins.__build_class__, load, MixedSubclass, numpy, _function_of_mxnp
    )
    hook_extensions(_imported)
    for name, module in list(sys.modules.items()):
        if (_file_of(module) or "").endswith(_SUFFIXES) or name in _COPIES:
            _imported(module)
