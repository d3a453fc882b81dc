/* disguise.h -- the class that Python code sees in place of mxnp's own: see disguise.c. */
#pragma once
#include "python/base/types.h"

/* Return a new reference to the class of an object of mxnp: for Python code that asks, NumPy's
 * class; for compiled code, its type. */
PyObject *disguise_class(PyObject *x);

int disguise_load(void); /* -1 with an exception set */
