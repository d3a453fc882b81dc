#pragma once
/* native_loops.h -- inner loops that replace NumPy's where they are faster. */
#include "base/base.h"

/* Finds a loop for a row of ops.def; dtypes has a row of dtypes.def for each operand.  Returns
 * false if NumPy's loop has to be used. */
bool mx_native_loop(struct mx_loop *out, int op, const int *dtypes);
