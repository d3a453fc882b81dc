"""The standard library for mxnp's own imports, where a program has files of its names.

``python -m mxnp`` starts with the current folder at the front of `sys.path`, and the
folder of the program follows in that place. Python would look there first. This module
adds a finder that does not. It imports only what Python itself has imported before.
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder

_SKIPPED = sys.stdlib_module_names | {"numpy"}  # whose imports are their importer's
_STANDARD = os.__file__.removesuffix("os.py")


def _is_own_import() -> bool:
    """Return whether mxnp, rather than the program, leads to the import."""
    frame = sys._getframe(2).f_back
    while frame is not None:
        names = frame.f_globals
        package = names.get("__package__") or names.get("__name__") or ""
        package = package.partition(".")[0]
        if package == "mxnp":
            return True
        is_importing = frame.f_code.co_name == "<module>" and package != "__main__"
        if package not in _SKIPPED and not is_importing:
            return False
        frame = frame.f_back
    return False


class _OwnImports:
    """A finder of modules of the standard library, without the program's folder."""

    def __init__(self, path: list[str]) -> None:
        self._path = path

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        if path is not None or name not in sys.stdlib_module_names:
            return None
        found = PathFinder.find_spec(name)
        if found is None:  # the module of another system, which many modules try
            return None
        place = str(found.origin)
        is_standard = place.startswith(_STANDARD) and "-packages" not in place
        if is_standard or not _is_own_import():
            return found  # no file hides it, or the program's file may
        spec = PathFinder.find_spec(name, self._path)
        if spec is None:  # on this system
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec


_place = sys.meta_path.index(PathFinder)
sys.meta_path.insert(_place, _OwnImports(sys.path[1:]))
