#pragma once
/* native_kernels.h -- functions of contiguous elements that are faster here than in NumPy, the
 * steps that own loops are made of. */
#include "cpu/kernels/isa.h"
#include "ir/ops.h"

/* out may be one of the inputs; y is NULL where there is one input. */
typedef void mx_native_kernel(const void *x, const void *y, void *out, intptr_t n);

/* By row of ops.def; NULL where there is none for this instruction set. */
struct mx_native_kernels {
    mx_native_kernel *float16[MX_OP_COUNT], *bfloat16[MX_OP_COUNT], *float32[MX_OP_COUNT],
        *float64[MX_OP_COUNT];
};

#define TABLE(isa) extern const struct mx_native_kernels mx_native_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
