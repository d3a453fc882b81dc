#pragma once
/* native_loops.h -- inner loops that replace NumPy's where they are faster. */
#include "base/base.h"

/* Finds a loop for a row of ops.def; dtypes has a row of dtypes.def for each operand.  Returns
 * false if NumPy's loop has to be used, which may be called to compare the bits. */
bool mx_native_loop(struct mx_loop *out, int op, const int *dtypes,
                    const struct mx_loop *numpys);

/* Returns whether the loop that is found for a row and a dtype has the bits of NumPy's loop. */
bool mx_native_loop_has_numpys_bits(int op, int dtype);
