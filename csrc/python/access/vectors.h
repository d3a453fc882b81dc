/* vectors.h -- elements of a small vector, at the positions in another one or where a mask is
 * true.  No operation that uses one of the arrays may be waiting. */
#pragma once
#include "python/base/numpy.h"

/* Copy the elements of a vector whose dtype is `row`.  Return 1, 0 if NumPy has to do it, or -1
 * with an exception set. */
int vectors_take(PyArrayObject *from, int row, PyArrayObject *key, PyObject **out);

/* Write a number, or the elements of an array of the same dtype if `number` is NULL.  Return
 * false if NumPy has to do it. */
bool vectors_put(PyArrayObject *to, int row, PyArrayObject *key, const char *number,
                 PyArrayObject *values);
