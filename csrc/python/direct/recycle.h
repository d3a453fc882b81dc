#pragma once
/* recycle.h -- NumPy arrays of small results, which are used again when nobody holds them. */
#include "python/base/dtypes.h"
#include "python/base/types.h"
#include "python/direct/arrays.h"
#include "python/record/wrapper.h"

#define RECYCLED_BYTES 32768 /* the largest array that is kept */

/* Return a new C-contiguous numpy.ndarray whose elements are not set yet, or NULL with an
 * exception set.  `row` is a row of dtypes.def. */
PyObject *recycle_new(int row, int ndim, const npy_intp *shape);

/* Return a new mxnp array around a new array of recycle_new, or NULL with an exception set. The
 * reference is stolen. */
static inline PyObject *recycle_wrap(PyObject *np_array)
{
    PyObject *out = wrapper_new_small(np_array);
    if (out && memory_of(np_array))
        memory_own(out);
    return out;
}

/* Return a new view of the memory of an mxnp array, with its dtype or another one, or NULL with
 * an exception set.  No operation that writes this memory may be waiting. */
PyObject *recycle_view(PyObject *a, const struct view *view);
PyObject *recycle_view_as(PyObject *a, PyArray_Descr *dtype, const struct view *view);

/* Keep a NumPy array for recycle_new and steals the reference, or returns false.  Only an
 * array that nobody else can reach is kept. */
bool recycle_keep(PyObject *np_array);

/* Release all arrays that are kept. */
void recycle_clear(void);

/* The dtypes of the rows in native byte order, which are never freed.  They are NULL before
 * recycle_load. */
extern PyArray_Descr *recycle_dtypes[NTYPES];
extern signed char recycle_rows[NPY_NTYPES_LEGACY]; /* by type number; -1: no row */

/* Return the row of a dtype of NumPy's own in native byte order and without metadata, or -1. */
static inline int recycle_row(const PyArray_Descr *dtype)
{
    int number = dtype->type_num;
    int row = number >= 0 && number < NPY_NTYPES_LEGACY ? recycle_rows[number] : -1;
    return row >= 0 && recycle_dtypes[row] == dtype ? row : -1;
}

/* Check whether writing to an array, or to a view of it, has no effect but on the elements:
 * NumPy warns for some results of broadcast_arrays. */
static inline bool recycle_is_plain(const PyArrayObject *np_array)
{
    return PyArray_FLAGS(np_array) >=
           0; /* the sign is NPY_ARRAY_WARN_ON_WRITE, which is private */
}

int recycle_load(void); /* -1 with an exception set */
