#pragma once
/* logarithms.h -- log of float64 with the bits of the C library on Linux, which NumPy calls.
 *
 * The method and its numbers are those that glibc has from version 2.28 on, by Szabolcs Nagy,
 * from Arm's Optimized Routines: a table of logarithms and a polynomial, and another polynomial
 * close to 1.  As in exponents.h, the order of the operations and the fused ones determine the
 * bits, and native_loops.c makes sure that they agree.
 */
#include "cpu/kernels/float64.h"

/* A number c as 1/c and log(c), for a row of 128.  The rows from 0.6875 to 1 are half as wide
 * as those from 1 to 1.375. */
struct mx_logarithm {
    double inverse, value;
};

extern const struct mx_logarithm mx_logarithms[128];

/* Positive numbers as bits: normal ones, and those of the polynomial close to 1. */
#define LOG_LEAST 0x0010000000000000U
#define LOG_LIMIT 0x7ff0000000000000U
#define LOG_CLOSE 0x3fee000000000000U /* 0.9375 */
#define LOG_APART 0x3ff1090000000000U /* 1.064697265625 */

/* Returns a negative number for all but positive, normal and finite numbers.  The differences
 * wrap for negative numbers; one of the two is negative then. */
static inline int64_t logarithm_margin(double x)
{
    uint64_t bits = (uint64_t)bits_of(x);
    return (int64_t)((bits - LOG_LEAST) | (LOG_LIMIT - 1 - bits));
}

/* Returns a negative number for all but numbers close to 1. */
static inline int64_t closeness(double x)
{
    uint64_t bits = (uint64_t)bits_of(x);
    return (int64_t)((bits - LOG_CLOSE) | (LOG_APART - 1 - bits));
}

/* Returns the bits of x with 1023 more than n as exponent, where x is 2**n times a number from
 * 0.6875 to 1.375. */
static inline uint64_t shifted(double x) { return (uint64_t)bits_of(x) + 0x000a000000000000; }

/* Returns the row of the table for a number with a margin. */
static inline int row_of_logarithm(double x) { return (int)(shifted(x) >> 45 & 127); }

/* Returns log(x) for a number with a margin, which is 2**n (1 + r) c for the row's number c,
 * with |r| < 2**-8.  No x raises a condition.  log(2) has two parts, so that n times the first
 * is exact, and so is its sum with log(c). */
static inline double logarithm(double x, struct mx_logarithm row)
{
    uint64_t exponent = shifted(x) >> 52;
    double n = of_bits((int64_t)(exponent | 0x4330000000000000)) - (0x1p52 + 1023);
    double part = of_bits((int64_t)((uint64_t)bits_of(x) - ((exponent - 1023) << 52)));
    double r = fused(part, row.inverse, -1), z = r * r;

    double whole = fused(n, 0x1.62e42fefa3800p-1, row.value), sum = whole + r;
    double rest = fused(n, 0x1.ef35793c76730p-45, whole - sum + r);
    double low = fused(r, -0x1.fffffffeb4590p-3, 0x1.555555551305bp-2);
    double high = fused(r, -0x1.55575e506c89fp-3, 0x1.999b324f10111p-3);
    rest = fused(z, -0x1.0000000000001p-1, rest);
    return fused(r * z, fused(z, high, low), rest) + sum;
}

/* Returns log(x) for a number close to 1.  r - r*r/2 has two parts, from a number of 26 bits
 * that is close to r and has an exact square. */
static inline double logarithm_close_to_1(double x)
{
    double r = x - 1, z = r * r, cube = r * z;
    double low = fused(r, -0x1.ffffffffffdcbp-3, 0x1.5555555555577p-2);
    double middle = fused(r, 0x1.24924a344de30p-3, -0x1.55555556745a7p-3);
    double high = fused(r, -0x1.999eb43b068ffp-4, 0x1.c7184282ad6cap-4);
    low = fused(z, 0x1.999999995dd0cp-3, low);
    middle = fused(z, -0x1.fffffa4423d65p-4, middle);
    high = fused(cube, -0x1.5521375d145cdp-4, fused(z, 0x1.78182f7afd085p-4, high));
    double tail = fused(fused(high, cube, middle), cube, low);

    double most = fused(-0x1p27, r, fused(r, 0x1p27, r)), square = most * most;
    double sum = fused(square, -0.5, r), rest = fused(square, -0.5, r - sum);
    rest = fused(-0.5 * (r - most), r + most, rest);
    return fused(tail, cube, rest) + sum;
}
