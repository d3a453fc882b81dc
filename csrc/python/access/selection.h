/* selection.h -- the elements that a mask selects. */
#pragma once
#include "python/base/numpy.h"

/* Select a[mask] into *out, for a mask of the shape of `a`, or the positions in the flat mask
 * if `a` is NULL.  Return 1, 0 if NumPy has to select, or -1 with an exception set. */
int selection_take(PyObject *a, PyObject *mask, PyObject **out);

/* Return a new reference to the positions in a flat mask that is large and in C order, or NULL,
 * with or without an exception set. */
PyObject *selection_positions(PyObject *mask);

/* Return a new tuple of the positions where a mask is true, along each axis, or NULL with an
 * exception set. */
PyObject *selection_nonzero(PyObject *mask);

/* Methods of the module. */
extern PyMethodDef selection_methods[];
