"""Time Dask with chunks of NumPy and of mxnp: ``python -m mxnp.bench.scaling``."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy

import mxnp

BACKENDS = {"numpy": numpy, "mxnp": mxnp}

ROWS = numpy.random.default_rng(1).permutation(1 << 16)[:1500]

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "`(sqrt(x*x + y*y + 1)*0.5 - x).sum()`": lambda x, y: (
        da.sqrt(x * x + y * y + 1) * 0.5 - x
    ).sum(),
    "`((x - x.mean(0)) / x.std(0)).mean(1)`": lambda x, y: (
        (x - x.mean(axis=0)) / x.std(axis=0)
    ).mean(axis=1),
    "`exp(-x*x / 2).mean()`": lambda x, y: da.exp(-x * x / 2).mean(),
    "`where(x > y, x, y).max()`": lambda x, y: da.where(x > y, x, y).max(),
    "`sin(x)*cos(y) + 1`": lambda x, y: da.sin(x) * da.cos(y) + 1,
    "`x.map_overlap(b*0.5 + 1).sum()`": lambda x, y: x.map_overlap(
        lambda b: b * 0.5 + 1, depth=1, boundary="reflect"
    ).sum(),
    "`sliding_window_view(x.ravel(), 5).mean(-1)`": lambda x, y: (
        da.overlap.sliding_window_view(x.ravel(), 5).mean(axis=-1)
    ),
    "`x[x > 0].sum()`": lambda x, y: x[x > 0].sum(),
    "`x[i].sum()`, rows in any order": lambda x, y: x[ROWS % len(x)].sum(),
    "`da.histogram(x, 100, (-4, 4))`": lambda x, y: da.histogram(x, 100, (-4, 4))[0],
    "`da.percentile(x.ravel(), [10, 50])`": lambda x, y: da.percentile(
        x.ravel(), [10, 50]
    ),
    "`x.sum(0)`": lambda x, y: x.sum(axis=0),
    "`(x @ y).sum()`": lambda x, y: (x[:2000, :2000] @ y[:2000, :2000]).sum(),
}

OF_FILE = "`sqrt(x*x + 1).sum()` of a file"


def in_memory(np: Any, n: int, chunk: int) -> list[Any]:
    """Return two arrays of random numbers in chunks."""
    rng = numpy.random.default_rng(0)
    made = (np.asarray(rng.normal(size=(n, n))) for _ in range(2))
    return [da.from_array(x, chunks=chunk).persist() for x in made]


def on_disk(np: Any, path: Path, n: int, chunk: int) -> Any:
    """Return the array of a file, whose chunks are read when they are needed."""

    def read(block_id: Any = None) -> Any:
        offset = block_id[0] * chunk * n * 8
        return np.fromfile(path, count=chunk * n, offset=offset).reshape(chunk, n)

    rows = ((chunk,) * (n // chunk), (n,))
    return da.map_blocks(read, chunks=rows, dtype=float, meta=np.empty((0, 0)))


def write(path: Path, n: int, chunk: int) -> None:
    """Write a file of random numbers."""
    rng = numpy.random.default_rng(0)
    with path.open("wb") as file:
        for _ in range(n // chunk):
            rng.normal(size=(chunk, n)).tofile(file)


def run(
    program: Callable[..., Any], inputs: dict[str, list[Any]], repeats: int
) -> dict[str, float]:
    """Return the median time of a program with each backend, measured in turn."""
    times: dict[str, list[float]] = {name: [] for name in inputs}
    for _ in range(repeats):
        for name, arrays in inputs.items():
            begin = time.perf_counter()
            program(*arrays).compute()
            mxnp.synchronize()
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(each) for name, each in times.items()}


def report(name: str, medians: dict[str, float]) -> None:
    """Print one line of the table."""
    theirs, ours = medians["numpy"], medians["mxnp"]
    times = f"{theirs * 1e3:.0f} ms | {ours * 1e3:.0f} ms"
    print(f"| {name} | {times} | {theirs / ours:.2f} |", flush=True)


def main() -> None:
    """Print a table of medians and of their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=4000, help="rows and columns")
    parser.add_argument("--chunk", type=int, default=1000, help="rows of a chunk")
    parser.add_argument("--threads", type=int, default=2, help="threads of Dask")
    parser.add_argument("--repeats", type=int, default=7, help="runs of each program")
    parser.add_argument("-k", default="", help="run programs that contain this text")
    args = parser.parse_args()
    print("| program | Dask over NumPy | Dask over mxnp | ratio |\n|---|---|---|---|")
    with (
        dask.config.set(scheduler="threads", num_workers=args.threads),
        tempfile.TemporaryDirectory() as folder,
    ):
        xs = {name: in_memory(np, args.n, args.chunk) for name, np in BACKENDS.items()}
        for name, program in PROGRAMS.items():
            if args.k not in name:
                continue
            report(name, run(program, xs, args.repeats))
        if args.k not in OF_FILE:
            return
        path = Path(folder, "numbers")
        write(path, args.n, args.chunk)
        files = {
            kind: [on_disk(np, path, args.n, args.chunk)]
            for kind, np in BACKENDS.items()
        }
        report(OF_FILE, run(lambda x: da.sqrt(x * x + 1).sum(), files, args.repeats))


if __name__ == "__main__":
    main()
