/* wrapper.h -- the memory of mxnp arrays, the Python objects around NumPy arrays. */
#pragma once
#include "python/base/types.h"

/* Return a new mxnp array around a NumPy array, whose reference it steals, or NULL with an
 * exception set. */
PyObject *wrapper_new(PyObject *np_array);

/* Free the memory of an array whose references are gone. */
void wrapper_free(PyObject *a);
