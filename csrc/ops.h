#pragma once
/* ops.h -- operation numbers, expanded from ops.def; the rows are in mxnp.h. */
#include "base.h"

enum mx_op {
#define OP(name, ...) MX_OP_##name,
#include "ops.def"
#undef OP
    MX_OP_COUNT
};
