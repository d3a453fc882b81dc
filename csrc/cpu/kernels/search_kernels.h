#pragma once
/* search_kernels.h -- loops that find the positions of values in a sorted table.
 *
 * The tables mx_search_kernels_base, _v3 and _v4 are defined in search_kernels.c.
 */
#include "cpu/kernels/isa.h"
#include "ir/dtypes.h"

struct mx_search_kernels {
    mx_loop_function loops[MX_DTYPE_COUNT][2]; /* [dtype][is_right]; NULL: none */
};

#define TABLE(isa) extern const struct mx_search_kernels mx_search_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
