#pragma once
/* row_kernels.h -- kernels that add up short rows of floats or complex numbers.
 *
 * NumPy's loop is called for each row, which takes longer than the sum of a few numbers.  These
 * kernels take many rows at once.  Each sum is added in the order of NumPy's loop: see
 * cpu/plan/order.h.  The tables mx_row_kernels_base, _v3 and _v4 are defined in row_kernels.c.
 */
#include "cpu/kernels/isa.h"

/* Adds n_rows rows, of n contiguous numbers each, to the n numbers at sums. */
typedef void mx_add_rows(void *sums, const char *rows, intptr_t row_stride, intptr_t n_rows,
                         intptr_t n);

/* Adds up each of n_rows rows, of n contiguous numbers each, n <= 128.  The sum of a row is
 * added to the initial value. */
typedef void mx_reduce_rows(const char *rows, intptr_t row_stride, intptr_t n_rows, intptr_t n,
                            const void *initial, char *results, intptr_t stride);

struct mx_row_kernels {
    mx_add_rows *add;
    mx_reduce_rows *reduce;
};

struct mx_row_kernel_table {
    struct mx_row_kernels float32, float64, complex64, complex128;
};

#define TABLE(isa) extern const struct mx_row_kernel_table mx_row_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
