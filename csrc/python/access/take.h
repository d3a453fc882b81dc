/* take.h -- a[key]. */
#pragma once
#include "python/base/numpy.h"

/* Return a new reference to a[key], or NULL with an exception set. */
PyObject *take_by_key(PyObject *a, PyObject *key);

/* The same for one integer, which is too large at the end of an iteration. */
PyObject *take_by_position(PyObject *a, Py_ssize_t i);
