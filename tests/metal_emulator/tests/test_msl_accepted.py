"""Test MSL programs that the Metal emulator's compiler must accept."""

from __future__ import annotations

import pytest
from support.msl import HEAD, diagnostics, framed, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]

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
    "whole struct from constant": ("", "S t = s; b[0] = t.a;"),
    "whole struct within device": ("", "device S *d = (device S *)b; d[0] = d[1];"),
    "whole struct in threadgroup": ("", "threadgroup S t; t = s; S u = t; b[0] = u.a;"),
    "names with two underscores": (
        "struct __Add { int __a; };\n#define __TWICE__(__x) ((__x) + (__x))",
        "__Add a = {1}; b[0] = __TWICE__(a.__a);",
    ),
    "kernel declared before its definition": (
        "template <typename T> kernel void q(device T *b, uint i);\n"
        "template <typename T> kernel void q(device T *b [[buffer(0)]],"
        " uint i [[thread_position_in_grid]]) { b[i] = 1; }\n"
        'template [[host_name("q")]] kernel void q<int>(device int *, uint);',
        "",
    ),
    "vectors of a template parameter": (
        "template <typename T> T f(float x, float y) { return T(x, y); }",
        "b[0] = f<float2>(b[1], b[2]).y;",
    ),
    "noexcept": ("int f() noexcept { return 1; }", "b[0] = f();"),
    "kernel in a macro": (
        "#define K(n) kernel void n(device float *b [[buffer(0)]]) {}\nK(q) K(r)",
        "",
    ),
    "half to bfloat": ("", "b[0] = float(static_cast<bfloat>(half(b[1])));"),
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
    "bfloat to float": ("", "bfloat q = bfloat(b[0]); b[0] = q; b[1] = q * 2.0f;"),
    "precise and fast": ("", "b[0] = precise::exp(b[0]) + fast::sin(b[1]);"),
    "min of integers of one type": ("", "b[0] = min(gid, 3u) + max(int(gid), 3);"),
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


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name):
    assert diagnostics(framed(*ACCEPTED[name])) == []


PROGRAMS = {
    "buffers without an attribute": """
kernel void k(constant uint &n, device float *b [[buffer(0)]], device const int *shape,
              uint i [[thread_position_in_grid]])
{
    b[i] = float(n) + float(shape[1]);
}
""",
    "address spaces wherever they may stand": """
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
""",
    "many features": """
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
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_accepted_program(name):
    assert diagnostics(HEAD + PROGRAMS[name]) == []
