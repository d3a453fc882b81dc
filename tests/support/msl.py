"""Helpers for tests of the Metal emulator's MSL compiler."""

from __future__ import annotations

import ctypes
import functools
import re
import threading

import numpy as np
import pytest
from metal_emulator import toolchain
from metal_emulator.msl import compiler, lint


def _find_missing():
    try:
        toolchain.find()
    except toolchain.MissingToolchainError as error:
        return str(error)
    return ""


MISSING = _find_missing()
needs_compiler = pytest.mark.skipif(bool(MISSING), reason=MISSING)

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
LANES = 32

NUMPY_TYPES = {
    "float": np.float32,
    "half": np.float16,
    "char": np.int8,
    "short": np.int16,
    "int": np.int32,
    "long": np.int64,
    "uchar": np.uint8,
    "ushort": np.uint16,
    "uint": np.uint32,
    "ulong": np.uint64,
}
INTEGER_TYPES = ["char", "short", "int", "long", "uchar", "ushort", "uint", "ulong"]

# -- Sources

FRAME = (
    HEAD
    + """struct S { float a; float b; float get() const { return a; } };
{scope}
kernel void k(device float *b [[buffer(0)]], constant S &s [[buffer(1)]],
              device atomic_uint *at [[buffer(2)]], device atomic_float *af [[buffer(3)]],
              uint gid [[thread_position_in_grid]])
{
    {body}
}
"""
)


def framed(scope, body):
    return FRAME.replace("{scope}", scope).replace("{body}", body)


@functools.cache
def checker():
    return compiler.Compiler(instrumented=False)


def diagnostics(text):
    """Return the lines and messages of the compiler's and the lint's diagnostics."""
    try:
        checker().check(text)
    except compiler.CompileError as error:
        pattern = r"program_source:(\d+):\d+: (?:error|note): (.*)"
        return [(int(n), what) for n, what in re.findall(pattern, str(error))]
    return lint.lint_text(text)


def kernel_of(name, result, types, expression, setup=""):
    """Return a kernel that computes each element from one element of each input."""
    inputs = "".join(
        f"device const {t} *p{i} [[buffer({i})]], " for i, t in enumerate(types)
    )
    locals_ = " ".join(f"{t} {'abcd'[i]} = p{i}[i];" for i, t in enumerate(types))
    return (
        f"kernel void {name}({inputs}device {result} *out [[buffer({len(types)})]],"
        f" uint i [[thread_position_in_grid]])\n"
        f"{{ {locals_} {setup} out[i] = {expression}; }}\n"
    )


# -- An engine with one SIMD-group, whose lanes are Python threads


class Thread(ctypes.Structure):
    _fields_ = [
        ("position_in_grid", ctypes.c_uint32 * 3),
        ("position_in_threadgroup", ctypes.c_uint32 * 3),
        ("threadgroup_position", ctypes.c_uint32 * 3),
        ("threads_per_threadgroup", ctypes.c_uint32 * 3),
        ("threadgroups_per_grid", ctypes.c_uint32 * 3),
        ("threads_per_grid", ctypes.c_uint32 * 3),
        ("index_in_threadgroup", ctypes.c_uint32),
        ("index_in_simdgroup", ctypes.c_uint32),
        ("simdgroup_index", ctypes.c_uint32),
        ("threads_per_simdgroup", ctypes.c_uint32),
        ("simdgroups_per_threadgroup", ctypes.c_uint32),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("threadgroup_memory", ctypes.POINTER(ctypes.c_void_p)),
    ]


class Argument(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_uint8),
        ("index", ctypes.c_uint8),
        ("is_const", ctypes.c_uint8),
        ("space", ctypes.c_uint8),
        ("size", ctypes.c_uint32),
    ]


Entry = ctypes.CFUNCTYPE(None, ctypes.POINTER(Thread))


class Kernel(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("entry", Entry),
        ("arguments", ctypes.POINTER(Argument)),
        ("argument_count", ctypes.c_uint32),
        ("max_threads", ctypes.c_uint32),
        ("threadgroup_bytes", ctypes.c_uint32),
        ("function", ctypes.c_void_p),
    ]


ENGINE = {
    "self": ctypes.CFUNCTYPE(ctypes.c_void_p),
    "threadgroup_barrier": ctypes.CFUNCTYPE(None),
    "simdgroup_barrier": ctypes.CFUNCTYPE(None),
    "simdgroup_exchange": ctypes.CFUNCTYPE(
        None,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_uint64),
        ctypes.c_uint,
    ),
    "threadgroup_variable": ctypes.CFUNCTYPE(
        ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint
    ),
    "access": ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int),
    "atomic": ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint),
    "branch": ctypes.CFUNCTYPE(None),
    "divide": ctypes.CFUNCTYPE(None),
}


class EngineTable(ctypes.Structure):
    _fields_ = list(ENGINE.items())


class Engine:
    """An engine that runs lanes one by one, or together if they exchange values."""

    def __init__(self):
        self.local = threading.local()
        self.lanes = 1
        self.accesses = []
        self.branches = 0
        self.divisions = 0
        self.atomics = 0
        self.variables = {}
        self.sent = {}
        self.barrier = None
        self.table = EngineTable(
            *(kind(getattr(self, name)) for name, kind in ENGINE.items())
        )

    def self(self):
        return ctypes.addressof(self.local.thread)

    def threadgroup_barrier(self):
        if self.barrier:
            self.barrier.wait()

    simdgroup_barrier = threadgroup_barrier

    def simdgroup_exchange(self, mine, everything, active, size):
        self.sent[self.local.thread.index_in_simdgroup] = ctypes.string_at(mine, size)
        self.threadgroup_barrier()
        for lane, value in self.sent.items():
            ctypes.memmove(everything + lane * size, value, size)
        active[0] = sum(1 << lane for lane in self.sent)
        self.threadgroup_barrier()

    def threadgroup_variable(self, number, size):
        buffer = self.variables.setdefault(number, ctypes.create_string_buffer(size))
        assert len(buffer) == size
        return ctypes.addressof(buffer)

    def access(self, at, size, is_write):
        self.accesses.append((at, size, is_write))

    def atomic(self, at, size):
        self.atomics += 1

    def branch(self):
        self.branches += 1

    def divide(self):
        self.divisions += 1

    def run(self, entry, threads):
        for thread in threads:
            self.local.thread = thread
            entry(ctypes.byref(thread))

    def run_together(self, entry, threads):
        def run_one(thread):
            self.local.thread = thread
            entry(ctypes.byref(thread))

        self.sent = {}
        self.barrier = threading.Barrier(len(threads), timeout=300)
        workers = [threading.Thread(target=run_one, args=(t,)) for t in threads]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.barrier = None


class Library:
    """A compiled program with the engine that runs it."""

    def __init__(self, path):
        self.engine = Engine()
        self.code = ctypes.CDLL(str(path))
        self.code.metal_emulator_load(ctypes.byref(self.engine.table))
        count = ctypes.c_uint32.in_dll(self.code, "metal_emulator_kernel_count").value
        kernels = (Kernel * count).in_dll(self.code, "metal_emulator_kernels")
        self.kernels = {kernel.name.decode(): kernel for kernel in kernels}

    def run(self, name, *buffers, threads=1, together=False):
        addresses = (ctypes.c_void_p * 31)(*(b.ctypes.data for b in buffers))
        lanes = []
        for i in range(threads):
            thread = Thread(buffers=addresses, threadgroup_memory=addresses)
            thread.position_in_grid[:] = i, i + 1, i + 2
            thread.position_in_threadgroup[:] = i, 0, 0
            thread.threads_per_grid[:] = threads, 1, 1
            thread.threads_per_threadgroup[:] = threads, 1, 1
            thread.threadgroups_per_grid[:] = 1, 1, 1
            thread.index_in_threadgroup = thread.index_in_simdgroup = i
            thread.threads_per_simdgroup = LANES
            thread.simdgroups_per_threadgroup = 1
            lanes.append(thread)
        run = self.engine.run_together if together else self.engine.run
        run(self.kernels[name].entry, lanes)


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Return a function that compiles each text with each set of options once."""
    folder = tmp_path_factory.mktemp("libraries")

    @functools.cache
    def build_one(text, fast_math=False, instrumented=False, **more):
        path = folder / f"{build_one.cache_info().misses}.so"
        options = {"fast_math": fast_math, "instrumented": instrumented} | more
        compiler.Compiler(**options).compile(text, str(path))
        return Library(path)

    return build_one


def evaluate(library, name, result, *inputs):
    out = np.zeros(len(inputs[0]), result)
    library.run(name, *inputs, out, threads=len(out))
    return out
