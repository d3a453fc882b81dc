/* ops.c -- the table that ops.def expands to. */
#include "ir/ops.h"

static const struct mx_op_row rows[] = {
#define OP(name, nin, nout, types, result, identity, expression, summary) \
    {#name, nin, nout, #types, #result, #identity, #expression, summary},
#include "ir/ops.def"
#undef OP
};

int mx_op_count(void) { return MX_OP_COUNT; }

const struct mx_op_row *mx_op_get(int op)
{
    return op >= 0 && op < MX_OP_COUNT ? &rows[op] : NULL;
}
