#pragma once
/* ops.h -- the numbers of operations: first the rows of ops.def, which mxnp.h declares, then
 * the other operations of instructions. */
#include "base/base.h"

enum mx_op {
#define OP(name, ...) MX_OP_##name,
#include "ir/ops.def"
#undef OP
    MX_OP_COUNT,
    MX_COPY = MX_OP_COUNT, /* converts the input to the dtype of the output */
    MX_SELECT,             /* the second input where the first is true, otherwise the third */
    MX_CLIP,
    MX_ARGMAX,
    MX_ARGMIN,
    MX_SEARCH_LEFT,
    MX_SEARCH_RIGHT,
    MX_NO_OP, /* the kind of the instruction says everything */
};
