"""Time Dask with chunks of NumPy and of mxnp: ``python -m mxnp.bench.scaling``.

Each program runs with both in turn. The table has the shortest times, their ratios, and
the ratios of the shortest times of the processors.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy

import mxnp

BACKENDS = {"numpy": numpy, "mxnp": mxnp}

ROWS = numpy.random.default_rng(1).permutation(1 << 16)


class Inputs(NamedTuple):
    """The arrays of the programs: square ones in square chunks, but for `file`."""

    x: Any
    y: Any
    nans: Any  # as x, with NaN in every tenth element
    numbers: Any  # integers below 1000
    file: Any  # the elements of x in a plain file, in chunks of rows
    folder: Path


def _random(a: Inputs) -> Any:
    rng = da.random.default_rng(1)
    draws = rng.normal(size=a.x.shape, chunks=a.x.chunks)
    return (draws + rng.random(size=a.x.shape, chunks=a.x.chunks)).mean()


def _rolling(a: Inputs) -> Any:
    from xarray import DataArray

    x = DataArray(a.x, dims=("time", "place"))
    return x.rolling(time=8, min_periods=1).mean().data.sum()


def _seasons(a: Inputs) -> Any:
    from xarray import DataArray, date_range

    times = date_range("2001-01-01", periods=len(a.x))
    x = DataArray(a.x, dims=("time", "place"), coords={"time": times})
    months = x.resample(time="MS").mean()
    return (months - months.mean("time")).groupby("time.month").std("time").data


PROGRAMS: dict[str, Callable[[Inputs], Any]] = {
    "`(sqrt(x*x + y*y + 1)*0.5 - x).sum()`": lambda a: (
        da.sqrt(a.x * a.x + a.y * a.y + 1) * 0.5 - a.x
    ).sum(),
    "`nanmean(n*n, 0) / nanstd(n)`": lambda a: (
        da.nanmean(a.nans * a.nans, axis=0) / da.nanstd(a.nans)
    ),
    "`argmax(abs(x - y), 1)`": lambda a: da.argmax(abs(a.x - a.y), axis=1),
    "`cumsum(x*y, 0)[-1]`": lambda a: da.cumsum(a.x * a.y, axis=0)[-1],
    "`sqrt(f*f + 1).sum()` of a mapped file": lambda a: da.sqrt(
        a.file * a.file + 1
    ).sum(),
    "`(rng.normal() + rng.random()).mean()`": _random,
    "`from_zarr(z).std(0)`": lambda a: da.from_zarr(a.folder / "x.zarr").std(axis=0),
    "`x.rolling(time=8).mean().sum()` of xarray": _rolling,
    "`x[x > 0].sum()`": lambda a: a.x[a.x > 0].sum(),
    "`(x @ y).sum()`": lambda a: (a.x[:2000, :2000] @ a.y[:2000, :2000]).sum(),
    "`x[i].sum()`, rows in any order": lambda a: a.x[
        ROWS[: len(a.x) * 3 // 8] % len(a.x)
    ].sum(),
    "`histogram(x, 100, (-4, 4))`": lambda a: da.histogram(a.x, 100, (-4, 4))[0],
    "`percentile(x.ravel(), [10, 50])`": lambda a: da.percentile(a.x.ravel(), [10, 50]),
    "`x.map_overlap(b*0.5 + 1).sum()`": lambda a: a.x.map_overlap(
        lambda b: b * 0.5 + 1, depth=1, boundary="reflect"
    ).sum(),
    "`unique(i, return_counts=True)`": lambda a: da.unique(
        a.numbers, return_counts=True
    )[1],
    "`resample`, `groupby` of xarray": _seasons,
    "`svd_compressed(x, 10)`": lambda a: da.linalg.svd_compressed(a.x, 10, seed=1)[1],
}

NEEDS = {"xarray": "xarray", "zarr": "zarr"}


def can_run(name: str) -> bool:
    """Whether the packages that a program names are installed."""
    return all(
        importlib.util.find_spec(package)
        for word, package in NEEDS.items()
        if word in name
    )


def write(folder: Path, n: int, chunk: int) -> None:
    """Write the files of the programs."""
    x = numpy.random.default_rng(0).normal(size=(n, n))
    x.tofile(folder / "x")
    if importlib.util.find_spec("zarr"):
        da.from_array(x, chunks=chunk).to_zarr(folder / "x.zarr")


def inputs(np: Any, folder: Path, n: int, chunk: int) -> Inputs:
    """Return arrays whose chunks are of a package."""

    def read(block_id: Any = None) -> Any:
        shape, offset = (chunk, n), block_id[0] * chunk * n * 8
        return np.asarray(numpy.memmap(folder / "x", float, "r", offset, shape))

    def made(x: numpy.ndarray) -> Any:
        return da.from_array(np.asarray(x), chunks=chunk).persist()

    rng = numpy.random.default_rng(0)
    x, y = (rng.normal(size=(n, n)) for _ in range(2))
    nans = numpy.where(numpy.arange(n * n).reshape(n, n) % 10, x, numpy.nan)
    rows = ((chunk,) * (n // chunk), (n,))
    return Inputs(
        made(x),
        made(y),
        made(nans),
        made(rng.integers(0, 1000, size=(n, n))),
        da.map_blocks(read, chunks=rows, dtype=float, meta=np.empty((0, 0))),
        folder,
    )


def run(
    program: Callable[[Inputs], Any], arrays: dict[str, Inputs], repeats: int
) -> dict[str, tuple[float, float]]:
    """Return the shortest times of the clock and of the processors, run in turn."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in arrays}
    for _ in range(repeats):
        for name, given in arrays.items():
            with dask.config.set({"array.backend": name}):
                begin = time.perf_counter(), time.process_time()
                program(given).compute()
                mxnp.synchronize()
                end = time.perf_counter(), time.process_time()
            times[name].append((end[0] - begin[0], end[1] - begin[1]))
    return {
        name: (min(t for t, _ in each), min(t for _, t in each))
        for name, each in times.items()
    }


def table(
    arrays: dict[str, Inputs], names: list[str], repeats: int
) -> Iterator[tuple[float, float]]:
    """Print a row for each program, and yield its ratios."""
    print(
        "| program | Dask over NumPy | Dask over mxnp | ratio | of processor time |\n"
        "|---|---|---|---|---|"
    )
    for name in names:
        times = run(PROGRAMS[name], arrays, repeats)
        (theirs, ours), (used, own) = zip(times["numpy"], times["mxnp"], strict=True)
        milliseconds = f"{theirs * 1e3:.0f} ms | {ours * 1e3:.0f} ms"
        ratios = theirs / ours, used / own
        print(f"| {name} | {milliseconds} | {ratios[0]:.2f} | {ratios[1]:.2f} |")
        yield ratios


def main() -> None:
    """Print a table of times and of their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=4000, help="rows and columns")
    parser.add_argument("--chunk", type=int, default=1000, help="rows of a chunk")
    parser.add_argument("--threads", type=int, default=2, help="threads of Dask")
    parser.add_argument("--repeats", type=int, default=7, help="runs of each program")
    parser.add_argument("-k", default="", help="run programs that contain this text")
    args = parser.parse_args()
    names = [name for name in PROGRAMS if args.k in name and can_run(name)]
    with (
        dask.config.set(scheduler="threads", num_workers=args.threads),
        tempfile.TemporaryDirectory() as made,
    ):
        folder = Path(made)
        write(folder, args.n, args.chunk)
        arrays = {
            name: inputs(np, folder, args.n, args.chunk)
            for name, np in BACKENDS.items()
        }
        columns = zip(*table(arrays, names, args.repeats), strict=True)
        means = [math.prod(each) ** (1 / len(each)) for each in columns]
        print(f"\nGeometric means: {means[0]:.2f}, of processor time {means[1]:.2f}.")


if __name__ == "__main__":
    main()
