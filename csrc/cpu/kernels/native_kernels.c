/* native_kernels.c -- functions of contiguous elements that are faster than NumPy's loops;
 * compiled for each instruction set: see isa.h. */
#include "cpu/kernels/native_kernels.h"

#include <math.h>
#include <string.h>

#include "cpu/kernels/bfloat.h"
#include "cpu/kernels/exponents.h"
#include "cpu/kernels/float64.h"
#include "cpu/kernels/half.h"
#include "cpu/kernels/logarithms.h"
#include "cpu/kernels/powers.h"

/* No iteration depends on another, even if the output is one of the inputs. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

static intptr_t smaller(intptr_t x, intptr_t y) { return x < y ? x : y; }

/* -- Sine and cosine of float64 ---------------------------------------------------------- */

#if defined(__FMA__) || defined(__aarch64__)

/* Magnitudes of numbers, as their bits, because comparing the bits of NaN raises no condition.
 * Above LARGEST, 1e5, the quotient by pi/2 takes more bits than the reduction below keeps.
 * Below TINY, 2**-27, sin(x) is x and cos(x) is 1.  NEAR, 2**-36, is the least that
 * cancellation may leave of x. */
#define LARGEST 0x40f86a0000000000
#define TINY    0x3e40000000000000
#define NEAR    0x3db0000000000000
#define NORMAL  0x0010000000000000

/* Returns a negative number for all magnitudes but those from TINY to LARGEST. */
static inline int64_t margin_of(double x)
{
    return (size_of(x) - TINY) | (LARGEST - size_of(x));
}

/* A number x as q pi/2 + r + low with |r| <= pi/4; sum holds the last bits of q. */
struct reduced {
    double sum, first, r, low;
};

/* Subtracts q times pi/2, in three parts of 53 bits, from x.  The subtraction of the first part
 * has no error: both numbers are multiples of 2**-53 that differ by less than 1.  The second
 * part is less than 2**-38, so where NEAR <= |first|, `first - r` has no error either. */
static inline struct reduced native_kernels_reduce(double x)
{
    const double magic = 0x1.8p52; /* adding it rounds a number to an integer */
    struct reduced out;
    out.sum = fused(x, 0x1.45f306dc9c883p-1, magic);
    double q = out.sum - magic;
    out.first = fused(-q, 0x1.921fb54442d18p+0, x);
    out.r = fused(-q, 0x1.1a62633145c07p-54, out.first);
    out.low = fused(-q, 0x1.1a62633145c07p-54, out.first - out.r);
    out.low = fused(-q, -0x1.f1976b7ed8fbcp-110, out.low);
    return out;
}

/* Returns sin(x) for quarter 0 and cos(x) for quarter 1, for x from TINY to LARGEST.  Makes
 * *near negative if x is too near a multiple of pi/2.  The coefficients are those of Chebyshev
 * interpolation in r**2, computed with 50 digits; the polynomials are off by less than 6e-18 of
 * the result. */
static inline double sine_or_cosine(double x, int64_t quarter, int64_t *near)
{
    struct reduced reduced = native_kernels_reduce(x);
    *near |= size_of(reduced.first) - NEAR;
    double r = reduced.r, low = reduced.low;

    /* z + z_low is r**2, and cube + cube_low is r**3.  Without the low parts, the result would
     * lose a quarter of an ulp. */
    double z = r * r, z_low = fused(r, r, -z);
    double cube = r * z, cube_low = fused(r, z_low, fused(r, z, -cube));
    double s = -0x1.ab0f25d21fd31p-41;
    s = fused(s, z, 0x1.6121703ee57b0p-33);
    s = fused(s, z, -0x1.ae64540000f84p-26);
    s = fused(s, z, 0x1.71de3a5455b9ap-19);
    s = fused(s, z, -0x1.a01a01a0198dep-13);
    s = fused(s, z, 0x1.1111111111110p-7);
    s = fused(s, z, -0x1.5555555555555p-3);
    double half_z = 0.5 * z;
    double sine = r + fused(cube, s, fused(cube_low, s, fused(-half_z, low, low)));

    double c = -0x1.9075bb66967d4p-37;
    c = fused(c, z, 0x1.1eeb5de1e2b95p-29);
    c = fused(c, z, -0x1.27e4fa0d3726cp-22);
    c = fused(c, z, 0x1.a01a019f4671dp-16);
    c = fused(c, z, -0x1.6c16c16c16944p-10);
    c = fused(c, z, 0x1.5555555555555p-5);
    double nearly = 1 - half_z, rest = fused(-r, low, (1 - nearly) - half_z);
    double cosine = nearly + fused(z * z, c, fused(-0.5, z_low, rest));

    uint64_t turn = (uint64_t)(bits_of(reduced.sum) + quarter);
    double value = choose(-(int64_t)(turn & 1), cosine, sine);
    return of_bits(bits_of(value) ^ (int64_t)(turn >> 1 << 63));
}

/* Returns whether the C library has to compute x: NaN, infinity, large numbers, numbers too
 * near a multiple of pi/2 and, for the sine, subnormal numbers, which underflow. */
static bool is_special(double x, int64_t quarter)
{
    int64_t size = size_of(x), near = 0;
    if (size < TINY)
        return quarter == 0 && size != 0 && size < NORMAL;
    if (size <= LARGEST)
        sine_or_cosine(x, quarter, &near);
    return size > LARGEST || near < 0;
}

/* The first loop over the numbers finds out whether the second one, which is faster, may be
 * used.
 */
#define CIRCULAR(name, quarter, of_tiny)                                                  \
    static void name(const void *from, const void *none, void *to, intptr_t n)            \
    {                                                                                     \
        double block[MX_BLOCK];                                                           \
        (void)none;                                                                       \
        for (intptr_t at = 0; at < n; at += MX_BLOCK) {                                   \
            const double *x = (const double *)from + at;                                  \
            intptr_t count = smaller(n - at, MX_BLOCK);                                   \
            int64_t other = 0, near = 0;                                                  \
            for (intptr_t i = 0; i < count; i++)                                          \
                other |= margin_of(x[i]);                                                 \
            if (other >= 0)                                                               \
                for (intptr_t i = 0; i < count; i++)                                      \
                    block[i] = sine_or_cosine(x[i], quarter, &near);                      \
            else                                                                          \
                for (intptr_t i = 0; i < count; i++) {                                    \
                    int64_t mask = -(int64_t)(margin_of(x[i]) >= 0);                      \
                    double value = sine_or_cosine(choose(mask, x[i], 1), quarter, &near); \
                    block[i] = choose(mask, value, of_tiny);                              \
                }                                                                         \
            for (intptr_t i = 0; i < count && (other | near) < 0; i++)                    \
                if (is_special(x[i], quarter))                                            \
                    block[i] = quarter ? cos(x[i]) : sin(x[i]);                           \
            memcpy((double *)to + at, block, (size_t)count * sizeof *block);              \
        }                                                                                 \
    }

CIRCULAR(float64_sin, 0, x[i])
CIRCULAR(float64_cos, 1, 1)

#define CIRCULAR_RUNS [MX_OP_sin] = float64_sin, [MX_OP_cos] = float64_cos,
#else
#define CIRCULAR_RUNS
#endif

/* -- Exponentials, logarithms and powers of float64 ---------------------------------------- */

#if defined(__FMA__)

/* The C library computes large numbers, NaN and infinities.  exp of tiny ones is that of 0. */
static void float64_exp(const void *from, const void *none, void *to, intptr_t n)
{
    double block[MX_BLOCK];
    (void)none;
    for (intptr_t at = 0; at < n; at += MX_BLOCK) {
        const double *x = (const double *)from + at;
        intptr_t count = smaller(n - at, MX_BLOCK);
        int64_t other = 0;
        for (intptr_t i = 0; i < count; i++)
            other |= exponential_margin(x[i]);
        if (other >= 0)
            for (intptr_t i = 0; i < count; i++)
                block[i] = exponential(x[i]);
        else
            for (intptr_t i = 0; i < count; i++)
                block[i] =
                    exponential(choose(-(int64_t)(exponential_margin(x[i]) >= 0), x[i], 0));
        for (intptr_t i = 0; i < count && other < 0; i++)
            if (size_of(x[i]) >= EXP_LIMIT)
                block[i] = exp(x[i]);
        memcpy((double *)to + at, block, (size_t)count * sizeof *block);
    }
}

/* Blocks of log are shorter, so that many of them have only numbers close to 1, or none. */
#define LOG_BLOCK 32

/* Rows of the table are copied because processors gather numbers slowly.  The C library
 * computes zero, negative and subnormal numbers, infinities and NaN. */
static void float64_log(const void *from, const void *none, void *to, intptr_t n)
{
    double block[LOG_BLOCK];
    struct mx_logarithm rows[LOG_BLOCK];
    (void)none;
    for (intptr_t at = 0; at < n; at += LOG_BLOCK) {
        const double *x = (const double *)from + at;
        intptr_t count = smaller(n - at, LOG_BLOCK);
        int64_t other = 0, apart = 0, close = 0;
        for (intptr_t i = 0; i < count; i++) {
            other |= logarithm_margin(x[i]);
            apart |= closeness(x[i]);
            close |= ~closeness(x[i]);
        }
        if (apart >= 0)
            for (intptr_t i = 0; i < count; i++)
                block[i] = logarithm_close_to_1(x[i]);
        else {
            for (intptr_t i = 0; i < count; i++)
                memcpy(&rows[i], &mx_logarithms[row_of_logarithm(x[i])], sizeof *rows);
            for (intptr_t i = 0; i < count; i++)
                block[i] = logarithm(x[i], rows[i]);
        }
        if (apart < 0 && close < 0)
            for (intptr_t i = 0; i < count; i++) {
                int64_t mask = -(int64_t)(closeness(x[i]) >= 0);
                double value = logarithm_close_to_1(choose(mask, x[i], 1));
                block[i] = choose(mask, value, block[i]);
            }
        for (intptr_t i = 0; i < count && other < 0; i++)
            if (logarithm_margin(x[i]) < 0)
                block[i] = log(x[i]);
        memcpy((double *)to + at, block, (size_t)count * sizeof *block);
    }
}

#define POW_BLOCK 128

/* Computes |x|**y for a block, and a margin of each.  Returns a negative number if one of the
 * margins is negative. */
static int64_t powers_of_sizes(const double *x, const double *y, double *block,
                               int64_t *margins, intptr_t count)
{
    double most[POW_BLOCK], rest[POW_BLOCK];
    struct mx_fine_logarithm rows[POW_BLOCK];
    int64_t other = 0;
    for (intptr_t i = 0; i < count; i++)
        memcpy(&rows[i], &mx_fine_logarithms[row_of_base(x[i])], sizeof *rows);
    for (intptr_t i = 0; i < count; i++) {
        struct mx_sum log = log_of_power(x[i], moderate(y[i]), rows[i]);
        most[i] = log.most;
        rest[i] = log.rest;
        margins[i] = power_margin(x[i], y[i], log.most);
        other |= margins[i];
    }
    for (intptr_t i = 0; i < count; i++)
        block[i] = magnitude_of_power(most[i], rest[i]);
    return other;
}

/* The signs of powers are computed only for blocks with negative bases, and powers of 0 only
 * for blocks with other numbers than normal ones. */
static void float64_power(const void *from, const void *exponents, void *to, intptr_t n)
{
    double block[POW_BLOCK];
    int64_t margins[POW_BLOCK];
    for (intptr_t at = 0; at < n; at += POW_BLOCK) {
        const double *x = (const double *)from + at, *y = (const double *)exponents + at;
        intptr_t count = smaller(n - at, POW_BLOCK);
        int64_t other = powers_of_sizes(x, y, block, margins, count), negative = 0;
        for (intptr_t i = 0; i < count; i++)
            negative |= bits_of(x[i]);
        for (intptr_t i = 0; i < count && negative < 0; i++) {
            block[i] = with_sign(block[i], x[i], y[i]);
            margins[i] |= sign_margin(x[i], y[i]);
            other |= margins[i];
        }
        for (intptr_t i = 0; i < count && other < 0; i++) {
            block[i] = choose(is_power_of_zero(x[i], y[i]), 0, block[i]);
            margins[i] &= ~is_power_of_zero(x[i], y[i]);
        }
        for (intptr_t i = 0; i < count && other < 0; i++)
            if (margins[i] < 0)
                block[i] = pow(x[i], y[i]);
        memcpy((double *)to + at, block, (size_t)count * sizeof *block);
    }
}

#define EXPONENT_RUNS                                                                    \
    [MX_OP_exp] = float64_exp, [MX_OP_log] = float64_log, [MX_OP_power] = float64_power, \
    [MX_OP_float_power] = float64_power,
#else
#define EXPONENT_RUNS
#endif

/* -- Square roots; NumPy's loops compute 16 bytes at a time ---------------------------------
 */

#if defined(__AVX__)

#define ROOTS(type, element, root)                                                    \
    static void type##_sqrt(const void *from, const void *none, void *to, intptr_t n) \
    {                                                                                 \
        const element *x = from;                                                      \
        element *y = to;                                                              \
        (void)none;                                                                   \
        INDEPENDENT                                                                   \
        for (intptr_t i = 0; i < n; i++)                                              \
            y[i] = root(x[i]);                                                        \
    }

ROOTS(float32, float, sqrtf)
ROOTS(float64, double, sqrt)

#define ROOT(type) [MX_OP_sqrt] = type##_sqrt,
#else
#define ROOT(type)
#endif

/* -- float16 and bfloat16, computed in float32 as in NumPy and ml_dtypes ------------------ */

#define NARROW(function, nin, value, to_float, of_float)                            \
    static void function(const void *from, const void *other, void *to, intptr_t n) \
    {                                                                               \
        float a[MX_BLOCK], b[MX_BLOCK];                                             \
        for (intptr_t at = 0; at < n; at += MX_BLOCK) {                             \
            intptr_t count = smaller(n - at, MX_BLOCK);                             \
            to_float((const uint16_t *)from + at, a, count);                        \
            if (nin == 2)                                                           \
                to_float((const uint16_t *)other + at, b, count);                   \
            INDEPENDENT                                                             \
            for (intptr_t i = 0; i < count; i++)                                    \
                a[i] = value;                                                       \
            of_float(a, (uint16_t *)to + at, count);                                \
        }                                                                           \
    }

#define HALVES(name, nin, value) \
    NARROW(float16_##name, nin, value, mx_half_to_float, mx_half_of_float)
#define BFLOATS(name, nin, value) \
    NARROW(bfloat16_##name, nin, value, mx_bfloat_to_float, mx_bfloat_of_float)

/* If both operands are NaN, the result is the second one, as in the wheels of ml_dtypes. */
BFLOATS(add, 2, b[i] != b[i] ? b[i] : a[i] + b[i])
BFLOATS(subtract, 2, a[i] - b[i])
BFLOATS(multiply, 2, b[i] != b[i] ? b[i] : a[i] * b[i])
BFLOATS(divide, 2, a[i] / b[i])
BFLOATS(reciprocal, 1, 1.0f / a[i])
BFLOATS(sqrt, 1, sqrtf(a[i]))

/* Comparing NaN raises a condition here, as in ml_dtypes. */
#define ORDERS(name, is_ordered)                                                           \
    static void bfloat16_##name(const void *from, const void *other, void *to, intptr_t n) \
    {                                                                                      \
        float a[MX_BLOCK], b[MX_BLOCK];                                                    \
        for (intptr_t at = 0; at < n; at += MX_BLOCK) {                                    \
            intptr_t count = smaller(n - at, MX_BLOCK);                                    \
            uint8_t *out = (uint8_t *)to + at;                                             \
            mx_bfloat_to_float((const uint16_t *)from + at, a, count);                     \
            mx_bfloat_to_float((const uint16_t *)other + at, b, count);                    \
            INDEPENDENT                                                                    \
            for (intptr_t i = 0; i < count; i++)                                           \
                out[i] = a[i] is_ordered b[i];                                             \
        }                                                                                  \
    }

ORDERS(less, <)
ORDERS(less_equal, <=)
ORDERS(greater, >)
ORDERS(greater_equal, >=)

HALVES(add, 2, a[i] + b[i])
HALVES(subtract, 2, a[i] - b[i])
HALVES(multiply, 2, a[i] * b[i])
HALVES(divide, 2, a[i] / b[i])
HALVES(square, 1, a[i] * a[i])
HALVES(reciprocal, 1, 1.0f / a[i])
HALVES(sqrt, 1, sqrtf(a[i]))
HALVES(deg2rad, 1, a[i] * (3.14159265f / 180))
HALVES(rad2deg, 1, a[i] * (180 / 3.14159265f))

/* These kernels exist only where a single instruction rounds, also a signalling NaN. */
#if defined(__SSE4_1__) || defined(__aarch64__)
HALVES(rint, 1, rintf(a[i]))
HALVES(floor, 1, floorf(a[i]))
HALVES(ceil, 1, ceilf(a[i]))
HALVES(trunc, 1, truncf(a[i]))
#define ROUNDED FLOAT16(rint), FLOAT16(floor), FLOAT16(ceil), FLOAT16(trunc)
#else
#define ROUNDED
#endif

/* -- Quotients ----------------------------------------------------------------------------- */

/* Returns the nearest integer of a number of at most 2**51.  Loops of floor() have no vectors.
 */
static inline double nearest(double x) { return x + 0x1.8p52 - 0x1.8p52; }

static inline double floor_of(double x)
{
    double whole = nearest(x);
    return whole - choose(-(int64_t)__builtin_isgreater(whole, x), 1, 0);
}

/* Returns a zero with the sign of x / y. */
static inline double zero_of(double x, double y)
{
    return of_bits((bits_of(x) ^ bits_of(y)) & INT64_MIN);
}

/* Returns all bits set if a rest is not zero and its sign is not that of the divisor y. */
static inline int64_t is_moved(double y, double rest)
{
    return (bits_of(y) ^ bits_of(rest)) >> 63 & -(int64_t)(size_of(rest) != 0);
}

/* From the rest that has the sign of the dividend, these functions compute the remainder, which
 * has the sign of the divisor, and the quotient before and after it is rounded down.  As in
 * NumPy, each result is rounded to the type.  The divisor is not zero. */
#define DIVISION(type)                                                            \
    static inline double type##_remainder(double y, double rest)                  \
    {                                                                             \
        double moved = (type)(rest + choose(is_moved(y, rest), y, 0));            \
        return choose(-(int64_t)(size_of(rest) == 0), copysign(0, y), moved);     \
    }                                                                             \
                                                                                  \
    static inline double type##_quotient(double x, double y, double rest)         \
    {                                                                             \
        type quotient = (type)((type)(x - rest) / y);                             \
        return (type)(quotient - choose(is_moved(y, rest), 1, 0));                \
    }                                                                             \
                                                                                  \
    static inline double type##_whole(double quotient, double floor, double zero) \
    {                                                                             \
        bool is_above = __builtin_isgreater((type)(quotient - floor), 0.5);       \
        double whole = (type)(floor + choose(-(int64_t)is_above, 1, 0));          \
        return choose(-(int64_t)(size_of(quotient) == 0), zero, whole);           \
    }

/* The quotient x / y may underflow, so NumPy computes it only for the sign of a zero. */
#define FLOOR_DIVIDE(type, x, y, rest)                                            \
    type##_whole(type##_quotient(x, y, rest), floor(type##_quotient(x, y, rest)), \
                 type##_quotient(x, y, rest) == 0 ? copysign(0, (type)((x) / (y))) : 0)

/* The same for numbers of which no operation raises a condition. */
#define FAST_FLOOR_DIVIDE(type, x, y, rest)                                          \
    type##_whole(type##_quotient(x, y, rest), floor_of(type##_quotient(x, y, rest)), \
                 zero_of(x, y))

DIVISION(float)

/* Adds a divisor to a rest that is negative because the nearest integer was one too large. */
static inline double positive(double rest, double y)
{
    return rest + choose(-(int64_t)(bits_of(rest) < 0), y, 0);
}

/* No step has an error: float16 numbers are multiples of 2**-24 with at most 40 bits.  x is
 * finite, and y is neither zero nor NaN. */
static inline float half_fmod(float x, float y, int64_t *special)
{
    (void)special;
    double a = fabs((double)x), b = fabs((double)y), rest = a - nearest(a / b) * b;
    return copysignf((float)positive(rest, b), x);
}

/* Returns a negative number if a quotient may raise a condition: for NaN, infinities and zero
 * divisors. */
static inline int64_t float_margin(float x, float y)
{
    int32_t a, b;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &y, sizeof b);
    a &= INT32_MAX, b &= INT32_MAX;
    return (0x7f7fffff - a) | (0x7f7fffff - b) | (b - 1);
}

/* Computes the quotients of a block.  The C library computes them if one may raise a condition:
 * REST makes `special` negative if it finds that out itself. */
#define QUOTIENTS(name, type, REST, fmod, value, special_value, value_of_zero)          \
    static void name##_block(const type *x, const type *y, type *block, intptr_t count) \
    {                                                                                   \
        int64_t special = 0;                                                            \
        for (intptr_t i = 0; i < count; i++)                                            \
            special |= type##_margin(x[i], y[i]);                                       \
        const intptr_t n_regular = special < 0 ? 0 : count;                             \
        INDEPENDENT                                                                     \
        for (intptr_t i = 0; i < n_regular; i++) {                                      \
            type rest = REST(x[i], y[i], &special);                                     \
            block[i] = value;                                                           \
        }                                                                               \
        for (intptr_t i = 0; i < count && special < 0; i++) {                           \
            type rest = fmod(x[i], y[i]);                                               \
            block[i] = y[i] == 0 ? (value_of_zero) : (special_value);                   \
        }                                                                               \
    }

/* The block kernels of fmod, remainder and floor_divide of a dtype. */
#define QUOTIENTS_OF(name, type, REST, fmod)                                          \
    QUOTIENTS(name##_fmod, type, REST, fmod, rest, rest, rest)                        \
    QUOTIENTS(name##_remainder, type, REST, fmod, (type)type##_remainder(y[i], rest), \
              (type)type##_remainder(y[i], rest), rest)                               \
    QUOTIENTS(name##_floor_divide, type, REST, fmod,                                  \
              (type)FAST_FLOOR_DIVIDE(type, x[i], y[i], rest),                        \
              (type)FLOOR_DIVIDE(type, x[i], y[i], rest), x[i] / y[i])

#define HALF_BLOCKS(name)                                                       \
    static void name(const void *from, const void *other, void *to, intptr_t n) \
    {                                                                           \
        float a[MX_BLOCK], b[MX_BLOCK], block[MX_BLOCK];                        \
        for (intptr_t at = 0; at < n; at += MX_BLOCK) {                         \
            intptr_t count = smaller(n - at, MX_BLOCK);                         \
            mx_half_to_float((const uint16_t *)from + at, a, count);            \
            mx_half_to_float((const uint16_t *)other + at, b, count);           \
            name##_block(a, b, block, count);                                   \
            mx_half_of_float(block, (uint16_t *)to + at, count);                \
        }                                                                       \
    }

QUOTIENTS_OF(float16, float, half_fmod, fmodf)
HALF_BLOCKS(float16_fmod)
HALF_BLOCKS(float16_remainder)
HALF_BLOCKS(float16_floor_divide)

#if defined(__FMA__) || defined(__aarch64__)

DIVISION(double)

/* Magnitudes as bits.  Between SMALL and LARGE, 2**-500 and 2**500, no quotient of two numbers
 * overflows or underflows.  MANY is 2**51, and FEW is 2**-100. */
#define SMALL 0x20b0000000000000
#define LARGE 0x5f30000000000000
#define MANY  0x4320000000000000
#define FEW   0x39b0000000000000

/* Returns the rest of x / y for positive numbers with a rounded quotient of at most 2**51.  The
 * nearest integer is the number of multiples, or one more, which makes the difference negative.
 * The difference and the sum have no error: they are multiples of the unit in the last place of
 * the smaller number, and at most y. */
static inline double rest_of(double x, double y, double quotient)
{
    return positive(fused(-nearest(quotient), y, x), y);
}

/* The same as float_margin. */
static inline int64_t double_margin(double x, double y)
{
    int64_t a = size_of(x), b = size_of(y);
    return ((a - SMALL) & -(int64_t)(a != 0)) | (LARGE - a) | (b - SMALL) | (LARGE - b);
}

/* These return a negative number if a quotient is too large, or, for float32, if it may
 * underflow when it is rounded to float32. */
static inline int64_t double_range(double quotient) { return MANY - size_of(quotient); }

static inline int64_t float_range(double quotient)
{
    int64_t size = size_of(quotient);
    return ((size - FEW) & -(int64_t)(size != 0)) | (MANY - size);
}

/* Returns the rest of x / y, with the sign of x. */
#define REST(type, copysign)                                                       \
    static inline type type##_fmod(type x, type y, int64_t *special)               \
    {                                                                              \
        double a = fabs((double)x), b = fabs((double)y), quotient = a / b;         \
        int64_t range = type##_range(quotient);                                    \
        *special |= range;                                                         \
        return copysign((type)rest_of(a, b, choose(range >> 63, 0, quotient)), x); \
    }

REST(float, copysignf)
REST(double, copysign)

/* The output may be one of the inputs, so a block is copied when all of it is computed. */
#define BLOCKS(name, type)                                                                 \
    static void name(const void *from, const void *other, void *to, intptr_t n)            \
    {                                                                                      \
        type block[MX_BLOCK];                                                              \
        for (intptr_t at = 0; at < n; at += MX_BLOCK) {                                    \
            intptr_t count = smaller(n - at, MX_BLOCK);                                    \
            name##_block((const type *)from + at, (const type *)other + at, block, count); \
            memcpy((type *)to + at, block, (size_t)count * sizeof *block);                 \
        }                                                                                  \
    }

#define ALL_BLOCKS(name, type)     \
    BLOCKS(name##_fmod, type)      \
    BLOCKS(name##_remainder, type) \
    BLOCKS(name##_floor_divide, type)

QUOTIENTS_OF(float32, float, float_fmod, fmodf)
QUOTIENTS_OF(float64, double, double_fmod, fmod)
ALL_BLOCKS(float32, float)
ALL_BLOCKS(float64, double)

#define QUOTIENT_RUNS(type)                                           \
    [MX_OP_fmod] = type##_fmod, [MX_OP_remainder] = type##_remainder, \
    [MX_OP_floor_divide] = type##_floor_divide,
#else
#define QUOTIENT_RUNS(type)
#endif

/* -- float16, by its bits ------------------------------------------------------------------ */

static inline int16_t size_of_half(uint16_t half) { return (int16_t)(half & 0x7fff); }

/* Returns integers in the order of the numbers; the two zeros are equal. */
static inline int16_t rank(uint16_t half)
{
    int16_t size = size_of_half(half);
    return half & 0x8000 ? (int16_t)-size : size;
}

static inline bool is_nan(uint16_t half) { return size_of_half(half) > 0x7c00; }

static inline bool is_true(uint16_t half) { return size_of_half(half) != 0; }

static inline bool is_ordered(uint16_t x, uint16_t y) { return !is_nan(x) & !is_nan(y); }

#define BITS(name, type, value)                                                           \
    static void float16_##name(const void *from, const void *other, void *to, intptr_t n) \
    {                                                                                     \
        const uint16_t *x = from, *y = other;                                             \
        (void)y;                                                                          \
        type *out = to;                                                                   \
        INDEPENDENT                                                                       \
        for (intptr_t i = 0; i < n; i++)                                                  \
            out[i] = (type)(value);                                                       \
    }

BITS(less, uint8_t, is_ordered(x[i], y[i]) & (rank(x[i]) < rank(y[i])))
BITS(less_equal, uint8_t, is_ordered(x[i], y[i]) & (rank(x[i]) <= rank(y[i])))
BITS(greater, uint8_t, is_ordered(x[i], y[i]) & (rank(x[i]) > rank(y[i])))
BITS(greater_equal, uint8_t, is_ordered(x[i], y[i]) & (rank(x[i]) >= rank(y[i])))
BITS(equal, uint8_t, is_ordered(x[i], y[i]) & (rank(x[i]) == rank(y[i])))
BITS(not_equal, uint8_t, !is_ordered(x[i], y[i]) | (rank(x[i]) != rank(y[i])))
BITS(maximum, uint16_t,
     is_nan(x[i]) | (!is_nan(y[i]) & (rank(x[i]) >= rank(y[i]))) ? x[i] : y[i])
BITS(minimum, uint16_t,
     is_nan(x[i]) | (!is_nan(y[i]) & (rank(x[i]) <= rank(y[i]))) ? x[i] : y[i])
BITS(fmax, uint16_t, is_nan(y[i]) | (!is_nan(x[i]) & (rank(x[i]) >= rank(y[i]))) ? x[i] : y[i])
BITS(fmin, uint16_t, is_nan(y[i]) | (!is_nan(x[i]) & (rank(x[i]) <= rank(y[i]))) ? x[i] : y[i])

/* On arm64 NumPy converts both numbers, and that of fabs, which quiets a signaling NaN. */
#if defined(__aarch64__)
#define CONVERTED
#else

static inline uint16_t heaviside(uint16_t half, uint16_t at_zero)
{
    uint16_t step = half & 0x8000 ? 0 : 0x3c00;
    return is_nan(half) ? 0x7e00 : is_true(half) ? step : at_zero;
}

/* NumPy compares the first number as a float, which raises a condition for a signaling NaN. */
static void float16_heaviside(const void *from, const void *other, void *to, intptr_t n)
{
    const uint16_t *x = from, *y = other;
    uint16_t *out = to;
    bool signals = false;
    INDEPENDENT
    for (intptr_t i = 0; i < n; i++) {
        out[i] = heaviside(x[i], y[i]);
        signals |= is_nan(x[i]) & (size_of_half(x[i]) < 0x7e00);
    }
    if (signals)
        feraiseexcept(FE_INVALID);
}

BITS(fabs, uint16_t, size_of_half(x[i]))
#define CONVERTED FLOAT16(heaviside), FLOAT16(fabs),
#endif

BITS(negative, uint16_t, x[i] ^ 0x8000)
BITS(copysign, uint16_t, size_of_half(x[i]) | (y[i] & 0x8000))
BITS(sign, uint16_t, is_nan(x[i]) ? x[i] : is_true(x[i]) ? (x[i] & 0x8000) | 0x3c00 : 0)
BITS(signbit, uint8_t, x[i] >> 15)
BITS(isnan, uint8_t, is_nan(x[i]))
BITS(isinf, uint8_t, size_of_half(x[i]) == 0x7c00)
BITS(isfinite, uint8_t, size_of_half(x[i]) < 0x7c00)
BITS(logical_and, uint8_t, is_true(x[i]) & is_true(y[i]))
BITS(logical_or, uint8_t, is_true(x[i]) | is_true(y[i]))
BITS(logical_xor, uint8_t, is_true(x[i]) ^ is_true(y[i]))
BITS(logical_not, uint8_t, !is_true(x[i]))

#define FLOAT16(name) [MX_OP_##name] = float16_##name

#define BFLOAT16(name) [MX_OP_##name] = bfloat16_##name

const struct mx_native_kernels MX_ISA_NAME(mx_native_kernels) = {
    .float16 = {FLOAT16(add),
                FLOAT16(subtract),
                FLOAT16(multiply),
                FLOAT16(divide),
                FLOAT16(square),
                FLOAT16(reciprocal),
                FLOAT16(sqrt),
                FLOAT16(deg2rad),
                FLOAT16(rad2deg),
                [MX_OP_radians] = float16_deg2rad,
                [MX_OP_degrees] = float16_rad2deg,
                FLOAT16(fmod),
                FLOAT16(remainder),
                FLOAT16(floor_divide),
                FLOAT16(less),
                FLOAT16(less_equal),
                FLOAT16(greater),
                FLOAT16(greater_equal),
                FLOAT16(equal),
                FLOAT16(not_equal),
                FLOAT16(maximum),
                FLOAT16(minimum),
                FLOAT16(fmax),
                FLOAT16(fmin),
                CONVERTED FLOAT16(negative),
                FLOAT16(copysign),
                FLOAT16(sign),
                FLOAT16(signbit),
                FLOAT16(isnan),
                FLOAT16(isinf),
                FLOAT16(isfinite),
                FLOAT16(logical_and),
                FLOAT16(logical_or),
                FLOAT16(logical_xor),
                FLOAT16(logical_not),
                ROUNDED},
    .bfloat16 = {BFLOAT16(add), BFLOAT16(subtract), BFLOAT16(multiply), BFLOAT16(divide),
                 BFLOAT16(reciprocal), BFLOAT16(sqrt), BFLOAT16(less), BFLOAT16(less_equal),
                 BFLOAT16(greater), BFLOAT16(greater_equal)},
    .float32 = {[0] = NULL, ROOT(float32) QUOTIENT_RUNS(float32)},
    .float64 = {[0] = NULL, ROOT(float64) QUOTIENT_RUNS(float64) CIRCULAR_RUNS EXPONENT_RUNS},
};
