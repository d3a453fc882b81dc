/* language.cuh -- the Metal Shading Language in CUDA C++: its types and functions.
 *
 * Kernels include this file as <metal_stdlib>.  translate.c rewrites what a header cannot
 * express: address spaces, attributes, and the heads of kernels.  A build step makes a string
 * of this file, which NVRTC gets with each kernel.  NVRTC has no other headers.
 */
#pragma once

namespace metal
{
} /* translate.c drops its name where it qualifies another */

/* -- Scalars ------------------------------------------------------------------------------ */

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong; /* of 64 bits, as long */

#define MX_HAS_BFLOAT
#define MX_HAS_ATOMIC_ULONG
#define MX_HAS_ATOMIC_FLOATS
#define MX_HAS_MATCH
#define MX_UNROLL _Pragma("unroll")
#define METAL_FUNC inline

#define INFINITY     mx_bits_to_float(0x7f800000u)
#define NAN          mx_bits_to_float(0x7fc00000u)
#define MX_NAN64     mx_bits_to_double(0x7ff8000000000000ul)
#define MX_INFINITY64 mx_bits_to_double(0x7ff0000000000000ul)
#define FLT_MAX      3.40282347e38f
#define FLT_MIN      1.17549435e-38f
#define FLT_EPSILON  1.1920929e-7f
#define CHAR_MAX     127
#define CHAR_MIN     (-128)
#define UCHAR_MAX    255
#define SHRT_MAX     32767
#define SHRT_MIN     (-32768)
#define USHRT_MAX    65535
#define INT_MAX      2147483647
#define INT_MIN      (-2147483647 - 1)
#define UINT_MAX     4294967295u
#define LONG_MAX     9223372036854775807l
#define LONG_MIN     (-9223372036854775807l - 1)
#define ULONG_MAX    18446744073709551615ul
#define M_PI_F       3.14159265358979323846f
#define M_E_F        2.71828182845904523536f
#define M_LN2_F      0.69314718055994530942f
#define M_SQRT2_F    1.41421356237309504880f

/* Reinterprets the bits as another type of the same size. */
template <typename To, typename From> inline To as_type(From a)
{
    static_assert(sizeof(To) == sizeof(From), "as_type needs types of the same size");
    To result;
    memcpy(&result, &a, sizeof result);
    return result;
}

inline float mx_bits_to_float(uint bits) { return as_type<float>(bits); }
inline double mx_bits_to_double(ulong bits) { return as_type<double>(bits); }

/* The functions mx_native_... are those that are not C++.  The stand-in of the tests has its
 * own. */
#ifdef __CUDACC_RTC__
inline ushort mx_native_half(float a)
{
    ushort bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(a));
    return bits;
}
inline ushort mx_native_half(double a)
{
    ushort bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(a));
    return bits;
}
inline float mx_native_float(ushort half)
{
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(half));
    return result;
}
/* Precedes the name of a kernel.  Its threads have so few registers that n blocks of 256 threads
 * share a multiprocessor. */
#define MX_RESIDENT(n) __launch_bounds__(256, n)
inline void mx_native_pause() { asm volatile("nanosleep.u32 20;"); }
inline uint mx_native_lane()
{
    uint lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
inline void mx_native_add_half(void *at, ushort half)
{
    asm volatile("{ .reg .b16 old; atom.add.noftz.f16 old, [%0], %1; }"
                 :
                 : "l"(at), "h"(half)
                 : "memory");
}
#endif

/* Arithmetic of half and bfloat is that of float; results are rounded when they are stored. */
struct half {
    ushort bits;
    half() = default;
    half(float a) : bits(mx_native_half(a)) {}
    half(double a) : bits(mx_native_half(a)) {}
    template <typename T> half(T a) : bits(mx_native_half(float(a))) {}
    operator float() const { return mx_native_float(bits); }
};

inline ushort mx_bfloat_bits(float a)
{
    const uint bits = as_type<uint>(a);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return ushort(bits >> 16 | 0x40);
    return ushort((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

struct bfloat {
    ushort bits;
    bfloat() = default;
    bfloat(float a) : bits(mx_bfloat_bits(a)) {}
    template <typename T> bfloat(T a) : bits(mx_bfloat_bits(float(a))) {}
    operator float() const { return as_type<float>(uint(bits) << 16); }
};

/* -- Vectors ------------------------------------------------------------------------------ */

template <typename T> struct alignas(2 * sizeof(T)) mx_vector2 {
    T x, y;
    mx_vector2() = default;
    mx_vector2(T all) : x(all), y(all) {}
    mx_vector2(T a, T b) : x(a), y(b) {}
    template <typename U> explicit mx_vector2(mx_vector2<U> a) : x(T(a.x)), y(T(a.y)) {}
    T &operator[](uint i) { return i ? y : x; }
    T operator[](uint i) const { return i ? y : x; }
};

template <typename T> struct mx_vector3 {
    T x, y, z;
    mx_vector3() = default;
    mx_vector3(T all) : x(all), y(all), z(all) {}
    mx_vector3(T a, T b, T c) : x(a), y(b), z(c) {}
    template <typename U>
    explicit mx_vector3(mx_vector3<U> a) : x(T(a.x)), y(T(a.y)), z(T(a.z))
    {
    }
    T &operator[](uint i) { return i == 0 ? x : i == 1 ? y : z; }
    T operator[](uint i) const { return i == 0 ? x : i == 1 ? y : z; }
};

template <typename T> struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) mx_vector4 {
    T x, y, z, w;
    mx_vector4() = default;
    mx_vector4(T all) : x(all), y(all), z(all), w(all) {}
    mx_vector4(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
    template <typename U>
    explicit mx_vector4(mx_vector4<U> a) : x(T(a.x)), y(T(a.y)), z(T(a.z)), w(T(a.w))
    {
    }
    T &operator[](uint i) { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
    T operator[](uint i) const { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
};

template <typename T> struct mx_same { /* an argument from which no type is deduced */
    typedef T type;
};

#define MX_VECTOR_OPERATORS(V, sign)                                                        \
    template <typename T> inline V<T> operator sign(V<T> a, V<T> b)                         \
    {                                                                                       \
        return mx_by_parts(a, b, [](T p, T q) { return T(p sign q); });                     \
    }                                                                                       \
    template <typename T> inline V<T> operator sign(V<T> a, typename mx_same<T>::type b)    \
    {                                                                                       \
        return a sign V<T>(b);                                                              \
    }                                                                                       \
    template <typename T> inline V<T> operator sign(typename mx_same<T>::type a, V<T> b)    \
    {                                                                                       \
        return V<T>(a) sign b;                                                              \
    }                                                                                       \
    template <typename T> inline V<T> &operator sign##=(V<T> &a, V<T> b)                    \
    {                                                                                       \
        return a = a sign b;                                                                \
    }

template <typename T, typename F>
inline mx_vector2<T> mx_by_parts(mx_vector2<T> a, mx_vector2<T> b, F f)
{
    return mx_vector2<T>(f(a.x, b.x), f(a.y, b.y));
}
template <typename T, typename F>
inline mx_vector3<T> mx_by_parts(mx_vector3<T> a, mx_vector3<T> b, F f)
{
    return mx_vector3<T>(f(a.x, b.x), f(a.y, b.y), f(a.z, b.z));
}
template <typename T, typename F>
inline mx_vector4<T> mx_by_parts(mx_vector4<T> a, mx_vector4<T> b, F f)
{
    return mx_vector4<T>(f(a.x, b.x), f(a.y, b.y), f(a.z, b.z), f(a.w, b.w));
}

#define MX_VECTOR(V)            \
    MX_VECTOR_OPERATORS(V, +)   \
    MX_VECTOR_OPERATORS(V, -)   \
    MX_VECTOR_OPERATORS(V, *)   \
    MX_VECTOR_OPERATORS(V, /)
MX_VECTOR(mx_vector2)
MX_VECTOR(mx_vector3)
MX_VECTOR(mx_vector4)

template <typename T> inline mx_vector2<T> operator-(mx_vector2<T> a)
{
    return mx_vector2<T>(-a.x, -a.y);
}
template <typename T> inline mx_vector4<T> operator-(mx_vector4<T> a)
{
    return mx_vector4<T>(-a.x, -a.y, -a.z, -a.w);
}
template <typename T> inline mx_vector2<T> rint(mx_vector2<T> a)
{
    return mx_vector2<T>(rint(a.x), rint(a.y));
}

/* CUDA's vectors of these names have no operators. */
#define MX_NAMED(T)                  \
    typedef mx_vector2<T> mx_##T##2; \
    typedef mx_vector3<T> mx_##T##3; \
    typedef mx_vector4<T> mx_##T##4;
MX_NAMED(uchar)
MX_NAMED(short)
MX_NAMED(ushort)
MX_NAMED(int)
MX_NAMED(uint)
MX_NAMED(long)
MX_NAMED(ulong)
MX_NAMED(half)
MX_NAMED(bfloat)
MX_NAMED(float)
MX_NAMED(double)
typedef mx_vector2<signed char> mx_char2;
typedef mx_vector3<signed char> mx_char3;
typedef mx_vector4<signed char> mx_char4;

#define char2   mx_char2
#define char3   mx_char3
#define char4   mx_char4
#define uchar2  mx_uchar2
#define uchar3  mx_uchar3
#define uchar4  mx_uchar4
#define short2  mx_short2
#define short3  mx_short3
#define short4  mx_short4
#define ushort2 mx_ushort2
#define ushort3 mx_ushort3
#define ushort4 mx_ushort4
#define int2    mx_int2
#define int3    mx_int3
#define int4    mx_int4
#define uint2   mx_uint2
#define uint3   mx_uint3
#define uint4   mx_uint4
#define long2   mx_long2
#define long3   mx_long3
#define long4   mx_long4
#define ulong2  mx_ulong2
#define ulong3  mx_ulong3
#define ulong4  mx_ulong4
#define half2   mx_half2
#define half3   mx_half3
#define half4   mx_half4
#define bfloat2 mx_bfloat2
#define bfloat3 mx_bfloat3
#define bfloat4 mx_bfloat4
#define float2  mx_float2
#define float3  mx_float3
#define float4  mx_float4
#define double2 mx_double2
#define double3 mx_double3
#define double4 mx_double4

/* -- Functions ---------------------------------------------------------------------------- */

inline float frexp(float a, int &exponent) { return frexpf(a, &exponent); }
inline double frexp(double a, int &exponent) { return frexp(a, &exponent); }

template <typename T> inline T clamp(T a, T low, T high)
{
    return a < low ? low : high < a ? high : a;
}
template <typename T> inline T select(T a, T b, bool takes_b) { return takes_b ? b : a; }

template <typename T> inline T popcount(T a)
{
    const ulong mask = sizeof(T) == 8 ? ~0ul : (1ul << (8 * sizeof(T) % 64)) - 1;
    return T(__popcll(ulong(a) & mask));
}
template <typename T> inline T clz(T a)
{
    const ulong mask = sizeof(T) == 8 ? ~0ul : (1ul << (8 * sizeof(T) % 64)) - 1;
    return T(__clzll(long(ulong(a) & mask)) - (64 - int(8 * sizeof(T))));
}
template <typename T> inline T ctz(T a)
{
    return a == 0 ? T(8 * sizeof(T)) : T(__ffsll(long(a)) - 1);
}
inline ulong mulhi(ulong a, ulong b) { return __umul64hi(a, b); }
inline uint mulhi(uint a, uint b) { return __umulhi(a, b); }

/* -- Functions that only kernels of the program use --------------------------------------- */

inline float fract(float a)
{
    const float part = a - floor(a);
    return part < 1.0f ? part : 0x1.fffffep-1f; /* rounded, that of -1e-9 is 1 */
}
inline float saturate(float a) { return fmin(fmax(a, 0.0f), 1.0f); }
inline float sign(float a) { return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a == 0.0f ? a : 0.0f; }
inline float step(float edge, float a) { return a < edge ? 0.0f : 1.0f; }
inline float mix(float a, float b, float t) { return a + (b - a) * t; }
inline float smoothstep(float low, float high, float a)
{
    const float t = saturate((a - low) / (high - low));
    return t * t * (3.0f - 2.0f * t);
}
inline float powr(float a, float b) { return pow(a, b); }

template <typename F, typename T> inline auto mx_each(F f, mx_vector2<T> a)
{
    return mx_vector2<decltype(f(a.x))>(f(a.x), f(a.y));
}
template <typename F, typename T> inline auto mx_each(F f, mx_vector3<T> a)
{
    return mx_vector3<decltype(f(a.x))>(f(a.x), f(a.y), f(a.z));
}
template <typename F, typename T> inline auto mx_each(F f, mx_vector4<T> a)
{
    return mx_vector4<decltype(f(a.x))>(f(a.x), f(a.y), f(a.z), f(a.w));
}
template <typename F, typename T> inline auto mx_each(F f, mx_vector2<T> a, mx_vector2<T> b)
{
    return mx_vector2<decltype(f(a.x, b.x))>(f(a.x, b.x), f(a.y, b.y));
}
template <typename F, typename T> inline auto mx_each(F f, mx_vector3<T> a, mx_vector3<T> b)
{
    return mx_vector3<decltype(f(a.x, b.x))>(f(a.x, b.x), f(a.y, b.y), f(a.z, b.z));
}
template <typename F, typename T> inline auto mx_each(F f, mx_vector4<T> a, mx_vector4<T> b)
{
    return mx_vector4<decltype(f(a.x, b.x))>(f(a.x, b.x), f(a.y, b.y), f(a.z, b.z),
                                             f(a.w, b.w));
}

#define MX_EACH1(V, name)                                    \
    template <typename T> inline V<T> name(V<T> a)           \
    {                                                        \
        return mx_each([](T p) { return T(name(p)); }, a);   \
    }
#define MX_EACH2(V, name)                                               \
    template <typename T> inline V<T> name(V<T> a, V<T> b)              \
    {                                                                   \
        return mx_each([](T p, T q) { return T(name(p, q)); }, a, b);   \
    }
#define MX_COMPARISON(V, sign)                                                            \
    template <typename T> inline V<bool> operator sign(V<T> a, V<T> b)                    \
    {                                                                                     \
        return mx_each([](T p, T q) { return bool(p sign q); }, a, b);                    \
    }                                                                                     \
    template <typename T>                                                                 \
    inline V<bool> operator sign(V<T> a, typename mx_same<T>::type b)                     \
    {                                                                                     \
        return a sign V<T>(b);                                                            \
    }
#define MX_VECTOR_FUNCTIONS(V)                                                            \
    MX_EACH1(V, exp) MX_EACH1(V, exp2) MX_EACH1(V, log) MX_EACH1(V, log2) MX_EACH1(V, log10) \
    MX_EACH1(V, sin) MX_EACH1(V, cos) MX_EACH1(V, tan) MX_EACH1(V, tanh)                  \
    MX_EACH1(V, sqrt) MX_EACH1(V, rsqrt) MX_EACH1(V, floor) MX_EACH1(V, ceil)             \
    MX_EACH1(V, trunc) MX_EACH1(V, round) MX_EACH1(V, abs) MX_EACH1(V, fabs)              \
    MX_EACH1(V, fract) MX_EACH1(V, saturate) MX_EACH1(V, sign)                            \
    MX_EACH2(V, pow) MX_EACH2(V, powr) MX_EACH2(V, fmod) MX_EACH2(V, atan2)               \
    MX_EACH2(V, fmin) MX_EACH2(V, fmax) MX_EACH2(V, min) MX_EACH2(V, max)                 \
    MX_EACH2(V, step)                                                                     \
    MX_COMPARISON(V, ==) MX_COMPARISON(V, !=) MX_COMPARISON(V, <) MX_COMPARISON(V, <=)    \
    MX_COMPARISON(V, >) MX_COMPARISON(V, >=)                                              \
    MX_VECTOR_OPERATORS(V, %) MX_VECTOR_OPERATORS(V, &) MX_VECTOR_OPERATORS(V, |)         \
    MX_VECTOR_OPERATORS(V, ^) MX_VECTOR_OPERATORS(V, <<) MX_VECTOR_OPERATORS(V, >>)       \
    template <typename T> inline V<T> clamp(V<T> a, V<T> low, V<T> high)                  \
    {                                                                                     \
        return min(max(a, low), high);                                                    \
    }                                                                                     \
    template <typename T> inline V<T> mix(V<T> a, V<T> b, V<T> t) { return a + (b - a) * t; } \
    template <typename T> inline T dot(V<T> a, V<T> b) { return mx_add_parts(a * b); }          \
    template <typename T> inline T length_squared(V<T> a) { return dot(a, a); }           \
    template <typename T> inline T length(V<T> a) { return sqrt(dot(a, a)); }             \
    template <typename T> inline T distance(V<T> a, V<T> b) { return length(a - b); }     \
    template <typename T> inline V<T> normalize(V<T> a) { return a * rsqrt(dot(a, a)); }

template <typename T> inline T mx_add_parts(mx_vector2<T> a) { return a.x + a.y; }
template <typename T> inline T mx_add_parts(mx_vector3<T> a) { return a.x + a.y + a.z; }
template <typename T> inline T mx_add_parts(mx_vector4<T> a) { return a.x + a.y + a.z + a.w; }
MX_VECTOR_FUNCTIONS(mx_vector2)
MX_VECTOR_FUNCTIONS(mx_vector3)
MX_VECTOR_FUNCTIONS(mx_vector4)

inline bool all(mx_vector2<bool> a) { return a.x && a.y; }
inline bool all(mx_vector3<bool> a) { return a.x && a.y && a.z; }
inline bool all(mx_vector4<bool> a) { return a.x && a.y && a.z && a.w; }
inline bool any(mx_vector2<bool> a) { return a.x || a.y; }
inline bool any(mx_vector3<bool> a) { return a.x || a.y || a.z; }
inline bool any(mx_vector4<bool> a) { return a.x || a.y || a.z || a.w; }
template <typename T> inline mx_vector3<T> operator-(mx_vector3<T> a)
{
    return mx_vector3<T>(-a.x, -a.y, -a.z);
}
template <typename T> inline mx_vector3<T> cross(mx_vector3<T> a, mx_vector3<T> b)
{
    return mx_vector3<T>(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

/* -- Barriers ----------------------------------------------------------------------------- */

namespace mem_flags
{
enum { mem_none, mem_device, mem_threadgroup };
}

inline void threadgroup_barrier(int) { __syncthreads(); }
inline void simdgroup_barrier(int) { __syncwarp(); }

/* -- Atomic operations -------------------------------------------------------------------- */

enum memory_order { memory_order_relaxed };

template <typename T> struct atomic {
    T value;
};
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<float> atomic_float;
typedef atomic<double> atomic_double;
typedef atomic<ulong> atomic_ulong;
typedef atomic<long> atomic_long;

/* The type with which CUDA's functions are called. */
template <typename T> struct mx_native {
    typedef T type;
};
template <> struct mx_native<ulong> {
    typedef unsigned long long type;
};
template <> struct mx_native<long> {
    typedef long long type;
};
template <typename T> inline typename mx_native<T>::type *mx_native_at(const atomic<T> *at)
{
    return (typename mx_native<T>::type *)at;
}

template <typename T> inline T atomic_load_explicit(const atomic<T> *at, memory_order)
{
    return *(const volatile T *)at;
}
template <typename T>
inline void atomic_store_explicit(atomic<T> *at, typename mx_same<T>::type value, memory_order)
{
    *(volatile T *)at = value;
}

/* For integers.  A NaN is not equal to itself, so floats are not exchanged as such. */
template <typename T>
inline bool atomic_compare_exchange_weak_explicit(atomic<T> *at, T *expected,
                                                  typename mx_same<T>::type value,
                                                  memory_order, memory_order)
{
    typedef typename mx_native<T>::type native;
    const T before = *expected;
    *expected = T(atomicCAS(mx_native_at(at), native(before), native(value)));
    return *expected == before;
}

#define MX_ATOMIC(name, function)                                                           \
    template <typename T>                                                                   \
    inline T atomic_##name##_explicit(atomic<T> *at, typename mx_same<T>::type value,       \
                                      memory_order)                                         \
    {                                                                                       \
        return T(function(mx_native_at(at), typename mx_native<T>::type(value)));           \
    }
MX_ATOMIC(exchange, atomicExch)
MX_ATOMIC(fetch_add, atomicAdd)
MX_ATOMIC(fetch_min, atomicMin)
MX_ATOMIC(fetch_max, atomicMax)
MX_ATOMIC(fetch_and, atomicAnd)
MX_ATOMIC(fetch_or, atomicOr)
MX_ATOMIC(fetch_xor, atomicXor)

/* Where the sign makes no difference, CUDA has functions for unsigned numbers of 64 bits only. */
#define MX_ATOMIC_LONG(name)                                                                \
    inline long atomic_##name##_explicit(atomic<long> *at, long value, memory_order order)  \
    {                                                                                       \
        return long(atomic_##name##_explicit((atomic<ulong> *)at, ulong(value), order));    \
    }
MX_ATOMIC_LONG(exchange)
MX_ATOMIC_LONG(fetch_add)
MX_ATOMIC_LONG(fetch_and)
MX_ATOMIC_LONG(fetch_or)
MX_ATOMIC_LONG(fetch_xor)

/* Applies a function to a number until no other thread has changed it meanwhile. */
template <typename T, typename Word, typename F> inline void mx_exchange(T *at, F f)
{
    Word before = *(const volatile Word *)at, expected;
    do {
        expected = before;
        const Word after = as_type<Word>(f(as_type<T>(before)));
        if (after == before)
            return;
        before = atomicCAS((Word *)at, expected, after);
    } while (before != expected);
}

/* CUDA's addition in the memory of the device takes subnormal numbers as zeros, and makes zeros
 * of them.  Neither changes a sum with a number from 2^-100 on: it is a multiple of 2^-124, or
 * so large that adding a subnormal number does not change it. */
inline void atomic_fetch_add_explicit(atomic<float> *at, float value, memory_order)
{
    if (!(fabs(value) < 7.888609e-31f))
        atomicAdd(&at->value, value);
    else
        mx_exchange<float, uint>(&at->value, [=](float old) { return old + value; });
}
inline void atomic_fetch_add_explicit(atomic<half> *at, half value, memory_order)
{
    mx_native_add_half(at, value.bits);
}
inline void atomic_fetch_add_explicit(atomic<bfloat> *at, bfloat value, memory_order)
{
    mx_exchange<bfloat, ushort>(
        &at->value, [=](bfloat old) { return bfloat(float(old) + float(value)); });
}
/* Both parts are added by themselves. */
template <typename T>
inline void atomic_fetch_add_explicit(atomic<mx_vector2<T>> *at, mx_vector2<T> value,
                                      memory_order order)
{
    atomic<T> *parts = (atomic<T> *)at;
    atomic_fetch_add_explicit(parts, value.x, order);
    atomic_fetch_add_explicit(parts + 1, value.y, order);
}

/* The type of an element that is updated in one operation: scatter.metal has others. */
template <typename T> struct mx_atomic_of;
template <> struct mx_atomic_of<long> {
    typedef atomic_long type;
};
template <> struct mx_atomic_of<ulong> {
    typedef atomic_ulong type;
};
template <> struct mx_atomic_of<double> {
    typedef atomic_double type;
};
template <> struct mx_atomic_of<float> {
    typedef atomic_float type;
};
template <> struct mx_atomic_of<half> {
    typedef atomic<half> type;
};
template <> struct mx_atomic_of<bfloat> {
    typedef atomic<bfloat> type;
};
template <typename T> struct mx_atomic_of<mx_vector2<T>> {
    typedef atomic<mx_vector2<T>> type;
};

/* -- Reports ------------------------------------------------------------------------------ */

/* Sets the word of the host whose address is here, if it is not 0. */
#define MX_HAS_REPORT_FLAG
inline void mx_flag_report(const atomic_uint *at)
{
    volatile uint *const flag = *(volatile uint *const *)at;
    if (flag)
        *flag = 1;
}

/* -- SIMD-groups, which are warps --------------------------------------------------------- *
 * All lanes of a warp that have not returned must call a shuffle together.  In the other
 * functions, the lanes that take part are those that are active at the call. */

template <typename T> inline T mx_shuffle(uint mask, T value, uint lane)
{
    static_assert(sizeof(T) <= 8, "a value of a shuffle has at most 8 bytes");
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof value);
    if (sizeof(T) <= 4)
        bits = __shfl_sync(mask, uint(bits), int(lane));
    else
        bits = __shfl_sync(mask, bits, int(lane));
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T> inline mx_vector2<T> mx_shuffle(uint mask, mx_vector2<T> value, uint lane)
{
    return mx_vector2<T>(mx_shuffle(mask, value.x, lane), mx_shuffle(mask, value.y, lane));
}

inline uint mx_first(uint mask) { return uint(__ffsll(mask) - 1); }

/* Adds the values of the active lanes with the same number, in pairs.  Returns whether this lane
 * is the first of them, which has the sum. */
template <typename T> inline bool mx_join_peers(uint number, T &value)
{
    const uint mask = __activemask(), lane = mx_native_lane();
    const uint peers = __match_any_sync(mask, number);
    uint above = peers & ~((2u << lane) - 1), rank = __popc(peers & ((1u << lane) - 1));
    const bool is_first = rank == 0;
    while (__any_sync(mask, above != 0)) {
        const T other = mx_shuffle(mask, value, above ? mx_first(above) : lane);
        if (above)
            value = T(value + other);
        above &= __ballot_sync(mask, rank % 2 == 0);
        rank /= 2;
    }
    return is_first;
}

/* The same, unless few lanes have the number of the lane before them. */
template <typename T> inline bool mx_join_neighbours(uint number, T &value)
{
    const uint mask = __activemask(), lane = mx_native_lane();
    const uint before = lane > 0 && mask >> (lane - 1) & 1 ? lane - 1 : lane;
    const bool is_same = mx_shuffle(mask, number, before) == number && before != lane;
    return __popc(__ballot_sync(mask, is_same)) < 2 || mx_join_peers(number, value);
}

#define MX_SHUFFLE(name, from)                                       \
    template <typename T> inline T name(T value, ushort n)           \
    {                                                                \
        const uint lane = mx_native_lane();                          \
        return mx_shuffle(0xffffffffu, value, (void(lane), from)); \
    }
MX_SHUFFLE(simd_shuffle, n)
MX_SHUFFLE(simd_broadcast, n)
MX_SHUFFLE(simd_shuffle_up, lane >= n ? lane - n : lane)
MX_SHUFFLE(simd_shuffle_down, lane + n < 32 ? lane + n : lane)
MX_SHUFFLE(simd_shuffle_xor, lane ^ n)
MX_SHUFFLE(simd_shuffle_rotate_up, (lane - n) % 32)
MX_SHUFFLE(simd_shuffle_rotate_down, (lane + n) % 32)

template <typename T> inline T simd_broadcast_first(T value)
{
    const uint mask = __activemask();
    return mx_shuffle(mask, value, mx_first(mask));
}

struct simd_vote {
    ulong bits;
    explicit simd_vote(ulong a) : bits(a) {}
    explicit operator ulong() const { return bits; }
    bool all() const { return bits == 0xfffffffful; }
    bool any() const { return bits != 0; }
};
inline simd_vote simd_active_threads_mask() { return simd_vote(__activemask()); }
inline simd_vote simd_ballot(bool yes)
{
    return simd_vote(__ballot_sync(__activemask(), yes));
}
inline bool simd_any(bool yes) { return __any_sync(__activemask(), yes) != 0; }
inline bool simd_all(bool yes) { return __all_sync(__activemask(), yes) != 0; }
inline bool simd_is_first() { return mx_native_lane() == mx_first(__activemask()); }

template <typename T, typename F> inline T mx_simd_reduce(T value, F f)
{
    const uint mask = __activemask();
    if (mask == 0xffffffffu) {
        for (uint step = 16; step > 0; step /= 2)
            value = T(f(value, mx_shuffle(mask, value, mx_native_lane() ^ step)));
        return value;
    }
    T result = mx_shuffle(mask, value, mx_first(mask));
    for (uint left = mask & (mask - 1); left; left &= left - 1)
        result = T(f(result, mx_shuffle(mask, value, mx_first(left))));
    return result;
}

/* The combination of the values of the active lanes before this one. */
template <typename T, typename F> inline T mx_simd_scan(T value, T start, F f)
{
    const uint mask = __activemask(), lane = mx_native_lane();
    for (uint left = mask; left; left &= left - 1) {
        const uint from = mx_first(left);
        const T other = mx_shuffle(mask, value, from);
        if (from < lane)
            start = T(f(start, other));
    }
    return start;
}

#define MX_SIMD_REDUCE(name, expression)                                    \
    template <typename T> inline T name(T value)                            \
    {                                                                       \
        return mx_simd_reduce(value, [](T a, T b) { return expression; });  \
    }
MX_SIMD_REDUCE(simd_sum, a + b)
MX_SIMD_REDUCE(simd_product, a * b)
MX_SIMD_REDUCE(simd_min, b < a || a != a ? b : a)
MX_SIMD_REDUCE(simd_max, a < b || a != a ? b : a)
MX_SIMD_REDUCE(simd_and, a & b)
MX_SIMD_REDUCE(simd_or, a | b)
MX_SIMD_REDUCE(simd_xor, a ^ b)

#define MX_SIMD_SCAN(name, start, sign)                                                  \
    template <typename T> inline T simd_prefix_exclusive_##name(T value)                 \
    {                                                                                    \
        return mx_simd_scan(value, T(start), [](T a, T b) { return T(a sign b); });      \
    }                                                                                    \
    template <typename T> inline T simd_prefix_inclusive_##name(T value)                 \
    {                                                                                    \
        return T(simd_prefix_exclusive_##name(value) sign value);                        \
    }
MX_SIMD_SCAN(sum, 0, +)
MX_SIMD_SCAN(product, 1, *)

/* Which lanes of a whole warp say yes. */
#define MX_HAS_VOTE
inline uint mx_vote(bool yes) { return __ballot_sync(0xffffffffu, yes); }
inline void mx_pause() { mx_native_pause(); }

/* -- The heads of kernels ----------------------------------------------------------------- */

/* The numbers after the buffers. */
template <int n> struct mx_arguments {
    long values[n];
};

/* How many threads and blocks a dispatch has.  CUDA's grid may be larger than the threads, and
 * has only an x axis if the others would be too long. */
struct mx_places {
    uint threads[3], groups[3];
};

inline uint3 mx_group_position(const mx_places &places)
{
    if (gridDim.x == places.groups[0] && gridDim.y == places.groups[1])
        return uint3(blockIdx.x, blockIdx.y, blockIdx.z);
    const uint n = blockIdx.x, row = n / places.groups[0];
    return uint3(n % places.groups[0], row % places.groups[1], row / places.groups[1]);
}

inline uint3 mx_grid_position(const mx_places &places)
{
    const uint3 group = mx_group_position(places);
    return uint3(group.x * blockDim.x + threadIdx.x, group.y * blockDim.y + threadIdx.y,
                 group.z * blockDim.z + threadIdx.z);
}

inline bool mx_is_beyond(const mx_places &places)
{
    const uint3 at = mx_grid_position(places);
    return at.x >= places.threads[0] || at.y >= places.threads[1] || at.z >= places.threads[2];
}

inline uint mx_thread_index()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

/* A position as the type of a parameter. */
template <typename T> struct mx_position {
    static T of(uint3 at) { return T(at.x); }
};
template <typename T> struct mx_position<mx_vector2<T>> {
    static mx_vector2<T> of(uint3 at) { return mx_vector2<T>(T(at.x), T(at.y)); }
};
template <typename T> struct mx_position<mx_vector3<T>> {
    static mx_vector3<T> of(uint3 at) { return mx_vector3<T>(at); }
};

/* -- double, which Metal lacks ------------------------------------------------------------ *
 * These precede the functions of scalar.metal that call them. */

inline ulong mx_magnitude_bits(double a) { return as_type<ulong>(a) & 0x7ffffffffffffffful; }
inline bool mx_isnan(double a) { return mx_magnitude_bits(a) > 0x7ff0000000000000ul; }
inline bool mx_isinf(double a) { return mx_magnitude_bits(a) == 0x7ff0000000000000ul; }
inline bool mx_isfinite(double a) { return mx_magnitude_bits(a) < 0x7ff0000000000000ul; }
inline bool mx_signbit(double a) { return as_type<long>(a) < 0; }
inline double mx_copysign(double a, double b)
{
    return as_type<double>(mx_magnitude_bits(a) |
                           (as_type<ulong>(b) & 0x8000000000000000ul));
}
inline ulong mx_exponent_unit(double) { return 0x0010000000000000ul; }
inline int mx_least_exponent(double) { return 1074; }
inline long mx_rank(double a)
{
    const long magnitude = long(mx_magnitude_bits(a));
    return mx_signbit(a) ? -magnitude : magnitude;
}
inline long mx_sort_key(double a) { return mx_isnan(a) ? LONG_MAX : mx_rank(a); }
inline double mx_nextafter(double a, double b)
{
    if (mx_isnan(a) || mx_isnan(b))
        return MX_NAN64;
    const long from = mx_rank(a), to = mx_rank(b);
    if (from == to)
        return b;
    const long next = from < to ? from + 1 : from - 1;
    const bool negative = next < 0 || (next == 0 && from < 0);
    return as_type<double>((negative ? 0x8000000000000000ul : 0ul) |
                           ulong(next < 0 ? -next : next));
}
inline double mx_spacing(double a)
{
    return mx_isfinite(a) ? mx_nextafter(a, mx_copysign(MX_INFINITY64, a)) - a : MX_NAN64;
}

/* A value whose bits are one argument or, of a complex number, two.  element.metal defines the
 * first function for other types. */
template <typename T> inline T mx_value(long bits);
template <> inline double mx_value<double>(long bits) { return as_type<double>(bits); }
template <typename T> inline T mx_value(long first, long second)
{
    return T(as_type<double>(first), as_type<double>(second));
}

/* Where formulas of scalar.metal change. */
inline double mx_huge(double) { return 4e307; }
inline double mx_far(double) { return 1e150; }
inline double mx_exp_limit(double) { return 700.0; }
inline double mx_tanh_limit(double) { return 22.0; }
