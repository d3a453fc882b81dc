/* linear.h -- determinants, inverses and solutions of small matrices by kernels of the core. */
#pragma once
#include "python/base/types.h"

/* The functions of numpy.linalg of these names, for matrices in memory.  Return 1 with a new
 * reference in *result, 0 if NumPy has to compute it, or -1 with an exception set. */
int linear_det(PyObject *const *args, size_t n, PyObject **result);
int linear_inv(PyObject *const *args, size_t n, PyObject **result);
int linear_solve(PyObject *const *args, size_t n, PyObject **result);
