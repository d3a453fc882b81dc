#pragma once
/* copy_kernels.h -- loops that copy elements, compiled for each instruction set.
 *
 * The tables mx_copy_kernels_base, _v3 and _v4 are defined in copy_kernels.c.
 */
#include "cpu/kernels/isa.h"
#include "ir/dtypes.h"

struct mx_copy_kernels {
    mx_loop_function copies[MX_SIZE_COUNT];  /* x, out */
    mx_loop_function selects[MX_SIZE_COUNT]; /* condition (bool), x, y, out */
};

#define TABLE(isa) extern const struct mx_copy_kernels mx_copy_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
