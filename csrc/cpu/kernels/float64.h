#pragma once
/* float64.h -- the bits of float64 numbers, for loops that compilers vectorize. */
#include <string.h>

#include "base/base.h"

static inline int64_t bits_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double of_bits(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline int64_t size_of(double x) { return bits_of(x) & INT64_MAX; }

/* Returns x if the mask has all bits set, and y if it has none.  From `?:` compilers would make
 * branches around the computation of x and y, and would then not vectorize it. */
static inline double choose(int64_t mask, double x, double y)
{
    return of_bits((bits_of(x) & mask) | (bits_of(y) & ~mask));
}

static inline double fused(double x, double y, double z) { return __builtin_fma(x, y, z); }
