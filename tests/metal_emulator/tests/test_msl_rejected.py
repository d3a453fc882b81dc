"""Test invalid MSL programs: the compiler's message and its line."""

from __future__ import annotations

import pytest
from support.msl import diagnostics, framed, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]

# name: program scope, body, part of a message; what is wrong is in the first line with
# its mark, if there is one, or else in the body
REJECTED = {
    "double variable": ("", "double d = 1; b[0] = d;", "'double' is not supported"),
    "long double literal": ("", "b[0] = 1.0L;", "'long double' is not supported"),
    "device to unqualified pointer": (
        "",
        "float *p = b; b[0] = p[0];",
        "'device float *' does not convert to 'float *'",
    ),
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
        "'device float *' does not convert to 'float *'",
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
        "'__builtin_sqrtf': this name is the compiler's",
    ),
    "builtin in a macro": (
        "#define ROOT(x) __builtin_sqrtf(x)  // here",
        "b[0] = ROOT(2);",
        "'__builtin_sqrtf': this name is the compiler's",
    ),
    "attribute of the compiler": (
        "__attribute__((noinline)) void f() {}  // here",
        "",
        "'__attribute__': this name is the compiler's",
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
    "float to bfloat": ("", "bfloat q = 1.0f; b[0] = float(q);", "'float' to 'bfloat'"),
    "float to bfloat by assignment": (
        "",
        "bfloat q; q = b[0]; b[0] = float(q);",
        "no implicit conversion from 'float' to 'bfloat'",
    ),
    "choice to bfloat": (
        "",
        "bfloat q = bfloat(1.0f); q = b[0] > 0 ? q : 2.0f; b[0] = float(q);",
        "no implicit conversion from 'float' to 'bfloat'",
    ),
    "bool returned as bfloat": (
        "bfloat f(bool x) { return x; }  // here",
        "b[0] = float(f(true));",
        "no implicit conversion from 'bool' to 'bfloat'",
    ),
    "bfloat to half": (
        "",
        "bfloat q = bfloat(1.0f); half h = q; b[0] = float(h);",
        "cannot initialize",
    ),
    "bfloat to int": (
        "",
        "bfloat q = bfloat(1.0f); int i = q; b[0] = float(i);",
        "no implicit conversion from 'bfloat' to 'int'",
    ),
    "function of bfloat": (
        "",
        "bfloat q = bfloat(1.0f); b[0] = float(exp(q));",
        "call to deleted function 'exp'",
    ),
    "long long": ("", "long long x = 1; b[0] = x;", "'long long' is not supported"),
    "suffix of long long": ("", "b[0] = 1ull;", "no suffix 'ull'"),
    "suffix f16": ("", "half h = 1.0f16; b[0] = h;", "no suffix 'f16'"),
    "sum of floats in threadgroup memory": (
        "",
        "threadgroup atomic_float t;"
        " atomic_fetch_add_explicit(&t, 1.0f, memory_order_relaxed);",
        "no matching function",
    ),
    "fence before MSL 3.2": (
        "",
        "atomic_thread_fence(mem_flags::mem_device, memory_order_relaxed);",
        "undeclared identifier 'atomic_thread_fence'",
    ),
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
        "parameter 'g' has no attribute",
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
    "method of a constant object": (
        "",
        "b[0] = s.get();",
        "'get' takes no object in constant memory",
    ),
    "method of device objects of a thread object": (
        "struct T { float a; float get() const device { return a; } };",
        "T t = {1}; b[0] = t.get();",
        "'get' takes no object in thread memory",
    ),
    "method of thread objects of a device object": (
        "struct T { float a; float get() const thread { return a; } };",
        "device T *t = (device T *)b; b[0] = t->get();",
        "'get' takes no object in device memory",
    ),
    "reference to a device object": (
        "",
        "device S *d = (device S *)b; thread const S &r = d[1]; b[0] = r.a;",
        "'device S' does not convert to 'const S'",
    ),
    "device pointer among objects in device": (
        "",
        "device S *d = (device S *)b; d[0] = d[1];  thread float *p = b; b[0] = *p;",
        "'device float *' does not convert to 'float *'",
    ),
    "missing semicolon": ("", "b[0] = 1", "expected ';'"),
    "unbalanced parenthesis": ("", "b[0] = (1;", "expected ')'"),
    "min of short and int": ("", "b[0] = min(short(gid), 1);", "ambiguous"),
}


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


def test_a_program_includes_the_library():
    found = diagnostics("using namespace metal;\n")
    assert found == [(1, "there is no #include <metal_stdlib> above")]


def test_features_of_later_standards():
    one = "template <auto n> inline int f() { return n; }  // here"
    assert any("C++17" in what for _, what in diagnostics(framed(one, "")))
    assert diagnostics(framed("", "if constexpr (sizeof(int) == 4) b[0] = 1;")) == []
