/* search_kernels.c -- finds the positions of values in a sorted table; compiled for each
 * instruction set: see isa.h.
 *
 * Several searches go on together, so that they wait for memory at the same time.  All begin
 * with the same number of elements, and each step excludes the same number of them.  No branch
 * depends on an element: which half of a table has a value cannot be predicted.
 */
#include "cpu/kernels/search_kernels.h"

#include "ir/instruction.h"

#define LESS(a, b)      ((a) < (b))
#define NOT_AFTER(a, b) ((a) <= (b))

#define VALUE(i)   (*(const type *)(const void *)(args[0] + (i) * strides[0]))
#define ELEMENT(i) (*(const type *)(const void *)(table + (i) * stride))

/* -- Searches ------------------------------------------------------------------------- */

#define FEW  8  /* searches, whose positions are in registers */
#define MANY 64 /* searches in vectors; their number is a multiple of FEW */

/* The half of a table if its value is behind it, or else 0.  With GCC 12 the first form is a
 * jump in loops over MANY searches, and the second one takes longer in those over FEW. */
#define CHOSEN(half, is_before) ((is_before) ? (half) : 0)
#define MASKED(half, is_before) ((half) & -(intptr_t)(is_before))

/* Moves each search behind the elements that are before its value, up to the last of them. */
#define NARROW(name, element, side, IS_BEFORE, PART)                                    \
    static inline void narrow_##side##_##name(const char *table, intptr_t stride,       \
                                              intptr_t left, const element *values,     \
                                              intptr_t *positions, int count)           \
    {                                                                                   \
        typedef element type;                                                           \
        for (; left > 1; left -= left / 2) {                                            \
            const intptr_t half = left / 2;                                             \
            for (int k = 0; k < count; k++)                                             \
                positions[k] +=                                                         \
                    PART(half, IS_BEFORE(ELEMENT(positions[k] + half - 1), values[k])); \
        }                                                                               \
    }

/* Comparisons with NaN are false.  Its position is therefore set afterwards. */
#define SEARCH(name, element, side, IS_BEFORE, most, PART, POSITION_OF_NAN)                    \
    NARROW(name, element, side, IS_BEFORE, PART)                                               \
    static void search_##side##_##name(char **args, const intptr_t *dimensions,                \
                                       const intptr_t *strides, void *data)                    \
    {                                                                                          \
        typedef element type;                                                                  \
        const struct mx_instruction *in = data;                                                \
        const char *table = args[1];                                                           \
        const intptr_t stride = in->indexing.strides[0], size = in->indexing.sizes[0];         \
        for (intptr_t at = 0, n = dimensions[0]; at < n; at += (most)) {                       \
            const int count = n - at < (most) ? (int)(n - at) : (most);                        \
            const int rounded = (most) == FEW ? FEW : (count + FEW - 1) / FEW * FEW;           \
            type values[most];                                                                 \
            intptr_t positions[most] = {0};                                                    \
            for (int k = 0; k < rounded; k++)                                                  \
                values[k] = VALUE(at + (k < count ? k : 0));                                   \
            if (stride == sizeof(type))                                                        \
                narrow_##side##_##name(table, sizeof(type), size, values, positions, rounded); \
            else                                                                               \
                narrow_##side##_##name(table, stride, size, values, positions, rounded);       \
            for (int k = 0; k < count; k++)                                                    \
                *(int64_t *)(void *)(args[2] + (at + k) * strides[2]) =                        \
                    values[k] != values[k]                                                     \
                        ? POSITION_OF_NAN(name, table, stride, size)                           \
                        : positions[k] + IS_BEFORE(ELEMENT(positions[k]), values[k]);          \
        }                                                                                      \
    }

/* Returns the number of elements before the first NaN. */
#define COUNT_NUMBERS(name, element)                                                     \
    static intptr_t count_numbers_##name(const char *table, intptr_t stride, intptr_t n) \
    {                                                                                    \
        typedef element type;                                                            \
        intptr_t first = 0;                                                              \
        while (first < n) {                                                              \
            intptr_t middle = first + (n - first) / 2;                                   \
            if (ELEMENT(middle) == ELEMENT(middle))                                      \
                first = middle + 1;                                                      \
            else                                                                         \
                n = middle;                                                              \
        }                                                                                \
        return first;                                                                    \
    }
COUNT_NUMBERS(float32, float)
COUNT_NUMBERS(float64, double)

#define FIRST_NAN(name, table, stride, size)  count_numbers_##name(table, stride, size)
#define BEHIND_NAN(name, table, stride, size) (size)

/* -- The table --------------------------------------------------------------------- */

#define NONE(name, table, stride, size) 0
#define SEARCH_FEW(name, type, side, IS_BEFORE, POSITION_OF_NAN) \
    SEARCH(name, type, side, IS_BEFORE, FEW, CHOSEN, POSITION_OF_NAN)
#define SEARCH_MANY(name, type, side, IS_BEFORE, POSITION_OF_NAN) \
    SEARCH(name, type, side, IS_BEFORE, MANY, MASKED, POSITION_OF_NAN)

/* Without vectors of 64-bit integers, more searches are not faster. */
#if defined(__AVX2__)
#define SEARCH_WIDE SEARCH_MANY
#else
#define SEARCH_WIDE SEARCH_FEW
#endif

#define NARROW_INTEGERS(X) \
    X(int8, int8_t)        \
    X(int16, int16_t)      \
    X(int32, int32_t)      \
    X(uint8, uint8_t)      \
    X(uint16, uint16_t)    \
    X(uint32, uint32_t)
#define WIDE_INTEGERS(X) \
    X(int64, int64_t)    \
    X(uint64, uint64_t)
#define FLOATS(X)     \
    X(float32, float) \
    X(float64, double)

#define SEARCH_NARROW_INTEGERS(name, type)   \
    SEARCH_FEW(name, type, left, LESS, NONE) \
    SEARCH_FEW(name, type, right, NOT_AFTER, NONE)
#define SEARCH_WIDE_INTEGERS(name, type)      \
    SEARCH_WIDE(name, type, left, LESS, NONE) \
    SEARCH_WIDE(name, type, right, NOT_AFTER, NONE)
#define SEARCH_FLOATS(name, type)                  \
    SEARCH_MANY(name, type, left, LESS, FIRST_NAN) \
    SEARCH_MANY(name, type, right, NOT_AFTER, BEHIND_NAN)
NARROW_INTEGERS(SEARCH_NARROW_INTEGERS)
WIDE_INTEGERS(SEARCH_WIDE_INTEGERS)
FLOATS(SEARCH_FLOATS)

#define LOOPS(name, type) [MX_DTYPE_##name] = {search_left_##name, search_right_##name},
const struct mx_search_kernels MX_ISA_NAME(mx_search_kernels) = {
    .loops = {NARROW_INTEGERS(LOOPS) WIDE_INTEGERS(LOOPS) FLOATS(LOOPS)},
};
