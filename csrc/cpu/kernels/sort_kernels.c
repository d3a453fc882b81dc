/* sort_kernels.c -- kernels over sorted runs of elements; compiled for each instruction set:
 * see isa.h.
 *
 * No branch of a merge depends on an element: which of two comes first cannot be predicted.
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

#define IS_LESS(a, b)    ((a) < (b))
#define FLOAT_LESS(a, b) (((a) < (b)) | (IS_NAN(b) & !IS_NAN(a)))
#define HALF_LESS(a, b)  (half_rank(a) < half_rank(b))
#define COMPLEX_LESS(a, b)  \
    (NANS(a) < NANS(b) ||   \
     (NANS(a) == NANS(b) && \
      ((a).real < (b).real || (!((b).real < (a).real) && (a).imag < (b).imag))))
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

/* Copies n elements, and their places unless these are NULL, behind the first k of the output.
 * Returns how many it has then. */
static intptr_t sort_kernels_append(void *out, const void *elements, intptr_t n,
                                    size_t itemsize, int64_t *places_out, const int64_t *places,
                                    intptr_t k)
{
    memcpy((char *)out + (size_t)k * itemsize, elements, (size_t)n * itemsize);
    if (places)
        memcpy(places_out + k, places, (size_t)n * sizeof *places);
    return k + n;
}

#define KERNELS(name, type, LESS, BEFORE, IS_NUMBER, HASH)                                     \
    static intptr_t split_##name(const void *av, intptr_t na, const void *bv, intptr_t nb,     \
                                 intptr_t k)                                                   \
    {                                                                                          \
        const type *a = av, *b = bv;                                                           \
        intptr_t low = k > nb ? k - nb : 0, high = k < na ? k : na;                            \
        while (low < high) {                                                                   \
            intptr_t middle = low + (high - low) / 2;                                          \
            if (LESS(b[k - middle - 1], a[middle]))                                            \
                high = middle;                                                                 \
            else                                                                               \
                low = middle + 1;                                                              \
        }                                                                                      \
        return low;                                                                            \
    }                                                                                          \
    static intptr_t count_numbers_##name(const type *x, intptr_t n)                            \
    {                                                                                          \
        intptr_t low = 0;                                                                      \
        while (low < n && !IS_NUMBER(x[n - 1])) {                                              \
            intptr_t middle = low + (n - low) / 2;                                             \
            if (IS_NUMBER(x[middle]))                                                          \
                low = middle + 1;                                                              \
            else                                                                               \
                n = middle;                                                                    \
        }                                                                                      \
        return n;                                                                              \
    }                                                                                          \
    static void merge_##name(const void *av, intptr_t na, const void *bv, intptr_t nb,         \
                             void *outv, const int64_t *pa, const int64_t *pb, int64_t *pout)  \
    {                                                                                          \
        const type *a = av, *b = bv;                                                           \
        type *out = outv;                                                                      \
        intptr_t i = 0, j = 0, k = 0;                                                          \
        if (na && nb && LESS(b[nb - 1], a[0])) /* one after the other */                       \
            j = k = sort_kernels_append(out, b, nb, sizeof *b, pout, pb, 0);                   \
        else if (na && nb && LESS(b[0], a[na - 1])) {                                          \
            const intptr_t ma = count_numbers_##name(a, na), mb = count_numbers_##name(b, nb); \
            for (; !pa && i < ma && j < mb; k++) {                                             \
                const intptr_t takes_b = BEFORE(b[j], a[i]);                                   \
                const type *const from[] = {a + i, b + j};                                     \
                out[k] = *from[takes_b];                                                       \
                j += takes_b;                                                                  \
                i += 1 - takes_b;                                                              \
            }                                                                                  \
            for (; pa && i < ma && j < mb; k++) {                                              \
                const intptr_t takes_b = BEFORE(b[j], a[i]);                                   \
                const type *const from[] = {a + i, b + j};                                     \
                out[k] = *from[takes_b];                                                       \
                pout[k] = pa[i] ^ ((pa[i] ^ pb[j]) & -takes_b);                                \
                j += takes_b;                                                                  \
                i += 1 - takes_b;                                                              \
            }                                                                                  \
            if (j < mb) { /* only NaN are left of a */                                         \
                k = sort_kernels_append(out, b + j, mb - j, sizeof *b, pout,                   \
                                        pb ? pb + j : NULL, k);                                \
                j = mb;                                                                        \
            }                                                                                  \
        }                                                                                      \
        k = sort_kernels_append(out, a + i, na - i, sizeof *a, pout, pa ? pa + i : NULL, k);   \
        sort_kernels_append(out, b + j, nb - j, sizeof *b, pout, pb ? pb + j : NULL, k);       \
    }                                                                                          \
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
    }

/* -- Buckets ----------------------------------------------------------------------- */

#define TOGETHER 512 /* elements whose buckets are found together */

#define PARTITION(name, type, counter, IS_NUMBER)                                           \
    static _Bool is_number_##name(const void *element)                                      \
    {                                                                                       \
        return IS_NUMBER(*(const type *)element);                                           \
    }                                                                                       \
    static void classify_##name(const void *elements, intptr_t n, const void *splitters,    \
                                int n_splitters, uint8_t *buckets)                          \
    {                                                                                       \
        const type *x = elements, *v = splitters;                                           \
        for (intptr_t first = 0; first < n; first += TOGETHER) {                            \
            const int count = n - first < TOGETHER ? (int)(n - first) : TOGETHER;           \
            counter bucket[TOGETHER] = {0};                                                 \
            for (int j = 0; j < n_splitters; j++)                                           \
                for (int i = 0; i < count; i++)                                             \
                    bucket[i] = (counter)(bucket[i] + !(x[first + i] <= v[j]) +             \
                                          !(x[first + i] < v[j]));                          \
            for (int i = 0; i < count; i++)                                                 \
                buckets[first + i] = (uint8_t)bucket[i];                                    \
        }                                                                                   \
    }                                                                                       \
    static void distribute_##name(const void *elements, intptr_t n, const uint8_t *buckets, \
                                  intptr_t *to, void *elements_to, const int64_t *places,   \
                                  int64_t *places_to)                                       \
    {                                                                                       \
        const type *x = elements;                                                           \
        type *out = elements_to;                                                            \
        for (intptr_t i = 0; !places && i < n; i++)                                         \
            out[to[buckets[i]]++] = x[i];                                                   \
        for (intptr_t i = 0; places && i < n; i++) {                                        \
            intptr_t at = to[buckets[i]]++;                                                 \
            out[at] = x[i];                                                                 \
            places_to[at] = places[i];                                                      \
        }                                                                                   \
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
#define INTEGERS(X)                                             \
    X(bool, uint8_t, IS_LESS, IS_LESS, ALWAYS, INTEGER_HASH)    \
    X(int8, int8_t, IS_LESS, IS_LESS, ALWAYS, INTEGER_HASH)     \
    X(int16, int16_t, IS_LESS, IS_LESS, ALWAYS, INTEGER_HASH)   \
    X(int32, int32_t, IS_LESS, IS_LESS, ALWAYS, INTEGER_HASH)   \
    X(int64, int64_t, IS_LESS, IS_LESS, ALWAYS, INTEGER_HASH)   \
    X(uint8, uint8_t, IS_LESS, IS_LESS, ALWAYS, INTEGER_HASH)   \
    X(uint16, uint16_t, IS_LESS, IS_LESS, ALWAYS, INTEGER_HASH) \
    X(uint32, uint32_t, IS_LESS, IS_LESS, ALWAYS, INTEGER_HASH) \
    X(uint64, uint64_t, IS_LESS, IS_LESS, ALWAYS, INTEGER_HASH)
#define HALF(X) X(float16, half, HALF_LESS, HALF_LESS, ALWAYS, HALF_HASH)
#define REALS(X)                                                   \
    X(float32, float, FLOAT_LESS, IS_LESS, IS_ORDERED, FLOAT_HASH) \
    X(float64, double, FLOAT_LESS, IS_LESS, IS_ORDERED, FLOAT_HASH)
#define COMPLEX(X)                                                         \
    X(complex64, pair32, COMPLEX_LESS, COMPLEX_LESS, ALWAYS, COMPLEX_HASH) \
    X(complex128, pair64, COMPLEX_LESS, COMPLEX_LESS, ALWAYS, COMPLEX_HASH)

#undef bool /* from here on it is the name of a dtype */
INTEGERS(KERNELS)
HALF(KERNELS)
REALS(KERNELS)
COMPLEX(KERNELS)

#define PARTITIONED(X)                      \
    X(bool, uint8_t, uint8_t, ALWAYS)       \
    X(int8, int8_t, uint8_t, ALWAYS)        \
    X(int16, int16_t, uint16_t, ALWAYS)     \
    X(int32, int32_t, uint32_t, ALWAYS)     \
    X(int64, int64_t, uint64_t, ALWAYS)     \
    X(uint8, uint8_t, uint8_t, ALWAYS)      \
    X(uint16, uint16_t, uint16_t, ALWAYS)   \
    X(uint32, uint32_t, uint32_t, ALWAYS)   \
    X(uint64, uint64_t, uint64_t, ALWAYS)   \
    X(float32, float, uint32_t, IS_ORDERED) \
    X(float64, double, uint64_t, IS_ORDERED)
PARTITIONED(PARTITION)

#define ROW(name, inspect, ...)                                                   \
    [MX_DTYPE_##name] = {merge_##name, split_##name, compare_##name, take_##name, \
                         hash_##name,  inspect,      __VA_ARGS__},
#define BUCKETS(name)          is_number_##name, classify_##name, distribute_##name
#define INTEGER_ROW(name, ...) ROW(name, NULL, BUCKETS(name))
#define FLOAT_ROW(name, ...)   ROW(name, inspect_##name, BUCKETS(name))
#define OTHER_ROW(name, ...)   ROW(name, inspect_##name, NULL, NULL, NULL)
const struct mx_sort_table MX_ISA_NAME(mx_sort_table) = {
    .kernels = {INTEGERS(INTEGER_ROW) HALF(OTHER_ROW) REALS(FLOAT_ROW) COMPLEX(OTHER_ROW)},
};
