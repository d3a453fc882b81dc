/* running.c -- kernels for running sums and products of floats along lines. */
#include "cpu/kernels/running.h"

#include "ir/dtypes.h"
#include "ir/ops.h"

#define ADD(a, b)      ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))

#define IN(type, line, at)  (*(const type *)(const void *)(lines[line].from + (at)))
#define OUT(type, line, at) (*(type *)(void *)(lines[line].to + (at)))

/* The loop over `count` lines, which is a constant, has no branches. */
#define LINES(name, type, OPERATION, count)                                            \
    static void name##_##count(const struct mx_line *lines, intptr_t n, intptr_t step, \
                               intptr_t out_step)                                      \
    {                                                                                  \
        type value[count];                                                             \
        for (int l = 0; l < (count); l++)                                              \
            OUT(type, l, 0) = value[l] = IN(type, l, 0);                               \
        for (intptr_t i = 1; i < n; i++)                                               \
            for (int l = 0; l < (count); l++) {                                        \
                value[l] = (type)OPERATION(value[l], IN(type, l, i * step));           \
                OUT(type, l, i * out_step) = value[l];                                 \
            }                                                                          \
    }

#define RUNNING(name, OPERATION, dtype, type)                                        \
    LINES(name##_##dtype, type, OPERATION, 1)                                        \
    LINES(name##_##dtype, type, OPERATION, 4)                                        \
    static void name##_##dtype(const struct mx_line *lines, int n_lines, intptr_t n, \
                               intptr_t step, intptr_t out_step)                     \
    {                                                                                \
        if (n_lines == MX_RUNNING_LINES) {                                           \
            name##_##dtype##_4(lines, n, step, out_step);                            \
            return;                                                                  \
        }                                                                            \
        for (int l = 0; l < n_lines; l++)                                            \
            name##_##dtype##_1(lines + l, n, step, out_step);                        \
    }

#define FLOATS(X, name, OPERATION)     \
    X(name, OPERATION, float32, float) \
    X(name, OPERATION, float64, double)

FLOATS(RUNNING, add, ADD)
FLOATS(RUNNING, multiply, MULTIPLY)

#define ENTRY(name, OPERATION, dtype, type) [MX_DTYPE_##dtype] = name##_##dtype,

static mx_running_kernel *const sums[MX_DTYPE_COUNT] = {FLOATS(ENTRY, add, ADD)};
static mx_running_kernel *const products[MX_DTYPE_COUNT] = {FLOATS(ENTRY, multiply, MULTIPLY)};

mx_running_kernel *mx_running_find(int op, int dtype)
{
    return op == MX_OP_add ? sums[dtype] : op == MX_OP_multiply ? products[dtype] : NULL;
}
