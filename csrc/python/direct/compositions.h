/* compositions.h -- functions that NumPy composes in Python, for few numbers of float64. */
#pragma once
#include "python/base/types.h"

/* The functions of these names.  Return 1 with a new reference in *result, 0 if NumPy has to
 * compute it, or -1 with an exception set. */
int compositions_allclose(PyObject *const *args, size_t n, PyObject **result);
int compositions_cross(PyObject *const *args, size_t n, PyObject **result);
int compositions_diff(PyObject *const *args, size_t n, PyObject **result);
int compositions_isclose(PyObject *const *args, size_t n, PyObject **result);
int compositions_linspace(PyObject *const *args, size_t n, PyObject **result);
int compositions_median(PyObject *const *args, size_t n, PyObject **result);
int compositions_norm(PyObject *const *args, size_t n, PyObject **result);
int compositions_prod(PyObject *const *args, size_t n, PyObject **result);
int compositions_round(PyObject *const *args, size_t n, PyObject **result);
