"""
Time an expression whose operand is in memory that another package shares.

Usage: ``python docs/design/measure_shared.py [elements [rounds]]``. The program prints
medians of interleaved rounds: mxnp in the shared memory, NumPy in the same memory, and
mxnp in its own memory. Last comes the amount by which the expression raises the peak
memory of a process that does nothing else.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

import mxnp

BLOCK = 1 << 16  # elements


def expression(library: Any, a: Any) -> Any:
    return (library.sqrt(a * a + 1) * 2).sum()


def fill(a: numpy.ndarray) -> numpy.ndarray:
    """Write each element in small blocks, which need little extra memory."""
    for start in range(0, a.size, BLOCK):
        piece = a[start : start + BLOCK]
        piece[:] = numpy.arange(piece.size) % 1000 / 1000
    return a


def make_own(n: int, path: Path) -> Any:
    a = mxnp.empty(n)
    for start in range(0, n, BLOCK):
        piece = a[start : start + BLOCK]
        piece[...] = mxnp.arange(piece.size) % 1000 / 1000
    mxnp.synchronize()
    return a


def make_asarray(n: int, path: Path) -> Any:
    return mxnp.asarray(kept(fill(numpy.empty(n))))


def make_frombuffer(n: int, path: Path) -> Any:
    memory = bytearray(8 * n)
    fill(numpy.frombuffer(memory))
    return mxnp.frombuffer(memory)


def make_memmap(n: int, path: Path) -> Any:
    return mxnp.memmap(path, dtype=float, mode="r", shape=(n,))


def make_mapped(n: int, path: Path) -> Any:
    return mxnp.asarray(make_memmap(n, path))


KINDS: dict[str, Callable[[int, Path], Any]] = {
    "exported": make_own,
    "asarray": make_asarray,
    "frombuffer": make_frombuffer,
    "memmap": make_memmap,
    "asarray of memmap": make_mapped,
}
_others: list[numpy.ndarray] = []


def kept(a: numpy.ndarray) -> numpy.ndarray:
    """Keep a reference to an array, as another package would, and return the array."""
    _others.append(a)
    return a


def duration(library: Any, a: Any) -> float:
    begin = time.perf_counter()
    float(expression(library, a))
    return time.perf_counter() - begin


def peak(kind: str, n: int, path: Path) -> float:
    """Return by how many MB the expression raises the peak memory of the process."""
    a = KINDS[kind](n, path)
    numpy.asarray(a).max()  # Pages of a file count once they are read.
    expression(mxnp, a[:BLOCK])
    before = resident_peak()
    float(expression(mxnp, a))
    return (resident_peak() - before) / 1000


def resident_peak() -> int:
    """Return the peak in kB. `ru_maxrss` would begin with the parent's peak."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s*(\d+)", status)[0])


def measure(kind: str, n: int, rounds: int, path: Path) -> str:
    a = KINDS[kind](n, path)
    # NumPy uses the same memory. Once it is exported, mxnp treats it as shared.
    host = numpy.asarray(a)
    own = make_own(n, path)
    arrays = (numpy, host), (mxnp, own), (mxnp, a)
    times = [[duration(*each) for each in arrays] for _ in range(rounds + 1)]
    plain, ours, shared = (
        1e3 * statistics.median(t)
        for t in zip(*times[1:], strict=True)  # The first round warms up.
    )
    command = [sys.executable, __file__, "--peak", kind, str(n), str(path)]
    memory = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return (
        f"{kind:17} {shared:8.1f} ms, NumPy {plain:8.1f} ms ({plain / shared:.2f}), "
        f"own {ours:8.1f} ms ({ours / shared:.2f}), peak {float(memory):.0f} MB"
    )


def main() -> None:
    if sys.argv[1:2] == ["--peak"]:
        print(peak(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])))
        return
    n, rounds = (*map(int, sys.argv[1:]), *(10**7, 5)[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers"
        fill(numpy.memmap(path, dtype=float, mode="w+", shape=(n,))).flush()
        for kind in KINDS:
            print(measure(kind, n, rounds, path), flush=True)


if __name__ == "__main__":
    main()
