#pragma once
/* arrays.h -- comparisons and copies of small arrays. */
#include "python/base/state.h"

#define DIRECT_NDIM 8 /* the most dimensions of an array that is copied or viewed here */

static inline bool is_c_contiguous(const PyArrayObject *np_array)
{
    return PyArray_CHKFLAGS(np_array, NPY_ARRAY_C_CONTIGUOUS);
}

static inline bool has_shape(const PyArrayObject *np_array, int ndim, const npy_intp *shape)
{
    if (PyArray_NDIM(np_array) != ndim)
        return false;
    for (int axis = 0; axis < ndim; axis++)
        if (PyArray_DIM(np_array, axis) != shape[axis])
            return false;
    return true;
}

static inline bool same_shape(const PyArrayObject *a, const PyArrayObject *b)
{
    return has_shape(a, PyArray_NDIM(b), PyArray_DIMS(b));
}

/* Where some elements are in memory. */
struct view {
    char *data;
    int ndim;
    npy_intp shape[DIRECT_NDIM], strides[DIRECT_NDIM];
};

/* The memory between the first and the last element. */
struct extent {
    const char *low, *high;
};

struct extent arrays_extent(const char *data, int ndim, const npy_intp *shape,
                            const npy_intp *strides, npy_intp itemsize);

static inline struct extent extent_of_array(const PyArrayObject *a)
{
    return arrays_extent(data_address(a), PyArray_NDIM(a), PyArray_DIMS(a), PyArray_STRIDES(a),
                         PyArray_ITEMSIZE(a));
}

static inline struct extent extent_of_view(const struct view *view, npy_intp itemsize)
{
    return arrays_extent(view->data, view->ndim, view->shape, view->strides, itemsize);
}

/* Check whether no byte belongs to elements of both arrays, as far as the extents show. */
static inline bool are_apart(struct extent a, struct extent b)
{
    return a.high <= b.low || b.high <= a.low;
}

/* Write the elements of a view, of which there is at least one, from elements with other
 * strides.  Strides of zero repeat an element. */
void arrays_copy(const struct view *to, const char *from, const npy_intp *from_strides,
                 npy_intp itemsize);
