/* stacks.h -- products of stacks of small matrices by kernels of the core. */
#pragma once
#include "python/base/types.h"

/* Multiply stacks in memory.  Return 1 with a new reference in *result, 0 if NumPy has to
 * multiply them, or -1 with an exception set. */
int stacks_multiply(PyObject *a, PyObject *b, PyObject **result);

PyObject *stacks_function(void);            /* numpy.matmul, borrowed */
const struct mx_loop *stacks_loop(int row); /* of numpy.matmul, or NULL */

extern PyMethodDef stacks_methods[];

int stacks_load(PyObject *numpy); /* -1 with an exception set */
