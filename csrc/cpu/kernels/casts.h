#pragma once
/* casts.h -- loops that convert one dtype to another, as numpy.ndarray.astype does. */
#include "cpu/kernels/copies.h"

/* Returns the inner loop (x, out) for two rows of dtypes.def, or NULL if one is out of range.
 * It needs no data.  Results have the same bits and floating-point conditions as NumPy's.  A
 * complex number is converted to a real one by its real part.  Where C does not define a
 * conversion, a contiguous loop to uint32 equals NumPy's if it begins at a multiple of four
 * elements. */
mx_loop_function mx_cast_loop(int from, int to);
