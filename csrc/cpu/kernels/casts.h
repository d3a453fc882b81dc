#pragma once
/* casts.h -- one dtype to another, as numpy.ndarray.astype. */
#include "cpu/kernels/copies.h"

/* The inner loop (x, out), for rows of dtypes.def; NULL out of range.  It needs no data.  The
 * same bits and floating-point conditions as NumPy's; of a complex number the
 * real part.  Where C leaves open what a conversion gives, a contiguous loop to
 * uint32 equals NumPy's if elements before it are a multiple of four. */
mx_loop_function mx_cast_loop(int from, int to);
