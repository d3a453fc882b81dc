"""Adapters that make single packages accept mxnp arrays, applied on their import."""

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
from mxnp._array.ndarray import ArrayType, ndarray
from mxnp._bridge import Function, Method, pass_on
from mxnp._engine.core import core_version, get_num_threads, set_num_threads
from mxnp._namespace.classes import take_arrays
from mxnp._namespace.mirror import find_original

from . import door
from .owners import belongs_to_package

_waiting: dict[str, Callable[[ModuleType], None]] = {}


def when_imported(name: str, prepare: Callable[[ModuleType], None]) -> None:
    """Call `prepare` with a module, now or as soon as the program imports it."""
    if name in sys.modules:
        prepare(sys.modules[name])
    else:
        _waiting[name] = prepare


class ImportHook:
    """A finder that prepares the modules passed to `when_imported` on their import."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of such a module, whose loader prepares it after loading."""
        if name not in _waiting:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                del loader.exec_module  # this function, which hides the class's method
                execute(module)
                _waiting[name](module)

            loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, ImportHook)


def _pass_numpy_arrays(owner: Any, name: str) -> None:
    """Replace a function so that it receives the NumPy arrays inside mxnp arrays."""
    setattr(owner, name, Method(getattr(owner, name), adopts=False))


def _replace_in_package(module: Any, name: str, function: Any) -> None:
    """Replace a function in its module, and where its package has imported it."""
    original, package = getattr(module, name), module.__name__.partition(".")[0] + "."
    for key, each in list(sys.modules.items()):
        names = getattr(each, "__dict__", {})  # attributes of modules may warn
        if f"{key}.".startswith(package) and names.get(name) is original:
            setattr(each, name, function)


def _adapt_einops(backends: Any) -> None:
    """Make einops accept mxnp arrays."""

    class MxnpBackend(backends.NumpyBackend):  # type: ignore[misc]
        framework_name = "mxnp"

        def __init__(self) -> None:
            self.np = sys.modules["mxnp"]

        def is_appropriate_type(self, tensor: Any) -> bool:
            return type(tensor) is ndarray

    backends.MxnpBackend = MxnpBackend  # einops finds it among the live subclasses


def _adapt_threadpoolctl(threadpoolctl: Any) -> None:
    """Make threadpoolctl limit mxnp's threads."""
    if not hasattr(threadpoolctl, "register"):  # before 3.2
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
# Most packages accept mxnp arrays without an adapter: `isinstance` finds NumPy's class,
# and compiled code receives the NumPy array inside (see boundary). The packages below
# look the class up in a table, or read the global names of a program.


# With `--include`, a package has registered mxnp's class, and NumPy's is missing.
_CLASSES = (numpy.ndarray, ndarray)


def _register_both(table: dict[Any, Any]) -> None:
    """Register the entry of one class of arrays for both."""
    entry = next(table[cls] for cls in _CLASSES if cls in table)
    table.update(dict.fromkeys(_CLASSES, entry))


def _adapt_anndata(registry: Any) -> None:
    """Convert arrays where anndata writes them. The program puts them into a dict."""
    _pass_numpy_arrays(registry.Writer, "write_elem")


def _adapt_autograd_boxes(boxes: Any) -> None:
    """Make autograd differentiate with respect to mxnp arrays."""
    for cls in _CLASSES:
        boxes.ArrayBox.register(cls)


def _adapt_autograd_spaces(spaces: Any) -> None:
    """Register autograd's vector space of arrays for mxnp arrays."""
    _register_both(spaces.VSpace.mappings)


def _adapt_autograd_names(wrapper: Any) -> None:
    """Undo that autograd, with `--include`, took mxnp's classes for functions.

    It takes any callable for one whose class is not `type`.
    """
    names = vars(wrapper._np)
    for name, value in names.items():
        if isinstance(value, ArrayType) and name in vars(wrapper):
            setattr(wrapper, name, value)


def _adapt_deap(creator: Any) -> None:
    """Make deap derive from its own subclass of arrays, which it finds by the class."""
    _register_both(creator.class_replacers)


def _adapt_jax(abstract_arrays: Any) -> None:
    """Register NumPy's abstract values in JAX for mxnp arrays."""
    types = abstract_arrays.core.pytype_aval_mappings
    types[ndarray] = types[numpy.ndarray]


def _adapt_numba(interpreter: Any) -> None:
    """Show NumPy to compiled functions where a global name of the program is mxnp's."""
    cls = interpreter.Interpreter
    for name in ("get_global_value", "get_closure_value"):
        setattr(cls, name, _returning_numpy(getattr(cls, name)))


def _adapt_numba_stencils(stencil: Any) -> None:
    """Convert the arguments of stencils, which call functions made at run time."""
    _pass_numpy_arrays(stencil.StencilFunc, "__call__")


def _returning_numpy(get: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(get)
    def get_value(self: Any, name: Any) -> Any:
        return find_original(get(self, name))

    return get_value


def _adapt_chararray(defchararray: Any) -> None:
    """Make NumPy's class of arrays of text accept mxnp arrays."""
    take_arrays(defchararray.chararray, has_text=True)


def _adapt_duckdb_constants(expression: Any) -> None:
    """Make constants of duckdb, which compares class names, take mxnp arrays."""
    if hasattr(expression, "constant"):  # from 2.0 on
        _pass_numpy_arrays(expression, "constant")


def _adapt_pandas(arrays: Any) -> None:
    """Make ``pandas.array`` copy, although ``asarray`` returns its argument."""
    cls = arrays.NumpyExtensionArray
    make = cls._from_sequence.__func__
    cls._from_sequence = classmethod(Method(make, adopts=False))


def _adapt_pandas_masked(masked: Any) -> None:
    """Store NumPy arrays in masked arrays, whose attributes compiled code reads."""
    _pass_numpy_arrays(masked.BaseMaskedArray, "__init__")


def _adapt_polars(dependencies: Any) -> None:
    """Make polars, which compares class names, take mxnp arrays for NumPy's."""
    might_be = dependencies._might_be

    @functools.wraps(might_be)
    def _might_be(cls: Any, name: str) -> bool:
        return bool((cls is ndarray and name == "numpy") or might_be(cls, name))

    dependencies._might_be = _might_be


def _is_numeric(x: Any) -> bool:
    """Check for a NumPy array, or a sequence, of numbers."""
    is_like = type(x) in (numpy.ndarray, list, tuple)
    return is_like and numpy.asanyarray(x).dtype.kind in "biufc"


def _adapt_scipy_namespaces(module: Any) -> None:
    """Make SciPy accept NumPy arrays and lists beside mxnp arrays.

    With SCIPY_ARRAY_API=1 it refuses arrays of two namespaces.
    """
    original = module.array_namespace
    is_here = original.__module__ == module.__name__  # or in a module that is adapted
    if not is_here or not getattr(module, "SCIPY_ARRAY_API", True):
        return

    @functools.wraps(original)
    def array_namespace(*arrays: Any) -> Any:
        if any(type(x) is ndarray for x in arrays):
            arrays = tuple(x for x in arrays if not _is_numeric(x))
        return original(*arrays)

    module.array_namespace = array_namespace


def _adapt_scipy_spectra(spectral: Any) -> None:
    """Convert the signals of `csd`, which compares them after it has converted one."""
    if sys.version_info < (3, 12):  # later, the door converts them
        spectral.csd = csd = Function(spectral.csd, adopts=False)
        csd.__module__ = spectral.__name__  # pickles name it


def _find_module(value: Any) -> Any:
    return find_original(value) if isinstance(value, ModuleType) else value


def _taking_modules(check: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(check)
    def check_seed(*args: Any, **kwargs: Any) -> Any:
        names = {name: _find_module(value) for name, value in kwargs.items()}
        return check(*map(_find_module, args), **names)

    return check_seed


_SEED_CHECKS = {
    "_make_random_gen",
    "check_random_state",
    "create_py_random_state",
    "create_random_state",
}


def _adapt_seeds(module: Any) -> None:
    """Make functions that ask whether a seed is `np.random` accept the program's."""
    if belongs_to_package(vars(module)):  # and not to the program, with `--include`
        for name in _SEED_CHECKS & vars(module).keys():
            _replace_in_package(module, name, _taking_modules(getattr(module, name)))


def _adapt_sympy(sympify: Any) -> None:
    """Make operators of sympy, which asks for NumPy's module, refuse mxnp arrays."""
    _pass_numpy_arrays(sympify, "_is_numpy_instance")


def _adapt_torch(collate: Any) -> None:
    """Convert mxnp arrays in a DataLoader without batches. It compares class names."""
    _pass_numpy_arrays(collate, "default_convert")


def _adapt_torch_pickles(unpickler: Any) -> None:
    """Make ``torch.load(weights_only=True)`` load pickles of mxnp arrays.

    torch has a list of the functions and classes that a file may name, and a program
    adds NumPy's objects to it. The function that mxnp's pickles name is added here. It
    only converts objects that a file may contain anyway.
    """
    if not hasattr(unpickler, "_add_safe_globals"):  # before 2.4
        return
    for name in ("_add_safe_globals", "_remove_safe_globals"):
        if hasattr(unpickler, name):
            change = Function(getattr(unpickler, name), adopts=False)
            setattr(unpickler, name, change)
    unpickler._add_safe_globals([pickles.asanyarray])


def _adapt_xarray(variable: Any) -> None:
    """Make xarray convert dates and objects as it does for NumPy arrays.

    xarray checks whether `type(x)` is NumPy's class, and keeps arrays of other classes
    as they are. For numbers that is correct, because operations on them are recorded.
    """
    convert = variable.as_compatible_data

    @functools.wraps(convert)
    def as_compatible_data(data: Any, *args: Any, **kwargs: Any) -> Any:
        if type(data) is ndarray and data.dtype.kind in "OMm":
            data = numpy.asarray(data)
        return convert(data, *args, **kwargs)

    _replace_in_package(variable, "as_compatible_data", as_compatible_data)


def _adapt_joblib(parallel: Any) -> None:
    """Convert arguments in joblib's workers, and the results that the program gets."""
    calls = parallel.BatchedCalls
    run = calls.__call__

    @functools.wraps(run)
    def see_and_run(self: Any) -> Any:
        for function, _, _ in self.items:
            door.see_passed(function)
        return run(self)

    calls.__call__ = see_and_run
    pass_on(parallel.Parallel.__call__)


def _adapter_of(module_name: str, function: str) -> Callable[[ModuleType], None]:
    """Return an adapter that imports its function from another module here."""

    def adapt(module: ModuleType) -> None:
        adapters = importlib.import_module(f"mxnp._interop.{module_name}")
        getattr(adapters, function)(module)

    return adapt


_ADAPTERS: dict[str, Callable[[Any], None]] = {
    "anndata._io.specs.registry": _adapt_anndata,
    "autograd.numpy.numpy_boxes": _adapt_autograd_boxes,
    "autograd.numpy.numpy_vspaces": _adapt_autograd_spaces,
    "autograd.numpy.numpy_wrapper": _adapt_autograd_names,
    "deap.creator": _adapt_deap,
    "einops._backends": _adapt_einops,
    "jax._src.abstract_arrays": _adapt_jax,
    "joblib.parallel": _adapt_joblib,
    "lmfit.minimizer": _adapt_seeds,
    "networkx.utils.misc": _adapt_seeds,
    "numba.core.interpreter": _adapt_numba,
    "numba.stencils.stencil": _adapt_numba_stencils,
    "numpy._core.defchararray": _adapt_chararray,
    "pandas.core.arrays.masked": _adapt_pandas_masked,
    "pandas.core.arrays.numpy_": _adapt_pandas,
    "polars._dependencies": _adapt_polars,
    "polars.dependencies": _adapt_polars,
    "scipy._lib._array_api": _adapt_scipy_namespaces,
    "scipy._lib._array_api_override": _adapt_scipy_namespaces,
    "scipy._lib._util": _adapt_seeds,
    "scipy.signal._spectral_py": _adapt_scipy_spectra,
    "sklearn.utils.validation": _adapt_seeds,
    "sympy.core.sympify": _adapt_sympy,
    "threadpoolctl": _adapt_threadpoolctl,
    "torch._weights_only_unpickler": _adapt_torch_pickles,
    "torch.utils.data._utils.collate": _adapt_torch,
    "xarray.core.variable": _adapt_xarray,
    "dask.array": _adapter_of("dask_backend", "install"),
    "dask.dataframe.backends": _adapter_of("dask_protocols", "register_frames"),
    "dask.local": _adapter_of("dask_protocols", "complete_tasks"),
    "dask.sizeof": _adapter_of("dask_protocols", "register_sizes"),
    "dask.tokenize": _adapter_of("dask_protocols", "register_tokens"),
    "distributed.protocol.serialize": _adapter_of(
        "dask_protocols", "register_serializers"
    ),
    "distributed.worker": _adapter_of("dask_protocols", "adapt_workers"),
    "duckdb": _adapter_of("variables", "adapt_duckdb"),
    "duckdb._expression": _adapt_duckdb_constants,
}


def adapt_packages() -> None:
    """Apply each adapter, now or as soon as the program imports its package."""
    for name, adapter in _ADAPTERS.items():
        when_imported(name, adapter)
