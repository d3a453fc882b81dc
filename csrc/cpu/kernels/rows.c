/* rows.c -- finds the kernels that reduce short rows. */
#include "cpu/kernels/rows.h"

#include "ir/ops.h"

static enum mx_row_operation operation_of(int op)
{
    switch (op) {
    case MX_OP_add:
        return MX_ROWS_add;
    case MX_OP_maximum:
        return MX_ROWS_maximum;
    case MX_OP_minimum:
        return MX_ROWS_minimum;
    case MX_OP_logical_or:
        return MX_ROWS_logical_or;
    case MX_OP_logical_and:
        return MX_ROWS_logical_and;
    default:
        return MX_ROWS_COUNT;
    }
}

static const struct mx_row_kernel_table *const tables[] = {
#define ISA(name) &mx_row_kernels_##name,
    MX_ISAS(ISA)
#undef ISA
};

const struct mx_square_kernels *mx_rows_squares(int dtype)
{
    const struct mx_square_kernels *kernels = &tables[mx_isa()]->squares[dtype];
    return kernels->add ? kernels : NULL;
}

const struct mx_row_kernels *mx_rows_find(int op, int dtype, bool keeps_order)
{
    enum mx_row_operation operation = operation_of(op);
    bool is_float_sum = operation == MX_ROWS_add && mx_dtype_is_inexact(dtype);
    if (operation == MX_ROWS_COUNT || (is_float_sum && !keeps_order))
        return NULL;
    const struct mx_row_kernels *kernels = &tables[mx_isa()]->of[operation][dtype];
    return kernels->add ? kernels : NULL;
}
