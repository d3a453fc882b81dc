#pragma once
/* ops.h -- operation numbers: of the rows of ops.def, which are in mxnp.h, and of what else an
 * instruction can do with elements. */
#include "base/base.h"

enum mx_op {
#define OP(name, ...) MX_OP_##name,
#include "ir/ops.def"
#undef OP
    MX_OP_COUNT,
    MX_COPY = MX_OP_COUNT, /* the input, in the dtype of the output */
    MX_SELECT,             /* the second input where the first is true, else the third */
    MX_CLIP,
    MX_ARGMAX,
    MX_ARGMIN,
    MX_SEARCH_LEFT,
    MX_SEARCH_RIGHT,
    MX_NO_OP, /* what the kind of the instruction says is all */
};
