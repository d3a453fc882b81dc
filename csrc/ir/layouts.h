#pragma once
/* layouts.h -- the layouts of operands in which a loop has other last bits.
 *
 * Loops choose their instructions by the strides and the overlap of their operands: products of
 * complex numbers, for instance, are computed with fused operations or without.  Which layouts
 * matter depends on the processor and on NumPy's version, so the loops run to find out.
 */
#include "base/base.h"

enum mx_layout {
    MX_REVERSED = 1,       /* an input has a negative stride */
    MX_STRIDED = 2,        /* inputs have gaps */
    MX_STRIDED_OUTPUT = 4, /* outputs have gaps or a negative stride */
    MX_OVERLAPPING = 8,    /* an output overwrites elements that the loop has read */
};

/* Returns the layouts in which a loop has other bits than for contiguous arrays.  Results that
 * are bools or integers have no last bits.  A thorough search runs on all float16 numbers, and
 * finds differences in one of 1,000 results of other dtypes. */
int mx_layouts_of_bits(const struct mx_loop *loop, int nin, int nout, const int *dtypes,
                       bool is_thorough);
