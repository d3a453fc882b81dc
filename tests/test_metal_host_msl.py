"""The Metal host's compiler of MSL: what it takes, what it refuses, what its library gives."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
try:
    from metal_host import toolchain
    from metal_host.msl import compiler, lint
finally:
    sys.path.pop(0)

try:
    toolchain.find()
    MISSING = ""
except toolchain.MissingToolchainError as error:
    MISSING = str(error)
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
SCALAR = (ROOT / "metal" / "scalar.metal").read_text()
COMPILE = ROOT / "tests" / "metal_host" / "msl" / "compile.py"
LANES = 32


# -- An engine of one SIMD-group, whose lanes are threads of Python


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
}


class EngineTable(ctypes.Structure):
    _fields_ = list(ENGINE.items())


class Engine:
    """Runs one lane after the other, or all together if they exchange values."""

    def __init__(self):
        self.local = threading.local()
        self.lanes = 1
        self.accesses = []
        self.branches = 0
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

    def run(self, entry, threads):
        for thread in threads:
            self.local.thread = thread
            entry(ctypes.byref(thread))

    def run_together(self, entry, threads):
        def run_one(thread):
            self.local.thread = thread
            entry(ctypes.byref(thread))

        self.sent = {}
        self.barrier = threading.Barrier(len(threads), timeout=20)
        workers = [threading.Thread(target=run_one, args=(t,)) for t in threads]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.barrier = None


class Library:
    """A compiled program and what runs it."""

    def __init__(self, path):
        self.engine = Engine()
        self.code = ctypes.CDLL(str(path))
        self.code.metal_host_load(ctypes.byref(self.engine.table))
        count = ctypes.c_uint32.in_dll(self.code, "metal_host_kernel_count").value
        kernels = (Kernel * count).in_dll(self.code, "metal_host_kernels")
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


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Compile a program, once for each text and set of options."""
    folder = tmp_path_factory.mktemp("libraries")

    @functools.cache
    def build_one(text, fast_math=False, instrumented=False):
        path = folder / f"{build_one.cache_info().misses}.so"
        options = {"fast_math": fast_math, "instrumented": instrumented}
        compiler.Compiler(**options).compile(text, str(path))
        return Library(path)

    return build_one


@functools.cache
def checker():
    return compiler.Compiler(instrumented=False)


def diagnostics(text):
    """Lines and messages of the compiler and the lint."""
    try:
        checker().check(text)
    except compiler.CompileError as error:
        pattern = r"program_source:(\d+):\d+: (?:error|note): (.*)"
        return [(int(n), what) for n, what in re.findall(pattern, str(error))]
    return lint.lint_text(text)


# -- What is accepted and what is not

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

# name: program scope, body
ACCEPTED = {
    "unsuffixed literal is a float": ("", "b[0] = b[1] * 2.0;"),
    "literals of half and bfloat": (
        "",
        "half h = 1.5h; bfloat q = 2.5bf; b[0] = float(h) + float(q);",
    ),
    "thread reference parameter": (
        "void f(thread float &x) { x = 1; }",
        "float z; f(z); b[0] = z;",
    ),
    "program-scope table": (
        "constant float table[2] = {1, 2};",
        "b[0] = table[gid & 1];",
    ),
    "threadgroup variable": (
        "",
        "threadgroup float t[4]; t[gid & 3] = 1; "
        "threadgroup_barrier(mem_flags::mem_threadgroup); b[0] = t[0];",
    ),
    "threadgroup array of two dimensions": (
        "constant constexpr int n = 3;",
        "threadgroup half t[n][n + 1], u; t[gid % n][3] = 1; u = t[0][3]; b[0] = u;",
    ),
    "threadgroup atomic": (
        "",
        "threadgroup atomic_uint t; atomic_store_explicit(&t, 0u, memory_order_relaxed);"
        " b[0] = atomic_load_explicit(&t, memory_order_relaxed);",
    ),
    "threadgroup pointer to a threadgroup variable": (
        "void f(threadgroup float *p) { p[0] = 1; }",
        "threadgroup float t[4]; threadgroup float *p = t; f(p); b[0] = *p;",
    ),
    "64-bit shift": ("", "long x = long(gid) << 40; b[0] = float(x);"),
    "arithmetic of half and bfloat": (
        "",
        "half h = half(b[0]); bfloat q = bfloat(b[1]);"
        " b[0] = float(h * h) + float(q * q);",
    ),
    "swizzle": ("", "float4 v = float4(b[0]); v.xz = v.yw; b[0] = v.x;"),
    "vector from braces": ("", "float4 v = {1, 2, 3, 4}; b[0] = v.w;"),
    "vector from a vector and a scalar": (
        "",
        "float4 v = float4(float3(1), 2); b[0] = v.w;",
    ),
    "vectors through metal::": (
        "",
        "metal::vec<float, 2> v = float2(1, 2); b[0] = metal::max(v.x, v.y);",
    ),
    "vector of bool in select": (
        "",
        "float4 v = select(float4(0), float4(1), bool4(true)); b[0] = v.x;",
    ),
    "compared vectors": (
        "",
        "float4 v = float4(b[0]); bool4 m = v < 2.0 && v > 1.0;"
        " b[0] = any(m) + all(v == v) + select(v, v + 1, v < 3).x + any(!(v < 1));",
    ),
    "method of a local object": ("", "S t = {1, 2}; b[0] = t.get();"),
    "pow of a float and an int": ("", "b[0] = pow(b[0], 2);"),
    "auto pointer": ("", "auto p = b + 1; *p = 2;"),
    "volatile and const device": (
        "void f(const device float *p, volatile device float *q) { q[0] = p[0]; }",
        "f(b, b);",
    ),
    "struct of a struct": (
        "struct T { S s; float2 v; };",
        "T t = {{1, 2}, {3, 4}}; T u = t; b[0] = u.s.b + u.v.y;",
    ),
    "device pointer to a struct": (
        "",
        "device S *d = (device S *)b; d[0].a = d[1].a; d->b = s.b;",
    ),
    "enable_if": (
        "template <typename T> enable_if_t<is_integral_v<T>, T> f(T a) { return a; }\n"
        "template <typename T> enable_if_t<is_floating_point<T>::value, T> f(T a)"
        " { return -a; }",
        "b[0] = f(1) + f(1.0);",
    ),
    "type traits": (
        "static_assert(is_same_v<make_unsigned_t<long>, ulong>);\n"
        "static_assert(is_same<conditional_t<true, int, half>, int>::value);\n"
        "static_assert(is_signed_v<char> && is_unsigned<uchar>::value);\n"
        "static_assert(is_floating_point_v<bfloat> && !is_integral_v<half>);\n"
        "static_assert(is_same_v<remove_cv_t<const int>, int>);\n"
        "static_assert(sizeof(bool4) == 4 && sizeof(float3) == 16);\n"
        "static_assert(sizeof(bool3) == 4 && alignof(half3) == 8);",
        "",
    ),
    "float atomics": (
        "",
        "atomic_fetch_add_explicit(af, 1.0, memory_order_relaxed);"
        " b[0] = atomic_exchange_explicit(af, 2, memory_order_relaxed);",
    ),
    "scalar index attributes of all kinds": (
        "kernel void q(ushort a [[thread_position_in_threadgroup]],"
        " uint c [[threads_per_grid]], uint d [[thread_index_in_simdgroup]],"
        " ushort e [[simdgroups_per_threadgroup]]) {}",
        "",
    ),
    "vector position attributes and scalar indices": (
        "kernel void q(uint3 a [[thread_position_in_grid]],"
        " ushort3 c [[threads_per_threadgroup]],"
        " uint d [[thread_index_in_threadgroup]]) {}",
        "",
    ),
    "threadgroup argument": (
        "kernel void q(threadgroup float *t [[threadgroup(0)]],"
        " uint i [[thread_index_in_threadgroup]]) { t[i] = 1; }",
        "",
    ),
    "kernel as an attribute": (
        "[[kernel]] void q(device float *b [[buffer(30)]]) { b[0] = 1; }\n"
        "[[kernel, max_total_threads_per_threadgroup(64)]]"
        " void r(device float *b [[buffer(0)]]) { b[0] = 1; }",
        "",
    ),
    "instantiations with a host_name": (
        "template <typename T, int n> kernel void q(device T *b [[buffer(0)]])"
        " { threadgroup T t[n]; t[0] = n; b[0] = t[0]; }\n"
        'template [[host_name("q_int")]] kernel void q<int, 4>(device int *);\n'
        'template [[host_name("q_half")]] [[kernel]] void'
        " q<half, 2>(device half *b [[buffer(0)]]);\n"
        'template [[host_name("q_long")]] [[kernel]] decltype(q<long, 1>) q<long, 1>;',
        "",
    ),
    "precise and fast": ("", "b[0] = precise::exp(b[0]) + fast::sin(b[1]);"),
    "min of integers of one type": ("", "b[0] = min(gid, 3u) + max(int(gid), 3);"),
    "fence": (
        "",
        "atomic_thread_fence(mem_flags::mem_device, memory_order_relaxed);",
    ),
    "matrices of a SIMD-group": (
        "",
        "simdgroup_float8x8 m, n(1.0f); simdgroup_load(m, b, 8);"
        " simdgroup_multiply_accumulate(m, m, n, m); simdgroup_store(m, b, 8);"
        " simdgroup_half8x8 h = make_filled_simdgroup_matrix<half, 8, 8>(1.0h);"
        " simdgroup_multiply(m, h, h);",
    ),
    "switch, loops and ternaries": (
        "",
        "for (uint i = 0; i < 3; i++) { switch (i) { case 0: continue; default: break; } }"
        " do { b[0] = gid ? 1 : 2; } while (false);",
    ),
    "double as a part of a name": ("", "float doubled = 1; b[0] = doubled; // double"),
    "bitwise as_type": ("", "b[0] = as_type<float>(0x7fc00000u);"),
    "template kernel helper": (
        "template <typename T> inline T twice(T a) { return a + a; }\n"
        "#define CALL(x) twice(x)",
        "b[0] = CALL(float2(1, 2)).y + CALL(3);",
    ),
}

# name: program scope, body, part of a message; what is wrong is in the first line with
# its mark, if there is one, or else in the body
REJECTED = {
    "double variable": ("", "double d = 1; b[0] = d;", "'double' is not supported"),
    "long double literal": ("", "b[0] = 1.0L;", "'long double' is not supported"),
    "device to unqualified pointer": ("", "float *p = b; b[0] = p[0];", "cannot init"),
    "unqualified pointer to a local": (
        "",
        "float z = 1; float *p = &z; b[0] = *p;",
        "'p' ('float *') has no address space",
    ),
    "unqualified reference parameter": (
        "void f(float &x) { x = 1; }  // here",
        "float z; f(z); b[0] = z;",
        "'x' ('float &') has no address space",
    ),
    "unqualified result": (
        "constant float table[1] = {1};\nfloat *f(thread float *x) { return x; }  // here",
        "float z = 1; b[0] = *f(&z);",
        "without an address space",
    ),
    "device reference to a local": (
        "",
        "float z = 0; device float &r = z; r = 1;",
        "changes address space",
    ),
    "write to constant": ("", "s.a = 1;", "not assignable|const"),
    "write through const device": (
        "void f(device const float *p) { p[0] = 1; }  // here",
        "f(b);",
        "not assignable|read-only|const",
    ),
    "threadgroup to device pointer": (
        "",
        "threadgroup float t[4]; device float *p = t; p[0] = 1;",
        "cannot init|changes address space",
    ),
    "cast that drops the space": (
        "",
        "float *p = (float *)b; p[0] = 1;",
        "cast between address spaces",
    ),
    "cast to another space": (
        "",
        "threadgroup float *p = (threadgroup float *)b; p[0] = 1;",
        "cast between address spaces",
    ),
    "reinterpret_cast to another space": (
        "",
        "thread float *p = reinterpret_cast<thread float *>(b); p[0] = 1;",
        "reinterpret_cast",
    ),
    "assignment to an atomic": ("", "at[0] = 3;", "no viable overloaded '='"),
    "plain read of an atomic": (
        "",
        "uint x = at[0]; b[0] = x;",
        "no viable conversion",
    ),
    "atomic in thread space": (
        "",
        "atomic_uint x; atomic_store_explicit(&x, 1u, memory_order_relaxed);",
        "deleted constructor",
    ),
    "another memory order": (
        "",
        "atomic_store_explicit(&at[0], 1u, memory_order_seq_cst);",
        "undeclared identifier 'memory_order_seq_cst'",
    ),
    "atomic without _explicit": (
        "",
        "atomic_fetch_add(&at[0], 1u);",
        "undeclared identifier 'atomic_fetch_add'",
    ),
    "atomic of a type without": (
        "",
        "device atomic<half> *h = (device atomic<half> *)b;"
        " atomic_load_explicit(h, memory_order_relaxed);",
        "atomics of int, uint, bool, float and ulong only",
    ),
    "maximum of float atomics": (
        "",
        "atomic_fetch_max_explicit(af, 1.0f, memory_order_relaxed);",
        "no matching function",
    ),
    "bits of float atomics": (
        "",
        "atomic_fetch_or_explicit(af, 1.0f, memory_order_relaxed);",
        "no matching function",
    ),
    "recursion": (
        "int f(int n) { return n < 2 ? 1 : n * f(n - 1); }  // here",
        "b[0] = f(int(gid));",
        "'f' calls itself",
    ),
    "mutual recursion": (
        "int g(int n);\nint f(int n) { return g(n); }  // here\n"
        "int g(int n) { return n ? f(n - 1) : 0; }",
        "b[0] = f(int(gid));",
        "'f' calls itself",
    ),
    "function pointer": (
        "float f(float x) { return x; }",
        "float (*p)(float) = f; b[0] = p(1);",
        "'p' is a pointer to a function",
    ),
    "throw": ("", "throw 1;", "'throw' is not supported"),
    "try": ("", "try { b[0] = 1; } catch (...) {}", "'try' is not supported"),
    "new": ("", "thread int *p = new int; b[0] = *p;", "'new' is not supported"),
    "delete": ("", "delete b;", "'delete' is not supported"),
    "virtual": (
        "struct V { virtual void f() {} };  // here",
        "",
        "'virtual' is not supported",
    ),
    "dynamic_cast": ("", "dynamic_cast<S &>(s);", "'dynamic_cast' is not supported"),
    "typeid": ("", "typeid(int);", "'typeid' is not supported"),
    "assembler": ("", 'asm("nop");', "'asm' is not supported"),
    "lambda": (
        "",
        "auto f = [](float x) { return x; }; b[0] = f(1);",
        "lambda expressions are not supported",
    ),
    "goto": ("", "goto l; l: b[0] = 1;", "'goto' is not supported"),
    "static local": (
        "",
        "static int n = 0; n++; b[0] = n;",
        "static local variable 'n'",
    ),
    "mutable program scope": (
        "int g = 0;  // here",
        "b[0] = g;",
        "program-scope variable 'g' is not in constant memory",
    ),
    "constant of program scope without a space": (
        "const int g = 3;  // here",
        "b[0] = g;",
        "program-scope variable 'g' is not in constant memory",
    ),
    "header of C++": ("#include <vector>  // here", "", "cannot include <vector>"),
    "header by name": ('#include "mine.h"  // here', "", 'cannot include "mine.h"'),
    "std": ("", "b[0] = std::sqrt(2.0f);", "'std' is not supported"),
    "printf": (
        "",
        'printf("x");',
        "'printf' is not supported",
    ),
    "function of C": ("", "b[0] = sqrtf(2.0f);", "undeclared identifier 'sqrtf'"),
    "builtin": (
        "",
        "b[0] = __builtin_sqrtf(2.0f);",
        "'__builtin_sqrtf': names with two underscores",
    ),
    "builtin in a macro": (
        "#define ROOT(x) __builtin_sqrtf(x)  // here",
        "b[0] = ROOT(2);",
        "'__builtin_sqrtf': names with two underscores",
    ),
    "attribute of the compiler": (
        "__attribute__((noinline)) void f() {}  // here",
        "",
        "'__attribute__': names with two underscores",
    ),
    "address space by number": (
        "",
        "__attribute__((address_space(1))) float *p = b;",
        "'__attribute__'",
    ),
    "threadgroup variable in a function": (
        "void f(device float *b) { threadgroup float t[4]; t[0] = 1; }  // here",
        "f(b);",
        "threadgroup variable 't' outside of a kernel",
    ),
    "threadgroup variable of the program": (
        "threadgroup float t[4];  // here",
        "",
        "threadgroup variable 't' outside of a kernel",
    ),
    "threadgroup initialiser": (
        "",
        "threadgroup float t[2] = {1, 2}; b[0] = t[0];",
        "threadgroup variable 't' cannot be initialised",
    ),
    "threadgroup initialiser of a scalar": (
        "",
        "threadgroup uint t = 0; b[0] = t;",
        "threadgroup variable 't' cannot be initialised",
    ),
    "device variable": ("", "device float x; b[0] = x;", "address space"),
    "half to bfloat": ("", "half h = 1; bfloat q = h; b[0] = q;", "cannot initialize"),
    "vector to scalar": (
        "",
        "float4 v = float4(1); float f = v; b[0] = f;",
        "cannot init",
    ),
    "vector to another vector": ("", "int4 v = float4(1); b[0] = v.x;", "cannot init"),
    "too few components": (
        "",
        "float4 v = float4(1, 2, 3); b[0] = v.x;",
        "wrong number of components",
    ),
    "too many components": (
        "",
        "float2 v = float2(float2(1), 3); b[0] = v.x;",
        "wrong number of components",
    ),
    "condition of a vector": ("", "float4 v = float4(1); if (v < 2) b[0] = 1;", "bool"),
    "compared vectors as numbers": (
        "",
        "float4 v = float4(1); int4 m = v < 2; b[0] = m.x;",
        "comparing vectors gives a bool vector",
    ),
    "bits of a vector under another name": (
        "template <typename T> T f(int4 v) { return T(v); }  // here",
        "b[0] = f<vec<float, 4>>(int4(1)).x;",
        "bits of a vector",
    ),
    "array of a variable size": (
        "",
        "float a[gid]; b[0] = a[0];",
        "variable length array",
    ),
    "kernel with a result": (
        "kernel float q(uint g [[thread_position_in_grid]]) { return 1; }  // here",
        "",
        "must return void",
    ),
    "parameter without attribute": (
        "kernel void q(device float *b, uint g) {}  // here",
        "",
        "parameter 'b' has no attribute",
    ),
    "buffer of a value": (
        "kernel void q(float x [[buffer(0)]]) {}  // here",
        "",
        "'buffer(0)' takes a pointer or reference",
    ),
    "buffer without a space": (
        "kernel void q(thread float *x [[buffer(0)]]) {}  // here",
        "",
        "'buffer(0)' takes a pointer or reference",
    ),
    "threadgroup memory in device": (
        "kernel void q(device float *x [[threadgroup(0)]]) {}  // here",
        "",
        "'threadgroup(0)' takes a pointer or reference to threadgroup memory",
    ),
    "write to a reference to constant": (
        "kernel void q(constant uint &n [[buffer(0)]]) { n = 3; }  // here",
        "",
        "not assignable|read-only|const",
    ),
    "pointer to a pointer": (
        "kernel void q(device float *device *p [[buffer(0)]]) {}  // here",
        "",
        "'buffer(0)' takes no pointer to a pointer",
    ),
    "buffer given twice": (
        "kernel void q(device float *a [[buffer(0)]], device float *c [[buffer(0)]])"
        " {}  // here",
        "",
        "'buffer(0)' is given twice",
    ),
    "position given twice": (
        "kernel void q(uint a [[thread_position_in_grid]],\n"
        "uint c [[thread_position_in_grid]]) {}  // here",
        "",
        "'thread_position_in_grid' is given twice",
    ),
    "buffer above 30": (
        "kernel void q(device float *a [[buffer(31)]]) {}  // here",
        "",
        "'buffer' index 31 is above 30",
    ),
    "buffer without a number": (
        "kernel void q(device float *a [[buffer]]) {}  // here",
        "",
        "'buffer' takes a number",
    ),
    "unknown attribute": (
        "kernel void q(uint g [[thread_position_in_the_grid]]) {}  // here",
        "",
        "unknown attribute 'thread_position_in_the_grid'",
    ),
    "unknown attribute of a kernel": (
        "[[kernel, fast]] void q(device float *b [[buffer(0)]]) {}  // here",
        "",
        "unknown attribute 'fast'",
    ),
    "unknown attribute elsewhere": (
        "struct T { float a [[sparkling]]; };  // here",
        "",
        "unknown attribute 'sparkling'",
    ),
    "position as float": (
        "kernel void q(float g [[thread_position_in_grid]]) {}  // here",
        "",
        "'thread_position_in_grid' takes ushort, uint or a vector",
    ),
    "index as a vector": (
        "kernel void q(uint2 g [[thread_index_in_simdgroup]]) {}  // here",
        "",
        "'thread_index_in_simdgroup' takes ushort or uint",
    ),
    "positions of different sizes": (
        "kernel void q(uint g [[thread_position_in_grid]],\n"
        "uint3 t [[thread_position_in_threadgroup]]) {}  // here",
        "",
        "takes as many components as 'thread_position_in_grid'",
    ),
    "two kernels of a name": (
        "kernel void q(device float *b [[buffer(0)]]) {}\n"
        "kernel void q(device int *b [[buffer(0)]]) {}  // here",
        "",
        "two kernels named 'q'",
    ),
    "kernel in a macro": (
        "#define K(n) kernel void n(device float *b [[buffer(0)]]) {}  // here\nK(q)",
        "",
        "no kernels in macros",
    ),
    "instantiation of nothing": (
        'template [[host_name("x")]] kernel void q<int>(device int *);  // here',
        "",
        "no kernel template 'q'",
    ),
    "min of uint and int": ("", "b[0] = min(gid, 3);", "ambiguous"),
    "max of half and float": ("", "b[0] = max(half(1), 2.0);", "ambiguous"),
    "sqrt of an int": ("", "b[0] = sqrt(2);", "ambiguous"),
    "popcount of a float": ("", "b[0] = popcount(1.0f);", "ambiguous"),
    "as_type of another size": ("", "b[0] = as_type<float>(1ul);", "different sizes"),
    "sum of bools": ("", "b[0] = simd_sum(gid > 1);", "no matching function"),
    "sum of longs": ("", "b[0] = simd_sum(long(gid));", "no matching function"),
    "matrix of another size": (
        "",
        "simdgroup_matrix<float, 4, 4> m; b[0] = 1;",
        "8 x 8 only",
    ),
    "whole struct from constant": (
        "",
        "S t = s; b[0] = t.a;",
        "copies none as a whole",
    ),
    "whole struct within device": (
        "",
        "device S *d = (device S *)b; d[0] = d[1];",
        "copies none as a whole",
    ),
    "method of a constant object": ("", "b[0] = s.get();", "calls no member functions"),
    "missing semicolon": ("", "b[0] = 1", "expected ';'"),
    "unbalanced parenthesis": ("", "b[0] = (1;", "expected ')'"),
    "min of short and int": ("", "b[0] = min(short(gid), 1);", "ambiguous"),
}


def framed(scope, body):
    return FRAME.replace("{scope}", scope).replace("{body}", body)


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name):
    assert diagnostics(framed(*ACCEPTED[name])) == []


@pytest.mark.parametrize("name", REJECTED)
def test_rejected(name):
    scope, body, message = REJECTED[name]
    text = framed(scope, body)
    lines = text.split("\n")
    marked = [n for n, line in enumerate(lines, 1) if line.endswith("// here")]
    wrong = marked[0] if marked else len(lines) - 2
    found = diagnostics(text)
    assert any(
        n == wrong and any(part in what for part in message.split("|"))
        for n, what in found
    ), found


# -- The compiler as a command


def run_compiler(*arguments, **kwargs):
    command = [sys.executable, str(COMPILE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **kwargs)


def test_command_writes_a_library(tmp_path):
    source, out = tmp_path / "a.metal", tmp_path / "a.so"
    source.write_text(HEAD + "kernel void k(device int *a [[buffer(3)]]) { *a = 5; }\n")
    result = run_compiler(source, out)
    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.metal", "a.so"]
    library = Library(out)
    (argument,) = library.kernels["k"].arguments[:1]
    assert (argument.kind, argument.index, argument.is_const) == (0, 3, 0)
    assert (argument.space, argument.size) == (1, 4)
    value = np.zeros(1, np.int32)
    library.run("k", *[value] * 4)
    assert value[0] == 5
    assert library.engine.accesses == [(value.ctypes.data, 4, 1)]
    assert library.engine.branches == 1


@pytest.mark.parametrize("prelude", ["", "/* -- end of prelude -- */\n"])
def test_command_reports_errors_in_the_users_lines(tmp_path, prelude):
    source, out = tmp_path / "a.metal", tmp_path / "a.so"
    out.write_text("as before")
    source.write_text(
        f"{HEAD}inline float one() {{ return 1; }}\n{prelude}"
        "kernel void k(device float *a [[buffer(0)]])\n{\n"
        "    threadgroup float t[4]; *a = t[0] + two();\n}\n"
    )
    line = 6 + prelude.count("\n")
    result = run_compiler(source, out)
    assert result.returncode == 1
    assert f"program_source:{line}:41: error: use of undeclared" in result.stderr
    assert out.read_text() == "as before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.metal", "a.so"]


def test_errors_in_the_prelude_have_their_lines(tmp_path):
    source = tmp_path / "a.metal"
    source.write_text(
        f"{HEAD}inline int f() {{ return x; }}\n/* -- end of prelude -- */\n"
    )
    result = run_compiler(source, tmp_path / "a.so")
    assert result.returncode == 1
    assert (
        "program_source:3:25: error: use of undeclared identifier 'x'" in result.stderr
    )


def test_kernels_in_the_prelude_are_there(tmp_path, build):
    kernel = "kernel void {}(device int *a [[buffer(0)]]) {{ *a = 5; }}\n"
    text = (
        HEAD + kernel.format("p") + "/* -- end of prelude -- */\n" + kernel.format("q")
    )
    assert sorted(build(text).kernels) == ["p", "q"]


def test_address_spaces_stand_wherever_they_may():
    text = (
        HEAD
        + """
struct Holder { thread float *p; device float *q; const device int *r; };
enum class Color : uint { red, green };
typedef device float *Buffer;
inline void f(const thread float &x, float thread &y, thread const float *z) {}
inline thread float *g(thread float *x) { return x; }
inline float all_of(thread float (&a)[4]) { return a[0]; }
inline float row_of(threadgroup float (*a)[4]) { return a[0][1]; }
template <typename T> inline void h(thread T &x, const thread T *y) { thread T *z = &x; *z = *y; }
template <typename T, int n> struct Array { T v[n]; T at(int i) const { return v[i]; } };
kernel void k(device float *p [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    float z = 1, w[4] = {};
    uint bits = *reinterpret_cast<thread uint *>(&z);
    thread float *q = (thread float *)&z;
    thread float *thread *qq = &q;
    thread auto &r = z;
    auto &s = p[1];
    for (thread float &x : w) x = 1;
    for (auto x : w) z += x;
    Buffer b = p;
    threadgroup float tt[3][4];
    h(z, q);
    Array<float, 3> a{};
    p[0] = a.at(1) + float(bits) + **qq + r + s + b[0] + all_of(w) + row_of(tt) + *g(&z);
    p[1] = float(Color::green);
}
"""
    )
    assert diagnostics(text) == []


def test_a_program_of_many_features():
    text = (
        HEAD
        + """
static constexpr constant float one = 1;
constant constexpr const int two = 2;
constexpr constant uint many[] = {1, 2, 3};
template <typename T> struct Limits { static constexpr constant T most = T(3); static constexpr T low() { return T(0); } };
struct Sum { template <typename T> T operator()(T a, T b) { return a + b; } static constant constexpr float start = 0; };
struct Pair { float value; uint index; };
template <typename Op, typename T> T apply(T a, T b) { Op op; return op(a, b); }
inline Pair better(Pair a, Pair b) { return a.value < b.value ? b : a; }
namespace inner { inline float f(float x) { return x * 2; } }
METAL_FUNC float g(float x) { return inner::f(x); }
template <typename T> METAL_FUNC T h(T x) { return x; }
template <> METAL_FUNC float h(float x) { return -x; }
[[kernel]] void k(device float *p [[buffer(0)]], constant const int64_t *strides [[buffer(1)]], const constant int &n [[buffer(2)]],
   device atomic<uint> *at [[buffer(3)]], constant uint32_t &flags [[buffer(4)]], device const uchar *raw [[buffer(5)]],
   uint3 gid [[thread_position_in_grid]], uint3 grid [[threads_per_grid]])
{
    threadgroup Pair best[32];
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    Pair mine = {p[0], gid.x};
    best[gid.x].value = mine.value;
    best[gid.x].index = mine.index;
    Pair other = {best[1].value, best[1].index};
    mine = better(mine, other);
    p[gid.x + grid.x * (gid.y + grid.y * gid.z)] = apply<Sum>(mine.value, float(strides[n])) + one + two + many[gid.x & 1] + g(1) + h(2.0f) + Limits<float>::low();
    p[1] = Limits<int>::most + Sum::start;
    atomic_fetch_or_explicit(&at[gid.x >> 2], uint(raw[3]) << 8, memory_order_relaxed);
    for (ushort offset = 16; offset > 0; offset >>= 1) mine.value = max(mine.value, simd_shuffle_down(mine.value, offset));
    uint64_t wide = uint64_t(gid.x) * 3; p[2] = float(wide) + float(flags) + sizeof(Pair);
    device float4 *v = (device float4 *)p; v[1] = v[0].wzyx * 2.0 + 1; v[2].xy = float2(1, 2);
    float4 q = v[0]; q[2] = 3; q *= q; p[3] = dot(q, q) + q.r;
    uchar4 c = uchar4(uint4(gid, 1)); short2 d = short2(-1); p[4] = c.x + d.y; half3 hh = half3(q.xyz); p[5] = hh.z;
    bool done = false; while (!done) { done = all(q >= 0) || any(isnan(q)); break; }
    int x = 5; x = clamp(x, 0, 3); x = select(x, 2, done); p[6] = x;
    p[7] = float(extract_bits(7u, 1, 2)) + fabs(-1.0) + pow(2.0, 3) + max(1.0f, p[0]) + metal::precise::sqrt(p[0]);
}
"""
    )
    assert diagnostics(text) == []


def test_a_program_includes_the_library():
    found = diagnostics("using namespace metal;\n")
    assert found == [(1, "there is no #include <metal_stdlib> above")]


def test_loops_in_functions_are_branches(build):
    text = HEAD + (
        "inline int count(int n) { int s = 0; for (int i = 0; i < n; i++) s ^= i * n; return s; }\n"
        "/* -- end of prelude -- */\n"
        "kernel void k(device int *a [[buffer(0)]]) { *a = count(*a); }\n"
    )
    library = build(text, instrumented=True)
    value = np.array([1000], np.int32)
    library.run("k", value)
    assert library.engine.branches > 1000


def test_features_of_later_standards():
    one = "template <auto n> inline int f() { return n; }  // here"
    assert any("C++17" in what for _, what in diagnostics(framed(one, "")))
    assert diagnostics(framed("", "if constexpr (sizeof(int) == 4) b[0] = 1;")) == []


def test_command_needs_two_names():
    assert run_compiler("a.metal").returncode == 2


def test_command_says_that_a_file_is_missing(tmp_path):
    result = run_compiler(tmp_path / "none.metal", tmp_path / "a.so")
    assert result.returncode == 1
    assert "none.metal" in result.stderr


def test_processes_share_an_empty_cache(tmp_path):
    source = tmp_path / "a.metal"
    source.write_text(
        f"{HEAD}/* -- end of prelude -- */\n" + framed("", "").removeprefix(HEAD)
    )
    environment = {**os.environ, "METAL_HOST_CACHE": str(tmp_path / "cache")}
    outs = [tmp_path / f"{n}.so" for n in range(3)]
    running = [
        subprocess.Popen([sys.executable, str(COMPILE), source, out], env=environment)
        for out in outs
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert [list(Library(out).kernels) for out in outs] == [["k"]] * 3
    (folder,) = (tmp_path / "cache").iterdir()
    assert {path.suffix for path in folder.iterdir()} == {".h", ".o", ".pch"}


def test_stand_alone_check(tmp_path):
    good, bad = tmp_path / "good.metal", tmp_path / "bad.metal"
    good.write_text(framed("", ""))
    bad.write_text(framed("int g = 1;", ""))
    command = [sys.executable, "-m", "tests.metal_host"]
    result = subprocess.run([*command, good], capture_output=True, text=True, cwd=ROOT)
    assert (result.returncode, result.stdout) == (0, f"{good}: 1 kernels\n")
    result = subprocess.run(
        [*command, good, bad], capture_output=True, text=True, cwd=ROOT
    )
    assert result.returncode == 1
    assert f"{bad}:4: error: program-scope variable 'g'" in result.stderr


def test_fast_math_knows_no_nan(build):
    text = HEAD + (
        "kernel void k(device const float *a [[buffer(0)]], device int *out [[buffer(1)]])"
        " { out[0] = isnan(a[0]); out[1] = (as_type<uint>(a[0]) & 0x7fffffffu) > 0x7f800000u; }"
    )
    for fast_math, expected in [(False, [1, 1]), (True, [0, 1])]:
        out = np.zeros(2, np.int32)
        build(text, fast_math).run("k", np.array([np.nan], np.float32), out)
        assert out.tolist() == expected


def test_attributes_give_what_they_say(build):
    text = HEAD + (
        "kernel void k(device uint *out [[buffer(0)]], constant uint &n [[buffer(1)]],"
        " threadgroup uint *t [[threadgroup(0)]],"
        " uint3 g [[thread_position_in_grid]],"
        " ushort3 p [[threads_per_grid]], uint lane [[thread_index_in_simdgroup]],"
        " uint width [[threads_per_simdgroup]])\n"
        "{ out[0] = g.x; out[1] = g.y; out[2] = g.z; out[3] = p.x; out[4] = lane;"
        " out[5] = width; out[6] = n; out[7] = t == (threadgroup uint *)0; }"
    )
    out, n = np.zeros(8, np.uint32), np.array([77], np.uint32)
    library = build(text)
    library.run("k", out, n, threads=3)
    assert out.tolist() == [2, 3, 4, 3, 2, 32, 77, 0]
    kernel = library.kernels["k"]
    arguments = [kernel.arguments[i] for i in range(kernel.argument_count)]
    assert [a.kind for a in arguments] == [0, 0, 1, 2, 7, 9, 11]
    assert [a.index for a in arguments][:3] == [0, 1, 0]
    assert [a.is_const for a in arguments][:3] == [0, 1, 0]
    assert [a.space for a in arguments][:3] == [1, 2, 3]


def test_threadgroup_variables_are_numbered_in_each_kernel(build):
    kernel = (
        "kernel void {}(device uint *out [[buffer(0)]]) {{\n"
        "threadgroup uint t[3][2], u; threadgroup half h;\n"
        "t[2][1] = 1; u = 2; h = 3; out[0] = t[2][1] + u + uint(h); }}\n"
    )
    library = build(HEAD + kernel.format("p") + kernel.format("q"))
    out = np.zeros(1, np.uint32)
    library.run("q", out)
    assert out[0] == 6
    assert {n: len(v) for n, v in library.engine.variables.items()} == {
        0: 24,
        1: 4,
        2: 2,
    }


# -- The library, function by function: kernels of three inputs and one output

FLOATS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -2.5, 2.5, 0.3, 7.25, -3.7, 12.0, 1e-3]
UNIT = [0.0, 1.0, -1.0, 0.5, -0.25, 0.9, -0.99, 1e-3]
POSITIVE = [0.25, 1.0, 1.5, 2.0, 9.0, 0.1, 100.0, 1e-3]
ABOVE_ONE = [1.0, 1.5, 2.0, 9.0, 100.0]

with np.errstate(all="ignore"):
    FLOAT_1 = {
        "acos": (np.arccos, UNIT),
        "acosh": (np.arccosh, ABOVE_ONE),
        "asin": (np.arcsin, UNIT),
        "asinh": (np.arcsinh, FLOATS),
        "atan": (np.arctan, FLOATS),
        "atanh": (np.arctanh, UNIT[3:]),
        "abs": (np.abs, FLOATS),
        "fabs": (np.abs, FLOATS),
        "ceil": (np.ceil, FLOATS),
        "cos": (np.cos, FLOATS),
        "cosh": (np.cosh, [*UNIT, 5.0, -5.0]),
        "cospi": (
            lambda x: np.array([_exact_cospi(v) for v in x]),
            [*FLOATS, 100.5, 3.25],
        ),
        "exp": (np.exp, [*UNIT, 5.0, -5.0]),
        "exp2": (np.exp2, FLOATS),
        "exp10": (lambda x: 10.0**x, UNIT),
        "floor": (np.floor, FLOATS),
        "fract": (lambda x: x - np.floor(x), FLOATS),
        "log": (np.log, POSITIVE),
        "log2": (np.log2, POSITIVE),
        "log10": (np.log10, POSITIVE),
        "rint": (np.rint, FLOATS),
        "round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), FLOATS),
        "rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE),
        "saturate": (lambda x: np.clip(x, 0, 1), FLOATS),
        "sign": (np.sign, FLOATS),
        "sin": (np.sin, FLOATS),
        "sinh": (np.sinh, [*UNIT, 5.0, -5.0]),
        "sinpi": (
            lambda x: np.array([_exact_sinpi(v) for v in x]),
            [*FLOATS, 100.5, -3.25],
        ),
        "sqrt": (np.sqrt, POSITIVE),
        "tan": (np.tan, UNIT),
        "tanh": (np.tanh, FLOATS),
        "tanpi": (lambda x: np.tan(np.pi * x), [0.0, 0.25, -0.25, 0.125, 1.125]),
        "trunc": (np.trunc, FLOATS),
    }

PAIRS = [(a, b) for a in (0.5, -1.5, 2.0, 7.25, -0.0) for b in (1.0, -2.0, 0.75, 3.5)]
GROWING = [(abs(a), b) for a, b in PAIRS if a]
TRIPLES = [(a, b, c) for a, b in PAIRS for c in (0.0, 0.5, 4.0)]
BOUNDED = [
    (x, low, low + d) for x in FLOATS for low in (-1.0, 0.25) for d in (0.5, 3.0)
]

FLOAT_2 = {
    "atan2": (np.arctan2, PAIRS),
    "copysign": (np.copysign, PAIRS),
    "fdim": (lambda a, b: np.maximum(a - b, 0), PAIRS),
    "fmax": (np.fmax, [*PAIRS, (math.nan, 1.0), (1.0, math.nan)]),
    "fmin": (np.fmin, [*PAIRS, (math.nan, 1.0), (1.0, math.nan)]),
    "max": (np.fmax, PAIRS),
    "min": (np.fmin, PAIRS),
    "fmod": (np.fmod, PAIRS),
    "pow": (np.power, GROWING),
    "powr": (np.power, GROWING),
    "step": (lambda edge, x: np.where(x < edge, 0.0, 1.0), PAIRS),
}
FLOAT_3 = {
    "clamp": (np.clip, BOUNDED),
    "fma": (lambda a, b, c: a * b + c, TRIPLES),
    "mix": (lambda x, y, a: x + (y - x) * a, TRIPLES),
    "fmin3": (lambda a, b, c: np.minimum(np.minimum(a, b), c), TRIPLES),
    "fmax3": (lambda a, b, c: np.maximum(np.maximum(a, b), c), TRIPLES),
    "fmedian3": (lambda *abc: np.median(np.array(abc), axis=0), TRIPLES),
    "median3": (lambda *abc: np.median(np.array(abc), axis=0), TRIPLES),
    "smoothstep": (
        lambda low, high, x: _smooth(np.clip((x - low) / (high - low), 0, 1)),
        [(low, low + 2, x) for low in (-1.0, 0.25) for x in FLOATS],
    ),
}


def _smooth(t):
    return t * t * (3 - 2 * t)


def _exact_sinpi(x):
    r = math.fmod(x, 2.0)
    return 0.0 if r in (-1.0, 0.0, 1.0) else math.sin(math.pi * r)


def _exact_cospi(x):
    r = abs(math.fmod(x, 2.0))
    return 0.0 if r in (0.5, 1.5) else math.cos(math.pi * r)


FLOAT_CASES = {
    f"{name}_{arity}": (name, arity, reference, np.array(values, np.float64))
    for arity, table in ((1, FLOAT_1), (2, FLOAT_2), (3, FLOAT_3))
    for name, (reference, values) in table.items()
}
PRECISE = {"abs", "median3", "sign", "fmin3", "fmax3", "fmedian3"}  # not in precise::


def kernel_of(name, result, types, expression, setup=""):
    """A kernel that computes one element from one of each input."""
    inputs = "".join(
        f"device const {t} *p{i} [[buffer({i})]], " for i, t in enumerate(types)
    )
    locals_ = " ".join(f"{t} {'abcd'[i]} = p{i}[i];" for i, t in enumerate(types))
    return (
        f"kernel void {name}({inputs}device {result} *out [[buffer({len(types)})]],"
        f" uint i [[thread_position_in_grid]])\n"
        f"{{ {locals_} {setup} out[i] = {expression}; }}\n"
    )


def float_program():
    kernels = []
    for key, (name, arity, *_) in FLOAT_CASES.items():
        arguments = ", ".join("abc"[:arity])
        for t in ("float", "half"):
            kernels.append(
                kernel_of(f"{key}_{t}", t, [t] * arity, f"{name}({arguments})")
            )
        vectors = ", ".join(f"float3({x}, 1, {x})" for x in "abc"[:arity])
        kernels.append(
            kernel_of(
                f"{key}_vector", "float", ["float"] * arity, f"{name}({vectors}).z"
            )
        )
        if name not in PRECISE:
            expression = f"precise::{name}({arguments}) - fast::{name}({arguments})"
            kernels.append(
                kernel_of(f"{key}_precise", "float", ["float"] * arity, expression)
            )
    return HEAD + "".join(kernels)


def evaluate(library, name, result, *inputs):
    out = np.zeros(len(inputs[0]), result)
    library.run(name, *inputs, out, threads=len(out))
    return out


@pytest.mark.parametrize("key", FLOAT_CASES)
def test_floating_point_function(key, build):
    name, arity, reference, values = FLOAT_CASES[key]
    library = build(float_program())
    columns = np.ascontiguousarray(values.reshape(len(values), arity).T)
    for kind, dtype, ulps in (("float", np.float32, 4), ("half", np.float16, 1)):
        inputs = [column.astype(dtype) for column in columns]
        expected = np.asarray(reference(*(x.astype(np.float64) for x in inputs)))
        expected = expected.astype(dtype)
        result = evaluate(library, f"{key}_{kind}", dtype, *inputs)
        tiny = np.finfo(dtype).tiny
        close = ulps * np.maximum(np.spacing(np.abs(expected)), tiny)
        same = (result == expected) | (np.isnan(result) & np.isnan(expected))
        assert (same | (np.abs(result - expected) <= close)).all(), (result, expected)
    inputs = [column.astype(np.float32) for column in columns]
    scalar = evaluate(library, f"{key}_float", np.float32, *inputs)
    vector = evaluate(library, f"{key}_vector", np.float32, *inputs)
    np.testing.assert_array_equal(scalar, vector)
    if name not in PRECISE:
        difference = evaluate(library, f"{key}_precise", np.float32, *inputs)
        finite = np.isfinite(scalar)
        assert (difference[finite] == 0).all()


# name: type of the result, types of the inputs, statements, expression, values, expected
OTHER_CASES = {
    "ldexp": (
        "float",
        ["float", "int"],
        "",
        "ldexp(a, b)",
        [(1.5, 3), (3.0, -1)],
        [12, 1.5],
    ),
    "ldexp_half": ("half", ["half", "int"], "", "ldexp(a, b)", [(1.5, 3)], [12]),
    "frexp": (
        "float",
        ["float"],
        "int e;",
        "frexp(a, e) + 100 * e",
        [(12.0,), (0.3,)],
        [400.75, np.float32(0.6) - 100],
    ),
    "frexp_vector": (
        "float",
        ["float"],
        "int2 e;",
        "frexp(float2(a, 3), e).y + 100 * e.x",
        [(12.0,)],
        [400.75],
    ),
    "modf": (
        "float",
        ["float"],
        "float w;",
        "modf(a, w) + 100 * w",
        [(-2.25,)],
        [-200.25],
    ),
    "modf_half": (
        "half",
        ["half"],
        "half w;",
        "modf(a, w) + 100 * w",
        [(2.25,)],
        [200.25],
    ),
    "sincos": (
        "float",
        ["float"],
        "float c;",
        "sincos(a, c) * 0 + c",
        [(0.0,)],
        [1.0],
    ),
    "ilogb": ("int", ["float"], "", "ilogb(a)", [(12.0,), (0.3,)], [3, -2]),
    "isnan": (
        "int",
        ["float"],
        "",
        "isnan(a)",
        [(math.nan,), (math.inf,), (1,)],
        [1, 0, 0],
    ),
    "isinf": (
        "int",
        ["float"],
        "",
        "isinf(a)",
        [(math.nan,), (-math.inf,), (1,)],
        [0, 1, 0],
    ),
    "isfinite": (
        "int",
        ["float"],
        "",
        "isfinite(a)",
        [(math.nan,), (math.inf,), (1,)],
        [0, 0, 1],
    ),
    "isnormal": (
        "int",
        ["float"],
        "",
        "isnormal(a)",
        [(0,), (1e-40,), (1,)],
        [0, 0, 1],
    ),
    "signbit": ("int", ["float"], "", "signbit(a)", [(-0.0,), (2,), (-3,)], [1, 0, 1]),
    "isnan_half": ("int", ["half"], "", "isnan(a)", [(math.nan,), (1,)], [1, 0]),
    "signbit_half": ("int", ["half"], "", "signbit(a)", [(-0.0,), (1,)], [1, 0]),
    "isnan_vector": (
        "int",
        ["float"],
        "",
        "any(isnan(float2(a, 1))) + 2 * all(isnan(float2(a, 1)))",
        [(math.nan,), (1,)],
        [1, 0],
    ),
    "nextafter": (
        "float",
        ["float", "float"],
        "",
        "nextafter(a, b)",
        [(1, 2), (1, 0), (0, -1)],
        [np.nextafter(np.float32(1), np.float32(x)) for x in (2, 0)]
        + [np.nextafter(np.float32(0), np.float32(-1))],
    ),
    "nextafter_half": (
        "half",
        ["half", "half"],
        "",
        "nextafter(a, b)",
        [(1, 2), (1, 0), (0, -1), (-1, -2)],
        [
            np.nextafter(np.float16(a), np.float16(b))
            for a, b in [(1, 2), (1, 0), (0, -1), (-1, -2)]
        ],
    ),
    "select": ("float", ["float"], "", "select(a, 2.0f, a < 1)", [(0,), (3,)], [2, 3]),
    "select_vector": (
        "float",
        ["float"],
        "float2 v = float2(a, 5);",
        "select(v, v * 10, v < 4).x + select(v, v * 10, v < 4).y",
        [(1,), (6,)],
        [15, 11],
    ),
    "dot": (
        "float",
        ["float"],
        "",
        "dot(float3(a, 1, 2), float3(3, 4, 5))",
        [(2,)],
        [20],
    ),
    "cross": (
        "float",
        ["float"],
        "",
        "cross(float3(a, 0, 0), float3(0, 2, 0)).z",
        [(3,)],
        [6],
    ),
    "length": ("float", ["float"], "", "length(float2(a, 4))", [(3,)], [5]),
    "distance": (
        "float",
        ["float"],
        "",
        "distance(float2(a, 4), float2(0))",
        [(3,)],
        [5],
    ),
    "normalize": ("float", ["float"], "", "normalize(float2(a, 4)).x", [(3,)], [0.6]),
    "as_type": ("uint", ["float"], "", "as_type<uint>(a)", [(1.0,)], [0x3F800000]),
    "as_type_vector": (
        "uint",
        ["half"],
        "",
        "as_type<uint>(half2(a, 1))",
        [(2.0,)],
        [0x3C004000],
    ),
    "constructor_of_parts": (
        "float",
        ["float"],
        "float4 v = float4(a, float2(2, 3), 4); int4 w = int4(v); uint2 u = uint2(w.zw);",
        "v.x + 10 * v.w + 100 * w.y + 1000 * u.x",
        [(1.5,)],
        [1.5 + 40 + 200 + 3000],
    ),
    "bool_vector": (
        "int",
        ["int"],
        "bool3 t = bool3(a > 1, true, false); t.y = !t.x; bool3 u = t || bool3(false);",
        "u.x + 2 * u.y + 4 * u.z + 8 * all(u == t) + 16 * float3(t).x",
        [(0,), (2,)],
        [2 + 8, 1 + 8 + 16],
    ),
    "bfloat": (
        "float",
        ["float"],
        "bfloat q = bfloat(a); q = q * q + 1.0bf;",
        "q",
        [(1.5,), (1.00390625,)],
        [3.25, 2.0],
    ),
    "half_literal": (
        "float",
        ["float"],
        "",
        "a + 0.1h",
        [(0,)],
        [np.float32(np.float16(0.1))],
    ),
    "half_sum": ("half", ["half", "half"], "", "a + b", [(2048, 1), (1, 2)], [2048, 3]),
    "limits": (
        "int",
        ["int"],
        "",
        "numeric_limits<int>::max() == INT_MAX && numeric_limits<short>::min() == -32768"
        " && numeric_limits<ulong>::max() == ~0ul && numeric_limits<uchar>::digits == 8"
        " && numeric_limits<float>::max() == FLT_MAX && numeric_limits<half>::max() == 65504"
        " && numeric_limits<float>::epsilon() == 0x1p-23f && isinf(numeric_limits<float>::infinity())"
        " && numeric_limits<half>::epsilon() == 0x1p-10h && isnan(numeric_limits<float>::quiet_NaN())"
        " && numeric_limits<float>::lowest() == -FLT_MAX && numeric_limits<long>::min() == LONG_MIN"
        " && numeric_limits<char>::lowest() == -128 && numeric_limits<bfloat>::epsilon() == 0x1p-7",
        [(0,)],
        [1],
    ),
    "mul24": (
        "int",
        ["int", "int"],
        "",
        "mul24(a, b)",
        [(-5, 7), (1 << 24, 3)],
        [-35, 0],
    ),
    "mad24": ("uint", ["uint", "uint"], "", "mad24(a, b, 2u)", [(5, 7)], [37]),
    "table": ("float", ["int"], "", "table[a]", [(0,), (2,)], [1.5, 3.5]),
    "unsuffixed": ("int", ["int"], "", "sizeof(1.0) == 4 && 0.1 == 0.1f", [(0,)], [1]),
    "shift_of_long": ("long", ["long"], "", "a << 40", [(3,)], [3 << 40]),
}
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
OTHER_PROGRAM = (
    HEAD
    + "constant float table[] = {1.5, 2.5, 3.5};\n"
    + "".join(
        kernel_of(f"k_{name}", result, types, expression, setup)
        for name, (result, types, setup, expression, *_) in OTHER_CASES.items()
    )
)


@pytest.mark.parametrize("name", OTHER_CASES)
def test_other_function(name, build):
    result, types, _, _, values, expected = OTHER_CASES[name]
    inputs = [
        np.array(column, NUMPY_TYPES[t]) for column, t in zip(zip(*values), types)
    ]
    out = evaluate(build(OTHER_PROGRAM), f"k_{name}", NUMPY_TYPES[result], *inputs)
    if np.issubdtype(out.dtype, np.floating):
        np.testing.assert_allclose(
            out, np.array(expected, out.dtype), rtol=2e-7, atol=0
        )
    else:
        assert out.tolist() == expected


def test_conversions_of_half_and_bfloat(build):
    text = HEAD + (
        "kernel void k(device const float *a [[buffer(0)]], device half *h [[buffer(1)]],"
        " device float *f [[buffer(2)]], device ushort *b [[buffer(3)]],"
        " uint i [[thread_position_in_grid]])\n"
        "{ h[i] = half(a[i]); f[i] = float(h[i]); b[i] = as_type<ushort>(bfloat(a[i])); }"
    )
    bits = np.arange(0, 2**32, 7919 * 97, np.uint32)
    edges = np.array([65519.9, 65520, 2**-14, 2**-25, 2**-24 * 1.5, -0.0], np.float32)
    a = np.concatenate([bits.view(np.float32), edges, np.float32([math.inf])])
    a = a[~np.isnan(a)]
    a = a[(np.abs(a) >= np.finfo(np.float32).tiny) | (a == 0)]
    h, f = np.zeros(len(a), np.float16), np.zeros(len(a), np.float32)
    b = np.zeros(len(a), np.uint16)
    build(text).run("k", a, h, f, b, threads=len(a))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            h.view(np.uint16), a.astype(np.float16).view(np.uint16)
        )
    np.testing.assert_array_equal(f, h.astype(np.float32))
    wide = a.view(np.uint32).astype(np.uint64)
    np.testing.assert_array_equal(b, (wide + 0x7FFF + (wide >> 16 & 1)) >> 16)


# -- Integers: each function for each type, against whole numbers of Python


def wrapped(value, dtype):
    bits = 8 * np.dtype(dtype).itemsize
    value &= (1 << bits) - 1
    if np.issubdtype(dtype, np.signedinteger) and value >> (bits - 1):
        value -= 1 << bits
    return value


def held(value, dtype):
    info = np.iinfo(dtype)
    return min(max(value, int(info.min)), int(info.max))


def width(dtype):
    return 8 * np.dtype(dtype).itemsize


def bits_of(value, dtype):
    return value & ((1 << width(dtype)) - 1)


def extracted(a, dtype):
    field = bits_of(a, dtype) >> 2 & 0b11111
    signed = np.issubdtype(dtype, np.signedinteger)
    return field - 32 if signed and field & 16 else field


INTEGER_1 = {
    "abs": lambda a, t: wrapped(abs(a), t),
    "clz": lambda a, t: width(t) - bits_of(a, t).bit_length(),
    "ctz": lambda a, t: (
        width(t) if a == 0 else (bits_of(a, t) & -bits_of(a, t)).bit_length() - 1
    ),
    "popcount": lambda a, t: bits_of(a, t).bit_count(),
    "reverse_bits": lambda a, t: wrapped(
        int(f"{bits_of(a, t):0{width(t)}b}"[::-1], 2), t
    ),
}
INTEGER_2 = {
    "addsat": lambda a, b, t: held(a + b, t),
    "subsat": lambda a, b, t: held(a - b, t),
    "hadd": lambda a, b, t: (a + b) >> 1,
    "rhadd": lambda a, b, t: (a + b + 1) >> 1,
    "max": lambda a, b, t: max(a, b),
    "min": lambda a, b, t: min(a, b),
    "mulhi": lambda a, b, t: (a * b) >> width(t),
    "rotate": lambda a, b, t: wrapped(
        bits_of(a, t) << (b % width(t)) | bits_of(a, t) >> (width(t) - b % width(t)), t
    ),
}
INTEGER_3 = {
    "clamp": lambda a, b, c, t: max(min(a, max(b, c)), min(b, c)),
    "madhi": lambda a, b, c, t: wrapped(((a * b) >> width(t)) + c, t),
    "madsat": lambda a, b, c, t: held(a * b + c, t),
    "min3": lambda a, b, c, t: min(a, b, c),
    "max3": lambda a, b, c, t: max(a, b, c),
    "median3": lambda a, b, c, t: sorted((a, b, c))[1],
}
INTEGER_TYPES = ["char", "short", "int", "long", "uchar", "ushort", "uint", "ulong"]


def integer_program():
    kernels = []
    for t in INTEGER_TYPES:
        for name in INTEGER_1:
            kernels.append(kernel_of(f"{name}_{t}", t, [t], f"{name}(a)"))
        for name in INTEGER_2:
            kernels.append(kernel_of(f"{name}_{t}", t, [t, t], f"{name}(a, b)"))
        for name in INTEGER_3:
            arguments = "a, min(b, c), max(b, c)" if name == "clamp" else "a, b, c"
            kernels.append(
                kernel_of(f"{name}_{t}", t, [t, t, t], f"{name}({arguments})")
            )
        kernels.append(kernel_of(f"extract_{t}", t, [t], "extract_bits(a, 2u, 5u)"))
        kernels.append(kernel_of(f"insert_{t}", t, [t, t], "insert_bits(a, b, 2u, 5u)"))
        unsigned = "u" + t.removeprefix("u")
        kernels.append(kernel_of(f"absdiff_{t}", unsigned, [t, t], "absdiff(a, b)"))
        vector = f"max(min({t}2(a, 1), {t}2(b, 2)), {t}2(0, 1)).y + popcount({t}3(a)).z"
        kernels.append(kernel_of(f"vector_{t}", t, [t, t], vector))
    return HEAD + "".join(kernels)


@pytest.mark.parametrize("t", INTEGER_TYPES)
def test_integer_functions(t, build):
    library = build(integer_program())
    dtype = NUMPY_TYPES[t]
    info = np.iinfo(dtype)
    values = {0, 1, 2, 3, 5, 100, info.max, info.max - 1, info.max // 2, info.min}
    if info.min < 0:
        values |= {-1, -2, -7, info.min + 1}
    values = sorted(int(v) for v in values)
    pairs = [(a, b) for a in values for b in values]
    triples = [(a, b, c) for a, b in pairs for c in values]

    def compare(name, rows, expected, result=dtype):
        inputs = [np.array(column, dtype) for column in zip(*rows)]
        out = evaluate(library, f"{name}_{t}", result, *inputs)
        assert out.tolist() == [expected(*row) for row in rows], name

    def compare_all(table, rows):
        for name, expected in table.items():
            compare(name, rows, lambda *row, f=expected: wrapped(f(*row, dtype), dtype))

    singles = [(a,) for a in values]
    compare_all(INTEGER_1, singles)
    compare_all(INTEGER_2, pairs)
    compare_all(INTEGER_3, triples)
    compare("extract", singles, lambda a: extracted(a, dtype))
    compare(
        "insert",
        pairs,
        lambda a, b: wrapped(bits_of(a, dtype) & ~0b1111100 | (b & 31) << 2, dtype),
    )
    unsigned = NUMPY_TYPES["u" + t.removeprefix("u")]
    compare("absdiff", pairs, lambda a, b: abs(a - b), unsigned)
    compare("vector", pairs, lambda a, b: 1 + bits_of(a, dtype).bit_count())


# -- Atomics

ATOMIC_OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
}
RELAXED = "memory_order_relaxed"


def atomic_program():
    kernels = [HEAD]
    for t in ("int", "uint", "float"):
        names = ["exchange_explicit"] + [
            f"fetch_{name}_explicit"
            for name in ATOMIC_OPERATIONS
            if t != "float" or name in {"add", "sub"}
        ]
        for name in names:
            for space in ("device", "threadgroup"):
                kernels.append(
                    f"kernel void {name}_{t}_{space}(device atomic<{t}> *a [[buffer(0)]],"
                    f" device {t} *out [[buffer(1)]])\n{{\n"
                    f"    threadgroup atomic<{t}> local;\n"
                    f"    {t} start = atomic_load_explicit(a, {RELAXED});\n"
                    f"    atomic_store_explicit(&local, start, {RELAXED});\n"
                    f"    {space} atomic<{t}> *at = {'a' if space == 'device' else '&local'};\n"
                    f"    out[0] = atomic_{name}(at, out[0], {RELAXED});\n"
                    f"    out[1] = atomic_load_explicit(at, {RELAXED});\n}}\n"
                )
    for t in ("int", "float"):
        kernels.append(
            f"kernel void exchange_{t}(device atomic<{t}> *a [[buffer(0)]],"
            f" device {t} *expected [[buffer(1)]], device int *success [[buffer(2)]])\n{{\n"
            f"    {t} old = expected[0];\n"
            f"    success[0] = atomic_compare_exchange_weak_explicit(a, &old, {t}(7),"
            f" {RELAXED}, {RELAXED});\n    expected[0] = old;\n}}\n"
        )
    kernels.append(
        "kernel void extremes(device atomic<ulong> *a [[buffer(0)]],"
        " device ulong *b [[buffer(1)]])\n{\n"
        f"    atomic_max_explicit(&a[0], b[0], {RELAXED});\n"
        f"    atomic_min_explicit(&a[1], b[0], {RELAXED});\n}}\n"
        "kernel void flag(device atomic_bool *a [[buffer(0)]], device int *b [[buffer(1)]])\n"
        f"{{\n    b[0] = atomic_exchange_explicit(a, true, {RELAXED});\n}}\n"
    )
    return "".join(kernels)


@pytest.mark.parametrize("space", ["device", "threadgroup"])
@pytest.mark.parametrize("t", ["int", "uint", "float"])
def test_atomic_functions(t, space, build):
    library = build(atomic_program())
    dtype = NUMPY_TYPES[t]
    operations = {f"fetch_{n}": f for n, f in ATOMIC_OPERATIONS.items()}
    operations["exchange"] = lambda a, b: b
    for name, operation in operations.items():
        if t == "float" and name not in {"fetch_add", "fetch_sub", "exchange"}:
            continue
        for a, b in [(12, 10), (5, 3), (7, 7)]:
            memory, out = np.array([a], dtype), np.array([b, 0], dtype)
            library.run(f"{name}_explicit_{t}_{space}", memory, out)
            assert out.tolist() == [a, operation(a, b)]
            assert memory[0] == (out[1] if space == "device" else a)
    assert library.engine.atomics > 0


# memory, expected -> memory, expected, success: that of floats is a comparison of floats
FLOAT_EXCHANGES = [
    ((1.0, 1.0), (7.0, 1.0, 1)),
    ((1.0, 2.0), (1.0, 1.0, 0)),
    ((0.0, -0.0), (0.0, 0.0, 1)),  # reported, not done
    ((math.nan, 1.0), (math.nan, math.nan, 0)),
    ((math.nan, math.nan), (7.0, math.nan, 0)),  # done, not reported
]


@pytest.mark.parametrize(("before", "after"), FLOAT_EXCHANGES)
def test_compare_exchange_of_floats(before, after, build):
    memory, expected = (np.array([x], np.float32) for x in before)
    success = np.array([9], np.int32)
    build(atomic_program()).run("exchange_float", memory, expected, success)
    np.testing.assert_array_equal([memory[0], expected[0], success[0]], after)
    assert np.signbit(memory[0]) == np.signbit(np.float32(after[0]))


@pytest.mark.parametrize(
    ("before", "after"), [((1, 1), (7, 1, 1)), ((1, 2), (1, 1, 0))]
)
def test_compare_exchange_of_integers(before, after, build):
    memory, expected = (np.array([x], np.int32) for x in before)
    success = np.array([9], np.int32)
    build(atomic_program()).run("exchange_int", memory, expected, success)
    assert (memory[0], expected[0], success[0]) == after


def test_other_atomics(build):
    library = build(atomic_program())
    memory, value = np.array([3, 3], np.uint64), np.array([2**40], np.uint64)
    library.run("extremes", memory, value)
    assert memory.tolist() == [2**40, 3]
    flag, old = np.zeros(1, np.uint8), np.array([9], np.int32)
    library.run("flag", flag, old)
    assert (flag[0], old[0]) == (1, 0)


def test_an_atomic_access_is_no_plain_one(build):
    text = HEAD + (
        "kernel void k(device atomic_int *a [[buffer(0)]], device int *b [[buffer(1)]])"
        f" {{ atomic_store_explicit(a, atomic_load_explicit(a, {RELAXED}) + b[0], {RELAXED}); }}"
    )
    library = build(text, instrumented=True)
    memory, value = np.array([3], np.int32), np.array([4], np.int32)
    library.run("k", memory, value)
    assert memory[0] == 7
    assert library.engine.atomics == 2
    assert library.engine.accesses == [(value.ctypes.data, 4, 0)]


# -- SIMD-groups

SIMD_CASES = {
    "simd_sum(a)": lambda a: np.full(LANES, a.sum()),
    "simd_max(a)": lambda a: np.full(LANES, a.max()),
    "simd_min(a)": lambda a: np.full(LANES, a.min()),
    "simd_product(select(1, a, i == 5))": lambda a: np.full(LANES, a[5]),
    "simd_and(a | 1)": lambda a: np.full(LANES, np.bitwise_and.reduce(a | 1)),
    "simd_or(a)": lambda a: np.full(LANES, np.bitwise_or.reduce(a)),
    "simd_xor(a)": lambda a: np.full(LANES, np.bitwise_xor.reduce(a)),
    "simd_prefix_inclusive_sum(a)": np.cumsum,
    "simd_prefix_exclusive_sum(a)": lambda a: np.cumsum(a) - a,
    "simd_prefix_inclusive_product(1 + a % 2)": lambda a: np.cumprod(1 + np.fmod(a, 2)),
    "simd_prefix_exclusive_product(i == 3 ? 4 : 1)": lambda a: np.where(
        np.arange(LANES) > 3, 4, 1
    ),
    "simd_shuffle(a, ushort(31 - i))": lambda a: a[::-1],
    "simd_shuffle_up(a, 3)": lambda a: np.concatenate([a[:3], a[:-3]]),
    "simd_shuffle_down(a, 3)": lambda a: np.concatenate([a[3:], a[-3:]]),
    "simd_shuffle_xor(a, 5)": lambda a: a[np.arange(LANES) ^ 5],
    "simd_shuffle_rotate_up(a, 5)": lambda a: np.roll(a, 5),
    "simd_shuffle_rotate_down(a, 5)": lambda a: np.roll(a, -5),
    "simd_broadcast(a, 7)": lambda a: np.full(LANES, a[7]),
    "simd_broadcast_first(a)": lambda a: np.full(LANES, a[0]),
    "simd_is_first()": lambda a: np.arange(LANES) == 0,
    "simd_all(a > 0)": lambda a: np.full(LANES, (a > 0).all()),
    "simd_all(a < 1000)": lambda a: np.full(LANES, True),
    "simd_any(a == 17)": lambda a: np.full(LANES, (a == 17).any()),
    "int(ulong(simd_ballot(i % 3 == 0)) >> 1)": lambda a: np.full(
        LANES, sum(1 << n for n in range(0, LANES, 3)) >> 1
    ),
    "ulong(simd_active_threads_mask()) == 0xfffffffful": lambda a: np.full(LANES, True),
    "simd_sum(int2(a, 1)).y": lambda a: np.full(LANES, LANES),
    "int(simd_sum(half(i)))": lambda a: np.full(LANES, 496),
}


@pytest.fixture(scope="module")
def simd_library(build):
    kernels = [
        f"kernel void k{n}(device const int *p [[buffer(0)]], device int *out [[buffer(1)]],"
        " uint i [[thread_index_in_simdgroup]])\n"
        f"{{ int a = p[i]; out[i] = {expression}; }}\n"
        for n, expression in enumerate(SIMD_CASES)
    ]
    for t in ("float", "half"):
        kernels.append(
            f"kernel void matrix_{t}(device const {t} *p [[buffer(0)]],"
            f" device const {t} *q [[buffer(1)]], device {t} *out [[buffer(2)]])\n{{\n"
            f"    simdgroup_matrix<{t}, 8, 8> a, b, c = make_filled_simdgroup_matrix<{t}, 8, 8>(1);\n"
            "    threadgroup float local[64];\n"
            "    simdgroup_load(a, p, 16, ulong2(4, 1));\n"
            "    simdgroup_load(b, q, 8, ulong2(0, 0), true);\n"
            "    simdgroup_multiply_accumulate(c, a, b, c);\n"
            "    simdgroup_store(c, out, 8);\n}\n"
        )
    return build(HEAD + "".join(kernels))


@pytest.mark.parametrize("expression", SIMD_CASES)
def test_simd_function(expression, simd_library):
    values = np.array([(7 * i * i + 3) % 101 - 20 for i in range(LANES)], np.int32)
    out = np.zeros(LANES, np.int32)
    name = f"k{list(SIMD_CASES).index(expression)}"
    simd_library.run(name, values, out, threads=LANES, together=True)
    expected = np.asarray(SIMD_CASES[expression](values)).astype(np.int32)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("t", ["float", "half"])
def test_simdgroup_matrices(t, simd_library):
    dtype = NUMPY_TYPES[t]
    p = (np.arange(16 * 16) % 7 - 3).astype(dtype).reshape(16, 16)
    q = (np.arange(64) % 5 - 2).astype(dtype).reshape(8, 8)
    out = np.zeros((8, 8), dtype)
    simd_library.run(f"matrix_{t}", p, q, out, threads=LANES, together=True)
    np.testing.assert_array_equal(out, p[1:9, 4:12] @ q.T + 1)


# -- The arithmetic that kernels are made of

OPS = (ROOT / "csrc" / "ops.def").read_text()
ROW = re.compile(
    r'^OP\((\w+),\s*(\d), (\d), (\w+),\s*(\w+),\s*[^,]+,\s*(.*?),\s*"', re.MULTILINE
)
KINDS = {
    "bool": ["bool"],
    "integer": INTEGER_TYPES,
    "real_floating": ["float", "half"],
    "complex": ["float2"],
}
KINDS["floating"] = KINDS["real_floating"] + KINDS["complex"]
KINDS["real"] = KINDS["integer"] + KINDS["real_floating"]
KINDS["numeric"] = KINDS["integer"] + KINDS["floating"]
KINDS["any"] = KINDS["bool"] + KINDS["numeric"]
KINDS["real_or_bool"] = KINDS["bool"] + KINDS["real"]
KINDS["integer_or_bool"] = KINDS["bool"] + KINDS["integer"]
KINDS["scaled"] = KINDS["real_floating"]
KINDS["double"] = []


def word_program():
    """A kernel for each operation and each of its types."""
    kernels = []
    for name, inputs, outputs, types, result, expression in ROW.findall(OPS):
        for t in KINDS[types]:
            second = "int" if types == "scaled" else t
            given = {"truth": "bool", "count": "uchar"}.get(result, t)
            if result == "magnitude" and t == "float2":
                given = "float"
            other = {"same_int": "int"}.get(result, t)
            setup = f"{other} c;" if outputs == "2" else ""
            types_in = [t, second][: int(inputs)]
            kernels.append(kernel_of(f"{name}_{t}", given, types_in, expression, setup))
    return SCALAR + "\n" + "".join(kernels), len(kernels)


def test_scalar_arithmetic_compiles_for_every_type():
    text, count = word_program()
    assert count > 500
    assert len(checker().check(text)) == count


def test_scalar_arithmetic_has_no_lint():
    assert lint.lint_text(word_program()[0]) == []


def test_scalar_arithmetic_agrees_with_numpy(build):
    library = build(word_program()[0])
    a = np.array([3.5, -2.25, 7.0, 0.5], np.float32)
    b = np.array([2.0, 1.5, -3.0, 0.25], np.float32)
    for name in ("add", "subtract", "multiply", "divide", "remainder", "hypot", "fmod"):
        result = evaluate(library, f"{name}_float", np.float32, a, b)
        np.testing.assert_allclose(result, getattr(np, name)(a, b), rtol=3e-7)
    for name in ("exp", "cbrt", "log1p", "expm1", "sqrt", "tanh", "arcsinh"):
        x = np.abs(a)
        result = evaluate(library, f"{name}_float", np.float32, x)
        np.testing.assert_allclose(result, getattr(np, name)(x), rtol=1e-6)
    z, w = (a + 1j * b).astype(np.complex64), (b - 0.5j * a).astype(np.complex64)
    for name in ("multiply", "divide", "power"):
        result = evaluate(library, f"{name}_float2", np.complex64, z, w)
        np.testing.assert_allclose(result, getattr(np, name)(z, w), rtol=2e-5)
    i, j = np.array([-7, 12, -128], np.int8), np.array([3, -5, 6], np.int8)
    for name in ("floor_divide", "remainder", "gcd", "lcm", "power", "left_shift"):
        result = evaluate(library, f"{name}_char", np.int8, i, np.abs(j))
        assert result.tolist() == getattr(np, name)(i, np.abs(j)).tolist(), name
