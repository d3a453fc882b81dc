/* selection.h -- the elements that a mask selects. */
#pragma once
#include "python/base/numpy.h"

/* Select a[mask] into *out, for a mask of the shape of `a`, or the positions in the flat mask
 * if `a` is NULL.  Return 1, 0 if NumPy has to select, or -1 with an exception set. */
int selection_take(PyObject *a, PyObject *mask, PyObject **out);

/* Assign one value for each true element of a mask of the shape of an array, all of them arrays
 * of NumPy.  Return 1, 0 if NumPy has to assign, or -1 with an exception set. */
int selection_put(PyObject *np_array, PyObject *mask, PyObject *values);

/* Check whether selection_put() may take arrays of mxnp, with a mask of the shape of `a`. */
bool selection_may_put(PyObject *a, PyObject *values);

/* Return a new reference to the positions in a flat mask that is large and in C order, or NULL,
 * with or without an exception set. */
PyObject *selection_positions(PyObject *mask);

/* Return a new tuple of the positions where a mask is true, along each axis, or NULL with an
 * exception set. */
PyObject *selection_nonzero(PyObject *mask);

/* Methods of the module. */
extern PyMethodDef selection_methods[];
