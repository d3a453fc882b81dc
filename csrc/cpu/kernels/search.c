/* search.c -- finds the positions of values in a sorted table. */
#include "cpu/kernels/search.h"

#include "ir/instruction.h"

#define TOGETHER 8 /* searches, which then wait for memory at the same time */

#define LESS(a, b)       ((a) < (b))
#define FLOAT_LESS(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))

#define ELEMENT(i) (*(const type *)(const void *)(table + (i) * stride))

/* No branch depends on an element.  All searches begin with the same number of elements, and
 * each step excludes the same number of them. */
#define SEARCH(name, element, side, IS_BEFORE)                                                 \
    static void search_##side##_##name(char **args, const intptr_t *dimensions,                \
                                       const intptr_t *strides, void *data)                    \
    {                                                                                          \
        typedef element type;                                                                  \
        const struct mx_instruction *in = data;                                                \
        const char *table = args[1];                                                           \
        const intptr_t stride = in->indexing.strides[0], n = dimensions[0];                    \
        for (intptr_t at = 0; at < n; at += TOGETHER) {                                        \
            const int count = n - at < TOGETHER ? (int)(n - at) : TOGETHER;                    \
            type values[TOGETHER];                                                             \
            intptr_t positions[TOGETHER] = {0}, left = in->indexing.sizes[0];                  \
            for (int k = 0; k < TOGETHER; k++)                                                 \
                values[k] =                                                                    \
                    *(const type *)(const void *)(args[0] +                                    \
                                                  (at + (k < count ? k : 0)) * strides[0]);    \
            for (; left > 1; left -= left / 2)                                                 \
                for (int k = 0; k < TOGETHER; k++)                                             \
                    positions[k] += IS_BEFORE(ELEMENT(positions[k] + left / 2 - 1), values[k]) \
                                        ? left / 2                                             \
                                        : 0;                                                   \
            for (int k = 0; k < count; k++)                                                    \
                *(int64_t *)(void *)(args[2] + (at + k) * strides[2]) =                        \
                    positions[k] + (IS_BEFORE(ELEMENT(positions[k]), values[k]) ? 1 : 0);      \
        }                                                                                      \
    }

#define NOT_AFTER(a, b)       (!LESS(b, a))
#define FLOAT_NOT_AFTER(a, b) (!FLOAT_LESS(b, a))

#define INTEGERS(X)     \
    X(int8, int8_t)     \
    X(int16, int16_t)   \
    X(int32, int32_t)   \
    X(int64, int64_t)   \
    X(uint8, uint8_t)   \
    X(uint16, uint16_t) \
    X(uint32, uint32_t) \
    X(uint64, uint64_t)
#define FLOATS(X)     \
    X(float32, float) \
    X(float64, double)

#define SEARCH_INTEGERS(name, type) \
    SEARCH(name, type, left, LESS)  \
    SEARCH(name, type, right, NOT_AFTER)
#define SEARCH_FLOATS(name, type)        \
    SEARCH(name, type, left, FLOAT_LESS) \
    SEARCH(name, type, right, FLOAT_NOT_AFTER)
INTEGERS(SEARCH_INTEGERS)
FLOATS(SEARCH_FLOATS)

mx_loop_function mx_search_loop(int dtype, bool is_right)
{
#define LOOPS(name, type) [MX_DTYPE_##name] = {search_left_##name, search_right_##name},
    static const mx_loop_function loops[MX_DTYPE_COUNT][2] = {INTEGERS(LOOPS) FLOATS(LOOPS)};
    return loops[dtype][is_right];
}
