#pragma once
/* products.h -- products of small vectors and matrices by NumPy's loops, which call BLAS. */
#include "python/base/types.h"

/* Return 1 with a new reference in *result, 0 if NumPy has to multiply them, or -1 with an
 * exception set. */
int products_matmul(PyObject *a, PyObject *b, PyObject **result);

/* The same for numpy.dot and a matrix on the left.  BLAS gets the calls that numpy.dot makes
 * for contiguous operands without axes of one element. */
int products_dot(PyObject *a, PyObject *b, PyObject **result);
