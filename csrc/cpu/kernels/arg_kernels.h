#pragma once
/* arg_kernels.h -- kernels for argmax and argmin along an axis whose elements have gaps.
 *
 * They compare rows with a row of the best elements so far, so that memory is read in its
 * order. As in NumPy, the first of equal elements wins, and the first NaN wins over everything.
 * The tables mx_arg_kernels_base, _v3 and _v4 are defined in arg_kernels.c.
 */
#include "cpu/kernels/isa.h"
#include "ir/dtypes.h"

/* Compares n_rows rows, of n contiguous elements each, with the n elements at best.  An element
 * that wins replaces that one, and the number of its row, where the first row has the number
 * `first`, replaces the winner. */
typedef void mx_arg_rows(const char *rows, intptr_t row_stride, intptr_t n_rows, intptr_t n,
                         intptr_t first, void *best, int64_t *winners);

struct mx_arg_kernels {
    mx_arg_rows *argmax[MX_DTYPE_COUNT], *argmin[MX_DTYPE_COUNT]; /* or NULL */
};

#define TABLE(isa) extern const struct mx_arg_kernels mx_arg_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
