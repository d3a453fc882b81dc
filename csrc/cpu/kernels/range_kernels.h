#pragma once
/* range_kernels.h -- loops of numbers at equal distances, compiled for each instruction set.
 *
 * The tables mx_range_kernels_base, _v3 and _v4 are defined in range_kernels.c.
 */
#include "cpu/kernels/isa.h"
#include "ir/dtypes.h"

struct mx_range_kernels {
    mx_loop_function loops[MX_DTYPE_COUNT]; /* NULL: none */
};

#define TABLE(isa) extern const struct mx_range_kernels mx_range_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
