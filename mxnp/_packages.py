"""What other packages must be told about mxnp, once they are imported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_waiting: dict[str, Callable[[ModuleType], None]] = {}


def when_imported(name: str, prepare: Callable[[ModuleType], None]) -> None:
    """Call `prepare` with a module now or when it is imported; mxnp imports it not."""
    if name in sys.modules:
        prepare(sys.modules[name])
    else:
        _waiting[name] = prepare


class Watch:
    """A finder that notices the import of a module somebody waits for."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Give the spec of such a module, with a loader that goes on to prepare it."""
        if name not in _waiting:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                del loader.exec_module  # the instance's: this very function
                execute(module)
                _waiting[name](module)

            loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Watch)


def _tell_einops(backends: Any) -> None:
    """Let einops take mxnp arrays, as it takes NumPy's."""
    from ._array import ndarray

    class MxnpBackend(backends.NumpyBackend):  # type: ignore[misc]
        framework_name = "mxnp"

        def __init__(self) -> None:
            self.np = sys.modules["mxnp"]

        def is_appropriate_type(self, tensor: Any) -> bool:
            return type(tensor) is ndarray

    backends.MxnpBackend = MxnpBackend  # einops finds it among the subclasses alive


when_imported("einops._backends", _tell_einops)
