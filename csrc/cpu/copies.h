#pragma once
/* copies.h -- elements moved as they are, whatever they mean. */
#include "../dtypes.h"

typedef void (*mx_loop_function)(char **args, const intptr_t *dimensions,
                                 const intptr_t *strides, void *data);

/* Inner loops as NumPy's ufuncs have them, for aligned elements of 1, 2, 4, 8 or 16 bytes;
 * NULL for other sizes.  An output is an input itself or does not overlap it. */
mx_loop_function mx_copy_loop(int itemsize);   /* x, out */
mx_loop_function mx_select_loop(int itemsize); /* condition (bool), x, y, out */

#define MX_COPY_MAX_NDIM 64 /* as NumPy's arrays */

/* Copies shape from one layout to another; the two must not overlap. */
void mx_copy_block(char *to, const intptr_t *to_strides, const char *from,
                   const intptr_t *from_strides, const intptr_t *shape, int ndim,
                   int itemsize);

/* Elements first to first + n - 1 of what NumPy's arange gives whose first two elements, in this
 * dtype, are in two. */
void mx_fill_arange(int dtype, char *to, intptr_t stride, const char *two, intptr_t first,
                    intptr_t n);
