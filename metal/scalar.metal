/* scalar.metal -- the mx_ functions of csrc/ir/ops.def: NumPy's arithmetic on one element.
 *
 * - The operands a and b of a function have the same type.  A complex number is a float2.
 * - Signed integers wrap: overflow of a signed type is undefined, so sums and products are
 *   computed in the unsigned type.
 * - half and bfloat are computed in float and rounded once, as NumPy does.
 * - NaN and infinity are detected by their bits, which no compiler option can optimize away.
 * - Results are undefined for inputs for which NumPy raises an error before the kernel runs.
 * - Functions are those of `precise`, whatever the options of the compiler are.
 * - Products and sums are rounded separately, except in an explicit fma.
 */
#include <metal_stdlib>
using namespace metal;
#ifdef __METAL_VERSION__
#pragma METAL fp contract(off)
#endif

/* All functions of kernels.  Apple's compiler has made calls of functions that were only
 * `inline`, in which arrays of matrices lost columns. */
#define MX_INLINE METAL_FUNC

/* -- Representation of floating-point numbers --------------------------------------- */

template <typename T> MX_INLINE bool mx_isnan(T) { return false; } /* integers and bool */
template <typename T> MX_INLINE bool mx_isinf(T) { return false; }
template <typename T> MX_INLINE bool mx_isfinite(T) { return true; }

#define MX_BITS(T, U, EXPONENT, SIGN)                                                  \
    MX_INLINE bool mx_isnan(T a) { return U(as_type<U>(a) & U(~SIGN)) > EXPONENT; }    \
    MX_INLINE bool mx_isinf(T a) { return U(as_type<U>(a) & U(~SIGN)) == EXPONENT; }   \
    MX_INLINE bool mx_isfinite(T a) { return U(as_type<U>(a) & U(~SIGN)) < EXPONENT; } \
    MX_INLINE bool mx_signbit(T a) { return (as_type<U>(a) & SIGN) != 0; }             \
    MX_INLINE T mx_copysign(T a, T b)                                                  \
    {                                                                                  \
        return as_type<T>(U((as_type<U>(a) & U(~SIGN)) | (as_type<U>(b) & SIGN)));     \
    }                                                                                  \
    /* Maps floats to integers in the same order.  Both zeros are 0. */                \
    MX_INLINE int mx_rank(T a)                                                         \
    {                                                                                  \
        int magnitude = int(as_type<U>(a) & U(~SIGN));                                 \
        return mx_signbit(a) ? -magnitude : magnitude;                                 \
    }                                                                                  \
    MX_INLINE T mx_nextafter(T a, T b)                                                 \
    {                                                                                  \
        if (mx_isnan(a) || mx_isnan(b))                                                \
            return as_type<T>(U(EXPONENT | (EXPONENT >> 1)));                          \
        int from = mx_rank(a), to = mx_rank(b);                                        \
        if (from == to) /* zeros of any sign: NumPy's half returns the first */        \
            return EXPONENT == 0x7c00 ? a : b;                                         \
        int next = from < to ? from + 1 : from - 1;                                    \
        bool negative = next < 0 || (next == 0 && from < 0);                           \
        return as_type<T>(U((negative ? SIGN : 0) | U(abs(next))));                    \
    }

MX_BITS(float, uint, 0x7f800000u, 0x80000000u)
MX_BITS(half, ushort, 0x7c00, 0x8000)

/* -- also for double, where there is one -- */
MX_INLINE bool mx_isnan(float2 a) { return mx_isnan(a.x) || mx_isnan(a.y); }
MX_INLINE bool mx_isinf(float2 a) { return mx_isinf(a.x) || mx_isinf(a.y); }
MX_INLINE bool mx_isfinite(float2 a) { return mx_isfinite(a.x) && mx_isfinite(a.y); }
/* -- end of the functions for double -- */

#define MX_NAN as_type<float>(0x7fc00000u)

/* The significand of a number as an odd integer, or 0, and the place of its lowest bit, counted
 * from that of the least subnormal number. */
struct mx_parts {
    ulong odd;
    int low;
};

MX_INLINE ulong mx_magnitude_bits(float a) { return as_type<uint>(a) & 0x7fffffffu; }
MX_INLINE ulong mx_magnitude_bits(half a) { return as_type<ushort>(a) & 0x7fffu; }
MX_INLINE ulong mx_exponent_unit(float)
{
    return 0x00800000ul;
} /* the lowest bit of the exponent */
MX_INLINE ulong mx_exponent_unit(half) { return 0x0400ul; }

template <typename T> MX_INLINE mx_parts mx_split(T a)
{
    const ulong magnitude = mx_magnitude_bits(a), unit = mx_exponent_unit(a);
    const ulong exponent = magnitude / unit;
    const ulong significand = magnitude % unit + (exponent > 0 ? unit : 0ul);
    const int zeros = significand == 0 ? 0 : 63 - int(clz(significand & (~significand + 1)));
    mx_parts parts;
    parts.odd = significand >> zeros;
    parts.low = zeros + (exponent > 0 ? int(exponent) - 1 : 0);
    return parts;
}

/* Whether a number is below the normal numbers. */
template <typename T> MX_INLINE bool mx_is_tiny(T a)
{
    return mx_magnitude_bits(a) < mx_exponent_unit(a);
}

/* The exponent of the least subnormal number, negated. */
MX_INLINE int mx_least_exponent(float) { return 149; }
MX_INLINE int mx_least_exponent(half) { return 24; }

MX_INLINE float mx_spacing(float a)
{
    if (!mx_isfinite(a))
        return MX_NAN;
    return mx_nextafter(a, mx_copysign(INFINITY, a)) - a;
}

/* The distance to the next number above, because NumPy's half has positive spacings only. */
MX_INLINE half mx_spacing(half a)
{
    if (!mx_isfinite(a))
        return half(MX_NAN);
    return half(float(mx_nextafter(a, half(INFINITY))) - float(a));
}

/* -- Comparison and truth ----------------------------------------------------------- */

template <typename T> MX_INLINE bool mx_truth(T a) { return a != T(0); }
template <typename T> MX_INLINE bool mx_equal(T a, T b) { return a == b; }
template <typename T> MX_INLINE bool mx_less(T a, T b) { return a < b; }
template <typename T> MX_INLINE bool mx_less_equal(T a, T b) { return a <= b; }

/* -- also for double, where there is one -- */
MX_INLINE bool mx_truth(float2 a) { return a.x != 0.0f || a.y != 0.0f; }
MX_INLINE bool mx_equal(float2 a, float2 b) { return a.x == b.x && a.y == b.y; }

/* Compares real parts first.  If they decide, no imaginary part may be NaN. */
MX_INLINE bool mx_less(float2 a, float2 b)
{
    return (a.x < b.x && !mx_isnan(a.y) && !mx_isnan(b.y)) || (a.x == b.x && a.y < b.y);
}

MX_INLINE bool mx_less_equal(float2 a, float2 b)
{
    return (a.x < b.x && !mx_isnan(a.y) && !mx_isnan(b.y)) || (a.x == b.x && a.y <= b.y);
}
/* -- end of the functions for double -- */

template <typename T> MX_INLINE T mx_maximum(T a, T b)
{
    return mx_less_equal(b, a) || mx_isnan(a) ? a : b;
}

template <typename T> MX_INLINE T mx_minimum(T a, T b)
{
    return mx_less_equal(a, b) || mx_isnan(a) ? a : b;
}

template <typename T> MX_INLINE T mx_fmax(T a, T b)
{
    return mx_less_equal(b, a) || mx_isnan(b) ? a : b;
}

template <typename T> MX_INLINE T mx_fmin(T a, T b)
{
    return mx_less_equal(a, b) || mx_isnan(b) ? a : b;
}

/* Of 0 and -0, NumPy's loops for float return 0 as the larger and -0 as the smaller number,
 * unless they run on x86-64.  So does the order of the bits, in which no number is zero. */
#ifndef MX_X86
#define MX_EXTREME(name, FIRST, OTHER, ORDER)                                                  \
    MX_INLINE float name(float a, float b)                                                     \
    {                                                                                          \
        return mx_isnan(FIRST) || (!mx_isnan(OTHER) && mx_order(a) ORDER mx_order(b)) ? a : b; \
    }
MX_INLINE int mx_order(float a)
{
    const int bits = as_type<int>(a);
    return bits ^ (bits >> 31 & 0x7fffffff);
}
MX_EXTREME(mx_maximum, a, b, >=)
MX_EXTREME(mx_minimum, a, b, <=)
MX_EXTREME(mx_fmax, b, a, >=)
MX_EXTREME(mx_fmin, b, a, <=)
#endif

/* -- Integers and bool --------------------------------------------------------------- */

MX_INLINE bool mx_add(bool a, bool b) { return a || b; }
MX_INLINE bool mx_multiply(bool a, bool b) { return a && b; }
MX_INLINE bool mx_absolute(bool a) { return a; }
MX_INLINE bool mx_invert(bool a) { return !a; }
MX_INLINE bool mx_floor(bool a) { return a; }
MX_INLINE bool mx_ceil(bool a) { return a; }
MX_INLINE bool mx_trunc(bool a) { return a; }

/* Functions that not every version of Metal has for all types. */
MX_INLINE long mx_lesser(long a, long b) { return a < b ? a : b; }
MX_INLINE int mx_lesser(int a, int b) { return a < b ? a : b; }
MX_INLINE uint mx_count_bits(uint a) { return popcount(a); }
MX_INLINE uint mx_count_bits(ulong a) { return popcount(uint(a)) + popcount(uint(a >> 32)); }
MX_INLINE uint mx_count_leading_zeros(ulong a)
{
    const uint high = uint(a >> 32);
    return high != 0 ? clz(high) : 32u + clz(uint(a));
}

/* T is the type, U its unsigned counterpart, W the unsigned type of the computation. */
#define MX_INTEGER(T, U, W)                                                                    \
    MX_INLINE T mx_add(T a, T b) { return T(W(a) + W(b)); }                                    \
    MX_INLINE T mx_subtract(T a, T b) { return T(W(a) - W(b)); }                               \
    MX_INLINE T mx_multiply(T a, T b) { return T(W(a) * W(b)); }                               \
    MX_INLINE T mx_negative(T a) { return T(W(0) - W(a)); }                                    \
    MX_INLINE T mx_conjugate(T a) { return a; }                                                \
    MX_INLINE T mx_invert(T a) { return T(~a); }                                               \
    MX_INLINE T mx_floor(T a) { return a; }                                                    \
    MX_INLINE T mx_ceil(T a) { return a; }                                                     \
    MX_INLINE T mx_trunc(T a) { return a; }                                                    \
    /* A shift by at least the width, or by a negative number, shifts out all bits. */         \
    MX_INLINE T mx_left_shift(T a, T b)                                                        \
    {                                                                                          \
        return U(b) < 8 * sizeof(T) ? T(W(a) << U(b)) : T(0);                                  \
    }                                                                                          \
    MX_INLINE T mx_right_shift(T a, T b)                                                       \
    {                                                                                          \
        return U(b) < 8 * sizeof(T) ? T(a >> b) : a < 0 ? T(-1) : T(0);                        \
    }                                                                                          \
    MX_INLINE T mx_power(T a, T b)                                                             \
    {                                                                                          \
        W result = 1, square = W(a);                                                           \
        for (U n = b < 0 ? U(0) : U(b); n != 0; n = U(n >> 1), square *= square)               \
            if (n & 1)                                                                         \
                result *= square;                                                              \
        return T(result);                                                                      \
    }                                                                                          \
    MX_INLINE U mx_magnitude(T a) { return a < 0 ? U(W(0) - W(a)) : U(a); }                    \
    MX_INLINE uchar mx_bitwise_count(T a) { return uchar(mx_count_bits(W(mx_magnitude(a)))); } \
    MX_INLINE T mx_gcd(T a, T b)                                                               \
    {                                                                                          \
        U x = mx_magnitude(a), y = mx_magnitude(b);                                            \
        while (y != 0) {                                                                       \
            U rest = U(x % y);                                                                 \
            x = y;                                                                             \
            y = rest;                                                                          \
        }                                                                                      \
        return T(x);                                                                           \
    }                                                                                          \
    MX_INLINE T mx_lcm(T a, T b)                                                               \
    {                                                                                          \
        U divisor = U(mx_gcd(a, b));                                                           \
        if (divisor == 0)                                                                      \
            return T(0);                                                                       \
        return T(W(mx_magnitude(a) / divisor) * W(mx_magnitude(b)));                           \
    }

MX_INTEGER(char, uchar, uint)
MX_INTEGER(short, ushort, uint)
MX_INTEGER(int, uint, uint)
MX_INTEGER(long, ulong, ulong)
MX_INTEGER(uchar, uchar, uint)
MX_INTEGER(ushort, ushort, uint)
MX_INTEGER(uint, uint, uint)
MX_INTEGER(ulong, ulong, ulong)

/* A quotient by zero is zero.  The quotient of the least number and -1 would overflow. */
#define MX_SIGNED(T)                                                              \
    MX_INLINE T mx_absolute(T a) { return a < 0 ? mx_negative(a) : a; }           \
    MX_INLINE T mx_sign(T a) { return T((a > 0) - (a < 0)); }                     \
    MX_INLINE T mx_reciprocal(T a) { return a == 1 || a == -1 ? a : T(0); }       \
    MX_INLINE T mx_fmod(T a, T b) { return b == 0 || b == -1 ? T(0) : T(a % b); } \
    MX_INLINE T mx_remainder(T a, T b)                                            \
    {                                                                             \
        T rest = mx_fmod(a, b);                                                   \
        return rest != 0 && (rest < 0) != (b < 0) ? T(rest + b) : rest;           \
    }                                                                             \
    MX_INLINE T mx_floor_divide(T a, T b)                                         \
    {                                                                             \
        if (b == 0 || b == -1)                                                    \
            return b == 0 ? T(0) : mx_negative(a);                                \
        return T(a / b - (a % b != 0 && (a < 0) != (b < 0)));                     \
    }

#define MX_UNSIGNED(T)                                                 \
    MX_INLINE T mx_absolute(T a) { return a; }                         \
    MX_INLINE T mx_sign(T a) { return T(a > 0); }                      \
    MX_INLINE T mx_reciprocal(T a) { return T(a == 1); }               \
    MX_INLINE T mx_fmod(T a, T b) { return b == 0 ? T(0) : T(a % b); } \
    MX_INLINE T mx_remainder(T a, T b) { return mx_fmod(a, b); }       \
    MX_INLINE T mx_floor_divide(T a, T b) { return b == 0 ? T(0) : T(a / b); }

MX_SIGNED(char)
MX_SIGNED(short)
MX_SIGNED(int)
MX_SIGNED(long)
MX_UNSIGNED(uchar)
MX_UNSIGNED(ushort)
MX_UNSIGNED(uint)
MX_UNSIGNED(ulong)

/* -- Real numbers: arithmetic -------------------------------------------------------- */

MX_INLINE int mx_exponent(long b)
{
    return int(b < -100000L ? -100000L : mx_lesser(b, 100000L));
}

/* -- also for double, where there is one -- */
MX_INLINE float mx_add(float a, float b) { return a + b; }
MX_INLINE float mx_subtract(float a, float b) { return a - b; }
MX_INLINE float mx_multiply(float a, float b) { return a * b; }
MX_INLINE float mx_divide(float a, float b) { return a / b; }
MX_INLINE float mx_negative(float a) { return -a; }
MX_INLINE float mx_reciprocal(float a) { return 1.0f / a; }
MX_INLINE float mx_conjugate(float a) { return a; }
MX_INLINE float mx_absolute(float a) { return fabs(a); }
MX_INLINE float mx_fabs(float a) { return fabs(a); }
MX_INLINE float mx_sign(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a == 0 ? 0.0f : a; }
MX_INLINE float mx_power(float a, float b) { return precise::pow(a, b); }
MX_INLINE float mx_fmod(float a, float b) { return precise::fmod(a, b); }
MX_INLINE float mx_rint(float a) { return rint(a); }
MX_INLINE float mx_floor(float a) { return floor(a); }
MX_INLINE float mx_ceil(float a) { return ceil(a); }
MX_INLINE float mx_trunc(float a) { return trunc(a); }

/* Returns the floor quotient; *rest is the remainder with the sign of b, as for Python's float.
 */
MX_INLINE float mx_divmod(float a, float b, thread float *rest)
{
    *rest = precise::fmod(a, b);
    if (b == 0)
        return a / b;
    float quotient = (a - *rest) / b;
    if (*rest == 0) {
        *rest = mx_copysign(0.0f, b);
    } else if ((b < 0) != (*rest < 0)) {
        *rest += b;
        quotient -= 1.0f;
    }
    if (quotient == 0)
        return mx_copysign(0.0f, a / b);
    float below = floor(quotient);
    return quotient - below > 0.5f ? below + 1.0f : below;
}

MX_INLINE float mx_floor_divide(float a, float b)
{
    float rest;
    return mx_divmod(a, b, &rest);
}

MX_INLINE float mx_remainder(float a, float b)
{
    float rest;
    mx_divmod(a, b, &rest);
    return rest;
}

MX_INLINE float mx_modf(float a, thread float *whole)
{
    *whole = trunc(a);
    return mx_copysign(mx_isinf(a) ? 0.0f : a - *whole, a);
}

MX_INLINE float mx_frexp(float a, thread int *exponent)
{
    *exponent = 0;
    return mx_isfinite(a) ? frexp(a, *exponent) : a;
}

MX_INLINE float mx_ldexp(float a, int b) { return ldexp(a, b); }
MX_INLINE float mx_ldexp(float a, long b) { return mx_ldexp(a, mx_exponent(b)); }

MX_INLINE float mx_heaviside(float a, float b)
{
    return mx_isnan(a) ? a : a == 0 ? b : a < 0 ? 0.0f : 1.0f;
}

/* -- Real numbers: functions ---------------------------------------------------------- */

MX_INLINE float mx_sqrt(float a) { return precise::sqrt(a); }
MX_INLINE float mx_exp(float a) { return precise::exp(a); }
MX_INLINE float mx_exp2(float a) { return precise::exp2(a); }
MX_INLINE float mx_log(float a) { return precise::log(a); }
MX_INLINE float mx_log2(float a) { return precise::log2(a); }
MX_INLINE float mx_log10(float a) { return precise::log10(a); }
MX_INLINE float mx_sin(float a) { return precise::sin(a); }
MX_INLINE float mx_cos(float a) { return precise::cos(a); }
MX_INLINE float mx_tan(float a) { return precise::tan(a); }
MX_INLINE float mx_arcsin(float a) { return precise::asin(a); }
MX_INLINE float mx_arccos(float a) { return precise::acos(a); }
MX_INLINE float mx_arctan(float a) { return precise::atan(a); }
MX_INLINE float mx_arctan2(float a, float b) { return precise::atan2(a, b); }
MX_INLINE float mx_sinh(float a) { return precise::sinh(a); }
MX_INLINE float mx_cosh(float a) { return precise::cosh(a); }
MX_INLINE float mx_tanh(float a) { return precise::tanh(a); }
MX_INLINE float mx_arcsinh(float a) { return precise::asinh(a); }
MX_INLINE float mx_arccosh(float a) { return precise::acosh(a); }
MX_INLINE float mx_arctanh(float a) { return precise::atanh(a); }
MX_INLINE float mx_deg2rad(float a) { return a * (3.141592653589793f / 180.0f); }
MX_INLINE float mx_rad2deg(float a) { return a * (180.0f / 3.141592653589793f); }

/* In log(u) * x / (u - 1) with u = 1 + x, the rounding error of u cancels.  The same holds for
 * expm1.  Higham, Accuracy and Stability of Numerical Algorithms, 1.14.1. */
MX_INLINE float mx_log1p(float a)
{
    float u = 1.0f + a;
    if (u == 1.0f || mx_isinf(u))
        return a < -1.0f ? MX_NAN : a;
    return precise::log(u) * (a / (u - 1.0f));
}

MX_INLINE float mx_expm1(float a)
{
    if (fabs(a) > 1.0f)
        return precise::exp(a) - 1.0f;
    float u = precise::exp(a);
    return u == 1.0f ? a : (u - 1.0f) * (a / precise::log(u));
}

/* One step of Newton's method from an approximation by the logarithm. */
MX_INLINE float mx_cbrt(float a)
{
    if (a == 0 || !mx_isfinite(a))
        return a;
    float x = fabs(a);
    float root = precise::exp2(precise::log2(x) / 3.0f);
    root -= (root - x / (root * root)) / 3.0f;
    return mx_copysign(root, a);
}

/* Scales by the larger operand, so that no square overflows, and corrects the rounding errors
 * of the squares and the root.  Borges, An Improved Algorithm for hypot(a, b), 2019. */
MX_INLINE float mx_hypot(float a, float b)
{
    if (mx_isinf(a) || mx_isinf(b))
        return INFINITY;
    float x = max(fabs(a), fabs(b)), y = min(fabs(a), fabs(b));
    if (mx_isnan(a) || mx_isnan(b))
        return MX_NAN;
    if (y == 0)
        return x;
    int exponent;
    x = frexp(x, exponent);
    y = ldexp(y, -exponent);
    float xx = x * x, yy = y * y, sum = xx + yy, root = precise::sqrt(sum);
    float lost = ((xx - sum) + yy) + (fma(x, x, -xx) + fma(y, y, -yy)) + fma(-root, root, sum);
    return ldexp(root + lost / (2.0f * root), exponent);
}

MX_INLINE float mx_logaddexp(float a, float b)
{
    if (a == b)
        return a + 0.6931471805599453f;
    float d = a - b;
    return d > 0 ? a + mx_log1p(precise::exp(-d)) : d <= 0 ? b + mx_log1p(precise::exp(d)) : d;
}

MX_INLINE float mx_logaddexp2(float a, float b)
{
    const float log2_e = 1.4426950408889634f;
    if (a == b)
        return a + 1.0f;
    float d = a - b;
    return d > 0    ? a + log2_e * mx_log1p(precise::exp2(-d))
           : d <= 0 ? b + log2_e * mx_log1p(precise::exp2(d))
                    : d;
}
/* -- end of the functions for double -- */

/* -- half and bfloat, by way of float --------------------------------------------------- */

#define MX_NARROW1(T, word) \
    MX_INLINE T word(T a) { return T(word(float(a))); }
#define MX_NARROW2(T, word) \
    MX_INLINE T word(T a, T b) { return T(word(float(a), float(b))); }
#define MX_NARROW(T)                                          \
    MX_NARROW2(T, mx_add)                                     \
    MX_NARROW2(T, mx_subtract)                                \
    MX_NARROW2(T, mx_multiply)                                \
    MX_NARROW2(T, mx_divide)                                  \
    MX_NARROW2(T, mx_floor_divide)                            \
    MX_NARROW2(T, mx_remainder)                               \
    MX_NARROW2(T, mx_fmod)                                    \
    MX_NARROW2(T, mx_power)                                   \
    MX_NARROW1(T, mx_negative)                                \
    MX_NARROW1(T, mx_reciprocal)                              \
    MX_NARROW1(T, mx_conjugate)                               \
    MX_NARROW1(T, mx_absolute)                                \
    MX_NARROW1(T, mx_fabs)                                    \
    MX_NARROW1(T, mx_sign)                                    \
    MX_NARROW1(T, mx_rint)                                    \
    MX_NARROW1(T, mx_floor)                                   \
    MX_NARROW1(T, mx_ceil)                                    \
    MX_NARROW1(T, mx_trunc)                                   \
    MX_NARROW2(T, mx_heaviside)                               \
    MX_NARROW1(T, mx_sqrt)                                    \
    MX_NARROW1(T, mx_cbrt)                                    \
    MX_NARROW1(T, mx_exp)                                     \
    MX_NARROW1(T, mx_exp2)                                    \
    MX_NARROW1(T, mx_expm1)                                   \
    MX_NARROW1(T, mx_log)                                     \
    MX_NARROW1(T, mx_log2)                                    \
    MX_NARROW1(T, mx_log10)                                   \
    MX_NARROW1(T, mx_log1p)                                   \
    MX_NARROW2(T, mx_logaddexp)                               \
    MX_NARROW2(T, mx_logaddexp2)                              \
    MX_NARROW1(T, mx_sin)                                     \
    MX_NARROW1(T, mx_cos)                                     \
    MX_NARROW1(T, mx_tan)                                     \
    MX_NARROW1(T, mx_arcsin)                                  \
    MX_NARROW1(T, mx_arccos)                                  \
    MX_NARROW1(T, mx_arctan)                                  \
    MX_NARROW2(T, mx_arctan2)                                 \
    MX_NARROW2(T, mx_hypot)                                   \
    MX_NARROW1(T, mx_sinh)                                    \
    MX_NARROW1(T, mx_cosh)                                    \
    MX_NARROW1(T, mx_tanh)                                    \
    MX_NARROW1(T, mx_arcsinh)                                 \
    MX_NARROW1(T, mx_arccosh)                                 \
    MX_NARROW1(T, mx_arctanh)                                 \
    MX_NARROW1(T, mx_deg2rad)                                 \
    MX_NARROW1(T, mx_rad2deg)                                 \
    MX_INLINE T mx_divmod(T a, T b, thread T *rest)           \
    {                                                         \
        float wide;                                           \
        T quotient = T(mx_divmod(float(a), float(b), &wide)); \
        *rest = T(wide);                                      \
        return quotient;                                      \
    }                                                         \
    MX_INLINE T mx_modf(T a, thread T *whole)                 \
    {                                                         \
        float wide;                                           \
        T fraction = T(mx_modf(float(a), &wide));             \
        *whole = T(wide);                                     \
        return fraction;                                      \
    }                                                         \
    MX_INLINE T mx_frexp(T a, thread int *exponent) { return T(mx_frexp(float(a), exponent)); }

MX_NARROW(half)
MX_INLINE half mx_ldexp(half a, int b) { return half(ldexp(float(a), b)); }
MX_INLINE half mx_ldexp(half a, long b) { return mx_ldexp(a, mx_exponent(b)); }

/* bfloat exists from Metal 3.1 on.  Earlier compilers reject kernels of bfloat16, and the
 * processor runs their groups.  The maximum and the minimum of two zeros are the second one. */
#if __METAL_VERSION__ >= 310
#define MX_HAS_BFLOAT
#endif
#ifdef MX_HAS_BFLOAT

MX_BITS(bfloat, ushort, 0x7f80, 0x8000)
MX_NARROW(bfloat)

MX_INLINE bool mx_truth(bfloat a) { return float(a) != 0.0f; }
MX_INLINE bool mx_equal(bfloat a, bfloat b) { return float(a) == float(b); }
MX_INLINE bool mx_less(bfloat a, bfloat b) { return float(a) < float(b); }
MX_INLINE bool mx_less_equal(bfloat a, bfloat b) { return float(a) <= float(b); }
MX_INLINE bfloat mx_maximum(bfloat a, bfloat b) { return mx_less(b, a) || mx_isnan(a) ? a : b; }
MX_INLINE bfloat mx_minimum(bfloat a, bfloat b) { return mx_less(a, b) || mx_isnan(a) ? a : b; }
MX_INLINE bfloat mx_fmax(bfloat a, bfloat b) { return mx_less(b, a) || mx_isnan(b) ? a : b; }
MX_INLINE bfloat mx_fmin(bfloat a, bfloat b) { return mx_less(a, b) || mx_isnan(b) ? a : b; }
MX_INLINE bfloat mx_ldexp(bfloat a, int b) { return bfloat(ldexp(float(a), b)); }
MX_INLINE bfloat mx_ldexp(bfloat a, long b) { return mx_ldexp(a, mx_exponent(b)); }

MX_INLINE bfloat mx_spacing(bfloat a)
{
    if (!mx_isfinite(a))
        return bfloat(MX_NAN);
    return bfloat(float(mx_nextafter(a, mx_copysign(bfloat(INFINITY), a))) - float(a));
}
#endif

/* The quotient and the remainder of integers. */
template <typename T> MX_INLINE T mx_divmod(T a, T b, thread T *rest)
{
    *rest = mx_remainder(a, b);
    return mx_floor_divide(a, b);
}

/* -- Complex numbers: arithmetic -------------------------------------------------------- */

/* Where formulas change.  The device that has double has these functions for it, too. */
MX_INLINE float mx_huge(float) { return 8e37f; } /* above it, a reciprocal is subnormal */
MX_INLINE float mx_far(float) { return 1e18f; }  /* its fourth power overflows, or nearly */
MX_INLINE float mx_exp_limit(float) { return 80.0f; }  /* of which exp is finite, with room */
MX_INLINE float mx_tanh_limit(float) { return 11.0f; } /* from which the sine decides */

/* -- also for double, where there is one -- */
MX_INLINE float2 mx_add(float2 a, float2 b) { return a + b; }
MX_INLINE float2 mx_subtract(float2 a, float2 b) { return a - b; }
MX_INLINE float2 mx_negative(float2 a) { return -a; }
MX_INLINE float2 mx_rint(float2 a) { return rint(a); }
MX_INLINE float2 mx_conjugate(float2 a) { return float2(a.x, -a.y); }
MX_INLINE float mx_absolute(float2 a) { return mx_hypot(a.x, a.y); }
MX_INLINE float2 mx_times_i(float2 a) { return float2(-a.y, a.x); }
MX_INLINE float2 mx_over_i(float2 a) { return float2(a.y, -a.x); }

/* Rounds where NumPy's vector loop rounds. */
MX_INLINE float2 mx_multiply(float2 a, float2 b)
{
    return float2(fma(a.x, b.x, -(a.y * b.y)), fma(a.x, b.y, a.y * b.x));
}

/* The reciprocal would be subnormal, so the GPU may flush it to zero. */
MX_INLINE bool mx_is_huge(float a) { return fabs(a) > mx_huge(a); }

/* Smith's algorithm does not square b, which could overflow.  CACM 5:8, 1962. */
MX_INLINE float2 mx_divide(float2 a, float2 b)
{
    if (fabs(b.x) >= fabs(b.y)) {
        if (b.x == 0 && b.y == 0)
            return float2(a.x / fabs(b.x), a.y / fabs(b.x));
        float ratio = b.y / b.x, length = b.x + b.y * ratio, scale = 1.0f / length;
        float2 product = float2(a.x + a.y * ratio, a.y - a.x * ratio);
        return mx_is_huge(length) ? product / length : product * scale;
    }
    float ratio = b.x / b.y, length = b.y + b.x * ratio, scale = 1.0f / length;
    float2 product = float2(a.x * ratio + a.y, a.y * ratio - a.x);
    return mx_is_huge(length) ? product / length : product * scale;
}

MX_INLINE float2 mx_reciprocal(float2 a)
{
    if (fabs(a.y) <= fabs(a.x)) {
        float ratio = a.y / a.x, scale = a.x + a.y * ratio;
        return float2(1.0f / scale, -ratio / scale);
    }
    float ratio = a.x / a.y, scale = a.x * ratio + a.y;
    return float2(ratio / scale, -1.0f / scale);
}

/* If the length is infinite, the infinite part determines the direction. */
MX_INLINE float2 mx_sign(float2 a)
{
    float length = mx_absolute(a);
    if (mx_isnan(length) || (mx_isinf(a.x) && mx_isinf(a.y)))
        return float2(MX_NAN, MX_NAN);
    if (mx_isinf(length))
        return mx_isinf(a.x) ? float2(mx_sign(a.x), 0.0f) : float2(0.0f, mx_sign(a.y));
    return length == 0 ? float2(0.0f, 0.0f) : float2(a.x / length, a.y / length);
}

/* -- Complex numbers: functions ---------------------------------------------------------
 * Special values follow C99, annex G. */

MX_INLINE float2 mx_sqrt(float2 a)
{
    if (a.x == 0 && a.y == 0)
        return float2(0.0f, a.y);
    if (mx_isinf(a.y))
        return float2(INFINITY, a.y);
    if (mx_isnan(a.x))
        return float2(MX_NAN, MX_NAN);
    if (mx_isinf(a.x)) {
        float other = mx_isnan(a.y) ? MX_NAN : 0.0f;
        return a.x > 0 ? float2(a.x, mx_isnan(a.y) ? a.y : mx_copysign(0.0f, a.y))
                       : float2(other, mx_copysign(INFINITY, a.y));
    }
    if (mx_isnan(a.y))
        return float2(MX_NAN, MX_NAN);
    /* Scale by an even power of two, so that the modulus neither overflows nor underflows. */
    int exponent;
    frexp(max(fabs(a.x), fabs(a.y)), exponent);
    exponent /= 2;
    float x = ldexp(a.x, -2 * exponent), y = ldexp(a.y, -2 * exponent);
    float root = precise::sqrt((fabs(x) + mx_hypot(x, y)) * 0.5f),
          other = fabs(y) / (2.0f * root);
    root = ldexp(root, exponent);
    other = ldexp(other, exponent);
    return x >= 0 ? float2(root, mx_copysign(other, a.y))
                  : float2(other, mx_copysign(root, a.y));
}

/* exp(x) * scale * (cos y, sin y) for finite y.  exp(x) has two factors, because it may
 * overflow alone. */
MX_INLINE float2 mx_polar_exp(float x, float scale, float y)
{
    if (mx_isinf(x) && x < 0)
        return float2(mx_copysign(0.0f, precise::cos(y)), mx_copysign(0.0f, precise::sin(y)));
    float factor = x > mx_exp_limit(x) ? precise::exp(x * 0.5f) : 1.0f;
    float rest = (x > mx_exp_limit(x) ? factor : precise::exp(x)) * scale;
    return float2(precise::cos(y) * rest * factor, precise::sin(y) * rest * factor);
}

MX_INLINE float2 mx_exp(float2 a)
{
    if (a.y == 0)
        return float2(precise::exp(a.x), a.y);
    if (mx_isfinite(a.y))
        return mx_isnan(a.x) ? float2(MX_NAN, MX_NAN) : mx_polar_exp(a.x, 1.0f, a.y);
    if (mx_isinf(a.x))
        return a.x < 0 ? float2(0.0f, 0.0f) : float2(INFINITY, MX_NAN);
    return float2(MX_NAN, MX_NAN);
}

MX_INLINE float2 mx_exp2(float2 a) { return mx_exp(a * 0.6931471805599453f); }

MX_INLINE float2 mx_expm1(float2 a)
{
    float s = precise::sin(a.y * 0.5f);
    return float2(mx_expm1(a.x) * precise::cos(a.y) - 2.0f * s * s,
                  precise::exp(a.x) * precise::sin(a.y));
}

/* The logarithm of the modulus.  Near the unit circle it is computed from modulus - 1. */
MX_INLINE float mx_log_absolute(float2 a)
{
    float x = max(fabs(a.x), fabs(a.y)), y = min(fabs(a.x), fabs(a.y));
    if (mx_isfinite(a) && x > 0.5f && x < 2.0f)
        return 0.5f * mx_log1p((x - 1.0f) * (x + 1.0f) + y * y);
    float scale = x > mx_huge(x) ? 0.5f : 1.0f;
    return precise::log(mx_hypot(a.x * scale, a.y * scale)) +
           (scale < 1 ? 0.6931471805599453f : 0.0f);
}

MX_INLINE float2 mx_log(float2 a)
{
    return float2(mx_log_absolute(a), precise::atan2(a.y, a.x));
}
MX_INLINE float2 mx_log2(float2 a) { return mx_log(a) * 1.4426950408889634f; }
MX_INLINE float2 mx_log10(float2 a) { return mx_log(a) * 0.4342944819032518f; }

MX_INLINE float2 mx_log1p(float2 a)
{
    return float2(precise::log(mx_hypot(a.x + 1.0f, a.y)), precise::atan2(a.y, a.x + 1.0f));
}

MX_INLINE float2 mx_sinh(float2 a)
{
    if (a.y == 0)
        return float2(precise::sinh(a.x), a.y);
    if (a.x == 0 && !mx_isfinite(a.y))
        return float2(a.x, MX_NAN);
    if (mx_isnan(a.x) || !mx_isfinite(a.y))
        return float2(mx_isinf(a.x) ? INFINITY : MX_NAN, MX_NAN);
    if (fabs(a.x) < mx_exp_limit(a.x))
        return float2(precise::sinh(a.x) * precise::cos(a.y),
                      precise::cosh(a.x) * precise::sin(a.y));
    float2 big = mx_polar_exp(fabs(a.x), 0.5f, a.y);
    return float2(a.x < 0 ? -big.x : big.x, big.y);
}

MX_INLINE float2 mx_cosh(float2 a)
{
    if (a.y == 0)
        return float2(precise::cosh(a.x), mx_isnan(a.x) ? 0.0f : mx_copysign(1.0f, a.x) * a.y);
    if (a.x == 0)
        return mx_isfinite(a.y) ? float2(precise::cos(a.y), a.x * precise::sin(a.y))
                                : float2(MX_NAN, 0.0f);
    if (mx_isnan(a.x) || !mx_isfinite(a.y))
        return float2(mx_isinf(a.x) ? INFINITY : MX_NAN, MX_NAN);
    if (fabs(a.x) < mx_exp_limit(a.x))
        return float2(precise::cosh(a.x) * precise::cos(a.y),
                      precise::sinh(a.x) * precise::sin(a.y));
    float2 big = mx_polar_exp(fabs(a.x), 0.5f, a.y);
    return float2(big.x, a.x < 0 ? -big.y : big.y);
}

/* Kahan, Branch Cuts for Complex Elementary Functions, 1987. */
MX_INLINE float2 mx_tanh(float2 a)
{
    if (mx_isnan(a.x))
        return float2(a.x, a.y == 0 ? a.y : MX_NAN);
    if (mx_isinf(a.x))
        return float2(
            mx_sign(a.x),
            mx_copysign(0.0f, mx_isfinite(a.y) ? precise::sin(a.y) * precise::cos(a.y) : 1.0f));
    if (!mx_isfinite(a.y))
        return float2(a.x == 0 ? a.x : MX_NAN, MX_NAN);
    if (fabs(a.x) > mx_tanh_limit(a.x)) {
        float small = precise::exp(-fabs(a.x));
        return float2(mx_sign(a.x),
                      4.0f * precise::sin(a.y) * precise::cos(a.y) * small * small);
    }
    float t = precise::tan(a.y), beta = 1.0f + t * t, s = precise::sinh(a.x),
          rho = precise::sqrt(1.0f + s * s);
    float below = 1.0f + beta * s * s;
    return float2(beta * rho * s / below, t / below);
}

MX_INLINE float2 mx_sin(float2 a)
{
    if (mx_isinf(a.y) && !mx_isfinite(a.x))
        return float2(MX_NAN, INFINITY);
    return mx_over_i(mx_sinh(mx_times_i(a)));
}
MX_INLINE float2 mx_cos(float2 a) { return mx_cosh(mx_times_i(a)); }
MX_INLINE float2 mx_tan(float2 a) { return mx_over_i(mx_tanh(mx_times_i(a))); }

/* Kahan's formulas, as above, are exact on the branch cuts and do not cancel.  Far from zero,
 * where their products would overflow, the logarithm is used. */
MX_INLINE bool mx_is_far(float2 a)
{
    return mx_isinf(a) || max(fabs(a.x), fabs(a.y)) > mx_far(a.x);
}

MX_INLINE float2 mx_far_arcsin(float2 a)
{
    float x = a.x, y = fabs(a.y);
    if (mx_isinf(a)) { /* only infinite parts count */
        x = mx_isinf(x) ? mx_copysign(1.0f, x) : mx_isnan(x) ? x : mx_copysign(0.0f, x);
        y = mx_isinf(y) ? 1.0f : mx_isnan(y) ? y : 0.0f;
    }
    return float2(precise::atan2(x, y),
                  mx_copysign(mx_log_absolute(a) + 0.6931471805599453f, a.y));
}

MX_INLINE float2 mx_arcsin(float2 a)
{
    if (mx_is_far(a))
        return mx_far_arcsin(a);
    if (mx_isnan(a))
        return float2(a.x == 0 ? a.x : MX_NAN, MX_NAN);
    float2 minus = mx_sqrt(float2(1.0f - a.x, -a.y)), plus = mx_sqrt(float2(1.0f + a.x, a.y));
    float real = precise::atan2(a.x, minus.x * plus.x - minus.y * plus.y);
    return float2(real, precise::asinh(minus.x * plus.y - minus.y * plus.x));
}

MX_INLINE float2 mx_arccos(float2 a)
{
    const float right_angle = 1.5707963267948966f;
    if (mx_is_far(a)) {
        float2 rest = mx_far_arcsin(a);
        return float2(right_angle - rest.x, -rest.y);
    }
    if (mx_isnan(a))
        return float2(a.x == 0 ? right_angle : MX_NAN, MX_NAN);
    float2 minus = mx_sqrt(float2(1.0f - a.x, -a.y)), plus = mx_sqrt(float2(1.0f + a.x, a.y));
    return float2(2.0f * precise::atan2(minus.x, plus.x),
                  precise::asinh(plus.x * minus.y - plus.y * minus.x));
}

MX_INLINE float2 mx_arcsinh(float2 a) { return mx_over_i(mx_arcsin(mx_times_i(a))); }

MX_INLINE float2 mx_arccosh(float2 a)
{
    float2 angle = mx_arccos(a);
    return mx_signbit(a.y) ? float2(angle.y, -angle.x) : float2(-angle.y, angle.x);
}

MX_INLINE float2 mx_arctanh(float2 a)
{
    const float right_angle = 1.5707963267948966f;
    float x = fabs(a.x), y = a.y;
    if (mx_is_far(a) && (mx_isinf(a) || !mx_isnan(a))) {
        float2 inverse = mx_isinf(a) ? float2(0.0f, 0.0f) : mx_reciprocal(float2(x, y));
        return float2(mx_copysign(inverse.x, a.x),
                      mx_isnan(a.y) ? a.y : mx_copysign(right_angle, y));
    }
    if (mx_isnan(a))
        return float2(a.x == 0 ? a.x : MX_NAN, MX_NAN);
    float real = 0.25f * mx_log1p(4.0f * x / ((1.0f - x) * (1.0f - x) + y * y));
    float imag = 0.5f * precise::atan2(2.0f * y, (1.0f - x) * (1.0f + x) - y * y);
    return float2(mx_copysign(real, a.x), imag);
}

MX_INLINE float2 mx_arctan(float2 a) { return mx_over_i(mx_arctanh(mx_times_i(a))); }

/* Small integer powers use multiplication, all others the logarithm. */
MX_INLINE float2 mx_power(float2 a, float2 b)
{
    if (b.x == 0 && b.y == 0)
        return float2(1.0f, 0.0f);
    if (b.x == 1 && b.y == 0)
        return a;
    if (a.x == 0 && a.y == 0)
        return b.x > 0 ? float2(0.0f, 0.0f) : float2(MX_NAN, MX_NAN);
    if (b.y != 0 || trunc(b.x) != b.x || fabs(b.x) >= 100.0f)
        return mx_exp(mx_multiply(b, mx_log(a)));
    float2 result = float2(1.0f, 0.0f), square = a;
    for (int n = int(fabs(b.x)); n != 0; n >>= 1, square = mx_multiply(square, square))
        if (n & 1)
            result = mx_multiply(result, square);
    return b.x < 0 ? mx_reciprocal(result) : result;
}
/* -- end of the functions for double -- */
