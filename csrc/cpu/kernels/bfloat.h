#pragma once
/* bfloat.h -- conversions between float32 and bfloat16, its upper half, for contiguous
 * elements.
 *
 * Numbers are rounded to nearest, ties to even, by integer arithmetic.  Every NaN becomes the
 * quiet NaN of its sign, as in ml_dtypes.  Only a signalling NaN raises a condition.
 */
#include <fenv.h>
#include <string.h>

#include "base/base.h"

static inline uint16_t mx_bfloat_of_float_bits(uint32_t bits)
{
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t nan = (bits >> 16 & 0x8000) | 0x7fc0;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

static inline void mx_bfloat_to_float(const uint16_t *x, float *y, intptr_t n)
{
    for (intptr_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)x[i] << 16;
        memcpy(&y[i], &bits, sizeof bits);
    }
}

static inline void mx_bfloat_of_float(const float *x, uint16_t *y, intptr_t n)
{
    uint32_t signalling = 0;
    for (intptr_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        signalling |= (uint32_t)((bits & 0x7fffffff) - 0x7f800001 < 0x3fffff);
        y[i] = mx_bfloat_of_float_bits(bits);
    }
    if (signalling)
        feraiseexcept(FE_INVALID);
}
