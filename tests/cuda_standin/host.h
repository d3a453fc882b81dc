/* host.h -- what CUDA C++ has without a header, in C++ of the processor.
 *
 * A program of NVRTC includes no headers of the system.  Threads, barriers, warps and atomic
 * operations are those of the engine of the Metal emulator.
 */
#pragma once
#include "msl/kernel_abi.h"

extern "C" __attribute__((visibility("hidden"))) const msl_engine *__msl_engine;

typedef unsigned long size_t;

#define __global__ __attribute__((noinline))
#define __device__
#define STANDIN __attribute__((no_sanitize("coverage"), always_inline, unused)) static inline
#define STANDIN_OUT __attribute__((no_sanitize("coverage"), noinline, unused)) static
#define memcpy      __builtin_memcpy

/* -- Where a thread is --------------------------------------------------------------------- */

struct standin_position {
    unsigned x, y, z;
};
STANDIN standin_position standin_at(const uint32_t (&at)[3]) { return {at[0], at[1], at[2]}; }

#define threadIdx standin_at(__msl_engine->self()->position_in_threadgroup)
#define blockIdx  standin_at(__msl_engine->self()->threadgroup_position)
#define blockDim  standin_at(__msl_engine->self()->threads_per_threadgroup)
#define gridDim   standin_at(__msl_engine->self()->threadgroups_per_grid)

extern "C" int sched_yield();
STANDIN void mx_native_pause() { sched_yield(); }
STANDIN unsigned mx_native_lane() { return __msl_engine->self()->index_in_simdgroup; }

template <typename T> STANDIN T &standin_shared(unsigned number)
{
    return *(T *)__msl_engine->threadgroup_variable(number, sizeof(T));
}

/* -- Barriers and warps -------------------------------------------------------------------- */

STANDIN void __syncthreads() { __msl_engine->threadgroup_barrier(); }
STANDIN void __syncwarp() { __msl_engine->simdgroup_barrier(); }

template <typename T> struct standin_exchange {
    T values[32];
    uint64_t active;
    __attribute__((no_sanitize("coverage"))) explicit standin_exchange(T mine)
    {
        __msl_engine->simdgroup_exchange(&mine, values, &active, sizeof mine);
    }
};

/* Lanes that take part must be in the mask, as on a GPU. */
template <typename T> STANDIN_OUT T __shfl_sync(unsigned mask, T value, int lane)
{
    standin_exchange<T> all(value);
    if (all.active & ~uint64_t(mask))
        __builtin_trap();
    return all.values[lane & 31];
}
STANDIN_OUT unsigned __activemask() { return unsigned(standin_exchange<char>(0).active); }
STANDIN_OUT unsigned __ballot_sync(unsigned, bool yes)
{
    standin_exchange<char> all(yes);
    unsigned votes = 0;
    for (unsigned i = 0; i < 32; i++)
        votes |= unsigned((all.active >> i & 1) && all.values[i]) << i;
    return votes;
}
STANDIN_OUT unsigned __match_any_sync(unsigned mask, unsigned value)
{
    standin_exchange<unsigned> all(value);
    unsigned same = 0;
    if (all.active & ~uint64_t(mask))
        __builtin_trap();
    for (unsigned i = 0; i < 32; i++)
        same |= unsigned((all.active >> i & 1) && all.values[i] == value) << i;
    return same;
}
STANDIN int __any_sync(unsigned mask, bool yes) { return __ballot_sync(mask, yes) != 0; }
STANDIN int __all_sync(unsigned mask, bool yes) { return __ballot_sync(mask, !yes) == 0; }

/* -- Atomic operations --------------------------------------------------------------------- */

template <typename T> STANDIN_OUT T atomicCAS(T *at, T expected, T value)
{
    __msl_engine->atomic(at, sizeof(T));
    __atomic_compare_exchange(at, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

/* CUDA has the other operations for these types only. */
template <typename T> constexpr bool standin_is_unsigned_if_long = sizeof(T)<8 || T(-1)> T(0);
template <> inline constexpr bool standin_is_unsigned_if_long<double> = true;

#define STANDIN_ATOMIC(name, expression)                                              \
    template <typename T> STANDIN_OUT T name(T *at, T value)                          \
    {                                                                                 \
        static_assert(standin_is_unsigned_if_long<T> || #name[6] == 'M', #name);      \
        __msl_engine->atomic(at, sizeof(T));                                          \
        T old, made;                                                                  \
        __atomic_load(at, &old, __ATOMIC_RELAXED);                                    \
        do {                                                                          \
            made = expression;                                                        \
        } while (!__atomic_compare_exchange(at, &old, &made, false, __ATOMIC_RELAXED, \
                                            __ATOMIC_RELAXED));                       \
        return old;                                                                   \
    }
STANDIN_ATOMIC(atomicExch, value)
STANDIN_ATOMIC(atomicAdd, T(old + value))
/* Additions to float32 take subnormal numbers as zeros, as in the memory of a GPU. */
STANDIN float standin_flushed(float a)
{
    return __builtin_fabsf(a) < 1.17549435e-38f ? __builtin_copysignf(0.0f, a) : a;
}
STANDIN_OUT float atomicAdd(float *at, float value)
{
    __msl_engine->atomic(at, sizeof *at);
    unsigned *word = (unsigned *)at, old = __atomic_load_n(word, __ATOMIC_RELAXED), made;
    do {
        float sum = standin_flushed(__builtin_bit_cast(float, old)) + standin_flushed(value);
        made = __builtin_bit_cast(unsigned, standin_flushed(sum));
    } while (!__atomic_compare_exchange_n(word, &old, made, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return __builtin_bit_cast(float, old);
}
STANDIN_OUT void mx_native_add_half(void *at, unsigned short half)
{
    __msl_engine->atomic(at, sizeof half);
    unsigned short *word = (unsigned short *)at, old = __atomic_load_n(word, __ATOMIC_RELAXED);
    unsigned short made;
    do {
        made = __builtin_bit_cast(unsigned short,
                                  _Float16(float(__builtin_bit_cast(_Float16, old)) +
                                           float(__builtin_bit_cast(_Float16, half))));
    } while (!__atomic_compare_exchange_n(word, &old, made, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
}
STANDIN_ATOMIC(atomicMin, value < old ? value : old)
STANDIN_ATOMIC(atomicMax, old < value ? value : old)
STANDIN_ATOMIC(atomicAnd, old &value)
STANDIN_ATOMIC(atomicOr, old | value)
STANDIN_ATOMIC(atomicXor, old ^ value)

/* -- Bits ---------------------------------------------------------------------------------- */

STANDIN int __popc(unsigned a) { return __builtin_popcount(a); }
STANDIN int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
STANDIN int __clzll(long long a) { return a ? __builtin_clzll((unsigned long long)a) : 64; }
STANDIN int __ffs(int a) { return __builtin_ffs(a); }
STANDIN int __ffsll(long long a) { return __builtin_ffsll(a); }
STANDIN unsigned __umulhi(unsigned a, unsigned b)
{
    return unsigned((unsigned long long)a * b >> 32);
}
STANDIN unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
STANDIN int abs(int a) { return a < 0 ? -a : a; }
STANDIN long abs(long a) { return a < 0 ? -a : a; }
STANDIN float abs(float a) { return __builtin_fabsf(a); }
STANDIN double abs(double a) { return __builtin_fabs(a); }

/* -- Numbers ------------------------------------------------------------------------------- */

STANDIN unsigned short mx_native_half(float a)
{
    return __builtin_bit_cast(unsigned short, _Float16(a));
}

/* Rounds to odd in float, so that the second rounding, to half, gives the right result. */
STANDIN unsigned short mx_native_half(double a)
{
    float near = float(a);
    unsigned bits = __builtin_bit_cast(unsigned, near);
    if (__builtin_isfinite(near) && double(near) != a) {
        if (__builtin_fabs(double(near)) > __builtin_fabs(a))
            bits--;
        bits |= 1;
    }
    return mx_native_half(__builtin_bit_cast(float, bits));
}

STANDIN float mx_native_float(unsigned short half)
{
    return float(__builtin_bit_cast(_Float16, half));
}

#define STANDIN_MATH1(name)                                        \
    STANDIN float name(float a) { return __builtin_##name##f(a); } \
    STANDIN double name(double a) { return __builtin_##name(a); }
#define STANDIN_MATH2(name)                                                    \
    STANDIN float name(float a, float b) { return __builtin_##name##f(a, b); } \
    STANDIN double name(double a, double b) { return __builtin_##name(a, b); }
STANDIN_MATH1(fabs)
STANDIN_MATH1(floor)
STANDIN_MATH1(ceil)
STANDIN_MATH1(trunc)
STANDIN_MATH1(rint)
STANDIN_MATH1(round)
STANDIN_MATH1(sqrt)
STANDIN_MATH1(cbrt)
STANDIN_MATH1(exp)
STANDIN_MATH1(exp2)
STANDIN_MATH1(expm1)
STANDIN_MATH1(log)
STANDIN_MATH1(log2)
STANDIN_MATH1(log10)
STANDIN_MATH1(log1p)
STANDIN_MATH1(sin)
STANDIN_MATH1(cos)
STANDIN_MATH1(tan)
STANDIN_MATH1(asin)
STANDIN_MATH1(acos)
STANDIN_MATH1(atan)
STANDIN_MATH1(sinh)
STANDIN_MATH1(cosh)
STANDIN_MATH1(tanh)
STANDIN_MATH1(asinh)
STANDIN_MATH1(acosh)
STANDIN_MATH1(atanh)
STANDIN_MATH2(atan2)
STANDIN_MATH2(pow)
STANDIN_MATH2(fmod)
STANDIN_MATH2(hypot)
STANDIN_MATH2(fmin)
STANDIN_MATH2(fmax)
STANDIN_MATH2(copysign)
STANDIN float rsqrt(float a) { return 1.0f / sqrt(a); }
STANDIN double rsqrt(double a) { return 1.0 / sqrt(a); }
STANDIN float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
STANDIN double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
STANDIN float ldexp(float a, int b) { return __builtin_ldexpf(a, b); }
STANDIN double ldexp(double a, int b) { return __builtin_ldexp(a, b); }
STANDIN_OUT float frexpf(float a, int *b)
{
    int exponent;
    float result = __builtin_frexpf(a, &exponent);
    *b = exponent;
    return result;
}
STANDIN_OUT double frexp(double a, int *b)
{
    int exponent;
    double result = __builtin_frexp(a, &exponent);
    *b = exponent;
    return result;
}

#define STANDIN_EXTREMES(T)                           \
    STANDIN T min(T a, T b) { return b < a ? b : a; } \
    STANDIN T max(T a, T b) { return a < b ? b : a; }
STANDIN_EXTREMES(int)
STANDIN_EXTREMES(unsigned)
STANDIN_EXTREMES(long)
STANDIN_EXTREMES(unsigned long)
STANDIN_EXTREMES(long long)
STANDIN_EXTREMES(unsigned long long)
STANDIN float min(float a, float b) { return __builtin_fminf(a, b); }
STANDIN float max(float a, float b) { return __builtin_fmaxf(a, b); }
STANDIN double min(double a, double b) { return __builtin_fmin(a, b); }
STANDIN double max(double a, double b) { return __builtin_fmax(a, b); }

/* -- The table of kernels ------------------------------------------------------------------ */

template <typename T> struct standin_parameter {
    typedef T type;
    static constexpr bool is_pointer = false;
};
template <typename T> struct standin_parameter<T *> {
    typedef T *type;
    static constexpr bool is_pointer = true;
};
template <typename T> struct standin_parameter<const T &> {
    typedef T type;
    static constexpr bool is_pointer = false;
};

template <unsigned... n> struct standin_numbers {};
template <unsigned n, unsigned... rest>
struct standin_count : standin_count<n - 1, n - 1, rest...> {};
template <unsigned... rest> struct standin_count<0, rest...> {
    typedef standin_numbers<rest...> type;
};

template <typename F, F function, typename Numbers> struct standin_entry;
template <typename... P, void (*function)(P...), unsigned... n>
struct standin_entry<void (*)(P...), function, standin_numbers<n...>> {
    __attribute__((no_sanitize("coverage"))) static void run(const msl_thread *self)
    {
        function(*(typename standin_parameter<P>::type *)self->buffers[n]...);
    }
    static inline constexpr msl_argument arguments[sizeof...(P) + 1] = {
        {MSL_BUFFER, uint8_t(n), 0,
         uint8_t(standin_parameter<P>::is_pointer ? MSL_DEVICE : MSL_CONSTANT),
         uint32_t(sizeof(typename standin_parameter<P>::type))}...};
};

template <typename... P> standin_count<sizeof...(P)> standin_count_of(void (*)(P...));

template <typename F, F function> constexpr msl_kernel standin_describe(const char *name)
{
    using numbers = typename decltype(standin_count_of(function))::type;
    using entry = standin_entry<F, function, numbers>;
    return {name, &entry::run, entry::arguments,
            sizeof entry::arguments / sizeof(msl_argument) - 1};
}
