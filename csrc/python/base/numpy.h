/* numpy.h -- Python's C API and NumPy's, with the settings that all files of the bridge share.
 *
 * types.c defines the tables of NumPy's API; all other files refer to them.
 */
#pragma once
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION     NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL mxnp_numpy_api
#define PY_UFUNC_UNIQUE_SYMBOL mxnp_ufunc_api
#ifndef MX_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>

/* Return where the elements of an array are, or will be. */
static inline char *data_address(const PyArrayObject *np_array)
{
    return PyArray_BYTES(np_array);
}

/* Elements are read and written through pointers that are not const: see types.h. */
#define PyArray_BYTES(array) _Generic((array), PyArrayObject *: PyArray_BYTES(array))
#define PyArray_DATA(array)  _Generic((array), PyArrayObject *: PyArray_DATA(array))
