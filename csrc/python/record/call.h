/* call.h -- ufuncs, and functions of three arguments. */
#pragma once
#include "python/base/numpy.h"

/* Each function returns 1, 0 if NumPy has to compute, or -1 with an exception set. */

/* Record a ufunc over inputs (arrays, scalars) into outs, which are borrowed; NULL stands for
 * new arrays.  results[] get new references.  The callee is the function that the program
 * calls, or NULL for an operator. */
int call_ufunc(PyObject *callee, int op, PyObject *const *inputs, int nin,
               PyObject *const *outs, int nout, PyObject **results);

/* Record a[mask] = value for a mask of the shape of `a` and a scalar. */
int call_masked_fill(PyObject *a, PyObject *mask, PyObject *value);

int call_load(void); /* -1 with an exception set */

/* Methods of the module. */
extern PyMethodDef call_methods[];
