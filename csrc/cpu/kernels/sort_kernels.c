/* sort_kernels.c -- kernels of sorts and partitions; compiled for each instruction set: see
 * isa.h.
 */
#include "cpu/kernels/sort_kernels.h"

#include <string.h>

typedef uint16_t half;
typedef struct {
    float real, imag;
} pair32;
typedef struct {
    double real, imag;
} pair64;

/* -- Order ------------------------------------------------------------------------- */

#define IS_NAN(x)     ((x) != (x))
#define IS_ORDERED(x) ((x) == (x))
#define ALWAYS(x)     ((void)(x), 1)

/* Whether `a` comes before b; then the same if b is a splitter, and if `a` is one. */
#define IS_LESS(a, b)    ((a) < (b))
#define FLOAT_LESS(a, b) (((a) < (b)) | (IS_NAN(b) & !IS_NAN(a)))
#define IS_ABOVE(a, b)   (!((b) <= (a)))
#define HALF_LESS(a, b)  (half_rank(a) < half_rank(b))
#define COMPLEX_LESS(a, b)   \
    ((NANS(a) < NANS(b)) |   \
     ((NANS(a) == NANS(b)) & \
      (((a).real < (b).real) | (!((b).real < (a).real) & ((a).imag < (b).imag)))))
#define NANS(x) (2 * IS_NAN((x).real) + IS_NAN((x).imag))

static inline int half_rank(half x)
{
    int size = x & 0x7fff;
    return size > 0x7c00 ? 0x8000 : x & 0x8000 ? -size : size;
}

/* -- Hashes ------------------------------------------------------------------------ */

static inline uint64_t mix(uint64_t bits)
{
    bits = (bits ^ bits >> 32) * 0xd6e8feb86659fd93u;
    bits = (bits ^ bits >> 32) * 0xd6e8feb86659fd93u;
    return bits ^ bits >> 32;
}

static inline uint64_t double_bits(double x)
{
    uint64_t bits;
    x = IS_NAN(x) ? 0x1p-1073 : x + 0.0; /* one NaN, one zero */
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

#define INTEGER_HASH(x) mix((uint64_t)(x))
#define FLOAT_HASH(x)   mix(double_bits((double)(x)))
#define HALF_HASH(x)    mix((uint64_t)(int64_t)half_rank(x))
#define COMPLEX_HASH(x) mix(FLOAT_HASH((x).real) * 3 + double_bits((double)(x).imag))

/* -- Kernels ----------------------------------------------------------------------- */

#define TOGETHER 512 /* elements whose buckets are found together */

#define KERNELS(name, type, counter, LESS, BEFORE, BEHIND, IS_NUMBER, HASH)                    \
    static unsigned compare_##name(const void *elements, intptr_t n)                           \
    {                                                                                          \
        const type *x = elements;                                                              \
        unsigned found = 0;                                                                    \
        for (intptr_t i = 1; i < n; i++) {                                                     \
            const _Bool rises = LESS(x[i - 1], x[i]), falls = LESS(x[i], x[i - 1]);            \
            found |= (rises ? MX_RISES : 0u) | (falls ? MX_FALLS : 0u);                        \
            found |= rises || falls ? 0u : MX_STAYS;                                           \
        }                                                                                      \
        return found;                                                                          \
    }                                                                                          \
    static void take_##name(const void *elements, const int64_t *positions, intptr_t n,        \
                            void *outv)                                                        \
    {                                                                                          \
        const type *x = elements;                                                              \
        type *out = outv;                                                                      \
        for (intptr_t i = 0; i < n; i++)                                                       \
            out[i] = x[positions[i]];                                                          \
    }                                                                                          \
    static void hash_##name(const void *elements, intptr_t n, intptr_t step, uint64_t *hashes) \
    {                                                                                          \
        const type *x = elements;                                                              \
        for (intptr_t i = 0; i < n; i++)                                                       \
            hashes[i] = HASH(x[i * step]);                                                     \
    }                                                                                          \
    static _Bool is_number_##name(const void *element)                                         \
    {                                                                                          \
        return IS_NUMBER(*(const type *)element);                                              \
    }                                                                                          \
    static void classify_##name(const void *elements, intptr_t n, const void *splitters,       \
                                int n_splitters, uint8_t *buckets)                             \
    {                                                                                          \
        const type *x = elements, *v = splitters;                                              \
        for (intptr_t first = 0; first < n; first += TOGETHER) {                               \
            const int count = n - first < TOGETHER ? (int)(n - first) : TOGETHER;              \
            counter bucket[TOGETHER] = {0};                                                    \
            for (int j = 0; j < n_splitters; j++)                                              \
                for (int i = 0; i < count; i++)                                                \
                    bucket[i] = (counter)(bucket[i] + BEHIND(v[j], x[first + i]) +             \
                                          !BEFORE(x[first + i], v[j]));                        \
            for (int i = 0; i < count; i++)                                                    \
                buckets[first + i] = (uint8_t)bucket[i];                                       \
        }                                                                                      \
    }                                                                                          \
    static inline void move_##name(const struct mx_sort_move *move, int lane, intptr_t i)      \
    {                                                                                          \
        intptr_t at = move->to[lane * move->n_buckets + move->buckets[i]]++;                   \
        ((type *)move->elements_to)[at] = ((const type *)move->elements)[i];                   \
        if (move->places)                                                                      \
            move->places_to[at] = move->places[i];                                             \
    }                                                                                          \
    static void distribute_##name(const struct mx_sort_move *given, intptr_t n)                \
    {                                                                                          \
        const struct mx_sort_move move = *given;                                               \
        const intptr_t in_lane = n / MX_SORT_LANES;                                            \
        for (intptr_t i = 0; i < in_lane; i++)                                                 \
            for (int lane = 0; lane < MX_SORT_LANES; lane++)                                   \
                move_##name(&move, lane, lane * in_lane + i);                                  \
        for (intptr_t i = MX_SORT_LANES * in_lane; i < n; i++)                                 \
            move_##name(&move, MX_SORT_LANES - 1, i);                                          \
    }

/* -- Elements that are equal, but not the same --------------------------------------- */

#define INSPECT(name, bits_type, sign, infinity, n_parts)                               \
    static void inspect_##name(const void *elements, intptr_t n,                        \
                               struct mx_sort_finding *finding)                         \
    {                                                                                   \
        const bits_type *x = elements;                                                  \
        bits_type zero = 0, negative = 0, all = (bits_type) - 1, any = 0;               \
        for (intptr_t i = 0; i < n * (n_parts); i++) {                                  \
            bits_type bits = x[i], nan = (bits_type) - ((bits & ~(sign)) > (infinity)); \
            zero |= bits == 0;                                                          \
            negative |= bits == (sign);                                                 \
            all &= (bits_type)(bits | ~nan);                                            \
            any |= bits & nan;                                                          \
        }                                                                               \
        finding->has_zero |= zero;                                                      \
        finding->has_negative_zero |= negative;                                         \
        finding->all_nan &= all;                                                        \
        finding->any_nan |= any;                                                        \
    }

INSPECT(float16, uint16_t, (uint16_t)0x8000, 0x7c00, 1)
INSPECT(float32, uint32_t, 0x80000000u, 0x7f800000u, 1)
INSPECT(float64, uint64_t, 0x8000000000000000u, 0x7ff0000000000000u, 1)
INSPECT(complex64, uint32_t, 0x80000000u, 0x7f800000u, 2)
INSPECT(complex128, uint64_t, 0x8000000000000000u, 0x7ff0000000000000u, 2)

/* -- The table --------------------------------------------------------------------- */

/* NumPy orders bools by their bytes. */
#define INTEGER(X, name, type, counter) \
    X(name, type, counter, IS_LESS, IS_LESS, IS_LESS, ALWAYS, INTEGER_HASH)
#define INTEGERS(X)                        \
    INTEGER(X, bool, uint8_t, uint8_t)     \
    INTEGER(X, int8, int8_t, uint8_t)      \
    INTEGER(X, int16, int16_t, uint16_t)   \
    INTEGER(X, int32, int32_t, uint32_t)   \
    INTEGER(X, int64, int64_t, uint64_t)   \
    INTEGER(X, uint8, uint8_t, uint8_t)    \
    INTEGER(X, uint16, uint16_t, uint16_t) \
    INTEGER(X, uint32, uint32_t, uint32_t) \
    INTEGER(X, uint64, uint64_t, uint64_t)
#define FLOATS(X)                                                                       \
    X(float16, half, uint16_t, HALF_LESS, HALF_LESS, HALF_LESS, ALWAYS, HALF_HASH)      \
    X(float32, float, uint32_t, FLOAT_LESS, IS_LESS, IS_ABOVE, IS_ORDERED, FLOAT_HASH)  \
    X(float64, double, uint64_t, FLOAT_LESS, IS_LESS, IS_ABOVE, IS_ORDERED, FLOAT_HASH) \
    X(complex64, pair32, uint32_t, COMPLEX_LESS, COMPLEX_LESS, COMPLEX_LESS, ALWAYS,    \
      COMPLEX_HASH)                                                                     \
    X(complex128, pair64, uint64_t, COMPLEX_LESS, COMPLEX_LESS, COMPLEX_LESS, ALWAYS,   \
      COMPLEX_HASH)

#undef bool /* from here on it is the name of a dtype */
INTEGERS(KERNELS)
FLOATS(KERNELS)

#define ROW(name, inspect)                                                             \
    [MX_DTYPE_##name] = {compare_##name,   take_##name,     hash_##name,      inspect, \
                         is_number_##name, classify_##name, distribute_##name},
#define INTEGER_ROW(name, ...) ROW(name, NULL)
#define FLOAT_ROW(name, ...)   ROW(name, inspect_##name)
const struct mx_sort_table MX_ISA_NAME(mx_sort_table) = {
    .kernels = {INTEGERS(INTEGER_ROW) FLOATS(FLOAT_ROW)},
};
