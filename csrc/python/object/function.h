/* function.h -- functions that call NumPy with mxnp arrays, or record an operation. */
#pragma once
#include "python/base/types.h"

extern PyType_Spec function_spec, method_spec;

/* Record a call.  Return 1 with the result, 0 if NumPy has to compute it, or -1 with an
 * exception set. */
int function_record(struct function *f, PyObject *args, PyObject *kwargs, PyObject **result);

/* Call the function without counting the call. */
PyObject *function_run(struct function *f, PyObject *args, PyObject *kwargs);

/* Return a borrowed reference to the counterpart of a function of NumPy if it records
 * operations.  Otherwise return NULL, which may be with an exception of a signal handler. */
struct function *function_that_records(PyObject *original);

/* Return a new copy of a function that applies convert_standard() to its results. */
PyObject *function_standard(PyObject *function);

/* Methods of the module. */
extern PyMethodDef function_module_methods[];
