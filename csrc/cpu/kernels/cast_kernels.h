#pragma once
/* cast_kernels.h -- conversions of contiguous elements, the steps that casts are made of. */
#include "cpu/kernels/isa.h"
#include "ir/dtypes.h"

typedef void mx_cast_kernel(const void *from, void *to, intptr_t n);

/* One dtype to another in one step, or NULL: all pairs of bool, integers, float32 and
 * float64; float16 only from and to float32 and from float64; bfloat16 only from and to
 * float32, to float16 and, as others do it, to uint32; a complex dtype from its parts, to bool,
 * and to the other one. */
struct mx_cast_kernels {
    mx_cast_kernel *kernels[MX_DTYPE_COUNT][MX_DTYPE_COUNT];
};

#define TABLE(isa) extern const struct mx_cast_kernels mx_cast_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
