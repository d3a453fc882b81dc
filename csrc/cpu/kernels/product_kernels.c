/* product_kernels.c -- products of small matrices.
 *
 * A vector has a part of a row of the result.  Four or eight rows are computed together, since
 * each of their sums depends on the sum before.
 */
#include "cpu/kernels/product_kernels.h"

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <float.h>
#include <immintrin.h>

/* The elements of a vector that a row has: the others are neither read nor written.  They must
 * not meet floating-point conditions of their own. */
#if defined(__AVX512F__)

#define NOT_FINITE 0x99 /* infinities, quiet and signaling NaN */

typedef __m512d float64_vector;
typedef __m512 float32_vector;
typedef __mmask8 float64_mask;
typedef __mmask16 float32_mask;

#define MASK(name, width)                                               \
    static inline name##_mask name##_first(intptr_t n)                  \
    {                                                                   \
        return (name##_mask)((1u << (n < (width) ? n : (width))) - 1u); \
    }
MASK(float64, 8)
MASK(float32, 16)

#define float64_zero()              _mm512_setzero_pd()
#define float32_zero()              _mm512_setzero_ps()
#define float64_all(x)              _mm512_set1_pd(x)
#define float32_all(x)              _mm512_set1_ps(x)
#define float64_load(at, m)         _mm512_maskz_loadu_pd(m, at)
#define float32_load(at, m)         _mm512_maskz_loadu_ps(m, at)
#define float64_store(at, m, x)     _mm512_mask_storeu_pd(at, m, x)
#define float32_store(at, m, x)     _mm512_mask_storeu_ps(at, m, x)
#define float64_fused(x, y, sum, m) _mm512_mask3_fmadd_pd(x, y, sum, m)
#define float32_fused(x, y, sum, m) _mm512_mask3_fmadd_ps(x, y, sum, m)
#define float64_overflows(x)        (_mm512_fpclass_pd_mask(x, NOT_FINITE) != 0)
#define float32_overflows(x)        (_mm512_fpclass_ps_mask(x, NOT_FINITE) != 0)

#else

typedef __m256d float64_vector;
typedef __m256 float32_vector;
typedef __m256i float64_mask, float32_mask;

/* The array has ones for a whole vector, then zeros.  A load that begins `width - n` elements
 * from its start selects the first n. */
#define MASK(name, type, width, ...)                                                       \
    static inline name##_mask name##_first(intptr_t n)                                     \
    {                                                                                      \
        static const type bits[2 * (width)] = {__VA_ARGS__};                               \
        return _mm256_loadu_si256((const void *)(bits + (n < (width) ? (width) - n : 0))); \
    }
MASK(float64, int64_t, 4, -1, -1, -1, -1)
MASK(float32, int32_t, 8, -1, -1, -1, -1, -1, -1, -1, -1)

#define float64_zero() _mm256_setzero_pd()
#define float32_zero() _mm256_setzero_ps()
#define float64_all(x) _mm256_set1_pd(x)
#define float32_all(x) _mm256_set1_ps(x)
#define float64_load(at, m) \
    _mm256_blendv_pd(_mm256_broadcast_sd(at), _mm256_maskload_pd(at, m), _mm256_castsi256_pd(m))
#define float32_load(at, m) \
    _mm256_blendv_ps(_mm256_broadcast_ss(at), _mm256_maskload_ps(at, m), _mm256_castsi256_ps(m))
#define float64_store(at, m, x)     _mm256_maskstore_pd(at, m, x)
#define float32_store(at, m, x)     _mm256_maskstore_ps(at, m, x)
#define float64_fused(x, y, sum, m) _mm256_fmadd_pd(x, y, sum)
#define float32_fused(x, y, sum, m) _mm256_fmadd_ps(x, y, sum)
#define float64_overflows(x)                                                     \
    (_mm256_movemask_pd(_mm256_cmp_pd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), x), \
                                      _mm256_set1_pd(DBL_MAX), _CMP_NLE_UQ)) != 0)
#define float32_overflows(x)                                                      \
    (_mm256_movemask_ps(_mm256_cmp_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x), \
                                      _mm256_set1_ps(FLT_MAX), _CMP_NLE_UQ)) != 0)

#endif

/* Computes some rows of one vector each.  Strides count elements. */
#define ROWS(name, type, count)                                                      \
    static inline __attribute__((always_inline)) bool name##_rows_##count(           \
        const type *a, intptr_t row, intptr_t column, const type *b, intptr_t b_row, \
        type *out, intptr_t inner, intptr_t columns, name##_mask mask)               \
    {                                                                                \
        name##_vector sums[count];                                                   \
        bool overflows = false;                                                      \
        for (int i = 0; i < (count); i++)                                            \
            sums[i] = name##_zero();                                                 \
        for (intptr_t k = 0; k < inner; k++) {                                       \
            name##_vector y = name##_load(b + k * b_row, mask);                      \
            for (int i = 0; i < (count); i++) {                                      \
                name##_vector x = name##_all(a[i * row + k * column]);               \
                sums[i] = name##_fused(x, y, sums[i], mask);                         \
            }                                                                        \
        }                                                                            \
        for (int i = 0; i < (count); i++) {                                          \
            overflows |= name##_overflows(sums[i]);                                  \
            name##_store(out + i * columns, mask, sums[i]);                          \
        }                                                                            \
        return overflows;                                                            \
    }

#define CASE(name, count)                                                                      \
    case count:                                                                                \
        overflows |= name##_rows_##count(a, row, column, b, b_row, out, inner, columns, mask); \
        break;

/* Computes the rows of one vector each, of which there are up to MX_MOST_SIDE. */
#define PRODUCTS(name, type)                                                                  \
    ROWS(name, type, 2)                                                                       \
    ROWS(name, type, 3)                                                                       \
    ROWS(name, type, 4)                                                                       \
    ROWS(name, type, 5)                                                                       \
    ROWS(name, type, 6)                                                                       \
    ROWS(name, type, 7)                                                                       \
    ROWS(name, type, 8)                                                                       \
    static bool name##_products(const struct mx_products *p, intptr_t begin, intptr_t end)    \
    {                                                                                         \
        enum { WIDTH = sizeof(name##_vector) / sizeof(type), SIZE = sizeof(type) };           \
        const intptr_t row = p->a_row / SIZE, column = p->a_column / SIZE;                    \
        const intptr_t inner = p->inner, columns = p->columns;                                \
        const bool is_packed = p->b_column == SIZE;                                           \
        type packed[MX_MOST_SIDE * MX_MOST_SIDE];                                             \
        bool overflows = false;                                                               \
        for (intptr_t n = begin; n < end; n++) {                                              \
            const type *a = (const type *)(const void *)(p->a + n * p->a_step);               \
            const char *from = p->b + n * p->b_step;                                          \
            const type *b_rows = is_packed ? (const type *)(const void *)from : packed;       \
            const intptr_t b_row = is_packed ? p->b_row / SIZE : columns;                     \
            type *to = (type *)(void *)p->out + n * p->rows * columns;                        \
            for (intptr_t k = 0; k < inner && !is_packed; k++)                                \
                for (intptr_t j = 0; j < columns; j++)                                        \
                    packed[k * columns + j] =                                                 \
                        *(const type *)(const void *)(from + k * p->b_row + j * p->b_column); \
            for (intptr_t j = 0; j < columns; j += WIDTH) {                                   \
                const name##_mask mask = name##_first(columns - j);                           \
                const type *b = b_rows + j;                                                   \
                type *out = to + j;                                                           \
                switch (p->rows) {                                                            \
                    CASE(name, 2)                                                             \
                    CASE(name, 3)                                                             \
                    CASE(name, 4)                                                             \
                    CASE(name, 5)                                                             \
                    CASE(name, 6)                                                             \
                    CASE(name, 7)                                                             \
                    CASE(name, 8)                                                             \
                }                                                                             \
            }                                                                                 \
        }                                                                                     \
        return !overflows;                                                                    \
    }
PRODUCTS(float32, float)
PRODUCTS(float64, double)

const struct mx_product_kernels MX_ISA_NAME(mx_product_kernels) = {
    .float32 = float32_products,
    .float64 = float64_products,
};

#else

const struct mx_product_kernels MX_ISA_NAME(mx_product_kernels) = {NULL, NULL};

#endif
