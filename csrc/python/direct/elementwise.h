#pragma once
/* elementwise.h -- small elementwise operations, computed with NumPy's inner loops.
 *
 * Each function returns 1 with a new reference in *result, 0 if NumPy has to compute the
 * operation, or -1 with an exception set.  The operation must not be recorded, and what its
 * operands wait for must have run.  Nothing is written when NumPy has to compute.
 */
#include "python/base/types.h"

int elementwise_call(int op, PyObject *const *inputs, int nin, PyObject **result);

/* The same for an operation that is recorded unless its result is expected to be needed
 * immediately: it is computed if that takes one call of NumPy's loop. */
int elementwise_call_eager(int op, PyObject *const *inputs, int nin, PyObject **result);

/* The same for a ufunc of another package. */
int elementwise_call_others(PyObject *ufunc, PyObject *const *inputs, int nin,
                            PyObject **result);

/* The result goes into the array `out`, which is *result then. */
int elementwise_call_into(int op, PyObject *const *inputs, int nin, PyObject *out,
                          PyObject **result);
