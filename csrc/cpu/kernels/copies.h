#pragma once
/* copies.h -- copies elements bit by bit, for any dtype. */
#include "ir/dtypes.h"

/* Inner loops with the signature of NumPy's, for aligned elements of 1, 2, 4, 8 or 16 bytes;
 * NULL for other sizes.  An output is one of the inputs or does not overlap them. */
mx_loop_function mx_copy_loop(int itemsize);        /* x, out */
mx_loop_function mx_copy_select_loop(int itemsize); /* condition (bool), x, y, out */

/* Copies elements from one layout to another.  The two do not overlap. */
void mx_copy_block(char *to, const intptr_t *to_strides, const char *from,
                   const intptr_t *from_strides, const intptr_t *shape, int ndim, int itemsize);
