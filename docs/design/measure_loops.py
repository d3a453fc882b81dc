"""
Time mxnp's loops and NumPy's in blocks that fit into the first-level cache.

Usage: ``python docs/design/measure_loops.py [DTYPE [block [distance]]]``, where DTYPE
is float16, float32 or float64. The program prints the time per element in ns, as the
median of interleaved rounds, for every operation with one output for which NumPy has a
loop. Elements of operands are ``distance`` apart, and results are contiguous. The
program needs a C compiler.
"""

import ctypes
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

import mxnp

DTYPE = sys.argv[1] if len(sys.argv) > 1 else "float64"
BLOCK = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
DISTANCE = int(sys.argv[3]) if len(sys.argv) > 3 else 1
ROUNDS, ELEMENTS = 15, 200_000
CSRC = Path(__file__).parents[2] / "csrc"

# Ranges of the operands, if they differ from (0.05, 0.95).
RANGES = dict.fromkeys(("sin", "cos", "tan", "exp"), (-10, 10)) | {"arccosh": (1, 20)}

CLOCK = r"""
#define _POSIX_C_SOURCE 200809L
#include <time.h>
#include "ir/loop.h"

double time_loop(const struct mx_loop *loop, char **args, intptr_t n,
                 const intptr_t *strides, int calls)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < calls; i++)
        loop->function(args, &n, strides, loop->data);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec);
    return (seconds * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / calls / (double)n;
}
"""


class Loop(ctypes.Structure):
    _fields_ = (
        ("function", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("clears", ctypes.c_bool),
    )


def compile_loops(folder: Path) -> ctypes.CDLL:
    """Compile the loops as the build does, with the function that times them."""
    sets = {"base": []}
    if platform.machine() == "x86_64":
        sets |= {"v3": ["-march=x86-64-v3"], "v4": ["-march=x86-64-v4"]}
    (folder / "clock.c").write_text(CLOCK)
    common = ["cc", "-std=c11", "-D_DEFAULT_SOURCE", "-O3", "-fPIC", f"-I{CSRC}"]
    objects = []
    for name, flags in sets.items():
        target = folder / f"{name}.o"
        source = CSRC / "cpu/kernels/native_kernels.c"
        flags += [f"-DMX_ISA={name}", "-ffp-contract=off", "-fno-math-errno"]
        subprocess.run([*common, *flags, "-c", source, "-o", target], check=True)
        objects.append(target)
    kernels = "native_loops", "agreement", "copies", "isa"
    numbers = "exponents", "logarithms", "powers"
    tables = "ir/loop", "ir/ops", "ir/dtypes", "base/error"
    nouns = [*(f"cpu/kernels/{noun}" for noun in (*kernels, *numbers)), *tables]
    sources = [CSRC / f"{noun}.c" for noun in nouns]
    library = folder / "loops.so"
    command = [
        *common,
        "-shared",
        "-o",
        library,
        folder / "clock.c",
        *sources,
        *objects,
    ]
    subprocess.run([*command, "-lm"], check=True)
    return ctypes.CDLL(str(library))


with tempfile.TemporaryDirectory() as name:
    library = compile_loops(Path(name))
library.time_loop.restype = ctypes.c_double
library.mx_native_loop.restype = ctypes.c_bool
lib = mxnp._engine.core.lib
ffi = mxnp._engine.core.ffi
DTYPES = [
    ffi.string(lib.mx_dtype_get(k).name).decode() for k in range(lib.mx_dtype_count())
]


def loops(op: int, ufunc: numpy.ufunc, dtypes: tuple) -> list[Loop]:
    """Return NumPy's loop and, if it exists, mxnp's."""
    characters = "".join(t.char for t in dtypes)
    signature = characters[: ufunc.nin] + "->" + characters[ufunc.nin :]
    if signature not in ufunc.types:
        return []
    numbers = bytes(t.num for t in dtypes)
    fields = ctypes.c_size_t(id(ufunc) + object.__basicsize__)
    theirs, ours = Loop(), Loop()
    count = (ufunc.nin, ufunc.nout, ufunc.ntypes)
    if library.mx_loop_read(ctypes.byref(theirs), fields, *count, numbers):
        return []
    rows = (ctypes.c_int * len(dtypes))(*(DTYPES.index(t.name) for t in dtypes))
    owned = library.mx_native_loop(ctypes.byref(ours), op, rows, ctypes.byref(theirs))
    return [theirs, ours] if owned else [theirs]


def measure(found: list[Loop], name: str, dtypes: tuple) -> list[float]:
    low, high = RANGES.get(name, (0.05, 0.95))
    chance = numpy.random.default_rng(0)
    arrays = [
        chance.uniform(low, high, BLOCK * DISTANCE).astype(dtype) for dtype in dtypes
    ]
    args = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
    distances = [x.itemsize * DISTANCE for x in arrays]
    distances[-1] = arrays[-1].itemsize
    strides = (ctypes.c_ssize_t * len(arrays))(*distances)
    calls, n = ELEMENTS // BLOCK, ctypes.c_ssize_t(BLOCK)
    rounds = [
        [library.time_loop(ctypes.byref(f), args, n, strides, calls) for f in found]
        for _ in range(ROUNDS)
    ]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


print(f"{DTYPE}, blocks of {BLOCK}, {DISTANCE} apart, NumPy {numpy.__version__}")
print(f"{'operation':16}{'NumPy':>8}{'own':>8}{'faster by':>11}")
for op in range(lib.mx_op_count()):
    row = lib.mx_op_get(op)
    name, result = ffi.string(row.name).decode(), ffi.string(row.result).decode()
    if row.nout != 1:
        continue
    same = numpy.dtype(DTYPE)
    output = {"truth": numpy.dtype(bool), "count": numpy.dtype("u1")}.get(result, same)
    dtypes = (*[same] * row.nin, output)
    found = loops(op, getattr(numpy, name), dtypes)
    if not found:
        continue
    times = measure(found, name, dtypes)
    print(f"{name:16}" + "".join(f"{t:8.2f}" for t in times), end="")
    print(f"{times[0] / times[1]:11.1f}" if len(times) == 2 else "")
