"""mxnp as a backend of ``dask.array``. It is imported only if the program uses Dask."""

from __future__ import annotations

import functools
import itertools
import operator
import sys
import uuid
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy
from dask import config
from dask.array import backends, chunk_types, core, dispatch
from dask.base import tokenize

import mxnp
from mxnp._array.ndarray import ndarray, unwrap
from mxnp._bridge import Function

NAME = "mxnp"


# -- Chunks ----------------------------------------------------------------------------


def as_chunk(block: Any) -> Any:
    """Convert a NumPy array to an mxnp array; return other objects unchanged."""
    if isinstance(block, numpy.ndarray) and not isinstance(block, numpy.ma.MaskedArray):
        return mxnp.asarray(block)
    return block


def as_numpy(chunk: Any, **_: Any) -> Any:
    """Return the NumPy array that shares the memory of an mxnp array."""
    return numpy.asarray(chunk)


def to_mxnp(data: Any) -> Any:
    """Convert the chunks of a Dask array, or of several in a tuple, to mxnp arrays."""
    if isinstance(data, tuple | list):
        return type(data)(map(to_mxnp, data))
    if not isinstance(data, da.Array):
        return data
    meta = as_chunk(data._meta)
    return data.map_blocks(as_chunk, dtype=data.dtype, meta=meta, name=None)


# -- The backend -----------------------------------------------------------------------


def _with_meta(name: str) -> Callable[..., Any]:
    """Return a function of Dask with an mxnp array as the default of `meta`."""

    @functools.wraps(getattr(da, name))
    def create(*args: Any, meta: Any = None, **kwargs: Any) -> Any:
        meta = mxnp.empty(0) if meta is None else meta
        with config.set({"array.backend": "numpy"}):
            return getattr(da, name)(*args, meta=meta, **kwargs)

    return create


class Backend(backends.ArrayBackendEntrypoint):  # type: ignore[misc]
    """The backend that ``array.backend: mxnp`` in Dask's configuration selects."""

    ones = staticmethod(_with_meta("ones"))
    zeros = staticmethod(_with_meta("zeros"))
    empty = staticmethod(_with_meta("empty"))
    full = staticmethod(_with_meta("full"))
    RandomState = mxnp.random.RandomState
    default_bit_generator = mxnp.random.PCG64

    @classmethod
    def to_backend_dispatch(cls) -> Callable[..., Any]:
        """Return the function that converts a chunk to an mxnp array."""
        return as_chunk

    @classmethod
    def to_backend(cls, data: Any, **kwargs: Any) -> Any:
        """Convert the chunks of a Dask array to mxnp arrays."""
        return data if type(data._meta) is ndarray else to_mxnp(data)

    @staticmethod
    @functools.wraps(da.arange)
    def arange(*args: Any, like: Any = None, **kwargs: Any) -> Any:
        like = mxnp.empty(0) if like is None else like
        with config.set({"array.backend": "numpy"}):
            return da.arange(*args, like=like, **kwargs)


# -- Dask's tables, by the class of a chunk --------------------------------------------


def _percentile(a: Any, q: Any, method: str = "linear") -> Any:
    # Dask passes the chunk to numpy.percentile, which is ours for an mxnp array.
    of_numpy = dispatch.percentile_lookup.dispatch(numpy.ndarray)
    values, count = of_numpy(a, unwrap(q), method)
    return as_chunk(values), count


def _fill_tables() -> None:
    chunk_types.register_chunk_type(ndarray)
    for table, function in {
        dispatch.concatenate_lookup: mxnp.concatenate,
        dispatch.take_lookup: mxnp.take,
        dispatch.tensordot_lookup: mxnp.tensordot,
        dispatch.einsum_lookup: mxnp.einsum,
        dispatch.empty_lookup: mxnp.empty,
        dispatch.divide_lookup: mxnp.divide,
        dispatch.percentile_lookup: _percentile,
        dispatch.numel_lookup: backends._numel_arraylike,
        dispatch.nannumel_lookup: backends._nannumel,
        dispatch.to_numpy_dispatch: as_numpy,
    }.items():
        table.register(ndarray, function)


# -- Functions of dask.array that create NumPy arrays ----------------------------------

# These ignore `array.backend` until they are replaced.
_CREATING = [
    "array",
    "asanyarray",
    "asarray",
    "diag",
    "eye",
    "fft.fftfreq",
    "fft.rfftfreq",
    "from_array",
    "from_delayed",
    "from_npy_stack",
    "from_tiledb",
    "from_zarr",
    "fromfunction",
    "indices",
    "linspace",
    "tri",
]

# These return NumPy arrays, in some chunks at least, for chunks of any class.
_CONVERTING = [
    "argwhere",
    "flatnonzero",
    "histogram2d",
    "histogramdd",
    "insert",
    "linalg.cholesky",
    "linalg.inv",
    "linalg.lstsq",
    "linalg.lu",
    "linalg.solve",
    "linalg.solve_triangular",
    "ma.count",
    "ma.filled",
    "ma.getdata",
    "ma.getmaskarray",
    "ma.nonzero",
    "nonzero",
    "pad",
    "push",
    "union1d",
    "unique",
    "where",
]


def _is_backend() -> bool:
    return bool(backends.array_creation_dispatch.backend == NAME)


def _has_mxnp_chunks(x: Any) -> bool:
    if isinstance(x, tuple | list):
        return any(map(_has_mxnp_chunks, x))
    return type(getattr(x, "_meta", None)) is ndarray


def _creating(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def create(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        converts = _is_backend() and not _has_mxnp_chunks(result)
        return to_mxnp(result) if converts else result

    return create


def _converting(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def convert(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        converts = _is_backend() or _has_mxnp_chunks([*args, *kwargs.values()])
        return to_mxnp(result) if converts else result

    return convert


def _from_array(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put each chunk of an mxnp array into the graph, with memory of its own."""

    @functools.wraps(function)
    def from_array(
        x: Any,
        chunks: Any = "auto",
        name: Any = None,
        lock: Any = False,
        **kwargs: Any,
    ) -> Any:
        if type(x) is not ndarray or lock:
            return function(x, chunks, name, lock, **kwargs)
        take: Callable[..., Any] = functools.partial(operator.getitem, x)
        meta = mxnp.empty((0,) * x.ndim, x.dtype)
        chunks = core.normalize_chunks(chunks, x.shape, dtype=x.dtype)
        if name in (None, True):
            name = f"array-{tokenize(x, chunks)}"
        elif name is False:
            name = f"array-{uuid.uuid1()}"
        keys = itertools.product([name], *(range(len(sizes)) for sizes in chunks))
        slices = core.slices_from_chunks(chunks)
        values = (take((*key, ...)).copy() for key in slices)
        graph = dict(zip(keys, values, strict=True))
        return core.Array(graph, name, chunks, meta=meta, dtype=x.dtype)

    return from_array


def _concatenate3(function: Callable[..., Any]) -> Callable[..., Any]:
    """Copy each chunk once, as Dask does for NumPy's, and not once for each axis."""

    @functools.wraps(function)
    def concatenate3(arrays: Any) -> Any:
        arrays = core.concrete(arrays)
        blocks = list(core.core.flatten(arrays, container=(list, tuple)))
        ndim = core.ndimlist(arrays)
        if not all(type(block) is ndarray and block.ndim == ndim for block in blocks):
            return function(arrays)
        chunks = core.chunks_from_arrays(arrays)
        result = mxnp.empty(tuple(map(sum, chunks)), blocks[0].dtype)
        memory = unwrap(result)
        for key, block in zip(core.slices_from_chunks(chunks), blocks, strict=True):
            memory[key] = unwrap(block)
        return result

    return concatenate3


def _unique_internal(function: Callable[..., Any]) -> Callable[..., Any]:
    """Sort the elements once, where Dask compares all with each value that it finds."""

    @functools.wraps(function)
    def unique(ar: Any, indices: Any, counts: Any, return_inverse: bool = False) -> Any:
        if type(ar) is not ndarray or ar.dtype.hasobject:
            return function(ar, indices, counts, return_inverse)
        values, places = mxnp.unique(ar, return_inverse=True)
        if not mxnp.array_equal(
            values, values
        ):  # Dask finds no element that equals NaN
            return function(ar, indices, counts, return_inverse)
        fields = {"values": values}
        if indices is not None:
            fields["indices"] = mxnp.full(len(values), len(ar) and indices.max())
            mxnp.minimum.at(fields["indices"], places, indices)
        if return_inverse:
            fields["inverse"] = mxnp.arange(len(values))
        if counts is not None:
            fields["counts"] = mxnp.zeros(len(values), int)
            mxnp.add.at(fields["counts"], places, counts)
        dtype = [(name, x.dtype) for name, x in fields.items()]
        result = mxnp.empty(len(values), dtype)
        for name, x in fields.items():
            result[name] = x
        return result

    return unique


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Pass NumPy's functions in place of ours, because Dask reads their parameters."""

    def originals(x: Any) -> Any:
        return x.__wrapped__ if isinstance(x, Function) else x

    @functools.wraps(function)
    def reduction(*args: Any, **kwargs: Any) -> Any:
        kwargs = {name: originals(value) for name, value in kwargs.items()}
        return function(*map(originals, args), **kwargs)

    return reduction


def _to_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make `to_backend("numpy")` convert mxnp arrays, which it takes for NumPy's."""

    def to_backend(data: Any, **kwargs: Any) -> Any:
        if type(data._meta) is ndarray:
            return data.map_blocks(as_numpy, meta=as_numpy(data._meta), **kwargs)
        return function(data, **kwargs)

    return to_backend


def _replace(path: str, wrapper: Callable[..., Any]) -> None:
    """Wrap a function of dask.array in all modules of dask.array that have the name."""
    *modules, name = path.split(".")
    original = getattr(functools.reduce(getattr, modules, da), name, None)
    if original is None:
        return
    ours = wrapper(original)
    for module_name, module in list(sys.modules.items()):
        is_of_dask = f"{module_name}.".startswith("dask.array.")
        if is_of_dask and vars(module).get(name) is original:
            setattr(module, name, ours)


def install(array: Any) -> None:
    """Register mxnp's arrays with ``dask.array``."""
    _fill_tables()
    backends.array_creation_dispatch.register_backend(NAME, Backend())
    numpy_backend: Any = backends.NumpyBackendEntrypoint
    numpy_backend.to_backend = staticmethod(_to_numpy(numpy_backend.to_backend))
    _replace("from_array", _from_array)
    _replace("core.concatenate3", _concatenate3)
    _replace("routines._unique_internal", _unique_internal)
    array.reduction = _reduction(array.reduction)
    for path in _CREATING:
        _replace(path, _creating)
    for path in _CONVERTING:
        _replace(path, _converting)
