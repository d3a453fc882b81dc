/* index_kernels.c -- kernels over indices, compiled for each instruction set: see isa.h.
 *
 * An update has the result of NumPy's loops for one element after the other.
 */
#include "cpu/kernels/index_kernels.h"

#include "cpu/kernels/extremes.h"
#include "cpu/kernels/half.h"
#include "cpu/kernels/integers.h"

#undef bool /* here it is the name of a dtype */

/* -- Ranges ------------------------------------------------------------------------ */

#define RANGE(name, type)                                                                    \
    static void range_##name(const void *indices, intptr_t n, int64_t *least, int64_t *most) \
    {                                                                                        \
        const type *at = indices;                                                            \
        type low = at[0], high = at[0];                                                      \
        for (intptr_t i = 1; i < n; i++) {                                                   \
            low = at[i] < low ? at[i] : low;                                                 \
            high = at[i] > high ? at[i] : high;                                              \
        }                                                                                    \
        *least = (int64_t)low < *least ? (int64_t)low : *least;                              \
        *most = (int64_t)high > *most ? (int64_t)high : *most;                               \
    }

/* uint64 is read as int64. */
#define INDICES(X)      \
    X(int8, int8_t)     \
    X(int16, int16_t)   \
    X(int32, int32_t)   \
    X(int64, int64_t)   \
    X(uint8, uint8_t)   \
    X(uint16, uint16_t) \
    X(uint32, uint32_t) \
    X(uint64, int64_t)

INDICES(RANGE)

static int are_plain(const int64_t *indices, intptr_t n, intptr_t size)
{
    uint64_t others = 0;
    for (intptr_t i = 0; i < n; i++)
        others |= (uint64_t)indices[i] >= (uint64_t)size;
    return others == 0;
}

/* -- Takes ------------------------------------------------------------------------- */

typedef double _Complex uint128_t; /* only moved, never computed with */

#define PLAIN(i)    (i)
#define NEGATIVE(i) mx_index_from_end(i, size)
#define CLAMP(i)    mx_index_nearest(NEGATIVE(i), size)

#define TAKE(bounds, BOUNDS, type)                                                        \
    static void take_##bounds##_##type(const char *table, intptr_t stride, intptr_t size, \
                                       const int64_t *indices, char *out, intptr_t n)     \
    {                                                                                     \
        type *to = (type *)(void *)out;                                                   \
        (void)size;                                                                       \
        for (intptr_t i = 0; i < n; i++) {                                                \
            int64_t index = indices[i];                                                   \
            to[i] = *(const type *)(const void *)(table + BOUNDS(index) * stride);        \
        }                                                                                 \
    }
#define TAKES(bounds, BOUNDS)      \
    TAKE(bounds, BOUNDS, uint8_t)  \
    TAKE(bounds, BOUNDS, uint16_t) \
    TAKE(bounds, BOUNDS, uint32_t) \
    TAKE(bounds, BOUNDS, uint64_t) \
    TAKE(bounds, BOUNDS, uint128_t)

TAKES(plain, PLAIN)
TAKES(negative, NEGATIVE)
TAKES(nearest, CLAMP)

#define TAKE_BLOCK 256 /* indices that are inspected together */

/* Most indices are in bounds and not negative, and looking at them takes less time than
 * clamping them. */
#define TAKE_CLAMPED(type)                                                           \
    static void take_clamp_##type(const char *table, intptr_t stride, intptr_t size, \
                                  const int64_t *indices, char *out, intptr_t n)     \
    {                                                                                \
        for (; n > 0; n -= TAKE_BLOCK, indices += TAKE_BLOCK) {                      \
            const intptr_t count = n < TAKE_BLOCK ? n : TAKE_BLOCK;                  \
            if (are_plain(indices, count, size))                                     \
                take_plain_##type(table, stride, size, indices, out, count);         \
            else                                                                     \
                take_nearest_##type(table, stride, size, indices, out, count);       \
            out += count * (intptr_t)sizeof(type);                                   \
        }                                                                            \
    }
TAKE_CLAMPED(uint8_t)
TAKE_CLAMPED(uint16_t)
TAKE_CLAMPED(uint32_t)
TAKE_CLAMPED(uint64_t)
TAKE_CLAMPED(uint128_t)

/* Each index is written, and the next one overwrites it unless it is selected.  This needs no
 * branches. */
#define SELECT(type)                                                                       \
    static intptr_t select_##type(const int64_t *indices, intptr_t n, int64_t low,         \
                                  int64_t high, const char *values, intptr_t value_stride, \
                                  int64_t *selected, char *selected_values)                \
    {                                                                                      \
        type *to = (type *)(void *)selected_values;                                        \
        const uint64_t size = (uint64_t)(high - low);                                      \
        intptr_t count = 0;                                                                \
        for (intptr_t i = 0; i < n; i++) {                                                 \
            selected[count] = indices[i];                                                  \
            to[count] = *(const type *)(const void *)(values + i * value_stride);          \
            count += (uint64_t)(indices[i] - low) < size;                                  \
        }                                                                                  \
        return count;                                                                      \
    }
SELECT(uint8_t)
SELECT(uint16_t)
SELECT(uint32_t)
SELECT(uint64_t)
SELECT(uint128_t)

/* -- Updates ----------------------------------------------------------------------- */

#define SET(a, b)      (b)
#define ADD(a, b)      ((a) + (b))
#define SUBTRACT(a, b) ((a) - (b))
#define MULTIPLY(a, b) ((a) * (b))
#define DIVIDE(a, b)   ((a) / (b))

#define BLOCK   1024
#define REPEATS 4 /* one element is busy if all but one of this many neighbours repeat it */

static int is_busy(const int64_t *positions, intptr_t n)
{
    intptr_t same = 0;
    for (intptr_t i = 1; i < n; i++)
        same += positions[i] == positions[i - 1];
    return same > n - n / REPEATS;
}

#define ELEMENT(i) (*(type *)(void *)(target + (intptr_t)positions[i] * step))
#define VALUE(i)   (*(const type *)(const void *)(values + (i) * value_stride))

/* Repeated updates of one element stay in a register.  In memory, each would wait for the store
 * of the one before. */
#define UPDATE(name, OPERATION, dtype, element)                                             \
    static void name##_##dtype(char *target, intptr_t step, const int64_t *positions,       \
                               const char *values, intptr_t value_stride, intptr_t n)       \
    {                                                                                       \
        typedef element type;                                                               \
        for (; n > 0; n -= BLOCK, positions += BLOCK, values += BLOCK * value_stride) {     \
            const intptr_t end = n < BLOCK ? n : BLOCK;                                     \
            if (!is_busy(positions, end)) {                                                 \
                for (intptr_t i = 0; i < end; i++)                                          \
                    ELEMENT(i) = (type)OPERATION(ELEMENT(i), VALUE(i));                     \
                continue;                                                                   \
            }                                                                               \
            for (intptr_t i = 0; i < end;) {                                                \
                const int64_t position = positions[i];                                      \
                const intptr_t first = i;                                                   \
                type value = ELEMENT(i);                                                    \
                for (; i < end && positions[i] == position; i++)                            \
                    value = (type)OPERATION(value, VALUE(i));                               \
                ELEMENT(first) = value;                                                     \
            }                                                                               \
        }                                                                                   \
    }                                                                                       \
    static void name##_row_##dtype(char *target, const char *values, intptr_t value_stride, \
                                   intptr_t n)                                              \
    {                                                                                       \
        typedef element type;                                                               \
        type *at = (type *)(void *)target;                                                  \
        const type *from = (const type *)(const void *)values;                              \
        if (value_stride == sizeof(type))                                                   \
            for (intptr_t i = 0; i < n; i++)                                                \
                at[i] = (type)OPERATION(at[i], from[i]);                                    \
        else                                                                                \
            for (intptr_t i = 0; i < n; i++)                                                \
                at[i] = (type)OPERATION(at[i], VALUE(i));                                   \
    }

static inline float of_half(uint16_t half)
{
    return mx_float_of_bits(mx_half_to_float_bits(half));
}

static inline uint16_t half_of(float x)
{
    uint32_t fpe_flags = 0;
    uint16_t half = mx_half_of_float_bits(mx_float_bits(x), &fpe_flags);
    if (fpe_flags)
        mx_half_raise(fpe_flags);
    return half;
}

/* Of equal numbers these return the first, as NumPy's loops for float16 do. */
static inline uint16_t half_maximum(uint16_t a, uint16_t b)
{
    return of_half(a) != of_half(a) || of_half(a) >= of_half(b) ? a : b;
}

static inline uint16_t half_minimum(uint16_t a, uint16_t b)
{
    return of_half(a) != of_half(a) || of_half(a) <= of_half(b) ? a : b;
}

#define HALF_ADD(a, b)      half_of(of_half(a) + of_half(b))
#define HALF_SUBTRACT(a, b) half_of(of_half(a) - of_half(b))
#define HALF_MULTIPLY(a, b) half_of(of_half(a) * of_half(b))
#define HALF_DIVIDE(a, b)   half_of(of_half(a) / of_half(b))

/* Integers wrap around, which C allows for unsigned integers only.  The factor 1u keeps narrow
 * ones from being promoted to int. */
#define INTEGER_MULTIPLY(a, b) (1u * (a) * (b))

#define FLOATS(X, name, HALF_OPERATION, OPERATION) \
    X(name, HALF_OPERATION, float16, uint16_t)     \
    X(name, OPERATION, float32, float)             \
    X(name, OPERATION, float64, double)

#define COMPLEXES(X, name, OPERATION)             \
    X(name, OPERATION, complex64, float _Complex) \
    X(name, OPERATION, complex128, double _Complex)

#define SETS(X)                      \
    EACH_AS_UNSIGNED(X, set, SET)    \
    X(set, SET, bool, uint8_t)       \
    X(set, SET, float16, uint16_t)   \
    X(set, SET, bfloat16, uint16_t)  \
    X(set, SET, float32, uint32_t)   \
    X(set, SET, float64, uint64_t)   \
    X(set, SET, complex64, uint64_t) \
    X(set, SET, complex128, uint128_t)
#define SUMS(X)                   \
    EACH_AS_UNSIGNED(X, add, ADD) \
    FLOATS(X, add, HALF_ADD, ADD) \
    COMPLEXES(X, add, ADD)
#define DIFFERENCES(X)                           \
    EACH_AS_UNSIGNED(X, subtract, SUBTRACT)      \
    FLOATS(X, subtract, HALF_SUBTRACT, SUBTRACT) \
    COMPLEXES(X, subtract, SUBTRACT)
#define PRODUCTS(X) \
    EACH_AS_UNSIGNED(X, multiply, INTEGER_MULTIPLY) FLOATS(X, multiply, HALF_MULTIPLY, MULTIPLY)
#define QUOTIENTS(X) FLOATS(X, divide, HALF_DIVIDE, DIVIDE)
#define MAXIMA(X) \
    EACH_INTEGER(X, maximum, MAXIMUM) FLOATS(X, maximum, half_maximum, SINGLE_MAXIMUM)
#define MINIMA(X) \
    EACH_INTEGER(X, minimum, MINIMUM) FLOATS(X, minimum, half_minimum, SINGLE_MINIMUM)

SETS(UPDATE)
SUMS(UPDATE)
DIFFERENCES(UPDATE)
PRODUCTS(UPDATE)
QUOTIENTS(UPDATE)
MAXIMA(UPDATE)
MINIMA(UPDATE)

/* -- The table --------------------------------------------------------------------- */

#define RANGE_OF(name, type) [MX_DTYPE_##name] = range_##name,
#define TAKES_OF(bounds)                                                          \
    {take_##bounds##_uint8_t, take_##bounds##_uint16_t, take_##bounds##_uint32_t, \
     take_##bounds##_uint64_t, take_##bounds##_uint128_t}

#define ELEMENTS(name, OPERATION, dtype, type) [MX_DTYPE_##dtype] = name##_##dtype,
#define ROWS(name, OPERATION, dtype, type)     [MX_DTYPE_##dtype] = name##_row_##dtype,
#define UPDATES(X)                               \
    {                                            \
        [MX_SET] = {SETS(X)},                    \
        [MX_UPDATE_ADD] = {SUMS(X)},             \
        [MX_UPDATE_SUBTRACT] = {DIFFERENCES(X)}, \
        [MX_UPDATE_MULTIPLY] = {PRODUCTS(X)},    \
        [MX_UPDATE_DIVIDE] = {QUOTIENTS(X)},     \
        [MX_UPDATE_MAXIMUM] = {MAXIMA(X)},       \
        [MX_UPDATE_MINIMUM] = {MINIMA(X)},       \
    }

const struct mx_index_kernels MX_ISA_NAME(mx_index_kernels) = {
    .ranges = {INDICES(RANGE_OF)},
    .are_plain = are_plain,
    .takes = {[MX_PLAIN] = TAKES_OF(plain),
              [MX_NEGATIVE] = TAKES_OF(negative),
              [MX_CLAMP] = TAKES_OF(clamp)},
    .selects = {select_uint8_t, select_uint16_t, select_uint32_t, select_uint64_t,
                select_uint128_t},
    .updates = UPDATES(ELEMENTS),
    .rows = UPDATES(ROWS),
};
