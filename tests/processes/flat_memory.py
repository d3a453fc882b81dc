"""
Run each example many times in one process, and check that its memory stays constant.

    python -m tests.processes.flat_memory [--rounds N] [EXAMPLE ...]

Everything is recorded, and compiled before it first runs (``MXNP_THRESHOLD=0`` and
``MXNP_JIT=always`` unless they are set), and nothing is drawn. The memory is measured
after a third of the rounds, after two thirds and at the end. A leak grows in both
intervals, and a cache that fills up in one of them.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import io
import itertools
import json
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "examples"
# The examples, and arguments with which they are quick.
EXAMPLES = {
    "black_scholes": ["--paths", "2000", "--grid", "20"],
    "colour_quantisation": ["--every", "24", "--colours", "4"],
    "heat_equation": ["-n", "32", "--steps", "20"],
    "mandelbrot": ["--width", "24", "--limit", "20"],
    "n_body": ["-n", "12", "--steps", "10"],
    "terrain_fit": ["--every", "24", "--degree", "2"],
}
# What may grow in thousands of rounds: caches fill, and pages of the heap are touched.
# NumPy's own programs grow as much, and a leak in each round would exceed it by far. The
# Metal emulator keeps tens of thousands of dead objects, to report their use.
_KEPT_BY_HOST = 32 << 20 if os.environ.get("MXNP_DEVICE") == "metal" else 0
SLACK = {
    "resident": (8 << 20) + _KEPT_BY_HOST,
    "heap": (64 << 10) + _KEPT_BY_HOST,
    "blocks": 1000,
    "objects": 9,
    "in use": 0,
}


class Drawing:
    """A figure that accepts every call and draws nothing."""

    def __getattr__(self, name: str) -> Drawing:
        if name.startswith("__"):  # it has no protocols, such as those of arrays
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Drawing:
        return self


def subplots(rows: int = 1, columns: int = 1, **_: Any) -> tuple[Any, Any]:
    """Return a figure and its axes, as pyplot does."""
    axes = [Drawing() for _ in range(rows * columns)]
    return Drawing(), axes[0] if len(axes) == 1 else axes


def resident() -> int:
    """Return the resident memory of the process in bytes."""
    pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class Mallinfo(ctypes.Structure):
    """The result of glibc's ``mallinfo2``, see its manual page."""

    _names = (
        *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks"),
        *("uordblks", "fordblks", "keepcost"),
    )
    _fields_ = [(name, ctypes.c_size_t) for name in _names]


def heap() -> int:
    """Return the bytes in use in malloc's arenas, without blocks that are mapped."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Mallinfo
    return int(mallinfo2().uordblks)


def look() -> dict[str, int]:
    """Return what may grow: memory, blocks and objects of Python, memory of arrays."""
    import mxnp

    mxnp.synchronize()
    # The expressions of a code object become garbage when that is collected.
    while gc.collect():
        pass
    return {
        "resident": resident(),
        "heap": heap(),
        "blocks": sys.getallocatedblocks(),
        "objects": len(gc.get_objects()),
        "in use": mxnp.memory_info()["in_use"],
    }


def looks(example: str, rounds: int) -> Iterator[dict[str, int]]:
    """Run an example many times; measure after each third of the rounds."""
    from matplotlib import pyplot

    import mxnp

    pyplot.subplots = subplots
    mxnp.install()
    sys.argv = [example, *EXAMPLES[example]]
    for done in range(1, rounds + 1):
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(FOLDER / f"{example}.py"), run_name="__main__")
        if done in (rounds // 3, 2 * rounds // 3, rounds):
            yield look()


def measure(example: str, rounds: int) -> dict[str, Any]:
    """Run an example in a separate process; return its seconds and measurements."""
    begin = time.perf_counter()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.processes.flat_memory",
            "--one",
            example,
            str(rounds),
        ],
        cwd=ROOT,
        env={"MXNP_THRESHOLD": "0", "MXNP_JIT": "always", **os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return {"seconds": time.perf_counter() - begin, "looks": json.loads(done.stdout)}


def is_flat(looks: list[dict[str, int]]) -> bool:
    """Return whether nothing grew by more than the slack in each interval."""
    return all(
        any(
            late[name] <= early[name] + slack
            for early, late in itertools.pairwise(looks)
        )
        for name, slack in SLACK.items()
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").strip().splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument(
        "--one", nargs=2, metavar=("EXAMPLE", "N"), help="in this process"
    )
    parser.add_argument("examples", nargs="*", metavar="EXAMPLE")
    options = parser.parse_args()
    if options.one:
        json.dump(list(looks(options.one[0], int(options.one[1]))), sys.stdout)
        return
    growing = 0
    for example in options.examples or EXAMPLES:
        found = measure(example, options.rounds)
        growing += not is_flat(found["looks"])
        figures = ", ".join(
            f"{name} " + " -> ".join(f"{look[name]:,}" for look in found["looks"])
            for name in SLACK
        )
        print(
            f"{example}: {options.rounds} rounds, {found['seconds']:.0f} s: {figures}",
            flush=True,
        )
    sys.exit(f"{growing} examples grow" if growing else 0)


if __name__ == "__main__":
    main()
