#pragma once
/* dtypes.h -- the numbers of dtypes and their sizes, expanded from dtypes.def; mxnp.h declares
 * the rows. */
#include "base/base.h"

enum mx_dtype {
#define DTYPE(name, ...) MX_DTYPE_##name,
#include "ir/dtypes.def"
#undef DTYPE
    MX_DTYPE_COUNT
};

/* The bytes of an element, by dtype. */
extern const uint8_t mx_itemsizes[MX_DTYPE_COUNT];
