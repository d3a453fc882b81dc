#pragma once
/* dtypes.h -- dtype numbers, expanded from dtypes.def; the rows are in mxnp.h. */
#include "base/base.h"

enum mx_dtype {
#define DTYPE(name, ...) MX_DTYPE_##name,
#include "ir/dtypes.def"
#undef DTYPE
    MX_DTYPE_COUNT
};
