"""Register mxnp arrays with Dask and distributed, one function per module of theirs."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy

from mxnp._array.ndarray import ndarray, wrap
from mxnp._bridge import flush
from mxnp._engine import core, environment

_DEFAULTS = {"array": {"backend": "mxnp"}}


def choose_backend(config: Any) -> None:
    """Make mxnp the backend of ``dask.array`` where no file or variable names one."""
    own = config.get("array.backend", None, config=config.collect())
    if own is None and _DEFAULTS not in config.defaults:
        config.update_defaults(_DEFAULTS)


def forget_backend(config: Any) -> None:
    """Undo `choose_backend`."""
    if _DEFAULTS in config.defaults:
        config.defaults.remove(_DEFAULTS)
        if config.get("array.backend") == "mxnp":
            config.set({"array.backend": "numpy"})


def describe_chunks() -> str:
    """Return which chunks new arrays of Dask have, or "" if it is not in use."""
    if "dask.array" not in sys.modules:
        return ""
    backend = sys.modules["dask.config"].get("array.backend", None) or "numpy"
    if backend == "mxnp":
        return "New arrays of Dask have mxnp chunks (array.backend is mxnp)."
    return (
        f"New arrays of Dask have no mxnp chunks, because array.backend is {backend}. "
        'dask.config.set({"array.backend": "mxnp"}) before they are made changes that.'
    )


def register_sizes(sizes: Any) -> None:
    """Register the size of an array, which a worker needs at the end of a task.

    A view counts with all the memory that it keeps, however few elements it has.
    """

    @sizes.sizeof.register(ndarray)  # type: ignore[untyped-decorator]
    def size(array: ndarray) -> int:
        flush("dask")  # otherwise the queue holds memory that the worker believes free
        kept: Any = array
        while kept is not None:
            if isinstance(kept, ndarray | numpy.ndarray) and kept.flags.owndata:
                return int(kept.nbytes)
            kept = getattr(kept, "base", None)
        lengths = zip(array.shape, array.strides, strict=True)
        n = math.prod(k if stride else min(k, 1) for k, stride in lengths)
        return int(n * array.itemsize)  # in a buffer of others, or a mapped file


def register_tokens(tokens: Any) -> None:
    """Make Dask name arrays in graphs by their contents, as it names NumPy's."""
    normalize = tokens.normalize_token

    @normalize.register(ndarray)  # type: ignore[untyped-decorator]
    def token(array: ndarray) -> Any:
        return "mxnp", normalize(numpy.asarray(array))


def register_frames(backends: Any) -> None:
    """Make dask.dataframe accept mxnp arrays wherever it accepts NumPy's."""
    for dispatch in (backends.meta_lib_from_array, backends.tolist_dispatch):
        dispatch.register(ndarray, dispatch.dispatch(numpy.ndarray))


def register_serializers(protocol: Any) -> None:
    """Make workers send mxnp arrays to each other in the format of NumPy's."""
    from distributed.protocol import numpy as of_numpy

    @protocol.dask_serialize.register(ndarray)  # type: ignore[untyped-decorator]
    def serialize(array: ndarray, context: Any = None) -> Any:
        return of_numpy.serialize_numpy_ndarray(numpy.asarray(array), context)

    @protocol.dask_deserialize.register(ndarray)  # type: ignore[untyped-decorator]
    def deserialize(header: Any, frames: Any) -> Any:
        return wrap(of_numpy.deserialize_numpy_ndarray(header, frames))


def adapt_workers(workers: Any) -> None:
    """Run deferred operations in tasks, and limit mxnp to a worker's share."""
    _complete_workers_tasks(workers)
    _spill_without_cache(workers.WorkerMemoryManager)
    create = workers.Worker.__init__

    @functools.wraps(create)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        create(self, *args, **kwargs)
        _limit_to_share(self)

    workers.Worker.__init__ = __init__
    for worker in list(workers.Worker._instances):
        _limit_to_share(worker)


def complete_tasks(local: Any) -> None:
    """Make a task of a program's own threads end when its operations have run.

    Its arrays are still in the cache then, and no other task holds their memory.
    """
    execute = local.execute_task

    @functools.wraps(execute)
    def execute_task(
        key: Any, task_info: Any, dumps: Any, loads: Any, *args: Any
    ) -> Any:
        def load(info: Any) -> Any:
            task, data = loads(info)
            return _complete(task), data

        return execute(key, task_info, dumps, load, *args)

    local.execute_task = execute_task


def _complete(task: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def complete(data: Any) -> Any:
        result = task(data)
        flush("dask")
        return result

    return complete


def _complete_workers_tasks(workers: Any) -> None:
    """Make a task end when its operations have run, so that it has their errors.

    Distributed ignores errors of the functions that measure a result.
    """
    run, run_async = workers._run_task_simple, workers._run_task_async

    @functools.wraps(run)
    def run_task(task: Any, *args: Any) -> Any:
        return run(_complete(task), *args)

    @functools.wraps(run_async)
    async def run_task_async(task: Any, *args: Any) -> Any:
        async def complete(data: Any) -> Any:
            result = await task(data)
            flush("dask")
            return result

        return await run_async(complete, *args)

    workers._run_task_simple, workers._run_task_async = run_task, run_task_async


def _spill_without_cache(manager: Any) -> None:
    """Return cached memory to the system before a worker spills, and that of chunks.

    A worker spills until its process is small enough, whatever uses the memory. Several
    workers of a process may spill at once.
    """
    spill = manager._spill
    limit = n_spilling = 0

    @functools.wraps(spill)
    async def _spill(self: Any, worker: Any, _: int) -> None:
        nonlocal limit, n_spilling
        if n_spilling == 0:
            limit = core.set_memory_limit(0)
        n_spilling += 1
        try:
            await spill(self, worker, worker.monitor.get_process_memory())
        finally:
            n_spilling -= 1
            if n_spilling == 0:
                core.set_memory_limit(limit)

    manager._spill = _spill


def _limit_to_share(worker: Any) -> None:
    if not worker.nanny:  # the worker shares its process with other code
        return
    if not environment.get("MXNP_NUM_THREADS"):
        core.set_num_threads(worker.state.nthreads)
    limit = worker.memory_manager.memory_limit
    if limit:
        cached = min(int(limit) // 8, core.memory_info()["limit"])
        core.set_memory_limit(cached)
