/* put.h -- a[key] = value. */
#pragma once
#include "python/base/numpy.h"

/* Assign a value, or raise NumPy's error if it is NULL, because elements cannot be deleted.
 * Return 0, or -1 with an exception set. */
int put_by_key(PyObject *a, PyObject *key, PyObject *value);
