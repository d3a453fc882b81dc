#pragma once
/* rows.h -- finds the kernels that reduce short rows. */
#include "cpu/kernels/row_kernels.h"
#include "ir/instruction.h"

/* Returns the kernels for a reduction, or NULL.  Sums of floats have kernels for NumPy's order
 * only.  Those for extremes of floats may meet conditions that NumPy's loop clears. */
const struct mx_row_kernels *mx_rows_kernels(const struct mx_instruction *reduction);
