#pragma once
/* powers.h -- pow of float64 with the bits of the C library on Linux, which NumPy calls.
 *
 * The method and its numbers are those that glibc has from version 2.28 on, by Szabolcs Nagy,
 * from Arm's Optimized Routines: the logarithm of the base in two parts, from a table and a
 * polynomial, times the exponent, and the exponential of the product.  As in exponents.h, the
 * order of the operations and the fused ones determine the bits, and native_loops.c makes sure
 * that they agree.
 */
#include "cpu/kernels/exponents.h"

/* A number c as 1/c and log(c) in two parts, for a row of 128. */
struct mx_fine_logarithm {
    double inverse, value, rest;
};

extern const struct mx_fine_logarithm mx_fine_logarithms[128];

/* Magnitudes as bits: the least number of the first row, which is near the square root of 1/2;
 * normal bases; and exponents whose products neither overflow nor underflow, 2**-65 and 2**63.
 * WHOLE_LIMIT, 2**51, is the largest exponent of which is_whole finds out whether it is one. */
#define POW_FIRST      0x3fe6955500000000U
#define BASE_LEAST     0x0010000000000000
#define BASE_LIMIT     0x7ff0000000000000
#define EXPONENT_LEAST 0x3be0000000000000
#define EXPONENT_LIMIT 0x43e0000000000000
#define WHOLE_LIMIT    0x4320000000000000

/* Returns a negative number for all magnitudes of bases but normal and finite ones. */
static inline int64_t base_margin(double x)
{
    return (size_of(x) - BASE_LEAST) | (BASE_LIMIT - 1 - size_of(x));
}

/* Returns an exponent, or 0 if a product with it may overflow or underflow.  Powers of normal
 * bases with the least exponents are 1. */
static inline double moderate(double y)
{
    int64_t margin = (size_of(y) - EXPONENT_LEAST) | (EXPONENT_LIMIT - 1 - size_of(y));
    return choose(~(margin >> 63), y, 0);
}

/* Returns the bits of |x| with 1024 more than n as exponent, where |x| is 2**n times a number
 * of the rows. */
static inline uint64_t shifted_base(double x)
{
    return (uint64_t)size_of(x) + (0x4000000000000000U - POW_FIRST);
}

/* Returns the row of the table for a base. */
static inline int row_of_base(double x) { return (int)(shifted_base(x) >> 45 & 127); }

/* A number in two parts, of which the first is the rounded number. */
struct mx_sum {
    double most, rest;
};

/* Returns log(|x|) for a base with a margin, which is 2**n (1 + r) c for the row's number c,
 * with |r| < 0.006.  No x raises a condition.  Each step keeps what rounding its sum left out.
 */
static inline struct mx_sum fine_logarithm(double x, struct mx_fine_logarithm row)
{
    uint64_t exponent = shifted_base(x) >> 52;
    double n = of_bits((int64_t)(exponent | 0x4330000000000000)) - (0x1p52 + 1024);
    double part = of_bits((int64_t)((uint64_t)size_of(x) - ((exponent - 1024) << 52)));
    double r = fused(part, row.inverse, -1);

    double whole = fused(n, 0x1.62e42fefa3800p-1, row.value), sum = whole + r;
    double half = -0.5 * r, square = r * half, cube = r * square, most = sum + square;
    double rest = fused(n, 0x1.ef35793c76730p-45, row.rest) + (whole - sum + r);
    rest = rest + fused(half, r, -square) + (sum - most + square);

    double low = fused(r, 0x1.0000000000006p-1, -0x1.5555555555560p-1);
    double middle = fused(r, -0x1.555555529a47ap-1, 0x1.999999959554ep-1);
    double high = fused(r, 0x1.0002b8b263fc3p+0, -0x1.2495b9b4845e9p+0);
    rest = fused(cube, fused(square, fused(square, high, middle), low), rest);
    double value = most + rest;
    return (struct mx_sum){value, most - value + rest};
}

/* Returns y * log(|x|) for a base with a margin and a moderate exponent. */
static inline struct mx_sum log_of_power(double x, double y, struct mx_fine_logarithm row)
{
    struct mx_sum log = fine_logarithm(x, row);
    double product = y * log.most, error = fused(y, log.most, -product);
    return (struct mx_sum){product, fused(y, log.rest, error)};
}

/* Returns |x|**y from the parts of its logarithm, or 1 if that has no margin. */
static inline double magnitude_of_power(double most, double rest)
{
    int64_t mask = ~(exponential_margin(most) >> 63);
    return exponential_of_sum(choose(mask, most, 0), choose(mask, rest, 0));
}

/* Returns all bits set if y is an integer of at most WHOLE_LIMIT, and otherwise none. */
static inline int64_t is_whole(double y)
{
    int64_t mask = -(int64_t)(size_of(y) <= WHOLE_LIMIT);
    double size = choose(mask, of_bits(size_of(y)), 0.5);
    return -(int64_t)(bits_of(size + 0x1p52 - 0x1p52) == bits_of(size));
}

/* Returns a power of |x| with the sign of that of x, for an exponent that is whole. */
static inline double with_sign(double power, double x, double y)
{
    uint64_t is_odd = (uint64_t)bits_of(moderate(y) + 0x1.8p52) << 63;
    return of_bits(bits_of(power) ^ (int64_t)(is_odd & (uint64_t)bits_of(x)));
}

/* Returns a negative number if the C library has to compute |x|**y: for zero, subnormal
 * numbers, infinities and NaN, and for powers that overflow or underflow, or nearly do.  `most`
 * is the first part of the power's logarithm. */
static inline int64_t power_margin(double x, double y, double most)
{
    return base_margin(x) | (EXPONENT_LIMIT - 1 - size_of(y)) | (EXP_LIMIT - 1 - size_of(most));
}

/* Returns a negative number if x is negative and y is not whole. */
static inline int64_t sign_margin(double x, double y) { return bits_of(x) & ~is_whole(y); }

/* Returns all bits set if x is 0, without a sign, and y is above 0: the power is 0. */
static inline int64_t is_power_of_zero(double x, double y)
{
    bool is_positive = (bits_of(y) > 0) & (bits_of(y) <= BASE_LIMIT);
    return -(int64_t)((bits_of(x) == 0) & is_positive);
}
