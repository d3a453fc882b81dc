#pragma once
/* copies.h -- elements moved from one layout to another. */
#include "../base.h"

/* Copies a block of elements; no byte is in both. */
void mx_copy_block(char *to, const intptr_t *to_strides, const char *from,
                   const intptr_t *from_strides, const intptr_t *shape, int ndim, int itemsize);

mx_loop_function mx_copy_loop(int itemsize);   /* NULL: no such size */
mx_loop_function mx_select_loop(int itemsize); /* of bool, x, y: x where true, y elsewhere */
