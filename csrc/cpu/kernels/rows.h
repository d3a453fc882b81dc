#pragma once
/* rows.h -- finds the kernels that reduce short rows. */
#include "cpu/kernels/row_kernels.h"
#include "ir/instruction.h"

/* Returns the kernels that reduce elements of a dtype by an operation, or NULL.  Sums of floats
 * have kernels for NumPy's order only.  Those for extremes of floats may meet conditions that
 * NumPy's loop clears. */
const struct mx_row_kernels *mx_rows_find(int op, int dtype, bool keeps_order);

/* Returns the kernels for the squares of differences between floats and means, or NULL. */
const struct mx_square_kernels *mx_rows_squares(int dtype);

/* The same as mx_rows_find for an instruction. */
static inline const struct mx_row_kernels *
mx_rows_kernels(const struct mx_instruction *reduction)
{
    return mx_rows_find(reduction->op, reduction->operands[reduction->nin].dtype,
                        reduction->keeps_order);
}
