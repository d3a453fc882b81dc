"""The boundary to compiled code: extension modules of other packages get NumPy arrays.

Compiled code that was built against NumPy reads the struct of `numpy.ndarray`. When
such a module has been imported, its functions and types are changed in place, so that
mxnp arrays among the arguments become the NumPy arrays inside them.
See csrc/python/packages/boundary.c and docs/design/12-packages.md.
"""

from __future__ import annotations

import builtins
import os
import sys
import sysconfig
from importlib.machinery import ExtensionFileLoader
from types import ModuleType

import numpy

from mxnp._bridge import cross_method, cross_module, patch_conversions
from mxnp._import import hook_extensions, mentions_arrays

# NumPy computes for mxnp, and mxnp's own modules know both kinds of arrays.
_OWN = {"numpy", "mxnp"}

# Packages whose extension module is no longer among the modules: they copied its
# functions and have its name.
_COPIES = {"cv2"}

# A smaller file only loads another library, as torch's does.
# To search a larger one costs more than to change its functions.
_SMALLEST, _LARGEST = 1 << 16, 1 << 24

_STANDARD = tuple(
    os.path.join(sysconfig.get_path(name), "")  # noqa: PTH118
    for name in ("stdlib", "platstdlib")
)
_INSTALLED = tuple(
    os.path.join(sysconfig.get_path(name), "")  # noqa: PTH118
    for name in ("purelib", "platlib")
)


def _is_standard(path: str) -> bool:
    """Tell whether a file belongs to Python's standard library."""
    return path.startswith(_STANDARD) and not path.startswith(_INSTALLED)


def takes_arrays(module: ModuleType) -> bool:
    """Tell whether compiled functions of a module may ask for NumPy's arrays."""
    path = getattr(module, "__file__", None)
    if path is None or module.__name__.partition(".")[0] in _OWN or _is_standard(path):
        return False
    try:
        size = os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return False
    return not _SMALLEST < size < _LARGEST or mentions_arrays(path)


def _imported(module: ModuleType) -> None:
    if takes_arrays(module):
        cross_module(module)


def load() -> None:
    """Change extension modules and classes: those that exist, and those to come."""
    # Packages hand the program's class on: pandas' Index.view(numpy.ndarray).
    cross_method(numpy.ndarray, "view")
    builtins.__build_class__ = patch_conversions(builtins.__build_class__, load)
    hook_extensions(ExtensionFileLoader, _imported)
    for name, module in list(sys.modules.items()):
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        if isinstance(loader, ExtensionFileLoader) or name in _COPIES:
            _imported(module)
