#pragma once
/* half.h -- conversions between float16 and float32 for contiguous elements.
 *
 * Bits, also those of NaN, and floating-point conditions are NumPy's.  On arm64 NumPy uses the
 * processor's instructions.  Elsewhere it uses integer arithmetic: a signalling NaN stays one
 * and raises nothing, and an inexact result below the smallest normal number underflows even if
 * it is rounded up to that number.  Hardware differs in these two cases only, so blocks with
 * such elements are converted by integer arithmetic here too.
 */
#include <fenv.h>
#include <string.h>

#include "base/base.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

#define MX_HALF_BLOCK 256

static inline uint32_t mx_float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float mx_float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t mx_half_to_float_bits(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, size = half & 0x7fff;
    uint32_t normal = (size << 13) + (112u << 23);
    uint32_t subnormal = mx_float_bits((float)(int32_t)size * 0x1p-24f);
    uint32_t special = (size << 13) + (224u << 23); /* inf and NaN */
    return sign | (size < 0x0400 ? subnormal : size < 0x7c00 ? normal : special);
}

/* Adds 1 to *fpe_flags if the result underflows, and 2 if it overflows. */
static inline uint16_t mx_half_of_float_bits(uint32_t bits, uint32_t *fpe_flags)
{
    uint32_t sign = (bits >> 16) & 0x8000, size = bits & 0x7fffffff;
    /* Rounds to nearest, ties to even: by integer arithmetic, or by an addition that leaves
     * multiples of 2**-24. */
    uint32_t normal = (size - (112u << 23) + 0x0fff + ((size >> 13) & 1)) >> 13;
    uint32_t small = size < 0x38800000 ? size : 0;
    float sum = mx_float_of_bits(small) + 0.5f;
    uint32_t subnormal = mx_float_bits(sum) - 0x3f000000;
    uint32_t nan = 0x7c00 | ((size & 0x007fffff) >> 13);
    nan += nan == 0x7c00;
    bool inexact = sum - 0.5f != mx_float_of_bits(small);
    bool overflow = size >= 0x477ff000 && size < 0x7f800000;
    *fpe_flags |= (uint32_t)inexact | (uint32_t)overflow << 1;
    uint32_t half = size < 0x38800000   ? subnormal
                    : size < 0x477ff000 ? normal
                    : size > 0x7f800000 ? nan
                                        : 0x7c00;
    return (uint16_t)(sign | half);
}

static inline void mx_half_raise(uint32_t fpe_flags)
{
    if (fpe_flags)
        feraiseexcept((fpe_flags & 1 ? FE_UNDERFLOW : 0) | (fpe_flags & 2 ? FE_OVERFLOW : 0));
}

#if defined(__aarch64__)

static inline bool mx_half_keeps_nan(const uint16_t *x, intptr_t n)
{
    (void)x, (void)n;
    return false;
}

static inline void mx_half_to_float(const uint16_t *x, float *y, intptr_t n)
{
    for (intptr_t i = 0; i < n; i++) {
        __fp16 half;
        memcpy(&half, &x[i], sizeof half);
        y[i] = (float)half;
    }
}

#define MX_HALF_OF(type)                                                         \
    static inline void mx_half_of_##type(const type *x, uint16_t *y, intptr_t n) \
    {                                                                            \
        for (intptr_t i = 0; i < n; i++) {                                       \
            const __fp16 half = (__fp16)x[i];                                    \
            memcpy(&y[i], &half, sizeof half);                                   \
        }                                                                        \
    }
MX_HALF_OF(float)
MX_HALF_OF(double)
#undef MX_HALF_OF

#else

/* Returns whether one of the elements is a signalling NaN, which NumPy keeps. */
static inline bool mx_half_keeps_nan(const uint16_t *x, intptr_t n)
{
    uint16_t signalling = 0;
    for (intptr_t i = 0; i < n; i++)
        signalling |= (uint16_t)((x[i] & 0x7fff) - 0x7c01) < 0x01ff;
    return signalling;
}

static inline void mx_half_to_float(const uint16_t *x, float *y, intptr_t n)
{
    intptr_t i = 0;
#if defined(__F16C__)
    while (i + 16 <= n) {
        intptr_t end = n - i < MX_HALF_BLOCK ? n - (n - i) % 16 : i + MX_HALF_BLOCK;
        if (mx_half_keeps_nan(x + i, end - i)) {
            for (; i < end; i++)
                y[i] = mx_float_of_bits(mx_half_to_float_bits(x[i]));
            continue;
        }
#if defined(__AVX512F__)
        for (; i < end; i += 16)
            _mm512_storeu_ps(y + i,
                             _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(x + i))));
#else
        for (; i < end; i += 8)
            _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
#endif
    }
#endif
    for (; i < n; i++)
        y[i] = mx_float_of_bits(mx_half_to_float_bits(x[i]));
}

static inline void mx_half_of_float(const float *x, uint16_t *y, intptr_t n)
{
    uint32_t fpe_flags = 0;
    intptr_t i = 0;
#if defined(__F16C__)
    while (i + 16 <= n) {
        intptr_t end = n - i < MX_HALF_BLOCK ? n - (n - i) % 16 : i + MX_HALF_BLOCK;
        uint32_t special = 0;
        for (intptr_t k = i; k < end; k++) {
            uint32_t size = mx_float_bits(x[k]) & 0x7fffffff;
            special |= (uint32_t)(size - 0x387ff000 < 0x1000) | (uint32_t)(size > 0x7f800000);
        }
        if (special) {
            for (; i < end; i++)
                y[i] = mx_half_of_float_bits(mx_float_bits(x[i]), &fpe_flags);
            continue;
        }
#if defined(__AVX512F__)
        for (; i < end; i += 16)
            _mm256_storeu_si256((__m256i *)(y + i), _mm512_cvtps_ph(_mm512_loadu_ps(x + i),
                                                                    _MM_FROUND_TO_NEAREST_INT));
#else
        for (; i < end; i += 8)
            _mm_storeu_si128((__m128i *)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i),
                                                                 _MM_FROUND_TO_NEAREST_INT));
#endif
    }
#endif
    for (; i < n; i++)
        y[i] = mx_half_of_float_bits(mx_float_bits(x[i]), &fpe_flags);
    mx_half_raise(fpe_flags);
}

/* Converts by way of float32 rounded to odd, which keeps the bits that the second rounding and
 * NaN need. */
static inline void mx_half_of_double(const double *x, uint16_t *y, intptr_t n)
{
    uint32_t fpe_flags = 0;
    for (intptr_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        uint64_t size = bits & 0x7fffffffffffffff;
        uint64_t odd = ((size >> 29) - ((uint64_t)896 << 23)) | ((size & 0x1fffffff) != 0);
        uint64_t special = 0x7f800000 | ((size >> 29) & 0x007fffff) | ((size << 12) != 0);
        uint64_t single = size >= 0x7ff0000000000000   ? special
                          : size >= 0x4100000000000000 ? 0x48000000  /* overflows */
                          : size < 0x3e50000000000000  ? (size != 0) /* underflows */
                                                       : odd;
        y[i] = mx_half_of_float_bits((uint32_t)(bits >> 32 & 0x80000000) | (uint32_t)single,
                                     &fpe_flags);
    }
    mx_half_raise(fpe_flags);
}

#endif
