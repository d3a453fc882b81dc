#pragma once
/* cast_kernels.h -- conversions of contiguous elements.
 *
 * casts.c makes loops over any strides and all pairs of dtypes from them.  The tables
 * mx_cast_kernels_base, _v3 and _v4 are defined in cast_kernels.c.
 */
#include "cpu/kernels/isa.h"
#include "ir/dtypes.h"

typedef void mx_cast_kernel(const void *from, void *to, intptr_t n);

/* kernels[from][to] converts in one step, or is NULL.  There are kernels for all pairs of bool,
 * integers, float32 and float64.  float16 is converted from and to float32 and float64, to bool
 * and, on Linux for arm64, to uint8 and uint16; bfloat16 from and to float32, to float16 and,
 * on x86-64, to uint32.  A complex dtype is converted from the dtype of its parts, to bool, and
 * to the other complex dtype. */
struct mx_cast_kernels {
    mx_cast_kernel *kernels[MX_DTYPE_COUNT][MX_DTYPE_COUNT];
};

#define TABLE(isa) extern const struct mx_cast_kernels mx_cast_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
