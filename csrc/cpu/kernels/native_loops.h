#pragma once
/* native_loops.h -- inner loops that take the place of NumPy's where they are faster. */
#include "base/base.h"

/* False: NumPy's is to be used. op is a row of ops.def, dtypes are rows of dtypes.def, one for
 * each operand. */
bool mx_native_loop(struct mx_loop *out, int op, const int *dtypes);
