"""Register mxnp arrays with dask and distributed; each function takes a module."""

from __future__ import annotations

import functools
import math
import os
from typing import Any

import numpy

from mxnp._array.ndarray import ndarray, wrap
from mxnp._bridge import flush
from mxnp._engine import core


def tell_sizes(sizes: Any) -> None:
    """Let dask know how large an array is, which a worker asks when a task is done."""

    @sizes.sizeof.register(ndarray)  # type: ignore[untyped-decorator]
    def size(array: ndarray) -> int:
        flush("dask")  # or the queue would hold memory that the worker believes free
        lengths = zip(array.shape, array.strides, strict=True)
        n = math.prod(k if stride else min(k, 1) for k, stride in lengths)
        return int(n * array.itemsize)


def tell_tokens(tokens: Any) -> None:
    """Let arrays with the same elements have the same name in a graph."""
    normalize = tokens.normalize_token

    @normalize.register(ndarray)  # type: ignore[untyped-decorator]
    def token(array: ndarray) -> Any:
        return "mxnp", normalize(numpy.asarray(array))


def tell_frames(backends: Any) -> None:
    """Let dask.dataframe take mxnp arrays where it takes NumPy's."""
    for dispatch in (backends.meta_lib_from_array, backends.tolist_dispatch):
        dispatch.register(ndarray, dispatch.dispatch(numpy.ndarray))


def tell_serializers(protocol: Any) -> None:
    """Let workers send arrays to each other as they send NumPy's."""
    from distributed.protocol import numpy as of_numpy

    @protocol.dask_serialize.register(ndarray)  # type: ignore[untyped-decorator]
    def serialize(array: ndarray, context: Any = None) -> Any:
        return of_numpy.serialize_numpy_ndarray(numpy.asarray(array), context)

    @protocol.dask_deserialize.register(ndarray)  # type: ignore[untyped-decorator]
    def deserialize(header: Any, frames: Any) -> Any:
        return wrap(of_numpy.deserialize_numpy_ndarray(header, frames))


def tell_workers(workers: Any) -> None:
    """Let a worker's process use the threads and the memory that the worker may use."""
    create = workers.Worker.__init__

    @functools.wraps(create)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        create(self, *args, **kwargs)
        _keep_to_share(self)

    workers.Worker.__init__ = __init__
    for worker in list(workers.Worker._instances):
        _keep_to_share(worker)


def _keep_to_share(worker: Any) -> None:
    if not worker.nanny:  # a worker without a process of its own
        return
    if "MXNP_NUM_THREADS" not in os.environ:
        core.set_num_threads(worker.state.nthreads)
    limit = worker.memory_manager.memory_limit
    if limit:
        cached = min(int(limit) // 8, core.memory_info()["limit"])
        core.set_memory_limit(cached)
