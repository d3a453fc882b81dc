/* row_kernels.c -- adds short rows to a row of sums; compiled for each instruction set: see
 * isa.h. */
#include "cpu/kernels/row_kernels.h"

/* Adds the columns that begin at c, as long as at least `width` are left.  Returns the first
 * column that is left. */
#define COLUMNS(type, width)                                                           \
    static intptr_t type##_##width(type *sums, const char *rows, intptr_t row_stride,  \
                                   intptr_t n_rows, intptr_t c, intptr_t n)            \
    {                                                                                  \
        for (; c + width <= n; c += width) {                                           \
            type sum[width];                                                           \
            for (int k = 0; k < width; k++)                                            \
                sum[k] = sums[c + k];                                                  \
            for (intptr_t r = 0; r < n_rows; r++) {                                    \
                const type *row = (const type *)(const void *)(rows + r * row_stride); \
                for (int k = 0; k < width; k++)                                        \
                    sum[k] += row[c + k];                                              \
            }                                                                          \
            for (int k = 0; k < width; k++)                                            \
                sums[c + k] = sum[k];                                                  \
        }                                                                              \
        return c;                                                                      \
    }

#define ADD_ROWS(type)                                                                         \
    COLUMNS(type, 32)                                                                          \
    COLUMNS(type, 8)                                                                           \
    COLUMNS(type, 4)                                                                           \
    COLUMNS(type, 2)                                                                           \
    COLUMNS(type, 1)                                                                           \
    static void type##_add(void *sums, const char *rows, intptr_t row_stride, intptr_t n_rows, \
                           intptr_t n)                                                         \
    {                                                                                          \
        intptr_t c = type##_32(sums, rows, row_stride, n_rows, 0, n);                          \
        c = type##_8(sums, rows, row_stride, n_rows, c, n);                                    \
        c = type##_4(sums, rows, row_stride, n_rows, c, n);                                    \
        c = type##_2(sums, rows, row_stride, n_rows, c, n);                                    \
        type##_1(sums, rows, row_stride, n_rows, c, n);                                        \
    }                                                                                          \
    static void type##_add_pairs(void *sums, const char *rows, intptr_t row_stride,            \
                                 intptr_t n_rows, intptr_t n)                                  \
    {                                                                                          \
        type##_add(sums, rows, row_stride, n_rows, 2 * n);                                     \
    }

/* Adds a[0], a[width], a[2 * width] ... to sum[0], those after them to sum[1], and so on: the
 * numbers of a row, or the parts of complex numbers, in 8 lanes if there are as many. */
#define ADD_UP(type)                                                                  \
    static inline void type##_add_up(type *sum, const type *a, intptr_t n, int width) \
    {                                                                                 \
        intptr_t i = width;                                                           \
        for (int k = 0; k < width; k++)                                               \
            sum[k] = a[k];                                                            \
        if (n >= 8) {                                                                 \
            type lane[8];                                                             \
            for (int k = 0; k < 8; k++)                                               \
                lane[k] = a[k];                                                       \
            for (i = 8; i + 8 <= n; i += 8)                                           \
                for (int k = 0; k < 8; k++)                                           \
                    lane[k] += a[i + k];                                              \
            if (width == 1)                                                           \
                sum[0] = ((lane[0] + lane[1]) + (lane[2] + lane[3])) +                \
                         ((lane[4] + lane[5]) + (lane[6] + lane[7]));                 \
            for (int k = 0; k < width && width == 2; k++)                             \
                sum[k] = (lane[k] + lane[k + 2]) + (lane[k + 4] + lane[k + 6]);       \
        }                                                                             \
        for (; i < n; i += width)                                                     \
            for (int k = 0; k < width; k++)                                           \
                sum[k] += a[i + k];                                                   \
    }

#define REDUCE_ROWS(type, name, width)                                                         \
    static void type##_##name(const char *rows, intptr_t row_stride, intptr_t n_rows,          \
                              intptr_t n, const void *initial, char *results, intptr_t stride) \
    {                                                                                          \
        const type *begin = initial;                                                           \
        for (intptr_t r = 0; r < n_rows; r++) {                                                \
            type sum[width], *out = (type *)(void *)(results + r * stride);                    \
            type##_add_up(sum, (const type *)(const void *)(rows + r * row_stride), n * width, \
                          width);                                                              \
            for (int k = 0; k < width; k++)                                                    \
                out[k] = begin[k] + sum[k];                                                    \
        }                                                                                      \
    }

#define KERNELS(type)            \
    ADD_ROWS(type)               \
    ADD_UP(type)                 \
    REDUCE_ROWS(type, reduce, 1) \
    REDUCE_ROWS(type, reduce_pairs, 2)

KERNELS(float)
KERNELS(double)

const struct mx_row_kernel_table MX_ISA_NAME(mx_row_kernels) = {
    .float32 = {float_add, float_reduce},
    .float64 = {double_add, double_reduce},
    .complex64 = {float_add_pairs, float_reduce_pairs},
    .complex128 = {double_add_pairs, double_reduce_pairs},
};
