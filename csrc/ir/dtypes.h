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

#define MX_SIZE_COUNT 5 /* of the sizes that loops have tables for: 1, 2, 4, 8 and 16 bytes */

/* Returns the position of an itemsize in tables by size, or -1 if they do not have it. */
static inline int mx_size_number(intptr_t itemsize)
{
    for (int number = 0; number < MX_SIZE_COUNT; number++)
        if (itemsize == 1 << number)
            return number;
    return -1;
}

/* Returns the kind of a dtype in dtypes.def, or 0 for other numbers. */
static inline char mx_dtype_kind(int dtype)
{
    switch (dtype) {
#define DTYPE(name, c_type, itemsize, kind) \
    case MX_DTYPE_##name:                   \
        return kind;
#include "ir/dtypes.def"
#undef DTYPE
    default:
        return 0;
    }
}

static inline bool mx_dtype_is_integer(int dtype)
{
    return mx_dtype_kind(dtype) == 'i' || mx_dtype_kind(dtype) == 'u';
}

static inline bool mx_dtype_is_float(int dtype) { return mx_dtype_kind(dtype) == 'f'; }
static inline bool mx_dtype_is_complex(int dtype) { return mx_dtype_kind(dtype) == 'c'; }

/* Returns whether the numbers of a dtype are rounded. */
static inline bool mx_dtype_is_inexact(int dtype)
{
    return mx_dtype_is_float(dtype) || mx_dtype_is_complex(dtype);
}

/* Returns whether BLAS computes with a dtype. */
static inline bool mx_dtype_is_blas(int dtype)
{
    return mx_dtype_is_inexact(dtype) && dtype != MX_DTYPE_float16 &&
           dtype != MX_DTYPE_bfloat16;
}
