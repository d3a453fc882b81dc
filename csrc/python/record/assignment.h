/* assignment.h -- assignments to views, and arrays with initial values. */
#pragma once
#include "python/base/numpy.h"

/* Record the assignment of a value to all elements of np_array, a view of array `a`.  Return 1,
 * 0 if NumPy has to assign, or -1 with an exception set. */
int assignment_record(PyObject *a, PyObject *np_array, PyObject *value);

/* Methods of the module. */
extern PyMethodDef assignment_methods[];
