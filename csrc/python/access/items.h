#pragma once
/* items.h -- a[key] and a[key] = value without NumPy's parser, for keys of integers, slices,
 * Ellipsis and None.
 *
 * The functions return 1, 0 if NumPy has to do it, or -1 with an exception set.  No operation
 * that writes the memory of `a` may be waiting; for an assignment, none that uses it.
 */
#include "python/direct/arrays.h"

int items_take(PyObject *a, PyObject *key, PyObject **item);

/* The same for one integer, which is too large at the end of an iteration. */
int items_take_row(PyObject *a, Py_ssize_t i, PyObject **item);

int items_assign(PyObject *a, PyObject *key, PyObject *value);
