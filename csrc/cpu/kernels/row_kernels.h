#pragma once
/* row_kernels.h -- kernels that reduce rows.
 *
 * NumPy's loop is called for each row, which takes longer than a row of a few numbers.  These
 * kernels take many rows at once.  Each sum of floats is added in the order of NumPy's loop:
 * see cpu/plan/order.h.  The tables mx_row_kernels_base, _v3 and _v4 are defined in
 * row_kernels.c.
 */
#include "cpu/kernels/isa.h"
#include "ir/dtypes.h"

/* Reduces n_rows rows, of n contiguous elements each, to the n elements at results, which are
 * those of the rows before. */
typedef void mx_add_rows(void *results, const char *rows, intptr_t row_stride, intptr_t n_rows,
                         intptr_t n);

/* Reduces each of n_rows rows, of n contiguous elements each.  Sums of floats are added to the
 * initial value; others have none. */
typedef void mx_reduce_rows(const char *rows, intptr_t row_stride, intptr_t n_rows, intptr_t n,
                            const void *initial, char *results, intptr_t stride);

struct mx_row_kernels {
    mx_add_rows *add;
    mx_reduce_rows *reduce; /* or NULL */
};

/* Bytes: NumPy's loop is faster along longer rows, except for sums of floats. */
#define MX_SHORT_ROW 2048

/* Adds the squares of the differences between rows and the row of means to the results. */
typedef void mx_add_squares(void *results, const char *rows, intptr_t row_stride,
                            intptr_t n_rows, intptr_t n, const void *means);

/* Adds up the squares of the differences between each row and its mean, in NumPy's order. */
typedef void mx_reduce_squares(const char *rows, intptr_t row_stride, intptr_t n_rows,
                               intptr_t n, const void *means, void *results);

struct mx_square_kernels {
    mx_add_squares *add;
    mx_reduce_squares *reduce;
};

enum mx_row_operation {
    MX_ROWS_add,
    MX_ROWS_maximum,
    MX_ROWS_minimum,
    MX_ROWS_logical_or,
    MX_ROWS_logical_and,
    MX_ROWS_COUNT
};

struct mx_row_kernel_table {
    struct mx_row_kernels of[MX_ROWS_COUNT][MX_DTYPE_COUNT]; /* NULL: none */
    struct mx_square_kernels squares[MX_DTYPE_COUNT];        /* of float32 and float64 */
};

#define TABLE(isa) extern const struct mx_row_kernel_table mx_row_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
