/* dtypes.c -- the table that dtypes.def expands to. */
#include "ir/dtypes.h"

static const struct mx_dtype_row rows[] = {
#define DTYPE(name, c_type, itemsize, kind) {#name, #c_type, itemsize, kind},
#include "ir/dtypes.def"
#undef DTYPE
};

#define DTYPE(name, c_type, itemsize, kind) \
    _Static_assert(sizeof(c_type) == itemsize, "itemsize of " #name);
#include "ir/dtypes.def"
#undef DTYPE

int mx_dtype_count(void) { return MX_DTYPE_COUNT; }

const struct mx_dtype_row *mx_dtype_get(int dtype)
{
    return dtype >= 0 && dtype < MX_DTYPE_COUNT ? &rows[dtype] : NULL;
}

const uint8_t mx_itemsizes[MX_DTYPE_COUNT] = {
#define DTYPE(name, c_type, itemsize, kind) itemsize,
#include "ir/dtypes.def"
#undef DTYPE
};
