/* expression.h -- operations on shared memory wait for the rest of their expression. */
#pragma once
#include "python/base/state.h"

/* Enclose a call that runs only code of mxnp and NumPy.  `callee` is the function, or NULL for
 * an operator; the inputs are candidates for lending.  expression_leave() returns 0, or -1 with
 * an exception set if the recorded operations had to run and failed. */
void expression_enter(void);
int expression_leave(PyObject *callee, PyObject *result, PyObject *const *inputs, int n);

/* Check whether a call with these arguments runs only code of mxnp and NumPy. */
bool expression_takes(PyObject *args, PyObject *kwargs);

/* Let the operation that was recorded last wait, on shared memory of this size.  Return false
 * if it has to run now. */
bool expression_defer(Py_ssize_t size);

/* Run what waits, before other code gets control.  Return 0, or -1 with an exception set. */
int expression_close(void);
