"""
Measure how much mxnp's import slows calls of other packages' compiled code.

Usage: ``python docs/design/measure_boundary.py FOLDER``. FOLDER contains the extension
module built from tests/packages/compiled.c. The program prints the minimum of many
short runs in ns.
"""

import subprocess
import sys

CALLS = {
    "function, METH_O": "f(1)",
    "function, METH_VARARGS": "many(1)",
    "function, METH_FASTCALL": "row(1)",
    "function, by name": "named(1, a=2)",
    "method": "taker.one(1)",
    "bound method": "bound(1)",
    "list of 10": "f(ten)",
    "subscript": "taker[1]",
    "operator": "taker + 1",
    "object made": "Taker(1)",
}

PROGRAM = """
import sys, timeit
sys.path.insert(0, {folder!r})
{first}
from compiled import Taker, many, named, one as f, row
taker = Taker()
bound = taker.one
ten = list(range(10))
for code in {codes!r}:
    times = timeit.repeat(code, globals=globals(), number=1000, repeat=1000)
    print(min(times) / 1000 * 1e9)
"""


def run(folder: str, first: str) -> list[float]:
    program = PROGRAM.format(folder=folder, first=first, codes=[*CALLS.values()])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return [float(line) for line in done.stdout.split()]


if __name__ == "__main__":
    folder = sys.argv[1]
    runs = {
        first: [run(folder, first) for _ in range(3)] for first in ("", "import mxnp")
    }
    plain, ours = (
        [min(times) for times in zip(*r, strict=True)] for r in runs.values()
    )
    print("| call | without mxnp, ns | with mxnp, ns | more |\n|---|---|---|---|")
    for call, before, after in zip(CALLS, plain, ours, strict=True):
        print(f"| {call} | {before:.0f} | {after:.0f} | {after - before:.0f} |")
