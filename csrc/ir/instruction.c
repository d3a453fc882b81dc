/* instruction.c -- checks that an instruction is legal. */
#include "ir/instruction.h"

#include "ir/dtypes.h"

static bool is_operand_legal(const struct mx_operand *operand, bool is_output)
{
    bool is_dtype = operand->dtype >= 0 && operand->dtype < MX_DTYPE_COUNT;
    bool is_value_legal = !operand->is_value || (!is_output && !operand->buffer);
    return operand->itemsize > 0 && is_dtype && is_value_legal;
}

static bool is_indexing_legal(const struct mx_indexing *indexing)
{
    bool is_legal = indexing->n >= 1 && indexing->n <= MX_MAX_INDICES;
    for (int i = 0; i < indexing->n && is_legal; i++)
        is_legal = indexing->sizes[i] > 0;
    return is_legal;
}

/* Returns whether an instruction has what its kind needs. */
static bool is_kind_legal(const struct mx_instruction *in)
{
    switch (in->kind) {
    case MX_SCAN:
    case MX_ARGREDUCE:
        return in->nin == 1 && in->nout == 1 && in->axis >= 0 && in->axis < in->ndim;
    case MX_REDUCE:
        return in->nin == 1 && in->nout == 1;
    case MX_ARANGE:
        return in->ndim == 1 && in->nout == 1;
    case MX_BOUNDS_CHECK:
        return in->nin == 1 && in->nout == 0;
    case MX_GATHER:
    case MX_SCATTER:
        return is_indexing_legal(&in->indexing);
    case MX_KERNEL:
        return in->ndim == 0 && in->launch;
    default:
        return in->nout >= 1;
    }
}

bool mx_instruction_is_legal(const struct mx_instruction *in)
{
    int n = in->nin + in->nout;
    bool is_legal = in->nin >= 0 && in->nout >= 0 && n >= 1 && n <= MX_MAX_OPERANDS &&
                    in->ndim >= 0 && in->ndim <= MX_MAX_NDIM;
    for (int i = 0; is_legal && i < in->ndim; i++)
        is_legal = in->shape[i] > 0;
    for (int k = 0; is_legal && k < n; k++)
        is_legal = is_operand_legal(&in->operands[k], k >= in->nin);
    return is_legal && is_kind_legal(in);
}
