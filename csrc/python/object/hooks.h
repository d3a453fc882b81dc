/* hooks.h -- methods that report their calls: see hooks.c. */
#pragma once
#include "python/base/numpy.h"

extern PyType_Spec hook_spec;

/* Whether this thread is in a call of a hook: the calls inside are not reported. */
extern _Thread_local bool hooks_are_inside;

/* Call a function through the hook that replaces Function.__call__.  `values` begins with the
 * function. */
PyObject *hooks_call_function(PyObject *const *values, size_t n, PyObject *names);

/* Methods of the module. */
extern PyMethodDef hook_methods[];
