/* pair_kernels.c -- two arithmetic operations in one kernel; compiled for each instruction set:
 * see isa.h. */
#include "cpu/kernels/pair_kernels.h"

#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define add(x, y)      ((x) + (y))
#define subtract(x, y) ((x) - (y))
#define multiply(x, y) ((x) * (y))
#define reversed(x, y) ((y) - (x))

#define each(of) of[i]
#define one(of)  of##0

#define PAIR(type, first, second, b_kind, c_kind)                                  \
    static void type##_##first##_##second##_##b_kind##_##c_kind(                   \
        const void *in, const void *other, const void *last, void *to, intptr_t n) \
    {                                                                              \
        const type *a = in, *b = other, *c = last, b0 = *b, c0 = *c;               \
        type *out = to;                                                            \
        (void)b0, (void)c0;                                                        \
        INDEPENDENT                                                                \
        for (intptr_t i = 0; i < n; i++)                                           \
            out[i] = second(first(a[i], b_kind(b)), c_kind(c));                    \
    }

#define KINDS(X, type, first, second)  \
    X(type, first, second, each, each) \
    X(type, first, second, each, one)  \
    X(type, first, second, one, each) X(type, first, second, one, one)
#define SECONDS(type, first)           \
    KINDS(PAIR, type, first, add)      \
    KINDS(PAIR, type, first, subtract) \
    KINDS(PAIR, type, first, multiply) KINDS(PAIR, type, first, reversed)
#define FIRSTS(type) \
    SECONDS(type, add) SECONDS(type, subtract) SECONDS(type, multiply) SECONDS(type, reversed)

FIRSTS(float)
FIRSTS(double)

#define CELL(type, first, second)                                                      \
    [MX_STEP_##second] = {                                                             \
        {type##_##first##_##second##_each_each, type##_##first##_##second##_each_one}, \
        {type##_##first##_##second##_one_each, type##_##first##_##second##_one_one}}
#define ROW(type, first)                                                      \
    [MX_STEP_##first] = {CELL(type, first, add), CELL(type, first, subtract), \
                         CELL(type, first, multiply), CELL(type, first, reversed)}
#define ROWS(type) \
    {ROW(type, add), ROW(type, subtract), ROW(type, multiply), ROW(type, reversed)}

const struct mx_pair_kernels MX_ISA_NAME(mx_pair_kernels) = {.float32 = ROWS(float),
                                                             .float64 = ROWS(double)};
