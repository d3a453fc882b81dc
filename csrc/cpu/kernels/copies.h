#pragma once
/* copies.h -- elements moved as they are, whatever they mean. */
#include "ir/dtypes.h"

/* Inner loops as NumPy's ufuncs have them, for aligned elements of 1, 2, 4, 8 or 16 bytes;
 * NULL for other sizes.  An output is an input itself or does not overlap it. */
mx_loop_function mx_copy_loop(int itemsize);        /* x, out */
mx_loop_function mx_copy_select_loop(int itemsize); /* condition (bool), x, y, out */

/* Copies elements from one layout to another; no byte is in both. */
void mx_copy_block(char *to, const intptr_t *to_strides, const char *from,
                   const intptr_t *from_strides, const intptr_t *shape, int ndim, int itemsize);
