#pragma once
/* native_kernels.h -- functions of contiguous elements that are faster than NumPy's loops.
 *
 * native_loops.c makes loops over any strides from them.  The tables mx_native_kernels_base,
 * _v3 and _v4 are defined in native_kernels.c.
 */
#include "cpu/kernels/isa.h"
#include "ir/ops.h"

/* out may be one of the inputs; y is NULL if there is one input. */
typedef void mx_native_kernel(const void *x, const void *y, void *out, intptr_t n);

/* Indexed by rows of ops.def; NULL where this instruction set has no kernel. */
struct mx_native_kernels {
    mx_native_kernel *float16[MX_OP_COUNT], *bfloat16[MX_OP_COUNT], *float32[MX_OP_COUNT],
        *float64[MX_OP_COUNT];
};

#define TABLE(isa) extern const struct mx_native_kernels mx_native_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
