"""Adapters for other packages, applied when the program has imported them."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import numpy

from mxnp._array import pickles
from mxnp._array.ndarray import ndarray
from mxnp._bridge import Function, Method
from mxnp._engine.core import core_version, get_num_threads, set_num_threads
from mxnp._namespace.mirror import original_of

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

    class MxnpBackend(backends.NumpyBackend):  # type: ignore[misc]
        framework_name = "mxnp"

        def __init__(self) -> None:
            self.np = sys.modules["mxnp"]

        def is_appropriate_type(self, tensor: Any) -> bool:
            return type(tensor) is ndarray

    backends.MxnpBackend = MxnpBackend  # einops finds it among the subclasses alive


def _tell_threadpoolctl(threadpoolctl: Any) -> None:
    """Let threadpoolctl limit mxnp's threads; versions before 3.2 cannot be told."""
    if not hasattr(threadpoolctl, "register"):
        return

    class MxnpController(threadpoolctl.LibController):  # type: ignore[misc]
        user_api = "mxnp"
        internal_api = "mxnp"
        filename_prefixes = ("_core.",)
        check_symbols = ("mx_thread_count",)

        def get_num_threads(self) -> int:
            return get_num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            set_num_threads(num_threads)

        def get_version(self) -> str:
            return core_version()

    threadpoolctl.register(MxnpController)


# -- Packages that ask for the class itself --------------------------------------------
#
# Most packages take mxnp arrays as they are: `isinstance` finds NumPy's class, and
# compiled code gets the NumPy array inside (see boundary). Those below look a class up
# in a table of their own, or read the global names of a program.


def _tell_autograd_boxes(boxes: Any) -> None:
    """Let autograd differentiate with respect to mxnp arrays."""
    boxes.ArrayBox.register(ndarray)


def _tell_autograd_spaces(spaces: Any) -> None:
    """Let autograd find the vector space of an mxnp array: that of NumPy's."""
    spaces.VSpace.register(ndarray, spaces.VSpace.mappings[numpy.ndarray])


def _tell_jax(abstract_arrays: Any) -> None:
    """Let JAX find the type of an mxnp array: that of NumPy's."""
    types = abstract_arrays.core.pytype_aval_mappings
    types[ndarray] = types[numpy.ndarray]


def _tell_numba(interpreter: Any) -> None:
    """Let compiled functions see NumPy where the program has mxnp in a global name."""
    cls = interpreter.Interpreter
    for name in ("get_global_value", "get_closure_value"):
        setattr(cls, name, _giving_numpy(getattr(cls, name)))


def _tell_numba_stencils(stencil: Any) -> None:
    """Let stencils convert mxnp arrays: they call functions made at run time."""
    cls = stencil.StencilFunc
    cls.__call__ = Method(cls.__call__, adopts=False)


def _giving_numpy(get: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(get)
    def get_value(self: Any, name: Any) -> Any:
        return original_of(get(self, name))

    return get_value


def _tell_pandas(arrays: Any) -> None:
    """Let ``pandas.array`` copy: it asks whether ``asarray`` returned its argument."""
    cls = arrays.NumpyExtensionArray
    make = cls._from_sequence.__func__
    cls._from_sequence = classmethod(Method(make, adopts=False))


def _tell_pandas_masked(masked: Any) -> None:
    """Let arrays with a mask hold NumPy's: compiled code reads their attributes."""
    cls = masked.BaseMaskedArray
    cls.__init__ = Method(cls.__init__, adopts=False)


def _tell_polars(dependencies: Any) -> None:
    """Let polars see that mxnp arrays may be NumPy's; it compares names of classes."""
    might_be = dependencies._might_be

    @functools.wraps(might_be)
    def _might_be(cls: Any, name: str) -> bool:
        return bool((cls is ndarray and name == "numpy") or might_be(cls, name))

    dependencies._might_be = _might_be


def _tell_torch(collate: Any) -> None:
    """Let a DataLoader without batches convert mxnp arrays; it compares names."""
    collate.default_convert = Method(collate.default_convert, adopts=False)


def _tell_torch_pickles(unpickler: Any) -> None:
    """Let ``torch.load(weights_only=True)`` load pickles of mxnp arrays.

    It has a list of the functions and classes that a file may name. A program adds
    NumPy's objects to it. The function that mxnp's pickles name is added here; it only
    converts what a file may contain anyway.
    """
    if not hasattr(unpickler, "_add_safe_globals"):  # before 2.4
        return
    for name in ("_add_safe_globals", "_remove_safe_globals"):
        if hasattr(unpickler, name):
            change = Function(getattr(unpickler, name), adopts=False)
            setattr(unpickler, name, change)
    unpickler._add_safe_globals([pickles.asanyarray])


def _tell_xarray(variable: Any) -> None:
    """Let xarray convert dates and objects as it converts those of NumPy's arrays.

    It asks whether `type(x)` is NumPy's class, and keeps arrays of other classes as
    they are. For numbers that is right: the operations on them are recorded.
    """
    convert = variable.as_compatible_data

    @functools.wraps(convert)
    def as_compatible_data(data: Any, *args: Any, **kwargs: Any) -> Any:
        if type(data) is ndarray and data.dtype.kind in "OMm":
            data = numpy.asarray(data)
        return convert(data, *args, **kwargs)

    for name, module in list(sys.modules.items()):
        is_users = name.startswith("xarray.")
        if is_users and getattr(module, "as_compatible_data", None) is convert:
            module.as_compatible_data = as_compatible_data  # type: ignore[attr-defined]


def _tell(adapter: str, function: str) -> Callable[[ModuleType], None]:
    """Give what imports an adapter of ours and calls a function of it."""

    def tell(module: ModuleType) -> None:
        getattr(importlib.import_module(f"mxnp._interop.{adapter}"), function)(module)

    return tell


_ADAPTERS: dict[str, Callable[[Any], None]] = {
    "autograd.numpy.numpy_boxes": _tell_autograd_boxes,
    "autograd.numpy.numpy_vspaces": _tell_autograd_spaces,
    "einops._backends": _tell_einops,
    "jax._src.abstract_arrays": _tell_jax,
    "numba.core.interpreter": _tell_numba,
    "numba.stencils.stencil": _tell_numba_stencils,
    "pandas.core.arrays.masked": _tell_pandas_masked,
    "pandas.core.arrays.numpy_": _tell_pandas,
    "polars._dependencies": _tell_polars,
    "polars.dependencies": _tell_polars,
    "threadpoolctl": _tell_threadpoolctl,
    "torch._weights_only_unpickler": _tell_torch_pickles,
    "torch.utils.data._utils.collate": _tell_torch,
    "xarray.core.variable": _tell_xarray,
    "dask.array": _tell("dask_backend", "install"),
    "dask.dataframe.backends": _tell("dask_protocols", "tell_frames"),
    "dask.sizeof": _tell("dask_protocols", "tell_sizes"),
    "dask.tokenize": _tell("dask_protocols", "tell_tokens"),
    "distributed.protocol.serialize": _tell("dask_protocols", "tell_serializers"),
    "distributed.worker": _tell("dask_protocols", "tell_workers"),
}


def adapt_packages() -> None:
    """Apply the adapters to packages that are imported, and to others when they are."""
    for name, adapter in _ADAPTERS.items():
        when_imported(name, adapter)
