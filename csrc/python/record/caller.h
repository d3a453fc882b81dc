/* caller.h -- what the bytecode of the calling frame says: see _routines/expressions.py. */
#pragma once
#include "python/base/numpy.h"

/* The first two functions take the function that the program calls, or NULL for an operator.
 * If a signal handler raises an exception, it stays set, and they return false or 0. */

/* Check whether the program passes the result of the running call to mxnp right away. */
bool caller_continues(PyObject *callee);

/* Return a bit for each argument of the running call that is an intermediate result. */
long caller_temporaries(PyObject *callee);

/* Check whether the running call has the keyword `out`.  NumPy does not pass an `out` that is
 * None on to __array_ufunc__. */
bool caller_names_out(void);

/* Methods of the module. */
extern PyMethodDef caller_methods[];
