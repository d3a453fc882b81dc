#pragma once
/* pair_kernels.h -- kernels that compute two arithmetic operations together, so that the result
 * of the first stays in registers.
 *
 * Even in the first-level cache a store takes longer than a sum.  A chain of sums and products
 * therefore takes half the time if every second result is not stored.  Each result is rounded
 * as if it were stored.  The tables mx_pair_kernels_base, _v3 and _v4 are defined in
 * pair_kernels.c.
 */
#include "cpu/kernels/isa.h"
#include "ir/instruction.h"

/* Computes second(first(a, b), c) for contiguous elements; b and c may be single values.  out
 * may be one of the inputs. */
typedef void mx_pair_kernel(const void *a, const void *b, const void *c, void *out, intptr_t n);

/* Computes the sum of contiguous bools, in the dtype that they are cast to. */
typedef void mx_count_kernel(const void *a, void *out, intptr_t n);

/* The first or second operation of a pair, on x and y; the last one is y - x. */
enum mx_pair_step {
    MX_STEP_add,
    MX_STEP_subtract,
    MX_STEP_multiply,
    MX_STEP_reversed,
    MX_STEP_COUNT
};

struct mx_pair_kernels {
    mx_pair_kernel
        *float32[MX_STEP_COUNT][MX_STEP_COUNT][2][2]; /* [first][second][b is one][c is one] */
    mx_pair_kernel *float64[MX_STEP_COUNT][MX_STEP_COUNT][2][2];
};

#define TABLE(isa) extern const struct mx_pair_kernels mx_pair_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
