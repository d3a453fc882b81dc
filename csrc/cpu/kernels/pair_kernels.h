#pragma once
/* pair_kernels.h -- two steps of arithmetic in one run: what is between them stays in
 * registers.
 *
 * In the first-level cache a store costs more than a sum, so a chain of sums and products takes
 * half the time when every second result is not stored.  Each is rounded as if it were.
 */
#include "cpu/kernels/isa.h"
#include "ir/instruction.h"

/* second(first(a, b), c) for contiguous elements; b and c may be one value for all.  out may be
 * one of the inputs. */
typedef void mx_pair_kernel(const void *a, const void *b, const void *c, void *out, intptr_t n);

/* The sum of contiguous bools, as the dtype that they are cast to. */
typedef void mx_count_kernel(const void *a, void *out, intptr_t n);

/* A step from x and y; the last one is y - x. */
enum mx_pair_step {
    MX_STEP_add,
    MX_STEP_subtract,
    MX_STEP_multiply,
    MX_STEP_reversed,
    MX_STEP_COUNT
};

struct mx_pair_kernels {
    mx_pair_kernel
        *float32[MX_STEP_COUNT][MX_STEP_COUNT][2][2]; /* [first][second][one b][one c] */
    mx_pair_kernel *float64[MX_STEP_COUNT][MX_STEP_COUNT][2][2];
};

#define TABLE(isa) extern const struct mx_pair_kernels mx_pair_kernels_##isa;
MX_ISAS(TABLE)
#undef TABLE
