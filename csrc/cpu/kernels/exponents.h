#pragma once
/* exponents.h -- exp of float64 with the bits of the C library on Linux, which NumPy calls.
 *
 * The method is the one that glibc has from version 2.28 on, by Szabolcs Nagy, from Arm's
 * Optimized Routines: a table of powers of two, and a polynomial.  The bits depend on the order
 * of the operations and on which of them are fused.  These are the fused ones of the variant
 * that glibc selects on processors with FMA.  native_loops.c makes sure that the bits agree.
 */
#include "cpu/kernels/float64.h"

/* 2**(k/128) is of_bits(bits + (k << 45)) * (1 + rest), for row k of the table. */
struct mx_power {
    int64_t bits;
    double rest;
};

extern const struct mx_power mx_powers[128];

/* Magnitudes as bits, 2**-54 and 512. */
#define EXP_LEAST 0x3c90000000000000
#define EXP_LIMIT 0x4080000000000000

/* Returns a negative number for all magnitudes but those from EXP_LEAST to EXP_LIMIT. */
static inline int64_t exponential_margin(double x)
{
    return (size_of(x) - EXP_LEAST) | (EXP_LIMIT - 1 - size_of(x));
}

/* Returns exp(x + rest) for zero and for magnitudes of x with a margin, and a rest that is
 * small beside x.  x is n * log(2)/128 + r, where |r| <= log(2)/256 and where log(2)/128 has
 * two parts, so that n times the first is exact. */
static inline double exponential_of_sum(double x, double rest)
{
    const double magic = 0x1.8p52; /* adding it rounds a number to an integer */
    double sum = fused(x, 0x1.71547652b82fep+7, magic), n = sum - magic;
    double r = fused(n, -0x1.cf79abc9e3b3ap-47, fused(n, -0x1.62e42fefa0000p-8, x)) + rest;

    const struct mx_power *power = &mx_powers[bits_of(sum) & 127];
    double scale = of_bits((int64_t)((uint64_t)power->bits + ((uint64_t)bits_of(sum) << 45)));
    double low = fused(r, 0x1.555555555543cp-3, 0x1.ffffffffffdbdp-2);
    double high = fused(r, 0x1.1111167a4d017p-7, 0x1.55555cf172b91p-5);
    double z = r * r, sum_of_low = fused(z, low, power->rest + r);
    return fused(scale, fused(z * z, high, sum_of_low), scale);
}

/* Returns exp(x) for the same x.  The sum with -0 changes no bit, so compilers leave it out. */
static inline double exponential(double x) { return exponential_of_sum(x, -0.0); }
